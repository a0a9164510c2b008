//! The limits of this crate: how much of a workspace one question looks at, and what is kept of it.

/// Files of JavaScript and TypeScript that are searched for references through CommonJS.
pub const MAX_LINKED_FILES: usize = 20_000;

/// Bytes of these files.
pub const MAX_LINKED_BYTES: usize = 128 * 1024 * 1024;

/// Bytes of texts and links of such files that are kept for the next questions, for each workspace.
pub const MAX_KEPT_LINKS_BYTES: usize = 48 * 1024 * 1024;

/// Places with the name of a symbol of CommonJS that a language server is asked about.
pub const MAX_LINKED_PLACES: usize = 4_000;

/// Files whose references are looked at for callers that a server leaves out.
pub const MAX_CALLER_FILES: usize = 256;

/// Definitions of one name in the code index with which an answer is compared. A name with more isn't compared.
pub const MAX_COMPARED_DEFINITIONS: usize = 40;

/// Files with one name in the code index with which an answer is compared. A name in more files isn't compared.
pub const MAX_COMPARED_FILES: usize = 600;
