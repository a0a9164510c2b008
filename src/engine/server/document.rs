//! A document as it is on disk, as input of a request to a language server.

use std::sync::Arc;

use codeyard_base::ids::LanguageId;
use codeyard_files::gate::FileStamp;
use codeyard_lsp::text::Document;
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

/// A document as read from disk, with its language.
#[derive(Debug, Clone)]
pub struct DocumentInput {
    /// Text, hash and stamp.
    pub source: Arc<DocumentSource>,
    /// The language to open it as.
    pub language: LanguageId,
}
