//! The actor of one workspace: the only one that changes its epochs and its snapshots, and the owner of its language servers.
//!
//! A question passes through it in two short steps, begin and finish; between them an execution runs on its own. It never
//! waits for a child or for the disk walk of the watcher: it answers that there is something to wait for.
//! Invariants: epochs never decrease; a snapshot is retained only under the epochs it was computed at; every change the
//! watcher has seen is counted before a later question is answered.

mod begin;
mod changes;
mod children;
mod finish;
mod gauge;
mod indexing;
mod operate;
mod standing;
mod sweep;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::{BoxFuture, Shared};
use serde::Serialize;

use crate::directory::WatchSlot;
use crate::execution::{Outcome, Run, WeakRun};
use crate::exit::{ExitGuard, ExitKind};
use crate::give_back;
use crate::indexer::health::IndexHealth;
use crate::known_files::{KnownFiles, Observed};
use crate::language_server::{LanguageServer, Orphaned, ServerHealth};
use crate::providers::{ChildKey, Plan};
use crate::server_state::{QUARANTINED, ServerState};
use crate::state_watch;
use crate::workspace_setup::{Policy, WorkspaceSetup};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_files::gate::FileStamp;
use codeyard_model::epoch::Epochs;
use codeyard_model::error::ToolError;
use codeyard_model::query::GatedQuery;
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::{CanonicalResult, Snapshot, SnapshotStore};
use codeyard_telemetry::CallTrace;

pub use indexing::{BeginCode, BegunCode, WarmIndex};
pub use operate::{GetSnapshots, GetTroubles, HaltChild, RestartChild, StoppedServer, Trouble};

/// Messages that may wait for a workspace. Beyond it senders wait, and their calls' deadlines with them.
const MAILBOX: usize = 4_096;
/// How often expired snapshots are dropped.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(15);
/// Executions that are remembered; dead ones are swept beyond it.
const MAX_REMEMBERED_RUNS: usize = 1_024;
/// How long a plan of the whole workspace is remembered in which a server is missing. Making one looks at every folder.
const INCOMPLETE_PLAN_LIFE: Duration = Duration::from_secs(1);

/// Row 7: a question begins.
#[derive(Message)]
#[rtype(result = "Result<Begun, ToolError>")]
pub struct Begin {
    /// The question, through the gate.
    pub query: Arc<GatedQuery>,
    /// What the gate saw of the question's document on the call's way here.
    pub seen: Option<FileStamp>,
    /// The asker's deadline.
    pub deadline: Deadline,
    /// The call that asks.
    pub call: CallTrace,
}

/// What comes of beginning.
pub enum Begun {
    /// A retained result answers it.
    Hit {
        /// The result.
        snapshot: Arc<Snapshot>,
        /// Where the page starts.
        offset: u64,
        /// The request key.
        request_key: String,
        /// The snapshot key.
        snapshot_key: String,
    },
    /// An execution answers it; others may be waiting for the same one.
    Run {
        /// The execution.
        run: Run,
        /// Whether another call has started it.
        is_shared: bool,
        /// The request key.
        request_key: String,
    },
    /// Something must be waited for; then begin again.
    Wait(Wait),
}

/// What a question waits for before it can run.
#[derive(Clone)]
pub enum Wait {
    /// The watcher's first walk, or looks for programs.
    Preparing(Shared<BoxFuture<'static, ()>>),
    /// Language servers that start or index: all of them.
    Servers(Vec<state_watch::Receiver>),
    /// The same: one of them.
    Any(Vec<state_watch::Receiver>),
}

/// Row 10: an execution ends.
#[derive(Message)]
#[rtype(result = "Outcome")]
pub struct Finish {
    /// The question.
    pub query: Arc<GatedQuery>,
    /// The snapshot key it ran under.
    pub snapshot_key: String,
    /// What was known to have changed when it began.
    pub seen: Epochs,
    /// The whole canonical result.
    pub result: CanonicalResult,
    /// How the result's files looked on disk.
    pub observed: Vec<(CanonicalUri, Observed)>,
}

/// The watcher's first walk is done, or failed.
#[derive(Message)]
#[rtype(result = "()")]
struct Subscribed;

/// The policy changed; nothing is restarted.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Retune(pub Policy);

/// Starts the servers that are to run before the first question.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Warm;

/// The watcher has something; take it soon even if nobody asks.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Wake;

/// Stops all children, then the actor; says how each ended.
#[derive(Message)]
#[rtype(result = "Vec<StoppedServer>")]
pub struct Drain;

/// Stops the child that was longest unused, because memory is short.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopChild(pub ChildKey);

/// Asks for the workspace's health.
#[derive(Message)]
#[rtype(result = "Option<WorkspaceHealth>")]
pub struct GetWorkspaceHealth;

/// The health of a workspace, as doctor and admin show it.
#[derive(Debug, Clone, Serialize)]
pub struct WorkspaceHealth {
    /// Its name.
    pub name: String,
    /// Its roots and extra roots.
    pub roots: Vec<PathBuf>,
    /// Roots, text, fs and diagnostics epochs.
    pub epochs: [u64; 4],
    /// Whether files are watched: `idle`, `starting`, `watching`, or why not.
    pub watching: String,
    /// Source files, once the first walk is done.
    pub source_files: Option<usize>,
    /// Retained snapshots and their bytes.
    pub snapshots: (usize, usize),
    /// Its language servers.
    pub servers: Vec<ServerHealth>,
    /// Its code indexes, one a root; none before the first question that needs them.
    pub indexes: Vec<IndexHealth>,
}

/// One child.
struct Child {
    actor: Addr<LanguageServer>,
    state: state_watch::Receiver,
}

impl Drop for Child {
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody is left to try again, and each child is sent one of these at most"
    )]
    fn drop(&mut self) {
        // One that was stopped doesn't hear it; the others have lost their workspace.
        self.actor.do_send(Orphaned);
    }
}

/// The watcher's first walk, not over yet: what to wait for.
pub type Walking = Shared<BoxFuture<'static, ()>>;

/// Where the watcher is.
enum Watching {
    Idle,
    Starting(Walking),
    Done,
    Failed(String),
}

/// See the module.
pub struct Workspace {
    setup: Arc<WorkspaceSetup>,
    policy: Policy,
    epochs: Epochs,
    /// Of the epochs' moves those with a reason: without a watcher the epochs also move with every question.
    seen: Epochs,
    /// Children whose actors panicked, and until when they are left alone.
    resting: HashMap<ChildKey, Instant>,
    snapshots: SnapshotStore,
    /// Evictions and expiries of the store that are counted already.
    told: (u64, u64),
    known: KnownFiles,
    watching: Watching,
    slot: WatchSlot,
    children: BTreeMap<ChildKey, Child>,
    runs: HashMap<String, (WeakRun, CallTrace)>,
    plans: HashMap<(PathBuf, String, bool), Arc<Plan>>,
    /// With the time until which they hold, if a server that is missing may come.
    workspace_plans: HashMap<bool, (Arc<Plan>, Option<Instant>)>,
    sweeping: sweep::Sweeping,
    indexing: indexing::Indexing,
    draining: bool,
    _exit: ExitGuard,
}

impl Workspace {
    /// An actor for `setup` that puts its subscription into `slot`. `on_exit` hears how it ended.
    pub fn new(setup: Arc<WorkspaceSetup>, slot: WatchSlot, on_exit: impl FnOnce(ExitKind) + Send + 'static) -> Self {
        let policy = setup.policy.clone();
        Self {
            epochs: Epochs { roots: setup.roots_epoch, ..Epochs::default() },
            seen: Epochs::default(),
            resting: HashMap::new(),
            snapshots: snapshot_store(&policy),
            told: (0, 0),
            known: KnownFiles::new(setup.gate.clone()),
            watching: Watching::Idle,
            slot,
            children: BTreeMap::new(),
            runs: HashMap::new(),
            plans: HashMap::new(),
            workspace_plans: HashMap::new(),
            sweeping: sweep::Sweeping::default(),
            indexing: indexing::Indexing::default(),
            draining: false,
            policy,
            setup,
            _exit: ExitGuard::new(on_exit),
        }
    }
}

fn snapshot_store(policy: &Policy) -> SnapshotStore {
    let limits = &policy.limits;
    let ttl = Duration::from_secs(limits.snapshot_ttl_s);
    SnapshotStore::new(limits.max_snapshot_bytes, limits.max_snapshots_total_bytes, ttl)
}

impl Actor for Workspace {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(EXPIRY_INTERVAL, |workspace, _| {
            let before = workspace.snapshots.bytes();
            workspace.snapshots.expire(Instant::now());
            give_back::after(before - workspace.snapshots.bytes());
            workspace.tell_snapshots();
            workspace.runs.retain(|_, (run, _)| run.upgrade().is_some());
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

impl Handler<GetWorkspaceHealth> for Workspace {
    type Result = ResponseFuture<Option<WorkspaceHealth>>;

    fn handle(&mut self, _: GetWorkspaceHealth, _: &mut Self::Context) -> Self::Result {
        let subscription = self.slot.get();
        let health = WorkspaceHealth {
            name: self.setup.name.to_string(),
            roots: self.setup.gate.root_set().allowed().map(PathBuf::from).collect(),
            epochs: [self.epochs.roots, self.epochs.text, self.epochs.fs, self.epochs.diagnostics],
            watching: match &self.watching {
                Watching::Idle => "idle".into(),
                Watching::Starting(_) => "starting".into(),
                Watching::Done | Watching::Failed(_) => self.unwatched().unwrap_or_else(|| "watching".into()),
            },
            source_files: subscription.map(|sub| sub.source_files().len()),
            snapshots: (self.snapshots.len(), self.snapshots.bytes()),
            servers: vec![],
            indexes: vec![],
        };
        let indexes = self.index_health();
        let asked: Vec<_> = self.children.values().map(|child| child.actor.clone()).collect();
        Box::pin(async move {
            let asked = asked.into_iter().map(|actor| actor.send(crate::language_server::GetHealth));
            let servers = futures::future::join_all(asked).await.into_iter().flatten().collect();
            Some(WorkspaceHealth { servers, indexes: indexes.await, ..health })
        })
    }
}
