//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Definitions that the embedded language server returns for one name.
pub const MAX_NAMED_DEFINITIONS: usize = 100;
