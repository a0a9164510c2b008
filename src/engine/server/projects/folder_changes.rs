//! Passes projects that joined or left to the server process: as workspace folders, and by opening the anchors of new ones.
//!
//! Runs before each request, so that a project is known before the first request about it. The new anchors are read before
//! ([`LiveServer::unread_anchors`]). Invariant: what the process was sent ([`AnnouncedFolders`]) and the current set differ only until the
//! next request. A process that accepts no changes of its folders is restarted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use actix::prelude::*;
use serde_json::{Value, json};

use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;
use crate::server::documents::document_loading::LoadedDocuments;
use crate::server::messages::NoticeKind;
use crate::server::session::LiveServer;
use codeyard_base::clock::Instant;
use codeyard_files::gate::spelt_path;
use codeyard_lsp::client::lifecycle::workspace_folder;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::methods;
use codeyard_lsp::registry::MultiRoot;

/// The projects as the running process knows them.
#[derive(Debug)]
pub(in crate::server) struct AnnouncedFolders {
    /// The revision of the set that was sent; `None`: something may be missing.
    revision: Option<u64>,
    folders: BTreeSet<PathBuf>,
    anchors: Vec<PathBuf>,
}

impl AnnouncedFolders {
    /// What a process got in `initialize`. The next comparison finds what joined since then, and the anchors.
    pub(in crate::server) fn at_start(folders: Vec<PathBuf>) -> Self {
        Self { revision: None, folders: folders.into_iter().collect(), anchors: vec![] }
    }
}

/// What a running process must be sent.
enum FolderUpdate {
    /// Nothing.
    None,
    /// It was sent.
    Sent,
    /// It doesn't accept changes of its folders.
    Restart,
}

impl LanguageServer {
    /// Brings the process up to date with the set of projects, of whose anchors these were read. Returns whether requests may be sent to it
    /// now.
    pub(in crate::server) fn update_folders(&mut self, anchors: &LoadedDocuments, ctx: &mut Context<Self>) -> bool {
        let roots = self.announceable_roots();
        let Some(session) = &mut self.session else { return true };
        match session.update_folders(&self.context, roots, anchors) {
            Ok(FolderUpdate::None) => true,
            Ok(FolderUpdate::Sent) => {
                self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
                self.refresh_state(ctx);
                true
            }
            Ok(FolderUpdate::Restart) => {
                self.restart(ctx);
                false
            }
            Err(error) => {
                self.on_send_error(&error, ctx);
                false
            }
        }
    }
}

impl LiveServer {
    /// The anchors of new projects that must be read before [`LanguageServer::update_folders`], without those that were.
    pub(in crate::server) fn unread_anchors(&self, context: &ServerContext, read: &LoadedDocuments) -> Vec<PathBuf> {
        if self.announced.revision == Some(context.folders.revision()) {
            return Vec::new();
        }
        let mut anchors = context.folders.anchors();
        anchors.retain(|path| self.announced.anchors.binary_search(path).is_err() && read.get(path).is_none());
        anchors
    }

    fn update_folders(
        &mut self,
        context: &ServerContext,
        current: BTreeSet<PathBuf>,
        anchors: &LoadedDocuments,
    ) -> Result<FolderUpdate, RequestError> {
        let revision = Some(context.folders.revision());
        if self.announced.revision == revision {
            return Ok(FolderUpdate::None);
        }
        let mut update = FolderUpdate::None;
        if context.multi_root == MultiRoot::WorkspaceFolders && current != self.announced.folders {
            if !self.capabilities.accepts_folder_changes() {
                return Ok(FolderUpdate::Restart);
            }
            let change = folder_change(&self.announced.folders, &current);
            self.close_moving(&current)?;
            self.client.notify(methods::DID_CHANGE_WORKSPACE_FOLDERS, &change)?;
            self.readiness.on_more_projects(current.difference(&self.announced.folders).count(), Instant::now());
            self.announced.folders = current;
            self.diagnostics.surroundings_changed();
            update = FolderUpdate::Sent;
        }
        if self.open_anchors(context, anchors)? {
            update = FolderUpdate::Sent;
        }
        // Documents that moved may be anchors that weren't read, and projects join at any time.
        let is_complete = self.announced.anchors == context.folders.anchors()
            && (context.multi_root != MultiRoot::WorkspaceFolders
                || self.announced.folders.iter().eq(context.folders.roots().iter()));
        self.announced.revision = revision.filter(|_| is_complete);
        Ok(update)
    }

    /// Closes the documents that will belong to another folder: some servers forget open documents together with their folder. The next
    /// request about one opens it again.
    fn close_moving(&mut self, current: &BTreeSet<PathBuf>) -> Result<(), RequestError> {
        let open: Vec<_> = self.documents.all().map(|state| state.uri.clone()).collect();
        for text in open {
            let Some(path) = spelt_path(&text) else { continue };
            if innermost(&self.announced.folders, &path) == innermost(current, &path) {
                continue;
            }
            if let Some(close) = self.documents.close(&text) {
                self.client.notify(close.method(), &close)?;
                self.diagnostics.closed(&text);
                self.pending_indexing.gone(&text);
            }
            self.announced.anchors.retain(|anchor| *anchor != path);
        }
        Ok(())
    }

    /// Opens the anchor documents that aren't open and were `read`, and no longer keeps those open that are no anchors any more. Returns whether
    /// it opened one.
    pub(in crate::server) fn open_anchors(
        &mut self,
        context: &ServerContext,
        read: &LoadedDocuments,
    ) -> Result<bool, RequestError> {
        let mut anchors = context.folders.anchors();
        let before = std::mem::take(&mut self.announced.anchors);
        for path in before.iter().filter(|path| anchors.binary_search(path).is_err()) {
            self.documents.pin(&codeyard_model::uri::encode_path(path), false);
        }
        let mut has_opened = false;
        anchors.retain(|path| before.binary_search(path).is_ok() || read.get(path).is_some());
        for path in anchors.iter().filter(|path| before.binary_search(path).is_err()) {
            if let Some(loaded) = read.text(path) {
                has_opened |= self.open_pinned(loaded)?;
            }
        }
        self.announced.anchors = anchors;
        Ok(has_opened)
    }
}

/// The innermost of the folders that contains `path`.
fn innermost<'a>(folders: &'a BTreeSet<PathBuf>, path: &Path) -> Option<&'a PathBuf> {
    path.ancestors().find_map(|folder| folders.get(folder))
}

/// The parameters of `workspace/didChangeWorkspaceFolders`.
fn folder_change(before: &BTreeSet<PathBuf>, after: &BTreeSet<PathBuf>) -> Value {
    let all = |folders: &mut dyn Iterator<Item = &PathBuf>| -> Vec<Value> {
        folders.map(|folder: &PathBuf| workspace_folder(Path::new(folder))).collect()
    };
    json!({"event": {"added": all(&mut after.difference(before)), "removed": all(&mut before.difference(after))}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_moves_when_its_innermost_folder_changes() {
        let set = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        let before = set(&["/w", "/w/a"]);
        let after = set(&["/w", "/w/a/b"]);
        let moves = |path: &str| innermost(&before, Path::new(path)) != innermost(&after, Path::new(path));
        assert!(moves("/w/a/x") && moves("/w/a/b/x"));
        assert!(!moves("/w/x") && !moves("/w/ab/x") && !moves("/v/x"));
    }

    #[test]
    fn a_change_lists_what_joined_and_what_left() {
        let set = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        let change = folder_change(&set(&["/w/a", "/w/b"]), &set(&["/w/b", "/w/c d"]));
        let folder = |uri: &str, name: &str| json!([{"uri": uri, "name": name}]);
        assert_eq!(
            change,
            json!({"event": {"added": folder("file:///w/c%20d", "c d"), "removed": folder("file:///w/a", "a")}})
        );
    }
}
