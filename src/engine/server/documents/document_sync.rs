//! Keeps the documents that are open at a language server equal to the disk.
//!
//! Opens the documents that the predecessor had open, and follows changes on disk. It sends what was read before
//! ([`document_loading`](super::document_loading)) and touches no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::server::context::ServerContext;
use crate::server::documents::document_loading::{LoadedDocument, LoadedDocuments, OnDisk, WantedDocument};
use crate::server::documents::watch_globs;
use crate::server::projects::index_lag::must_be_opened;
use crate::server::session::{LiveServer, SyncOutcome};
use codeyard_base::clock::Instant;
use codeyard_files::gate::spelt_path;
use codeyard_files::watch::{ChangeKind, Changes, FileChange};
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::methods;
use codeyard_model::uri::encode_path;

/// Largest number of documents that are reopened after a restart.
const MAX_REOPENED: usize = 64;

impl LiveServer {
    /// Opens a document and keeps it open. Returns whether it wasn't open.
    pub(in crate::server) fn open_pinned(&mut self, loaded: &LoadedDocument) -> Result<bool, RequestError> {
        let outcome = self.follow(loaded)?;
        self.documents.pin(loaded.uri.as_str(), true);
        Ok(outcome == SyncOutcome::Opened)
    }

    /// Opens those of these documents that could be read.
    pub(in crate::server) fn open_all(
        &mut self,
        paths: &[PathBuf],
        documents: &LoadedDocuments,
    ) -> Result<(), RequestError> {
        let mut loaded = paths.iter().filter_map(|path| documents.text(path));
        loaded.try_for_each(|loaded| self.follow(loaded).map(drop))
    }

    /// The open documents that are reopened after a restart, at most [`MAX_REOPENED`].
    pub(in crate::server) fn open_paths(&self) -> Vec<PathBuf> {
        self.documents.all().filter_map(|state| spelt_path(&state.uri)).take(MAX_REOPENED).collect()
    }

    /// The documents that must be read before these changes are applied by [`Self::files_changed`].
    pub(in crate::server) fn to_follow(&self, context: &ServerContext, changes: &Changes) -> Vec<WantedDocument> {
        let mut wanted = Vec::new();
        let opens = self.was_ready || !context.server.quirks.ignores_early_opens;
        for change in changes.files.iter().filter(|change| change.kind != ChangeKind::Deleted) {
            let open = self.documents.get(&encode_path(&change.path));
            if open.is_some() || opens && must_be_opened(context, &change.path) {
                wanted.push(WantedDocument { path: change.path.clone(), sent: open.map(|state| state.hash) });
            }
        }
        if changes.bulk {
            let open = self.documents.all();
            wanted.extend(
                open.filter_map(|state| Some(WantedDocument { path: spelt_path(&state.uri)?, sent: Some(state.hash) })),
            );
        }
        wanted
    }

    /// Applies changes on disk: updates the open documents and sends the changes that the server registered for. Returns the paths of the
    /// changes that were sent.
    pub(in crate::server) fn files_changed<'c>(
        &mut self,
        context: &ServerContext,
        changes: &'c Changes,
        documents: &LoadedDocuments,
    ) -> Result<Vec<&'c Path>, RequestError> {
        self.diagnostics.surroundings_changed();
        for change in &changes.files {
            if change.kind == ChangeKind::Deleted {
                self.close_deleted(&encode_path(&change.path))?;
            } else if let Some(loaded) = documents.text(&change.path) {
                match context.servers.is_opened_script(&context.server, &change.path) {
                    true => drop(self.open_pinned(loaded)?),
                    false => drop(self.follow(loaded)?),
                }
            }
        }
        if changes.bulk {
            self.follow_all(documents)?;
        }
        let (events, sent) = self.watch_globs.events(&self.capabilities, context, changes);
        let is_own = |change: &FileChange| context.servers.serves(&context.server, &change.path);
        if changes.bulk || changes.files.iter().any(is_own) {
            self.readiness.on_changes(Instant::now());
        }
        if !events.is_empty() {
            self.client.notify(methods::DID_CHANGE_WATCHED_FILES, &watch_globs::WatchedFiles { changes: events })?;
        }
        Ok(sent)
    }

    fn follow(&mut self, loaded: &LoadedDocument) -> Result<SyncOutcome, RequestError> {
        self.send_sync(&loaded.uri, &loaded.language, &loaded.document, loaded.hash)
    }

    fn follow_all(&mut self, documents: &LoadedDocuments) -> Result<(), RequestError> {
        let open: Vec<Arc<str>> = self.documents.all().map(|state| state.uri.clone()).collect();
        for text in open {
            match spelt_path(&text).and_then(|path| documents.get(&path)) {
                Some(OnDisk::Text(loaded)) => drop(self.follow(loaded)?),
                Some(OnDisk::Gone) => self.close_deleted(&text)?,
                Some(OnDisk::AsSent | OnDisk::Unreadable) | None => {}
            }
        }
        Ok(())
    }

    fn close_deleted(&mut self, uri: &str) -> Result<(), RequestError> {
        if let Some(close) = self.documents.close(uri) {
            self.client.notify(close.method(), &close)?;
        }
        self.diagnostics.deleted(uri);
        self.pending_indexing.gone(uri);
        Ok(())
    }
}
