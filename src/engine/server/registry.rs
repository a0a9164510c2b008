//! The registry of language servers, indexed for lookups by kind and by file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use codeyard_lsp::registry::{LanguageIndex, Registry, ServerSpec};

/// The registry with its indexes.
pub struct IndexedRegistry {
    /// All entries.
    pub registry: Registry,
    /// Languages by file name.
    pub index: LanguageIndex,
    /// Entries by kind, shared.
    pub by_kind: HashMap<String, Arc<ServerSpec>>,
}

impl IndexedRegistry {
    /// Indexes `registry`.
    pub fn new(registry: Registry) -> Self {
        let index = LanguageIndex::new(&registry);
        let by_kind = registry.servers.iter().map(|(kind, server)| (kind.clone(), Arc::new(server.clone())));
        Self { index, by_kind: by_kind.collect(), registry }
    }

    /// Whether this file has one of the server's languages.
    pub fn serves(&self, server: &ServerSpec, path: &Path) -> bool {
        self.index.serves(server, path)
    }

    /// Whether some server could serve this file.
    pub fn is_source(&self, path: &Path) -> bool {
        self.index.language_of(path).is_some()
    }
}
