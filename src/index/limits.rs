//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Longest text or regular expression that is searched for, in bytes.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// Largest compiled regular expression, in bytes.
pub const MAX_REGEX_BYTES: usize = 16 * 1024 * 1024;

/// Cache of a regular expression's states in each searching thread, in bytes; a full cache is cleared.
pub const REGEX_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Longest shown part of a line, in bytes; it is cut at a character boundary.
pub const MAX_SHOWN_LINE_BYTES: usize = 1_000;

/// Matches of one line whose positions are returned.
pub const MAX_SHOWN_MATCHES: usize = 64;

/// Read buffer that a searching thread keeps from one file to the next, in bytes.
pub const KEPT_READ_BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// Pairs of a gram and a part, 16 bytes each, held in memory while the text index is built; further ones are spilled to disk.
pub const TEXT_PAIRS_IN_MEMORY: usize = 8 * 1024 * 1024;

/// Memory of the symbol index's writer, in bytes; beyond it a segment is written.
pub const SYMBOL_WRITER_BYTES: usize = 128 * 1024 * 1024;

/// Longest name that the symbol index holds, in bytes; longer ones are cut.
pub const MAX_SYMBOL_NAME_BYTES: usize = 240;

/// Symbols of one content that the symbol index holds.
pub const MAX_SYMBOLS_PER_CONTENT: usize = 1 << 24;

/// Words of one symbol's comment, and of its signature, that the symbol index holds.
pub const MAX_SYMBOL_WORDS: usize = 120;

/// Words of a ranked query that are searched for.
pub const MAX_RANKED_WORDS: usize = 8;

/// Qualifiers before the name in a ranked query that are used.
pub const MAX_RANKED_QUALIFIERS: usize = 4;

/// Postings of the symbol index that one ranked query reads, the rarest features first.
pub const MAX_RANKED_POSTINGS: u64 = 40_000;

/// Terms that a prefix in a ranked query expands to.
pub const MAX_RANKED_EXPANSIONS: usize = 128;

/// Terms that are nearly a name or a word and are looked up instead of it.
pub const MAX_NEAREST_TERMS: usize = 32;

/// Longest ranked query, in bytes; longer ones are cut.
pub const MAX_RANKED_TEXT_BYTES: usize = 1_024;

/// Symbols and facts of parsed contents that wait for the index's writer, in bytes. Beyond it, only the next content is parsed.
pub const MAX_WAITING_RESULT_BYTES: usize = 96 * 1024 * 1024;

/// Files of one root that are indexed.
pub const MAX_INDEXED_FILES: usize = 1_000_000;

/// Encoded facts of one content, in bytes; more counts as damage.
pub const MAX_PACKED_FACTS_BYTES: usize = 256 * 1024 * 1024;

/// Encoded file list of a manifest, in bytes; more counts as damage.
pub const MAX_PACKED_LISTING_BYTES: usize = 1024 * 1024 * 1024;

/// Jobs of one root that are kept in the history.
pub const MAX_REMEMBERED_JOBS: usize = 50;

/// Jobs that `index_status` shows.
pub const MAX_RECENT_JOBS: usize = 10;

/// Unreadable files that a job for other changed files tries again; if there are more, only jobs that look at all files do.
pub const MAX_RETRIED_FILES: usize = 256;

/// Contents that no text segment covers; every search reads them.
pub const MAX_LOOSE_CONTENTS: usize = 256;

/// Text segments; beyond this number they are merged.
pub const MAX_SEGMENTS: usize = 12;

/// Manifests of one project that are kept in memory.
pub const MAX_CACHED_VIEWS: usize = 4;

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

/// Sources larger than this are parsed one at a time, in bytes, because the tree of one may take hundreds of megabytes.
pub const LARGE_SOURCE_BYTES: usize = 256 * 1024;

/// Work that a source of any size may cost, in units of roughly a microsecond. Work is counted and not timed, so that the same source
/// always gives the same symbols. A source above it is too complex: it is searched as text only.
pub const WORK_PER_SOURCE: u64 = 300_000;

/// Work that each byte of a source adds: several times what ordinary sources cost.
pub const WORK_PER_BYTE: u64 = 4;

/// Levels of nested macros of Rust whose items are seen.
pub const MAX_ITEM_MACRO_LEVELS: usize = 8;

/// Symbols kept of one source.
pub const MAX_FILE_SYMBOLS: usize = 100_000;

/// References kept of one source.
pub const MAX_FILE_REFERENCES: usize = 400_000;

/// Names, signatures, comments and references of one source, in bytes; a source with more is too complex.
pub const MAX_FILE_FACT_BYTES: usize = 32 * 1024 * 1024;

/// Symbols around a symbol that it is nested in. Deeper ones belong to the last of these.
pub const MAX_SYMBOL_DEPTH: usize = 40;

/// Keys kept of one data file (JSON, YAML, TOML); the first ones are kept.
pub const MAX_FILE_KEYS: usize = 5_000;

/// Depth of the keys kept of a data file.
pub const MAX_KEY_DEPTH: usize = 5;

/// Readers of a repository that try to read one blob, one after the other, before it counts as one that can't be read.
pub const BLOB_ATTEMPTS: u32 = 3;

/// Such blobs of one job. At a further one the job fails.
pub const MAX_READER_ENDS: u32 = 8;
