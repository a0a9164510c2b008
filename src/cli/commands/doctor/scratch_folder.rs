//! A folder that exists only while a command runs.

use std::io;
use std::path::{Path, PathBuf};

/// The folder. Dropping it removes it with its content.
pub(super) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// A new folder in `parent`. Its name holds the process id, so no two commands share one.
    ///
    /// # Errors
    /// It can't be created.
    pub(super) fn below(parent: &Path) -> io::Result<Self> {
        let path = parent.join(format!("doctor-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // A folder that can't be removed holds nothing that anyone reads.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
