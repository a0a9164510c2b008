//! `textDocument/diagnostic`, or the push that follows a sync: the diagnostics of a file.

use serde_json::value::RawValue;

use super::one_request::OneRequest;
use crate::query::canonicalise::context::CanonicalContext;
use crate::server::requests::request::{Exchange, LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError, DocumentDiagnosticReport};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, DocumentDiagnosticParams};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::ToolError;
use codeyard_model::uri::UriAdmission;
use codeyard_paging::CanonicalResult;

/// `textDocument/diagnostic`, or the push that follows a sync.
#[derive(Debug, Clone)]
pub(crate) struct DocumentDiagnosticsRequest(pub(crate) DocumentInput);

impl LspRequest for DocumentDiagnosticsRequest {
    const METHOD: &'static str = methods::DOCUMENT_DIAGNOSTIC;
    const EXCHANGE: Exchange = Exchange::DocumentDiagnostics;
    type Params<'a> = DocumentDiagnosticParams<'a>;
    type Reply = Vec<RawFileDiagnostics>;

    fn document(&self) -> Option<&DocumentInput> {
        Some(&self.0)
    }

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<DocumentDiagnosticParams<'a>> {
        Some(methods::document_diagnostic(self.0.source.uri.as_str(), session.diagnostics_identifier, None))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        let diagnostics = match convert::document_diagnostic_report(reply)? {
            DocumentDiagnosticReport::Full { items, .. } => items,
            DocumentDiagnosticReport::Unchanged { .. } => vec![],
        };
        Ok(vec![RawFileDiagnostics { uri: self.0.source.uri.text(), diagnostics }])
    }

    fn from_push(file: RawFileDiagnostics) -> Option<Self::Reply> {
        Some(vec![file])
    }

    fn reported_files(reply: &Self::Reply) -> &[RawFileDiagnostics] {
        reply
    }
}

/// The tool `vscode.lsp.diagnostics.document`.
impl OneRequest for DocumentDiagnosticsRequest {
    type Tool = ();

    fn result(
        &self,
        (): &(),
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let uri = &self.0.source.uri;
        let is_own =
            |file: &RawFileDiagnostics| matches!(context.gate.admit(&file.uri), UriAdmission::Inside(of) if of == *uri);
        let files: Vec<_> = replies.into_iter().flatten().filter(is_own).collect();
        let cleaned = files.into_iter().flat_map(|file| context.cleaned(file).diagnostics);
        let list = codeyard_canon::diagnostics(uri, cleaned.collect());
        let max = context.limits.max_items_nonpaged;
        Ok(CanonicalResult::document_diagnostics(uri.clone(), list, context.take_notes(), max))
    }
}
