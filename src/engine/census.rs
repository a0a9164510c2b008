//! What runs, for whoever looks from outside: a cell for each workspace and each language server, written by its actor and
//! read by anybody at any time.
//!
//! It is no way to the actors and decides nothing. Invariants: reading waits for no actor; a cell is gone with its actor, so
//! nothing is counted twice and nothing that has ended is counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::server_state::ServerState;
use codeyard_base::ids::ServerKind;

/// Where a workspace is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkspaceState {
    /// Nobody has asked anything yet.
    Idle,
    /// The first walk through its files is under way.
    Starting,
    /// Its files are followed.
    Watching,
    /// Its files can't be followed, or not all of them.
    Unwatched,
    /// It is being stopped.
    Draining,
}

/// Where a language server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPhase {
    /// Being started.
    Starting,
    /// It failed, and is being started again.
    Restarting,
    /// It hasn't read the workspace yet.
    Indexing,
    /// Its answers are to be believed.
    Ready,
    /// It failed too often and is left alone for a while.
    Quarantined,
    /// Not running, and not about to.
    Down,
}

/// Every workspace of a process.
#[derive(Debug, Default)]
pub struct Census {
    workspaces: Mutex<Vec<Weak<WorkspaceCell>>>,
    failed: AtomicUsize,
    memory_budget: AtomicU64,
}

/// One workspace.
#[derive(Debug)]
pub struct WorkspaceCell {
    state: Mutex<WorkspaceState>,
    snapshots: AtomicUsize,
    snapshot_bytes: AtomicUsize,
    servers: Mutex<Vec<Weak<ServerCell>>>,
    indexes: Mutex<BTreeMap<usize, IndexSize>>,
}

/// How large the code index of one root is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Files of the working tree that are searched.
    pub files: u64,
    /// Symbols in them.
    pub symbols: u64,
    /// Which folder it lies in; working trees of one repository share it.
    pub folder: String,
    /// Bytes that the folder takes.
    pub bytes: u64,
}

/// One language server.
#[derive(Debug)]
pub struct ServerCell {
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

impl Census {
    /// A cell for a workspace that begins.
    pub fn workspace(&self) -> Arc<WorkspaceCell> {
        let cell = Arc::new(WorkspaceCell {
            state: Mutex::new(WorkspaceState::Idle),
            snapshots: AtomicUsize::new(0),
            snapshot_bytes: AtomicUsize::new(0),
            servers: Mutex::default(),
            indexes: Mutex::default(),
        });
        insert(&self.workspaces, &cell);
        cell
    }

    /// So many configured workspaces couldn't be opened.
    pub fn set_failed(&self, failed: usize) {
        self.failed.store(failed, Relaxed);
    }

    /// The memory that all language servers together may take in bytes; 0 is no budget.
    pub fn set_memory_budget(&self, bytes: u64) {
        self.memory_budget.store(bytes, Relaxed);
    }

    /// The memory budget in bytes; 0 is none.
    pub fn memory_budget(&self) -> u64 {
        self.memory_budget.load(Relaxed)
    }

    /// Workspaces by state, and those that couldn't be opened.
    pub fn workspaces(&self) -> Vec<(&'static str, u64)> {
        let states: Vec<WorkspaceState> = alive(&self.workspaces).iter().map(|cell| *cell.state.lock()).collect();
        let count = |state| states.iter().filter(|found| **found == state).count() as u64;
        let known = WorkspaceState::ALL.into_iter().map(|state| (state.as_str(), count(state)));
        known.chain([("failed", self.failed.load(Relaxed) as u64)]).collect()
    }

    /// Retained results of all workspaces, and their bytes.
    pub fn snapshots(&self) -> (u64, u64) {
        alive(&self.workspaces).iter().fold((0, 0), |(count, bytes), cell| {
            let (more, size) = (cell.snapshots.load(Relaxed), cell.snapshot_bytes.load(Relaxed));
            (count + more as u64, bytes + size as u64)
        })
    }

    /// Language servers by kind and state; of a kind that is there each state is named.
    pub fn servers(&self) -> BTreeMap<(ServerKind, &'static str), u64> {
        let mut counts = BTreeMap::new();
        self.each_server(|cell| {
            for phase in ServerPhase::ALL {
                counts.entry((cell.kind.clone(), phase.as_str())).or_default();
            }
            *counts.entry((cell.kind.clone(), cell.phase.lock().as_str())).or_default() += 1;
        });
        counts
    }

    /// Memory of language servers by kind in bytes, each with its process tree, as last looked at.
    pub fn memory(&self) -> BTreeMap<ServerKind, u64> {
        let mut sums = BTreeMap::new();
        self.each_server(|cell| *sums.entry(cell.kind.clone()).or_default() += cell.memory.load(Relaxed));
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

    fn each_server(&self, mut visit: impl FnMut(&ServerCell)) {
        for workspace in alive(&self.workspaces) {
            alive(&workspace.servers).iter().for_each(|cell| visit(cell));
        }
    }
}

impl WorkspaceCell {
    /// A cell for a language server that begins.
    pub fn server(&self, kind: ServerKind) -> Arc<ServerCell> {
        let cell = ServerCell { kind, phase: Mutex::new(ServerPhase::Starting), memory: AtomicU64::new(0) };
        let cell = Arc::new(cell);
        insert(&self.servers, &cell);
        cell
    }

    /// It is in this state now. One that drains stays so.
    pub fn set_state(&self, next: WorkspaceState) {
        let mut state = self.state.lock();
        if *state != WorkspaceState::Draining {
            *state = next;
        }
    }

    /// The code index of its root at this place is so large now.
    pub fn set_index(&self, at: usize, size: IndexSize) {
        self.indexes.lock().insert(at, size);
    }

    /// Its code index is closed.
    pub fn close_index(&self) {
        self.indexes.lock().clear();
    }

    /// It holds so many retained results of so many bytes now.
    pub fn set_snapshots(&self, count: usize, bytes: usize) {
        self.snapshots.store(count, Relaxed);
        self.snapshot_bytes.store(bytes, Relaxed);
    }
}

impl ServerCell {
    /// It is in this state now.
    pub fn set_phase(&self, phase: ServerPhase) {
        let mut held = self.phase.lock();
        *held = phase;
        if !matches!(phase, ServerPhase::Indexing | ServerPhase::Ready) {
            self.memory.store(0, Relaxed);
        }
    }

    /// Its process tree took so many bytes just now. Of one that has ended meanwhile nothing is kept.
    pub fn set_memory(&self, bytes: u64) {
        let phase = self.phase.lock();
        if matches!(*phase, ServerPhase::Indexing | ServerPhase::Ready) {
            self.memory.store(bytes, Relaxed);
        }
    }
}

fn insert<T>(cells: &Mutex<Vec<Weak<T>>>, cell: &Arc<T>) {
    let mut cells = cells.lock();
    cells.retain(|known| known.strong_count() > 0);
    cells.push(Arc::downgrade(cell));
}

fn alive<T>(cells: &Mutex<Vec<Weak<T>>>) -> Vec<Arc<T>> {
    cells.lock().iter().filter_map(Weak::upgrade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_while_they_are_held() {
        let census = Census::default();
        let (one, two) = (census.workspace(), census.workspace());
        one.set_state(WorkspaceState::Watching);
        one.set_snapshots(2, 300);
        two.set_snapshots(1, 40);
        let (kind, other) = (ServerKind::new("a"), ServerKind::new("b"));
        let servers = [one.server(kind.clone()), two.server(kind.clone()), two.server(other.clone())];
        servers[0].set_phase(ServerPhase::Ready);
        servers[0].set_memory(10);
        servers[1].set_phase(ServerPhase::Indexing);
        servers[1].set_memory(5);
        let states =
            |census: &Census| census.workspaces().into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>();
        assert_eq!(states(&census), [("idle", 1), ("watching", 1)]);
        assert_eq!(census.snapshots(), (3, 340));
        assert_eq!(census.memory(), BTreeMap::from([(kind.clone(), 15), (other.clone(), 0)]));
        assert_eq!(census.servers()[&(kind.clone(), "ready")], 1);
        assert_eq!(census.servers()[&(other, "ready")], 0, "a state that none is in is named");
        servers[0].set_phase(ServerPhase::Down);
        assert_eq!(census.memory()[&kind], 5, "one that doesn't run takes no memory");
        drop(two);
        two_is_gone(&census);
        census.set_failed(3);
        one.set_state(WorkspaceState::Draining);
        one.set_state(WorkspaceState::Watching);
        assert_eq!(states(&census), [("draining", 1), ("failed", 3)]);
    }

    fn two_is_gone(census: &Census) {
        assert_eq!(census.snapshots(), (2, 300));
        assert_eq!(census.servers().values().sum::<u64>(), 1);
    }
}
