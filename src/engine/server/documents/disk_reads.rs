//! Reads files for the actor of a server, on the blocking pool.
//!
//! The actor handles no message and no event meanwhile, so it sends to its server in the order in which it learnt of things. Invariants: a
//! read begins after everything that the actor has handled before it; nothing is applied to another process than the one it was
//! read for; the actor waits no longer than [`limits::MAX_SERVER_READ_MS`], so that a file system that hangs costs it its answers, not its
//! end.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::timeout;

use crate::limits;
use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;

/// Runs `read` on the blocking pool. `None`: the file system is too slow, or the work failed.
pub(in crate::server) async fn read_files<T: Send + 'static>(
    context: Arc<ServerContext>,
    read: impl FnOnce(&ServerContext) -> T + Send + 'static,
) -> Option<T> {
    let gate = context.gate.clone();
    let reading = gate.run(move |_| read(&context));
    let read = timeout(Duration::from_millis(limits::MAX_SERVER_READ_MS), reading).await;
    read.ok().and_then(Result::ok)
}

impl LanguageServer {
    /// Runs `read` on the blocking pool and then `apply` here. Nothing else is handled meanwhile. `None` as of [`read_files`].
    pub(in crate::server) fn read_then<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&ServerContext) -> T + Send + 'static,
        ctx: &mut Context<Self>,
        apply: impl FnOnce(&mut Self, Option<T>, &mut Context<Self>) + 'static,
    ) {
        let incarnation = self.incarnation;
        let reading = read_files(self.context.clone(), read).into_actor(self);
        ctx.wait(reading.map(move |read, server, ctx| {
            if incarnation == server.incarnation {
                apply(server, read, ctx);
            }
        }));
    }
}
