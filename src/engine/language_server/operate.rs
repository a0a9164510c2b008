//! An operator's wish: the child is started anew, whatever it is at.

use actix::prelude::*;

use super::*;

/// Starts the child anew because an operator asked for it. It counts as no death; it ends a quarantine, a back-off and a
/// start that is under way, and forgets which documents are under suspicion.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StartAnew;

impl Handler<StartAnew> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: StartAnew, ctx: &mut Self::Context) -> Self::Result {
        if self.stopping {
            return;
        }
        for pending in [self.timer.take(), self.retry.take(), self.birth.take()].into_iter().flatten() {
            ctx.cancel_future(pending);
        }
        if let Some(up) = self.up.take() {
            self.remember_open(&up);
        }
        self.history.on_stable();
        self.poisoned.clear();
        self.restarts += 1;
        self.context.metrics.restart(self.context.kind.as_str(), "operator");
        tracing::info!(workspace = %self.context.workspace, server = %self.context.kind, "language server is started anew by an operator");
        self.tell(News::AnswersMayDiffer, ctx);
        self.set_state(ServerState::Starting);
        self.launch(ctx);
    }
}
