//! The folders of a tree of Python and the modules in them: where a file imports a module from.
//!
//! It looks at names, as the interpreter does: a package anywhere comes before a folder without `__init__.py`, whose parts may be in several
//! places. Invariant: the same files give the same places.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::python::PACKAGE_FILES;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles};

use super::standard_library::STANDARD_LIBRARY;

/// The folders of a tree and the modules in them.
pub(super) struct Tree<'a> {
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

/// Where a name is imported from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Home<'a> {
    /// From where every type checker searches.
    Root,
    /// From these folders of the tree: one, or several that hold parts of a namespace package.
    Folders(Vec<&'a Path>),
    /// Not from the tree.
    Nowhere,
}

impl<'a> Tree<'a> {
    pub(super) fn new(root: &'a Path, files: &'a [PathBuf]) -> Self {
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
    pub(super) fn offered(&self, folders: &BTreeSet<PathBuf>) -> BTreeSet<String> {
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
    pub(super) fn is_namespace_without(&self, space: &str, part: &str) -> bool {
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
    pub(super) fn held<'n>(&self, folder: &Path, imported: &'n BTreeSet<String>) -> impl Iterator<Item = &'n String> {
        let own = self.modules.get(folder).into_iter().flatten();
        own.filter_map(|name| imported.get(*name)).filter(move |name| self.holds_module(folder, name))
    }

    /// Where `file` imports `parts` of the module `name` from: the root, its own folder or one above that is no package, the only other folder that
    /// has it as a package, or the projects below the root that have parts of it.
    pub(super) fn home_of(&self, name: &str, parts: &[&str], file: &'a Path) -> Home<'a> {
        let roots = [self.root.to_path_buf(), self.root.join("src")];
        if roots.iter().any(|root| self.holds_module(root, name) || self.holds_part(root, name, parts)) {
            return Home::Root;
        }
        let is_standard = is_standard(name);
        let mut above = file.ancestors().skip(1).take_while(|folder| folder.starts_with(self.root));
        // A package as a search path would make its modules reachable under two names, as two different modules.
        if let Some(folder) = above.find(|folder| !self.packages.contains(*folder) && self.holds_module(folder, name)) {
            // A search path comes before the standard library, for all files.
            return if is_standard { Home::Nowhere } else { Home::Folders(vec![folder]) };
        }
        let folders = if is_standard { vec![] } else { self.other_homes(name, parts) };
        // A folder of the root that isn't a package, such as that of a project, gives way to a package anywhere.
        match folders.is_empty() {
            false => Home::Folders(folders),
            true if roots.iter().any(|root| self.holds(root, name)) => Home::Root,
            true => Home::Nowhere,
        }
    }

    /// The only folder that has `name` as a package, or else the folders of sources of projects that hold parts of it.
    fn other_homes(&self, name: &str, parts: &[&str]) -> Vec<&'a Path> {
        let homes = || self.homes.get(name).into_iter().flatten().copied();
        let packages: Vec<&Path> = homes().filter(|home| self.packages.contains(home.join(name).as_path())).collect();
        match packages.len() {
            0 => homes().filter(|home| self.holds_part(home, name, parts) && self.holds_sources(home)).collect(),
            1 => packages,
            _ => vec![],
        }
    }

    /// Whether the folder `name` in `home` holds one of these modules.
    fn holds_part(&self, home: &Path, name: &str, parts: &[&str]) -> bool {
        let folder = home.join(name);
        parts.iter().any(|part| self.holds(&folder, part))
    }

    /// Whether a folder is a project, or directly below one.
    fn holds_sources(&self, folder: &Path) -> bool {
        let nearest = folder.ancestors().take(2).filter(|folder| folder.starts_with(self.root));
        nearest.into_iter().any(|folder| PACKAGE_FILES.iter().any(|name| DiskFiles.exists(&folder.join(name))))
    }
}

/// Whether a module of this name comes with the interpreter.
pub(super) fn is_standard(name: &str) -> bool {
    STANDARD_LIBRARY.binary_search(&name).is_ok()
}
