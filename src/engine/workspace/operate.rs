//! What operators ask of a workspace: start or stop one language server, what is retained, what is wrong.

use actix::prelude::*;

use super::*;
use crate::language_server::{StartAnew, StopServer};
use codeyard_lsp::lifecycle::{Rung, StopReport};
use codeyard_paging::SnapshotStats;

/// Starts a language server anew. `false`: no such one is running or starting.
#[derive(Message)]
#[rtype(result = "bool")]
pub struct RestartChild(pub String);

/// Stops a language server, and waits until it has ended; the next question starts it again. `None`: there is no such one.
#[derive(Message)]
#[rtype(result = "Option<StoppedServer>")]
pub struct HaltChild(pub String);

/// Asks what is retained.
#[derive(Message)]
#[rtype(result = "SnapshotStats")]
pub struct GetSnapshots;

/// Asks what keeps the workspace from answering as it should. It asks no child, so that it costs next to nothing.
#[derive(Message)]
#[rtype(result = "Vec<Trouble>")]
pub struct GetTroubles;

/// A language server that was stopped on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedServer {
    /// Which child of its workspace it was.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// What it took to end it: `none` (it wasn't running), `exit`, `terminate` or `kill`.
    pub ended_by: &'static str,
}

/// Something that keeps a workspace from answering as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Its files aren't watched any more: answers are true, but nothing is retained.
    Unwatched,
    /// This kind of language server failed too often and is left alone for a while.
    Quarantined(String),
}

impl Workspace {
    fn key_of(&self, id: &str) -> Option<ChildKey> {
        self.children.keys().find(|key| key.id() == id).cloned()
    }

    /// Why files aren't watched, if they should be.
    pub(super) fn unwatched(&self) -> Option<String> {
        match &self.watching {
            Watching::Idle | Watching::Starting(_) => None,
            Watching::Done => self.slot.get().and_then(|subscription| subscription.degraded()),
            Watching::Failed(why) => Some(why.clone()),
        }
    }
}

/// How a child ended.
pub(super) fn stopped(key: &ChildKey, report: Option<&StopReport>) -> StoppedServer {
    let ended_by = match report.map(|report| report.rung) {
        None | Some(Rung::Gone) => "none",
        Some(Rung::Exit) => "exit",
        Some(Rung::Term) => "terminate",
        Some(Rung::Kill) => "kill",
    };
    StoppedServer { id: key.id(), kind: key.kind.clone(), ended_by }
}

impl Handler<RestartChild> for Workspace {
    type Result = bool;

    fn handle(&mut self, message: RestartChild, _: &mut Self::Context) -> Self::Result {
        let child = self.key_of(&message.0).and_then(|key| self.children.get(&key));
        child.is_some_and(|child| child.actor.try_send(StartAnew).is_ok())
    }
}

impl Handler<HaltChild> for Workspace {
    type Result = ResponseFuture<Option<StoppedServer>>;

    fn handle(&mut self, message: HaltChild, ctx: &mut Self::Context) -> Self::Result {
        let Some(key) = self.key_of(&message.0) else { return Box::pin(async { None }) };
        let Some(child) = self.children.remove(&key) else { return Box::pin(async { None }) };
        // It is stopped to its end, also when nobody waits for that.
        let (tell, told) = tokio::sync::oneshot::channel();
        ctx.spawn(
            async move {
                let report = child.actor.send(StopServer).await.ok().flatten();
                drop(tell.send(stopped(&key, report.as_ref())));
            }
            .into_actor(self),
        );
        Box::pin(async move { told.await.ok() })
    }
}

impl Handler<GetSnapshots> for Workspace {
    type Result = MessageResult<GetSnapshots>;

    fn handle(&mut self, _: GetSnapshots, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.snapshots.stats(Instant::now()))
    }
}

impl Handler<GetTroubles> for Workspace {
    type Result = Vec<Trouble>;

    fn handle(&mut self, _: GetTroubles, _: &mut Self::Context) -> Self::Result {
        let quarantined =
            |child: &Child| matches!(&*child.state.borrow(), ServerState::Down(down) if down.reason == QUARANTINED);
        let servers = self.children.iter().filter(|(_, child)| quarantined(child));
        let servers = servers.map(|(key, _)| Trouble::Quarantined(key.kind.clone()));
        self.unwatched().map(|_| Trouble::Unwatched).into_iter().chain(servers).collect()
    }
}
