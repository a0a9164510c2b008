//! The files on disk as a workspace last observed them: the stamps of all files that answers depend on, and the texts of recent
//! documents. It finds edits that the watcher hasn't reported yet.
//!
//! A file whose stamp was taken within two seconds of its last change may change again without a change of the stamp. Its hash is kept
//! too, and compared until the stamp is old enough. Invariants: a file counts as unchanged only if its stamp, and for a young stamp its
//! hash, equal those of the last observation; a text is kept only while its file is known and unchanged.

use std::collections::HashMap;
use std::sync::Arc;

use lru::LruCache;

use crate::limits;
use crate::server::document::DocumentSource;
use codeyard_base::clock;
use codeyard_base::digest::sha256;
use codeyard_files::gate::{FileStamp, Gate};
use codeyard_lsp::text::Document;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::uri::{CanonicalUri, encode_path};

/// The message for a document that exists but can't be opened.
pub const NOT_UTF8: &str = "the document is not UTF-8 text and can't be opened";

/// An observation of a file: what must stay the same for the file to count as unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    stamp: FileStamp,
    /// Set while the stamp is young.
    hash: Option<[u8; 32]>,
}

/// The comparison of a file with its last observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCheck {
    /// It is unchanged.
    Same,
    /// It changed or is gone.
    Changed,
    /// It was never observed before.
    New,
}

/// The files of one workspace that answers depend on.
pub struct KnownFiles {
    gate: Gate,
    known: HashMap<CanonicalUri, ObservedFile>,
    texts: LruCache<CanonicalUri, Arc<DocumentSource>>,
    text_bytes: usize,
}

/// Observes `uri` on disk: its stamp, and its hash while the stamp is young.
///
/// # Errors
/// The file is gone, outside the roots or not readable.
pub fn observe(gate: &Gate, uri: &CanonicalUri) -> Result<ObservedFile, ToolError> {
    observed(gate, uri, gate.stat(uri)?)
}

/// The same for a file whose stamp was just taken.
///
/// # Errors
/// The file is gone, outside the roots or not readable.
pub fn observed(gate: &Gate, uri: &CanonicalUri, stamp: FileStamp) -> Result<ObservedFile, ToolError> {
    if !stamp.is_fresh(clock::wall_ns()) {
        return Ok(ObservedFile { stamp, hash: None });
    }
    let (bytes, stamp) = gate.read(uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES)?;
    Ok(ObservedFile { hash: Some(sha256(&bytes)), stamp })
}

impl KnownFiles {
    /// No file is known yet.
    pub fn new(gate: Gate) -> Self {
        // An unbounded cache allocates no table while the workspace is idle; `keep_text` bounds it.
        Self { gate, known: HashMap::new(), texts: LruCache::unbounded(), text_bytes: 0 }
    }

    /// The document as it is on disk now, and whether it changed since the last observation. `checked` is the result of a check just
    /// now: a text that was unchanged then isn't checked again.
    ///
    /// # Errors
    /// The file is gone, outside the roots, too large or not UTF-8.
    pub fn document(
        &mut self,
        uri: &CanonicalUri,
        checked: Option<FileCheck>,
    ) -> Result<(Arc<DocumentSource>, FileCheck), ToolError> {
        let check = match checked {
            Some(FileCheck::Same) if self.texts.contains(uri) => FileCheck::Same,
            _ => self.check(uri)?,
        };
        if let (FileCheck::Same, Some(source)) = (check, self.texts.get(uri)) {
            return Ok((source.clone(), check));
        }
        let (bytes, stamp) = self.gate.read(uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES)?;
        let hash = sha256(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| ToolError::new(ErrorCode::NotFound, NOT_UTF8))?;
        let settled = (!stamp.is_fresh(clock::wall_ns())).then_some(stamp);
        let source =
            Arc::new(DocumentSource { uri: uri.clone(), document: Arc::new(Document::new(text)), hash, settled });
        self.record(uri.clone(), ObservedFile { hash: settled.is_none().then_some(hash), stamp });
        self.keep_text(source.clone());
        Ok((source, check))
    }

    /// Compares a file with its last observation, and records the new one if it changed.
    ///
    /// # Errors
    /// The file is gone, outside the roots or not readable.
    pub fn check(&mut self, uri: &CanonicalUri) -> Result<FileCheck, ToolError> {
        let stamp = self.gate.stat(uri)?;
        self.compare(uri, stamp)
    }

    /// The same for a call that has already `seen` a stamp of the file. Only an old stamp that equals the last observation's counts; any
    /// other may be older than that observation, so the file is checked again.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_stamped(&mut self, uri: &CanonicalUri, seen: Option<FileStamp>) -> Result<FileCheck, ToolError> {
        match (self.known.get(uri), seen) {
            (None, Some(_)) => Ok(FileCheck::New),
            (Some(known), Some(seen)) if known.hash.is_none() && seen == known.stamp => Ok(FileCheck::Same),
            _ => self.check(uri),
        }
    }

    /// The same for several files, each with its own outcome, in their order.
    pub fn check_all(&mut self, uris: &[CanonicalUri]) -> Vec<Result<FileCheck, ToolError>> {
        let gate = self.gate.clone();
        let mut batch = gate.batch_lookup();
        uris.iter().map(|uri| batch.stat(uri).and_then(|stamp| self.compare(uri, stamp))).collect()
    }

    /// Compares a stamp that was just taken with the last observation.
    fn compare(&mut self, uri: &CanonicalUri, stamp: FileStamp) -> Result<FileCheck, ToolError> {
        let Some(known) = self.known.get(uri) else { return Ok(FileCheck::New) };
        if known.hash.is_none() && stamp == known.stamp {
            return Ok(FileCheck::Same);
        }
        let now = observed(&self.gate, uri, stamp)?;
        let same = match (known.hash, now.hash) {
            (Some(before), Some(after)) => before == after && now.stamp == known.stamp,
            (Some(before), None) if now.stamp == known.stamp => {
                sha256(&self.gate.read(uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES)?.0) == before
            }
            _ => false,
        };
        self.known.insert(uri.clone(), now);
        if !same {
            self.drop_text(uri);
        }
        Ok(if same { FileCheck::Same } else { FileCheck::Changed })
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

    use super::*;
    use codeyard_files::gate::Gate;

    /// A file with this text in its own workspace, which exists as long as the folder.
    fn a_file(text: &str) -> (tempfile::TempDir, PathBuf, Gate, CanonicalUri) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("a.c");
        std::fs::write(&file, text).unwrap();
        let gate = Gate::open(&[file.parent().unwrap().to_path_buf()], &[]).unwrap();
        let uri = gate.path(&file).unwrap();
        (folder, file, gate, uri)
    }

    #[test]
    fn a_check_elsewhere_does_not_validate_an_old_text() {
        let (_folder, file, gate, uri) = a_file("old");
        let mut known = KnownFiles::new(gate.clone());
        assert_eq!(known.document(&uri, None).unwrap().0.document.text(), "old");
        std::fs::write(&file, "newer").unwrap();
        known.forget_all();
        // The file is in an answer that was computed meanwhile.
        known.record(uri.clone(), observe(&gate, &uri).unwrap());
        assert_eq!(known.document(&uri, None).unwrap().0.document.text(), "newer");
        std::fs::write(&file, "newest").unwrap();
        assert_eq!(known.check(&uri).unwrap(), FileCheck::Changed);
        assert_eq!(known.document(&uri, None).unwrap().0.document.text(), "newest");
    }

    #[test]
    fn an_earlier_stamp_counts_only_if_it_agrees() {
        let (_folder, file, gate, uri) = a_file("old");
        let mut known = KnownFiles::new(gate.clone());
        let stamp = gate.stat(&uri).unwrap();
        assert_eq!(known.check_stamped(&uri, Some(stamp)).unwrap(), FileCheck::New);
        known.record(uri.clone(), ObservedFile { stamp, hash: None });
        let before = FileStamp { size: stamp.size + 1, ..stamp };
        assert_eq!(
            known.check_stamped(&uri, Some(before)).unwrap(),
            FileCheck::Same,
            "the stamp is older than the observation; a new check finds no change"
        );
        std::fs::write(&file, "newer").unwrap();
        let seen = gate.stat(&uri).unwrap();
        assert_eq!(known.check_stamped(&uri, Some(seen)).unwrap(), FileCheck::Changed);
        assert_eq!(known.document(&uri, Some(FileCheck::Changed)).unwrap().0.document.text(), "newer");
    }
}
