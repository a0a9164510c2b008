//! Modules with a file for each platform, `Nav.ios.tsx` and `Nav.web.tsx`, which bundlers choose from by themselves.
//!
//! The inferred project follows an import to the first of these files that there is; a configuration does so only with `moduleSuffixes`. The uses of
//! the others are missing from answers, so such imports are counted. Imports are found by their text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_files::gate::normal;
use codeyard_model::coverage::Hidden;

use super::javascript_imports::read_specifiers;
use super::module_names::EXTENSIONS;
use super::projects::AssignedFiles;
use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::memory::ProjectMemory;

/// What stands between the name of a module and the extension of its file, in the order in which files are chosen.
pub(super) const SUFFIXES: [&str; 7] = [".native", ".ios", ".android", ".web", ".macos", ".windows", ""];

/// The modules that have such files, without suffix and extension, each with the number of its files.
#[derive(Debug, Default)]
pub(super) struct PlatformModules(BTreeMap<PathBuf, usize>);

impl PlatformModules {
    pub(super) fn of(files: &[PathBuf]) -> Self {
        let mut found: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for (module, suffix) in files.iter().filter_map(|file| split(file)) {
            if !suffix.is_empty() {
                *found.entry(module).or_default() += 1;
            }
        }
        for (module, _) in files.iter().filter_map(|file| split(file)).filter(|(_, suffix)| suffix.is_empty()) {
            found.entry(module).and_modify(|files| *files += 1);
        }
        Self(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The imports of such modules that don't lead to all their files; `None` if there are none.
    pub(super) fn unresolved(
        &self,
        assigned: &AssignedFiles<'_>,
        top: &Path,
        memory: &ProjectMemory,
    ) -> Option<UnresolvedNames> {
        if self.is_empty() {
            return None;
        }
        let listed = assigned.by_configuration.values().flatten().map(|file| (*file, true));
        let all = listed.chain(assigned.unassigned.iter().map(|file| (*file, false)));
        let mut modules: BTreeSet<&Path> = BTreeSet::new();
        memory.with_imports(|imports| {
            for (file, is_configured) in all {
                let specifiers = imports.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file, top));
                let folder = file.parent().unwrap_or(file);
                for specifier in specifiers.iter().filter(|specifier| specifier.starts_with('.')) {
                    let known = self.0.get_key_value(&normal(&folder.join(specifier)));
                    let known = known.filter(|(_, files)| **files > 1 || is_configured);
                    modules.extend(known.map(|(module, _)| module.as_path()));
                }
            }
        });
        let shown = |module: &&Path| module.strip_prefix(top).unwrap_or(module).display().to_string();
        (!modules.is_empty()).then(|| UnresolvedNames {
            what: "modules have several files, one for each platform, and imports are followed to one of them at most"
                .into(),
            count: modules.len(),
            examples: modules.iter().take(MAX_EXAMPLES).map(shown).collect(),
            remedy: None,
            hides: Hidden::Uses,
        })
    }
}

/// The module of a file, without the extension, and its suffix.
fn split(file: &Path) -> Option<(PathBuf, &'static str)> {
    let extension = file.extension()?.to_str().filter(|extension| EXTENSIONS.contains(extension))?;
    let name = file.file_name()?.to_str()?.strip_suffix(extension)?.strip_suffix('.')?;
    let named = SUFFIXES.into_iter().find_map(|suffix| Some((name.strip_suffix(suffix)?, suffix)));
    named.filter(|(stem, _)| !stem.is_empty()).map(|(stem, suffix)| (file.with_file_name(stem), suffix))
}
