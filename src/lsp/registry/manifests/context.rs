//! What a manifest reader gets, and what it answers.

use std::path::{Component, Path, PathBuf};

use crate::registry::marker_files::MarkerFiles;

/// What manifests say of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The whole that the file's project is a part of: its folder, and the manifest that says so.
    pub whole: Option<(PathBuf, PathBuf)>,
    /// Folders with a list in which the file's project is missing: what else marks a whole there doesn't count for it.
    pub without: Vec<PathBuf>,
}

/// Where is asked: the file's folder and those above it, the nearest first, the workspace root last.
pub struct ManifestContext<'a> {
    /// See above; never empty.
    pub folders: &'a [&'a Path],
    /// The nearest of them that the rule's own markers mark.
    pub marked: Option<&'a Path>,
    /// How the disk is seen.
    pub files: &'a dyn MarkerFiles,
}

impl Membership {
    /// The whole in `folder`, by its file `name`.
    pub(super) fn whole(folder: &Path, name: &str) -> Self {
        Self { whole: Some((folder.into(), folder.join(name))), without: Vec::new() }
    }
}

impl<'a> ManifestContext<'a> {
    pub(super) fn top(&self) -> &'a Path {
        self.folders[self.folders.len() - 1]
    }

    /// The nearest folder that holds a file of this name.
    pub(super) fn nearest(&self, name: &str) -> Option<&'a Path> {
        self.folders.iter().find(|folder| self.files.exists(&folder.join(name))).copied()
    }

    /// `folder` and those above it.
    pub(super) fn from(&self, folder: &Path) -> impl Iterator<Item = &'a Path> {
        let folder = folder.to_path_buf();
        self.folders.iter().copied().filter(move |above| folder.starts_with(above))
    }

    /// The text of a file in the workspace root.
    pub(super) fn text(&self, file: &Path) -> Option<String> {
        self.files.exists(file).then(|| self.files.read_text(file, self.top()))
    }

    /// What `path` means in `folder`, if that is in the workspace root. By its letters alone, as the tools read it.
    pub(super) fn within(&self, folder: &Path, path: &str) -> Option<PathBuf> {
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
