//! A language server that takes part in a query, and the languages for which it is only a fallback.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use actix::Addr;

use crate::server::actor::LanguageServer;
use crate::server::registry::IndexedRegistry;
use crate::status::state_watch;
use codeyard_base::ids::ServerKind;
use codeyard_lsp::convert::RawAnswer;

/// A language server that takes part.
#[derive(Clone)]
pub struct Provider {
    /// Its kind.
    pub kind: ServerKind,
    /// Its actor.
    pub server: Addr<LanguageServer>,
    /// Its state.
    pub state: state_watch::Receiver,
    /// Whether it only adds to another one.
    pub is_linter: bool,
    /// The most symbols it names of a workspace; 0: all.
    pub symbols_max: usize,
    /// For whom it stands in; `None`: it is a language server of its own right.
    pub fallback_for: Option<Arc<FallbackFor>>,
}

impl Provider {
    /// For which languages it stands in.
    pub fn by_name(&self) -> impl Iterator<Item = String> + '_ {
        self.fallback_for.iter().flat_map(|fallback_for| fallback_for.languages.iter().cloned())
    }
}

/// For whom somebody stands in.
pub struct FallbackFor {
    /// Language ids.
    pub languages: BTreeSet<String>,
    /// Says of which language a file is.
    pub servers: Arc<IndexedRegistry>,
}

impl FallbackFor {
    /// Leaves out what is of other languages, where an answer may hold such.
    pub fn keep_own(&self, answer: &mut RawAnswer) {
        if let RawAnswer::WorkspaceSymbols(symbols) = answer {
            symbols.retain(|symbol| {
                // A file's language is told by its name, which stands at the end of a URI as of a path.
                let language = self.servers.index.language_of(Path::new(&*symbol.uri));
                language.is_some_and(|language| self.languages.contains(language))
            });
        }
    }
}
