//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Longest text or regular expression that is searched for, in bytes.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// Longest shown part of a line, in bytes; it is cut at a character boundary.
pub const MAX_SHOWN_LINE_BYTES: usize = 1_000;

/// Symbols of one content that the symbol index holds.
pub const MAX_SYMBOLS_PER_CONTENT: usize = 1 << 24;

/// Words of a ranked query that are searched for.
pub const MAX_RANKED_WORDS: usize = 8;

/// Postings of the symbol index that one ranked query reads, the rarest features first.
pub const MAX_RANKED_POSTINGS: u64 = 40_000;

/// Files of one root that are indexed.
pub const MAX_INDEXED_FILES: usize = 1_000_000;

/// Contents that no text segment covers; every search reads them.
pub const MAX_LOOSE_CONTENTS: usize = 256;

/// Contents whose facts are kept in memory.
pub const MAX_CACHED_FACTS: std::num::NonZeroUsize = std::num::NonZeroUsize::new(512).unwrap();

/// Lines of a preview.
pub const MAX_PREVIEW_LINES: usize = 10;

/// Bytes of a preview.
pub const MAX_PREVIEW_BYTES: usize = 2_000;

/// Related symbols of one row.
pub const MAX_RELATED: usize = 5;

/// Largest source that is parsed for symbols, in bytes; a larger one is searched as text only.
pub const MAX_PARSED_BYTES: usize = 16 * 1024 * 1024;

/// Symbols kept of one source.
pub const MAX_FILE_SYMBOLS: usize = 100_000;

/// Names, signatures, comments and references of one source, in bytes; a source with more is too complex.
pub const MAX_FILE_FACT_BYTES: usize = 32 * 1024 * 1024;

/// Symbols around a symbol that it is nested in. Deeper ones belong to the last of these.
pub const MAX_SYMBOL_DEPTH: usize = 40;

/// Keys kept of one data file (JSON, YAML, TOML); the first ones are kept.
pub const MAX_FILE_KEYS: usize = 5_000;

/// Depth of the keys kept of a data file.
pub const MAX_KEY_DEPTH: usize = 5;
