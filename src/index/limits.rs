//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Longest text or regular expression that is searched for, in bytes.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// What a compiled regular expression may take, in bytes.
pub const MAX_REGEX_BYTES: usize = 16 * 1024 * 1024;

/// What each thread may remember of a regular expression's states while it searches, in bytes; beyond it they are made anew.
pub const REGEX_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Longest part of one line that is shown, in bytes; it is cut at a letter.
pub const MAX_SHOWN_LINE_BYTES: usize = 1_000;

/// Matches in one line whose places are told.
pub const MAX_SHOWN_MATCHES: usize = 64;

/// A thread that searches keeps this much room for the next file, in bytes.
pub const KEPT_READ_BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// Pairs of a gram and a part of a content held in memory while the text index is made, 16 bytes each; further ones go to the disk.
pub const TEXT_PAIRS_IN_MEMORY: usize = 8 * 1024 * 1024;

/// Memory of the writer of the symbol index, in bytes; what it holds beyond is written out.
pub const SYMBOL_WRITER_BYTES: usize = 128 * 1024 * 1024;

/// Longest name that the symbol index holds, in bytes; longer ones are cut.
pub const MAX_SYMBOL_NAME_BYTES: usize = 240;

/// Symbols of one content that the symbol index holds.
pub const MAX_SYMBOLS_PER_CONTENT: usize = 1 << 24;

/// Words of one symbol's comment, and of its signature, that the symbol index holds.
pub const MAX_SYMBOL_WORDS: usize = 120;

/// Words of a ranked question that are looked for.
pub const MAX_RANKED_WORDS: usize = 8;

/// Names in front of the name in a ranked question that are looked for.
pub const MAX_RANKED_QUALIFIERS: usize = 4;

/// Places in the symbol index that one ranked question starts from; what is rarer goes first.
pub const MAX_RANKED_POSTINGS: u64 = 40_000;

/// Terms with the same beginning that a ranked question looks at.
pub const MAX_RANKED_EXPANSIONS: usize = 128;

/// Longest ranked question, in bytes; longer ones are cut.
pub const MAX_RANKED_TEXT_BYTES: usize = 1_024;

/// Files of one root that are indexed.
pub const MAX_INDEXED_FILES: usize = 1_000_000;

/// The facts of one content as bytes; more is damage.
pub const MAX_PACKED_FACTS_BYTES: usize = 256 * 1024 * 1024;

/// The list of a manifest's files as bytes; more is damage.
pub const MAX_PACKED_LISTING_BYTES: usize = 1024 * 1024 * 1024;

/// Jobs of one root that are remembered.
pub const MAX_REMEMBERED_JOBS: usize = 50;

/// Jobs that `index_status` shows.
pub const MAX_RECENT_JOBS: usize = 10;

/// Contents that no segment of the text index covers, and that every search looks at.
pub const MAX_LOOSE_CONTENTS: usize = 256;

/// Segments of the text index; beyond it they are merged.
pub const MAX_SEGMENTS: usize = 12;

/// Manifests of one project that are kept in memory.
pub const MAX_CACHED_VIEWS: usize = 4;

/// Contents whose facts are kept in memory.
pub const MAX_CACHED_FACTS: std::num::NonZeroUsize = std::num::NonZeroUsize::new(512).unwrap();

/// Lines of a preview.
pub const MAX_PREVIEW_LINES: usize = 10;

/// Bytes of a preview.
pub const MAX_PREVIEW_BYTES: usize = 2_000;

/// Symbols beside a row.
pub const MAX_RELATED: usize = 5;

/// Largest source that is parsed for symbols, in bytes; a larger one is searched as text only.
pub const MAX_PARSED_BYTES: usize = 16 * 1024 * 1024;

/// Steps that the parser may take for one source, in hundreds, whatever its size; counted, not timed, so that the same source always
/// gives the same symbols. This many take about two seconds.
pub const PARSE_STEPS: usize = 40_000;

/// Bytes of a source for which the parser may take a hundred steps more: several times what sources without errors need.
pub const PARSE_BYTES_PER_STEP: usize = 40;

/// Symbols kept of one source.
pub const MAX_FILE_SYMBOLS: usize = 100_000;

/// Places that name something kept of one source.
pub const MAX_FILE_REFERENCES: usize = 400_000;

/// Keys kept of one data file (JSON, YAML, TOML), the first ones.
pub const MAX_FILE_KEYS: usize = 5_000;

/// How deep keys of a data file are kept.
pub const MAX_KEY_DEPTH: usize = 5;
