//! Which files a specifier leads to, and which files have specifiers that may lead to a module.
//!
//! A relative specifier that only one listed file can answer is decided by the names of the files, everything else by the server. Files of
//! TypeScript are special: `require` has no type there, and the server knows no definition of its specifier. There the names decide, also
//! of packages of the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::linker::Linker;
use super::sources::{self, LinkedFile, is_javascript};
use super::specifiers;
use crate::asked_server::AskedServer;
use codeyard_ecosystems::npm::{MANIFEST, PackageJson, split_package};
use codeyard_files::gate::Gate;
use codeyard_index::commonjs::NamePlace;

/// The files that may require or export from a module.
#[derive(Default)]
pub(super) struct ModuleDependents {
    /// The last parts of specifiers that may lead to the module.
    pub(super) words: Vec<String>,
    pub(super) files: Vec<PathBuf>,
}

impl<S: AskedServer> Linker<S> {
    /// The files that a specifier leads to.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn resolve(
        &mut self,
        file: &LinkedFile,
        specifier: &NamePlace,
    ) -> Result<Vec<PathBuf>, S::Failure> {
        let key = (file.document.source.uri.to_path(), specifier.range.start);
        if let Some(known) = self.resolved.get(&key) {
            return Ok(known.clone());
        }
        let mut named = self.named(&key.0, &specifier.name);
        let modules = if named.len() == 1 && !self.is_package(&named).await {
            named
        } else {
            let found = self.server.definition(&file.document, specifier.range.start).await?;
            let mut modules: Vec<PathBuf> = self.admitted(&found).await.into_iter().map(|(path, _)| path).collect();
            if found.is_empty() && !is_javascript(&key.0) {
                if named.is_empty() {
                    named = self.in_package(&specifier.name).await;
                }
                modules = named;
            }
            let described = modules.iter().filter_map(|module| specifiers::javascript_of(module)).collect();
            modules.extend(self.existing(described).await);
            modules.sort();
            modules.dedup();
            modules
        };
        self.resolved.insert(key, modules.clone());
        Ok(modules)
    }

    /// Whether a specifier leads to a module. The server is asked only if the names of the files leave it open.
    ///
    /// # Errors
    /// As of any request to the server.
    pub(super) async fn leads_to(
        &mut self,
        file: &LinkedFile,
        specifier: &NamePlace,
        module: &Path,
        dependents: &ModuleDependents,
    ) -> Result<bool, S::Failure> {
        if !specifiers::may_lead_to(&specifier.name, &dependents.words) {
            return Ok(false);
        }
        let from = file.document.source.uri.to_path();
        let is_possible = match sources::relative_candidates(&from, &specifier.name) {
            Some(candidates) => {
                let folder = candidates.last().and_then(|index| index.parent()).filter(|at| module.starts_with(at));
                let is_named = candidates.iter().any(|candidate| candidate == module);
                match folder.filter(|_| !is_named) {
                    Some(folder) => self.is_main(folder, module).await,
                    None => is_named,
                }
            }
            None => !specifiers::is_of_node(&specifier.name),
        };
        Ok(is_possible && self.resolve(file, specifier).await?.iter().any(|path| path == module))
    }

    /// Whether the manifest of a folder may name the module as its main one.
    async fn is_main(&mut self, folder: &Path, module: &Path) -> bool {
        if !self.mains.contains_key(folder) {
            let of = folder.to_path_buf();
            let read = move |gate: &Gate| specifiers::candidates_in(&of, specifiers::manifest(gate, &of)?.main()?);
            let candidates = self.server.gate().run(read).await.unwrap_or_default();
            self.mains.insert(folder.to_path_buf(), candidates);
        }
        self.mains.get(folder).into_iter().flatten().flatten().any(|candidate| candidate == module)
    }

    /// The listed files that a relative specifier may name.
    fn named(&self, from: &Path, specifier: &str) -> Vec<PathBuf> {
        let candidates = sources::relative_candidates(from, specifier).unwrap_or_default();
        let listed: BTreeSet<PathBuf> = candidates.into_iter().filter(|path| self.words.lists(path)).collect();
        listed.into_iter().collect()
    }

    /// Whether a file is the index of a folder whose `package.json` may name another one, or describes another file.
    async fn is_package(&self, named: &[PathBuf]) -> bool {
        if named.iter().any(|path| specifiers::javascript_of(path).is_some()) {
            return true;
        }
        let is_index =
            |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("index"));
        let manifests = named.iter().filter(is_index).map(|path| path.with_file_name(MANIFEST));
        !self.existing(manifests.collect()).await.is_empty()
    }

    /// The files among these that are inside the roots.
    async fn existing(&self, mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
        if paths.is_empty() {
            return paths;
        }
        let check = move |gate: &Gate| {
            paths.retain(|path| gate.path(path).is_ok());
            paths
        };
        self.server.gate().run(check).await.unwrap_or_default()
    }

    /// The module of a package of the tree, if its manifest leaves no choice.
    async fn in_package(&mut self, specifier: &str) -> Vec<PathBuf> {
        if self.packages.is_none() {
            let words = self.words.clone();
            let read = move |gate: &Gate| {
                let mut packages: BTreeMap<String, PathBuf> = BTreeMap::new();
                for folder in words.folders() {
                    let manifest = specifiers::manifest(gate, &folder);
                    if let Some(name) = manifest.as_ref().and_then(PackageJson::name) {
                        packages.entry(name.to_owned()).or_insert(folder);
                    }
                }
                packages
            };
            self.packages = Some(self.server.gate().run(read).await.unwrap_or_default());
        }
        let Some((name, rest)) = split_package(specifier) else { return vec![] };
        let Some(folder) = self.packages.iter().flatten().find(|(known, _)| *known == name).map(|(_, folder)| folder)
        else {
            return vec![];
        };
        let of = folder.clone();
        let rest = rest.to_owned();
        let words = self.words.clone();
        let read = move |gate: &Gate| {
            let manifest = specifiers::manifest(gate, &of).unwrap_or_default();
            let places = manifest.plain_targets(&rest).into_iter();
            // A manifest may name millions of targets: only what exists is kept.
            let candidates = places.filter_map(|place| specifiers::candidates_in(&of, place)).flatten();
            candidates.filter(|path| words.lists(path)).collect::<BTreeSet<PathBuf>>()
        };
        let found = self.server.gate().run(read).await.unwrap_or_default();
        if found.len() == 1 { found.into_iter().collect() } else { vec![] }
    }

    /// The files that may require or export from a module, except for itself.
    pub(super) async fn dependents(&mut self, module: &Path) -> Arc<ModuleDependents> {
        if let Some(known) = self.dependents_of.get(module) {
            return known.clone();
        }
        let all = self.words.clone();
        let of = module.to_path_buf();
        let find = move |gate: &Gate| {
            let words = specifiers::words(gate, &of);
            let files = all.files(|path, text| {
                path != of
                    && (text.may_have("require") || text.may_have("export") && text.may_have("from"))
                    && words.iter().any(|word| text.may_end_specifier(word))
            });
            ModuleDependents { words, files }
        };
        let found = Arc::new(self.server.gate().run(find).await.unwrap_or_default());
        self.dependents_of.insert(module.into(), found.clone());
        found
    }
}
