//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Most words of a line that an error lists when the position points at none of them.
pub const MAX_LISTED_IDENTIFIERS: usize = 40;

/// Most functions at one position for which callers or callees are requested.
pub const MAX_CALL_ITEMS: usize = 64;

/// Time before a call's deadline at which a linter without an answer is left out if another server has answered, in milliseconds.
pub const LATE_SERVER_MS: u64 = 150;

/// Replies of a language server up to this many bytes are decoded on the actor's thread.
pub const INLINE_DECODE_BYTES: usize = 64 * 1024;

/// Documents kept open at one language server.
pub const MAX_OPEN_DOCUMENTS: usize = 256;

/// Documents that one language server keeps open as anchors, whatever the number of its projects.
pub const MAX_SERVER_ANCHORS: usize = 128;

/// Time that the source lines of a result may take to read, in milliseconds, however late the result is.
pub const MIN_PREVIEW_MS: u64 = 500;

/// Language servers of a workspace whose changes are counted apart. Beyond it the counts so far concern every answer.
pub const MAX_SERVER_EPOCHS: usize = 512;

/// Files with diagnostics kept for one language server.
pub const MAX_DIAGNOSTIC_FILES: usize = 20_000;

/// Files with diagnostics beyond those of which it is remembered that they are not kept, for one language server. With more, it is a restart
/// that makes the diagnostics of the workspace complete again.
pub const MAX_UNKEPT_DIAGNOSTIC_FILES: usize = 100_000;

/// Diagnostics kept for one file. A longer list isn't kept.
pub const MAX_DIAGNOSTICS_PER_FILE: usize = 10_000;

/// Diagnostics kept for one file, in bytes. A larger list isn't kept.
pub const MAX_FILE_DIAGNOSTICS_BYTES: usize = 4 * 1024 * 1024;

/// Diagnostics kept for one language server, in bytes.
pub const MAX_SERVER_DIAGNOSTICS_BYTES: usize = 32 * 1024 * 1024;

/// Diagnostics that one language server may always keep, in bytes, however much the others have reported.
pub const SERVER_DIAGNOSTICS_SHARE_BYTES: usize = 1024 * 1024;

/// Diagnostics kept for all language servers, in bytes, besides the share that each may always keep.
pub const MAX_DIAGNOSTICS_BYTES: usize = 128 * 1024 * 1024;

/// Time between two warnings about diagnostics that aren't kept, in milliseconds.
pub const DROP_WARNING_MS: u64 = 60_000;

/// Memory of diagnostics that was freed, after which the heap is trimmed, in bytes.
pub const TRIM_AFTER_BYTES: usize = 16 * 1024 * 1024;

/// Time from then until it is trimmed, in milliseconds: a flood frees memory all the time.
pub const TRIM_DELAY_MS: u64 = 2_000;

/// Longest time that a language server which loads its project keeps other starts waiting, in milliseconds.
pub const MAX_LOAD_MS: u64 = 10_000;

/// Longest time after which a call is asked to come back, in milliseconds.
pub const MAX_RETRY_AFTER_MS: u64 = 60_000;

/// Lines of a failed language server's standard error that errors and the log show.
pub const FAILURE_LINES: usize = 3;

/// Characters of each of them.
pub const FAILURE_LINE_CHARS: usize = 240;

/// How long the exit of a language server is awaited after its connection has closed, in milliseconds.
pub const EXIT_WAIT_MS: u64 = 1_000;

/// Longest time that the start of a language server waits for the end of its predecessor, in milliseconds.
pub const ENDED_PROCESS_WAIT_MS: u64 = 5_000;

/// A server that was ready for this long, in milliseconds, before it was killed from outside is restarted at once.
pub const KILL_FORGOTTEN_MS: u64 = 30_000;

/// Calls in flight in one workspace.
pub const MAX_CALLS_PER_WORKSPACE: usize = 256;

/// Time for which arrivals at a language server are counted together, in milliseconds.
pub const OVERLOAD_BUCKET_MS: u64 = 30;

/// A language server gets too many requests if this many times as many arrive as it answers.
pub const OVERLOAD_FACTOR: f64 = 2.0;

/// After so many such buckets in a row only as many requests are admitted as keep the server busy.
pub const OVERLOAD_AFTER_BUCKETS: u32 = 3;

/// After so many other buckets in a row all requests are admitted again.
pub const OVERLOAD_CALM_BUCKETS: u32 = 16;

/// Requests that may wait at a language server, however long, before any is refused.
pub const SHORT_SERVER_QUEUE: usize = 16;

/// Requests that an overloaded language server always has: one that it works on and one that waits.
pub const MIN_SERVER_QUEUE: usize = 2;

/// A request that would wait longer than this at a language server, in milliseconds, is refused if others have had to for a while.
pub const MAX_SERVER_QUEUE_AGE_MS: u64 = 1_000;

/// Number of expired requests after which a silent language server counts as hung.
pub const HUNG_AFTER_EXPIRED: u32 = 3;

/// Workspaces in which a program must fail to start, and nowhere succeed since, before its failing starts are no longer repeated.
pub const PROGRAM_FAILURES: usize = 3;

/// Language servers of a workspace that were stopped on purpose and are listed for operators; the latest ones.
pub const MAX_STOPPED_SERVERS: usize = 64;

/// A language server that has answered nothing for this long, in milliseconds, and for five times as long as usual, refuses nothing.
pub const STUCK_SERVER_MS: u64 = 100;

/// How long the actor of a language server waits for files that it must read, in milliseconds. A server whose documents can't be read by
/// then is restarted.
pub const MAX_SERVER_READ_MS: u64 = 10_000;

/// Longest time in which the roots of a workspace are opened, in milliseconds. Then the workspace is one that can't be opened.
pub const MAX_ROOT_OPEN_MS: u64 = 10_000;

/// Openings of roots that take turns on the blocking pool.
pub const MAX_ROOT_OPENS: usize = 16;

/// Time after which an opening that isn't done lets the next one begin, in milliseconds.
pub const ROOT_OPEN_TURN_MS: u64 = 500;

/// Threads that hang in the opening of roots and are left behind. While there are as many, no other roots are opened.
pub const MAX_HUNG_ROOT_OPENS: usize = 256;

/// Time between two attempts to open the workspaces that couldn't be opened, in milliseconds.
pub const OPEN_AGAIN_MS: u64 = 15_000;

/// Time after which it is tried again to watch files that couldn't be watched, in milliseconds.
pub const WATCH_AGAIN_MS: u64 = 30_000;

/// How long a request of an operator waits for the supervisor, in milliseconds.
pub const OPERATOR_PATIENCE_MS: u64 = 1_000;

/// How long an operator's request waits for a measurement of new language servers, in milliseconds.
pub const MEASUREMENT_WAIT_MS: u64 = 500;

/// How often a thread of the engine shows that it runs, in milliseconds.
pub const HEARTBEAT_MS: u64 = 1_000;

/// A thread of the engine that has not run for this long, in milliseconds, is reported as busy.
pub const STALLED_AFTER_MS: u64 = 3_000;

/// A thread of the engine that has not run for this long, in milliseconds, fails the readiness probe.
pub const HUNG_AFTER_MS: u64 = 10_000;

/// Age at which the published health of a code index is read again, in milliseconds.
pub const INDEX_STATUS_AGE_MS: u64 = 10_000;

/// Time between two measurements of the memory of all language servers, in milliseconds.
pub const MEMORY_PASS_MS: u64 = 10_000;

/// The same while there is a memory budget and a language server is starting or working, in milliseconds.
pub const ACTIVE_MEMORY_PASS_MS: u64 = 1_000;

/// The same while a start waits for room in the memory budget, in milliseconds.
pub const WAITING_MEMORY_PASS_MS: u64 = 500;

/// Memory that a language server is expected to need if none of its kind was measured yet, in bytes.
pub const EXPECTED_SERVER_BYTES: u64 = 256 * 1024 * 1024;

/// Time after which a language server that was just used may be stopped to make room for another one, in milliseconds.
pub const EVICTABLE_AFTER_USE_MS: u64 = 3_000;

/// Time for which a language server that a query waits for is not stopped to make room for another one, in milliseconds.
pub const EVICTABLE_UNSERVED_MS: u64 = 60_000;

/// How far the memory budget may be exceeded before language servers with requests in flight are stopped, in percent.
pub const BUDGET_TOLERANCE_PERCENT: u64 = 5;

/// Language servers whose memory is remembered after they have ended.
pub const MAX_REMEMBERED_SERVER_SIZES: usize = 4_096;

/// Longest time that a draining workspace waits for its code index and its runs, in milliseconds. What still runs then is reported and left
/// to itself.
pub const STOP_WORK_MS: u64 = 7_000;

/// The same when codeyard itself ends, in milliseconds.
pub const PROMPT_STOP_WORK_MS: u64 = 3_000;

/// Time that a draining workspace has beyond that before its thread counts as stuck and its language servers are ended without it, in
/// milliseconds.
pub const STUCK_THREAD_MS: u64 = 1_500;

/// Time that each step takes that ends the language servers of a stuck thread, SIGTERM and SIGKILL, in milliseconds.
pub const STUCK_STOP_STEP_MS: u64 = 1_500;

/// Longest time in which all workspaces drain when codeyard ends, in milliseconds.
pub const DRAIN_ALL_MS: u64 = 11_000;

/// Longest time that is waited for the threads of the engine when codeyard ends, in milliseconds.
pub const THREAD_END_MS: u64 = 500;

/// Most plans of one workspace that are reused.
pub const MAX_REMEMBERED_PLANS: usize = 1_024;

/// Most plans of one workspace that are made at once. Each takes a thread, for ever if the file system hangs.
pub const MAX_PLAN_JOBS: usize = 32;

/// Most workspaces that drain at once; while there are as many, operators can't change workspaces.
pub const MAX_WORKSPACES_DRAINING: usize = 256;

/// Fewest language servers that may work on requests at once.
pub const MIN_REQUEST_TURNS: usize = 4;

/// Time after which a request that still runs no longer counts as one of those, in milliseconds.
pub const REQUEST_TURN_MS: u64 = 100;

/// Longest wait of a request for other language servers, in milliseconds. Then it is sent beside theirs.
pub const MAX_REQUEST_TURN_WAIT_MS: u64 = 250;

/// Queries of the code index that run at once in the process; further ones wait.
pub const MAX_CODE_QUERIES: usize = 16;

/// The same of one workspace, and of all calls to groups.
pub const MAX_WORKSPACE_CODE_QUERIES: usize = 12;

/// A query of the code index whose thread has not returned after this time, in milliseconds, hangs.
pub const HUNG_CODE_QUERY_MS: u64 = 6_000;

/// A workspace with so many queries that hang gets no further ones until one has returned.
pub const HUNG_CODE_QUERIES: usize = 4;

/// Time after which a query has run on after its call, in milliseconds.
pub const LATE_CODE_QUERY_MS: u64 = 2_500;

/// Queries at once of all workspaces together whose queries have lately run on after their calls. The others keep slots while these hang.
pub const MAX_SLOW_CODE_QUERIES: usize = 3;

/// Time for which a workspace counts as one of those after its last such query, in milliseconds.
pub const SLOW_WORKSPACE_MS: u64 = 20_000;

/// Queries of all workspaces that have run on after their calls, each on a thread. While there are as many, a workspace with one of them
/// gets no further ones.
pub const MAX_LATE_CODE_QUERIES: usize = 64;

/// Time after which the thread of a query to a group that is still at the same root may be stuck, so that another one takes its place, in
/// milliseconds.
pub const STUCK_UNIT_MS: u64 = 200;

/// Threads that take the place of others in queries to groups, over all of them, each until it has returned. One step uses half of them.
pub const MAX_EXTRA_GROUP_THREADS: usize = 16;

/// Longest time after the end of a step of a query to a group within which its threads return what they have, in milliseconds. Those that
/// don't are left behind.
pub const LATE_UNIT_MS: u64 = 100;

/// Time after which a call to a workspace whose queries hang is asked to come back, in milliseconds.
pub const HANGING_RETRY_AFTER_MS: u64 = 10_000;

/// Time after the end of a call after which its query gives its slots to others, although its thread has not returned, in milliseconds.
pub const CODE_QUERY_END_MS: u64 = 500;

/// Shortest time between two writes of the warm set because of queries, in milliseconds.
pub const WARMSET_WRITE_MS: u64 = 1_000;

/// Jobs that read all files of a root at the same time, over all workspaces; each uses several threads. Further ones take turns.
pub const MAX_FULL_INDEX_JOBS: usize = 2;

/// Longest wait of such a job for its turn, in milliseconds.
pub const MAX_INDEX_TURN_WAIT_MS: u64 = 60_000;

/// Jobs that update the index of a root at the same time, over all workspaces, after a start above all: each compares all files with the
/// disk then. Further ones take turns.
pub const MAX_INDEX_UPDATES: usize = 4;

/// Longest wait of an update for its turn, in milliseconds.
pub const MAX_UPDATE_TURN_WAIT_MS: u64 = 1_000;

/// Workspaces of a group that an answer lists because it doesn't cover them; a warning counts the others.
pub const MAX_LISTED_WORKSPACES: usize = 32;

/// Workspaces that one sentence of an answer names; it counts the others.
pub const MAX_WORKSPACES_IN_SENTENCE: usize = 8;

/// Results of one answer of the tool `lsp` that have their source lines: the first ones.
pub const MAX_PREVIEWS: usize = 2_000;

/// Long questions of one language server that go on after their calls.
pub const LONG_QUESTIONS: usize = 2;

/// Longest time that such a question goes on, in milliseconds.
pub const LONG_QUESTION_MS: u64 = 120_000;

/// Time after which such a question ends if it isn't asked again, in milliseconds.
pub const LONG_QUESTION_UNASKED_MS: u64 = 30_000;

/// Time after which such a question makes room for another one if it isn't asked again, in milliseconds.
pub const LONG_QUESTION_FORGOTTEN_MS: u64 = 12_000;

/// Longest time after which a call is asked to come back for the answer to such a question, in milliseconds.
pub const LONG_QUESTION_RETRY_MS: u64 = 8_000;

/// Largest file of which source lines are read for results, in bytes.
pub const MAX_PREVIEW_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of files that are read for the source lines of one answer.
pub const MAX_PREVIEW_READ_BYTES: usize = 64 * 1024 * 1024;

/// Source lines of one answer, in bytes. A fourth of the largest snapshot if that is less.
pub const MAX_PREVIEW_BYTES: usize = 1024 * 1024;

/// Files that are searched for a name to know whether a language server that isn't installed could have found it. With more files nobody
/// knows, and the server is named.
pub const MAX_NAME_FILES: usize = 2_000;

/// Bytes of these files.
pub const MAX_NAME_READ_BYTES: usize = 32 * 1024 * 1024;

/// Time after the last edit until the index is updated, in milliseconds.
pub const EDIT_QUIET_MS: u64 = 60;

/// Longest time that repeated edits delay the update of the index, in milliseconds.
pub const EDIT_DELAY_MS: u64 = 250;

/// Longest wait of an automatic index job after a long job, in milliseconds. It waits about as long as that job took.
pub const MAX_INDEX_REST_MS: u64 = 10_000;

/// Wait of an automatic index job after a failed job, in milliseconds.
pub const FAILED_INDEX_REST_MS: u64 = 15_000;

/// Fewest changed files for which `health_check` reports an update of an index as `indexing`.
pub const LARGE_SYNC_FILES: u64 = 200;

/// Runs of one workspace that are kept open although they do nothing.
pub const MAX_OPEN_RUNS: usize = 64;

/// How long a run is waited for that is still open elsewhere, because its workspace was changed, in milliseconds.
pub const OPEN_RUN_WAIT_MS: u64 = 15_000;

/// How often it is tried to open such a run, in milliseconds.
pub const OPEN_RUN_POLL_MS: u64 = 50;

/// Time between two passes over the working copies of runs that have ended, in milliseconds.
pub const OLD_WORK_PASS_MS: u64 = 3_600_000;

/// Most symbols of one answer that language servers are asked to confirm: the first ones
/// (`docs/internals/reference/contract-code.md#confirmed-rows`).
pub const MAX_CONFIRMED_ROWS: usize = 5;

/// Longest wait for the first index of a workspace, in milliseconds. Then the query is answered from what is indexed.
pub const FIRST_INDEX_WAIT_MS: u64 = 1_500;

/// Time that a query to a group keeps for the indexes of its workspaces: those that can't be opened before are left out, in milliseconds.
pub const GROUP_QUERY_TIME_MS: u64 = 700;

/// Threads that one query to a group uses at once; a larger number of threads of a search counts as this many.
pub const MAX_GROUP_THREADS: usize = 8;

/// Longest wait of a code query for the watcher's first walk, in milliseconds, where there is no index yet: an index that is made after
/// the walk is known to be fresh. With an older index the query doesn't wait, because its answer would be the same.
pub const CODE_WALK_WAIT_MS: u64 = 150;

/// Longest wait of a quick answer for what the code index knows of its name, in milliseconds. Then the answer isn't compared.
pub const COMPARISON_WAIT_MS: u64 = 5;

/// The part of its own time that another answer waits: one of that many.
pub const COMPARISON_SHARE: u32 = 20;

/// Longest time that the code index is read for one comparison, in milliseconds, and longest wait for it. What was read makes the next one faster.
pub const COMPARISON_END_MS: u64 = 500;
