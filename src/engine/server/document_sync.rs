//! Keeps the documents that are open at a language server equal to the disk.
//!
//! Opens the documents that the predecessor had open, and follows changes on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::server::context::ServerContext;
use crate::server::document_loading::load;
use crate::server::index_lag::must_be_opened;
use crate::server::session::{LiveServer, SyncOutcome};
use crate::server::watch_globs;
use codeyard_files::watch::{ChangeKind, Changes};
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::methods;
use codeyard_model::uri::UriAdmission;

/// Largest number of documents that are reopened after a restart.
const MAX_REOPENED: usize = 64;

impl LiveServer {
    /// Opens a document and keeps it open. Returns whether it wasn't open.
    pub(super) fn open_pinned(&mut self, context: &ServerContext, path: &Path) -> Result<bool, RequestError> {
        let Some((uri, language, document, hash)) = load(context, path) else { return Ok(false) };
        let outcome = self.send_sync(&uri, &language, &document, hash)?;
        self.documents.pin(uri.as_str(), true);
        Ok(outcome == SyncOutcome::Opened)
    }

    /// Opens those of these documents that still exist.
    pub(super) fn open_all(&mut self, context: &ServerContext, paths: &[PathBuf]) -> Result<(), RequestError> {
        paths.iter().try_for_each(|path| self.follow(context, path))
    }

    /// The open documents that are reopened after a restart, at most [`MAX_REOPENED`].
    pub(super) fn open_paths(&self, context: &ServerContext) -> Vec<PathBuf> {
        let inside = self.documents.all().filter_map(|state| match context.gate.admit(&state.uri) {
            UriAdmission::Inside(uri) => Some(uri.to_path()),
            _ => None,
        });
        inside.take(MAX_REOPENED).collect()
    }

    /// Applies changes on disk: updates the open documents and sends the changes that the server registered for.
    pub(super) fn files_changed(&mut self, context: &ServerContext, changes: &Changes) -> Result<(), RequestError> {
        self.diagnostics.surroundings_changed();
        for change in &changes.files {
            let text = codeyard_model::uri::encode_path(&change.path);
            if change.kind == ChangeKind::Deleted {
                if let Some(close) = self.documents.close(&text) {
                    self.client.notify(close.method(), &close)?;
                }
                self.diagnostics.deleted(&text);
                self.pending_indexing.gone(&text);
            } else if self.documents.is_open(&text) || must_be_opened(context, &change.path) {
                self.follow(context, &change.path)?;
            }
        }
        if changes.bulk {
            self.follow_all(context)?;
        }
        let events = self.watch_globs.events(&self.capabilities, context, changes);
        if !events.is_empty() {
            self.client.notify(methods::DID_CHANGE_WATCHED_FILES, &watch_globs::WatchedFiles { changes: events })?;
        }
        Ok(())
    }

    pub(super) fn follow(&mut self, context: &ServerContext, path: &Path) -> Result<(), RequestError> {
        if let Some((uri, language, document, hash)) = load(context, path) {
            self.send_sync(&uri, &language, &document, hash)?;
        }
        Ok(())
    }

    fn follow_all(&mut self, context: &ServerContext) -> Result<(), RequestError> {
        let open: Vec<Arc<str>> = self.documents.all().map(|state| state.uri.clone()).collect();
        for text in open {
            match context.gate.admit(&text) {
                UriAdmission::Inside(uri) => self.follow(context, &uri.to_path())?,
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
