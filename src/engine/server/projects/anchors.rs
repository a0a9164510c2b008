//! Selects the anchor documents of a server: files that are kept open, because the server knows only projects with an open document.
//!
//! Deterministic: the first file by language order and path, and one more for each nested project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::server::registry::IndexedRegistry;
use codeyard_lsp::registry::ServerSpec;
use codeyard_projects::is_fragment;

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
    anchors.into_iter().collect()
}

/// Whether a file has the extension of a header, or of another file that is meant to be included.
pub(crate) fn is_header(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.to_string_lossy().to_ascii_lowercase().starts_with('h'))
        || is_fragment(path)
}

fn best(files: &[&PathBuf], servers: &IndexedRegistry, server: &ServerSpec) -> Option<PathBuf> {
    let rank = |path: &PathBuf| {
        let language = servers.index.language_of(path).unwrap_or_default();
        let place = server.languages.iter().position(|own| own == language).unwrap_or(usize::MAX);
        (is_header(path), place, path.components().count(), path.clone())
    };
    files.iter().min_by_key(|path| rank(path)).map(|path| (*path).clone())
}
