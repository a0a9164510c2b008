//! Python: the folders that scripts import from.
//!
//! A type checker resolves absolute imports from the project root, from `src` and from the installed packages. Scripts and tests also
//! import the file beside them, because the interpreter puts a script's folder first on its path. Such imports stay unresolved, and the
//! calls behind them are missing from references. So the folders that the imports of the tree name are passed to the server as further
//! search paths. Projects that configure the type checker themselves are left alone. The virtual environment of the project is passed on too,
//! because not every server finds it, or only one of a usual name. Invariant: the same files give the same paths.

mod environment;
mod imports;
mod module_tree;
mod options;
mod scope;
mod standard_library;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::python::PACKAGE_FILES;
use codeyard_lsp::registry::{ConfiguredScope, DiskFiles, MarkerFiles, ProjectInference};
use codeyard_model::coverage::Hidden;

use self::environment::VirtualEnvironment;
use self::imports::imports_of;
use self::module_tree::{Home, Tree, is_standard};
use self::options::PythonOptions;
use crate::info::{ProjectInfo, ProjectSource, UnresolvedNames};
use crate::limits::{MAX_EXAMPLES, MAX_SEARCH_PATHS};
use crate::prepare::{PreparedProject, ProjectModules, ProjectRequest};

/// Lock files and the command that installs what they lock.
const INSTALLERS: [(&str, &str); 4] = [
    ("uv.lock", "uv sync"),
    ("poetry.lock", "poetry install"),
    ("pdm.lock", "pdm install"),
    ("Pipfile.lock", "pipenv sync"),
];

/// What the imports of a tree need.
#[derive(Debug, Default, PartialEq, Eq)]
struct SearchPaths {
    /// Folders besides the root, sorted.
    folders: BTreeSet<PathBuf>,
    /// Names that are imported and that several folders hold. None of those folders is a search path.
    ambiguous: BTreeSet<String>,
    /// Names that are imported from folders that are no search path, because there are too many.
    left_out: BTreeSet<String>,
    /// Names that are imported from `folders`.
    beside: BTreeSet<String>,
    /// Names of packages that are neither in the tree nor in the standard library.
    foreign: BTreeSet<String>,
    /// Packages such as `a.b` that a namespace package of the tree, `a`, doesn't hold.
    foreign_parts: BTreeSet<String>,
}

/// Prepares the project of a type checker. Reads the files; blocks.
///
/// # Errors
/// Errors of the file system, when the cache folder can't be written.
pub(crate) fn prepare(request: &ProjectRequest<'_>, inference: ProjectInference) -> std::io::Result<PreparedProject> {
    let tree = Tree::new(request.root, request.files);
    let is_configured = is_configured(request);
    let paths = search_paths(&tree, request);
    let folder = environment::folder(request.root);
    let environment = VirtualEnvironment::read(folder.as_deref(), request.top);
    let mut info = ProjectInfo {
        source: ProjectSource::Server,
        files_total: request.files.len(),
        files_known: Some(request.files.len()),
        unresolved: not_installed(request, &paths, &environment).into_iter().collect(),
        ..ProjectInfo::default()
    };
    let mut prepared = PreparedProject::default();
    // A project that configures its server may have chosen an environment too.
    if !is_configured {
        let mut options = PythonOptions { environment: folder, ..PythonOptions::default() };
        if inference == ProjectInference::PythonImports {
            let unknown = paths.beside.iter().filter(|name| !environment.may_hold(name)).cloned().collect();
            info.unresolved.extend(unresolved("it can't be given the folders that hold them", &unknown));
        } else if !paths.folders.is_empty() {
            let count = paths.folders.len();
            info.source = ProjectSource::Inferred { from: format!("{count} folders that files import from") };
            options.folders.clone_from(&paths.folders);
        }
        prepared = options.prepare(request, inference)?;
        let left_out = format!("they are in more than {MAX_SEARCH_PATHS} folders");
        info.unresolved.extend(unresolved("several folders hold modules of these names", &paths.ambiguous));
        info.unresolved.extend(unresolved(&left_out, &paths.left_out));
    }
    scope::leave_out(request, &mut info);
    prepared.modules = modules_of(&tree, &paths, &environment);
    prepared.info = info;
    Ok(prepared)
}

/// What a project that the server isn't started for offers and wants. Reads its files; blocks.
pub(crate) fn modules(request: &ProjectRequest<'_>) -> ProjectModules {
    let tree = Tree::new(request.root, request.files);
    let environment = VirtualEnvironment::read(environment::folder(request.root).as_deref(), request.top);
    modules_of(&tree, &search_paths(&tree, request), &environment)
}

fn modules_of(tree: &Tree<'_>, paths: &SearchPaths, environment: &VirtualEnvironment) -> ProjectModules {
    let is_held = |name: &str| environment.holds(name.split('.').next().unwrap_or_default());
    let wanted = paths.foreign.iter().chain(&paths.foreign_parts).filter(|name| !is_held(name)).cloned();
    ProjectModules { offered: tree.offered(&paths.folders), wanted: wanted.collect() }
}

/// Modules of the tree whose imports aren't resolved; `None` if there are none.
fn unresolved(why: &str, names: &BTreeSet<String>) -> Option<UnresolvedNames> {
    (!names.is_empty()).then(|| UnresolvedNames {
        what: why.to_owned(),
        count: names.len(),
        examples: names.iter().take(MAX_EXAMPLES).cloned().collect(),
        remedy: None,
        hides: Hidden::Uses,
    })
}

/// Whether a change of this file's text, not only its existence, may change what [`prepare`] returns, besides its imports.
pub(crate) fn reads(file: &Path) -> bool {
    file.file_name().is_some_and(|name| scope::CONFIGURATIONS.iter().any(|own| name == *own))
}

/// Whether the project's own configuration takes the place of settings. Observed: ty joins them, unless both name paths.
fn is_configured(request: &ProjectRequest<'_>) -> bool {
    let mut markers = request.server.root.workspace_markers.iter();
    let joins = request.server.scope == Some(ConfiguredScope::Ty) && !scope::names_ty_paths(request);
    !joins && markers.any(|marker| has_marker(request.root, marker))
}

fn has_marker(root: &Path, marker: &str) -> bool {
    let (path, text) = marker.split_once(" ~ ").map_or((marker, None), |(path, text)| (path, Some(text)));
    let at = root.join(path);
    let has = |text: &str| DiskFiles.read_text(&at, root).lines().any(|line| line.trim_start().starts_with(text));
    DiskFiles.exists(&at) && text.is_none_or(has)
}

fn search_paths<'a>(tree: &Tree<'a>, request: &ProjectRequest<'a>) -> SearchPaths {
    let mut found = SearchPaths::default();
    let mut imported: BTreeSet<String> = BTreeSet::new();
    request.memory.with_imports(|imports| {
        let mut at_root: BTreeSet<&String> = BTreeSet::new();
        let mut in_folders: BTreeMap<&String, BTreeSet<&Path>> = BTreeMap::new();
        let files = || request.files.iter().chain(request.scripts);
        for file in files() {
            if !imports.contains_key(file) {
                imports.insert(file.clone(), read_imports(file, request.top));
            }
        }
        for (file, names) in files().filter_map(|file| Some((file, imports.get(file)?))) {
            for name in names {
                if let Some((space, part)) = name.split_once('.') {
                    if !is_standard(space) && tree.is_namespace_without(space, part) {
                        found.foreign_parts.insert(name.clone());
                    }
                    continue;
                }
                imported.insert(name.clone());
                match tree.home_of(name, &parts_of(name, names), file) {
                    Home::Root => drop(at_root.insert(name)),
                    Home::Folders(folders) => in_folders.entry(name).or_default().extend(folders),
                    Home::Nowhere if is_standard(name) => {}
                    Home::Nowhere => drop(found.foreign.insert(name.clone())),
                }
            }
        }
        for (name, folders) in in_folders {
            // A search path comes before the root, for all files.
            if at_root.contains(name) {
                found.ambiguous.insert(name.clone());
                continue;
            }
            found.folders.extend(folders.into_iter().map(PathBuf::from));
            found.beside.insert(name.clone());
        }
    });
    found.leave_out_ambiguous(tree, &imported);
    while found.folders.len() > MAX_SEARCH_PATHS
        && let Some(folder) = found.folders.pop_last()
    {
        found.left_out.extend(tree.held(&folder, &imported).cloned());
    }
    found
}

/// What a file imports from a module: the names behind its first dot.
fn parts_of<'n>(module: &str, names: &'n BTreeSet<String>) -> Vec<&'n str> {
    let start = format!("{module}.");
    let parts = names.range(start.clone()..).map_while(|name| name.strip_prefix(&start));
    parts.collect()
}

impl SearchPaths {
    /// Leaves out the folders that hold a module that is imported and that another of the folders holds too. As search paths they would
    /// give one importer the module of the other.
    fn leave_out_ambiguous(&mut self, tree: &Tree<'_>, imported: &BTreeSet<String>) {
        let mut holders: BTreeMap<&String, Vec<PathBuf>> = BTreeMap::new();
        for folder in &self.folders {
            for name in tree.held(folder, imported) {
                holders.entry(name).or_default().push(folder.clone());
            }
        }
        for (name, folders) in holders.into_iter().filter(|(_, folders)| folders.len() > 1) {
            self.ambiguous.insert(name.clone());
            self.folders.retain(|folder| !folders.contains(folder));
        }
    }
}

/// The first parts of the names that a file imports absolutely.
pub(crate) fn read_imports(file: &Path, top: &Path) -> BTreeSet<String> {
    imports_of(&DiskFiles.read_text(file, top))
}

/// Packages that are imported though the virtual environment doesn't hold them; `None` if there are none, or it isn't known.
fn not_installed(
    request: &ProjectRequest<'_>,
    paths: &SearchPaths,
    environment: &VirtualEnvironment,
) -> Option<UnresolvedNames> {
    let all = || paths.foreign.iter().chain(&paths.foreign_parts);
    let (what, folder, missing) = match environment {
        VirtualEnvironment::Open => return None,
        VirtualEnvironment::Missing => ("`.venv` is missing".to_owned(), None, all().collect()),
        VirtualEnvironment::Closed { folder, modules } => {
            let is_held = |name: &&String| name.split('.').next().is_some_and(|first| modules.contains(first));
            let missing: Vec<&String> = all().filter(|name| !is_held(name)).collect();
            (format!("`{folder}` doesn't hold them"), Some(folder.as_str()), missing)
        }
    };
    (!missing.is_empty()).then(|| UnresolvedNames {
        what,
        count: missing.len(),
        examples: missing.into_iter().take(MAX_EXAMPLES).cloned().collect(),
        remedy: Some(install_command(request.root, folder)),
        hides: Hidden::Nothing,
    })
}

/// The command that installs what a project needs into its environment, or makes one.
fn install_command(root: &Path, environment: Option<&str>) -> String {
    let has = |name: &str| DiskFiles.exists(&root.join(name));
    if let Some((_, command)) = INSTALLERS.iter().find(|(lock, _)| has(lock)) {
        return (*command).to_owned();
    }
    let make = if environment.is_none() { "python -m venv .venv && " } else { "" };
    // The name of a module isn't always that of its package, so none is suggested.
    let what = match () {
        () if has("requirements.txt") => "-r requirements.txt",
        () if PACKAGE_FILES.iter().any(|name| has(name)) => "-e .",
        () => "PACKAGE",
    };
    format!("{make}{}/bin/pip install {what}", environment.unwrap_or(".venv"))
}

#[cfg(test)]
mod tests;
