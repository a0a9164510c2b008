//! The input and the result of a manifest reader.

use std::any::{Any, TypeId};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use codeyard_files::gate::normal;

use crate::registry::marker_files::MarkerFiles;

/// The build workspace that a file's project belongs to, according to manifests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Membership {
    /// Its folder, and the manifest that lists the project.
    pub(crate) build_workspace: Option<(PathBuf, PathBuf)>,
    /// Folders with a list that omits the file's project: workspace markers there don't count for the file.
    pub(crate) not_listed_in: Vec<PathBuf>,
}

/// The folders to search: the file's folder and its parents, the nearest first, the workspace root last.
pub(crate) struct ManifestContext<'a> {
    /// Never empty.
    pub(crate) folders: &'a [&'a Path],
    /// The nearest of them that holds one of the rule's markers.
    pub(crate) marked: Option<&'a Path>,
    /// The view of the file system.
    pub(crate) files: &'a dyn MarkerFiles,
}

impl Membership {
    /// Membership in the build workspace of the manifest `name` in `folder`.
    pub(super) fn of(folder: &Path, name: &str) -> Self {
        Self { build_workspace: Some((folder.into(), folder.join(name))), not_listed_in: Vec::new() }
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

    /// `folder` and its parents.
    pub(super) fn from(&self, folder: &Path) -> impl Iterator<Item = &'a Path> {
        let folder = folder.to_path_buf();
        self.folders.iter().copied().filter(move |above| folder.starts_with(above))
    }

    /// The text of a file inside the workspace root.
    pub(super) fn text(&self, file: &Path) -> Option<String> {
        self.files.exists(file).then(|| self.files.read_text(file, self.top()))
    }

    /// What `read` finds in a file. For many files in a row it is called once.
    pub(super) fn parsed<T: 'static>(&self, file: &Path, read: impl Fn() -> T) -> Rc<T> {
        let parsed = self.files.parsed(file, TypeId::of::<T>(), &|| -> Rc<dyn Any> { Rc::new(read()) });
        parsed.downcast().unwrap_or_else(|_| Rc::new(read()))
    }

    /// The path that `path` means in `folder`, if it lies inside the workspace root. Links are not resolved, as in
    /// the tools.
    pub(super) fn within(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        let path = normal(&folder.join(path));
        path.starts_with(self.top()).then_some(path)
    }
}
