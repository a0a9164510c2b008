//! The health of one language server, as the doctor shows it. Its standard error is for operators, never for an answer.

use actix::prelude::*;
use serde::Serialize;

use super::LanguageServer;
use crate::providers::ChildKey;
use crate::server_state::ServerState;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;

/// Asks for the server's health.
#[derive(Message)]
#[rtype(result = "ServerHealth")]
pub struct GetHealth;

/// The health of one language server, as doctor and admin show it.
#[derive(Debug, Clone, Serialize, MessageResponse)]
pub struct ServerHealth {
    /// Which child of the workspace it is.
    #[serde(skip)]
    pub key: ChildKey,
    /// Its kind.
    pub kind: String,
    /// Its version, where known.
    pub version: Option<String>,
    /// Its project root, relative to the workspace's root.
    pub root: String,
    /// Where it is in its life.
    #[serde(flatten)]
    pub state: ServerState,
    /// It never said that it was ready; enough time passed without a sign of work.
    pub assumed_ready: bool,
    /// Seconds since that changed.
    pub since_s: u64,
    /// Its process id.
    pub pid: Option<u32>,
    /// Memory of its process tree in bytes.
    pub memory_bytes: Option<u64>,
    /// Restarts since codeyard started.
    pub restarts: u64,
    /// Documents open at it.
    pub open_documents: usize,
    /// Requests under way.
    pub pending: usize,
    /// Seconds since it was last asked.
    pub unused_s: u64,
    /// The tail of its standard error.
    pub stderr: String,
}

impl Handler<GetHealth> for LanguageServer {
    type Result = ResponseFuture<ServerHealth>;

    fn handle(&mut self, _: GetHealth, _: &mut Self::Context) -> Self::Result {
        let health = self.health();
        let process = self.up.as_ref().map(|up| up.child.process().clone());
        let cell = self.context.cell.clone();
        Box::pin(async move {
            // Every process of the tree is looked at, which takes milliseconds.
            let (memory, pid) = match process {
                Some(process) => {
                    let looked = blocking::spawn(move || (process.memory_bytes(), process.server_id()));
                    looked.await.unwrap_or_default()
                }
                None => (None, None),
            };
            if let Some(bytes) = memory {
                cell.set_memory(bytes);
            }
            ServerHealth { memory_bytes: memory, pid, ..health }
        })
    }
}

impl LanguageServer {
    fn health(&self) -> ServerHealth {
        let up = self.up.as_ref();
        let state = self.state.borrow().clone();
        let stderr = match &state {
            ServerState::Down(down) => down.stderr.clone(),
            _ => up.map(|up| up.child.process().stderr_tail()).unwrap_or_default(),
        };
        let roots = self.context.gate.root_set();
        let within = roots.root_of(&self.context.root).and_then(|root| self.context.root.strip_prefix(root).ok());
        ServerHealth {
            key: self.context.key.clone(),
            kind: self.context.kind.to_string(),
            version: self.context.program.version.clone(),
            root: within.map(|path| format!("./{}", path.display())).unwrap_or_default(),
            state,
            assumed_ready: up.is_some_and(|up| up.readiness.assumed(Instant::now())),
            since_s: self.since.elapsed().as_secs(),
            pid: None,
            memory_bytes: None,
            restarts: self.restarts,
            open_documents: up.map(|up| up.documents.len()).unwrap_or(0),
            pending: up.map(|up| up.client.pending()).unwrap_or(0),
            unused_s: self.last_used.elapsed().as_secs(),
            stderr,
        }
    }
}
