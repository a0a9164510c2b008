//! Parts of the state of a workspace actor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use actix::prelude::*;

use crate::admission::request_turns::ServerTurns;
use crate::indexer::handle::IndexHandle;
use crate::query::callers::Callers;
use crate::query::refused_methods::RefusedMethods;
use crate::server::actor::LanguageServer;
use crate::server::child_key::ChildKey;
use crate::server::messages::WorkspaceGone;
use crate::server::projects::project_folders::ProjectFolders;
use crate::status::server_status::LanguageServerStatus;
use crate::status::state_watch;
use crate::status::watch_slot::FirstWalk;
use crate::workspace::long_questions::AwaitedExecution;
use crate::workspace::shared_servers::PlacementRevision;
use codeyard_telemetry::CallTrace;

/// One language server of the workspace.
pub(super) struct Child {
    pub(super) actor: Addr<LanguageServer>,
    pub(super) status: Arc<LanguageServerStatus>,
    pub(super) state: state_watch::Receiver,
    pub(super) turns: ServerTurns,
    /// The methods that it doesn't support.
    pub(super) refused: RefusedMethods,
    /// Its projects.
    pub(super) folders: ProjectFolders,
    /// The revision at which they were determined.
    pub(super) placed: PlacementRevision,
    /// The revision of the plans then.
    pub(super) placed_at: u64,
}

impl Drop for Child {
    #[expect(
        clippy::disallowed_methods,
        reason = "the sender is gone and cannot retry; each server gets at most one of these"
    )]
    fn drop(&mut self) {
        self.status.retire();
        // A stopped actor ignores it; the others have lost their workspace.
        self.actor.do_send(WorkspaceGone);
    }
}

/// An execution that other calls may share.
pub(super) struct RunningExecution {
    /// The call that started it.
    pub(super) starter: CallTrace,
    /// The states of the language servers that it asks.
    pub(super) servers: Vec<state_watch::Receiver>,
    /// The calls that wait for it.
    pub(super) callers: Callers,
    /// The execution, as these calls see it.
    pub(super) awaited: AwaitedExecution,
}

/// The state of the watcher.
pub(super) enum Watching {
    Idle,
    Starting(FirstWalk),
    Done,
    Failed(String),
}

/// The state of the sweep.
#[derive(Default)]
pub(super) struct Sweeping {
    pub(super) begun: bool,
    pub(super) pending: BTreeSet<(ChildKey, PathBuf)>,
    pub(super) running: usize,
}

/// The state of the code index.
#[derive(Default)]
pub(super) enum Indexing {
    /// Not used yet.
    #[default]
    Idle,
    /// It is being opened.
    Opening(FirstWalk),
    /// It is open.
    Open(IndexHandle),
    /// It can't be opened, for this reason; the next query tries again.
    Failed(String),
}
