//! Prepares a server's projects again when files changed, and sends what differs to its process.
//!
//! The preparation reads files, so it runs on the blocking pool. Invariant: while it runs no request is sent to the process, so that no
//! answer comes from a project that misses a change.

use std::io;
use std::sync::Arc;

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::messages::NoticeKind;
use crate::server::prepared_projects::{self, PreparedProjects, ProjectUpdate};
use codeyard_base::blocking;
use codeyard_files::watch::Changes;
use codeyard_lsp::client::pending_requests::{PendingReply, RequestError};
use codeyard_lsp::registry::MultiRoot;

/// A preparation in progress.
pub(super) struct RunningPreparation {
    /// Files changed since it began: it is repeated.
    is_outdated: bool,
}

impl LanguageServer {
    /// Whether the projects of the running process are being prepared again.
    pub(super) fn is_preparing(&self) -> bool {
        self.preparation.is_some()
    }

    /// Prepares the projects again if these changes may change them.
    pub(super) fn on_project_changes(&mut self, changes: &Changes, ctx: &mut Context<Self>) {
        if self.session.is_some() && prepared_projects::may_change(&self.context, changes) {
            self.prepare_again(ctx);
        }
    }

    /// Prepares the projects again if some joined or left. Returns whether requests may be sent now.
    pub(super) fn follow_folders(&mut self, ctx: &mut Context<Self>) -> bool {
        let context = &self.context;
        let is_followed = context.server.project.is_some() && context.multi_root == MultiRoot::WorkspaceFolders;
        if is_followed && self.session.is_some() && !self.projects.are_at(&context.folders.roots()) {
            self.prepare_again(ctx);
        }
        !self.is_preparing()
    }

    fn prepare_again(&mut self, ctx: &mut Context<Self>) {
        if let Some(running) = &mut self.preparation {
            running.is_outdated = true;
            return;
        }
        let (context, incarnation) = (self.context.clone(), self.incarnation);
        let prepared = blocking::spawn(move || PreparedProjects::prepare(&context)).into_actor(self);
        ctx.spawn(prepared.map(move |prepared, server, ctx| {
            let prepared = prepared.unwrap_or_else(|_| Err(io::Error::other("the preparation failed")));
            server.on_prepared(incarnation, prepared, ctx);
        }));
        self.preparation = Some(RunningPreparation { is_outdated: false });
    }

    fn on_prepared(&mut self, incarnation: u64, prepared: io::Result<PreparedProjects>, ctx: &mut Context<Self>) {
        if incarnation != self.incarnation {
            return;
        }
        let is_outdated = self.preparation.take().is_some_and(|running| running.is_outdated);
        match prepared {
            Ok(projects) => self.change_projects(projects, ctx),
            Err(error) => {
                let kind = &self.context.kind;
                tracing::warn!(server = %kind, error = %error.kind(), "a project could not be prepared again");
            }
        }
        if is_outdated && self.session.is_some() {
            self.prepare_again(ctx);
        }
    }

    fn change_projects(&mut self, projects: PreparedProjects, ctx: &mut Context<Self>) {
        let update = self.projects.update_to(&projects);
        let before = std::mem::replace(&mut self.projects, projects);
        match update {
            ProjectUpdate::None => {}
            ProjectUpdate::Restart => self.restart(ctx),
            ProjectUpdate::Send => {
                let Some(session) = &mut self.session else { return };
                let sent = session.change_projects(&self.context, &before, &self.projects);
                self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
                self.refresh_state(ctx);
                self.keep_replies(sent, ctx);
            }
        }
    }

    /// Keeps the replies to requests that load projects until they arrive.
    pub(super) fn keep_replies(&mut self, sent: Result<Vec<PendingReply>, RequestError>, ctx: &mut Context<Self>) {
        match sent {
            Ok(replies) => {
                let kind = Arc::clone(&self.context);
                let all = futures::future::join_all(replies).into_actor(self);
                ctx.spawn(all.map(move |replies, _, _| {
                    for error in replies.into_iter().filter_map(Result::err) {
                        tracing::warn!(server = %kind.kind, error = %error, "a project could not be loaded");
                    }
                }));
            }
            Err(error) => self.on_send_error(&error, ctx),
        }
    }
}
