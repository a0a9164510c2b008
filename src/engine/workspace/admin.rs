//! Handles operators' messages: restart or stop one language server, list retained results, report problems.

use actix::prelude::*;

use crate::server::child_key::ChildKey;
use crate::server::messages::{RestartServer, StopServer};
use crate::status::server_state::{QUARANTINED, ServerState};
use crate::workspace::actor::Workspace;
use crate::workspace::messages::{GetProblems, GetSnapshots, HaltChild, RestartChild, StoppedServer, WorkspaceProblem};
use crate::workspace::state::{Child, Watching};
use codeyard_base::clock::Instant;
use codeyard_lsp::client::lifecycle::{StopReport, StopStage};

impl Workspace {
    fn key_of(&self, id: &str) -> Option<ChildKey> {
        self.children.keys().find(|key| key.id() == id).cloned()
    }

    /// Why files aren't watched, although they should be.
    pub(super) fn unwatched(&self) -> Option<String> {
        match &self.watching {
            Watching::Idle | Watching::Starting(_) => None,
            Watching::Done => self.slot.get().and_then(|subscription| subscription.degraded()),
            Watching::Failed(why) => Some(why.clone()),
        }
    }
}

/// The report of how a server ended.
pub(super) fn stopped(key: &ChildKey, report: Option<&StopReport>) -> StoppedServer {
    let ended_by = match report.map(|report| report.stage) {
        None | Some(StopStage::Gone) => "none",
        Some(StopStage::Exit) => "exit",
        Some(StopStage::Term) => "terminate",
        Some(StopStage::Kill) => "kill",
    };
    StoppedServer { id: key.id(), kind: key.kind.clone(), ended_by }
}

impl Handler<RestartChild> for Workspace {
    type Result = bool;

    fn handle(&mut self, message: RestartChild, _: &mut Self::Context) -> Self::Result {
        let child = self.key_of(&message.0).and_then(|key| self.children.get(&key));
        child.is_some_and(|child| child.actor.try_send(RestartServer).is_ok())
    }
}

impl Handler<HaltChild> for Workspace {
    type Result = ResponseFuture<Option<StoppedServer>>;

    fn handle(&mut self, message: HaltChild, ctx: &mut Self::Context) -> Self::Result {
        let Some(key) = self.key_of(&message.0) else { return Box::pin(async { None }) };
        let Some(child) = self.children.remove(&key) else { return Box::pin(async { None }) };
        // The stop runs to its end even if the caller goes away.
        let (sender, receiver) = tokio::sync::oneshot::channel();
        ctx.spawn(
            async move {
                let report = child.actor.send(StopServer).await.ok().flatten();
                drop(sender.send(stopped(&key, report.as_ref())));
            }
            .into_actor(self),
        );
        Box::pin(async move { receiver.await.ok() })
    }
}

impl Handler<GetSnapshots> for Workspace {
    type Result = MessageResult<GetSnapshots>;

    fn handle(&mut self, _: GetSnapshots, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.snapshots.stats(Instant::now()))
    }
}

impl Handler<GetProblems> for Workspace {
    type Result = Vec<WorkspaceProblem>;

    fn handle(&mut self, _: GetProblems, _: &mut Self::Context) -> Self::Result {
        let quarantined =
            |child: &Child| matches!(&*child.state.borrow(), ServerState::Down(down) if down.reason == QUARANTINED);
        let servers = self.children.iter().filter(|(_, child)| quarantined(child));
        let servers = servers.map(|(key, _)| WorkspaceProblem::Quarantined(key.kind.clone()));
        self.unwatched().map(|_| WorkspaceProblem::Unwatched).into_iter().chain(servers).collect()
    }
}
