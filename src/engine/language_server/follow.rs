//! How a child follows what changes on disk: it is told, or replaced if telling isn't enough.
//!
//! A child reads its project while it starts, and says only later which changes it wants to be told of. What happens in
//! between is kept and told then. Not a log of changes. Invariants: no change is lost between a child's launch and its
//! registrations; what is kept is bounded, each path once, and what doesn't fit is remembered as too much to tell.

use std::path::Path;
use std::time::Duration;

use actix::prelude::*;

use super::unread::is_beyond_showing;
use super::*;
use crate::anchors;
use codeyard_files::watch::Changes;

/// How long after its birth a child's registrations count as part of its start.
const SETTLES_WITHIN: Duration = Duration::from_secs(10);

impl LanguageServer {
    /// Whether the child can't follow by being told of files: one changed of which it reads a copy (a compile database), or
    /// the list of changes isn't whole.
    pub(super) fn must_begin_anew(&self, changes: &Changes) -> bool {
        if changes.incomplete || is_beyond_showing(&self.context, changes) {
            return true;
        }
        if self.context.server.quirks.blind_to_headers
            && changes.files.iter().any(|change| self.is_header(&change.path))
        {
            return true;
        }
        let copied = &self.context.server.quirks.copy_to_cache;
        let is_copied = |path: &Path| copied.iter().any(|name| *path == self.context.root.join(name));
        changes.files.iter().any(|change| is_copied(&change.path))
    }

    /// Whether the child is starting, or began so lately that it may not have said yet what it wants to hear of.
    pub(super) fn is_young(&self) -> bool {
        self.birth.is_some() || self.up.as_ref().is_some_and(|up| up.born.elapsed() < SETTLES_WITHIN)
    }

    /// Has the child follow what changed on disk, or replaces it if it can't.
    pub(super) fn follow_changes(&mut self, changes: &Changes, ctx: &mut Context<Self>) {
        if self.must_begin_anew(changes) {
            return self.begin_anew(ctx);
        }
        let Some(up) = &mut self.up else { return };
        match up.files_changed(&self.context, changes) {
            Ok(()) => self.refresh_state(ctx),
            Err(error) => self.lost(&error, ctx),
        }
    }

    /// Has the child follow everything that changed since its launch: it is up, or has said what it wants to hear of.
    pub(super) fn follow_early(&mut self, ctx: &mut Context<Self>) {
        let early = std::mem::take(&mut self.early);
        if !early.is_empty() {
            self.follow_changes(&early, ctx);
        }
        if self.is_young() && self.birth.is_none() {
            // It may go on to say more; one that was replaced begins with none.
            self.early = early;
        }
    }

    fn is_header(&self, path: &Path) -> bool {
        anchors::is_header(path) && self.context.servers.serves(&self.context.server, path)
    }

    /// Replaces the child, for a reason that isn't its fault.
    pub(super) fn begin_anew(&mut self, ctx: &mut Context<Self>) {
        if let Some(up) = self.up.take() {
            self.remember_open(&up);
            drop(up);
            self.tell(News::AnswersMayDiffer, ctx);
            self.restarts += 1;
            self.context.metrics.restart(self.context.kind.as_str(), "configuration_changed");
            self.launch(ctx);
        }
    }
}

impl Handler<FilesChanged> for LanguageServer {
    type Result = ();

    fn handle(&mut self, message: FilesChanged, ctx: &mut Self::Context) {
        if self.is_young() {
            self.early.merge(&message.0);
        }
        self.follow_changes(&message.0, ctx);
    }
}
