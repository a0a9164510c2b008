//! Language servers that handle several project roots in one process: which projects each handles, and what happens when one crashes too
//! often.
//!
//! A server with workspace folders handles the project roots that queries were about; its projects don't see each other. A server that
//! finds the project of each file by itself answers across projects, so it gets the anchors of all of them from the start: its answers
//! must not depend on earlier queries.
//!
//! One project may crash the process that all share. Instead of a quarantine for all, the kind then runs with a process for each project
//! root, until the quarantine time has passed: the healthy projects keep their servers, and the faulty one is quarantined alone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;

use crate::query::plan::{self, Choice};
use crate::server::child_key::ChildKey;
use crate::server::projects::anchors;
use crate::status::stopped_servers::StopReason;
use crate::status::watch_slot::WatchSlot;
use crate::workspace::actor::Workspace;
use crate::workspace::setup::WorkspaceSetup;
use codeyard_files::watch::{ChangeKind, Changes, FileChange};
use codeyard_lsp::registry::{MultiRoot, ServerSpec};

/// Counts the changes that may move project roots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PlacementRevision {
    /// Changes of the list of files.
    pub(super) files: u64,
    /// Those that created or deleted a marker of a project root.
    pub(super) markers: u64,
}

/// Finds the projects of one language server. It reads the disk: a start uses it on the blocking pool, where it holds up no call to the
/// workspace.
pub(super) struct ProjectFinder {
    setup: Arc<WorkspaceSetup>,
    slot: WatchSlot,
    separated: BTreeSet<String>,
    server: Arc<ServerSpec>,
    multi_root: MultiRoot,
}

impl ProjectFinder {
    /// The projects at `roots`, and all others of a server that answers across projects, each with its anchors.
    pub(super) fn projects(&self, mut roots: BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let files = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        if self.multi_root == MultiRoot::ByFile && anchors::are_chosen_for(&self.server) {
            roots.extend(plan::project_roots(self.setup.plan_context(&self.separated), &self.server, &files));
        }
        let with_anchors = |root: PathBuf| {
            let chosen = anchors::choose(&self.server, &root, files_below(&files, &root), &self.setup.servers);
            (root, chosen)
        };
        roots.into_iter().map(with_anchors).collect()
    }
}

impl Workspace {
    /// Finds the projects of this server.
    pub(super) fn project_finder(&self, choice: &Choice) -> ProjectFinder {
        ProjectFinder {
            setup: self.setup.clone(),
            slot: self.slot.clone(),
            separated: self.separated.clone(),
            server: choice.server.clone(),
            multi_root: choice.multi_root,
        }
    }

    /// Files were created or deleted, or a manifest changed: plans are made again, and projects may join or leave.
    pub(super) fn placement_changed(&mut self, changes: &Changes) {
        self.forget_plans();
        self.placement.files += 1;
        let servers = &self.setup.servers;
        let is_marker = |change: &FileChange| {
            change.kind != ChangeKind::Changed && plan::marks_projects(servers, &change.path)
                || plan::may_move_roots(servers, &change.path)
        };
        if changes.bulk || changes.files.iter().any(is_marker) {
            self.placement.markers += 1;
        }
    }

    /// A server that handles several project roots crashed too often: from now on each project root has a process of its own.
    pub(super) fn separate(&mut self, key: &ChildKey, ctx: &mut Context<Self>) {
        let wait = self.policy.restart.quarantine;
        tracing::warn!(
            workspace = %self.setup.name, server = %key.kind, seconds = wait.as_secs(),
            "language server failed too often with several projects; each project has a process of its own for now"
        );
        self.separated.insert(key.kind.clone());
        self.replace_servers(&key.kind, ctx);
        let kind = key.kind.clone();
        ctx.run_later(wait, move |workspace, ctx| {
            workspace.separated.remove(&kind);
            workspace.replace_servers(&kind, ctx);
        });
    }

    /// Stops all servers of a kind; the next queries start them as the plans are then.
    fn replace_servers(&mut self, kind: &str, ctx: &mut Context<Self>) {
        let keys: Vec<ChildKey> = self.children.keys().filter(|key| key.kind == kind).cloned().collect();
        for key in keys {
            self.stop_child(&key, StopReason::Replaced, ctx);
        }
        self.forget_plans();
        self.move_epochs(true, false, true);
    }
}

/// The part of `files`, sorted by their bytes, that lies below `root`.
fn files_below<'a>(files: &'a [PathBuf], root: &Path) -> &'a [PathBuf] {
    let mut prefix = root.as_os_str().as_bytes().to_vec();
    if prefix.last() != Some(&b'/') {
        prefix.push(b'/');
    }
    let first = files.partition_point(|path| path.as_os_str().as_bytes() < prefix.as_slice());
    let length = files[first..].partition_point(|path| path.as_os_str().as_bytes().starts_with(&prefix));
    &files[first..first + length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_below_a_folder_are_one_range() {
        let mut files: Vec<PathBuf> =
            ["/w/a", "/w/a-b/x", "/w/a/x", "/w/a/y/z", "/w/a.c", "/w/b", "/v/a/x", "/w/é/x"].map(PathBuf::from).into();
        files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        let below = |root: &str| files_below(&files, Path::new(root)).to_vec();
        assert_eq!(below("/w/a"), ["/w/a/x", "/w/a/y/z"].map(PathBuf::from));
        assert_eq!(below("/w").len(), 7);
        assert_eq!(below("/").len(), 8);
        assert_eq!(below("/w/é"), [PathBuf::from("/w/é/x")]);
        assert_eq!(below("/w/c"), Vec::<PathBuf>::new());
    }
}
