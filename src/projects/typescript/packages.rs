//! The `package.json` files of a tree: packages that import each other by name, and dependencies that aren't installed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::folder_globs::FolderGlobs;
use codeyard_ecosystems::npm::{MANIFEST, PNPM_WORKSPACE, PackageJson, accepts, members};
use codeyard_lsp::registry::{MarkerFiles, NODE_INSTALLERS};
use codeyard_model::coverage::Hidden;
use serde_json::{Value, json};

use super::module_names::ModuleNames;
use super::package_entries::{in_folder, sources_of_built};
use crate::info::UnresolvedNames;
use crate::limits::MAX_EXAMPLES;
use crate::tree::folders_above;

/// Packages of one workspace root whose names are resolved to their folders.
const MAX_WORKSPACE_PACKAGES: usize = 1_000;

/// Package managers of Node that a manifest may name.
const INSTALLERS_BY_NAME: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// Scripts that link packages which no list of a workspace names.
const LINKING_SCRIPTS: [&str; 3] = ["symlink", "link", "bootstrap"];
/// Beginnings of versions that mean a folder.
const FOLDER_VERSIONS: [&str; 4] = ["file:", "link:", "portal:", "workspace:"];

#[derive(Debug, Default)]
pub(super) struct Packages {
    /// By folder, its manifest.
    by_folder: BTreeMap<PathBuf, PackageJson>,
    /// Folders that hold files, and those above them.
    folders: BTreeSet<PathBuf>,
    /// By folder, the workspace that it is the root of.
    workspaces: BTreeMap<PathBuf, FolderGlobs>,
    top: PathBuf,
    /// The real paths of links and packages that were asked for.
    real: RefCell<BTreeMap<PathBuf, Option<PathBuf>>>,
}

/// What `node_modules` holds for a package of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Missing,
    Package,
    /// Another package of the name, such as a copy.
    Elsewhere,
}

/// Reads the `package.json` of each folder that is above one of `files`.
pub(super) fn read(files: &[PathBuf], top: &Path, disk: &dyn MarkerFiles) -> Packages {
    let folders: BTreeSet<PathBuf> = folders_above(files, top).into_iter().map(Path::to_path_buf).collect();
    let manifests = folders.iter().filter_map(|folder| {
        let path = folder.join(MANIFEST);
        let text = disk.exists(&path).then(|| disk.read_text(&path, top))?;
        Some((folder.clone(), PackageJson::parse(&text)?))
    });
    let by_folder: BTreeMap<PathBuf, PackageJson> = manifests.take(MAX_WORKSPACE_PACKAGES).collect();
    let workspaces = by_folder.iter().filter_map(|(folder, manifest)| {
        let pnpm = folder.join(PNPM_WORKSPACE);
        let pnpm = if disk.exists(&pnpm) { disk.read_text(&pnpm, top) } else { String::new() };
        Some((folder.clone(), members(manifest, &pnpm)?))
    });
    let workspaces = workspaces.collect();
    Packages { by_folder, folders, workspaces, top: top.into(), real: RefCell::default() }
}

impl Packages {
    /// Packages with these manifests.
    #[cfg(test)]
    pub(super) fn of<const N: usize>(top: &Path, manifests: [(&str, Value); N]) -> Self {
        let read = |manifest: Value| PackageJson::parse(&manifest.to_string()).unwrap();
        let by_folder = manifests.into_iter().map(|(folder, manifest)| (folder.into(), read(manifest)));
        Self { by_folder: by_folder.collect(), top: top.into(), ..Self::default() }
    }

    /// The folders of the packages, by name. If several have a name, a member of a workspace has it, else the first folder by path.
    pub(super) fn by_name(&self) -> BTreeMap<&str, &Path> {
        let mut names: BTreeMap<&str, &Path> = BTreeMap::new();
        for (folder, manifest) in &self.by_folder {
            let Some(name) = manifest.name().filter(|name| !name.is_empty()) else {
                continue;
            };
            let is_better = |known: &Path| self.workspace(known).is_none() && self.workspace(folder).is_some();
            if names.get(name).is_none_or(|known| is_better(known)) {
                names.insert(name, folder);
            }
        }
        names
    }

    pub(super) fn manifest(&self, folder: &Path) -> Option<&PackageJson> {
        self.by_folder.get(folder)
    }

    /// The package that the files of a folder belong to.
    pub(super) fn nearest(&self, folder: &Path) -> Option<(&Path, &PackageJson)> {
        let mut folders = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        folders
            .find_map(|folder| self.by_folder.get_key_value(folder))
            .map(|(folder, manifest)| (folder.as_path(), manifest))
    }

    /// Adds to compiler options where packages of the tree and installed types are.
    pub(super) fn add_to(&self, mut options: Value, names: &ModuleNames<'_>, disk: &dyn MarkerFiles) -> Value {
        let Some(compiler_options) = options.as_object_mut() else { return options };
        let type_roots: Vec<PathBuf> = self.folders.iter().map(|folder| folder.join("node_modules/@types")).collect();
        let type_roots: Vec<PathBuf> = type_roots.into_iter().filter(|folder| disk.exists(folder)).collect();
        if !type_roots.is_empty() {
            compiler_options.insert("typeRoots".into(), json!(type_roots));
            compiler_options.insert("types".into(), json!(["*"]));
        }
        let mut paths = serde_json::Map::new();
        for (name, folder) in self.by_name() {
            let manifest = self.manifest(folder);
            // Sources come before what a build writes, so that it doesn't matter whether it has run.
            let main = manifest.map(PackageJson::whole_package).unwrap_or_default();
            let sources = main.iter().flat_map(|target| sources_of_built(names, folder, target, true));
            let mut places: Vec<PathBuf> = sources.filter_map(|source| in_folder(folder, &source)).collect();
            places.extend([folder.to_path_buf(), folder.join("src"), folder.join("src/index")]);
            paths.insert(name.into(), json!(places));
            paths.insert(format!("{name}/*"), json!([folder.join("*"), folder.join("src/*")]));
            let exported = manifest.map(PackageJson::exported_paths).unwrap_or_default();
            for (path, targets) in exported {
                let sources = targets.iter().flat_map(|target| sources_of_built(names, folder, target, false));
                let named = sources.chain(targets.iter().cloned());
                let mut places: Vec<PathBuf> = named.filter_map(|target| in_folder(folder, &target)).collect();
                if !places.is_empty() {
                    // What it exports may not be built.
                    let sources = [path.to_owned(), format!("src/{path}")];
                    places.extend(sources.iter().filter_map(|source| in_folder(folder, source)));
                    paths.insert(format!("{name}/{path}"), json!(places));
                }
            }
        }
        if !paths.is_empty() {
            compiler_options.insert("paths".into(), Value::Object(paths));
        }
        options
    }

    /// Dependencies that are in no `node_modules`; `None` if there are none.
    pub(super) fn not_installed(&self, disk: &dyn MarkerFiles) -> Option<UnresolvedNames> {
        let own: BTreeSet<&str> = self.by_folder.values().filter_map(PackageJson::name).collect();
        let mut missing: BTreeSet<&str> = BTreeSet::new();
        for (folder, manifest) in &self.by_folder {
            let names = manifest.needed_packages();
            missing.extend(names.filter(|name| !own.contains(name) && !self.is_installed(folder, name, disk)));
        }
        if missing.is_empty() {
            return None;
        }
        let has_folder = self.by_folder.keys().any(|folder| disk.exists(&folder.join("node_modules")));
        let (how, hides) =
            if has_folder { ("lacks packages", Hidden::Nothing) } else { ("is missing", Hidden::Members) };
        Some(UnresolvedNames {
            what: format!("`node_modules` {how}"),
            count: missing.len(),
            examples: missing.iter().take(MAX_EXAMPLES).map(|name| (*name).to_owned()).collect(),
            remedy: Some(self.install_command(disk)),
            hides,
        })
    }

    /// The command that installs what the manifests name: of the lock file, else of the manager that a manifest or a workspace is for.
    pub(super) fn install_command(&self, disk: &dyn MarkerFiles) -> String {
        let is_locked = |lock: &str| self.folders.iter().any(|folder| disk.exists(&folder.join(lock)));
        let installer = NODE_INSTALLERS.iter().find(|(lock, _)| is_locked(lock));
        if let Some((_, command)) = installer {
            return (*command).into();
        }
        let is_pnpm =
            || self.by_folder.keys().any(|folder| disk.exists(&folder.join(PNPM_WORKSPACE))).then_some("pnpm");
        let installer = self.by_folder.values().find_map(installer_of).or_else(is_pnpm);
        format!("{} install", installer.unwrap_or("npm"))
    }

    /// The command that builds packages: of the workspace that holds them all, or of every package in it. `None` if none has a script for it.
    pub(super) fn build_command(&self, packages: &[&Path], disk: &dyn MarkerFiles) -> Option<String> {
        let first = packages.first()?;
        let workspace = self.workspace(first).or_else(|| (**first == *self.top).then_some(*first))?;
        let install = self.install_command(disk);
        let installer = install.split(' ').next()?;
        if self.manifest(workspace).is_some_and(has_build) {
            return Some(format!("{installer} run build"));
        }
        let scripts =
            packages.iter().filter_map(|package| self.manifest(package)).filter(|manifest| has_build(manifest));
        let name = scripts.map(PackageJson::name).next()?;
        match installer {
            "pnpm" => Some("pnpm -r build".into()),
            "bun" => Some("bun run --filter '*' build".into()),
            // No command for all packages is the same in all its versions.
            "yarn" => name.filter(|_| packages.len() == 1).map(|name| format!("yarn workspace {name} run build")),
            _ => Some("npm run build --workspaces --if-present".into()),
        }
    }

    /// The root of the workspace that a package is a member of.
    fn workspace<'p>(&self, package: &'p Path) -> Option<&'p Path> {
        let mut above = package.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.top));
        above.find(|folder| {
            let below = package.strip_prefix(folder).unwrap_or(package);
            self.workspaces.get(*folder).is_some_and(|members| members.name(below))
        })
    }

    /// Whether files of one package may import another one.
    pub(super) fn import_each_other(&self) -> bool {
        // Files above the only package may import it too, but then nothing says that they are meant to.
        self.by_folder.len() > 1
    }

    /// Whether files in `folder` mean a package of the tree by its name: it is a member of a workspace, or a dependency whose version is a folder or
    /// that the package's own version satisfies. Other packages of the tree, such as those that tests read, only have the name of the one
    /// that is meant.
    pub(super) fn expects(&self, folder: &Path, name: &str, package: &Path) -> bool {
        let own = self.manifest(package).and_then(PackageJson::version).unwrap_or_default();
        let version = |manifest: &PackageJson| {
            let mut versions = manifest.wanted_versions(name);
            versions.any(|version| is_folder(version) || accepts(version, own))
        };
        let mut above = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        self.workspace(package).is_some() || above.any(|folder| self.manifest(folder).is_some_and(version))
    }

    /// The command that links these packages of the tree. `None` if none is known.
    pub(super) fn link_command(&self, packages: &[&Path], disk: &dyn MarkerFiles) -> Option<String> {
        let is_installed = |package: &&Path| {
            let name = self.manifest(package).and_then(PackageJson::name).unwrap_or_default();
            let mut versions = self.by_folder.values().flat_map(|manifest| manifest.wanted_versions(name));
            self.workspace(package).is_some() || versions.any(is_folder)
        };
        let install = self.install_command(disk);
        if packages.iter().all(is_installed) {
            return Some(install);
        }
        let root = self.manifest(&self.top)?;
        let script = LINKING_SCRIPTS.into_iter().find(|script| root.has_script(script))?;
        Some(format!("{} run {script}", install.split(' ').next()?))
    }

    /// What the nearest `node_modules` with this name above a folder holds, for the package of the tree that has the name.
    pub(super) fn link(&self, folder: &Path, name: &str, package: &Path, disk: &dyn MarkerFiles) -> Link {
        let folders = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        let mut links = folders.map(|folder| folder.join("node_modules").join(name));
        let Some(link) = links.find(|link| disk.exists(link)) else { return Link::Missing };
        let real =
            |path: &Path| self.real.borrow_mut().entry(path.into()).or_insert_with(|| path.canonicalize().ok()).clone();
        let target = real(&link);
        if target.is_some() && target == real(package) { Link::Package } else { Link::Elsewhere }
    }

    /// Whether there are several packages, and one that the `node_modules` in the root doesn't hold.
    pub(super) fn have_unlinked(&self, disk: &dyn MarkerFiles) -> bool {
        self.import_each_other() && self.by_name().keys().any(|name| !self.is_installed(&self.top, name, disk))
    }

    /// Whether a `node_modules` in a folder or above holds a package.
    pub(super) fn is_installed(&self, folder: &Path, name: &str, disk: &dyn MarkerFiles) -> bool {
        let mut folders = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        folders.any(|folder| disk.exists(&folder.join("node_modules").join(name)))
    }
}

fn installer_of(manifest: &PackageJson) -> Option<&'static str> {
    let name = manifest.installer()?;
    INSTALLERS_BY_NAME.into_iter().find(|installer| *installer == name)
}

fn has_build(manifest: &PackageJson) -> bool {
    manifest.has_script("build")
}

fn is_folder(version: &str) -> bool {
    FOLDER_VERSIONS.iter().any(|start| version.starts_with(start))
}
