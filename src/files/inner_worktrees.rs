//! Which files lie in a linked worktree below a root, so that they are copies of the root's own.
//!
//! It remembers what it has found, for the files of one answer. It reads no file but those that say where a git directory lies.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_model::roots::RootSet;

use crate::git_layout::is_inner_worktree;

/// The linked worktrees in the working trees of their own repositories.
#[derive(Debug)]
pub struct InnerWorktrees {
    roots: Arc<RootSet>,
    /// The worktree that holds a directory, if one does.
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl InnerWorktrees {
    /// Those below these roots.
    pub fn below(roots: &Arc<RootSet>) -> Self {
        Self { roots: roots.clone(), known: HashMap::new() }
    }

    /// The innermost linked worktree that holds `file`, a real path below a root. A root isn't one.
    pub fn of_file(&mut self, file: &Path) -> Option<PathBuf> {
        self.of_dir(file.parent()?)
    }

    fn of_dir(&mut self, dir: &Path) -> Option<PathBuf> {
        if self.roots.allowed().any(|root| root == dir) {
            return None;
        }
        if let Some(known) = self.known.get(dir) {
            return known.clone();
        }
        let found = if is_inner_worktree(dir) { Some(dir.to_owned()) } else { self.of_dir(dir.parent()?) };
        self.known.insert(dir.to_owned(), found.clone());
        found
    }
}
