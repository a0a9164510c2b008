//! Restarts the server on an operator's request, in any state.

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::messages::{NoticeKind, RestartServer};
use crate::status::server_state::ServerState;
use crate::status::server_status::LastEnd;

impl Handler<RestartServer> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: RestartServer, ctx: &mut Self::Context) -> Self::Result {
        if self.stopping {
            return;
        }
        for pending in [self.timer.take(), self.retry.take(), self.start_task.take()].into_iter().flatten() {
            ctx.cancel_future(pending);
        }
        if let Some(session) = self.session.take() {
            self.remember_open(&session);
        }
        self.history.forget();
        self.crash_suspects.clear();
        self.restarts += 1;
        self.last_end = Some(LastEnd::now("operator"));
        self.context.metrics.restart(self.context.kind.as_str(), "operator");
        tracing::info!(workspace = %self.context.workspace, server = %self.context.kind, "language server is restarted by an operator");
        self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
        self.set_state(ServerState::Starting);
        self.publish();
        self.launch(ctx);
    }
}
