//! Links the packages of another kind's installation where a kind needs the same ones, instead of fetching them again.
//!
//! Both installations are whole folders, so either can be removed without the other. Invariant: files of installations are never written to after
//! they are in place, so links are as good as copies; the record of an installation is never linked.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{RECORD, record};

/// Fills `staging` with the files of an installation that is named like `folder`, below another kind of `servers`. Returns whether there was one.
/// If it can't be linked, `staging` is empty again.
pub(super) fn link(servers: &Path, folder: &Path, staging: &Path) -> bool {
    let Some(other) = same_packages(servers, folder) else { return false };
    let is_linked = link_tree(&other, staging).is_ok();
    if !is_linked {
        // The packages are fetched into an empty folder.
        let _ = fs::remove_dir_all(staging).and_then(|()| fs::create_dir_all(staging));
    }
    is_linked
}

/// The complete installation of another kind with the same packages. The name of its folder tells.
fn same_packages(servers: &Path, folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?;
    let kinds = fs::read_dir(servers).ok()?.flatten().map(|kind| kind.path());
    let mut others: Vec<PathBuf> = kinds.map(|kind| kind.join(name)).filter(|other| other != folder).collect();
    others.sort();
    others.into_iter().find(|other| record(other).is_some())
}

fn link_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (entry, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        let kind = fs::symlink_metadata(&entry)?.file_type();
        if kind.is_symlink() {
            symlink(fs::read_link(&entry)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            link_tree(&entry, &target)?;
        } else if entry.file_name().is_some_and(|name| name != RECORD) {
            fs::hard_link(&entry, &target)?;
        }
    }
    Ok(())
}
