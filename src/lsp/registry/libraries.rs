//! The libraries that a language server takes from the project it serves, such as the project's own eslint.
//!
//! Without its library such a server starts and finds nothing, which looks like an answer. This module only looks whether one is there, as
//! Node does: in the project and in all folders above it. It reads no file. Invariant: only linters need a library (validation).

use std::path::Path;

use super::marker_files::MarkerFiles;
use super::schema::ServerSpec;

/// Lock files of packages of Node, and the command that installs what they lock.
pub const NODE_INSTALLERS: [(&str, &str); 6] = [
    ("package-lock.json", "npm ci"),
    ("npm-shrinkwrap.json", "npm ci"),
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun install --frozen-lockfile"),
    ("bun.lockb", "bun install --frozen-lockfile"),
];

/// A library that a server needs and the project doesn't hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingLibrary {
    /// What is missing: `node_modules/eslint`.
    pub path: String,
    /// The command that installs it, to be run in the project.
    pub command: &'static str,
}

/// The library that `server` would not find for the project at `root`.
pub fn missing_library(server: &ServerSpec, root: &Path, files: &dyn MarkerFiles) -> Option<MissingLibrary> {
    let path = server.needs.first()?;
    let holds = |folder: &Path| server.needs.iter().any(|needed| files.exists(&folder.join(needed)));
    if root.ancestors().any(holds) {
        return None;
    }
    let lock = |folder: &Path| NODE_INSTALLERS.iter().find(|(lock, _)| files.exists(&folder.join(lock)));
    let command = root.ancestors().find_map(lock).map_or("npm install", |(_, command)| command);
    Some(MissingLibrary { path: path.clone(), command })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::registry::{DiskFiles, Registry};

    #[test]
    fn a_library_counts_in_the_project_and_above() {
        let top = tempfile::tempdir().unwrap();
        let eslint = &Registry::builtin().servers["eslint"];
        let project = top.path().join("a/b");
        fs::create_dir_all(&project).unwrap();
        let missing_library = |server: &ServerSpec, root: &Path| missing_library(server, root, &DiskFiles);
        let missing = |command| Some(MissingLibrary { path: "node_modules/eslint".into(), command });
        assert_eq!(missing_library(eslint, &project), missing("npm install"));
        fs::write(top.path().join("pnpm-lock.yaml"), "").unwrap();
        assert_eq!(missing_library(eslint, &project), missing("pnpm install --frozen-lockfile"));
        fs::create_dir_all(top.path().join("a/node_modules/eslint")).unwrap();
        assert_eq!(missing_library(eslint, &project), None);
        fs::remove_dir_all(top.path().join("a/node_modules")).unwrap();
        fs::write(top.path().join(".pnp.cjs"), "").unwrap();
        assert_eq!(missing_library(eslint, &project), None, "yarn keeps packages elsewhere");
        assert_eq!(missing_library(&Registry::builtin().servers["biome"], &project), None);
    }
}
