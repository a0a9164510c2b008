//! Identifies one language server of a workspace.

use std::path::{Path, PathBuf};

use codeyard_base::digest::sha256hex;
use codeyard_lsp::registry::MultiRoot;
use codeyard_model::roots::RootSet;

/// A server kind at a project root, or at the workspace's first root if one process handles all of its project roots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildKey {
    /// The server's kind.
    pub kind: String,
    /// The project root, or the workspace's first root.
    pub root: PathBuf,
}

impl ChildKey {
    /// The key of the server that handles the project at `project_root`. `roots` are those of its workspace.
    pub fn of(kind: &str, multi_root: MultiRoot, roots: &RootSet, project_root: &Path) -> Self {
        let shared = roots.roots().first().filter(|_| multi_root != MultiRoot::No);
        Self { kind: kind.to_owned(), root: shared.map_or(project_root, PathBuf::as_path).to_path_buf() }
    }

    /// A short identifier that depends only on kind and root, such as `ty-1a2b3c4d`.
    pub fn id(&self) -> String {
        use std::os::unix::ffi::OsStrExt;
        format!("{}-{}", self.kind, &sha256hex(self.root.as_os_str().as_bytes())[..8])
    }
}
