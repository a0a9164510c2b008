//! What a workspace knows of files on disk: stamps of everything an answer hangs on, and the texts of recent documents.
//!
//! A file whose stamp was taken within two seconds of its last change may change again without the stamp showing it, so its
//! content's hash is kept as well and compared until the stamp has aged (decisions §3, "edit not yet seen by the watcher").
//! Invariants: a file counts as unchanged only if its stamp, and where that is young its hash, are those of the last look; a
//! text is kept only as long as its file is known and unchanged.

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

/// Why a document that is there isn't opened.
pub const NOT_UTF8: &str = "the document is not UTF-8 text and can't be opened";

/// A file as it was looked at: what must be the same for it to count as unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    stamp: FileStamp,
    /// Set while the stamp is young.
    hash: Option<[u8; 32]>,
}

/// What a look at the disk says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCheck {
    /// As it was.
    Same,
    /// Not as it was, or gone.
    Changed,
    /// Never looked at before.
    New,
}

/// The files of one workspace that answers hang on.
pub struct KnownFiles {
    gate: Gate,
    known: HashMap<CanonicalUri, ObservedFile>,
    texts: LruCache<CanonicalUri, Arc<DocumentSource>>,
    text_bytes: usize,
}

/// Looks at `uri` on disk: its stamp, and its hash while the stamp is young.
pub fn observe(gate: &Gate, uri: &CanonicalUri) -> Result<ObservedFile, ToolError> {
    observed(gate, uri, gate.stat(uri)?)
}

/// The same, when its stamp has just been taken.
pub fn observed(gate: &Gate, uri: &CanonicalUri, stamp: FileStamp) -> Result<ObservedFile, ToolError> {
    if !stamp.is_fresh(clock::wall_ns()) {
        return Ok(ObservedFile { stamp, hash: None });
    }
    let (bytes, stamp) = gate.read(uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES)?;
    Ok(ObservedFile { hash: Some(sha256(&bytes)), stamp })
}

impl KnownFiles {
    /// Nothing known yet.
    pub fn new(gate: Gate) -> Self {
        // Unbounded by itself, so that an idle workspace holds no empty table; `keep` bounds it.
        Self { gate, known: HashMap::new(), texts: LruCache::unbounded(), text_bytes: 0 }
    }

    /// The document as it is on disk now, and whether it has changed since the last look. `looked` is what a look said just
    /// now: a text that was the same then needs no second one.
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
        self.learn(uri.clone(), ObservedFile { hash: settled.is_none().then_some(hash), stamp });
        self.keep(source.clone());
        Ok((source, check))
    }

    /// Compares a file with the last look at it. A changed file is learnt anew.
    pub fn check(&mut self, uri: &CanonicalUri) -> Result<FileCheck, ToolError> {
        let stamp = self.gate.stat(uri)?;
        self.compare(uri, stamp)
    }

    /// The same for a call that has `seen` the file already. Only an aged stamp that says what the last look said will do; an
    /// older one than that look's could say anything, so the file is looked at again.
    pub fn check_stamped(&mut self, uri: &CanonicalUri, seen: Option<FileStamp>) -> Result<FileCheck, ToolError> {
        match (self.known.get(uri), seen) {
            (None, Some(_)) => Ok(FileCheck::New),
            (Some(known), Some(seen)) if known.hash.is_none() && seen == known.stamp => Ok(FileCheck::Same),
            _ => self.check(uri),
        }
    }

    /// The same as one of many, each with its own outcome, in their order.
    pub fn check_all(&mut self, uris: &[CanonicalUri]) -> Vec<Result<FileCheck, ToolError>> {
        let gate = self.gate.clone();
        let mut batch = gate.batch_lookup();
        uris.iter().map(|uri| batch.stat(uri).and_then(|stamp| self.compare(uri, stamp))).collect()
    }

    /// Compares a file that was just seen with the last look at it.
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

    /// Takes note of a look made elsewhere; says whether it contradicts an earlier one.
    pub fn learn(&mut self, uri: CanonicalUri, observed: ObservedFile) -> FileCheck {
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

    /// Forgets a file that is known to have changed; says whether it was known.
    pub fn forget(&mut self, uri: &CanonicalUri) -> bool {
        self.drop_text(uri);
        self.known.remove(uri).is_some()
    }

    /// The same, by the file's real path.
    pub fn forget_path(&mut self, path: &std::path::Path) {
        if let Some((uri, _)) = self.known.remove_entry(encode_path(path).as_str()) {
            self.drop_text(&uri);
        }
    }

    /// Forgets everything: after a bulk change.
    pub fn forget_all(&mut self) {
        self.known.clear();
        self.texts.clear();
        self.text_bytes = 0;
    }

    /// How many files are known and how many bytes of text are kept.
    pub fn size(&self) -> (usize, usize) {
        (self.known.len(), self.text_bytes)
    }

    /// A changed file's old text must not be taken for its present one at the next look, which finds nothing new.
    fn drop_text(&mut self, uri: &CanonicalUri) {
        if let Some(out) = self.texts.pop(uri) {
            self.text_bytes -= out.document.text().len();
        }
    }

    fn keep(&mut self, source: Arc<DocumentSource>) {
        self.text_bytes += source.document.text().len();
        if let Some((_, out)) = self.texts.push(source.uri.clone(), source) {
            self.text_bytes -= out.document.text().len();
        }
        let too_much = |kept: &Self| {
            kept.text_bytes > codeyard_lsp::limits::MAX_DOCUMENT_TEXTS_BYTES
                || kept.texts.len() > limits::MAX_OPEN_DOCUMENTS * 4
        };
        while too_much(self) && self.texts.len() > 1 {
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

    /// A file with this text in a workspace of its own, which lasts as long as the folder.
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
        known.learn(uri.clone(), observe(&gate, &uri).unwrap());
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
        known.learn(uri.clone(), ObservedFile { stamp, hash: None });
        let before = FileStamp { size: stamp.size + 1, ..stamp };
        assert_eq!(
            known.check_stamped(&uri, Some(before)).unwrap(),
            FileCheck::Same,
            "an old look; a new one says it is the same"
        );
        std::fs::write(&file, "newer").unwrap();
        let seen = gate.stat(&uri).unwrap();
        assert_eq!(known.check_stamped(&uri, Some(seen)).unwrap(), FileCheck::Changed);
        assert_eq!(known.document(&uri, Some(FileCheck::Changed)).unwrap().0.document.text(), "newer");
    }
}
