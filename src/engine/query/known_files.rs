//! The files on disk as a workspace last observed them: the stamps of all files that answers depend on, and the texts of recent
//! documents. It finds edits that the watcher hasn't reported yet.
//!
//! It touches no file: calls look at files for it ([`file_looks`](super::file_looks)). The workspace's actor changes it; calls only read in it
//! how a file must be looked at. Invariants: its lock isn't held while a file is touched; a file counts as unchanged only if a
//! look says so that was compared with the present observation; a text is kept only while its file is known and unchanged.

use std::collections::HashMap;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::file_looks::{FileCheck, Look, ObservedFile, Sight, WantedText};
use crate::limits;
use codeyard_lsp::documents::document_input::DocumentSource;
use codeyard_model::error::ToolError;
use codeyard_model::uri::{CanonicalUri, encode_path};

/// The known files of a workspace, shared with its calls.
pub type SharedKnownFiles = Arc<Mutex<KnownFiles>>;

/// The files of one workspace that answers depend on.
pub struct KnownFiles {
    known: HashMap<CanonicalUri, ObservedFile>,
    texts: LruCache<CanonicalUri, Arc<DocumentSource>>,
    text_bytes: usize,
}

impl Default for KnownFiles {
    /// No file is known yet.
    fn default() -> Self {
        // An unbounded cache allocates no table while the workspace is idle; `keep_text` bounds it.
        Self { known: HashMap::new(), texts: LruCache::unbounded(), text_bytes: 0 }
    }
}

impl KnownFiles {
    /// The text of a document that was just checked, if it is kept.
    pub fn text(&mut self, uri: &CanonicalUri) -> Option<Arc<DocumentSource>> {
        self.texts.get(uri).cloned()
    }

    /// How the document of a query must be looked at.
    pub fn look_at_document(&self, uri: &CanonicalUri) -> Look {
        let text = if self.texts.contains(uri) { WantedText::Changed } else { WantedText::Always };
        Look { text, ..self.look_at(uri) }
    }

    /// How a file of an answer must be looked at.
    pub fn look_at(&self, uri: &CanonicalUri) -> Look {
        Look { uri: uri.clone(), before: self.known.get(uri).cloned(), text: WantedText::Never }
    }

    /// Records what a call has seen of a file. `None`: the file was observed again since the call looked, so the call must look again.
    ///
    /// # Errors
    /// The file is gone, outside the roots or not readable.
    pub fn apply(&mut self, sight: &Sight) -> Option<Result<FileCheck, ToolError>> {
        let known = self.known.get(&sight.uri);
        let is_current = known == sight.before.as_ref();
        let (check, now) = match &sight.found {
            Ok((check, now)) => (*check, now),
            Err(error) => return is_current.then(|| Err(error.clone())),
        };
        if !is_current {
            // Another call has seen the same, or this sight was applied before.
            let is_known = known.is_some() && known == now.as_ref();
            if let Some(Ok(source)) = sight.text.as_ref().filter(|_| is_known && !self.texts.contains(&sight.uri)) {
                self.keep_text(source.clone());
            }
            return is_known.then_some(Ok(FileCheck::Same));
        }
        if let Some(now) = now {
            self.record(sight.uri.clone(), now.clone());
        }
        if check == FileCheck::Changed {
            self.drop_text(&sight.uri);
        }
        if let Some(Ok(source)) = &sight.text {
            self.keep_text(source.clone());
        }
        Some(Ok(check))
    }

    /// Records an observation made elsewhere; returns whether it differs from the last one.
    pub fn record(&mut self, uri: CanonicalUri, observed: ObservedFile) -> FileCheck {
        if self.known.len() >= codeyard_files::limits::MAX_WATCHED_FILES {
            self.forget_all();
        }
        let check = match self.known.insert(uri.clone(), observed.clone()) {
            None => FileCheck::New,
            Some(before) if before.stamp == observed.stamp => match (before.hash, observed.hash) {
                (Some(before), Some(after)) if before != after => FileCheck::Changed,
                _ => FileCheck::Same,
            },
            Some(_) => FileCheck::Changed,
        };
        if check == FileCheck::Changed {
            self.drop_text(&uri);
        }
        check
    }

    /// Forgets a file that changed; returns whether it was known.
    pub fn forget(&mut self, uri: &CanonicalUri) -> bool {
        self.drop_text(uri);
        self.known.remove(uri).is_some()
    }

    /// Forgets a file by its real path.
    pub fn forget_path(&mut self, path: &std::path::Path) {
        if let Some((uri, _)) = self.known.remove_entry(encode_path(path).as_str()) {
            self.drop_text(&uri);
        }
    }

    /// Forgets all files, after a bulk change.
    pub fn forget_all(&mut self) {
        self.known.clear();
        self.texts.clear();
        self.text_bytes = 0;
    }

    /// The number of known files and of bytes of kept text.
    pub fn size(&self) -> (usize, usize) {
        (self.known.len(), self.text_bytes)
    }

    /// Drops the text of a changed file. The next check finds the file unchanged and must not return the old text.
    fn drop_text(&mut self, uri: &CanonicalUri) {
        if let Some(out) = self.texts.pop(uri) {
            self.text_bytes -= out.document.text().len();
        }
    }

    /// Keeps a text, and drops the least recently used ones beyond the limits.
    fn keep_text(&mut self, source: Arc<DocumentSource>) {
        self.text_bytes += source.document.text().len();
        if let Some((_, out)) = self.texts.push(source.uri.clone(), source) {
            self.text_bytes -= out.document.text().len();
        }
        let exceeds_limits = |kept: &Self| {
            kept.text_bytes > codeyard_lsp::limits::MAX_DOCUMENT_TEXTS_BYTES
                || kept.texts.len() > limits::MAX_OPEN_DOCUMENTS * 4
        };
        while exceeds_limits(self) && self.texts.len() > 1 {
            let Some((_, out)) = self.texts.pop_lru() else { break };
            self.text_bytes -= out.document.text().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::file_looks::{look_at, look_at_checked, observed};
    use super::*;
    use codeyard_files::gate::{FileStamp, Gate};

    /// A file with this text in its own workspace, which exists as long as the folder.
    fn a_file(text: &str) -> (tempfile::TempDir, PathBuf, Gate, CanonicalUri) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("a.c");
        std::fs::write(&file, text).unwrap();
        let gate = Gate::open(&[file.parent().unwrap().to_path_buf()], &[]).unwrap();
        let uri = gate.path(&file).unwrap();
        (folder, file, gate, uri)
    }

    /// What a look finds now.
    fn see(gate: &Gate, look: Look) -> Sight {
        look_at(gate, vec![look]).remove(0)
    }

    /// Looks at a document, and returns its check and its text.
    fn document(known: &mut KnownFiles, gate: &Gate, uri: &CanonicalUri) -> (FileCheck, String) {
        let sight = see(gate, known.look_at_document(uri));
        let check = known.apply(&sight).unwrap().unwrap();
        (check, known.text(uri).unwrap().document.text().to_owned())
    }

    #[test]
    fn a_check_elsewhere_does_not_validate_an_old_text() {
        let (_folder, file, gate, uri) = a_file("old");
        let mut known = KnownFiles::default();
        assert_eq!(document(&mut known, &gate, &uri), (FileCheck::New, "old".into()));
        assert_eq!(document(&mut known, &gate, &uri), (FileCheck::Same, "old".into()));
        std::fs::write(&file, "newer").unwrap();
        known.forget_all();
        // The file is in an answer that was computed meanwhile.
        known.record(uri.clone(), observed(&gate, &uri, gate.stat(&uri).unwrap()).unwrap());
        assert_eq!(document(&mut known, &gate, &uri), (FileCheck::Same, "newer".into()));
        std::fs::write(&file, "newest").unwrap();
        let sight = see(&gate, known.look_at(&uri));
        assert_eq!(known.apply(&sight), Some(Ok(FileCheck::Changed)));
        assert!(known.text(&uri).is_none());
        assert_eq!(document(&mut known, &gate, &uri), (FileCheck::Same, "newest".into()));
    }

    #[test]
    fn an_earlier_stamp_counts_only_if_it_agrees() {
        let (_folder, file, gate, uri) = a_file("old");
        let known = Mutex::new(KnownFiles::default());
        let see = |stamp: FileStamp| {
            let sight = look_at_checked(&gate, &known, &uri, Some(stamp));
            known.lock().apply(&sight).unwrap().unwrap()
        };
        let stamp = gate.stat(&uri).unwrap();
        assert_eq!(see(stamp), FileCheck::New);
        assert_eq!(known.lock().text(&uri).unwrap().document.text(), "old");
        known.lock().record(uri.clone(), ObservedFile { stamp, hash: None });
        assert_eq!(see(stamp), FileCheck::Same);
        let before = FileStamp { size: stamp.size + 1, ..stamp };
        assert_eq!(see(before), FileCheck::Same, "the stamp is older than the observation; a new one finds no change");
        std::fs::write(&file, "newer").unwrap();
        assert_eq!(see(stamp), FileCheck::Same, "the call saw it before the change");
        assert_eq!(see(gate.stat(&uri).unwrap()), FileCheck::Changed);
        assert_eq!(known.lock().text(&uri).unwrap().document.text(), "newer");
    }

    #[test]
    fn a_sight_counts_only_beside_the_observation_that_it_began_with() {
        let (_folder, file, gate, uri) = a_file("old");
        let mut known = KnownFiles::default();
        let [first, second] = [(); 2].map(|()| see(&gate, known.look_at_document(&uri)));
        assert_eq!(known.apply(&first), Some(Ok(FileCheck::New)));
        assert_eq!(known.apply(&first), Some(Ok(FileCheck::Same)), "applied again");
        assert_eq!(known.apply(&second), Some(Ok(FileCheck::Same)), "another call saw the same");
        let old = see(&gate, known.look_at(&uri));
        std::fs::write(&file, "newer").unwrap();
        assert_eq!(document(&mut known, &gate, &uri), (FileCheck::Changed, "newer".into()));
        assert_eq!(known.apply(&old), None, "it must not bring the old observation back");
        assert_eq!(known.text(&uri).unwrap().document.text(), "newer");
        let present = see(&gate, known.look_at(&uri));
        known.forget(&uri);
        assert_eq!(known.apply(&present), None);
        std::fs::remove_file(&file).unwrap();
        assert!(known.apply(&see(&gate, known.look_at(&uri))).unwrap().is_err());
    }
}
