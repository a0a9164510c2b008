//! Brings the projects of running language servers up to date, when a query needs others or files have moved project roots.
//!
//! Finding projects and their anchors looks at the disk, so it runs on the blocking pool; the actor applies the result before the query
//! runs. Invariant: there is one job for each language server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;

use crate::query::plan::{self, Choice, Plan};
use crate::server::program::programs::PendingLookup;
use crate::workspace::actor::Workspace;
use crate::workspace::shared_servers::PlacementRevision;
use codeyard_base::blocking;
use codeyard_lsp::registry::MultiRoot;

/// What a job has found.
#[derive(Default)]
struct FoundProjects {
    /// Projects that join, each with its anchors; of a server that answers across projects, all of them.
    present: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Folders that are no project roots any more.
    gone: Vec<PathBuf>,
}

/// A job for one language server.
pub(super) struct ProjectJob {
    placement: PlacementRevision,
    /// The revision of the plans when it was begun.
    revision: u64,
    /// `None` inside: it panicked, and the projects join without anchors.
    found: Arc<OnceLock<Option<FoundProjects>>>,
    done: PendingLookup,
}

impl Workspace {
    /// Updates the projects of the running servers of a plan. `Err`: what must end first. `since` is the revision of the plans when the
    /// query began to wait.
    pub(super) fn update_all_projects(&mut self, plan: &Plan, since: Option<u64>) -> Result<(), Vec<PendingLookup>> {
        let all = plan.choices.iter().chain(&plan.fallbacks);
        let waits: Vec<PendingLookup> = all.filter_map(|choice| self.update_projects(choice, since)).collect();
        if waits.is_empty() { Ok(()) } else { Err(waits) }
    }

    /// Updates the projects of one running server: those of this choice join, those that are no project roots any more leave. Returns what
    /// must end first.
    fn update_projects(&mut self, choice: &Choice, since: Option<u64>) -> Option<PendingLookup> {
        self.apply_projects(choice);
        let child = self.children.get(&choice.key).filter(|child| child.actor.connected())?;
        let before = child.placed;
        let now = self.placement;
        // Of changes after the query has begun to wait, it needs nothing.
        let is_placed = |same: bool| same || since.is_some_and(|since| since <= child.placed_at);
        let new: BTreeSet<PathBuf> =
            choice.projects.iter().filter(|root| !child.folders.contains(root)).cloned().collect();
        let is_current = match choice.multi_root {
            MultiRoot::No => true,
            MultiRoot::WorkspaceFolders => new.is_empty() && is_placed(before.files == now.files),
            MultiRoot::ByFile => is_placed(before.markers == now.markers),
        };
        if is_current {
            return None;
        }
        if let Some(job) = self.project_jobs.get(&choice.key) {
            return Some(job.done.clone());
        }
        Some(self.begin_job(choice, new))
    }

    fn begin_job(&mut self, choice: &Choice, new: BTreeSet<PathBuf>) -> PendingLookup {
        let finder = self.project_finder(choice);
        let choice = choice.clone();
        let roots = self.children.get(&choice.key).map(|child| child.folders.roots()).unwrap_or_default();
        let setup = self.setup.clone();
        let separated = self.separated.clone();
        let key = choice.key.clone();
        let work = move || match choice.multi_root {
            MultiRoot::No => FoundProjects::default(),
            MultiRoot::ByFile => FoundProjects { present: finder.projects(choice.projects), gone: Vec::new() },
            MultiRoot::WorkspaceFolders => {
                let context = setup.plan_context(&separated);
                let is_gone = |root: &PathBuf| {
                    !choice.projects.contains(root) && !plan::is_project_root(context, &choice.server, root)
                };
                let gone = roots.into_iter().filter(is_gone).collect();
                FoundProjects { present: finder.projects(new), gone }
            }
        };
        let found = Arc::new(OnceLock::new());
        let kept = found.clone();
        let task = tokio::spawn(async move { drop(kept.set(blocking::spawn(work).await.ok())) });
        let done = async move { drop(task.await) }.boxed().shared();
        let job = ProjectJob { placement: self.placement, revision: self.plan_revision, found, done: done.clone() };
        self.project_jobs.insert(key, job);
        done
    }

    /// Applies what the job of this server has found, if it has ended.
    fn apply_projects(&mut self, choice: &Choice) {
        if self.project_jobs.get(&choice.key).is_none_or(|job| job.found.get().is_none()) {
            return;
        }
        let Some(job) = self.project_jobs.remove(&choice.key) else { return };
        let (Some(found), Some(child)) = (job.found.get(), self.children.get_mut(&choice.key)) else { return };
        match (choice.multi_root, found) {
            (MultiRoot::No, _) => {}
            (_, None) => choice.projects.iter().for_each(|root| child.folders.join(root.clone(), Vec::new())),
            (MultiRoot::ByFile, Some(found)) => child.folders.replace(found.present.clone()),
            (MultiRoot::WorkspaceFolders, Some(found)) => {
                child.folders.retain(|root| !found.gone.iter().any(|gone| gone == root));
                for (root, anchors) in &found.present {
                    child.folders.join(root.clone(), anchors.clone());
                }
            }
        }
        child.placed = job.placement;
        child.placed_at = job.revision;
    }
}
