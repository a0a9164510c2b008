//! Identifies one language server of a workspace.

use std::path::PathBuf;

use codeyard_base::digest::sha256hex;

/// A server kind at a project root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildKey {
    /// The server's kind.
    pub kind: String,
    /// The project root.
    pub root: PathBuf,
}

impl ChildKey {
    /// A short identifier that depends only on kind and root, such as `ty-1a2b3c4d`.
    pub fn id(&self) -> String {
        use std::os::unix::ffi::OsStrExt;
        format!("{}-{}", self.kind, &sha256hex(self.root.as_os_str().as_bytes())[..8])
    }
}
