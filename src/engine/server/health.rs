//! Answers requests for the health of one language server. Its standard error is for operators and never part of an answer.

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::messages::{GetHealth, ServerHealth};
use crate::status::server_state::ServerState;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;

impl Handler<GetHealth> for LanguageServer {
    type Result = ResponseFuture<ServerHealth>;

    fn handle(&mut self, _: GetHealth, _: &mut Self::Context) -> Self::Result {
        let health = self.health();
        let process = self.session.as_ref().map(|session| session.child.process().clone());
        let status = self.context.status.clone();
        Box::pin(async move {
            // Reads every process of the tree, which takes milliseconds.
            let (memory, pid) = match process {
                Some(process) => {
                    let measured = blocking::spawn(move || (process.memory_bytes(), process.server_id()));
                    measured.await.unwrap_or_default()
                }
                None => (None, None),
            };
            if let Some(bytes) = memory {
                status.set_memory(bytes);
            }
            ServerHealth { memory_bytes: memory, pid, ..health }
        })
    }
}

impl LanguageServer {
    fn health(&self) -> ServerHealth {
        let session = self.session.as_ref();
        let state = self.state.borrow().clone();
        let stderr = match &state {
            ServerState::Down(down) => down.stderr.clone(),
            _ => session.map(|session| session.child.process().stderr_tail()).unwrap_or_default(),
        };
        let roots = self.context.gate.root_set();
        let within = roots.root_of(&self.context.root).and_then(|root| self.context.root.strip_prefix(root).ok());
        ServerHealth {
            key: self.context.key.clone(),
            kind: self.context.kind.to_string(),
            version: self.context.program.version.clone(),
            root: within.map(|path| format!("./{}", path.display())).unwrap_or_default(),
            state,
            assumed_ready: session.is_some_and(|session| session.readiness.assumed(Instant::now())),
            since_s: self.since.elapsed().as_secs(),
            pid: None,
            memory_bytes: None,
            restarts: self.restarts,
            open_documents: session.map(|session| session.documents.len()).unwrap_or(0),
            pending: session.map(|session| session.client.pending()).unwrap_or(0),
            unused_s: self.last_used.elapsed().as_secs(),
            stderr,
        }
    }
}
