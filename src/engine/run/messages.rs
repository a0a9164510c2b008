//! Messages of the run actor.

use std::sync::Arc;

use actix::prelude::*;

use codeyard_runs::durable_run::RunError;
use codeyard_runs::event::TraceContext;
use codeyard_runs::live_run::CommandError;
use codeyard_runs::machine::Command;

/// Carries out a command. The answer comes when it is durable; the work that it begins goes on.
#[derive(Message)]
#[rtype(result = "Result<(), CommandError>")]
pub struct ApplyCommand {
    pub command: Command,
    /// The span that asks for it.
    pub trace: TraceContext,
}

/// Interrupts the run's work and answers when none of its threads runs.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct StopRun;

/// Why a run can't be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenRunError {
    /// The workspace has no such run.
    #[error("this workspace has no such run")]
    NotFound,
    /// The server has no runs.
    #[error("this server has no runs: {0}")]
    Unavailable(String),
    /// It is still open elsewhere in this process.
    #[error("the run is still open elsewhere, because its workspace was changed; call again")]
    InUse,
    /// It can't be read.
    #[error(transparent)]
    Run(Arc<RunError>),
    /// The list of runs can't be read.
    #[error("the list of runs can't be read: {0}")]
    List(String),
}
