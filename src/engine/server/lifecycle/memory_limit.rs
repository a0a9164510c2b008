//! Ends a server whose process tree uses more memory than the limit of its kind; the restart rule decides what follows.
//!
//! The supervisor measures all servers in one pass and sends [`CheckMemoryLimit`] to those over their limit. Invariant: only a process
//! that was itself measured over the limit is ended, not its successor.

use std::time::Duration;

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::lifecycle::ServerEnd;
use crate::status::memory_gate::MIB;

/// The reason of an end over the memory limit, in the metrics and the log.
pub(in crate::server) const MEMORY_LIMIT: &str = "memory_limit";

/// The last pass measured the server over its memory limit.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CheckMemoryLimit;

impl Handler<CheckMemoryLimit> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: CheckMemoryLimit, ctx: &mut Self::Context) {
        let status = self.context.status.clone();
        // The figures are those of the running process: a new one begins without any.
        if self.stopping || !status.is_over_limit() {
            return;
        }
        let used = status.memory().measured.unwrap_or_default() / MIB;
        let served = self.ready_for();
        let Some((stderr, ran)) = self.end_process(ctx) else { return };
        let kind = &self.context.kind;
        let limit = status.identity().memory_limit.unwrap_or_default() / MIB;
        tracing::warn!(
            workspace = %self.context.workspace, server = %kind, memory_mib = used, limit_mib = limit,
            "language server is over its memory limit and is ended; raise `servers.{kind}.memory_limit_mib` if it needs more"
        );
        let message = format!(
            "the language server used {used} MiB of memory, and servers.{kind}.memory_limit_mib allows {limit}; raise it if the \
             server needs more"
        );
        self.after_exit(ServerEnd { reason: MEMORY_LIMIT, message, stderr, exit: None, ran, served }, ctx);
    }
}

impl LanguageServer {
    /// Ends the process, also one that is still starting. Returns the end of its standard error, and how long it ran.
    fn end_process(&mut self, ctx: &mut Context<Self>) -> Option<(String, Duration)> {
        if let Some(session) = self.session.take() {
            self.remember_open(&session);
            return Some((session.child.process().stderr_tail(), session.started_at.elapsed()));
        }
        let start = self.start_task.take()?;
        let stderr = self.context.status.process().map(|process| process.stderr_tail());
        // Dropping the start ends its process.
        ctx.cancel_future(start);
        Some((stderr.unwrap_or_default(), self.since.elapsed()))
    }
}
