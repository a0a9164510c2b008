//! Figures of all running workspaces and language servers: each actor writes its own entry, and any thread reads them.
//!
//! It gives no access to the actors and makes no decision. Invariants: a reader never waits for an actor; an entry disappears with its
//! actor, so nothing is counted twice and nothing that has ended is counted.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::status::server_state::ServerState;
use codeyard_base::ids::ServerKind;

/// The state of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkspaceState {
    /// No query has arrived yet.
    Idle,
    /// The watcher makes its first walk through the files.
    Starting,
    /// Its files are watched.
    Watching,
    /// Its files can't be watched, or only some of them.
    Unwatched,
    /// It is being stopped.
    Draining,
}

/// The phase of a language server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPhase {
    /// Being started.
    Starting,
    /// It failed and is being restarted.
    Restarting,
    /// It is still indexing the workspace.
    Indexing,
    /// It is ready to answer.
    Ready,
    /// It failed too often and is not restarted for a while.
    Quarantined,
    /// It is not running and will not start by itself.
    Down,
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
    state: Mutex<WorkspaceState>,
    snapshots: AtomicUsize,
    snapshot_bytes: AtomicUsize,
    servers: Mutex<Vec<Weak<LanguageServerStatus>>>,
    indexes: Mutex<BTreeMap<usize, IndexSize>>,
}

/// The size of the code index of one root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Files of the working tree that are searched.
    pub files: u64,
    /// Symbols in them.
    pub symbols: u64,
    /// The folder that holds it; working trees of one repository share it.
    pub folder: String,
    /// Bytes on disk of that folder.
    pub bytes: u64,
}

/// The entry of one language server.
#[derive(Debug)]
pub struct LanguageServerStatus {
    kind: ServerKind,
    phase: Mutex<ServerPhase>,
    memory: AtomicU64,
}

impl WorkspaceState {
    const ALL: [Self; 5] = [Self::Idle, Self::Starting, Self::Watching, Self::Unwatched, Self::Draining];

    /// The word in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Watching => "watching",
            Self::Unwatched => "unwatched",
            Self::Draining => "draining",
        }
    }
}

impl ServerPhase {
    const ALL: [Self; 6] =
        [Self::Starting, Self::Restarting, Self::Indexing, Self::Ready, Self::Quarantined, Self::Down];

    /// The word in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Restarting => "restarting",
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Quarantined => "quarantined",
            Self::Down => "down",
        }
    }
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
    /// Adds an entry for a new workspace.
    pub fn workspace(&self) -> Arc<WorkspaceStatus> {
        let status = Arc::new(WorkspaceStatus {
            state: Mutex::new(WorkspaceState::Idle),
            snapshots: AtomicUsize::new(0),
            snapshot_bytes: AtomicUsize::new(0),
            servers: Mutex::default(),
            indexes: Mutex::default(),
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
        let states: Vec<WorkspaceState> = alive(&self.workspaces).iter().map(|status| *status.state.lock()).collect();
        let count = |state| states.iter().filter(|found| **found == state).count() as u64;
        let known = WorkspaceState::ALL.into_iter().map(|state| (state.as_str(), count(state)));
        known.chain([("failed", self.failed.load(Relaxed) as u64)]).collect()
    }

    /// The number of retained results of all workspaces, and their bytes.
    pub fn snapshots(&self) -> (u64, u64) {
        alive(&self.workspaces).iter().fold((0, 0), |(count, bytes), status| {
            let (more, size) = (status.snapshots.load(Relaxed), status.snapshot_bytes.load(Relaxed));
            (count + more as u64, bytes + size as u64)
        })
    }

    /// The number of language servers by kind and state. For each kind all states are listed.
    pub fn servers(&self) -> BTreeMap<(ServerKind, &'static str), u64> {
        let mut counts = BTreeMap::new();
        self.each_server(|status| {
            for phase in ServerPhase::ALL {
                counts.entry((status.kind.clone(), phase.as_str())).or_default();
            }
            *counts.entry((status.kind.clone(), status.phase.lock().as_str())).or_default() += 1;
        });
        counts
    }

    /// The memory of language servers by kind in bytes, with their process trees, as last measured.
    pub fn memory(&self) -> BTreeMap<ServerKind, u64> {
        let mut sums = BTreeMap::new();
        self.each_server(|status| *sums.entry(status.kind.clone()).or_default() += status.memory.load(Relaxed));
        sums
    }

    /// Files, symbols and bytes of the code indexes that are open.
    pub fn indexes(&self) -> (u64, u64, u64) {
        let (mut files, mut symbols, mut folders) = (0, 0, BTreeMap::new());
        for workspace in alive(&self.workspaces) {
            for size in workspace.indexes.lock().values() {
                files += size.files;
                symbols += size.symbols;
                folders.insert(size.folder.clone(), size.bytes);
            }
        }
        (files, symbols, folders.values().sum())
    }

    fn each_server(&self, mut f: impl FnMut(&LanguageServerStatus)) {
        for workspace in alive(&self.workspaces) {
            alive(&workspace.servers).iter().for_each(|status| f(status));
        }
    }
}

impl WorkspaceStatus {
    /// Adds an entry for a new language server.
    pub fn server(&self, kind: ServerKind) -> Arc<LanguageServerStatus> {
        let status = LanguageServerStatus { kind, phase: Mutex::new(ServerPhase::Starting), memory: AtomicU64::new(0) };
        let status = Arc::new(status);
        insert(&self.servers, &status);
        status
    }

    /// Sets the state. A draining workspace stays draining.
    pub fn set_state(&self, next: WorkspaceState) {
        let mut state = self.state.lock();
        if *state != WorkspaceState::Draining {
            *state = next;
        }
    }

    /// Sets the size of the code index of the root at this position.
    pub fn set_index(&self, at: usize, size: IndexSize) {
        self.indexes.lock().insert(at, size);
    }

    /// Removes the sizes of its code indexes.
    pub fn close_index(&self) {
        self.indexes.lock().clear();
    }

    /// Sets the number of retained results and their bytes.
    pub fn set_snapshots(&self, count: usize, bytes: usize) {
        self.snapshots.store(count, Relaxed);
        self.snapshot_bytes.store(bytes, Relaxed);
    }
}

impl LanguageServerStatus {
    /// Sets the phase.
    pub fn set_phase(&self, phase: ServerPhase) {
        let mut held = self.phase.lock();
        *held = phase;
        if !matches!(phase, ServerPhase::Indexing | ServerPhase::Ready) {
            self.memory.store(0, Relaxed);
        }
    }

    /// Sets the memory of its process tree in bytes. Ignored unless the server is running.
    pub fn set_memory(&self, bytes: u64) {
        let phase = self.phase.lock();
        if matches!(*phase, ServerPhase::Indexing | ServerPhase::Ready) {
            self.memory.store(bytes, Relaxed);
        }
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

    #[test]
    fn cells_are_counted_while_they_are_held() {
        let registry = StatusRegistry::default();
        let (one, two) = (registry.workspace(), registry.workspace());
        one.set_state(WorkspaceState::Watching);
        one.set_snapshots(2, 300);
        two.set_snapshots(1, 40);
        let (kind, other) = (ServerKind::new("a"), ServerKind::new("b"));
        let servers = [one.server(kind.clone()), two.server(kind.clone()), two.server(other.clone())];
        servers[0].set_phase(ServerPhase::Ready);
        servers[0].set_memory(10);
        servers[1].set_phase(ServerPhase::Indexing);
        servers[1].set_memory(5);
        let states = |registry: &StatusRegistry| {
            registry.workspaces().into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>()
        };
        assert_eq!(states(&registry), [("idle", 1), ("watching", 1)]);
        assert_eq!(registry.snapshots(), (3, 340));
        assert_eq!(registry.memory(), BTreeMap::from([(kind.clone(), 15), (other.clone(), 0)]));
        assert_eq!(registry.servers()[&(kind.clone(), "ready")], 1);
        assert_eq!(registry.servers()[&(other, "ready")], 0, "a state that none is in is named");
        servers[0].set_phase(ServerPhase::Down);
        assert_eq!(registry.memory()[&kind], 5, "one that doesn't run takes no memory");
        drop(two);
        two_is_gone(&registry);
        registry.set_failed(3);
        one.set_state(WorkspaceState::Draining);
        one.set_state(WorkspaceState::Watching);
        assert_eq!(states(&registry), [("draining", 1), ("failed", 3)]);
    }

    fn two_is_gone(registry: &StatusRegistry) {
        assert_eq!(registry.snapshots(), (2, 300));
        assert_eq!(registry.servers().values().sum::<u64>(), 1);
    }
}
