//! The code index of the workspace: opened on first use or for prewarming, notified of changes, stopped at the end.
//!
//! Before a query of the code index starts, the changes that the watcher has seen are passed to the projects. Invariant: no project is
//! marked as watched before the watcher's first walk has ended.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use actix::prelude::*;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::indexer::actor::{IndexReporting, Indexer};
use crate::indexer::indexes::Opened;
use crate::indexer::messages::{FirstIndex, RetuneIndex, StopIndexing, WarmUp};
use crate::query::index_comparison::{ComparedIndex, CurrentIndex};
use crate::status::watch_slot::FirstWalk;
use crate::workspace::actor::Workspace;
use crate::workspace::messages::{BeginCode, BegunCode, Wake, WarmIndex};
use crate::workspace::setup::Policy;
use crate::workspace::state::{Indexing, Watching};
use codeyard_base::blocking;
use codeyard_files::watch::Changes;
use codeyard_model::error::ToolError;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_state::WarmWorkspace;

/// The projects were opened, or opening them failed.
#[derive(Message)]
#[rtype(result = "()")]
struct IndexOpened {
    opened: std::io::Result<Opened>,
    is_wanted_warm: bool,
}

impl Workspace {
    /// Opens the index, unless it is being opened.
    fn open_index(&mut self, is_wanted_warm: bool, ctx: &mut Context<Self>) -> FirstWalk {
        if let Indexing::Opening(opening) = &self.indexing {
            return opening.clone();
        }
        let indexes = self.setup.indexes.clone();
        let policy = self.policy.index.clone();
        let tenant = self.setup.name.tenant();
        let roots = self.setup.gate.root_set().roots().to_vec();
        let actor = ctx.address();
        let work = blocking::spawn(move || indexes.open(&tenant, &roots, &policy));
        let task = tokio::spawn(async move {
            let opened = work.await.unwrap_or_else(|_| Err(std::io::Error::other("opening it failed")));
            // A workspace actor that ended needs no index.
            actor.send(IndexOpened { opened, is_wanted_warm }).await.ok();
        });
        let opening: FirstWalk = async move { drop(task.await) }.boxed().shared();
        self.indexing = Indexing::Opening(opening.clone());
        opening
    }

    /// The index that the result of a query is compared with. The first such query opens it, a later one begins to build it if there is
    /// none.
    pub(super) fn compared_index(&mut self, ctx: &mut Context<Self>) -> ComparedIndex {
        match &self.indexing {
            Indexing::Open(indexed) if indexed.state.is_indexed() => ComparedIndex::Open(Arc::new(indexed.clone())),
            Indexing::Open(indexed) if self.policy.index.auto => {
                // If the mailbox is full, a later query asks for it.
                drop(indexed.indexer.try_send(FirstIndex));
                ComparedIndex::Pending
            }
            Indexing::Opening(_) if self.policy.index.auto => ComparedIndex::Pending,
            Indexing::Idle if self.policy.index.auto => {
                drop(self.open_index(false, ctx));
                ComparedIndex::Pending
            }
            Indexing::Idle | Indexing::Opening(_) | Indexing::Open(_) | Indexing::Failed(_) => ComparedIndex::None,
        }
    }

    /// Whether results can be compared with the index.
    pub(super) fn has_current_index(&self) -> bool {
        matches!(&self.indexing, Indexing::Open(indexed) if indexed.projects.iter().all(|project| project.is_current()))
    }

    fn begin_code(&mut self, begin: BeginCode, ctx: &mut Context<Self>) -> Result<BegunCode, ToolError> {
        begin.call.mark_admitted();
        if self.draining {
            return Err(draining());
        }
        if let Indexing::Failed(why) = &self.indexing {
            let why = ToolError::provider_unavailable("index_failed", why.clone(), "codeyard doctor");
            // The next query tries again.
            self.indexing = Indexing::Idle;
            return Err(why);
        }
        if matches!(self.indexing, Indexing::Idle) {
            // Opened before the watcher starts, so that its first walk follows the index's files too.
            drop(self.open_index(false, ctx));
        }
        let walking = self.prepare(ctx);
        self.watch_index(ctx);
        let Indexing::Open(indexed) = &self.indexing else {
            return Ok(BegunCode::Opening(self.open_index(false, ctx)));
        };
        let indexed = indexed.clone();
        let walks = walking.or_else(|| self.following.clone().filter(|following| following.peek().is_none()));
        if let Some(walking) = walks.filter(|_| begin.is_patient && !indexed.state.is_indexed()) {
            return Ok(BegunCode::Walking(walking));
        }
        self.take_seen_changes();
        Ok(BegunCode::Open(indexed))
    }

    /// Sets whether the projects are watched. If the watcher has walked only the files of language servers, another walk begins.
    pub(super) fn watch_index(&mut self, ctx: &Context<Self>) {
        let Indexing::Open(indexed) = &self.indexing else { return };
        let subscription = self.slot.get().filter(|_| matches!(self.watching, Watching::Done));
        if let Some(subscription) = subscription.clone().filter(|subscription| subscription.follow_index()) {
            let actor = ctx.address();
            let task = tokio::spawn(async move {
                subscription.barrier().await;
                // A workspace actor that ended meanwhile needs no index.
                actor.send(Wake).await.ok();
            });
            self.following = Some(async move { drop(task.await) }.boxed().shared());
        }
        indexed.set_watched(subscription.is_some_and(|subscription| subscription.index_degraded().is_none()));
    }

    /// Passes changes to the projects.
    pub(super) fn notify_index(&self, changes: &Changes) {
        let Indexing::Open(indexed) = &self.indexing else { return };
        let mut edited = BTreeSet::new();
        for (at, project) in indexed.projects.iter().enumerate() {
            let below = |path: &PathBuf| path.strip_prefix(project.root()).ok()?.to_str().map(str::to_owned);
            let changed = changes.files.iter().map(|change| &change.path).chain(&changes.index_only);
            let paths: Vec<String> = changed.filter_map(below).collect();
            let is_bulk = changes.bulk || changes.index_only_rescan;
            if is_bulk {
                project.mark_all_changed();
            }
            if is_bulk || !paths.is_empty() {
                edited.insert(at);
            }
            project.mark_changed(paths);
        }
        if !edited.is_empty() {
            indexed.edited(edited.into_iter().collect());
        }
    }

    pub(super) fn retune_index(&self, policy: &Policy) {
        if let Indexing::Open(indexed) = &self.indexing
            && policy.index != self.policy.index
        {
            drop(indexed.indexer.try_send(RetuneIndex(policy.index.clone())));
        }
    }

    /// Stops the index; the future resolves when none of its threads runs.
    pub(super) fn stop_index(&mut self) -> BoxFuture<'static, ()> {
        match std::mem::take(&mut self.indexing) {
            Indexing::Open(indexed) => Box::pin(async move { indexed.indexer.send(StopIndexing).await.unwrap_or(()) }),
            // The draining actor drops the result.
            Indexing::Opening(opening) => Box::pin(opening),
            Indexing::Idle | Indexing::Failed(_) => Box::pin(async {}),
        }
    }
}

/// The error of a call that reaches a workspace which is being stopped or replaced.
pub(super) fn draining() -> ToolError {
    let message = "the workspace is being stopped; ask again once it is back";
    ToolError::provider_unavailable("draining", message, "codeyard doctor").with("retryAfterMs", RETRY_AFTER_MS)
}

impl Handler<BeginCode> for Workspace {
    type Result = MessageResult<BeginCode>;

    fn handle(&mut self, begin: BeginCode, ctx: &mut Self::Context) -> Self::Result {
        MessageResult(self.begin_code(begin, ctx))
    }
}

impl Handler<CurrentIndex> for Workspace {
    type Result = MessageResult<CurrentIndex>;

    fn handle(&mut self, _: CurrentIndex, ctx: &mut Self::Context) -> Self::Result {
        MessageResult(if self.draining { ComparedIndex::None } else { self.compared_index(ctx) })
    }
}

impl Handler<IndexOpened> for Workspace {
    type Result = ();

    fn handle(&mut self, message: IndexOpened, ctx: &mut Self::Context) {
        if self.draining {
            return;
        }
        let IndexOpened { opened, is_wanted_warm } = message;
        self.indexing = match opened {
            Ok(opened) => {
                let warm = WarmWorkspace::new(&self.setup.name.tenant(), self.setup.gate.root_set().roots());
                let policy = self.policy.index.clone();
                let reporting =
                    IndexReporting { status: self.setup.status.clone(), metrics: self.setup.shared.metrics.clone() };
                let indexed =
                    Indexer::begin(opened, warm, policy, self.setup.indexes.clone(), reporting, is_wanted_warm);
                if is_wanted_warm {
                    drop(indexed.indexer.try_send(WarmUp));
                }
                Indexing::Open(indexed)
            }
            Err(error) => {
                tracing::error!(workspace = %self.setup.name, %error, "the code index can't be opened");
                Indexing::Failed(format!("the folder of the code index can't be used: {error}"))
            }
        };
        self.watch_index(ctx);
    }
}

impl Handler<WarmIndex> for Workspace {
    type Result = ();

    fn handle(&mut self, _: WarmIndex, ctx: &mut Self::Context) {
        if self.draining || !matches!(self.indexing, Indexing::Idle) {
            return;
        }
        drop(self.open_index(true, ctx));
        drop(self.prepare(ctx));
    }
}
