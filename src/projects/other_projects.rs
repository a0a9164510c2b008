//! Modules that projects of one server take from each other, and that the server doesn't connect.
//!
//! Each project is answered for alone, so the uses of its symbols in another project are missing from its answers. Invariant: a project is marked only
//! if another one imports a module that it offers, or names it in its manifest, and neither holds it nor has it installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::go;
use codeyard_ecosystems::python::PACKAGE_FILES;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles, ProjectInference};
use codeyard_model::coverage::Hidden;

use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::prepare::{PreparedProject, ProjectModules, ProjectRequest};
use crate::shown::{named, relative};
use crate::{packages, python, typescript};

/// What a project that the server isn't started for offers and wants. Reads its files; blocks.
pub fn modules(request: &ProjectRequest<'_>) -> ProjectModules {
    match request.server.project {
        Some(inference @ (ProjectInference::GoModules | ProjectInference::CargoPackages)) => {
            packages::modules(request, inference)
        }
        Some(ProjectInference::TypescriptExternal | ProjectInference::TypescriptComponents) => {
            typescript::modules::of(request)
        }
        _ => python::modules(request),
    }
}

/// Marks the projects whose modules other projects in `top` import: those of the server, and `others`.
pub fn mark_uses_in_other_projects(
    projects: &mut BTreeMap<PathBuf, PreparedProject>,
    others: &BTreeMap<PathBuf, ProjectModules>,
    top: &Path,
    inference: ProjectInference,
) {
    let mut importers: BTreeMap<PathBuf, (BTreeSet<PathBuf>, BTreeSet<String>)> = BTreeMap::new();
    let mut offers: BTreeMap<&String, Vec<&PathBuf>> = BTreeMap::new();
    for (root, project) in projects.iter() {
        project.modules.offered.iter().for_each(|name| offers.entry(name).or_default().push(root));
    }
    let roots: BTreeSet<&PathBuf> = projects.keys().chain(others.keys()).collect();
    // A file belongs to the innermost project around it.
    let holder = |path: &str| {
        let above = Path::new(path).ancestors().skip(1).find_map(|folder| roots.get(&folder.to_path_buf()));
        above.copied().filter(|_| inference.names_files())
    };
    let own = projects.iter().map(|(root, project)| (root, &project.modules));
    for (importer, modules) in own.chain(others) {
        for name in &modules.wanted {
            let offering = offers.get(name).into_iter().flatten().copied().chain(holder(name));
            for offering in offering.filter(|offering| *offering != importer) {
                let (by, names) = importers.entry(offering.clone()).or_default();
                by.insert(importer.clone());
                names.insert(name.clone());
            }
        }
    }
    for (root, (by, names)) in importers {
        let Some(project) = projects.get_mut(&root) else { continue };
        let all: Vec<&PathBuf> = [&root].into_iter().chain(&by).collect();
        let importers = named(&by, top);
        let verb = |one: &str, several: &str| if by.len() == 1 { one.to_owned() } else { several.to_owned() };
        let import = verb("imports", "import");
        let (what, remedy) = match inference {
            ProjectInference::GoModules => {
                let what = format!("{importers} {import} them, and no `go.work` joins the modules");
                (what, work_command(&all, top))
            }
            ProjectInference::CargoPackages => {
                (format!("{importers} {} them from outside of the Cargo workspace", verb("uses", "use")), None)
            }
            ProjectInference::TypescriptExternal | ProjectInference::TypescriptComponents => {
                (format!("{importers} {import} them, and the server answers for each project alone"), None)
            }
            _ => {
                let what = format!("{importers} {import} them without an environment that they share");
                (what, install_command(all.into_iter(), top))
            }
        };
        project.info.unresolved.push(UnresolvedNames {
            what,
            count: names.len(),
            examples: names.iter().take(MAX_EXAMPLES).map(|name| shown(name, top)).collect(),
            remedy,
            hides: Hidden::UsesElsewhere,
        });
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
        if !PACKAGE_FILES.iter().any(|name| DiskFiles.exists(&project.join(name))) {
            return None;
        }
        command.push_str(&format!(" -e {}", relative(project, top)));
    }
    Some(command)
}

/// The command that joins these modules of Go.
fn work_command(modules: &[&PathBuf], top: &Path) -> Option<String> {
    let verb = if DiskFiles.exists(&top.join(go::WORKSPACE)) { "use" } else { "init" };
    // The folder of a `go.work` may hold no module.
    let modules = modules.iter().filter(|module| DiskFiles.exists(&module.join(go::MANIFEST)));
    let paths: Vec<String> = modules
        .map(|module| match relative(module, top).as_str() {
            "." => ".".to_owned(),
            path => format!("./{path}"),
        })
        .collect();
    (paths.len() <= MAX_EXAMPLES).then(|| format!("go work {verb} {}", paths.join(" ")))
}

/// A name as people know it; packages of Cargo are named by their folders.
fn shown(name: &str, top: &Path) -> String {
    if name.starts_with('/') { relative(Path::new(name), top) } else { name.to_owned() }
}
