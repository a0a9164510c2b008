//! Modules that projects of one server import from each other without a shared environment.
//!
//! Each project is answered for alone, so the uses of its symbols in another project are missing from its answers. Invariant: a project is marked only if another one imports a module
//! that it offers and that the other neither holds nor has installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{DiskFiles, MarkerFiles, PYTHON_PACKAGE_FILES};

use super::environment::{self, VirtualEnvironment};
use super::{Tree, modules_of, search_paths};
use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::prepare::{PreparedProject, ProjectModules, ProjectRequest};

/// Number of projects that a sentence names.
const MAX_NAMED: usize = 2;

/// What a project that the server isn't started for offers and wants. Reads its files; blocks.
pub fn modules(request: &ProjectRequest<'_>) -> ProjectModules {
    let tree = Tree::new(request.root, request.files);
    let environment = VirtualEnvironment::read(environment::folder(request.root).as_deref(), request.top);
    modules_of(&tree, &search_paths(&tree, request), &environment)
}

/// Marks the projects whose modules other projects in `top` import: those of the server, and `others`.
pub fn mark_uses_in_other_projects(
    projects: &mut BTreeMap<PathBuf, PreparedProject>,
    others: &BTreeMap<PathBuf, ProjectModules>,
    top: &Path,
) {
    let mut importers: BTreeMap<PathBuf, (BTreeSet<PathBuf>, BTreeSet<String>)> = BTreeMap::new();
    let mut offers: BTreeMap<&String, Vec<&PathBuf>> = BTreeMap::new();
    for (root, project) in projects.iter() {
        project.modules.offered.iter().for_each(|name| offers.entry(name).or_default().push(root));
    }
    let own = projects.iter().map(|(root, project)| (root, &project.modules));
    for (importer, modules) in own.chain(others) {
        for name in &modules.wanted {
            for offering in offers.get(name).into_iter().flatten().filter(|offering| **offering != importer) {
                let (by, names) = importers.entry((*offering).clone()).or_default();
                by.insert(importer.clone());
                names.insert(name.clone());
            }
        }
    }
    for (root, (by, names)) in importers {
        let Some(project) = projects.get_mut(&root) else { continue };
        let remedy = install_command(by.iter().chain([&root]), top);
        project.info.unresolved.push(UnresolvedNames {
            what: format!("{} without an environment that they share", imported_by(&by, top)),
            count: names.len(),
            examples: names.into_iter().take(MAX_EXAMPLES).collect(),
            remedy,
            hides_uses: true,
        });
    }
}

/// "packages/a, packages/b and 2 other projects import them".
fn imported_by(projects: &BTreeSet<PathBuf>, top: &Path) -> String {
    let named: Vec<String> = projects.iter().take(MAX_NAMED).map(|project| relative(project, top)).collect();
    let named = named.join(", ");
    match projects.len() - projects.len().min(MAX_NAMED) {
        0 if projects.len() == 1 => format!("{named} imports them"),
        0 => format!("{named} import them"),
        more => format!("{named} and {more} more projects import them"),
    }
}

/// The command that makes an environment with all of these projects; `None` if one of them can't be installed.
fn install_command<'a>(projects: impl Iterator<Item = &'a PathBuf>, top: &Path) -> Option<String> {
    let mut command = "python -m venv .venv && .venv/bin/pip install".to_owned();
    let projects: BTreeSet<&PathBuf> = projects.collect();
    if projects.len() > MAX_EXAMPLES {
        return None;
    }
    for project in projects {
        if !PYTHON_PACKAGE_FILES.iter().any(|name| DiskFiles.exists(&project.join(name))) {
            return None;
        }
        command.push_str(&format!(" -e {}", relative(project, top)));
    }
    Some(command)
}

fn relative(project: &Path, top: &Path) -> String {
    match project.strip_prefix(top) {
        Ok(path) if path.as_os_str().is_empty() => ".".into(),
        Ok(path) => path.display().to_string(),
        Err(_) => project.display().to_string(),
    }
}
