//! Prepares a server's projects again when files changed, and sends what differs to its process.
//!
//! The preparation reads files, so it runs on the blocking pool. Invariant: while it runs no request is sent to the process, so that no
//! answer comes from a project that misses a change.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use actix::prelude::*;
use futures::FutureExt;
use tokio::sync::oneshot;

use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;
use crate::server::documents::document_loading::{LoadedDocuments, WantedDocument};
use crate::server::messages::{NoticeKind, PreparationEnd};
use crate::server::projects::prepared_projects::{self, Preparation, PreparedProjects, ProjectUpdate};
use codeyard_base::blocking;
use codeyard_files::watch::Changes;
use codeyard_lsp::client::pending_requests::{PendingReply, RequestError};
use codeyard_lsp::registry::MultiRoot;
use codeyard_projects::UnwatchedFolder;

/// A preparation in progress.
pub(in crate::server) struct RunningPreparation {
    /// Dropped at its end.
    _running: oneshot::Sender<()>,
    ended: PreparationEnd,
    /// What happened since it began: it is repeated.
    later: Option<PreparationCause>,
}

/// Why projects are prepared again.
#[derive(Default)]
struct PreparationCause {
    /// Files that changed. Most changes don't concern a project, which only their texts show.
    changes: Changes,
    /// Projects joined or left.
    is_certain: bool,
    /// Folders that no watcher follows, to look at.
    unwatched: Vec<Arc<[UnwatchedFolder]>>,
}

impl PreparationCause {
    fn merge(&mut self, later: &Self) {
        self.changes.merge(&later.changes);
        self.is_certain |= later.is_certain;
        self.unwatched.extend(later.unwatched.iter().cloned());
    }

    /// Whether the projects must be prepared again. Reads changed files.
    fn holds(&self, context: &ServerContext) -> bool {
        // What is known of the files is updated in any case.
        let may_change = !self.changes.is_empty() && prepared_projects::may_change(context, &self.changes);
        may_change
            || self.is_certain
            || self.unwatched.iter().flat_map(|folders| &**folders).any(UnwatchedFolder::has_changed)
    }
}

impl LanguageServer {
    /// Whether the projects of the running process are being prepared again.
    pub(in crate::server) fn is_preparing(&self) -> bool {
        self.preparation.is_some()
    }

    /// The end of the preparation that runs.
    pub(in crate::server) fn preparation_end(&self) -> Option<PreparationEnd> {
        self.preparation.as_ref().map(|running| running.ended.clone())
    }

    /// Prepares the projects again if these changes may change them.
    pub(in crate::server) fn on_project_changes(&mut self, changes: &Changes, ctx: &mut Context<Self>) {
        if self.session.is_some() && self.context.server.project.is_some() && !changes.is_empty() {
            self.prepare_again(PreparationCause { changes: changes.clone(), ..PreparationCause::default() }, ctx);
        }
    }

    /// The process is ready for the first time: what it ignored until then is sent now, and so are the scripts of a project that may have
    /// been prepared before the files were listed.
    pub(in crate::server) fn on_first_ready(&mut self, ctx: &mut Context<Self>) {
        let context = self.context.clone();
        let ignores_opens = context.server.quirks.ignores_early_opens;
        if context.servers.may_open_scripts(&context.server) && (ignores_opens || context.server.project.is_none()) {
            self.prepare_again(PreparationCause { is_certain: true, ..PreparationCause::default() }, ctx);
        }
        if ignores_opens {
            self.replay_early_changes(ctx);
        }
    }

    /// Prepares the projects again if folders changed that no watcher follows.
    pub(in crate::server) fn look_at_unwatched(&mut self, ctx: &mut Context<Self>) {
        if !self.is_preparing() {
            let unwatched = self.projects.unwatched();
            self.prepare_again(PreparationCause { unwatched, ..PreparationCause::default() }, ctx);
        }
    }

    /// Prepares the projects again if some joined or left. Returns whether requests may be sent now.
    pub(in crate::server) fn follow_folders(&mut self, ctx: &mut Context<Self>) -> bool {
        if self.session.is_some() && self.are_folders_prepared() && !self.projects.are_at(&self.context.folders.roots())
        {
            // One that runs was begun for these folders, or is repeated for what happened since.
            if self.preparation.as_ref().is_none_or(|running| running.later.is_none()) {
                self.prepare_again(PreparationCause { is_certain: true, ..PreparationCause::default() }, ctx);
            }
        }
        !self.is_preparing()
    }

    /// Whether a project is prepared before it is announced to the process.
    fn are_folders_prepared(&self) -> bool {
        self.context.server.project.is_some() && self.context.multi_root == MultiRoot::WorkspaceFolders
    }

    /// The project roots that may be announced to the process. Others join at any time and must be prepared before.
    pub(in crate::server) fn announceable_roots(&self) -> BTreeSet<PathBuf> {
        match self.are_folders_prepared() {
            true => self.projects.roots(),
            false => self.context.folders.roots().into_iter().collect(),
        }
    }

    fn prepare_again(&mut self, cause: PreparationCause, ctx: &mut Context<Self>) {
        if let Some(running) = &mut self.preparation {
            match &mut running.later {
                Some(later) => later.merge(&cause),
                later => *later = Some(cause),
            }
            return;
        }
        let context = self.context.clone();
        let incarnation = self.incarnation;
        let prepare = move || match cause.holds(&context) {
            true => Preparation::begin(&context, &context.workspace_folders().current()).map(Some),
            false => Ok(None),
        };
        let prepared = blocking::spawn(prepare).into_actor(self);
        ctx.spawn(prepared.map(move |prepared, server, ctx| {
            let prepared = prepared.unwrap_or_else(|_| Err(io::Error::other("the preparation failed")));
            server.on_prepared(incarnation, prepared, ctx);
        }));
        let (running, ended) = oneshot::channel::<()>();
        let ended = ended.map(drop).boxed().shared();
        self.preparation = Some(RunningPreparation { _running: running, ended, later: None });
    }

    fn on_prepared(&mut self, incarnation: u64, prepared: io::Result<Option<Preparation>>, ctx: &mut Context<Self>) {
        if incarnation != self.incarnation || !self.is_preparing() {
            return;
        }
        match prepared.map(|prepared| prepared.map(|prepared| prepared.accept(&self.context))) {
            Ok(Some(projects)) => match self.projects.update_to(&projects) {
                ProjectUpdate::None => self.projects = projects,
                ProjectUpdate::Restart => {
                    self.projects = projects;
                    self.restart(ctx);
                }
                ProjectUpdate::Send => return self.read_projects(projects, ctx),
            },
            Ok(None) => {}
            Err(error) => {
                let kind = &self.context.kind;
                tracing::warn!(server = %kind, error = %error.kind(), "a project could not be prepared again");
            }
        }
        self.end_preparation(ctx);
    }

    /// Reads the documents that the projects keep open, and then sends the projects.
    fn read_projects(&mut self, projects: PreparedProjects, ctx: &mut Context<Self>) {
        let wanted: Vec<_> = projects.open().into_iter().map(|path| WantedDocument::new(path.into())).collect();
        if wanted.is_empty() {
            return self.send_projects(projects, &LoadedDocuments::default(), ctx);
        }
        self.read_then(
            move |context| LoadedDocuments::read(context, wanted),
            ctx,
            move |server, read, ctx| match read {
                Some(documents) => server.send_projects(projects, &documents, ctx),
                None => {
                    server.preparation = None;
                    server.kill("missed_change", ctx);
                }
            },
        );
    }

    fn send_projects(&mut self, projects: PreparedProjects, documents: &LoadedDocuments, ctx: &mut Context<Self>) {
        let before = std::mem::replace(&mut self.projects, projects);
        if let Some(session) = &mut self.session {
            let sent = session.change_projects(&before, &self.projects, documents);
            self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
            self.refresh_state(ctx);
            self.keep_replies(sent, ctx);
        }
        self.end_preparation(ctx);
    }

    /// The preparation has ended and its result is in effect. It is repeated if something happened since it began.
    fn end_preparation(&mut self, ctx: &mut Context<Self>) {
        let later = self.preparation.take().and_then(|ended| ended.later);
        if let Some(cause) = later.filter(|_| self.session.is_some()) {
            self.prepare_again(cause, ctx);
        }
    }

    /// Keeps the replies to requests that load projects until they arrive.
    pub(in crate::server) fn keep_replies(
        &mut self,
        sent: Result<Vec<PendingReply>, RequestError>,
        ctx: &mut Context<Self>,
    ) {
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
