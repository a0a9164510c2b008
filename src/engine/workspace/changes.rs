//! Applies changes: of files, seen by the watcher or by a comparison with the disk, and of the answers of servers. Each raises its epochs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::FutureExt;

use crate::limits::WATCH_AGAIN_MS;
use crate::query::plan;
use crate::server::child_key::ChildKey;
use crate::server::messages::{FilesChanged, KillServer, NoticeKind, ServerNotice};
use crate::server::projects::project_publication::FilesListed;
use crate::status::stopped_servers::StopReason;
use crate::status::watch_slot::FirstWalk;
use crate::workspace::actor::Workspace;
use crate::workspace::messages::Wake;
use crate::workspace::state::{Indexing, Watching};
use codeyard_base::blocking;
use codeyard_base::clock::wall_ns;
use codeyard_base::seeded_faults;
use codeyard_files::watch::{ChangeKind, Changes, FileChange, WatchSpec, Watcher};
use codeyard_model::epoch::EpochScope;
use codeyard_model::uri::CanonicalUri;

/// A walk of the watcher that begins to watch the files has ended or failed.
#[derive(Message)]
#[rtype(result = "()")]
struct Subscribed;

impl Workspace {
    /// Starts the watcher if necessary; returns its first walk while it is in progress.
    pub(super) fn prepare(&mut self, ctx: &mut Context<Self>) -> Option<FirstWalk> {
        match &self.watching {
            Watching::Starting(walking) => return Some(walking.clone()),
            Watching::Done | Watching::Failed(_) => return None,
            Watching::Idle => {}
        }
        let Some(watcher) = self.setup.shared.watcher.clone() else {
            self.watching = Watching::Failed("files are not watched".into());
            self.publish_state();
            return None;
        };
        let walking = self.subscribe(watcher, ctx);
        self.watching = Watching::Starting(walking.clone());
        self.publish_state();
        Some(walking)
    }

    /// Begins to walk the roots and watch them.
    fn subscribe(&self, watcher: Watcher, ctx: &mut Context<Self>) -> FirstWalk {
        let slot = self.slot.clone();
        let actor = ctx.address();
        let servers = self.setup.servers.clone();
        let waker = actor.clone();
        let index = servers.index.clone();
        let gate = self.setup.gate.clone();
        let spec = WatchSpec {
            roots: self.setup.gate.root_set().allowed().map(PathBuf::from).collect(),
            is_source: Arc::new(move |path| servers.is_source(path)),
            look: Arc::new(move |path| {
                let root = gate.root_set().allowed().find(|root| path.starts_with(root))?;
                index.look(root, path)
            }),
            // Servers may start during the walk.
            since_ns: wall_ns(),
            follows_index: matches!(self.indexing, Indexing::Opening(_) | Indexing::Open(_)),
            on_change: Arc::new(move || drop(waker.try_send(Wake))),
        };
        let name = self.setup.name.clone();
        let walk = blocking::spawn(move || watcher.subscribe(spec));
        let task = tokio::spawn(async move {
            match walk.await {
                Ok(Ok(subscription)) if actor.connected() => slot.set(Some(Arc::new(subscription))),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(workspace = %name, error = %error, "files can't be watched"),
                Err(_) => tracing::error!(workspace = %name, "the watcher's walk failed"),
            }
            // A workspace actor that ended meanwhile needs no subscription.
            actor.send(Subscribed).await.ok();
        });
        async move { drop(task.await) }.boxed().shared()
    }

    /// Tries again to watch the files, while questions compare with disk.
    fn watch_later(&self, ctx: &mut Context<Self>) {
        ctx.run_later(Duration::from_millis(WATCH_AGAIN_MS), |workspace, ctx| {
            if let Some(watcher) = workspace.setup.shared.watcher.clone() {
                drop(workspace.subscribe(watcher, ctx));
            }
        });
    }

    /// Whether files are watched, so that equal epochs prove equal answers. This includes the first walk: no result is accepted before it
    /// has ended and reported what changed meanwhile.
    pub(super) fn is_watched(&self) -> bool {
        match self.slot.get() {
            Some(subscription) => subscription.degraded().is_none(),
            None => matches!(self.watching, Watching::Starting(_)),
        }
    }

    /// Applies the changes that the watcher has seen. Without a watcher, everything may have changed since the last query.
    pub(super) fn take_changes(&mut self) {
        self.take_seen_changes();
        if !self.is_watched() {
            // Not counted in `seen`: it must not invalidate executions in progress.
            self.modules.all_changed();
            self.epochs.advance_unseen();
            self.publish_epochs();
            self.forget_plans();
        }
    }

    /// Applies only the changes that the watcher has seen.
    pub(super) fn take_seen_changes(&mut self) {
        if let Some(subscription) = self.slot.get() {
            self.apply(subscription.take());
        }
    }

    fn apply(&mut self, mut changes: Changes) {
        self.setup.gate.add_links(std::mem::take(&mut changes.links));
        self.notify_index(&changes);
        // The other changes concern only the code index.
        changes.take_index_only();
        if changes.files.is_empty() && !changes.bulk {
            return;
        }
        let of_fs = |change: &FileChange| change.kind != ChangeKind::Changed;
        let text = changes.bulk || changes.files.iter().any(|change| !of_fs(change));
        let fs = changes.bulk || changes.files.iter().any(of_fs);
        for change in &changes.files {
            self.known.lock().forget_path(&change.path);
            self.modules.changed(&change.path);
            if change.kind != ChangeKind::Deleted {
                self.sweep_again(&change.path);
            }
        }
        if changes.bulk {
            self.known.lock().forget_all();
            self.modules.all_changed();
        }
        let moves_roots = |change: &FileChange| plan::may_move_roots(&self.setup.servers, &change.path);
        if fs || changes.files.iter().any(moves_roots) {
            self.placement_changed(&changes);
        }
        self.move_epochs(text, fs, true);
        self.notify_children(changes);
    }

    /// A document changed, and the watcher has not reported it.
    pub(super) fn on_edit(&mut self, uri: &CanonicalUri) {
        self.on_edits(std::slice::from_ref(uri));
    }

    /// The same for several documents, sent to the servers in one message.
    pub(super) fn on_edits(&mut self, uris: &[CanonicalUri]) {
        if !uris.is_empty() {
            uris.iter().for_each(|uri| self.modules.changed(&uri.to_path()));
            if !seeded_faults::is_on("edit_unseen") {
                self.move_epochs(true, false, true);
            }
            let changes = changes_of(uris, ChangeKind::Changed);
            self.notify_index(&changes);
            self.notify_children(changes);
        }
    }

    /// A document was deleted, and the watcher has not reported it.
    pub(super) fn on_deleted(&mut self, uri: &CanonicalUri) {
        if self.known.lock().forget(uri) {
            self.modules.changed(&uri.to_path());
            self.move_epochs(false, true, true);
            let changes = changes_of(std::slice::from_ref(uri), ChangeKind::Deleted);
            self.notify_index(&changes);
            self.notify_children(changes);
        }
    }

    pub(super) fn move_epochs(&mut self, text: bool, fs: bool, diagnostics: bool) {
        self.epochs.advance(text, fs, diagnostics);
        self.publish_epochs();
    }

    /// The answers of one server may differ from now on.
    fn move_server_epochs(&mut self, server: &ChildKey, text: bool, diagnostics: bool) {
        self.epochs.advance_server(server, text, diagnostics);
        self.publish_epochs();
    }

    fn publish_epochs(&self) {
        self.setup.status.set_epochs(self.epochs.of(&EpochScope::Workspace));
    }

    fn notify_children(&self, changes: Changes) {
        let changes = Arc::new(changes);
        for child in self.children.values() {
            if child.actor.try_send(FilesChanged(changes.clone())).is_err() {
                // A server that misses a change would answer from old text, so it is restarted.
                let sent = child.actor.send(KillServer { reason: "missed_change" });
                actix::spawn(async move { sent.await.ok() });
            }
        }
    }
}

impl Handler<Subscribed> for Workspace {
    type Result = ();

    fn handle(&mut self, _: Subscribed, ctx: &mut Self::Context) {
        let had_failed = matches!(self.watching, Watching::Failed(_));
        self.watching = match self.slot.get() {
            Some(_) => Watching::Done,
            None => Watching::Failed("files can't be watched; every question compares with disk".into()),
        };
        if matches!(self.watching, Watching::Failed(_)) {
            self.watch_later(ctx);
        } else if had_failed {
            // The walk doesn't know what has changed since the last question.
            self.apply(Changes { bulk: true, incomplete: true, ..Changes::default() });
        }
        // Queries that began meanwhile may depend on changes during the walk.
        self.take_seen_changes();
        self.watch_index(ctx);
        self.publish_state();
        for child in self.children.values() {
            // A server that misses it publishes no number of files.
            child.actor.try_send(FilesListed).ok();
        }
    }
}

impl Handler<Wake> for Workspace {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.take_seen_changes();
        self.watch_index(ctx);
        self.publish_state();
        self.continue_sweep(ctx);
    }
}

impl Handler<ServerNotice> for Workspace {
    type Result = ();

    fn handle(&mut self, message: ServerNotice, ctx: &mut Self::Context) {
        match message.kind {
            NoticeKind::AnswersMayDiffer => self.move_server_epochs(&message.from, true, true),
            NoticeKind::OpenSetChanged => self.move_server_epochs(&message.from, true, false),
            NoticeKind::DiagnosticsChanged => self.move_server_epochs(&message.from, false, true),
            NoticeKind::Replaced => {
                self.sweep_child(&message.from);
                self.continue_sweep(ctx);
            }
            NoticeKind::Idle => self.stop_child(&message.from, StopReason::Idle, ctx),
            NoticeKind::Quarantined => self.separate(&message.from, ctx),
        }
    }
}

fn changes_of(uris: &[CanonicalUri], kind: ChangeKind) -> Changes {
    let files = uris.iter().map(|uri| FileChange { path: uri.to_path(), kind }).collect();
    Changes { files, ..Changes::default() }
}
