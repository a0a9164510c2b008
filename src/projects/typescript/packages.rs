//! The `package.json` files of a tree: packages that import each other by name, and dependencies that aren't installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{MarkerFiles, NODE_INSTALLERS, parse_jsonc};
use serde_json::{Value, json};

use super::configuration::normalized;
use super::module_names;
use crate::info::UnresolvedNames;
use crate::limits::{MAX_EXAMPLES, MAX_WORKSPACE_PACKAGES};

/// The packages of a tree.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// By folder, its `package.json`.
    by_folder: BTreeMap<PathBuf, Value>,
    /// Folders that hold files, and those above them.
    folders: BTreeSet<PathBuf>,
    top: PathBuf,
}

/// Reads the `package.json` of each folder that is above one of `files`.
pub(super) fn read(files: &[PathBuf], top: &Path, disk: &dyn MarkerFiles) -> Packages {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for file in files {
        for folder in file.ancestors().skip(1).take_while(|folder| folder.starts_with(top)) {
            if !folders.insert(folder.into()) {
                break;
            }
        }
    }
    let manifests = folders.iter().filter_map(|folder| {
        let path = folder.join("package.json");
        let text = disk.exists(&path).then(|| disk.read_text(&path, top))?;
        Some((folder.clone(), parse_jsonc(&text)?))
    });
    let by_folder = manifests.take(MAX_WORKSPACE_PACKAGES).collect();
    Packages { by_folder, folders, top: top.into() }
}

impl Packages {
    /// Packages with these manifests.
    #[cfg(test)]
    pub(super) fn of<const N: usize>(top: &Path, manifests: [(&str, Value); N]) -> Self {
        let by_folder = manifests.into_iter().map(|(folder, manifest)| (folder.into(), manifest)).collect();
        Self { by_folder, top: top.into(), ..Self::default() }
    }

    /// The folders of the packages, by name. If several have a name, the first folder by path has it.
    pub(super) fn by_name(&self) -> BTreeMap<&str, &Path> {
        let mut names = BTreeMap::new();
        for (folder, manifest) in &self.by_folder {
            if let Some(name) = manifest.get("name").and_then(Value::as_str) {
                names.entry(name).or_insert(folder.as_path());
            }
        }
        names
    }

    /// The manifest in a folder.
    pub(super) fn manifest(&self, folder: &Path) -> Option<&Value> {
        self.by_folder.get(folder)
    }

    /// The package that the files of a folder belong to.
    pub(super) fn nearest(&self, folder: &Path) -> Option<(&Path, &Value)> {
        let mut folders = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        folders.find_map(|folder| self.by_folder.get_key_value(folder)).map(|(folder, value)| (folder.as_path(), value))
    }

    /// Adds to compiler options where packages of the tree and installed types are.
    pub(super) fn add_to(&self, mut options: Value, disk: &dyn MarkerFiles) -> Value {
        let Some(members) = options.as_object_mut() else { return options };
        let type_roots: Vec<PathBuf> = self.folders.iter().map(|folder| folder.join("node_modules/@types")).collect();
        let type_roots: Vec<PathBuf> = type_roots.into_iter().filter(|folder| disk.exists(folder)).collect();
        if !type_roots.is_empty() {
            members.insert("typeRoots".into(), json!(type_roots));
            members.insert("types".into(), json!(["*"]));
        }
        let mut paths = serde_json::Map::new();
        for (folder, manifest) in &self.by_folder {
            let Some(name) = manifest.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
                continue;
            };
            if !paths.contains_key(name) {
                paths.insert(name.into(), json!([folder, folder.join("src"), folder.join("src/index")]));
                paths.insert(format!("{name}/*"), json!([folder.join("*"), folder.join("src/*")]));
                for (path, targets) in module_names::exported_paths(manifest) {
                    let places: Vec<PathBuf> = targets.iter().filter_map(|target| in_folder(folder, target)).collect();
                    if !places.is_empty() {
                        paths.insert(format!("{name}/{path}"), json!(places));
                    }
                }
            }
        }
        if !paths.is_empty() {
            members.insert("paths".into(), Value::Object(paths));
        }
        options
    }

    /// Dependencies that are in no `node_modules`; `None` if there are none.
    pub(super) fn not_installed(&self, disk: &dyn MarkerFiles) -> Option<UnresolvedNames> {
        let own: BTreeSet<&str> =
            self.by_folder.values().filter_map(|manifest| manifest.get("name")?.as_str()).collect();
        let mut missing: BTreeSet<&str> = BTreeSet::new();
        for (folder, manifest) in &self.by_folder {
            let lists =
                ["dependencies", "devDependencies"].into_iter().filter_map(|key| manifest.get(key)?.as_object());
            let names = lists.flat_map(|list| list.keys()).map(String::as_str);
            missing.extend(names.filter(|name| !own.contains(name) && !self.is_installed(folder, name, disk)));
        }
        if missing.is_empty() {
            return None;
        }
        let installer =
            NODE_INSTALLERS.iter().find(|(lock, _)| self.folders.iter().any(|folder| disk.exists(&folder.join(lock))));
        Some(UnresolvedNames {
            what: if self.by_folder.keys().any(|folder| disk.exists(&folder.join("node_modules"))) {
                "`node_modules` lacks packages".into()
            } else {
                "`node_modules` is missing".into()
            },
            count: missing.len(),
            examples: missing.iter().take(MAX_EXAMPLES).map(|name| (*name).to_owned()).collect(),
            remedy: Some(installer.map_or("npm install", |(_, command)| *command).into()),
            hides_uses: false,
        })
    }

    /// Whether there are several packages, and one that the `node_modules` in the root doesn't hold.
    pub(super) fn have_unlinked(&self, disk: &dyn MarkerFiles) -> bool {
        let names = self.by_name();
        names.len() > 1 && names.keys().any(|name| !self.is_installed(&self.top, name, disk))
    }

    /// Whether a `node_modules` in a folder or above holds a package.
    pub(super) fn is_installed(&self, folder: &Path, name: &str, disk: &dyn MarkerFiles) -> bool {
        let mut folders = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        folders.any(|folder| disk.exists(&folder.join("node_modules").join(name)))
    }
}

/// A path of a manifest, unless it leads out of the package.
fn in_folder(folder: &Path, path: &str) -> Option<PathBuf> {
    normalized(&folder.join(path)).filter(|place| place.starts_with(folder))
}
