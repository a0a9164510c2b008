//! `textDocument/references`: where the symbol at a position is used.

use futures::future::try_join;
use serde_json::value::RawValue;
use tokio::time::timeout_at;

use super::definition::{self, DefinitionRequest};
use super::document_position::DocumentPosition;
use super::tool_query::ToolQuery;
use crate::query::asked_provider::AskedProvider;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::gather::linter_cutoff;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_complete::commonjs::{self, AskedSymbol, LinkedReferences};
use codeyard_lsp::convert::{self, ConvertError, ReplyEntries};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, ReferenceParams};
use codeyard_model::coverage::UndecidedName;
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS_PAGED;
use codeyard_model::position::{Position, RawLocation};
use codeyard_paging::CanonicalResult;

/// `textDocument/references`.
#[derive(Debug, Clone)]
pub(crate) struct ReferencesRequest {
    at: DocumentPosition,
    include_declaration: bool,
}

/// The references at a position of a document that the server opens only if it `is_opened`.
pub(crate) fn at(
    document: DocumentInput,
    position: Position,
    include_declaration: bool,
    is_opened: bool,
) -> ReferencesRequest {
    let at = DocumentPosition { is_opened, ..DocumentPosition::new(document, position) };
    ReferencesRequest { at, include_declaration }
}

impl LspRequest for ReferencesRequest {
    const METHOD: &'static str = methods::REFERENCES;
    type Params<'a> = ReferenceParams<'a>;
    type Reply = Vec<RawLocation>;

    fn document(&self) -> Option<&DocumentInput> {
        self.at.opened()
    }

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<ReferenceParams<'a>> {
        let position = session.position(&self.at.document, self.at.position);
        Some(methods::references(self.at.document.source.uri.as_str(), position, self.include_declaration))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::references(reply)
    }
}

/// One provider's references, and where it says that the symbol is declared.
pub(super) struct FoundReferences {
    linked: LinkedReferences,
    declared: Declared,
}

/// The declarations of the symbol, which come first in the tool `lsp`.
enum Declared {
    /// At these places.
    At(Vec<RawLocation>),
    /// The server doesn't say, or wasn't asked.
    Unknown,
    /// The server hasn't answered in time.
    Late,
}

impl ReplyEntries for FoundReferences {
    fn entries(&self) -> usize {
        self.linked.entries()
    }
}

/// `findReferences`, which counts the declaration as a reference, and the tool `vscode.lsp.references`.
pub(super) struct References {
    request: ReferencesRequest,
    /// With the request for the declarations.
    tool: Option<(ToolQuery, DefinitionRequest)>,
}

impl References {
    pub(super) fn new(at: DocumentPosition, include_declaration: bool, tool: Option<ToolQuery>) -> Self {
        let definition = || definition::at(at.document.clone(), at.position, at.is_opened);
        let tool = tool.map(|query| (query, definition()));
        Self { request: ReferencesRequest { at, include_declaration }, tool }
    }

    /// The server's references and those through CommonJS.
    async fn linked(
        &self,
        provider: &Provider,
        context: RequestContext<'_>,
    ) -> Result<LinkedReferences, ProviderFailure> {
        let own = provider_call::ask(provider, &self.request, context).await?;
        let ReferencesRequest { at: DocumentPosition { document, position, .. }, include_declaration } = &self.request;
        let asked = AskedSymbol { document, position: *position, include_declaration: *include_declaration };
        commonjs::find(AskedProvider { provider, context }, asked, own).await
    }

    /// Where the symbol is declared. A failure is none of the call's.
    async fn declared(&self, provider: &Provider, context: RequestContext<'_>) -> Declared {
        let Some((_, definition)) = &self.tool else { return Declared::Unknown };
        let asked = provider_call::ask(provider, definition, context);
        match timeout_at(linter_cutoff(context.callers.deadline()), asked).await {
            Ok(Ok(places)) => Declared::At(places),
            Ok(Err(_)) => Declared::Unknown,
            Err(_) => Declared::Late,
        }
    }
}

impl QueryOperation for References {
    type Request = ReferencesRequest;
    type Answer = FoundReferences;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        let declared = async { Ok(self.declared(provider, context).await) };
        let (linked, declared) = try_join(self.linked(provider, context), declared).await?;
        Ok(FoundReferences { linked, declared })
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let mut declared = Vec::new();
        let mut locations = Vec::new();
        for answer in answers {
            if let Declared::At(places) = answer.declared {
                declared.extend(places);
            }
            locations.extend(answer.linked.locations);
        }
        let Some((query, _)) = &self.tool else {
            let cap = context.limits.max_references_items_total;
            let list = codeyard_canon::locations(locations, &mut context.recorder, MAX_RAW_ITEMS_PAGED, cap)?;
            return Ok(CanonicalResult::references(list, context.take_notes()));
        };
        context.declare(declared);
        let found = context.locations(vec![locations])?;
        Ok(query.result(found, context))
    }

    fn undecided(answer: &Self::Answer) -> Option<&UndecidedName> {
        answer.linked.undecided.as_ref()
    }

    fn is_late(answer: &Self::Answer) -> bool {
        matches!(answer.declared, Declared::Late)
    }
}
