//! Anchor documents: which files of a project are kept open, so that a server whose answers hang on open documents sees the
//! whole project.
//!
//! Deterministic: the first file by language order and path; one more for each folder that is a project of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::engine::workspace_setup::Servers;
use crate::lsp::registry::Server;

/// Most anchors of one server.
const MAX_ANCHORS: usize = 32;

/// The anchors of `server` at `root`. `files` are the workspace's source files, sorted.
pub fn choose(server: &Server, root: &Path, files: &[PathBuf], servers: &Servers) -> Vec<PathBuf> {
    if !server.quirks.anchor && server.quirks.anchor_markers.is_empty() {
        return vec![];
    }
    let serves = |path: &PathBuf| {
        let language = servers.index.language_of(path);
        path.starts_with(root) && language.is_some_and(|id| server.languages.iter().any(|own| own == id))
    };
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

fn best(files: &[&PathBuf], servers: &Servers, server: &Server) -> Option<PathBuf> {
    let rank = |path: &PathBuf| {
        let language = servers.index.language_of(path).unwrap_or_default();
        let place = server.languages.iter().position(|own| own == language).unwrap_or(usize::MAX);
        let header = path.extension().is_some_and(|end| end.to_string_lossy().starts_with('h'));
        (header, place, path.components().count(), path.clone())
    };
    files.iter().min_by_key(|path| rank(path)).map(|path| (*path).clone())
}
