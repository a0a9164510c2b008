//! Figures of all running workspaces and language servers: each actor writes its own entry, and any thread reads them.
//!
//! It gives no access to the actors and makes no decision. Invariants: a reader never waits for an actor; an entry disappears with its
//! actor, so nothing is counted twice and nothing that has ended is counted; unknown memory is left out, never counted as zero.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::status::heartbeat::Heartbeat;
use crate::status::index_status::IndexStatusBoard;
use crate::status::server_state::ServerState;
use crate::status::server_status::{LanguageServerStatus, ServerIdentity};
use crate::status::stopped_servers::{StopReason, StoppedServerHealth, StoppedServers};
use codeyard_base::clock::Instant;
use codeyard_base::ids::ServerKind;
use codeyard_base::words;
use codeyard_model::epoch::Epochs;

words! {
    /// The state of a workspace.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum WorkspaceState {
        /// No query has arrived yet.
        Idle => "idle",
        /// The watcher makes its first walk through the files.
        Starting => "starting",
        /// Its files are watched.
        Watching => "watching",
        /// Its files can't be watched, or only some of them.
        Unwatched => "unwatched",
        Draining => "draining",
    }
    /// The word in metrics.
    fn as_str;
}

words! {
    /// The phase of a language server.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ServerPhase {
        Starting => "starting",
        /// It failed and is being restarted.
        Restarting => "restarting",
        /// It is still indexing the workspace.
        Indexing => "indexing",
        /// It is ready to answer.
        Ready => "ready",
        /// It failed too often and is not restarted for a while.
        Quarantined => "quarantined",
        /// It is not running and will not start by itself.
        Down => "down",
    }
    /// The word in metrics.
    fn as_str;
}

/// The entries of all workspaces of a process.
#[derive(Debug, Default)]
pub struct StatusRegistry {
    workspaces: Mutex<Vec<Weak<WorkspaceStatus>>>,
    failed: AtomicUsize,
    memory_budget: AtomicU64,
}

/// The entry of one workspace.
#[derive(Debug)]
pub struct WorkspaceStatus {
    report: Mutex<WorkspaceReport>,
    snapshots: AtomicUsize,
    snapshot_bytes: AtomicUsize,
    servers: Mutex<Vec<Weak<LanguageServerStatus>>>,
    stopped: StoppedServers,
    indexes: Mutex<BTreeMap<usize, IndexSize>>,
    heartbeat: Arc<Heartbeat>,
    /// Calls that were begun.
    calls: AtomicU64,
    /// The health of its code indexes.
    pub index_board: IndexStatusBoard,
}

/// What the actor of a workspace publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceReport {
    pub state: WorkspaceState,
    /// When the state began.
    pub since: Instant,
    pub epochs: Epochs,
    /// Why its files can't be watched at all.
    pub unwatched: Option<String>,
}

/// The size of the code index of one root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Files of the working tree that are searched.
    pub files: u64,
    pub symbols: u64,
    /// The folder that holds it; working trees of one repository share it.
    pub folder: String,
    /// Bytes on disk of that folder.
    pub bytes: u64,
    /// Those of its text index.
    pub text_bytes: u64,
}

impl From<&ServerState> for ServerPhase {
    fn from(state: &ServerState) -> Self {
        match state {
            ServerState::Starting => Self::Starting,
            ServerState::Restarting(_) => Self::Restarting,
            ServerState::Indexing { .. } => Self::Indexing,
            ServerState::Ready => Self::Ready,
            ServerState::Down(down) if down.reason == "quarantined" => Self::Quarantined,
            ServerState::Down(_) => Self::Down,
        }
    }
}

impl StatusRegistry {
    /// Adds an entry for a new workspace, whose actor runs on the thread of `heartbeat`.
    pub fn workspace(&self, heartbeat: Arc<Heartbeat>) -> Arc<WorkspaceStatus> {
        let state = WorkspaceState::Idle;
        let since = Instant::now();
        let status = Arc::new(WorkspaceStatus {
            report: Mutex::new(WorkspaceReport { state, since, epochs: Epochs::default(), unwatched: None }),
            snapshots: AtomicUsize::new(0),
            snapshot_bytes: AtomicUsize::new(0),
            servers: Mutex::default(),
            stopped: StoppedServers::default(),
            indexes: Mutex::default(),
            heartbeat,
            calls: AtomicU64::new(0),
            index_board: IndexStatusBoard::default(),
        });
        insert(&self.workspaces, &status);
        status
    }

    /// Sets the number of configured workspaces that couldn't be opened.
    pub fn set_failed(&self, failed: usize) {
        self.failed.store(failed, Relaxed);
    }

    /// Sets the memory budget of all language servers together, in bytes; 0 means none.
    pub fn set_memory_budget(&self, bytes: u64) {
        self.memory_budget.store(bytes, Relaxed);
    }

    /// The memory budget in bytes; 0 means none.
    pub fn memory_budget(&self) -> u64 {
        self.memory_budget.load(Relaxed)
    }

    /// The number of workspaces in each state, and of those that couldn't be opened.
    pub fn workspaces(&self) -> Vec<(&'static str, u64)> {
        let states: Vec<WorkspaceState> = alive(&self.workspaces).iter().map(|status| status.state()).collect();
        let count = |state| states.iter().filter(|found| **found == state).count() as u64;
        let known = WorkspaceState::ALL.into_iter().map(|state| (state.as_str(), count(state)));
        known.chain([("failed", self.failed.load(Relaxed) as u64)]).collect()
    }

    /// The number of retained results of all workspaces, and their bytes.
    pub fn snapshots(&self) -> (u64, u64) {
        alive(&self.workspaces).iter().fold((0, 0), |(count, bytes), status| {
            (count + status.snapshots.load(Relaxed) as u64, bytes + status.snapshot_bytes.load(Relaxed) as u64)
        })
    }

    /// The number of language servers by kind and state. For each kind all states are listed.
    pub fn servers(&self) -> BTreeMap<(ServerKind, &'static str), u64> {
        let mut counts = BTreeMap::new();
        for status in self.all_servers() {
            let kind = &status.identity().kind;
            for phase in ServerPhase::ALL {
                counts.entry((kind.clone(), phase.as_str())).or_default();
            }
            *counts.entry((kind.clone(), status.phase().as_str())).or_default() += 1;
        }
        counts
    }

    /// The memory of language servers by kind in bytes, with their process trees, as last measured. A kind of which no server was
    /// measured is missing.
    pub fn memory(&self) -> BTreeMap<ServerKind, u64> {
        let mut sums = BTreeMap::new();
        for status in self.all_servers() {
            if let Some(bytes) = status.memory().measured {
                *sums.entry(status.identity().kind.clone()).or_default() += bytes;
            }
        }
        sums
    }

    /// The language servers of all workspaces, also those that are being stopped.
    pub fn all_servers(&self) -> Vec<Arc<LanguageServerStatus>> {
        alive(&self.workspaces).iter().flat_map(|workspace| alive(&workspace.servers)).collect()
    }

    /// Files, symbols and bytes of the code indexes that are open.
    pub fn indexes(&self) -> (u64, u64, u64, u64) {
        let mut files = 0;
        let mut symbols = 0;
        let mut folders = BTreeMap::new();
        for workspace in alive(&self.workspaces) {
            for size in workspace.indexes.lock().values() {
                files += size.files;
                symbols += size.symbols;
                folders.insert(size.folder.clone(), (size.bytes, size.text_bytes));
            }
        }
        let bytes = folders.values().map(|(bytes, _)| bytes).sum();
        (files, symbols, bytes, folders.values().map(|(_, text)| text).sum())
    }
}

impl WorkspaceStatus {
    /// Adds an entry for a new language server.
    pub fn server(&self, identity: ServerIdentity) -> Arc<LanguageServerStatus> {
        self.stopped.remove(&identity.id);
        let status = Arc::new(LanguageServerStatus::new(identity));
        insert(&self.servers, &status);
        status
    }

    /// A language server is stopped for this reason, and stays so until a query needs it.
    pub fn set_stopped(&self, status: &LanguageServerStatus, reason: StopReason) {
        self.stopped.add(status.identity(), reason);
    }

    /// The language servers that were stopped and haven't been needed since.
    pub fn stopped(&self) -> Vec<StoppedServerHealth> {
        self.stopped.list()
    }

    /// Its language servers without those that it has given up, ordered by kind and project root.
    pub fn servers(&self) -> Vec<Arc<LanguageServerStatus>> {
        let mut servers = alive(&self.servers);
        servers.retain(|status| !status.is_retired());
        servers.sort_by(|one, other| {
            let [one, other] = [one.identity(), other.identity()];
            (one.kind.as_str(), &one.root).cmp(&(other.kind.as_str(), &other.root))
        });
        servers
    }

    /// Sets the state. A draining workspace stays draining.
    pub fn set_state(&self, next: WorkspaceState) {
        let mut report = self.report.lock();
        if report.state != WorkspaceState::Draining && report.state != next {
            (report.state, report.since) = (next, Instant::now());
        }
    }

    /// The state.
    pub fn state(&self) -> WorkspaceState {
        self.report.lock().state
    }

    /// Counts a call that begins.
    pub fn count_call(&self) {
        self.calls.fetch_add(1, Relaxed);
    }

    /// Calls that were begun.
    pub fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// Sets the epochs.
    pub fn set_epochs(&self, epochs: Epochs) {
        self.report.lock().epochs = epochs;
    }

    /// Sets why its files can't be watched at all.
    pub fn set_unwatched(&self, why: Option<String>) {
        self.report.lock().unwatched = why;
    }

    /// What its actor published last.
    pub fn report(&self) -> WorkspaceReport {
        self.report.lock().clone()
    }

    /// The heartbeat of the thread of its actors.
    pub fn heartbeat(&self) -> &Heartbeat {
        &self.heartbeat
    }

    /// Sets the size of the code index of the root at this position.
    pub fn set_index(&self, at: usize, size: IndexSize) {
        self.indexes.lock().insert(at, size);
    }

    /// Removes the sizes of its code indexes.
    pub fn close_index(&self) {
        self.indexes.lock().clear();
        self.index_board.close();
    }

    /// Sets the number of retained results and their bytes.
    pub fn set_snapshots(&self, count: usize, bytes: usize) {
        self.snapshots.store(count, Relaxed);
        self.snapshot_bytes.store(bytes, Relaxed);
    }

    /// The number of retained results and their bytes.
    pub fn snapshots(&self) -> (usize, usize) {
        (self.snapshots.load(Relaxed), self.snapshot_bytes.load(Relaxed))
    }
}

fn insert<T>(statuses: &Mutex<Vec<Weak<T>>>, status: &Arc<T>) {
    let mut statuses = statuses.lock();
    statuses.retain(|known| known.strong_count() > 0);
    statuses.push(Arc::downgrade(status));
}

fn alive<T>(statuses: &Mutex<Vec<Weak<T>>>) -> Vec<Arc<T>> {
    statuses.lock().iter().filter_map(Weak::upgrade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_base::ids::WorkspaceName;
    use codeyard_lsp::client::ConnectionReader;
    use codeyard_process::launch::{Process, ProcessExit, ProcessFigures};
    use futures::FutureExt;
    use futures::future::BoxFuture;

    struct Running;

    impl Process for Running {
        fn id(&self) -> Option<u32> {
            None
        }
        fn exited(&self) -> BoxFuture<'static, ProcessExit> {
            std::future::pending().boxed()
        }
        fn terminate(&self) {}
        fn kill(&self) {}
        fn group_is_empty(&self) -> bool {
            false
        }
        fn stderr_tail(&self) -> String {
            "a line".into()
        }
        fn memory_bytes(&self) -> Option<u64> {
            None
        }
    }

    fn identity(kind: &str, root: &str) -> ServerIdentity {
        let workspace = WorkspaceName::new("w").unwrap();
        ServerIdentity {
            workspace,
            id: format!("{kind}-{root}"),
            kind: ServerKind::new(kind),
            version: None,
            root: root.into(),
            memory_limit: None,
        }
    }

    fn ready(status: &LanguageServerStatus) {
        status.publish(crate::status::server_status::ServerReport { state: ServerState::Ready, ..status.report() });
    }

    fn states(registry: &StatusRegistry) -> Vec<(&'static str, u64)> {
        registry.workspaces().into_iter().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn entries_are_counted_while_they_are_held() {
        let registry = StatusRegistry::default();
        let one = registry.workspace(Arc::default());
        let two = registry.workspace(Arc::default());
        one.set_state(WorkspaceState::Watching);
        one.set_snapshots(2, 300);
        two.set_snapshots(1, 40);
        let servers =
            [one.server(identity("a", "./x")), two.server(identity("a", "./")), two.server(identity("b", "./"))];
        ready(&servers[0]);
        assert_eq!(states(&registry), [("idle", 1), ("watching", 1)]);
        assert_eq!(registry.snapshots(), (3, 340));
        let a = ServerKind::new("a");
        let b = ServerKind::new("b");
        assert_eq!(registry.servers()[&(a, "ready")], 1);
        assert_eq!(registry.servers()[&(b, "ready")], 0, "a state that none is in is named");
        drop(two);
        assert_eq!(registry.snapshots(), (2, 300));
        assert_eq!(registry.servers().values().sum::<u64>(), 1);
        registry.set_failed(3);
        one.set_state(WorkspaceState::Draining);
        one.set_state(WorkspaceState::Watching);
        assert_eq!(states(&registry), [("draining", 1), ("failed", 3)]);
    }

    #[test]
    fn unknown_memory_is_left_out_and_ends_with_the_process() {
        let registry = StatusRegistry::default();
        let workspace = registry.workspace(Arc::default());
        let status = workspace.server(identity("a", "./"));
        let process: Arc<dyn Process> = Arc::new(Running);
        status.set_process(&process, ConnectionReader::default(), Weak::new());
        ready(&status);
        assert_eq!(registry.memory(), BTreeMap::new(), "not measured yet");
        assert_eq!((status.health().memory_bytes, status.health().stderr.as_str()), (None, "a line"));
        status.set_figures(&process, ProcessFigures { memory_bytes: Some(7), server_id: Some(4) });
        assert_eq!(registry.memory(), BTreeMap::from([(ServerKind::new("a"), 7)]));
        assert_eq!((status.health().memory_bytes, status.health().pid), (Some(7), Some(4)));
        let other: Arc<dyn Process> = Arc::new(Running);
        status.set_figures(&other, ProcessFigures { memory_bytes: Some(9), server_id: None });
        assert_eq!(status.memory().measured, Some(7), "a figure of another process is ignored");
        drop(process);
        assert_eq!((status.memory().measured, registry.memory().len()), (None, 0));
    }

    #[test]
    fn servers_are_ordered_and_those_that_were_given_up_are_not_listed() {
        let registry = StatusRegistry::default();
        let workspace = registry.workspace(Arc::default());
        let servers = ["./b", "./a", "./c"].map(|root| workspace.server(identity("ty", root)));
        let other = workspace.server(identity("clangd", "./z"));
        servers[2].retire();
        let listed: Vec<String> = workspace.servers().iter().map(|status| status.identity().id.clone()).collect();
        assert_eq!(listed, ["clangd-./z", "ty-./a", "ty-./b"]);
        assert_eq!(registry.all_servers().len(), 4, "its memory still counts");
        drop(other);
    }
}
