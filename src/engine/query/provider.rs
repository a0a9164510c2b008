//! A language server that takes part in a query, and the languages for which it is only a fallback.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use actix::Addr;

use crate::admission::request_turns::ServerTurns;
use crate::query::refused_methods::RefusedMethods;
use crate::server::actor::LanguageServer;
use crate::server::registry::IndexedRegistry;
use crate::status::project_cell::ProjectCell;
use crate::status::state_watch;
use codeyard_base::ids::ServerKind;
use codeyard_lsp::registry::ServerSpec;
use codeyard_telemetry::Metrics;

/// A language server that takes part in a query.
#[derive(Clone)]
pub struct Provider {
    /// Its kind.
    pub kind: ServerKind,
    /// Its actor.
    pub server: Addr<LanguageServer>,
    /// Its registry entry.
    pub spec: Arc<ServerSpec>,
    /// Maps files to languages.
    pub servers: Arc<IndexedRegistry>,
    /// Its state.
    pub state: state_watch::Receiver,
    /// Its turns among all servers.
    pub turns: ServerTurns,
    /// The methods that it doesn't support.
    pub refused: RefusedMethods,
    /// Whether the work that it takes part in has begun, and isn't refused any more.
    pub begun: Arc<AtomicBool>,
    /// Counts the requests that its server doesn't get.
    pub metrics: Arc<dyn Metrics>,
    /// Whether it is a linter: it adds diagnostics to those of a main server.
    pub is_linter: bool,
    /// Whether it is asked about a document of another server's language: its answer adds to that server's.
    pub is_companion: bool,
    /// The languages for which it is only a fallback; `None`: it is not a fallback.
    pub fallback_for: Option<Arc<FallbackFor>>,
    /// The projects of it that the query is about, and how many of their files it knows.
    pub projects: ProviderProjects,
}

/// The projects of a provider that a query is about.
#[derive(Clone, Default)]
pub struct ProviderProjects {
    /// All its projects.
    pub cell: ProjectCell,
    /// The roots of those that the plan of the query names.
    pub roots: Arc<BTreeSet<PathBuf>>,
    /// The roots of those that the query is about; `None`: all of them.
    pub asked: Option<Arc<BTreeSet<PathBuf>>>,
}

impl Provider {
    /// Whether it is a main server of the query's languages: neither linter nor fallback nor companion.
    pub(crate) fn is_main(&self) -> bool {
        !self.is_linter && !self.is_companion && self.fallback_for.is_none()
    }

    /// The languages that it answers as a fallback, which finds symbols by name.
    pub fn by_name(&self) -> impl Iterator<Item = String> + '_ {
        self.fallback_for.iter().flat_map(|fallback_for| fallback_for.languages.iter().cloned())
    }
}

/// The languages that a fallback answers for.
pub struct FallbackFor {
    /// Language ids.
    pub languages: BTreeSet<String>,
    /// Maps files to languages.
    pub servers: Arc<IndexedRegistry>,
}

impl FallbackFor {
    /// Whether the file with this URI is in one of the languages.
    pub(crate) fn has_language_of(&self, uri: &str) -> bool {
        // The file name decides the language, and it is the end of a URI as of a path.
        let language = self.servers.index.language_of(Path::new(uri));
        language.is_some_and(|language| self.languages.contains(language))
    }
}
