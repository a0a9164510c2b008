//! Counts the principals that may call: those with a token and those that rules of permission name. More than one makes workspaces
//! restricted that name no level. Makes the isolation of each workspace.
//!
//! Invariant: tokens that can't be read count as several principals.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::prelude::*;

use crate::server::isolation::WorkspaceIsolation;
use crate::supervisor::actor::Supervisor;
use codeyard_config::{Config, IsolationLevel, WorkspaceConfig};
use codeyard_state::{StoreHandle, TokenAudience, TokenStore};

/// Reads the tokens of callers.
pub(super) struct PrincipalCount {
    store: StoreHandle,
}

impl PrincipalCount {
    pub(super) fn new(store: StoreHandle) -> Self {
        Self { store }
    }

    /// The level of workspaces that name none.
    pub(super) fn default_level(&self, config: &Config) -> IsolationLevel {
        let Ok(tokens) = TokenStore::open(self.store.clone(), TokenAudience::Mcp) else {
            return IsolationLevel::Restricted;
        };
        let tokens = tokens.principals();
        let mut names: BTreeSet<&str> = tokens.iter().map(|principal| principal.as_str()).collect();
        names.extend(config.principals());
        IsolationLevel::by_principals(names.len())
    }
}

impl Supervisor {
    /// The isolation of a workspace with this configuration. Blocks for a fraction of a second when the first restricted one is opened.
    pub(super) fn isolation_of(&self, config: &WorkspaceConfig) -> Arc<WorkspaceIsolation> {
        let level = config.isolation.unwrap_or(self.default_isolation);
        let launcher = &*self.parts.shared.launcher;
        let isolation = WorkspaceIsolation::of(level, config.isolation.is_some(), &self.config.supervision, launcher);
        if let Some(Err(why)) = &isolation.mechanism {
            tracing::error!(
                workspace = %config.name, error = %why,
                "the workspace is restricted and no sandbox holds; its language servers are not started"
            );
        }
        Arc::new(isolation)
    }

    /// Restarts the workspaces whose level follows the number of principals, if that has changed.
    pub(super) fn follow_principals(&mut self, ctx: &mut Context<Self>) {
        if self.stopping || self.principals.default_level(&self.config) == self.default_isolation {
            return;
        }
        tracing::info!(
            "the number of principals has changed; workspaces without `isolation` start again at their new level"
        );
        self.apply_config(self.config.clone(), &[], ctx);
        self.publish_listing();
    }
}
