//! The registry of language servers, indexed for lookups by kind and by file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use codeyard_lsp::registry::{LanguageIndex, Registry, ServerSpec};

/// The registry with its indexes.
pub struct IndexedRegistry {
    /// All entries.
    pub registry: Arc<Registry>,
    /// Languages by file.
    pub index: LanguageIndex,
    /// Entries by kind, shared.
    pub by_kind: Arc<HashMap<String, Arc<ServerSpec>>>,
}

impl IndexedRegistry {
    /// Indexes `registry`.
    pub fn new(registry: Registry) -> Self {
        let index = LanguageIndex::new(&registry);
        let by_kind = registry.servers.iter().map(|(kind, server)| (kind.clone(), Arc::new(server.clone())));
        Self { index, by_kind: Arc::new(by_kind.collect()), registry: Arc::new(registry) }
    }

    /// The same registry for a workspace, which has scripts of its own.
    pub fn for_workspace(&self) -> Self {
        Self { registry: self.registry.clone(), index: self.index.without_scripts(), by_kind: self.by_kind.clone() }
    }

    /// Whether this file has one of the server's languages.
    pub fn serves(&self, server: &ServerSpec, path: &Path) -> bool {
        self.index.serves(server, path)
    }

    /// Whether some server could serve this file.
    pub fn is_source(&self, path: &Path) -> bool {
        self.index.language_of(path).is_some()
    }

    /// Whether this file is a script that is kept open at the server.
    pub fn is_opened_script(&self, server: &ServerSpec, path: &Path) -> bool {
        server.opens_scripts() && self.index.is_script(path) && self.serves(server, path)
    }

    /// Whether there may be scripts that are kept open at the server.
    pub fn may_open_scripts(&self, server: &ServerSpec) -> bool {
        let has_interpreters =
            |id: &String| self.registry.languages.get(id).is_some_and(|language| !language.interpreters.is_empty());
        server.opens_scripts() && server.languages.iter().any(has_interpreters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_index::Language;

    /// Extensions that the index has no grammar for, and those that it knows as another language.
    const ONLY_OF_SERVERS: [&str; 1] = ["lhs"];

    /// The language of the index that the registry gives a file with this name and text.
    fn registered(index: &LanguageIndex, name: &str, text: &str) -> Option<Language> {
        let path = Path::new("/w").join(name);
        index.note(&path, text.as_bytes());
        Language::by_name(index.language_of(&path)?)
    }

    #[test]
    fn servers_and_the_code_index_agree_on_the_files_of_script_languages() {
        let index = LanguageIndex::new(&Registry::builtin());
        let with_scripts = |language: &&Language| !language.interpreters().is_empty();
        for language in Language::ALL.iter().filter(with_scripts) {
            let names = language.file_names().iter().map(|name| (*name).to_owned());
            for name in names.chain(language.extensions().iter().map(|extension| format!("x.{extension}"))) {
                assert_eq!(registered(&index, &name, ""), Some(*language), "{name}");
            }
            for program in language.interpreters() {
                assert_eq!(registered(&index, "run", &format!("#!/bin/{program}\n")), Some(*language), "{program}");
            }
        }
    }

    #[test]
    fn the_code_index_knows_the_scripts_of_servers() {
        let registry = Registry::builtin();
        let indexed = |id: &String| Language::by_name(id).filter(|language| !language.interpreters().is_empty());
        for (id, spec) in &registry.languages {
            let Some(language) = indexed(id) else { continue };
            let extensions = spec.extensions.iter().filter(|extension| !ONLY_OF_SERVERS.contains(&extension.as_str()));
            let names = spec.file_names.iter().map(|name| name.replace('*', "x"));
            for name in names.chain(extensions.map(|extension| format!("x.{extension}"))) {
                assert_eq!(Language::of_file(&name, b""), Some(language), "{name}");
            }
            for program in &spec.interpreters {
                let line = format!("#!/usr/bin/env {program}\n");
                assert_eq!(Language::of_file("run", line.as_bytes()), Some(language), "{program}");
            }
        }
    }
}
