//! Messages of the supervisor and the answers to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::prelude::*;

use crate::supervisor::drain_state::{Draining, PendingDrain};
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_config::{Config, ConfigError, WorkspaceConfig};

/// Applies a configuration: the first one, or a reloaded one.
#[derive(Message)]
#[rtype(result = "Result<ConfigureReport, ConfigureError>")]
pub struct Configure(pub Box<Config>);

/// The result of applying a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigureReport {
    /// Workspaces that are new or were replaced.
    pub started: Vec<WorkspaceName>,
    pub removed: Vec<WorkspaceName>,
    /// Running workspaces that got a new policy.
    pub retuned: Vec<WorkspaceName>,
    /// Workspaces that couldn't be opened, with the reason.
    pub failed: Vec<(WorkspaceName, String)>,
}

/// Why a configuration can't be applied.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The server entries can't be merged into the registry.
    #[error("the configuration's language servers are wrong: {0}")]
    Registry(String),
    /// A workspace names a language server that isn't in the registry.
    #[error(transparent)]
    Kinds(ConfigError),
    /// It is not valid together with the workspaces that were added at run time.
    #[error("with the workspaces made at run time, {0}")]
    Together(#[from] ConfigError),
    /// A workspace that runs couldn't start again.
    #[error("nothing was changed, because a workspace could not start again: {0}")]
    State(#[from] StateProblem),
    #[error("the service is stopping")]
    Stopping,
}

/// The state directory can't be written, so a workspace can't start. The text names the file and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateProblem(pub String);

/// Drains every workspace and stops.
#[derive(Message)]
#[rtype(result = "()")]
pub struct DrainAll;

/// The condition on a workspace for a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Condition {
    #[default]
    None,
    /// The workspace must not exist.
    Absent,
    /// The workspace must exist.
    Present,
    /// The workspace must exist with one of these revisions.
    Revision(Vec<String>),
}

impl Condition {
    pub(super) fn holds(&self, revision: Option<&str>) -> bool {
        match (self, revision) {
            (Self::None, _) | (Self::Absent, None) | (Self::Present, Some(_)) => true,
            (Self::Revision(wanted), Some(there)) => wanted.iter().any(|wanted| wanted == there),
            _ => false,
        }
    }
}

/// Creates or changes a workspace.
#[derive(Message)]
#[rtype(result = "Result<PutDone, PutError>")]
pub struct PutWorkspace {
    pub config: Box<WorkspaceConfig>,
    /// The condition for the change.
    pub condition: Condition,
}

/// The result of [`PutWorkspace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutDone {
    pub change: PutChange,
    pub revision: String,
}

/// How a workspace changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutChange {
    Created,
    /// It was opened again: `rootsEpoch` rises and its language servers are restarted.
    Replaced,
    /// It got new values without a restart.
    Retuned,
    /// It had these values already.
    Unchanged,
}

/// Why [`PutWorkspace`] failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PutError {
    /// The condition doesn't hold; the current revision, if the workspace exists.
    #[error("the condition does not hold")]
    Condition(Option<String>),
    /// It is not valid together with the other workspaces.
    #[error(transparent)]
    Invalid(ConfigError),
    /// Its roots can't be opened. The text may name paths; it is for operators only.
    #[error("{0}")]
    Unusable(String),
    /// It, or another workspace that would have to start again, can't start. The text may name paths; it is for operators only.
    #[error(transparent)]
    State(StateProblem),
    /// Too many workspaces are draining.
    #[error("too many workspaces are being stopped")]
    Busy,
    #[error("the service is stopping")]
    Stopping,
}

/// Removes a workspace; the result resolves to the report of its drain.
#[derive(Message)]
#[rtype(result = "Result<PendingDrain, RemoveError>")]
pub struct RemoveWorkspace {
    pub name: WorkspaceName,
    /// The condition for the change.
    pub condition: Condition,
}

/// Why [`RemoveWorkspace`] failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// There is no workspace of this name.
    #[error("there is no such workspace")]
    Unknown,
    /// The condition doesn't hold; the current revision, if the workspace exists.
    #[error("the condition does not hold")]
    Condition(Option<String>),
    /// Too many workspaces are draining.
    #[error("too many workspaces are being stopped")]
    Busy,
    #[error("the service is stopping")]
    Stopping,
}

/// Measures the memory of all language servers now, and makes room if a start waits for it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct MeasureMemory;

/// The configured and the draining workspaces.
#[derive(Clone, Default)]
pub struct WorkspaceListing {
    /// The workspaces of the current configuration, in its order.
    pub entries: Vec<WorkspaceEntry>,
    pub draining: Vec<Draining>,
    /// The workspaces that an endpoint without a name refers to, by tenant.
    pub defaults: BTreeMap<TenantId, WorkspaceName>,
    /// The whole service is stopping.
    pub stopping: bool,
    /// What the configuration changes in the registry of language servers, without secrets.
    pub registry: Arc<toml::Table>,
}

/// One workspace of the current configuration.
#[derive(Clone)]
pub struct WorkspaceEntry {
    pub config: WorkspaceConfig,
    /// Whether it was added or changed at run time; otherwise it is defined by the file or the command line.
    pub put: bool,
    /// Changes whenever `config` does.
    pub revision: String,
    /// Its handle, if it could be opened.
    pub handle: Option<WorkspaceHandle>,
    /// Why it couldn't be opened.
    pub problem: Option<String>,
}
