//! Stops a language server for good, or ends its process.
//!
//! Invariant: when a stop has been answered, no process of the server is left, also one that was starting, or whose connection had closed.

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::messages::{KillServer, StopServer, WorkspaceGone};
use codeyard_lsp::client::lifecycle::{self, StopReport};

impl Handler<KillServer> for LanguageServer {
    type Result = ();

    fn handle(&mut self, message: KillServer, ctx: &mut Self::Context) {
        self.kill(message.reason, ctx);
    }
}

impl Handler<WorkspaceGone> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: WorkspaceGone, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

impl Handler<StopServer> for LanguageServer {
    type Result = ResponseActFuture<Self, Option<StopReport>>;

    fn handle(&mut self, stop: StopServer, ctx: &mut Self::Context) -> Self::Result {
        self.stopping = true;
        self.stopped("the language server has been stopped".into(), String::new());
        self.loading = None;
        let session = self.session.take();
        let starting = self.start_task.take().and_then(|start| {
            ctx.cancel_future(start);
            self.context.status.process()
        });
        let last = self.last_process.take();
        let stopped = async move {
            for process in starting.into_iter().chain(last) {
                // Whoever stops the workspace relies on it that nothing is left.
                lifecycle::kill(process.as_ref(), stop.0).await;
            }
            let (client, child) = session?.into_parts();
            let report = lifecycle::stop(&client, child.process().as_ref(), stop.0).await;
            tracing::info!(report = ?report, "language server stopped");
            child.disarm();
            Some(report)
        };
        // An actor with timers doesn't end by itself, even without an address.
        Box::pin(stopped.into_actor(self).map(|report, _, ctx| {
            ctx.stop();
            report
        }))
    }
}
