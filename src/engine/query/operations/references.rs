//! `textDocument/references`: where the symbol at a position is used.

use futures::future::try_join;
use serde_json::value::RawValue;
use tokio::time::timeout_at;

use super::definition::{self, DefinitionRequest};
use super::document_position::DocumentPosition;
use super::tool_operation::ToolOperation;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::commonjs::{self, AskedSymbol, LinkedReferences};
use crate::query::gather::linter_cutoff;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::query::query_operation::{ProviderRule, QueryOperation};
use crate::server::document::DocumentInput;
use crate::server::request::{LspRequest, SessionView};
use codeyard_canon::Canonical;
use codeyard_lsp::convert::{self, ConvertError, ReplyEntries};
use codeyard_lsp::methods::{self, ReferenceParams};
use codeyard_model::coverage::UndecidedName;
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS_PAGED;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::position::{Location, Position, RawLocation};
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

impl ReferencesRequest {
    /// The server's references and those through CommonJS.
    async fn linked(
        &self,
        provider: &Provider,
        context: RequestContext<'_>,
    ) -> Result<LinkedReferences, ProviderFailure> {
        let own = provider_call::ask(provider, self, context).await?;
        let DocumentPosition { document, position, .. } = &self.at;
        let asked = AskedSymbol { document, position: *position, include_declaration: self.include_declaration };
        commonjs::find(provider, asked, own, context).await
    }
}

fn raw_locations(answers: Vec<LinkedReferences>) -> Vec<RawLocation> {
    answers.into_iter().flat_map(|answer| answer.locations).collect()
}

/// The tool `vscode.lsp.references`.
pub(super) struct References {
    request: ReferencesRequest,
}

impl References {
    pub(super) fn new(document: DocumentInput, position: Position, include_declaration: bool) -> Self {
        Self { request: ReferencesRequest { at: DocumentPosition::new(document, position), include_declaration } }
    }
}

impl QueryOperation for References {
    type Request = ReferencesRequest;
    type Answer = LinkedReferences;
    type Canonical = Canonical<Location>;

    fn providers(&self) -> ProviderRule {
        ProviderRule::First
    }

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        self.request.linked(provider, context).await
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<Self::Canonical, ToolError> {
        let cap = context.limits.max_references_items_total;
        codeyard_canon::locations(raw_locations(answers), &mut context.recorder, MAX_RAW_ITEMS_PAGED, cap)
    }

    fn undecided(answer: &Self::Answer) -> Option<&UndecidedName> {
        answer.undecided.as_ref()
    }

    fn result(&self, canonical: Self::Canonical, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError> {
        Ok(CanonicalResult::references(canonical, context.notes))
    }
}

/// One provider's references, and where it says that the symbol is declared.
pub(super) struct FoundReferences {
    pub(super) linked: LinkedReferences,
    pub(super) declared: Declared,
}

/// The declarations of the symbol, which come first.
pub(super) enum Declared {
    /// At these places.
    At(Vec<RawLocation>),
    /// The server doesn't say.
    Unknown,
    /// The server hasn't answered in time.
    Late,
}

impl ReplyEntries for FoundReferences {
    fn entries(&self) -> usize {
        self.linked.entries()
    }
}

/// The operation `findReferences`. The declaration counts as a reference.
pub(super) struct FindReferences {
    request: ReferencesRequest,
    definition: DefinitionRequest,
}

impl FindReferences {
    pub(super) fn new(at: DocumentPosition) -> Self {
        let definition = definition::at(at.document.clone(), at.position, at.is_opened);
        Self { request: ReferencesRequest { at, include_declaration: true }, definition }
    }

    /// Where the symbol is declared. A failure is none of the call's.
    async fn declared(&self, provider: &Provider, context: RequestContext<'_>) -> Declared {
        let asked = provider_call::ask(provider, &self.definition, context);
        match timeout_at(linter_cutoff(context.callers.deadline()), asked).await {
            Ok(Ok(places)) => Declared::At(places),
            Ok(Err(_)) => Declared::Unknown,
            Err(_) => Declared::Late,
        }
    }
}

impl ToolOperation for FindReferences {
    type Request = ReferencesRequest;
    type Answer = FoundReferences;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        let declared = async { Ok(self.declared(provider, context).await) };
        let (linked, declared) = try_join(self.request.linked(provider, context), declared).await?;
        Ok(FoundReferences { linked, declared })
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<LspItems, ToolError> {
        let mut declared = Vec::new();
        let mut linked = Vec::new();
        for answer in answers {
            if let Declared::At(places) = answer.declared {
                declared.extend(places);
            }
            linked.push(answer.linked);
        }
        context.declare(declared);
        context.locations(vec![raw_locations(linked)])
    }

    fn undecided(answer: &Self::Answer) -> Option<&UndecidedName> {
        answer.linked.undecided.as_ref()
    }

    fn is_late(answer: &Self::Answer) -> bool {
        matches!(answer.declared, Declared::Late)
    }
}
