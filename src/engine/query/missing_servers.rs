//! Whether a language server that isn't installed could have added to a search of symbols by name.
//!
//! Its answer would only hold names of its own files, so it is worth naming only if one of them has the name as text. Invariant: a server is
//! left out only if all files of its languages were read and none has the last part of the query, ignoring case; what isn't known in time
//! counts as having it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::time::timeout_at;

use crate::limits::{MAX_NAME_FILES, MAX_NAME_READ_BYTES};
use crate::server::program::isolation::RESTRICTED;
use crate::server::registry::IndexedRegistry;
use crate::status::server_state::Unavailable;
use crate::status::watch_slot::WatchSlot;
use codeyard_base::clock::Instant;
use codeyard_files::gate::Gate;
use codeyard_model::error::ErrorCode;

/// Reasons of servers that are missing for good, so that a further question would have the same answer.
const MISSING: [&str; 2] = ["not_installed", RESTRICTED];

/// What the search needs of the workspace.
pub(crate) struct NameSearch<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) servers: &'a Arc<IndexedRegistry>,
    pub(crate) slot: &'a WatchSlot,
    /// When the answer is due.
    pub(crate) until: Instant,
}

/// Ends the reading of files that nobody waits for any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl NameSearch<'_> {
    /// The kinds among `unavailable` whose files don't have the name.
    pub(crate) async fn irrelevant(&self, unavailable: &[Unavailable], query: &str) -> BTreeSet<String> {
        let missing: Vec<&Unavailable> = unavailable.iter().filter(|why| is_missing(why)).collect();
        let (Some(watched), false) = (self.slot.get(), missing.is_empty()) else { return BTreeSet::new() };
        let files = watched.source_files();
        let mut irrelevant = BTreeSet::new();
        for why in missing {
            let Some(own) = self.files_of(&why.kind, &files) else { continue };
            let name = codeyard_canon::last_part(query).to_lowercase();
            let ends = Arc::new(AtomicBool::new(false));
            let _stop = StopOnDrop(ends.clone());
            let search = self.gate.run(move |gate| may_have(gate, &own, &name, &ends));
            if timeout_at(self.until, search).await == Ok(Ok(false)) {
                irrelevant.insert(why.kind.clone());
            }
        }
        irrelevant
    }

    /// The files of the server's languages; `None` if they are too many.
    fn files_of(&self, kind: &str, files: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let languages = &self.servers.registry.servers.get(kind)?.languages;
        let is_own = |path: &&PathBuf| {
            self.servers.index.language_of(path).is_some_and(|language| languages.iter().any(|own| own == language))
        };
        let own: Vec<PathBuf> = files.iter().filter(is_own).take(MAX_NAME_FILES + 1).cloned().collect();
        (own.len() <= MAX_NAME_FILES).then_some(own)
    }
}

/// Whether this server is missing for good.
pub(crate) fn is_missing(why: &Unavailable) -> bool {
    MISSING.contains(&why.reason) && !why.kind.is_empty()
}

/// Whether one of the files may have the name, which is in lower case. Blocks.
fn may_have(gate: &Gate, files: &[PathBuf], name: &str, ends: &AtomicBool) -> bool {
    let mut left = MAX_NAME_READ_BYTES;
    files.iter().any(|path| {
        if ends.load(Relaxed) {
            return true;
        }
        match text(gate, path, left) {
            Ok(Some(text)) => {
                left = left.saturating_sub(text.len());
                text.contains(name)
            }
            Ok(None) => false,
            Err(Unread) => true,
        }
    })
}

/// A file could not be read.
struct Unread;

/// The text of a file in lower case; `None` if it is gone or outside the roots.
fn text(gate: &Gate, path: &Path, max_bytes: usize) -> Result<Option<String>, Unread> {
    let uri = match gate.path(path) {
        Ok(uri) => uri,
        // A server's results from outside the roots are left out anyway.
        Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::WorkspaceDenied) => return Ok(None),
        Err(_) => return Err(Unread),
    };
    let (bytes, _) = gate.read(&uri, max_bytes).map_err(|_| Unread)?;
    Ok(Some(String::from_utf8_lossy(&bytes).to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_text_ignoring_case_and_doubt_counts_as_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let gate = Gate::open(std::slice::from_ref(&root), &[]).unwrap();
        std::fs::write(root.join("a.md"), "# The Query set\n").unwrap();
        std::fs::write(root.join("b.md"), b"\xff gr\xc3\x96\xc3\x9fe").unwrap();
        let files = [root.join("a.md"), root.join("b.md"), root.join("gone.md")];
        let has = |name: &str, ends| may_have(&gate, &files, name, &AtomicBool::new(ends));
        assert!(has("query", false) && has("größe", false) && has("set", false));
        assert!(!has("queryset", false));
        assert!(has("queryset", true), "nobody knows");
        std::fs::write(root.join("a.md"), vec![b'x'; MAX_NAME_READ_BYTES + 1]).unwrap();
        assert!(has("queryset", false), "too much to read");
    }
}
