//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Definitions that the embedded language server returns for one name.
pub const MAX_NAMED_DEFINITIONS: usize = 100;

/// Symbols that it returns for one `workspace/symbol` query.
pub const MAX_NAMED_SYMBOLS: usize = 1_000;

/// Definitions that one of its hovers shows.
pub const MAX_HOVERED_DEFINITIONS: usize = 5;

/// Different names that it looks up for the outgoing calls of one function.
pub const MAX_CALLED_NAMES: usize = 500;

/// Requests that it accepts at a time.
pub const MAX_NAMED_REQUESTS: usize = 256;
