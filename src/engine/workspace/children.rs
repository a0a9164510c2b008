//! The language servers of a workspace: started on first use, replaced when their actor panicked, stopped when idle or at the end.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::BoxFuture;

use crate::limits;
use crate::query::plan::Choice;
use crate::query::refused_methods::RefusedMethods;
use crate::server::actor::LanguageServer;
use crate::server::child_key::ChildKey;
use crate::server::context::ServerContext;
use crate::server::lifecycle::health;
use crate::server::messages::StopServer;
use crate::server::program::isolation::AdaptedServer;
use crate::server::projects::prepared_projects::ProjectContext;
use crate::server::projects::project_folders::ProjectFolders;
use crate::status::actor_exit::ExitKind;
use crate::status::stopped_servers::StopReason;
use crate::workspace::actor::Workspace;
use crate::workspace::admin;
use crate::workspace::epochs::AnsweredDocuments;
use crate::workspace::messages::{Drain, Drained, Warm};
use crate::workspace::state::Child;
use codeyard_base::clock::Instant;
use codeyard_base::ids::ServerKind;
use codeyard_config::IsolationLevel;
use codeyard_lsp::client::lifecycle::StopPace;

/// How long a server whose actor panicked is not started: the cause of the panic would probably repeat at once.
const PANIC_PAUSE: Duration = Duration::from_secs(5);

/// The actor of a server ended.
#[derive(Message)]
#[rtype(result = "()")]
struct ChildEnded {
    key: ChildKey,
    kind: ExitKind,
}

impl Workspace {
    /// The server of this choice; starts it if necessary.
    pub(super) fn child(&mut self, choice: &Choice, ctx: &mut Context<Self>) -> &Child {
        let alive = self.children.get(&choice.key).is_some_and(|child| child.actor.connected());
        if !alive {
            self.epochs.add_server(&choice.key, AnsweredDocuments::of(choice));
            let child = self.start_child(choice, ctx);
            self.children.insert(choice.key.clone(), child);
        }
        &self.children[&choice.key]
    }

    fn start_child(&self, choice: &Choice, ctx: &mut Context<Self>) -> Child {
        let context = Arc::new(self.child_context(choice, ctx));
        let key = choice.key.clone();
        let workspace = ctx.address();
        let folders = context.folders.clone();
        let on_exit = move |kind| drop(workspace.try_send(ChildEnded { key, kind }));
        let status = context.status.clone();
        let (server, state) = LanguageServer::new(context, on_exit);
        let turns = self.setup.request_turns.of_server();
        Child {
            actor: server.start_roomy(),
            status,
            state,
            turns,
            refused: RefusedMethods::default(),
            folders,
            placed: self.placement,
            placed_at: self.plan_revision,
        }
    }

    fn child_context(&self, choice: &Choice, ctx: &Context<Self>) -> ServerContext {
        let setup = &self.setup;
        let key = &choice.key;
        let level = setup.isolation.level;
        let cache = setup.cache.join(&key.kind).join(cache_name(choice, level));
        let settings = setup.settings.get(&key.kind).cloned();
        let AdaptedServer { server, program, settings } =
            setup.isolation.adapt(&choice.server, &choice.program, settings);
        ServerContext {
            workspace: setup.name.clone(),
            kind: ServerKind::new(&key.kind),
            isolation: setup.isolation.clone(),
            environment: setup.shared.environment.clone(),
            env: setup.env.clone(),
            root: key.root.clone(),
            settings,
            multi_root: choice.multi_root,
            folders: ProjectFolders::unexplored(choice.projects.clone()),
            find_projects: {
                let finder = self.project_finder(choice);
                Arc::new(move |roots| finder.projects(roots))
            },
            project: ProjectContext { watched: self.slot.clone(), build: setup.build(), ..ProjectContext::default() },
            servers: setup.servers.clone(),
            gate: setup.gate.clone(),
            launcher: setup.shared.launcher.clone(),
            frames: setup.shared.frames.clone(),
            diagnostics: setup.diagnostics.clone(),
            restart: self.policy.restart,
            times: self.policy.times,
            notices: ctx.address().recipient(),
            status: setup.status.server(health::identity(&setup.name, key, &program, &server, setup.gate.root_set())),
            memory: setup.memory.clone(),
            metrics: setup.shared.metrics.clone(),
            state: setup.state.clone(),
            cache,
            key: key.clone(),
            start_locks: setup.start_locks.clone(),
            start_queue: setup.start_queue.clone(),
            program_failures: setup.program_failures.clone(),
            program,
            server,
        }
    }

    /// Removes a server and stops it in the background.
    pub(super) fn stop_child(&mut self, key: &ChildKey, reason: StopReason, ctx: &mut Context<Self>) {
        if let Some(child) = self.children.remove(key) {
            self.setup.status.set_stopped(&child.status, reason);
            ctx.spawn(
                async move {
                    child.actor.send(StopServer(StopPace::Patient)).await.ok();
                }
                .into_actor(self),
            );
        }
    }
}

impl Handler<ChildEnded> for Workspace {
    type Result = ();

    fn handle(&mut self, ended: ChildEnded, _: &mut Self::Context) {
        if ended.kind != ExitKind::Panicked {
            return;
        }
        tracing::error!(workspace = %self.setup.name, server = %ended.key.kind, "language server actor panicked");
        // It may have been replaced already.
        if self.children.get(&ended.key).is_some_and(|child| !child.actor.connected()) {
            self.children.remove(&ended.key);
        }
        let now = Instant::now();
        self.paused.retain(|_, until| *until > now);
        self.paused.insert(ended.key, now + PANIC_PAUSE);
        self.move_epochs(true, false, true);
    }
}

impl Handler<Warm> for Workspace {
    type Result = ();

    fn handle(&mut self, _: Warm, ctx: &mut Self::Context) {
        if self.draining {
            return;
        }
        let wait = match self.prepare(ctx) {
            Some(walking) => Some(walking),
            None => match self.plan_workspace(true, None) {
                Ok(plan) => {
                    let prewarm = self.policy.prewarm.clone();
                    for choice in plan.choices.iter().filter(|choice| prewarm.covers(&choice.key.kind)) {
                        self.child(choice, ctx);
                    }
                    None
                }
                Err(lookups) => Some(futures::FutureExt::shared(Box::pin(async move {
                    futures::future::join_all(lookups).await;
                }) as BoxFuture<'static, ()>)),
            },
        };
        if let Some(wait) = wait {
            let actor = ctx.address();
            ctx.spawn(async move { (wait.await, drop(actor.try_send(Warm))).0 }.into_actor(self));
        }
    }
}

impl Handler<Drain> for Workspace {
    type Result = ResponseActFuture<Self, Drained>;

    fn handle(&mut self, drain: Drain, _: &mut Self::Context) -> Self::Result {
        self.draining = true;
        self.long_questions.end_all();
        self.slot.set(None);
        let Drain(pace) = drain;
        let stops = std::mem::take(&mut self.children).into_iter().map(move |(key, child)| async move {
            let report = child.actor.send(StopServer(pace)).await.ok().flatten();
            admin::stopped(&key, report.as_ref())
        });
        let limit = work_limit(pace);
        let index = in_time("the code index", limit, self.stop_index());
        let runs = in_time("a run", limit, self.runs.stop());
        let all = async move {
            let (servers, index, runs) = futures::future::join3(futures::future::join_all(stops), index, runs).await;
            Drained { servers, stuck: index.into_iter().chain(runs).collect() }
        };
        Box::pin(all.into_actor(self).map(|drained, _, ctx| {
            ctx.stop();
            drained
        }))
    }
}

/// How long a draining workspace waits for its index and its runs.
pub(crate) fn work_limit(pace: StopPace) -> Duration {
    Duration::from_millis(match pace {
        StopPace::Patient => limits::STOP_WORK_MS,
        StopPace::Prompt => limits::PROMPT_STOP_WORK_MS,
    })
}

/// Waits for the end of `work`; `what` if it doesn't end in time.
async fn in_time(what: &str, limit: Duration, work: impl Future<Output = ()>) -> Option<String> {
    tokio::time::timeout(limit, work).await.is_err().then(|| what.to_owned())
}

/// The name of the cache folder for this project root, program version and level; two versions must not share one.
fn cache_name(choice: &Choice, level: IsolationLevel) -> String {
    let program = &choice.program;
    let version = program.version.as_deref().unwrap_or_default();
    // What a confined server has written is never used by one that isn't.
    let level = if level == IsolationLevel::Restricted { "|restricted" } else { "" };
    let text = format!("{}|{}|{version}{level}", choice.key.root.display(), program.program.display());
    codeyard_base::digest::sha256hex(text)[..16].to_owned()
}
