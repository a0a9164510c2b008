//! Publishes the status of one language server for operators. Its standard error is for operators only and never part of an answer.

use crate::server::actor::LanguageServer;
use crate::server::child_key::ChildKey;
use crate::server::program::programs::Program;
use crate::status::memory_gate::MIB;
use crate::status::server_status::{ServerIdentity, ServerReport};
use codeyard_base::clock::Instant;
use codeyard_base::ids::{ServerKind, WorkspaceName};
use codeyard_lsp::registry::ServerSpec;
use codeyard_model::roots::RootSet;

/// What doesn't change in the status of the server with this key.
pub(crate) fn identity(
    workspace: &WorkspaceName,
    key: &ChildKey,
    program: &Program,
    spec: &ServerSpec,
    roots: &RootSet,
) -> ServerIdentity {
    let within = roots.root_of(&key.root).and_then(|of| key.root.strip_prefix(of).ok());
    ServerIdentity {
        workspace: workspace.clone(),
        id: key.id(),
        kind: ServerKind::new(&key.kind),
        version: program.version.clone(),
        root: within.map(|path| format!("./{}", path.display())).unwrap_or_default(),
        memory_limit: Some(spec.memory_limit_mib.saturating_mul(MIB)).filter(|limit| *limit > 0),
    }
}

impl LanguageServer {
    /// Publishes the current state. Called whenever a part of it has changed.
    pub(in crate::server) fn publish(&self) {
        let assumed_ready = self.is_assumed_ready();
        let state = self.state.borrow().clone();
        self.context.status.publish(ServerReport {
            state,
            since: self.since,
            assumed_ready,
            restarts: self.restarts,
            last_end: self.last_end,
        });
    }

    /// Whether it counts as ready only because what its readiness rule expects didn't come within the limit.
    pub(in crate::server) fn is_assumed_ready(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.readiness.assumed(Instant::now()))
    }

    /// Publishes the number of open documents.
    pub(in crate::server) fn publish_documents(&self) {
        let open = self.session.as_ref().map_or(0, |session| session.documents.len());
        self.context.status.set_open_documents(open);
    }
}
