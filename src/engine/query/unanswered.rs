//! What an execution does about servers that gave no answer: which of them are named, what could answer instead, and what a linter is missing.
//!
//! It sends nothing to a server. Invariant: a server whose files may hold entries of the answer is always named.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::query::execution::Execution;
use crate::query::missing_servers::{self, NameSearch};
use crate::query::{fallback, gather};
use crate::status::server_state::{UNSUPPORTED, Unavailable};
use codeyard_base::ids::ServerKind;
use codeyard_lsp::registry::ServerRole;
use codeyard_model::coverage::ServerCoverage;
use codeyard_model::error::ToolError;
use codeyard_model::operation::{LspQuery, QuerySubject};
use codeyard_model::query::Query;

impl Execution {
    /// What a linter knows whose library the project lacks.
    pub(super) fn unlinted(&self, language: &str, why: &Unavailable) -> Arc<ServerCoverage> {
        Arc::new(ServerCoverage {
            languages: self.servers.registry.language_name(language),
            files: if self.document.is_some() { 1 } else { self.source_files.max(1) },
            reason: why.message.clone(),
            remedy: Some(format!("run `{}`", why.command)),
            ..ServerCoverage::of_no_files(ServerKind::new(&why.kind))
        })
    }

    /// Whether a server turned out not to support the method, and a fallback that wasn't asked can answer in its place.
    pub(super) fn needs_fallback(&self, method: &str) -> bool {
        let has_asked = self.providers.iter().any(|provider| provider.fallback_for.is_some());
        let refusing = || fallback::refusing(&self.providers, &self.query, method);
        self.has_fallbacks && !has_asked && !refusing().is_empty()
    }

    /// The kinds of missing servers whose files don't have the name that is searched.
    pub(super) async fn irrelevant_servers(&self) -> BTreeSet<String> {
        let Query::Lsp(LspQuery { subject: QuerySubject::Name(name), .. }) = &*self.query else {
            return BTreeSet::new();
        };
        let until = gather::linter_cutoff(self.callers.deadline());
        let search = NameSearch { gate: &self.gate, servers: &self.servers, slot: &self.slot, until };
        search.irrelevant(&self.unavailable, name).await
    }

    /// Whether a search of symbols needn't name a missing server: its files don't have the name, or a fallback has searched them.
    pub(super) fn is_needless(
        &self,
        why: &Unavailable,
        irrelevant: &BTreeSet<String>,
        by_name: &BTreeSet<String>,
    ) -> bool {
        let is_search = gather::is_symbol_search(&self.query) && missing_servers::is_missing(why);
        let is_covered = || {
            let server = self.servers.registry.servers.get(&why.kind);
            server.is_some_and(|server| server.languages.iter().all(|language| by_name.contains(language)))
        };
        is_search && (irrelevant.contains(&why.kind) || is_covered())
    }

    /// Adds to an error about an unsupported method the servers of the language that support it.
    pub(super) fn with_alternatives(&self, error: ToolError, method: &str) -> ToolError {
        let unsupported = error.details.get("reason").is_some_and(|reason| reason == UNSUPPORTED);
        let Some(document) = self.document.as_ref().filter(|_| unsupported) else { return error };
        let registry = &self.servers.registry;
        let offers = |kind: &&str| {
            let server = &registry.servers[*kind];
            // The embedded server can't be installed; it was asked where it may answer.
            server.role != ServerRole::Fallback && server.offers.iter().any(|offered| offered == method)
        };
        let all = registry.servers_for(document.language.as_str());
        let offered: Vec<&str> = all.into_iter().filter(offers).collect();
        match offered.first() {
            Some(first) => {
                error.with("command", format!("codeyard servers install {first}")).with("offeredBy", offered)
            }
            None => error.with("offeredBy", offered),
        }
    }
}
