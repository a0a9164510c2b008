//! Limits of child processes.

/// Memory of each of the two folders for temporary files of a confined server under bubblewrap, in bytes.
pub const SANDBOX_TMP_BYTES: u64 = 512 * 1024 * 1024;

/// Tasks (threads and processes) of a server that is confined or in a control group, for each process that it may have.
pub const SANDBOX_THREADS_PER_PROCESS: u64 = 16;

/// Processes of one process tree that are listed.
pub const MAX_PROCESS_TREE: usize = 4_096;

/// Kept end of a language server's standard error, in bytes.
pub const STDERR_TAIL_BYTES: usize = 64 * 1024;
