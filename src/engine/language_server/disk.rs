//! Documents read from disk for a server that has them open, or is to have: anchors, and what was open at its predecessor.
//!
//! Not here: what follows a change; that's `up`'s.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::up::Up;
use crate::known_files::Source;
use crate::server_context::ServerContext;
use codeyard_base::digest::sha256;
use codeyard_files::gate::Admitted;
use codeyard_lsp::limits;
use codeyard_lsp::pending::RequestError;
use codeyard_lsp::text::Document;
use codeyard_model::uri::CanonicalUri;

/// Most documents opened again at a server's successor.
const MAX_REOPENED: usize = 64;

/// Its URI, language id, text and the SHA-256 of its bytes; nothing for what can't be opened.
pub(super) fn load(context: &ServerContext, path: &Path) -> Option<(CanonicalUri, String, Arc<Document>, [u8; 32])> {
    let uri = context.gate.of_path(path).ok()?;
    let language = context.servers.index.language_of(path)?.to_owned();
    let (bytes, _) = context.gate.read(&uri, limits::MAX_DOCUMENT_BYTES).ok()?;
    let hash = sha256(&bytes);
    let text = String::from_utf8(bytes).ok()?;
    Some((uri, language, Arc::new(Document::new(text)), hash))
}

/// Whether a document is on disk as it was read for a question; its bytes are compared where its stamp doesn't say so.
pub(super) fn is_as_read(context: &ServerContext, source: &Source) -> bool {
    if source.settled.is_some_and(|stamp| context.gate.stat(&source.uri).is_ok_and(|now| now == stamp)) {
        return true;
    }
    let read = context.gate.read(&source.uri, limits::MAX_DOCUMENT_BYTES);
    read.is_ok_and(|(bytes, _)| sha256(&bytes) == source.hash)
}

impl Up {
    /// Opens the anchor documents and keeps them open.
    pub(super) fn open_anchors(&mut self, context: &ServerContext) -> Result<(), RequestError> {
        for path in &context.anchors {
            if let Some((uri, language, document, hash)) = load(context, path) {
                self.send_sync(&uri, &language, &document, hash)?;
                self.documents.pin(uri.as_str(), true);
            }
        }
        Ok(())
    }

    /// Opens these documents, those of them that are still there.
    pub(super) fn open_all(&mut self, context: &ServerContext, paths: &[PathBuf]) -> Result<(), RequestError> {
        paths.iter().try_for_each(|path| self.follow(context, path))
    }

    /// The open documents, the most to be opened again after a replacement.
    pub(super) fn open_paths(&self, context: &ServerContext) -> Vec<PathBuf> {
        let inside = self.documents.all().filter_map(|state| match context.gate.admit(&state.uri) {
            Admitted::Inside(uri) => Some(uri.to_path()),
            _ => None,
        });
        inside.take(MAX_REOPENED).collect()
    }
}
