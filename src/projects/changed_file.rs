//! Files in the cache folder that language servers read.
//!
//! A file is replaced as a whole, so a server never reads half of one, and a link in its place isn't followed. Invariant: a file whose text stays
//! the same isn't touched, because its time of modification tells a server that it changed.

use std::io;
use std::path::Path;

use codeyard_base::atomic_file::{self, Durability};

/// Writes a file and its folder, unless the file has this text already.
///
/// # Errors
/// Errors of the file system.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    let is_regular = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    if is_regular && std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    atomic_file::replace_with(path, Durability::Process, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_only_by_another_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/settings");
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
        write_if_changed(&path, "one").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        write_if_changed(&path, "one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old);
        write_if_changed(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_ne!(fs::metadata(&path).unwrap().modified().unwrap(), old);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_its_target_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let path = folder.path().join("settings");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        for text in ["new", "kept"] {
            write_if_changed(&path, text).unwrap();
            assert!(fs::symlink_metadata(&path).unwrap().is_file());
            assert_eq!(
                (fs::read_to_string(&target).unwrap().as_str(), fs::read_to_string(&path).unwrap().as_str()),
                ("kept", text)
            );
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(&target, &path).unwrap();
        }
    }
}
