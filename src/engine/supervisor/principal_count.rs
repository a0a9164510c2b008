//! Counts the principals that may call: those with a token and those that rules of permission name. More than one makes workspaces
//! restricted that name no level. Makes the isolation of each workspace.
//!
//! Invariant: tokens that can't be read count as several principals, unless they could be read before: then what they said then holds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use crate::limits::OPEN_AGAIN_MS;
use crate::server::program::isolation::WorkspaceIsolation;
use crate::supervisor::actor::Supervisor;
use codeyard_access::Principal;
use codeyard_base::clock::Instant;
use codeyard_config::{Config, IsolationLevel, WorkspaceConfig};
use codeyard_state::{StoreHandle, TokenAudience, TokenStore};

/// Reads the tokens of callers.
pub(super) struct PrincipalCount {
    store: StoreHandle,
    /// Why the present number couldn't be followed, and when that was tried.
    refused: Option<(String, Instant)>,
}

impl PrincipalCount {
    pub(super) fn new(store: StoreHandle) -> Self {
        Self { store, refused: None }
    }

    /// The level of workspaces that name none; `before` is the present one. While the tokens can't be read, no token is accepted, and no
    /// workspace starts again because of that.
    pub(super) fn default_level(&self, config: &Config, before: Option<IsolationLevel>) -> IsolationLevel {
        let by_config = config.default_isolation(BTreeSet::new());
        let Ok(tokens) = TokenStore::open(self.store.clone(), TokenAudience::Mcp) else {
            return before.filter(|_| by_config == IsolationLevel::Trusted).unwrap_or(IsolationLevel::Restricted);
        };
        config.default_isolation(tokens.principals().iter().map(Principal::name).collect())
    }
}

impl Supervisor {
    /// The isolation of a workspace with this configuration. Blocks for a fraction of a second when the first restricted one is opened.
    pub(super) fn isolation_of(&self, config: &WorkspaceConfig) -> Arc<WorkspaceIsolation> {
        let level = config.isolation.or(self.default_isolation).unwrap_or(IsolationLevel::Restricted);
        let launcher = self.parts.shared.launcher.clone();
        let isolation = WorkspaceIsolation::of(level, config.isolation.is_some(), &self.config.supervision, launcher);
        if let Some(Err(why)) = isolation.mechanism() {
            tracing::error!(
                workspace = %config.name, error = %why,
                "the workspace is restricted and no sandbox holds; its language servers are not started"
            );
        }
        Arc::new(isolation)
    }

    /// Restarts the workspaces whose level follows the number of principals, if that has changed.
    pub(super) fn follow_principals(&mut self, ctx: &mut Context<Self>) {
        let level = self.principals.default_level(&self.config, self.default_isolation);
        if self.stopping || self.default_isolation.is_none_or(|before| before == level) {
            self.principals.refused = None;
            return;
        }
        let again = Duration::from_millis(OPEN_AGAIN_MS);
        if self.principals.refused.as_ref().is_some_and(|(_, at)| at.elapsed() < again) {
            return;
        }
        let plan = self.plan_at(self.config.clone(), &[], level);
        if let Some(problem) = plan.problem(self, None) {
            let problem = problem.to_string();
            let before = self.principals.refused.replace((problem.clone(), Instant::now()));
            if before.is_some_and(|(before, _)| before == problem) {
                return;
            }
            tracing::error!(
                error = %problem,
                "the number of principals has changed, and workspaces without `isolation` can't start again at their new level; this is \
                 tried again"
            );
            return;
        }
        self.principals.refused = None;
        tracing::info!(
            "the number of principals has changed; workspaces without `isolation` start again at their new level"
        );
        self.apply_plan(plan, ctx);
        self.publish_listing();
    }
}
