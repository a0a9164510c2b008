//! A document as it was read from disk, as input of a request to a language server.

use std::sync::Arc;

use crate::limits::MAX_DOCUMENT_BYTES;
use crate::text::Document;
use codeyard_base::digest::sha256;
use codeyard_base::ids::LanguageId;
use codeyard_files::gate::{FileStamp, Gate};
use codeyard_model::uri::CanonicalUri;

/// The content of a document, read from disk at once.
#[derive(Debug)]
pub struct DocumentSource {
    /// The file.
    pub uri: CanonicalUri,
    /// Its text.
    pub document: Arc<Document>,
    /// SHA-256 of its bytes.
    pub hash: [u8; 32],
    /// The stamp of the file when it was read; `None` if it is so recent that a further change could leave it unchanged.
    pub settled: Option<FileStamp>,
}

/// How the file of a document differs from what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentNow {
    /// It doesn't.
    AsRead,
    /// It has other bytes.
    Edited,
    /// It is gone, or can't be read any more.
    Gone,
}

impl DocumentSource {
    /// Compares the file with what was read: the bytes, if the stamps don't decide. Blocks.
    pub fn now(&self, gate: &Gate) -> DocumentNow {
        let Ok(stamp) = gate.stat(&self.uri) else { return DocumentNow::Gone };
        if self.settled == Some(stamp) {
            return DocumentNow::AsRead;
        }
        match gate.read(&self.uri, MAX_DOCUMENT_BYTES) {
            Ok((bytes, _)) if sha256(&bytes) == self.hash => DocumentNow::AsRead,
            Ok(_) => DocumentNow::Edited,
            Err(_) => DocumentNow::Gone,
        }
    }
}

/// A document as read from disk, with its language.
#[derive(Debug, Clone)]
pub struct DocumentInput {
    /// Text, hash and stamp.
    pub source: Arc<DocumentSource>,
    /// The language to open it as.
    pub language: LanguageId,
}
