//! The manifests of the workspace's crates, as much of them as the tests here read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::project;

/// A crate below `src`.
pub(crate) struct Manifest {
    /// The folder's name, such as `engine`.
    pub(crate) name: String,
    /// Crates of this workspace that it depends on, by folder.
    pub(crate) own: BTreeSet<String>,
    /// Foreign crates that it depends on, as the manifest spells them.
    pub(crate) foreign: BTreeSet<String>,
    /// Foreign crates that only its tests depend on.
    pub(crate) foreign_of_tests: BTreeSet<String>,
}

impl Manifest {
    fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        let section = |name: &str| -> BTreeSet<String> {
            table.get(name).and_then(toml::Value::as_table).into_iter().flat_map(|deps| deps.keys().cloned()).collect()
        };
        let (own, foreign) =
            section("dependencies").into_iter().partition::<BTreeSet<_>, _>(|name| name.starts_with("codeyard-"));
        Self {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            own: own.iter().map(|name| name.trim_start_matches("codeyard-").to_owned()).collect(),
            foreign,
            foreign_of_tests: section("dev-dependencies")
                .into_iter()
                .filter(|name| !name.starts_with("codeyard-"))
                .collect(),
        }
    }
}

/// The manifests of all crates below `src`, by folder.
pub(crate) fn manifests() -> BTreeMap<String, Manifest> {
    let entries = project().join("src").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.join("Cargo.toml").is_file());
    let manifests: BTreeMap<String, Manifest> =
        folders.map(|folder| Manifest::read(&folder)).map(|manifest| (manifest.name.clone(), manifest)).collect();
    assert!(manifests.len() > 15, "the crates weren't found");
    manifests
}
