//! The operations: one file for each, from the request to the canonical result.
//!
//! A file implements [`LspRequest`](crate::server::request::LspRequest) for the request to a language server, and [`QueryOperation`] or
//! [`ToolOperation`](tool_operation::ToolOperation) for the answers. [`dispatch`] is the only place that matches on queries; a query
//! without an operation doesn't compile. Invariant: canonicalising is pure except for the gate; the order in which a
//! server lists its entries doesn't change the result.

mod call_hierarchy;
mod declarations;
pub(crate) mod definition;
pub(crate) mod document_diagnostics;
mod document_position;
mod document_symbols;
mod hover;
mod implementation;
mod incoming_calls;
mod outgoing_calls;
mod prepare_call_hierarchy;
pub(crate) mod references;
mod tool_operation;
mod workspace_diagnostics;
mod workspace_symbols;

use std::sync::Arc;

use self::document_position::DocumentPosition;
use self::tool_operation::ToolQuery;
use crate::query::query_operation::{OperationHandler, QueryOperation};
use crate::server::document::DocumentInput;
use crate::server::request::ServerRequest;
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;

/// Passes the operation of `query` to `handler`. `None`: the code index answers the query, or its document is missing.
pub(crate) fn dispatch<H: OperationHandler>(
    query: &GatedQuery,
    document: Option<DocumentInput>,
    handler: H,
) -> Option<H::Output> {
    Some(match query {
        Query::Definition { position, .. } => handler.handle(definition::Definition::new(document?, *position)),
        Query::References { position, include_declaration, .. } => {
            handler.handle(references::References::new(document?, *position, *include_declaration))
        }
        Query::Hover { position, .. } => handler.handle(hover::Hover::new(document?, *position)),
        Query::DocumentSymbols { .. } => handler.handle(document_symbols::DocumentSymbols::new(document?)),
        Query::WorkspaceSymbols { query, .. } => {
            handler.handle(workspace_symbols::WorkspaceSymbols::new(query.as_str()))
        }
        Query::DocumentDiagnostics { .. } => handler.handle(document_diagnostics::DocumentDiagnostics::new(document?)),
        Query::WorkspaceDiagnostics { .. } => handler.handle(workspace_diagnostics::WorkspaceDiagnostics::new()),
        Query::Declarations { .. } => handler.handle(declarations::Declarations::new(document?)),
        Query::Lsp(query) => return dispatch_tool(query, document, handler),
        Query::Code(_) | Query::Launch(_) => return None,
    })
}

/// Passes the operation of a query of the tool `lsp` to `handler`; `None` as in [`dispatch`].
fn dispatch_tool<H: OperationHandler>(
    query: &LspQuery<CanonicalUri>,
    document: Option<DocumentInput>,
    handler: H,
) -> Option<H::Output> {
    let at = |document: Option<DocumentInput>| Some(DocumentPosition::new(document?, query.subject.position()?));
    Some(match query.operation {
        Operation::GoToDefinition => {
            handler.handle(ToolQuery::new(query, definition::GoToDefinition::new(at(document)?)))
        }
        Operation::FindReferences => {
            handler.handle(ToolQuery::new(query, references::FindReferences::new(at(document)?)))
        }
        Operation::Hover => handler.handle(ToolQuery::new(query, hover::HoverText::new(at(document)?))),
        Operation::DocumentSymbol => handler.handle(ToolQuery::new(query, document_symbols::Outline::new(document?))),
        Operation::WorkspaceSymbol => {
            let QuerySubject::Name(name) = &query.subject else { return None };
            handler.handle(ToolQuery::new(query, workspace_symbols::SymbolsByName::new(name)))
        }
        Operation::GoToImplementation => {
            handler.handle(ToolQuery::new(query, implementation::GoToImplementation::new(at(document)?)))
        }
        Operation::PrepareCallHierarchy => {
            handler.handle(ToolQuery::new(query, prepare_call_hierarchy::PrepareCallHierarchy::new(at(document)?)))
        }
        Operation::IncomingCalls => {
            handler.handle(ToolQuery::new(query, incoming_calls::IncomingCalls::new(at(document)?)))
        }
        Operation::OutgoingCalls => {
            handler.handle(ToolQuery::new(query, outgoing_calls::OutgoingCalls::new(at(document)?)))
        }
    })
}

/// The first request that `query` sends to a language server; `None` as in [`dispatch`].
pub(crate) fn first_request(query: &GatedQuery, document: Option<DocumentInput>) -> Option<Arc<dyn ServerRequest>> {
    struct FirstRequest;

    impl OperationHandler for FirstRequest {
        type Output = Arc<dyn ServerRequest>;

        fn handle<O: QueryOperation>(self, operation: O) -> Self::Output {
            Arc::new(operation.request().clone())
        }
    }

    dispatch(query, document, FirstRequest)
}

#[cfg(test)]
mod tests;
