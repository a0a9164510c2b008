//! Replacing a file as a whole: a reader sees the old content or the new one, never a part.
//!
//! The content is written to a new file beside the target and renamed over it. Invariants: the new file has mode 0600; a failure leaves
//! the old file as it was and removes the new one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// What a replacement survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process. The kernel writes the content when it likes.
    Process,
    /// A power failure. Blocks for two `fsync`s: of the file, then of its folder.
    Power,
}

/// Replaces the file at `path` by what `write` writes.
///
/// # Errors
/// Of `write`, and if the file can't be created, written or renamed.
pub fn replace(path: &Path, durability: Durability, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut draft = tempfile::Builder::new().prefix(".").suffix(".new").tempfile_in(folder(path))?;
    write(draft.as_file_mut())?;
    if durability == Durability::Power {
        draft.as_file().sync_all()?;
    }
    draft.persist(path).map_err(|error| error.error)?;
    sync_folder(path, durability)
}

/// Replaces the file at `path` by `bytes`.
///
/// # Errors
/// If the file can't be created, written or renamed.
pub fn replace_with(path: &Path, durability: Durability, bytes: &[u8]) -> io::Result<()> {
    replace(path, durability, |file| file.write_all(bytes))
}

/// Renames `draft`, a complete file that was written as `file`, to `path`, in the same folder. For a file that is too large to be
/// written by one call.
///
/// # Errors
/// If it can't be synchronised or renamed. Then `draft` remains.
pub fn publish(draft: &Path, file: File, path: &Path, durability: Durability) -> io::Result<()> {
    if durability == Durability::Power {
        file.sync_all()?;
    }
    drop(file);
    std::fs::rename(draft, path)?;
    sync_folder(path, durability)
}

fn sync_folder(path: &Path, durability: Durability) -> io::Result<()> {
    match durability {
        Durability::Process => Ok(()),
        Durability::Power => File::open(folder(path))?.sync_all(),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for (durability, bytes) in [(Durability::Process, "one"), (Durability::Power, "two")] {
            replace_with(&path, durability, bytes.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), bytes);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let failed = replace(&path, Durability::Power, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        let draft = dir.path().join("draft");
        let mut file = File::create(&draft).unwrap();
        file.write_all(b"three").unwrap();
        publish(&draft, file, &path, Durability::Power).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
        assert!(replace_with(&dir.path().join("missing/file"), Durability::Process, b"").is_err());
    }
}
