//! Changes: of files, seen by the watcher or by comparing with disk, and of what servers would say. Each moves its epoch.

use actix::prelude::*;
use futures::FutureExt;

use super::*;
use crate::language_server::{FilesChanged, News, Restart, ServerNews};
use crate::providers;
use codeyard_base::blocking;
use codeyard_base::clock::wall_ns;
use codeyard_files::watch::{ChangeKind, Changes, FileChange, WatchSpec};

impl Workspace {
    /// The watcher's first walk, if it isn't done yet.
    pub(super) fn prepare(&mut self, ctx: &mut Context<Self>) -> Option<Walking> {
        match &self.watching {
            Watching::Starting(walking) => return Some(walking.clone()),
            Watching::Done | Watching::Failed(_) => return None,
            Watching::Idle => {}
        }
        let Some(watcher) = self.setup.shared.watcher.clone() else {
            self.watching = Watching::Failed("files are not watched".into());
            self.tell_state();
            return None;
        };
        let (slot, actor, servers) = (self.slot.clone(), ctx.address(), self.setup.servers.clone());
        let waker = actor.clone();
        let spec = WatchSpec {
            roots: self.setup.gate.root_set().allowed().map(PathBuf::from).collect(),
            is_source: Arc::new(move |path| servers.is_source(path)),
            // Servers may start while the walk is under way.
            since_ns: wall_ns(),
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
            // A workspace that is gone meanwhile needs no subscription.
            actor.send(Subscribed).await.ok();
        });
        let walking: Walking = async move { drop(task.await) }.boxed().shared();
        self.watching = Watching::Starting(walking.clone());
        self.tell_state();
        Some(walking)
    }

    /// Whether files are followed, so that equal epochs prove equal answers. They are during the first walk: no result is
    /// taken before it is over and has told what changed meanwhile.
    pub(super) fn is_watched(&self) -> bool {
        match self.slot.get() {
            Some(subscription) => subscription.degraded().is_none(),
            None => matches!(self.watching, Watching::Starting(_)),
        }
    }

    /// Takes what the watcher has seen. Without a watcher everything may have changed since the last question.
    pub(super) fn take_changes(&mut self) {
        self.take_seen_changes();
        if !self.is_watched() {
            // Not counted as seen: it must not end what others have under way.
            bump(&mut self.epochs, true, true, true);
            self.plans.clear();
            self.workspace_plans.clear();
        }
    }

    /// Takes what the watcher has seen, and nothing more.
    pub(super) fn take_seen_changes(&mut self) {
        if let Some(subscription) = self.slot.get() {
            self.apply(subscription.take());
        }
    }

    fn apply(&mut self, mut changes: Changes) {
        self.tell_index(&changes);
        // The rest is nobody else's business.
        changes.split_aside();
        if changes.files.is_empty() && !changes.bulk {
            return;
        }
        let of_fs = |change: &FileChange| change.kind != ChangeKind::Changed;
        let text = changes.bulk || changes.files.iter().any(|change| !of_fs(change));
        let fs = changes.bulk || changes.files.iter().any(of_fs);
        for change in &changes.files {
            self.known.forget_path(&change.path);
            if change.kind != ChangeKind::Deleted {
                self.sweep_again(&change.path);
            }
        }
        if changes.bulk {
            self.known.forget_all();
        }
        let moves_roots = |change: &FileChange| providers::may_move_roots(&self.setup, &change.path);
        if fs || changes.files.iter().any(moves_roots) {
            self.plans.clear();
            self.workspace_plans.clear();
        }
        self.move_epochs(text, fs, true);
        self.tell_children(changes);
    }

    /// A document differs from what was known, and the watcher hasn't said so.
    pub(super) fn on_edit(&mut self, uri: &CanonicalUri) {
        self.on_edits(std::slice::from_ref(uri));
    }

    /// The same of several, told to the children in one message.
    pub(super) fn on_edits(&mut self, uris: &[CanonicalUri]) {
        if !uris.is_empty() {
            self.move_epochs(true, false, true);
            let changes = changes_of(uris, ChangeKind::Changed);
            self.tell_index(&changes);
            self.tell_children(changes);
        }
    }

    /// A document is gone, and the watcher hasn't said so.
    pub(super) fn on_gone(&mut self, uri: &CanonicalUri) {
        if self.known.forget(uri) {
            self.move_epochs(false, true, true);
            let changes = changes_of(std::slice::from_ref(uri), ChangeKind::Deleted);
            self.tell_index(&changes);
            self.tell_children(changes);
        }
    }

    pub(super) fn move_epochs(&mut self, text: bool, fs: bool, diagnostics: bool) {
        bump(&mut self.epochs, text, fs, diagnostics);
        bump(&mut self.seen, text, fs, diagnostics);
    }

    fn tell_children(&self, changes: Changes) {
        let changes = Arc::new(changes);
        for child in self.children.values() {
            if child.actor.try_send(FilesChanged(changes.clone())).is_err() {
                // A server that misses a change would answer from old text: it must begin anew.
                let told = child.actor.send(Restart { reason: "missed_change" });
                actix::spawn(async move { told.await.ok() });
            }
        }
    }
}

impl Handler<Subscribed> for Workspace {
    type Result = ();

    fn handle(&mut self, _: Subscribed, _: &mut Self::Context) {
        self.watching = match self.slot.get() {
            Some(_) => Watching::Done,
            None => Watching::Failed("files can't be watched; every question compares with disk".into()),
        };
        // What was asked meanwhile may hang on what changed meanwhile.
        self.take_seen_changes();
        self.watch_index();
        self.tell_state();
    }
}

impl Handler<Wake> for Workspace {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.take_seen_changes();
        self.watch_index();
        self.tell_state();
        self.sweep_on(ctx);
    }
}

impl Handler<ServerNews> for Workspace {
    type Result = ();

    fn handle(&mut self, message: ServerNews, ctx: &mut Self::Context) {
        match message.what {
            News::AnswersMayDiffer => self.move_epochs(true, false, true),
            News::OpenSetChanged => self.move_epochs(true, false, false),
            News::DiagnosticsChanged => self.move_epochs(false, false, true),
            News::Replaced => {
                self.sweep_child(&message.from);
                self.sweep_on(ctx);
            }
            News::Idle => self.stop_child(&message.from, ctx),
        }
    }
}

fn changes_of(uris: &[CanonicalUri], kind: ChangeKind) -> Changes {
    let files = uris.iter().map(|uri| FileChange { path: uri.to_path(), kind }).collect();
    Changes { files, ..Changes::default() }
}

fn bump(epochs: &mut Epochs, text: bool, fs: bool, diagnostics: bool) {
    epochs.text += u64::from(text);
    epochs.fs += u64::from(fs);
    epochs.diagnostics += u64::from(diagnostics);
}
