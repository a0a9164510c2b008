//! The roots whose working tree has an index below a folder.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::{IndexStore, LIVE};

/// The roots, sorted. Indexes that can't be read, and roots that are gone, are left out.
///
/// # Errors
/// The folder can't be read. A missing folder has no indexes.
pub fn indexed_roots(indexes: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(indexes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut roots = Vec::new();
    for entry in entries.flatten().filter(|entry| entry.path().join(crate::store::FILE).is_file()) {
        let manifests = IndexStore::open_for_queries(&entry.path()).and_then(|store| store.manifests());
        let live = manifests.unwrap_or_default().into_iter().filter(|head| head.key.reference == LIVE);
        roots.extend(live.map(|head| PathBuf::from(head.key.place)).filter(|root| root.is_dir()));
    }
    roots.sort();
    roots.dedup();
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Project;
    use crate::settings::IndexSettings;

    #[test]
    fn indexed_roots_are_found_and_those_that_are_gone_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let indexes = base.join("index");
        assert_eq!(indexed_roots(&indexes).unwrap(), Vec::<PathBuf>::new());
        let root = |name: &str| {
            std::fs::create_dir(base.join(name)).unwrap();
            std::fs::write(base.join(name).join("a.txt"), name).unwrap();
            base.join(name)
        };
        for name in ["b", "a", "gone"] {
            let project = Project::new(&indexes, &root(name), false, IndexSettings::default()).unwrap();
            let ticket = project.prepare(None, false).unwrap();
            project.run(&ticket).unwrap();
        }
        root("unindexed");
        std::fs::remove_dir_all(base.join("gone")).unwrap();
        std::fs::create_dir(indexes.join("unreadable")).unwrap();
        std::fs::write(indexes.join("unreadable").join(crate::store::FILE), "x").unwrap();
        assert_eq!(indexed_roots(&indexes).unwrap(), [base.join("a"), base.join("b")]);
    }
}
