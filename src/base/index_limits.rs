//! The hard limits of the code index. They belong to [`super::limits`], which shows them all.

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

/// Unless configured otherwise a file of more bytes isn't searched.
pub const MAX_SEARCHED_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Unless configured otherwise a file of more bytes isn't parsed; it is searched as text.
pub const MAX_PARSED_FILE_BYTES: u64 = 2 * 1024 * 1024;
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
/// Rows of an answer of the catalog `code` when the call names no number (decisions §5).
pub const DEFAULT_CODE_ROWS: usize = 10;
/// Most rows of an answer of the catalog `code` (decisions §5).
pub const MAX_CODE_ROWS: usize = 200;
/// Symbols of an answer of the catalog `code` that language servers are asked to confirm, the first ones.
pub const MAX_CONFIRMED_ROWS: usize = 5;
/// Most lines shown on each side of a found line.
pub const MAX_CODE_CONTEXT_LINES: usize = 10;
/// Most globs of one search.
pub const MAX_CODE_GLOBS: usize = 64;
/// Longest text in an argument of the catalog `code`, in code points.
pub const MAX_CODE_TEXT_CHARS: usize = 4_096;
/// Largest `structuredContent` of the catalog `code`, in bytes; what doesn't fit is left out, and said (decisions §5).
pub const MAX_CODE_PAYLOAD_BYTES: usize = 64 * 1024;
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

/// Threads of a job or a search that a configuration may ask for.
pub const MAX_INDEX_THREADS: u64 = 64;
/// The smallest payload that a configuration may ask for, in bytes.
pub const MIN_CODE_PAYLOAD_BYTES: u64 = 1_024;
/// Workspaces that a configuration may have read into memory at the start, and that are remembered as used.
pub const MAX_WARMSET: usize = 64;
/// Questions of the code index at work at once in the process; further ones wait for their turn.
pub const MAX_CODE_QUESTIONS: usize = 16;
/// How long a question waits for the first index of its workspace, in milliseconds; then it is answered from what there is.
pub const FIRST_INDEX_WAIT_MS: u64 = 1_500;
/// How long a question of the code index waits for the watcher's first walk, in milliseconds; then it says that it may be stale.
pub const CODE_WALK_WAIT_MS: u64 = 150;
/// So long after the last edit the index is brought up to date, in milliseconds.
pub const EDIT_QUIET_MS: u64 = 60;
/// Edits that go on don't put it off for longer than this, in milliseconds.
pub const EDIT_DELAY_MS: u64 = 250;
/// After a job that took long the next one that nobody asked for waits about as long, and no longer than this, in milliseconds.
pub const MAX_INDEX_REST_MS: u64 = 10_000;
/// After a job that failed the next one that nobody asked for waits so long, in milliseconds.
pub const FAILED_INDEX_REST_MS: u64 = 15_000;
/// Files from which on a job that brings an index up to date makes `health_check` say `indexing`.
pub const LARGE_SYNC_FILES: u64 = 200;

/// Definitions that the embedded language server gives for one name.
pub const MAX_NAMED_DEFINITIONS: usize = 100;
/// Symbols that it gives for one query of the whole workspace.
pub const MAX_NAMED_SYMBOLS: usize = 1_000;
/// Definitions that one of its hovers shows.
pub const MAX_HOVERED_DEFINITIONS: usize = 5;
/// Different names that it looks up for what one function calls.
pub const MAX_CALLED_NAMES: usize = 500;
/// Requests that it takes on at a time.
pub const MAX_NAMED_REQUESTS: usize = 256;
