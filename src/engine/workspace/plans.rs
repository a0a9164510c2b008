//! The plans of a workspace: the language servers that take part in a query. Plans are reused until the list of files or a marker of a
//! project root changes; one with a missing server, for a second only.
//!
//! Making a plan looks for the markers of project roots, so it runs on the blocking pool; the actor keeps the result. Invariants: a query
//! gets a plan that was begun after the last change that was seen before the query; there is one job for each plan.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;

use crate::limits::{MAX_PLAN_JOBS, MAX_REMEMBERED_PLANS};
use crate::query::gather::is_symbol_search;
use crate::query::plan::{self, Choice, Plan, PlanContext, PlanResult};
use crate::server::program::programs::PendingLookup;
use crate::status::server_state::{CRASHED, Unavailable};
use crate::workspace::actor::Workspace;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_model::query::{GatedQuery, Query};

/// How long a plan with a missing server is reused. Making one of the whole workspace reads every folder.
const INCOMPLETE_PLAN_LIFE: Duration = Duration::from_secs(1);

/// Which plan it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PlanKey {
    /// The folder and the language of a file; `None` for the whole workspace.
    file: Option<(PathBuf, String)>,
    linters: bool,
}

/// A plan that is made, or being made.
pub(super) struct PlanJob {
    /// The revision of the plans when it was begun.
    revision: u64,
    /// Whether the workspace's files were listed then. Without them it has no companions.
    is_listed: bool,
    made: Arc<OnceLock<(PlanResult<Arc<Plan>>, Instant)>>,
    done: PendingLookup,
}

impl Workspace {
    /// The plan of a query. `Err`: what must end first. `since` is the revision of the plans when the query began to wait for one.
    pub(super) fn plan(&mut self, query: &GatedQuery, since: Option<u64>) -> PlanResult<Arc<Plan>> {
        let is_of_symbols = matches!(query, Query::WorkspaceSymbols { .. } | Query::Declarations { .. });
        let linters = !is_of_symbols && !is_symbol_search(query);
        let Some(uri) = query.uri() else { return self.plan_workspace(linters, since) };
        let path = uri.to_path();
        let language = self.setup.servers.index.language_of(&path).unwrap_or_default().to_owned();
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        let key = PlanKey { file: Some((folder, language)), linters };
        self.kept_or_new_plan(key, since, move |context, files| plan::plan_for_file(context, &path, files, linters))
    }

    /// The plan of the whole workspace, with or without linters.
    pub(super) fn plan_workspace(&mut self, linters: bool, since: Option<u64>) -> PlanResult<Arc<Plan>> {
        let key = PlanKey { file: None, linters };
        self.kept_or_new_plan(key, since, move |context, files| plan::plan_for_workspace(context, files, linters))
    }

    /// The plan of a key as it is kept, or as `make` makes it of the source files.
    fn kept_or_new_plan(
        &mut self,
        key: PlanKey,
        since: Option<u64>,
        make: impl FnOnce(PlanContext<'_>, &[PathBuf]) -> PlanResult + Send + 'static,
    ) -> PlanResult<Arc<Plan>> {
        if let Some(plan) = self.kept_plan(&key, since) {
            return plan;
        }
        let setup = self.setup.clone();
        let separated = self.separated.clone();
        let slot = self.slot.clone();
        self.make_plan(key, move || {
            let files = slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
            make(setup.plan_context(&separated), &files)
        })
    }

    /// The plan without the servers that are paused after a panic.
    pub(super) fn without_paused(&self, plan: Arc<Plan>) -> Arc<Plan> {
        let now = Instant::now();
        let is_paused = |choice: &Choice| self.paused.get(&choice.key).is_some_and(|until| *until > now);
        if !plan.choices.iter().any(is_paused) {
            return plan;
        }
        let (paused, choices) = plan.choices.iter().cloned().partition(is_paused);
        let paused: Vec<Choice> = paused;
        let mut unavailable = plan.unavailable.clone();
        unavailable.extend(paused.iter().map(|choice| {
            let message = "language-server actor crashed; it restarts in a few seconds";
            let left =
                self.paused.get(&choice.key).map(|until| until.saturating_duration_since(now)).unwrap_or_default();
            let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            Unavailable::new(&choice.key.kind, CRASHED, message, "codeyard doctor")
                .retry_after(left.max(RETRY_AFTER_MS))
        }));
        Arc::new(Plan { choices, unavailable, ..plan.as_ref().clone() })
    }

    /// Forgets all plans.
    pub(super) fn forget_plans(&mut self) {
        self.plan_revision += 1;
    }

    /// The plan that a job has made, or what its job waits for; `None` if a job must begin.
    fn kept_plan(&self, key: &PlanKey, since: Option<u64>) -> Option<PlanResult<Arc<Plan>>> {
        let job = self.plans.get(key)?;
        let waited = since.is_some_and(|since| since <= job.revision);
        let Some((made, at)) = job.made.get() else {
            // A job that began before the last change is waited for all the same: there is only one at a time.
            return Some(Err(vec![job.done.clone()]));
        };
        if !job.is_listed && self.slot.get().is_some() {
            return None;
        }
        match made {
            Ok(plan) => {
                let is_young = || plan.is_complete() || at.elapsed() < INCOMPLETE_PLAN_LIFE;
                let is_usable = waited || job.revision == self.plan_revision && is_young();
                is_usable.then(|| Ok(plan.clone()))
            }
            Err(lookups) if lookups.iter().all(|lookup| lookup.peek().is_some()) => None,
            Err(lookups) => Some(Err(lookups.clone())),
        }
    }

    /// Begins to make a plan.
    fn make_plan(&mut self, key: PlanKey, make: impl FnOnce() -> PlanResult + Send + 'static) -> PlanResult<Arc<Plan>> {
        if self.plans.len() >= MAX_REMEMBERED_PLANS {
            self.plans.retain(|_, job| job.made.get().is_none());
        }
        let unfinished = self.plans.values().filter(|job| job.made.get().is_none());
        let unfinished: Vec<PendingLookup> = unfinished.map(|job| job.done.clone()).collect();
        if unfinished.len() >= MAX_PLAN_JOBS {
            // They don't end when the file system hangs.
            return Err(vec![futures::future::select_all(unfinished).map(drop).boxed().shared()]);
        }
        let is_listed = self.slot.get().is_some();
        let made = Arc::new(OnceLock::new());
        let kept = made.clone();
        let task = tokio::spawn(async move {
            let plan = blocking::spawn(make).await.unwrap_or_else(|_| Ok(failed_plan()));
            drop(kept.set((plan.map(Arc::new), Instant::now())));
        });
        let done = async move { drop(task.await) }.boxed().shared();
        self.plans.insert(key, PlanJob { revision: self.plan_revision, is_listed, made, done: done.clone() });
        Err(vec![done])
    }
}

/// The plan if making one panicked.
fn failed_plan() -> Plan {
    let why = Unavailable::new("", CRASHED, "choosing the language servers failed", "codeyard doctor");
    Plan { unavailable: vec![why], ..Plan::default() }
}
