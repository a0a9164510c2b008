//! The dialect of the tool `lsp`.
