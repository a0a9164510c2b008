//! The plans of a workspace: the language servers that take part in a query. Plans are reused until the list of files or a marker of a
//! project root changes; one of the whole workspace with a missing server, for a second only.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::query::gather::is_symbol_search;
use crate::query::plan::{self, Choice, Plan, PlanResult};
use crate::status::server_state::{CRASHED, Unavailable};
use crate::workspace::actor::Workspace;
use codeyard_base::clock::Instant;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;

/// How long a plan of the whole workspace with a missing server is reused. Making one reads every folder.
const INCOMPLETE_PLAN_LIFE: Duration = Duration::from_secs(1);

/// Most plans of single files that are reused.
const MAX_REMEMBERED_PLANS: usize = 1_024;

impl Workspace {
    /// The plan of a query. `Err`: program lookups that must end first.
    pub(super) fn plan(&mut self, query: &GatedQuery) -> PlanResult<Arc<Plan>> {
        let is_of_symbols = matches!(query, Query::WorkspaceSymbols { .. } | Query::Declarations { .. });
        let linters = !is_of_symbols && !is_symbol_search(query);
        match query.uri() {
            Some(uri) => self.plan_file(uri, linters),
            None => self.plan_workspace(linters),
        }
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

    /// The plan of one file, with or without linters.
    fn plan_file(&mut self, uri: &CanonicalUri, linters: bool) -> PlanResult<Arc<Plan>> {
        let path = uri.to_path();
        let language = self.setup.servers.index.language_of(&path).unwrap_or_default().to_owned();
        let key = (path.parent().map(PathBuf::from).unwrap_or_default(), language, linters);
        if let Some(plan) = self.plans.get(&key) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(plan::plan_for_file(self.setup.plan_context(&self.separated), &path, linters)?);
        if plan.unavailable.is_empty() && self.plans.len() < MAX_REMEMBERED_PLANS {
            self.plans.insert(key, plan.clone());
        }
        Ok(plan)
    }

    /// The plan of the whole workspace, with or without linters.
    pub(super) fn plan_workspace(&mut self, linters: bool) -> PlanResult<Arc<Plan>> {
        let now = Instant::now();
        if let Some((plan, until)) = self.workspace_plans.get(&linters)
            && until.is_none_or(|until| now < until)
        {
            return Ok(plan.clone());
        }
        let files = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        let plan = Arc::new(plan::plan_for_workspace(self.setup.plan_context(&self.separated), &files, linters)?);
        let until = (!plan.unavailable.is_empty()).then(|| now + INCOMPLETE_PLAN_LIFE);
        self.workspace_plans.insert(linters, (plan.clone(), until));
        Ok(plan)
    }
}
