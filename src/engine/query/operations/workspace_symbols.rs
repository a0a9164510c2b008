//! `workspace/symbol`: symbols of the whole workspace by name.

use serde_json::value::RawValue;

use super::tool_operation::ToolOperation;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::query::query_operation::{ProviderRule, QueryOperation};
use crate::server::request::{LspRequest, SessionView};
use codeyard_canon::Canonical;
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::methods::{self, WorkspaceSymbolParams};
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS_PAGED;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::symbol::{RawWorkspaceSymbol, WorkspaceSymbol};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;

/// `workspace/symbol`.
#[derive(Debug, Clone)]
pub(super) struct WorkspaceSymbolsRequest {
    name: String,
}

impl LspRequest for WorkspaceSymbolsRequest {
    const METHOD: &'static str = methods::WORKSPACE_SYMBOL;
    type Params<'a> = WorkspaceSymbolParams<'a>;
    type Reply = Vec<RawWorkspaceSymbol>;

    fn params<'a>(&'a self, _session: &'a SessionView<'_>) -> Option<WorkspaceSymbolParams<'a>> {
        Some(methods::workspace_symbols(&self.name))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::workspace_symbols(reply)
    }

    fn retain_files(reply: &mut Self::Reply, is_kept: &dyn Fn(&str) -> bool) {
        reply.retain(|symbol| is_kept(&symbol.uri));
    }
}

impl WorkspaceSymbolsRequest {
    /// The symbols of `provider`, as they are now.
    async fn ask(
        &self,
        provider: &Provider,
        context: RequestContext<'_>,
    ) -> Result<Vec<RawWorkspaceSymbol>, ProviderFailure> {
        if provider.spec.quirks.caches_symbols {
            // No name ends like this, so it finds nothing; the server forgets its last answer.
            let other = Self { name: format!("{}\u{feff}", self.name) };
            provider_call::ask(provider, &other, context).await?;
        }
        provider_call::ask(provider, self, context).await
    }
}

/// The tool `vscode.lsp.workspaceSymbols`.
pub(super) struct WorkspaceSymbols {
    request: WorkspaceSymbolsRequest,
}

impl WorkspaceSymbols {
    pub(super) fn new(name: &str) -> Self {
        Self { request: WorkspaceSymbolsRequest { name: name.to_owned() } }
    }
}

impl QueryOperation for WorkspaceSymbols {
    type Request = WorkspaceSymbolsRequest;
    type Answer = Vec<RawWorkspaceSymbol>;
    type Canonical = Canonical<WorkspaceSymbol>;

    fn providers(&self) -> ProviderRule {
        ProviderRule::EveryServer
    }

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        self.request.ask(provider, context).await
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<Self::Canonical, ToolError> {
        let cap = context.limits.max_workspace_symbols_items_total;
        let list =
            codeyard_canon::workspace_symbols(answers.concat(), &mut context.recorder, MAX_RAW_ITEMS_PAGED, cap)?;
        context.check_names(names(list.items()))?;
        Ok(list)
    }

    fn result(&self, canonical: Self::Canonical, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError> {
        Ok(CanonicalResult::workspace_symbols(canonical, context.notes))
    }
}

/// The symbols' names, each with its file.
fn names(symbols: &[WorkspaceSymbol]) -> impl Iterator<Item = (&CanonicalUri, &str)> {
    symbols.iter().map(|symbol| (&symbol.location.uri, symbol.name.as_str()))
}

/// The operation `workspaceSymbol`: the best matches of a name first.
pub(super) struct SymbolsByName {
    request: WorkspaceSymbolsRequest,
}

impl SymbolsByName {
    pub(super) fn new(name: &str) -> Self {
        Self { request: WorkspaceSymbolsRequest { name: name.to_owned() } }
    }
}

impl ToolOperation for SymbolsByName {
    type Request = WorkspaceSymbolsRequest;
    type Answer = Vec<RawWorkspaceSymbol>;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        self.request.ask(provider, context).await
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<LspItems, ToolError> {
        let all = MAX_RAW_ITEMS_PAGED;
        let list = codeyard_canon::workspace_symbols(answers.concat(), &mut context.recorder, all, all)?;
        context.check_names(names(list.items()))?;
        // How many symbols outside the roots a server knows depends on what it was asked before, so they aren't counted.
        let max = context.limits.max_workspace_symbols_items_total;
        let (symbols, is_cut) = codeyard_canon::rank_symbols(list.into_items(), &self.request.name, max);
        context.notes.truncated |= is_cut;
        Ok(LspItems::Symbols(symbols))
    }

    fn is_capped(provider: &Provider, answer: &Self::Answer) -> bool {
        let max = provider.spec.quirks.symbols_max;
        max > 0 && answer.len() >= max
    }
}
