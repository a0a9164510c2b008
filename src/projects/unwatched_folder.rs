//! Folders whose files count for a project, and that the watcher doesn't follow, such as the build output that holds the jars of dependencies.
//!
//! Their state is the time of their last change, which an added, replaced or removed file moves. Invariant: a folder that isn't there has a
//! state, too.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder as it was when its project was prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwatchedFolder {
    path: PathBuf,
    changed_at: Option<SystemTime>,
}

impl UnwatchedFolder {
    /// The folder at `path` as it is now. Blocks.
    pub fn look(path: PathBuf) -> Self {
        let changed_at = changed_at(&path);
        Self { path, changed_at }
    }

    /// Whether files were added to it, replaced or removed since. Blocks.
    pub fn has_changed(&self) -> bool {
        self.changed_at != changed_at(&self.path)
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_file_and_a_new_folder_are_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target/dependency");
        let missing = UnwatchedFolder::look(path.clone());
        assert!(!missing.has_changed());
        std::fs::create_dir_all(&path).unwrap();
        assert!(missing.has_changed());
        let old = SystemTime::UNIX_EPOCH;
        std::fs::File::open(&path).unwrap().set_modified(old).unwrap();
        let empty = UnwatchedFolder::look(path.clone());
        assert!(!empty.has_changed());
        std::fs::write(path.join("a.jar"), "").unwrap();
        assert!(empty.has_changed());
    }
}
