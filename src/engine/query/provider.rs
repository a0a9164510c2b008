//! A language server that takes part in a query, and the languages for which it is only a fallback.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use actix::Addr;

use crate::server::actor::LanguageServer;
use crate::server::registry::IndexedRegistry;
use crate::status::state_watch;
use codeyard_base::ids::ServerKind;

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
    /// Whether the file with this URI is in one of the languages.
    pub(crate) fn has_language_of(&self, uri: &str) -> bool {
        // The name decides, and it ends a URI as it ends a path.
        let language = self.servers.index.language_of(Path::new(uri));
        language.is_some_and(|language| self.languages.contains(language))
    }
}
