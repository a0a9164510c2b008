//! A document read from disk for a server that has it open, or is to have.
//!
//! Not here: when that must be done; that's `up`'s.

use std::path::Path;
use std::sync::Arc;

use crate::base::digest::sha256;
use crate::base::limits;
use crate::engine::server_context::ServerContext;
use crate::lsp::text::Document;
use crate::model::uri::CanonicalUri;

/// Its URI, language id, text and the SHA-256 of its bytes; nothing for what can't be opened.
pub fn load(context: &ServerContext, path: &Path) -> Option<(CanonicalUri, String, Arc<Document>, [u8; 32])> {
    let uri = context.gate.of_path(path).ok()?;
    let language = context.servers.index.language_of(path)?.to_owned();
    let (bytes, _) = context.gate.read(&uri, limits::MAX_DOCUMENT_BYTES).ok()?;
    let hash = sha256(&bytes);
    let text = String::from_utf8(bytes).ok()?;
    Some((uri, language, Arc::new(Document::new(text)), hash))
}
