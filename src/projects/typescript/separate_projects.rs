//! The projects of a server that keeps one for each configuration and answers a question from one of them.
//!
//! A project has the files that its configuration lists and all that these import, so a module may be in several projects. The server answers
//! from that of the file of the question: uses in files of the others are missing. Invariants: a project is marked only if a file imports a module
//! that can be asked about in a project without that file; files that git ignores import nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_files::walk::is_ignored;
use codeyard_model::coverage::Hidden;

use super::components::is_script;
use super::projects::AssignedFiles;
use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::prepare::ProjectRequest;
use crate::shown::{named, relative};

/// By file, the files that it imports.
pub(super) type Imports<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// The projects, and which files they have.
pub(super) struct SeparateProjects<'a> {
    /// By file that a configuration lists, the nearest one, whose project answers questions in it.
    home: BTreeMap<&'a Path, &'a Path>,
    /// By file, the configurations of the projects that have it.
    holders: BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    /// The configurations of the projects that answer questions in components, which may be about any of their files.
    with_components: BTreeSet<&'a Path>,
}

impl<'a> SeparateProjects<'a> {
    /// `listed` has the files that each configuration lists.
    pub(super) fn new(
        assigned: [&'a AssignedFiles<'a>; 2],
        listed: &'a BTreeMap<PathBuf, Vec<&'a Path>>,
        imports: &Imports<'a>,
    ) -> Self {
        let mut all = Self { home: BTreeMap::new(), holders: BTreeMap::new(), with_components: BTreeSet::new() };
        for (configuration, files) in assigned.into_iter().flat_map(|one| &one.by_configuration) {
            all.home.extend(files.iter().map(|file| (*file, configuration.as_path())));
        }
        for (configuration, files) in listed {
            let mut waiting = files.clone();
            while let Some(file) = waiting.pop() {
                if all.holders.entry(file).or_default().insert(configuration) {
                    waiting.extend(imports.get(file).into_iter().flatten());
                }
            }
        }
        for (component, holders) in all.holders.iter().filter(|(file, _)| !is_script(file)) {
            match all.home.get(component) {
                Some(home) => drop(all.with_components.insert(home)),
                None => all.with_components.extend(holders),
            }
        }
        all
    }

    /// Whether any project has this file.
    pub(super) fn know(&self, file: &Path) -> bool {
        self.holders.contains_key(file)
    }

    /// The modules whose uses in files of other projects the server leaves out.
    pub(super) fn used_elsewhere(
        &self,
        imports: &Imports<'a>,
        request: &ProjectRequest<'_>,
    ) -> Option<UnresolvedNames> {
        let mut modules: BTreeSet<&Path> = BTreeSet::new();
        let mut importers: BTreeSet<PathBuf> = BTreeSet::new();
        for (importer, targets) in imports {
            let missed: Vec<&Path> =
                targets.iter().copied().filter(|module| self.is_missed(importer, module)).collect();
            if missed.is_empty() || is_ignored(request.top, importer) {
                continue;
            }
            modules.extend(missed);
            importers.insert(self.home.get(importer).unwrap_or(importer).to_path_buf());
        }
        let import = if importers.len() == 1 { "imports" } else { "import" };
        (!modules.is_empty()).then(|| UnresolvedNames {
            what: format!(
                "{} {import} them, and the server answers for each tsconfig.json alone",
                named(&importers, request.top)
            ),
            count: modules.len(),
            examples: modules.iter().take(MAX_EXAMPLES).map(|module| relative(module, request.top)).collect(),
            remedy: None,
            hides: Hidden::UsesElsewhere,
        })
    }

    /// Whether an answer about a module lacks its uses in a file that imports it. About a file of TypeScript another server answers first, and only
    /// the uses in components come from this one.
    fn is_missed(&self, importer: &Path, module: &Path) -> bool {
        let is_component = !is_script(importer);
        let home = self.home.get(module);
        let has_importer = |project: &Path| self.holders.get(importer).is_some_and(|all| all.contains(project));
        let answers = |project: &&&Path| {
            let is_asked_first = home.is_none_or(|home| home == *project);
            self.with_components.contains(**project) || is_component && is_asked_first
        };
        let holders = self.holders.get(module).into_iter().flatten();
        holders.filter(answers).any(|project| !has_importer(project))
    }
}
