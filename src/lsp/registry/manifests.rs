//! Manifests that say which projects belong together: a Cargo workspace, `go.work`, the workspaces of npm, yarn, bun and pnpm,
//! the references of TypeScript's solutions. Each is read by the rules of its own tool.
//!
//! It answers one question: of which whole is the project that this file lies in? It knows nothing of language servers.
//! Invariants: what lies outside the workspace root is never read and never an answer; a manifest that can't be read names
//! nobody and keeps nobody out; the work for one file is bounded.

mod cargo;
mod go;
mod jsonc;
mod node;
mod tsconfig;

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::project_root::Look;

/// A kind of manifest, by its file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Manifest {
    /// Cargo's: `[workspace]` with `members` and `exclude`, and `package.workspace`, which points at one.
    #[serde(rename = "Cargo.toml")]
    Cargo,
    /// Go's list of modules that are used together.
    #[serde(rename = "go.work")]
    Go,
    /// `workspaces`, or the `packages` of a `pnpm-workspace.yaml` beside it.
    #[serde(rename = "package.json")]
    Node,
    /// TypeScript's `references`, followed from configuration to configuration.
    #[serde(rename = "tsconfig.json")]
    TypeScript,
}

/// What manifests say of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The whole that the file's project is a part of: its folder, and the manifest that says so.
    pub whole: Option<(PathBuf, PathBuf)>,
    /// Folders with a list in which the file's project is missing: what else marks a whole there doesn't count for it.
    pub without: Vec<PathBuf>,
}

/// Where is asked: the file's folder and those above it, the nearest first, the workspace root last.
pub struct Ground<'a> {
    /// See above; never empty.
    pub folders: &'a [&'a Path],
    /// The nearest of them that the rule's own markers mark.
    pub marked: Option<&'a Path>,
    /// How the disk is seen.
    pub look: &'a dyn Look,
}

impl Manifest {
    /// Whether a file of this name may be read for it.
    pub fn reads(self, name: &str) -> bool {
        match self {
            Self::Cargo => name == "Cargo.toml",
            Self::Go => name == "go.work",
            Self::Node => ["package.json", "pnpm-workspace.yaml"].contains(&name),
            // References may name a configuration of any name.
            Self::TypeScript => name.ends_with(".json"),
        }
    }

    /// What manifests of this kind say of a file on `ground`.
    pub fn word(self, ground: &Ground<'_>) -> Word {
        match self {
            Self::Cargo => cargo::word(ground),
            Self::Go => go::word(ground),
            Self::Node => node::word(ground),
            Self::TypeScript => tsconfig::word(ground),
        }
    }
}

impl Word {
    /// The whole in `folder`, by its file `name`.
    fn whole(folder: &Path, name: &str) -> Self {
        Self { whole: Some((folder.into(), folder.join(name))), without: Vec::new() }
    }
}

impl<'a> Ground<'a> {
    fn top(&self) -> &'a Path {
        self.folders[self.folders.len() - 1]
    }

    /// The nearest folder that holds a file of this name.
    fn nearest(&self, name: &str) -> Option<&'a Path> {
        self.folders.iter().find(|folder| self.look.exists(&folder.join(name))).copied()
    }

    /// `folder` and those above it.
    fn from(&self, folder: &Path) -> impl Iterator<Item = &'a Path> {
        let folder = folder.to_path_buf();
        self.folders.iter().copied().filter(move |above| folder.starts_with(above))
    }

    /// The text of a file in the workspace root.
    fn text(&self, file: &Path) -> Option<String> {
        self.look.exists(file).then(|| self.look.text(file, self.top()))
    }

    /// What `path` means in `folder`, if that is in the workspace root. By its letters alone, as the tools read it.
    fn within(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        let whole = plain(&folder.join(path))?;
        whole.starts_with(self.top()).then_some(whole)
    }
}

/// An absolute path without `.` and `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !plain.pop() => return None,
            Component::ParentDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}
