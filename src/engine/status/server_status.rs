//! The published status of one language server: its actor writes it, and any thread reads it without asking the actor.
//!
//! It gives no access to the actor and makes no decision. Invariants: a reader never waits for an actor; what isn't known is `None`, never
//! zero; the process of the server is held weakly, so that a reader never keeps it running.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde::Serialize;

use crate::status::condition::{ServerCondition, Traffic};
use crate::status::project_cell::{ProjectCell, PublishedProject};
use crate::status::registry::ServerPhase;
use crate::status::server_state::ServerState;
use codeyard_base::clock::{Instant, wall_s};
use codeyard_base::ids::{ServerKind, WorkspaceName};
use codeyard_lsp::client::ConnectionReader;
use codeyard_process::launch::{Process, ProcessFigures};

/// What doesn't change while the actor of a server lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    pub workspace: WorkspaceName,
    /// Its id within the workspace.
    pub id: String,
    pub kind: ServerKind,
    /// Its version, where known.
    pub version: Option<String>,
    /// Its project root, relative to the workspace's root.
    pub root: String,
    /// The most memory that its process tree may use, in bytes. `None`: there is no limit.
    pub memory_limit: Option<u64>,
}

/// Why a server was ended or restarted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LastEnd {
    /// A reason of the restart metric, such as `memory_limit`.
    pub reason: &'static str,
    /// When, in seconds since 1970.
    pub at_s: u64,
}

impl LastEnd {
    pub(crate) fn now(reason: &'static str) -> Self {
        Self { reason, at_s: wall_s() }
    }
}

/// What the actor of a server publishes.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerReport {
    pub state: ServerState,
    /// When the state began.
    pub since: Instant,
    /// It counts as ready only because it showed no activity for long enough.
    pub assumed_ready: bool,
    /// Restarts since codeyard started.
    pub restarts: u64,
    /// Why it was ended or restarted last; `None`: it never was.
    pub last_end: Option<LastEnd>,
}

/// The use of one server by callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerUse {
    /// The last request that was sent to its actor; its start before the first one.
    pub last_request: Instant,
    /// The last query that needs it. `None`: no query has needed it yet.
    pub last_wanted: Option<Instant>,
    /// Whether it has been given a request since it was last wanted.
    pub is_served: bool,
}

/// The memory of one server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerMemory {
    /// Bytes of its process tree in the last pass. `None`: it doesn't run, or no pass has measured it yet.
    pub measured: Option<u64>,
    /// Bytes that its start was admitted with.
    pub reserved: u64,
}

/// The process of a running server.
struct ServerProcess {
    process: Weak<dyn Process>,
    connection: ConnectionReader,
    /// Requests that expired without an answer since the last one.
    expired: Weak<AtomicU32>,
    figures: ProcessFigures,
}

/// The published status of one language server.
pub struct LanguageServerStatus {
    identity: ServerIdentity,
    report: Mutex<ServerReport>,
    usage: Mutex<ServerUse>,
    process: Mutex<Option<ServerProcess>>,
    reserved: Mutex<u64>,
    open_documents: AtomicUsize,
    projects: ProjectCell,
    is_retired: AtomicBool,
}

impl std::fmt::Debug for LanguageServerStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanguageServerStatus").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// The health of one language server, as doctor and admin show it.
#[derive(Debug, Clone, Serialize)]
pub struct ServerHealth {
    /// Its id within the workspace.
    #[serde(skip)]
    pub id: String,
    pub kind: String,
    /// Its version, where known.
    pub version: Option<String>,
    /// Its project root, relative to the workspace's root.
    pub root: String,
    #[serde(flatten)]
    pub state: ServerState,
    /// The state in the words of people, with the reason.
    pub condition: ServerCondition,
    /// It never reported that it is ready; it counts as ready because it showed no activity for long enough.
    pub assumed_ready: bool,
    /// Seconds since the last change of state.
    pub since_s: u64,
    pub pid: Option<u32>,
    /// Memory of its process tree in bytes.
    pub memory_bytes: Option<u64>,
    /// The most memory that its process tree may use, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Restarts since codeyard started.
    pub restarts: u64,
    /// Why it was ended or restarted last.
    pub last_end: Option<LastEnd>,
    /// Documents open at it.
    pub open_documents: usize,
    /// Requests in flight.
    pub pending: usize,
    /// Seconds since the last request.
    pub unused_s: u64,
    /// The last lines of its standard error.
    pub stderr: String,
    /// Its projects, in the order of their roots; empty before the first start.
    #[serde(skip)]
    pub projects: Vec<PublishedProject>,
}

impl LanguageServerStatus {
    /// The status of a server that is starting.
    pub fn new(identity: ServerIdentity) -> Self {
        let now = Instant::now();
        Self {
            identity,
            report: Mutex::new(ServerReport {
                state: ServerState::Starting,
                since: now,
                assumed_ready: false,
                restarts: 0,
                last_end: None,
            }),
            usage: Mutex::new(ServerUse { last_request: now, last_wanted: None, is_served: true }),
            process: Mutex::new(None),
            reserved: Mutex::new(0),
            open_documents: AtomicUsize::new(0),
            projects: ProjectCell::default(),
            is_retired: AtomicBool::new(false),
        }
    }

    /// What doesn't change.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// Replaces what the actor publishes.
    pub fn publish(&self, report: ServerReport) {
        *self.report.lock() = report;
    }

    /// What the actor published last.
    pub fn report(&self) -> ServerReport {
        self.report.lock().clone()
    }

    /// The phase of the server.
    pub fn phase(&self) -> ServerPhase {
        ServerPhase::from(&self.report.lock().state)
    }

    /// Sets the number of documents that are open at the server.
    pub fn set_open_documents(&self, count: usize) {
        self.open_documents.store(count, Relaxed);
        self.projects.set_open_documents(count);
    }

    /// Its projects, and how many of their files it knows.
    pub fn projects(&self) -> &ProjectCell {
        &self.projects
    }

    /// The process of the server was started. `expired` counts its requests that expired without an answer since the last one.
    pub fn set_process(&self, process: &Arc<dyn Process>, connection: ConnectionReader, expired: Weak<AtomicU32>) {
        let process = Arc::downgrade(process);
        let figures = ProcessFigures::default();
        *self.process.lock() = Some(ServerProcess { process, connection, expired, figures });
    }

    /// The running process. `None`: there is none.
    pub fn process(&self) -> Option<Arc<dyn Process>> {
        self.process.lock().as_ref()?.process.upgrade()
    }

    /// Records what a pass measured of `process`. Ignored if another process runs by now.
    pub fn set_figures(&self, process: &Arc<dyn Process>, figures: ProcessFigures) {
        let mut running = self.process.lock();
        let measured = Arc::downgrade(process);
        if let Some(running) = running.as_mut().filter(|running| Weak::ptr_eq(&running.process, &measured)) {
            running.figures = figures;
        }
    }

    /// The number of requests in flight at the server.
    pub fn pending(&self) -> usize {
        self.process.lock().as_ref().map_or(0, |running| running.connection.pending())
    }

    /// Its memory.
    pub fn memory(&self) -> ServerMemory {
        let running = self.process.lock();
        let alive = running.as_ref().filter(|running| running.process.strong_count() > 0);
        ServerMemory {
            measured: alive.and_then(|running| running.figures.memory_bytes),
            reserved: *self.reserved.lock(),
        }
    }

    /// What its connection shows.
    fn traffic(&self) -> Traffic {
        let running = self.process.lock();
        let Some(running) = running.as_ref() else { return Traffic::default() };
        Traffic {
            has_process: running.process.strong_count() > 0,
            pending: running.connection.pending(),
            oldest_pending: running.connection.oldest_pending(),
            expired: running.expired.upgrade().map_or(0, |expired| expired.load(Relaxed)),
            last_byte_at: running.connection.last_byte_at(),
        }
    }

    /// Whether its process tree used more than its limit in the last pass.
    pub fn is_over_limit(&self) -> bool {
        self.identity.memory_limit.is_some_and(|limit| self.memory().measured.is_some_and(|bytes| bytes > limit))
    }

    /// Sets the bytes that its start was admitted with; 0: it isn't admitted, or it has ended.
    pub fn reserve(&self, bytes: u64) {
        *self.reserved.lock() = bytes;
    }

    /// A query needs the server. `is_waited_for`: the query waits until the server has answered it.
    pub fn set_wanted(&self, is_waited_for: bool) {
        let mut usage = self.usage.lock();
        usage.last_wanted = Some(Instant::now());
        usage.is_served &= !is_waited_for;
    }

    /// A request was sent to the actor. `is_served`: the actor passed it on to the server.
    pub fn set_used(&self, is_served: bool) {
        let mut usage = self.usage.lock();
        usage.last_request = Instant::now();
        usage.is_served |= is_served;
    }

    /// Its use by callers.
    pub fn usage(&self) -> ServerUse {
        *self.usage.lock()
    }

    /// The workspace has given the server up: it is being stopped, and a successor may be starting.
    pub fn retire(&self) {
        self.is_retired.store(true, Relaxed);
    }

    /// Whether the workspace has given the server up.
    pub fn is_retired(&self) -> bool {
        self.is_retired.load(Relaxed)
    }

    /// The status as operators see it.
    pub fn health(&self) -> ServerHealth {
        let report = self.report();
        let process = self.process();
        let figures = self.process.lock().as_ref().filter(|_| process.is_some()).map(|running| running.figures);
        let figures = figures.unwrap_or_default();
        let stderr = match &report.state {
            ServerState::Down(down) => down.stderr.clone(),
            _ => process.as_ref().map(|process| process.stderr_tail()).unwrap_or_default(),
        };
        let identity = &self.identity;
        let traffic = self.traffic();
        ServerHealth {
            id: identity.id.clone(),
            kind: identity.kind.to_string(),
            version: identity.version.clone(),
            root: identity.root.clone(),
            assumed_ready: report.assumed_ready,
            since_s: report.since.elapsed().as_secs(),
            pid: figures.server_id.or_else(|| process.as_ref()?.server_id()),
            memory_bytes: figures.memory_bytes,
            memory_limit_bytes: identity.memory_limit,
            restarts: report.restarts,
            last_end: report.last_end,
            open_documents: if process.is_some() { self.open_documents.load(Relaxed) } else { 0 },
            pending: traffic.pending,
            unused_s: self.usage().last_request.elapsed().as_secs(),
            stderr,
            projects: self.projects.current(),
            condition: ServerCondition::of(&report, &traffic),
            state: report.state,
        }
    }
}
