//! The operations: one file for each, from the request to the canonical result.
//!
//! A file implements [`LspRequest`](crate::server::requests::request::LspRequest) for the request to a language server, and [`QueryOperation`] for the
//! answers: for the tool `lsp` (`ToolQuery`), and where a tool of `lsp-v1` has the operation too, for its rendering. [`dispatch`] is the only place that matches on queries; a query
//! without an operation doesn't compile. Invariant: canonicalising is pure except for the gate; the order in which a
//! server lists its entries doesn't change the result.

mod call_hierarchy;
pub(crate) mod definition;
pub(crate) mod document_diagnostics;
mod document_position;
mod document_symbols;
mod hover;
mod implementation;
mod incoming_calls;
mod one_request;
mod outgoing_calls;
mod prepare_call_hierarchy;
pub(crate) mod references;
mod tool_query;
mod workspace_diagnostics;
mod workspace_symbols;

use std::sync::Arc;

use self::call_hierarchy::PrepareRequest;
use self::definition::DefinitionRequest;
use self::document_diagnostics::DocumentDiagnosticsRequest;
use self::document_position::DocumentPosition;
use self::document_symbols::{DocumentSymbolsRequest, SymbolsTool};
use self::hover::HoverRequest;
use self::implementation::ImplementationRequest;
use self::incoming_calls::IncomingCalls;
use self::one_request::OneRequestOperation as OneRequest;
use self::outgoing_calls::OutgoingCalls;
use self::references::References;
use self::tool_query::ToolQuery;
use self::workspace_diagnostics::WorkspaceDiagnostics;
use self::workspace_symbols::WorkspaceSymbols;
use crate::query::gather::GatherPolicy;
use crate::query::query_operation::{OperationHandler, QueryOperation};
use crate::server::requests::request::ServerRequest;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::position::Position;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;

/// Passes the operation of `query` to `handler`, with the policy by which its providers are asked. `None`: the code index answers the query,
/// or its document is missing.
pub(crate) fn dispatch<H: OperationHandler>(
    query: &GatedQuery,
    document: Option<DocumentInput>,
    handler: H,
) -> Option<H::Output> {
    use GatherPolicy::{AllOrNone, EveryServer, First};
    let at = |document: DocumentInput, position: &Position| DocumentPosition::new(document, *position);
    Some(match query {
        Query::Definition { position, .. } => {
            handler.handle(First, OneRequest::new(DefinitionRequest(at(document?, position)), None))
        }
        Query::References { position, include_declaration, .. } => {
            handler.handle(First, References::new(at(document?, position), *include_declaration, None))
        }
        Query::Hover { position, .. } => {
            handler.handle(First, OneRequest::new(HoverRequest(at(document?, position)), None))
        }
        Query::DocumentSymbols { .. } => handler.handle(First, symbols(document?, SymbolsTool::LspV1)),
        Query::WorkspaceSymbols { query, .. } => handler.handle(EveryServer, WorkspaceSymbols::new(query, None)),
        Query::DocumentDiagnostics { .. } => {
            handler.handle(AllOrNone, OneRequest::new(DocumentDiagnosticsRequest(document?), ()))
        }
        Query::WorkspaceDiagnostics { .. } => handler.handle(EveryServer, WorkspaceDiagnostics::new()),
        Query::Declarations { .. } => handler.handle(First, symbols(document?, SymbolsTool::Confirmation)),
        Query::Lsp(query) => return dispatch_tool(query, document, handler),
        Query::Code(_) | Query::Launch(_) => return None,
    })
}

fn symbols(document: DocumentInput, tool: SymbolsTool) -> OneRequest<DocumentSymbolsRequest> {
    OneRequest::new(DocumentSymbolsRequest(document), tool)
}

/// Passes the operation of a query of the tool `lsp` to `handler`; `None` as in [`dispatch`].
fn dispatch_tool<H: OperationHandler>(
    query: &LspQuery<CanonicalUri>,
    document: Option<DocumentInput>,
    handler: H,
) -> Option<H::Output> {
    let policy = GatherPolicy::Tool(query.operation);
    let tool = ToolQuery(query.clone());
    let at = |document: Option<DocumentInput>| Some(DocumentPosition::new(document?, query.subject.position()?));
    Some(match query.operation {
        Operation::GoToDefinition => {
            handler.handle(policy, OneRequest::new(DefinitionRequest(at(document)?), Some(tool)))
        }
        Operation::FindReferences => handler.handle(policy, References::new(at(document)?, true, Some(tool))),
        Operation::Hover => handler.handle(policy, OneRequest::new(HoverRequest(at(document)?), Some(tool))),
        Operation::DocumentSymbol => handler.handle(policy, symbols(document?, SymbolsTool::Lsp(tool))),
        Operation::WorkspaceSymbol => {
            let QuerySubject::Name(name) = &query.subject else { return None };
            handler.handle(policy, WorkspaceSymbols::new(name, Some(tool)))
        }
        Operation::GoToImplementation => {
            handler.handle(policy, OneRequest::new(ImplementationRequest(at(document)?), tool))
        }
        Operation::PrepareCallHierarchy => handler.handle(policy, OneRequest::new(PrepareRequest(at(document)?), tool)),
        Operation::IncomingCalls => handler.handle(policy, IncomingCalls::new(at(document)?, tool)),
        Operation::OutgoingCalls => handler.handle(policy, OutgoingCalls::new(at(document)?, tool)),
    })
}

/// The first request that `query` sends to a language server; `None` as in [`dispatch`].
pub(crate) fn first_request(query: &GatedQuery, document: Option<DocumentInput>) -> Option<Arc<dyn ServerRequest>> {
    struct FirstRequest;

    impl OperationHandler for FirstRequest {
        type Output = Arc<dyn ServerRequest>;

        fn handle<O: QueryOperation>(self, _policy: GatherPolicy, operation: O) -> Self::Output {
            Arc::new(operation.request().clone())
        }
    }

    dispatch(query, document, FirstRequest)
}

#[cfg(test)]
mod tests;
