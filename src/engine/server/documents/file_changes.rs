//! Passes changes on disk to the server process (`workspace/didChangeWatchedFiles`, which `document_sync` sends), or restarts it where that is not enough.
//!
//! A server reads its project while it starts and registers for changes only later. Changes in between are kept and sent after the
//! registration. Invariants: no change between the launch and the registrations is lost; none is sent twice, because a server may take the
//! second notice of a new file for the first and so miss a change in between; the kept changes are bounded, each path once, and an overflow
//! is recorded as incomplete.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::documents::document_loading::LoadedDocuments;
use crate::server::messages::{FilesChanged, NoticeKind};
use crate::server::projects::anchors;
use crate::server::projects::index_lag::exceeds_open_limit;
use codeyard_files::watch::{ChangeKind, Changes, FileChange};
use codeyard_lsp::registry::MissedChange;

/// How long after its start a server's registrations count as part of the start.
pub(in crate::server) const SETTLES_WITHIN: Duration = Duration::from_secs(10);

impl LanguageServer {
    /// Whether the server can't be updated by notifications: a file changed of which it reads a copy (a compile database), or the list
    /// of changes is incomplete.
    pub(in crate::server) fn must_restart(&self, changes: &Changes) -> bool {
        if changes.incomplete || exceeds_open_limit(&self.context, changes) {
            return true;
        }
        if self.context.server.quirks.blind_to_headers
            && changes.files.iter().any(|change| self.is_header(&change.path))
        {
            return true;
        }
        let misses = &self.context.server.quirks.misses;
        let is_missed = |change: &FileChange| misses.contains(&missed_change(change.kind)) && self.is_own(&change.path);
        if !misses.is_empty() && changes.files.iter().any(is_missed) {
            return true;
        }
        let copied = &self.context.server.quirks.copy_to_cache;
        let is_copied = |path: &Path| copied.iter().any(|name| *path == self.context.root.join(name));
        changes.files.iter().any(|change| is_copied(&change.path))
    }

    /// Whether the server is starting, or started so recently that it may not have registered for changes yet.
    pub(in crate::server) fn is_settling(&self) -> bool {
        self.start_task.is_some()
            || self.session.as_ref().is_some_and(|session| session.started_at.elapsed() < SETTLES_WITHIN)
    }

    /// Passes the changes to the server, or restarts it. The documents that it must be sent are read first.
    pub(in crate::server) fn apply_changes(&mut self, changes: Arc<Changes>, ctx: &mut Context<Self>) {
        if self.must_restart(&changes) {
            return self.restart(ctx);
        }
        self.on_project_changes(&changes, ctx);
        let Some(session) = &self.session else { return };
        let wanted = session.to_follow(&self.context, &changes);
        if wanted.is_empty() {
            return self.pass_changes(&changes, &LoadedDocuments::default(), ctx);
        }
        self.read_then(
            move |context| LoadedDocuments::read(context, wanted),
            ctx,
            move |server, read, ctx| match read {
                Some(documents) => server.pass_changes(&changes, &documents, ctx),
                // It would answer from old texts.
                None => server.kill("missed_change", ctx),
            },
        );
    }

    fn pass_changes(&mut self, changes: &Changes, documents: &LoadedDocuments, ctx: &mut Context<Self>) {
        let Some(session) = &mut self.session else { return };
        let sent = session.files_changed(&self.context, changes, documents);
        self.publish_documents();
        match sent {
            Ok(sent) => {
                self.early_changes.remove(&sent);
                self.refresh_state(ctx);
            }
            Err(error) => self.on_send_error(&error, ctx),
        }
    }

    /// Passes the changes since the launch that the server hasn't been sent, after it started or registered for changes.
    pub(in crate::server) fn replay_early_changes(&mut self, ctx: &mut Context<Self>) {
        let early_changes = match self.is_settling() {
            // It may register for more.
            true => self.early_changes.clone(),
            false => std::mem::take(&mut self.early_changes),
        };
        if !early_changes.is_empty() {
            self.apply_changes(Arc::new(early_changes), ctx);
        }
    }

    fn is_header(&self, path: &Path) -> bool {
        anchors::is_header(path) && self.context.servers.serves(&self.context.server, path)
    }

    /// Whether the file is one of a language that the server serves, in its project.
    fn is_own(&self, path: &Path) -> bool {
        path.starts_with(&self.context.root) && self.context.servers.serves(&self.context.server, path)
    }

    /// Restarts the process; this does not count as a failure.
    pub(in crate::server) fn restart(&mut self, ctx: &mut Context<Self>) {
        if let Some(session) = self.session.take() {
            self.remember_open(&session);
            drop(session);
            self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
            self.restarts += 1;
            self.context.metrics.restart(self.context.kind.as_str(), "configuration_changed");
            self.launch(ctx);
        }
    }
}

fn missed_change(kind: ChangeKind) -> MissedChange {
    match kind {
        ChangeKind::Created => MissedChange::Created,
        ChangeKind::Changed => MissedChange::Changed,
        ChangeKind::Deleted => MissedChange::Deleted,
    }
}

impl Handler<FilesChanged> for LanguageServer {
    type Result = ();

    fn handle(&mut self, message: FilesChanged, ctx: &mut Self::Context) {
        if self.is_settling() {
            self.early_changes.merge(&message.0);
        }
        self.apply_changes(message.0, ctx);
    }
}
