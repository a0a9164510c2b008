//! Limits of child processes.

/// The guard process: time between SIGTERM and SIGKILL to the server's processes, in milliseconds.
pub const GUARD_TERM_MS: u64 = 1_000;

/// The guard process: how long it repeats SIGKILL, in milliseconds.
pub const GUARD_KILL_MS: u64 = 700;

/// The guard process: time between SIGTERM and SIGKILL to the processes that an ended server left, in milliseconds.
pub const GUARD_LINGER_MS: u64 = 200;

/// The guard process: how often it checks whether there may be too many processes, in milliseconds.
pub const GUARD_COUNT_MS: u64 = 250;

/// The guard process: how often it counts the processes although nothing suggests that there are too many, in milliseconds.
pub const GUARD_RECOUNT_MS: u64 = 2_000;

/// The guard process: how much longer it repeats SIGKILL to a tree that has too many processes, in milliseconds.
pub const GUARD_CROWD_KILL_MS: u64 = 5_000;

/// Pause between two looks whether a guard has ended, where the kernel has no descriptors of processes, in milliseconds.
pub const GUARD_REAP_INTERVAL_MS: u64 = 50;

/// Longest time that the end of a language server waits until the ledger is written, in milliseconds.
pub const LEDGER_WAIT_MS: u64 = 1_000;

/// Longest time in which the processes are killed that a language server left after its guard was killed, in milliseconds.
pub const ORPHAN_KILL_MS: u64 = 2_000;

/// The warden: pause before each pass after the death of codeyard, in milliseconds.
pub const WARDEN_PASS_MS: u64 = 100;

/// The warden: most passes after the death of codeyard.
pub const WARDEN_PASSES: u32 = 40;

/// The warden: passes that leave guards alone, which end their own servers. It is longer than a guard needs.
pub const WARDEN_PATIENT_PASSES: u32 = 15;

/// The warden: it ends after so many passes in a row that found nothing.
pub const WARDEN_QUIET_PASSES: u32 = 3;

/// Memory of each of the two folders for temporary files of a confined server under bubblewrap, in bytes.
pub const SANDBOX_TMP_BYTES: u64 = 512 * 1024 * 1024;

/// Tasks (threads and processes) of a server that is confined or in a control group, for each process that it may have.
pub const SANDBOX_THREADS_PER_PROCESS: u64 = 16;

/// Memory of the control group of a server above the limit that codeyard keeps by measuring, in percent of that limit.
pub const GROUP_MEMORY_HEADROOM_PERCENT: u64 = 12;

/// Passes over the members of a delegated control group until all have been moved out of it.
pub(crate) const GROUP_ENTER_PASSES: u32 = 10;

/// Pause between two attempts to remove the control group of an ended server, in milliseconds.
pub const GROUP_END_PASS_MS: u64 = 10;

/// Most attempts to remove the control group of an ended server.
pub const GROUP_END_PASSES: u32 = 50;

/// Longest time of the check that a sandbox holds, in milliseconds.
pub const SANDBOX_PROBE_MS: u64 = 10_000;

/// A confined server that fails so soon after its start, in milliseconds, may have had no sandbox: the sandbox is checked again.
pub const SANDBOX_DOUBT_MS: u64 = 10_000;

/// Processes of one process tree that are listed.
pub const MAX_PROCESS_TREE: usize = 4_096;

/// Processes whose proportional memory is read in one pass over all language servers because they are new or have grown.
/// One reading takes about a millisecond per 100 MB; the other processes are estimated from their last reading.
pub const MAX_NEW_SHARES_PER_PASS: usize = 32;

/// Processes whose proportional memory is read again in one pass, although nothing suggests that it has changed.
pub const MAX_REPEATED_SHARES_PER_PASS: usize = 4;

/// Change of a process's resident memory after which its proportional memory is read again, in bytes.
pub const SHARE_DRIFT_BYTES: u64 = 32 * 1024 * 1024;

/// Children in one ledger file.
pub const MAX_LEDGER_ENTRIES: usize = 4_096;

/// Kept end of a language server's standard error, in bytes.
pub const STDERR_TAIL_BYTES: usize = 64 * 1024;

/// Kept end of a tool's output, in bytes.
pub const TOOL_OUTPUT_TAIL_BYTES: usize = 16 * 1024;

/// Output of one command of `git` that doesn't set a bound of its own, in bytes.
pub const MAX_GIT_OUTPUT_BYTES: usize = 64 * 1024 * 1024;

/// Most runs of tools that a thread records for its spans.
pub(crate) const MAX_LOGGED_TOOLS: usize = 500;

/// Open files of a confined process: the packs and loose objects of one repository.
pub const CONFINED_OPEN_FILES: u64 = 512;

/// Longest wait for the end of confined processes when codeyard ends, in milliseconds.
pub const CONFINED_END_MS: u64 = 500;

/// Pause between two looks at ended confined processes, and at the time of a confined process's request, in milliseconds.
pub const CONFINED_REAP_INTERVAL_MS: u64 = 200;

/// Longest time of each tool that removes a temporary folder which codeyard can't remove by itself, in milliseconds.
pub const REMOVE_LIMIT_MS: u64 = 5_000;

/// Time after which a probe of the sandbox is repeated that failed, or since which a confined server has failed at its start, in milliseconds.
pub const SANDBOX_PROBE_AGAIN_MS: u64 = 30_000;
