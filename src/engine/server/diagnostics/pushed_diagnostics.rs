//! Diagnostics that a server pushes. They are decoded and their file passes the path gate on the blocking pool; then the session records
//! them.
//!
//! Invariants: pushes are recorded in the order in which they came; one whose file can't be checked in time counts as a lost event.

use actix::prelude::*;
use serde_json::value::RawValue;

use crate::limits;
use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;
use crate::server::diagnostics::diagnostics_budget::DropReason;
use crate::server::session::{EventEffect, LiveServer};
use codeyard_base::clock::Instant;
use codeyard_lsp::convert;
use codeyard_model::diagnostic::RawDiagnostic;
use codeyard_model::uri::{CanonicalUri, UriAdmission};

/// Pushed diagnostics of a file inside the roots.
struct Push {
    uri: CanonicalUri,
    /// The version of the document that they are of.
    version: Option<i32>,
    /// The diagnostics, or why they aren't kept.
    diagnostics: Result<Vec<RawDiagnostic>, DropReason>,
}

impl Push {
    /// Decodes the parameters of `textDocument/publishDiagnostics`. `None`: they are malformed, or of no file inside the roots. Blocks.
    fn read(params: &RawValue, context: &ServerContext) -> Option<Self> {
        // The decoded list would be larger still.
        let is_too_large = params.get().len() > limits::MAX_FILE_DIAGNOSTICS_BYTES;
        let decoded = match is_too_large {
            true => convert::publish_target(params).map(|(uri, version)| (uri, version, Err(DropReason::FileTooLarge))),
            false => {
                convert::publish_diagnostics(params).map(|(file, version)| (file.uri, version, Ok(file.diagnostics)))
            }
        };
        let Ok((uri, version, diagnostics)) = decoded else {
            tracing::debug!(server = %context.kind, "language server pushed malformed diagnostics");
            return None;
        };
        match context.gate.admit(&uri) {
            UriAdmission::Inside(uri) => Some(Self { uri, version, diagnostics }),
            UriAdmission::Outside | UriAdmission::Missing => None,
        }
    }
}

impl LanguageServer {
    /// The server pushed diagnostics.
    pub(in crate::server) fn on_push(&mut self, params: Box<RawValue>, ctx: &mut Context<Self>) {
        let bytes = params.get().len();
        let read = move |context: &ServerContext| Push::read(&params, context);
        self.read_then(read, ctx, move |server, push, ctx| {
            server.context.diagnostics.freed(bytes);
            let Some(session) = &mut server.session else { return };
            let effect = match push {
                Some(push) => session.record_push(push),
                None => session.events_lost(),
            };
            server.take_effect(EventEffect { pushed: true, ..effect }, ctx);
        });
    }
}

impl LiveServer {
    fn record_push(&mut self, push: Option<Push>) -> EventEffect {
        let Some(Push { uri, version, diagnostics }) = push else { return EventEffect::default() };
        let readiness = self.pending_indexing.pushed(&uri, version);
        let diagnostics_changed = self.diagnostics.pushed(&uri, version, diagnostics, Instant::now());
        EventEffect { readiness, diagnostics_changed, ..EventEffect::default() }
    }
}
