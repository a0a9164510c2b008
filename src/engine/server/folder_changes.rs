//! Passes projects that joined or left to the server process: as workspace folders, and by opening the anchors of new ones.
//!
//! Runs before each request, so that a project is known before the first request about it. Invariant: what the process was sent
//! ([`AnnouncedFolders`]) and the current set differ only until the next request. A process that accepts no changes of its folders is
//! restarted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use actix::prelude::*;
use serde_json::{Value, json};

use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;
use crate::server::messages::NoticeKind;
use crate::server::session::LiveServer;
use codeyard_base::clock::Instant;
use codeyard_lsp::client::lifecycle::workspace_folder;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::methods;
use codeyard_lsp::registry::MultiRoot;
use codeyard_model::uri::UriAdmission;

/// The projects as the running process knows them.
#[derive(Debug)]
pub(super) struct AnnouncedFolders {
    /// The revision of the set that was sent; `None`: something may be missing.
    revision: Option<u64>,
    folders: BTreeSet<PathBuf>,
    anchors: Vec<PathBuf>,
}

impl AnnouncedFolders {
    /// What a process got in `initialize`. The next comparison finds what joined since then, and the anchors.
    pub(super) fn at_start(folders: Vec<PathBuf>) -> Self {
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
    /// Brings the process up to date with the set of projects. Returns whether requests may be sent to it now.
    pub(super) fn update_folders(&mut self, ctx: &mut Context<Self>) -> bool {
        if !self.follow_folders(ctx) {
            return false;
        }
        let Some(session) = &mut self.session else { return true };
        match session.update_folders(&self.context) {
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
    fn update_folders(&mut self, context: &ServerContext) -> Result<FolderUpdate, RequestError> {
        let revision = Some(context.folders.revision());
        if self.announced.revision == revision {
            return Ok(FolderUpdate::None);
        }
        let mut update = FolderUpdate::None;
        if context.multi_root == MultiRoot::WorkspaceFolders {
            let current: BTreeSet<PathBuf> = context.folders.roots().into_iter().collect();
            if current != self.announced.folders {
                if !self.capabilities.accepts_folder_changes() {
                    return Ok(FolderUpdate::Restart);
                }
                let change = folder_change(&self.announced.folders, &current);
                self.close_moving(context, &current)?;
                self.client.notify(methods::DID_CHANGE_WORKSPACE_FOLDERS, &change)?;
                self.readiness.on_more_projects(current.difference(&self.announced.folders).count(), Instant::now());
                self.announced.folders = current;
                self.diagnostics.surroundings_changed();
                update = FolderUpdate::Sent;
            }
        }
        if self.open_anchors(context)? {
            update = FolderUpdate::Sent;
        }
        self.announced.revision = revision;
        Ok(update)
    }

    /// Closes the documents that will belong to another folder: some servers forget open documents together with their folder. The next
    /// request about one opens it again.
    fn close_moving(&mut self, context: &ServerContext, current: &BTreeSet<PathBuf>) -> Result<(), RequestError> {
        let open: Vec<_> = self.documents.all().map(|state| state.uri.clone()).collect();
        for text in open {
            let UriAdmission::Inside(uri) = context.gate.admit(&text) else { continue };
            let path = uri.to_path();
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

    /// Opens the anchor documents that aren't open, and no longer keeps those open that are no anchors any more. Returns whether it opened
    /// one.
    pub(super) fn open_anchors(&mut self, context: &ServerContext) -> Result<bool, RequestError> {
        let anchors = context.folders.anchors();
        let before = std::mem::take(&mut self.announced.anchors);
        for path in before.iter().filter(|path| anchors.binary_search(path).is_err()) {
            self.documents.pin(&codeyard_model::uri::encode_path(path), false);
        }
        let mut has_opened = false;
        for path in anchors.iter().filter(|path| before.binary_search(path).is_err()) {
            has_opened |= self.open_pinned(context, path)?;
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
        let (before, after) = (set(&["/w", "/w/a"]), set(&["/w", "/w/a/b"]));
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
