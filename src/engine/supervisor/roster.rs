//! What an operator may change while the service runs: workspaces are put, removed and listed.
//!
//! A change holds in memory only. When the configuration file is read again, it decides about every name it defines;
//! workspaces that were put under other names stay. Invariants: a change that is refused changes nothing; conditions are
//! checked in the same step as the change is made; no change of workspaces lets an endpoint without a name mean another one.

use std::collections::BTreeSet;

use actix::prelude::*;

use super::{Departing, Leaving, Supervisor};
use crate::directory::WorkspaceHandle;
use crate::kinds;
use crate::limits::MAX_WORKSPACES_LEAVING;
use codeyard_base::digest::sha256hex;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, ConfigError, WorkspaceChange, WorkspaceConfig};
use codeyard_files::gate::Gate;

/// Characters of a revision.
const REVISION_CHARS: usize = 16;

/// What must hold of a workspace for a change to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// It isn't there.
    Absent,
    /// It is there.
    Present,
    /// It is there, at one of these revisions.
    Revision(Vec<String>),
}

/// Creates or changes a workspace.
#[derive(Message)]
#[rtype(result = "Result<PutDone, PutError>")]
pub struct PutWorkspace {
    /// What it is to be.
    pub config: Box<WorkspaceConfig>,
    /// What must hold before.
    pub condition: Condition,
}

/// What came of putting a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutDone {
    /// How it changed.
    pub change: PutChange,
    /// Its revision now.
    pub revision: String,
}

/// How a workspace changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutChange {
    /// It is new.
    Created,
    /// It was opened anew: `rootsEpoch` rose, language servers start anew.
    Replaced,
    /// It took new values over as it runs.
    Retuned,
    /// It was like this before.
    Unchanged,
}

/// Why a workspace wasn't put.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PutError {
    /// The condition doesn't hold; the revision there is.
    #[error("the condition does not hold")]
    Condition(Option<String>),
    /// It isn't a valid configuration together with the others.
    #[error(transparent)]
    Invalid(ConfigError),
    /// Its roots can't be opened. For the operator: it may name them.
    #[error("{0}")]
    Unusable(String),
    /// Too many workspaces are on their way out.
    #[error("too many workspaces are being stopped")]
    Busy,
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
}

/// Removes a workspace; the answer is the report to wait for.
#[derive(Message)]
#[rtype(result = "Result<Departing, RemoveError>")]
pub struct RemoveWorkspace {
    /// Which one.
    pub name: WorkspaceName,
    /// What must hold before.
    pub condition: Condition,
}

/// Why a workspace wasn't removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// There is none of this name.
    #[error("there is no such workspace")]
    Unknown,
    /// The condition doesn't hold; the revision there is.
    #[error("the condition does not hold")]
    Condition(Option<String>),
    /// Too many workspaces are on their way out.
    #[error("too many workspaces are being stopped")]
    Busy,
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
}

/// Asks which workspaces there are: all, or the one of a name.
#[derive(Message)]
#[rtype(result = "Roster")]
pub struct GetRoster(pub Option<WorkspaceName>);

/// The workspaces there are.
#[derive(Clone, MessageResponse)]
pub struct Roster {
    /// Those of the configuration in force, in its order.
    pub entries: Vec<RosterEntry>,
    /// Those on their way out.
    pub leaving: Vec<Leaving>,
    /// The one that an endpoint without a name means.
    pub default: Option<WorkspaceName>,
    /// The whole service is stopping.
    pub stopping: bool,
}

/// One workspace of the configuration in force.
#[derive(Clone)]
pub struct RosterEntry {
    /// What it is to be.
    pub config: WorkspaceConfig,
    /// Whether it was put at run time, or else defined by the file or the command line.
    pub put: bool,
    /// Changes whenever `config` does.
    pub revision: String,
    /// How to reach it, if it could be opened.
    pub handle: Option<WorkspaceHandle>,
    /// Why it couldn't be opened.
    pub problem: Option<String>,
}

impl Condition {
    fn holds(&self, revision: Option<&str>) -> bool {
        match (self, revision) {
            (Self::None, _) | (Self::Absent, None) | (Self::Present, Some(_)) => true,
            (Self::Revision(wanted), Some(there)) => wanted.iter().any(|wanted| wanted == there),
            _ => false,
        }
    }
}

impl Supervisor {
    /// Adds to a file's configuration what was put at run time under other names.
    pub(super) fn keep_put(&self, new: &mut Config) -> Result<BTreeSet<WorkspaceName>, ConfigError> {
        let stays = |workspace: &&WorkspaceConfig| {
            self.put.contains(&workspace.name) && new.workspace(workspace.name.as_str()).is_none()
        };
        let kept: Vec<WorkspaceConfig> = self.config.workspaces.iter().filter(stays).cloned().collect();
        let names: BTreeSet<WorkspaceName> = kept.iter().map(|workspace| workspace.name.clone()).collect();
        if new.default_workspace.is_none() {
            let before = self.config.default_workspace.clone().filter(|name| names.contains(name));
            new.default_workspace = new.workspaces.first().map(|first| first.name.clone()).or(before);
        }
        new.workspaces.extend(kept);
        validate_together(new)?;
        Ok(names)
    }

    fn put(&mut self, put: PutWorkspace, ctx: &mut Context<Self>) -> Result<PutDone, PutError> {
        let config = *put.config;
        let name = config.name.clone();
        self.check_change(&name, &put.condition)?;
        let wrong =
            self.servers.as_ref().and_then(|servers| kinds::unknown(&config, &servers.registry).into_iter().next());
        if let Some(error) = wrong {
            return Err(PutError::Invalid(error));
        }
        let was_there = self.config.workspace(name.as_str()).is_some();
        let mut new = self.config.clone();
        let revision = revision(&config);
        let (roots, extra_roots) = (config.roots.clone(), config.extra_roots.clone());
        match new.workspaces.iter_mut().find(|workspace| workspace.name == name) {
            Some(there) => *there = config,
            None => new.workspaces.push(config),
        }
        validate_together(&new).map_err(PutError::Invalid)?;
        new.default_workspace.get_or_insert_with(|| name.clone());
        let changes = codeyard_config::diff(&self.config, &new);
        let runs = self.running.contains_key(&name);
        let change = match changes.first() {
            _ if !was_there => PutChange::Created,
            None if runs => PutChange::Unchanged,
            Some(WorkspaceChange::Changed(_, changed)) if runs && !changed.roots && !changed.servers => {
                PutChange::Retuned
            }
            _ => PutChange::Replaced,
        };
        if matches!(change, PutChange::Created | PutChange::Replaced) {
            // Before the one there is let go.
            Gate::open(&roots, &extra_roots).map_err(|error| PutError::Unusable(error.to_string()))?;
        }
        if change != PutChange::Unchanged {
            self.put.insert(name.clone());
            let done = self.take_over(new, std::slice::from_ref(&name), ctx);
            if let Some((_, why)) = done.failed.into_iter().find(|(failed, _)| *failed == name) {
                return Err(PutError::Unusable(why));
            }
            tracing::info!(workspace = %name, ?change, "workspace put by an operator");
        }
        Ok(PutDone { change, revision })
    }

    fn take_out(&mut self, name: &WorkspaceName, wanted: &Condition, ctx: &mut Context<Self>) -> Removed {
        if self.config.workspace(name.as_str()).is_none() {
            // Asked again while it leaves: the same departure.
            let again = |leaving: &&Leaving| leaving.name == *name && leaving.removed && leaving.goes_on();
            let leaving = self.leaving.iter().rev().find(again);
            return leaving.map(|leaving| leaving.departing.clone()).ok_or(RemoveError::Unknown);
        }
        self.check_change(name, wanted)?;
        let mut new = self.config.clone();
        new.workspaces.retain(|workspace| workspace.name != *name);
        self.put.remove(name);
        let ran = self.running.contains_key(name);
        self.take_over(new, &[], ctx);
        tracing::info!(workspace = %name, "workspace removed by an operator");
        match self.leaving.last_mut().filter(|_| ran) {
            Some(leaving) => {
                leaving.removed = true;
                Ok(leaving.departing.clone())
            }
            None => Ok(never_was(name)),
        }
    }

    fn check_change(&self, name: &WorkspaceName, condition: &Condition) -> Result<(), Refused> {
        if self.stopping {
            return Err(Refused::Stopping);
        }
        let there = self.config.workspace(name.as_str()).map(revision);
        if !condition.holds(there.as_deref()) {
            return Err(Refused::Condition(there));
        }
        if self.leaving.len() >= MAX_WORKSPACES_LEAVING {
            return Err(Refused::Busy);
        }
        Ok(())
    }

    fn roster(&self, only: Option<&WorkspaceName>) -> Roster {
        let wanted = |name: &WorkspaceName| only.is_none_or(|only| only == name);
        let entries = self.config.workspaces.iter().filter(|workspace| wanted(&workspace.name)).map(|workspace| {
            let name = &workspace.name;
            RosterEntry {
                config: workspace.clone(),
                put: self.put.contains(name),
                revision: revision(workspace),
                handle: self.running.get(name).map(|running| running.handle.clone()),
                problem: self.failed.get(name).cloned(),
            }
        });
        Roster {
            entries: entries.collect(),
            leaving: self
                .leaving
                .iter()
                .filter(|leaving| wanted(&leaving.name) && leaving.goes_on())
                .cloned()
                .collect(),
            default: self.config.default_name().cloned(),
            stopping: self.stopping,
        }
    }
}

type Removed = Result<Departing, RemoveError>;

/// Why no change is made now, whatever it is.
enum Refused {
    Stopping,
    Condition(Option<String>),
    Busy,
}

impl From<Refused> for PutError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Stopping => Self::Stopping,
            Refused::Condition(there) => Self::Condition(there),
            Refused::Busy => Self::Busy,
        }
    }
}

impl From<Refused> for RemoveError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Stopping => Self::Stopping,
            Refused::Condition(there) => Self::Condition(there),
            Refused::Busy => Self::Busy,
        }
    }
}

impl Handler<PutWorkspace> for Supervisor {
    type Result = Result<PutDone, PutError>;

    fn handle(&mut self, put: PutWorkspace, ctx: &mut Self::Context) -> Self::Result {
        self.put(put, ctx)
    }
}

impl Handler<RemoveWorkspace> for Supervisor {
    type Result = Result<Departing, RemoveError>;

    fn handle(&mut self, remove: RemoveWorkspace, ctx: &mut Self::Context) -> Self::Result {
        self.take_out(&remove.name, &remove.condition, ctx)
    }
}

impl Handler<GetRoster> for Supervisor {
    type Result = Roster;

    fn handle(&mut self, asked: GetRoster, _: &mut Self::Context) -> Self::Result {
        self.roster(asked.0.as_ref())
    }
}

/// The rules of a configuration, but for the default workspace: an operator may have removed it.
fn validate_together(config: &Config) -> Result<(), ConfigError> {
    Config { default_workspace: None, ..config.clone() }.validate()
}

/// A text that differs whenever the configuration does.
fn revision(config: &WorkspaceConfig) -> String {
    let text = serde_json::to_vec(config).unwrap_or_default();
    sha256hex(text)[..REVISION_CHARS].to_owned()
}

/// The departure of a workspace that was never open.
fn never_was(name: &WorkspaceName) -> Departing {
    use futures::FutureExt;
    let (calls, calls_cut, took) = (0, 0, std::time::Duration::ZERO);
    let departure = super::Departure { name: name.clone(), calls, calls_cut, servers: Vec::new(), took };
    futures::future::ready(std::sync::Arc::new(departure)).boxed().shared()
}
