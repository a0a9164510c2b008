//! Python: the folders that scripts import from.
//!
//! A type checker resolves absolute imports from the project root, from `src` and from the installed packages. Scripts and tests also
//! import the file beside them, because the interpreter puts a script's folder first on its path. Such imports stay unresolved, and the
//! calls behind them are missing from references. So the folders that the imports of the tree name are passed to the server as further
//! search paths. Projects that configure the type checker themselves are left alone. The virtual environment of the project is passed on too,
//! because not every server finds it, or only one of a usual name. Invariant: the same files give the same paths.

mod environment;
mod imports;
mod options;
mod scope;
mod standard_library;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::python::PACKAGE_FILES;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles, ProjectInference};

use self::environment::VirtualEnvironment;
use self::imports::imports_of;
use self::options::PythonOptions;
use self::standard_library::STANDARD_LIBRARY;
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

/// The folders of a tree and the modules in them.
struct Tree<'a> {
    root: &'a Path,
    /// Its files, sorted.
    files: &'a [PathBuf],
    /// By folder, the names that can be imported from it: files, and folders that hold files of Python at any depth.
    modules: BTreeMap<&'a Path, BTreeSet<&'a str>>,
    /// Folders that are packages themselves.
    packages: BTreeSet<&'a Path>,
    /// By name, the folders that it can be imported from and that aren't packages.
    homes: BTreeMap<&'a str, BTreeSet<&'a Path>>,
}

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
    let is_configured = request.server.root.workspace_markers.iter().any(|marker| has_marker(request.root, marker));
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
        hides_uses: true,
        is_used_elsewhere: false,
    })
}

/// Whether a change of this file's text, not only its existence, may change what [`prepare`] returns, besides its imports.
pub(crate) fn reads(file: &Path) -> bool {
    file.file_name().is_some_and(|name| scope::CONFIGURATIONS.iter().any(|own| name == *own))
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
        for file in request.files {
            if !imports.contains_key(file) {
                imports.insert(file.clone(), read_imports(file, request.top));
            }
            for name in imports.get(file).into_iter().flatten() {
                if let Some((space, part)) = name.split_once('.') {
                    if !is_standard(space) && tree.is_namespace_without(space, part) {
                        found.foreign_parts.insert(name.clone());
                    }
                    continue;
                }
                imported.insert(name.clone());
                match tree.home_of(name, file) {
                    Home::Root => {}
                    Home::Folder(folder) => {
                        found.folders.insert(folder.into());
                        found.beside.insert(name.clone());
                    }
                    Home::Nowhere if is_standard(name) => {}
                    Home::Nowhere => drop(found.foreign.insert(name.clone())),
                }
            }
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

fn is_standard(name: &str) -> bool {
    STANDARD_LIBRARY.binary_search(&name).is_ok()
}

/// Where a name is imported from.
#[derive(Debug, PartialEq, Eq)]
enum Home<'a> {
    /// From where every type checker searches.
    Root,
    /// From this folder of the tree.
    Folder(&'a Path),
    /// Not from the tree.
    Nowhere,
}

impl<'a> Tree<'a> {
    fn new(root: &'a Path, files: &'a [PathBuf]) -> Self {
        let mut tree =
            Self { root, files, modules: BTreeMap::new(), packages: BTreeSet::new(), homes: BTreeMap::new() };
        for file in files {
            let (Some(folder), Some(stem)) = (file.parent(), file.file_stem().and_then(|stem| stem.to_str())) else {
                continue;
            };
            tree.modules.entry(folder).or_default().insert(stem);
            if stem == "__init__" {
                tree.packages.insert(folder);
            }
            let above = folder.ancestors().take_while(|above| *above != root && above.starts_with(root));
            for below in above {
                let (Some(parent), Some(name)) = (below.parent(), below.file_name().and_then(|name| name.to_str()))
                else {
                    break;
                };
                if !tree.modules.entry(parent).or_default().insert(name) {
                    break;
                }
            }
        }
        for (folder, names) in &tree.modules {
            if !tree.packages.contains(folder) {
                for name in names {
                    tree.homes.entry(name).or_default().insert(folder);
                }
            }
        }
        tree
    }

    fn holds(&self, folder: &Path, name: &str) -> bool {
        self.modules.get(folder).is_some_and(|names| names.contains(name))
    }

    /// Whether a folder holds a file of this name, or a package. A folder without `__init__.py` may be no package at all.
    fn holds_module(&self, folder: &Path, name: &str) -> bool {
        let file = folder.join(format!("{name}.py"));
        let is_file = self.files.binary_search_by(|known| known.as_os_str().cmp(file.as_os_str())).is_ok();
        is_file || self.packages.contains(folder.join(name).as_path())
    }

    /// The modules that can be imported from the root, from `src` and from these folders.
    fn offered(&self, folders: &BTreeSet<PathBuf>) -> BTreeSet<String> {
        let own = [self.root.to_path_buf(), self.root.join("src")];
        let all = own.iter().chain(folders).filter_map(|folder| Some((folder, self.modules.get(folder.as_path())?)));
        let mut offered = BTreeSet::new();
        for (folder, names) in all {
            for name in names {
                if self.holds_module(folder, name) {
                    offered.insert((*name).to_owned());
                    continue;
                }
                // A namespace package: others may add to it.
                let space = folder.join(name);
                let parts = self.modules.get(space.as_path()).into_iter().flatten();
                offered
                    .extend(parts.filter(|part| self.holds_module(&space, part)).map(|part| format!("{name}.{part}")));
            }
        }
        offered
    }

    /// Whether the tree has folders of this name that are no packages of their own, and none of them holds `part`.
    fn is_namespace_without(&self, space: &str, part: &str) -> bool {
        let homes = self.homes.get(space).into_iter().flatten();
        let mut places = homes.map(|home| home.join(space)).peekable();
        places.peek().is_some()
            && places.all(|place| {
                self.modules.contains_key(place.as_path())
                    && !self.packages.contains(place.as_path())
                    && !self.holds(&place, part)
            })
    }

    /// The imported names that a folder holds.
    fn held<'n>(&self, folder: &Path, imported: &'n BTreeSet<String>) -> impl Iterator<Item = &'n String> {
        let own = self.modules.get(folder).into_iter().flatten();
        own.filter_map(|name| imported.get(*name)).filter(move |name| self.holds_module(folder, name))
    }

    /// Where `file` imports `name` from: the root, its own folder or one above that is no package, or the only other folder that has it as
    /// a package.
    fn home_of(&self, name: &str, file: &'a Path) -> Home<'a> {
        if self.holds(self.root, name) || self.holds(&self.root.join("src"), name) {
            return Home::Root;
        }
        let is_standard = is_standard(name);
        let mut above = file.ancestors().skip(1).take_while(|folder| folder.starts_with(self.root));
        // A package as a search path would make its modules reachable under two names, as two different modules.
        if let Some(folder) = above.find(|folder| !self.packages.contains(*folder) && self.holds_module(folder, name)) {
            // A search path comes before the standard library, for all files.
            return if is_standard { Home::Nowhere } else { Home::Folder(folder) };
        }
        let homes = self.homes.get(name).into_iter().flatten();
        let mut packages = homes.filter(|home| self.packages.contains(home.join(name).as_path()));
        match (packages.next(), packages.next()) {
            (Some(home), None) if !is_standard => Home::Folder(home),
            _ => Home::Nowhere,
        }
    }
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
        hides_uses: false,
        is_used_elsewhere: false,
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
