//! Documents that follow the disk: anchors, what is opened again, open documents that changed, and what else the server is told
//! of changed files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::up::Up;
use super::watched::FileEvent;
use crate::base::digest::sha256;
use crate::base::limits;
use crate::engine::server_context::ServerContext;
use crate::gate::Admitted;
use crate::lsp::methods;
use crate::lsp::pending::RequestError;
use crate::lsp::text::Document;
use crate::model::uri::CanonicalUri;
use crate::watch::{ChangeKind, Changes};

/// With more changed files than this a server that must be shown them is started anew.
const MAX_SHOWN: usize = 64;

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
        inside.take(MAX_SHOWN).collect()
    }

    /// Files changed on disk: open documents follow, and the server hears of what it asked to hear of.
    pub(super) fn files_changed(&mut self, context: &ServerContext, changes: &Changes) -> Result<(), RequestError> {
        self.diagnostics.surroundings_changed();
        for change in &changes.files {
            let text = crate::model::uri::encode_path(&change.path);
            if change.kind == ChangeKind::Deleted {
                if let Some(close) = self.documents.close(&text) {
                    self.client.notify(close.method(), &close)?;
                }
                self.diagnostics.deleted(&text);
                self.unread.remove(text.as_str());
            } else if self.documents.is_open(&text) || self.must_be_shown(context, &change.path) {
                self.follow(context, &change.path)?;
            }
        }
        if changes.bulk {
            self.follow_all(context)?;
        }
        let told = self.watched.events(&self.capabilities, &context.root, changes);
        if !told.is_empty() {
            self.client.notify(methods::DID_CHANGE_WATCHED_FILES, &WatchedFiles { changes: told })?;
        }
        Ok(())
    }

    /// Whether `changes` are more than can be shown to a server whose index follows what is open.
    pub(super) fn is_beyond_showing(&self, context: &ServerContext, changes: &Changes) -> bool {
        let shown = || changes.files.iter().filter(|change| self.must_be_shown(context, &change.path)).count();
        self.shows_changes && shown() > MAX_SHOWN
    }

    fn must_be_shown(&self, context: &ServerContext, path: &Path) -> bool {
        let language = || context.servers.index.language_of(path);
        self.shows_changes
            && path.starts_with(&context.root)
            && language().is_some_and(|language| context.server.languages.iter().any(|own| own == language))
    }

    fn follow(&mut self, context: &ServerContext, path: &Path) -> Result<(), RequestError> {
        if let Some((uri, language, document, hash)) = load(context, path) {
            self.send_sync(&uri, &language, &document, hash)?;
        }
        Ok(())
    }

    fn follow_all(&mut self, context: &ServerContext) -> Result<(), RequestError> {
        let open: Vec<Arc<str>> = self.documents.all().map(|state| state.uri.clone()).collect();
        for text in open {
            match context.gate.admit(&text) {
                Admitted::Inside(uri) => self.follow(context, &uri.to_path())?,
                _ => {
                    if let Some(close) = self.documents.close(&text) {
                        self.client.notify(close.method(), &close)?;
                    }
                    self.diagnostics.deleted(&text);
                }
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct WatchedFiles {
    changes: Vec<FileEvent>,
}

fn load(context: &ServerContext, path: &Path) -> Option<(CanonicalUri, String, Arc<Document>, [u8; 32])> {
    let uri = context.gate.of_path(path).ok()?;
    let language = context.servers.index.language_of(path)?.to_owned();
    let (bytes, _) = context.gate.read(&uri, limits::MAX_DOCUMENT_BYTES).ok()?;
    let hash = sha256(&bytes);
    let text = String::from_utf8(bytes).ok()?;
    Some((uri, language, Arc::new(Document::new(text)), hash))
}
