//! Reads documents from disk for a language server, through the path gate.

use std::path::Path;
use std::sync::Arc;

use crate::server::context::ServerContext;
use crate::server::document::DocumentSource;
use codeyard_base::digest::sha256;
use codeyard_lsp::limits;
use codeyard_lsp::text::Document;
use codeyard_model::uri::CanonicalUri;

/// The URI, language id, text and SHA-256 of a document; `None` if it can't be opened.
pub(super) fn load(context: &ServerContext, path: &Path) -> Option<(CanonicalUri, String, Arc<Document>, [u8; 32])> {
    let uri = context.gate.path(path).ok()?;
    let language = context.servers.index.language_of(path)?.to_owned();
    let (bytes, _) = context.gate.read(&uri, limits::MAX_DOCUMENT_BYTES).ok()?;
    let hash = sha256(&bytes);
    let text = String::from_utf8(bytes).ok()?;
    Some((uri, language, Arc::new(Document::new(text)), hash))
}

/// Whether a document on disk is unchanged since it was read for a request. Compares the bytes if the stamps don't decide.
pub(super) fn is_as_read(context: &ServerContext, source: &DocumentSource) -> bool {
    if source.settled.is_some_and(|stamp| context.gate.stat(&source.uri).is_ok_and(|now| now == stamp)) {
        return true;
    }
    let read = context.gate.read(&source.uri, limits::MAX_DOCUMENT_BYTES);
    read.is_ok_and(|(bytes, _)| sha256(&bytes) == source.hash)
}
