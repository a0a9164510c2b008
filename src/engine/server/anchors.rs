//! Selects the anchor documents of a server: files that are kept open, because the server knows only projects with an open document.
//!
//! Deterministic: the first file by language order and path, and one more for each nested project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::registry::IndexedRegistry;
use codeyard_lsp::registry::ServerSpec;

/// Largest number of sources that are opened because the compile database does not list them.
const MAX_UNNAMED: usize = 32;
/// Largest number of anchors of one server.
const MAX_ANCHORS: usize = 32;

/// Whether `server` needs anchors.
pub(crate) fn are_chosen_for(server: &ServerSpec) -> bool {
    server.quirks.anchor || server.quirks.index_follows_open || !server.quirks.anchor_markers.is_empty()
}

/// The anchors of `server` at `root`. `files` are the workspace's source files, sorted.
pub(crate) fn choose(server: &ServerSpec, root: &Path, files: &[PathBuf], servers: &IndexedRegistry) -> Vec<PathBuf> {
    if !are_chosen_for(server) {
        return vec![];
    }
    let serves = |path: &PathBuf| path.starts_with(root) && servers.serves(server, path);
    let own: Vec<&PathBuf> = files.iter().filter(|path| serves(path)).collect();
    let mut anchors: BTreeSet<PathBuf> = BTreeSet::new();
    anchors.extend(best(&own, servers, server));
    let mut folders: BTreeSet<&Path> = BTreeSet::new();
    for path in &own {
        folders.extend(path.ancestors().skip(1).take_while(|folder| folder.starts_with(root)));
    }
    let marked = folders
        .into_iter()
        .filter(|folder| server.quirks.anchor_markers.iter().any(|marker| folder.join(marker).exists()));
    for folder in marked {
        let below: Vec<&PathBuf> = own.iter().filter(|path| path.starts_with(folder)).copied().collect();
        if anchors.len() < MAX_ANCHORS {
            anchors.extend(best(&below, servers, server));
        }
    }
    if server.quirks.index_follows_open {
        anchors.extend(unnamed(&own, root, server).take(MAX_UNNAMED).cloned());
    }
    anchors.into_iter().collect()
}

/// Sources that the compile database does not list. A server that indexes the database and the open files knows them only when they are open.
fn unnamed<'a>(files: &'a [&PathBuf], root: &Path, server: &ServerSpec) -> impl Iterator<Item = &'a PathBuf> {
    let database = server.quirks.copy_to_cache.iter().find_map(|name| {
        let path = root.join(name);
        Some((std::fs::read(&path).ok()?, path.parent()?.to_path_buf()))
    });
    let named = database.map(|(bytes, folder)| named_files(&bytes, &folder)).unwrap_or_default();
    files.iter().copied().filter(move |path| !is_header(path) && !named.contains(path.as_path()))
}

/// The absolute paths of the files in a compile database in `folder`.
fn named_files(database: &[u8], folder: &Path) -> BTreeSet<PathBuf> {
    let entries: Vec<serde_json::Map<String, Value>> = serde_json::from_slice(database).unwrap_or_default();
    let text = |entry: &serde_json::Map<String, Value>, key: &str| Some(entry.get(key)?.as_str()?.to_owned());
    let named = entries.iter().filter_map(|entry| {
        let directory = folder.join(text(entry, "directory").unwrap_or_default());
        directory.join(text(entry, "file")?).canonicalize().ok()
    });
    named.collect()
}

/// Whether a file has the extension of a header.
pub(crate) fn is_header(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.to_string_lossy().starts_with('h'))
}

fn best(files: &[&PathBuf], servers: &IndexedRegistry, server: &ServerSpec) -> Option<PathBuf> {
    let rank = |path: &PathBuf| {
        let language = servers.index.language_of(path).unwrap_or_default();
        let place = server.languages.iter().position(|own| own == language).unwrap_or(usize::MAX);
        (is_header(path), place, path.components().count(), path.clone())
    };
    files.iter().min_by_key(|path| rank(path)).map(|path| (*path).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_without_a_database_entry_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a.c", "b.c", "c.h"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let database = r#"[{"directory": ".", "file": "a.c"}, {"directory": "/nowhere", "file": "x.c"}, {"file": 7}]"#;
        std::fs::write(root.join("compile_commands.json"), database).unwrap();
        let mut server = ServerSpec::default();
        server.quirks.copy_to_cache = vec!["compile_commands.json".into()];
        let files = ["a.c", "b.c", "c.h"].map(|name| root.join(name));
        let files: Vec<&PathBuf> = files.iter().collect();
        assert_eq!(unnamed(&files, &root, &server).collect::<Vec<_>>(), [&root.join("b.c")]);
        server.quirks.copy_to_cache.clear();
        assert_eq!(unnamed(&files, &root, &server).count(), 2, "without a database all sources count");
    }
}
