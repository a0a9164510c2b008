//! `workspace/symbol`: symbols of the whole workspace by name.

use serde_json::value::RawValue;

use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::query::symbol_names;
use crate::server::requests::request::{LspRequest, SessionView};
use crate::status::server_state::{UNSUPPORTED, Unavailable};
use codeyard_complete::import_symbols::without_imports;
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::methods::{self, WorkspaceSymbolParams};
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS_PAGED;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::symbol::RawWorkspaceSymbol;
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
        let quirks = &provider.spec.quirks;
        if quirks.finds_no_symbols_named(&self.name) {
            let least = quirks.symbols_min_chars;
            let message =
                format!("{} finds no symbols by names of fewer than {least} characters", provider.kind.as_str());
            let why = Unavailable::new(provider.kind.as_str(), UNSUPPORTED, message, "codeyard doctor");
            return Err(ProviderFailure::Unavailable(why));
        }
        if quirks.caches_symbols {
            // No name ends like this, so it finds nothing; the server forgets its last answer.
            let other = Self { name: format!("{}\u{feff}", self.name) };
            provider_call::ask(provider, &other, context).await?;
        }
        let symbols = provider_call::ask(provider, self, context).await?;
        let symbols = match quirks.lists_imports {
            true => context.gate.run(move |gate| without_imports(gate, symbols)).await?,
            false => symbols,
        };
        Ok(match quirks.symbols_at_declaration {
            true => symbol_names::move_to_names(symbols, context.gate).await,
            false => symbols,
        })
    }
}

/// `workspaceSymbol`, the best matches of a name first, and the tool `vscode.lsp.workspaceSymbols`.
pub(super) struct WorkspaceSymbols {
    request: WorkspaceSymbolsRequest,
    tool: Option<ToolQuery>,
}

impl WorkspaceSymbols {
    pub(super) fn new(name: &str, tool: Option<ToolQuery>) -> Self {
        Self { request: WorkspaceSymbolsRequest { name: name.to_owned() }, tool }
    }
}

impl QueryOperation for WorkspaceSymbols {
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
    ) -> Result<CanonicalResult, ToolError> {
        let max = context.limits.max_workspace_symbols_items_total;
        let cap = if self.tool.is_some() { MAX_RAW_ITEMS_PAGED } else { max };
        let list =
            codeyard_canon::workspace_symbols(answers.concat(), &mut context.recorder, MAX_RAW_ITEMS_PAGED, cap)?;
        context.check_names(list.items().iter().map(|symbol| (&symbol.location.uri, symbol.name.as_str())))?;
        let Some(query) = &self.tool else { return Ok(CanonicalResult::workspace_symbols(list, context.take_notes())) };
        // How many symbols outside the roots a server knows depends on what it was asked before, so they aren't counted.
        let (symbols, is_cut) = codeyard_canon::rank_symbols(list.into_items(), &self.request.name, max);
        context.notes.truncated |= is_cut;
        Ok(query.result(LspItems::Symbols(symbols), context))
    }

    fn is_capped(provider: &Provider, answer: &Self::Answer) -> bool {
        let max = provider.spec.quirks.symbols_max;
        max > 0 && answer.len() >= max
    }
}
