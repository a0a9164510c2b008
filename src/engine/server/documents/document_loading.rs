//! Reads documents from disk for a language server, through the path gate. It blocks: the actor does it by
//! [`disk_reads`](super::disk_reads).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::server::context::ServerContext;
use codeyard_base::digest::sha256;
use codeyard_lsp::limits;
use codeyard_lsp::text::Document;
use codeyard_model::uri::{CanonicalUri, encode_path};

/// A document to be read.
pub(in crate::server) struct WantedDocument {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of the text that the server has.
    pub sent: Option<[u8; 32]>,
}

/// A document that was read.
pub(in crate::server) struct LoadedDocument {
    pub uri: CanonicalUri,
    pub language: String,
    pub document: Arc<Document>,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
}

/// What is on disk at the path of a wanted document.
pub(in crate::server) enum OnDisk {
    /// A text.
    Text(LoadedDocument),
    /// The text that the server has.
    AsSent,
    /// A file that can't be opened as a document.
    Unreadable,
    /// No file inside the roots.
    Gone,
}

/// Documents that were read, by the paths that were wanted.
#[derive(Default)]
pub(in crate::server) struct LoadedDocuments(BTreeMap<PathBuf, OnDisk>);

impl WantedDocument {
    /// A document that the server hasn't got.
    pub(in crate::server) fn new(path: PathBuf) -> Self {
        Self { path, sent: None }
    }
}

impl LoadedDocuments {
    /// Reads these documents. Blocks.
    pub(in crate::server) fn read(context: &ServerContext, wanted: impl IntoIterator<Item = WantedDocument>) -> Self {
        let read = |wanted: WantedDocument| {
            let found = read(context, &wanted);
            (wanted.path, found)
        };
        Self(wanted.into_iter().map(read).collect())
    }

    /// What is on disk there; `None` if that wasn't read.
    pub(in crate::server) fn get(&self, path: &Path) -> Option<&OnDisk> {
        self.0.get(path)
    }

    /// The text that was read there.
    pub(in crate::server) fn text(&self, path: &Path) -> Option<&LoadedDocument> {
        match self.0.get(path)? {
            OnDisk::Text(loaded) => Some(loaded),
            OnDisk::AsSent | OnDisk::Unreadable | OnDisk::Gone => None,
        }
    }

    /// Adds what was read later.
    pub(in crate::server) fn extend(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

fn read(context: &ServerContext, wanted: &WantedDocument) -> OnDisk {
    let Ok(uri) = context.gate.path(&wanted.path) else { return OnDisk::Gone };
    let Some(language) = context.servers.index.language_of(&wanted.path) else { return OnDisk::Unreadable };
    let Ok((bytes, _)) = context.gate.read(&uri, limits::MAX_DOCUMENT_BYTES) else { return OnDisk::Unreadable };
    let hash = sha256(&bytes);
    if wanted.sent == Some(hash) && uri.as_str() == encode_path(&wanted.path) {
        return OnDisk::AsSent;
    }
    let Ok(text) = String::from_utf8(bytes) else { return OnDisk::Unreadable };
    OnDisk::Text(LoadedDocument { uri, language: language.to_owned(), document: Arc::new(Document::new(text)), hash })
}
