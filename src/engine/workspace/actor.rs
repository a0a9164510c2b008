//! The state of the workspace actor and its start.
//!
//! A handler never waits for a language server or for the watcher's first walk: it returns what the caller must wait for.
//! Invariants: epochs never decrease; a snapshot is retained only under the epochs at which it was computed; every change that the watcher
//! has seen is counted before a later query is answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use crate::heap_trim;
use crate::query::known_files::SharedKnownFiles;
use crate::server::child_key::ChildKey;
use crate::status::actor_exit::{ExitGuard, ExitKind};
use crate::status::watch_slot::{FirstWalk, WatchSlot};
use crate::workspace::epochs::WorkspaceEpochs;
use crate::workspace::long_questions::LongQuestions;
use crate::workspace::messages::Retune;
use crate::workspace::plans::{PlanJob, PlanKey};
use crate::workspace::project_jobs::ProjectJob;
use crate::workspace::runs::OpenRuns;
use crate::workspace::setup::{Policy, WorkspaceSetup};
use crate::workspace::shared_servers::PlacementRevision;
use crate::workspace::state::{Child, Indexing, RunningExecution, Sweeping, Watching};
use codeyard_base::clock::Instant;
use codeyard_complete::commonjs::ModuleCache;
use codeyard_model::epoch::EpochScope;
use codeyard_paging::SnapshotStore;

/// Capacity of the mailbox. When it is full, senders wait, within the deadlines of their calls.
const MAILBOX: usize = 4_096;
/// How often expired snapshots are dropped.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(15);

/// The actor of one workspace.
pub struct Workspace {
    pub(super) setup: Arc<WorkspaceSetup>,
    pub(super) policy: Policy,
    pub(super) epochs: WorkspaceEpochs,
    /// Servers whose actors panicked, and until when they are not started.
    pub(super) paused: HashMap<ChildKey, Instant>,
    /// Evictions and expiries of the store that were counted already.
    pub(super) counted_evictions: [u64; 3],
    pub(super) known: SharedKnownFiles,
    pub(super) watching: Watching,
    pub(super) slot: WatchSlot,
    pub(super) modules: ModuleCache,
    pub(super) children: BTreeMap<ChildKey, Child>,
    pub(super) executions: HashMap<String, RunningExecution>,
    /// Number of partial results so far.
    pub(super) partial_results: u64,
    pub(super) long_questions: LongQuestions,
    pub(super) runs: OpenRuns,
    pub(super) plans: HashMap<PlanKey, PlanJob>,
    /// Rises when plans that were made before must not be used for later queries.
    pub(super) plan_revision: u64,
    pub(super) project_jobs: HashMap<ChildKey, ProjectJob>,
    /// Kinds that have a process for each project root at present, although one could handle all.
    pub(super) separated: BTreeSet<String>,
    pub(super) placement: PlacementRevision,
    pub(super) sweeping: Sweeping,
    pub(super) indexing: Indexing,
    /// The walk after which the watcher follows the files that only the code index lists too; `None` before it began.
    pub(super) following: Option<FirstWalk>,
    pub(super) draining: bool,
    pub(super) _exit: ExitGuard,
}

impl Workspace {
    /// An actor for `setup` that puts its subscription into `slot`. `on_exit` is called when the actor ends.
    pub fn new(setup: Arc<WorkspaceSetup>, slot: WatchSlot, on_exit: impl FnOnce(ExitKind) + Send + 'static) -> Self {
        let policy = setup.policy.clone();
        let epochs = WorkspaceEpochs::beginning_at(setup.roots_epoch);
        setup.status.set_epochs(epochs.of(&EpochScope::Workspace));
        Self {
            epochs,
            paused: HashMap::new(),
            counted_evictions: [0; 3],
            known: setup.known.clone(),
            watching: Watching::Idle,
            slot,
            modules: ModuleCache::default(),
            children: BTreeMap::new(),
            executions: HashMap::new(),
            partial_results: 0,
            long_questions: LongQuestions::default(),
            runs: OpenRuns::default(),
            plans: HashMap::new(),
            plan_revision: 0,
            project_jobs: HashMap::new(),
            separated: BTreeSet::new(),
            placement: PlacementRevision::default(),
            sweeping: Sweeping::default(),
            indexing: Indexing::default(),
            following: None,
            draining: false,
            policy,
            setup,
            _exit: ExitGuard::new(on_exit),
        }
    }
}

/// An empty store for the results of a workspace with this policy.
pub(crate) fn snapshot_store(policy: &Policy) -> SnapshotStore {
    let limits = &policy.limits;
    let ttl = Duration::from_secs(limits.snapshot_ttl_s);
    SnapshotStore::new(limits.max_snapshot_bytes, limits.max_snapshots_total_bytes, ttl)
}

impl Actor for Workspace {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(EXPIRY_INTERVAL, |workspace, _| {
            let freed = {
                let mut snapshots = workspace.setup.snapshots.lock();
                let before = snapshots.bytes();
                snapshots.expire(Instant::now());
                snapshots.drop_outdated(|scope| workspace.epochs.of(scope));
                before - snapshots.bytes()
            };
            heap_trim::if_worthwhile(freed);
            workspace.publish_snapshots();
            workspace.executions.retain(|_, running| running.awaited.run.upgrade().is_some());
        });
    }
}

impl Handler<Retune> for Workspace {
    type Result = ();

    fn handle(&mut self, message: Retune, _: &mut Self::Context) {
        if message.0.limits != self.policy.limits {
            self.replace_snapshots(&message.0);
        }
        self.retune_index(&message.0);
        self.policy = message.0;
    }
}
