//! Handles messages of operators and of the supervisor about one language server: restart it, or stop it.

use std::sync::Arc;

use actix::prelude::*;

use crate::server::child_key::ChildKey;
use crate::server::lifecycle::memory_limit::CheckMemoryLimit;
use crate::server::messages::{RestartServer, StopServer};
use crate::status::stopped_servers::StopReason;
use crate::workspace::actor::Workspace;
use crate::workspace::messages::{CheckChildMemory, HaltChild, RestartChild, StopChild, StoppedServer};
use crate::workspace::state::Child;
use codeyard_lsp::client::lifecycle::{StopPace, StopReport, StopStage};

impl Workspace {
    fn key_of(&self, id: &str) -> Option<ChildKey> {
        self.children.keys().find(|key| key.id() == id).cloned()
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
        self.setup.status.set_stopped(&child.status, StopReason::Operator);
        // The stop runs to its end even if the caller goes away.
        let (sender, receiver) = tokio::sync::oneshot::channel();
        ctx.spawn(
            async move {
                let report = child.actor.send(StopServer(StopPace::Patient)).await.ok().flatten();
                drop(sender.send(stopped(&key, report.as_ref())));
            }
            .into_actor(self),
        );
        Box::pin(async move { receiver.await.ok() })
    }
}

impl Handler<StopChild> for Workspace {
    type Result = ();

    fn handle(&mut self, message: StopChild, ctx: &mut Self::Context) {
        let is_it = |(_, child): &(&ChildKey, &Child)| Arc::ptr_eq(&child.status, &message.0);
        if let Some(key) = self.children.iter().find(is_it).map(|(key, _)| key.clone()) {
            self.stop_child(&key, message.1, ctx);
        }
    }
}

impl Handler<CheckChildMemory> for Workspace {
    type Result = ();

    fn handle(&mut self, message: CheckChildMemory, _: &mut Self::Context) {
        let child = self.children.values().find(|child| Arc::ptr_eq(&child.status, &message.0));
        if let Some(child) = child {
            // A mailbox that is full is checked again after the next pass.
            drop(child.actor.try_send(CheckMemoryLimit));
        }
    }
}
