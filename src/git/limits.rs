//! Limits of reading git repositories.

/// Largest `HEAD` or file of one reference that is read, in bytes.
pub const MAX_REF_FILE_BYTES: u64 = 4_096;

/// Largest `packed-refs` that is read, in bytes.
pub const MAX_PACKED_REFS_BYTES: u64 = 64 * 1024 * 1024;

/// Symbolic references followed from `HEAD`, as many as git follows.
pub const MAX_SYMBOLIC_REFS: usize = 5;

/// Writable memory of one reader process, in bytes.
pub const READER_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;

/// Longest time of one request in a reader process, in milliseconds.
pub const READER_REQUEST_MS: u64 = 120_000;

/// Longest wait for an answer about one object or reference, in milliseconds.
pub const READER_ANSWER_MS: u64 = 10_000;

/// A reader process that got no request for this long ends, in milliseconds.
pub const READER_IDLE_MS: u64 = 20_000;

/// Idle reader processes kept for one repository.
pub const MAX_IDLE_READERS: usize = 2;

/// Reader processes of one repository that may end unexpectedly one after the other. Then the repository isn't read for a while.
pub const MAX_READER_FAILURES: u32 = 4;

/// How long a repository isn't read after that, in milliseconds.
pub const READER_PAUSE_MS: u64 = 60_000;

/// Folders of one commit that are read.
pub const MAX_TREE_FOLDERS: usize = 200_000;

/// Files of one commit that are listed.
pub const MAX_COMMIT_FILES: usize = 1_000_000;

/// Bytes of all paths of one commit.
pub const MAX_TREE_PATH_BYTES: usize = 256 * 1024 * 1024;

/// Folders inside one another in a commit.
pub const MAX_TREE_DEPTH: usize = 2_048;

/// Largest commit, tag or tree object that is read, in bytes.
pub const MAX_TREE_OBJECT_BYTES: u64 = 64 * 1024 * 1024;

/// Objects that are dereferenced to reach a commit: a tag may name a tag.
pub const MAX_TAG_DEPTH: usize = 32;

/// Largest request to a reader process, in bytes.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// Bytes of objects that a reader process caches.
pub const OBJECT_CACHE_BYTES: usize = 8 * 1024 * 1024;
