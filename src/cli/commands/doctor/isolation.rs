//! Which mechanisms can confine language servers on this machine, each tried with a real child process, and the isolation of the workspaces
//! of a configuration.
//!
//! What is in force in the running server is in its status.

use serde::Serialize;

use crate::Failure;
use crate::args::DoctorArgs;
use crate::shared::assemble;
use codeyard_access::Principal;
use codeyard_config::IsolationLevel;
use codeyard_process::sandbox_report::{self, MechanismReport};
use codeyard_state::{StateDir, TokenAudience, TokenStore};

/// The report; the JSON output has these keys.
#[derive(Debug, Serialize)]
pub(super) struct IsolationReport {
    /// The mechanism that restricted workspaces use on this machine. `null`: their language servers aren't started.
    mechanism: Option<&'static str>,
    /// All mechanisms, the preferred one first.
    mechanisms: Vec<MechanismReport>,
    /// The workspaces of the configuration that was named.
    workspaces: Vec<WorkspaceLevel>,
}

#[derive(Debug, Serialize)]
struct WorkspaceLevel {
    workspace: String,
    level: &'static str,
    configured: bool,
}

impl IsolationReport {
    /// Tries the mechanisms, and reads the configuration that was named.
    pub(super) fn read(args: &DoctorArgs, state: &StateDir) -> Result<Self, Failure> {
        let mechanisms = sandbox_report::try_all();
        let mechanism = mechanisms.iter().find(|report| report.problem.is_none()).map(|report| report.mechanism);
        let mut workspaces = Vec::new();
        if let Some(path) = &args.registry.config {
            let config = assemble::read_config(path)?;
            let store = assemble::open_store(state)?;
            let tokens = TokenStore::open(store, TokenAudience::Mcp).map(|tokens| tokens.principals());
            let default = match &tokens {
                Ok(tokens) => config.default_isolation(tokens.iter().map(Principal::name).collect()),
                Err(_) => IsolationLevel::Restricted,
            };
            workspaces.extend(config.workspaces.iter().map(|workspace| WorkspaceLevel {
                workspace: workspace.name.to_string(),
                level: workspace.isolation.unwrap_or(default).as_str(),
                configured: workspace.isolation.is_some(),
            }));
        }
        Ok(Self { mechanism, mechanisms, workspaces })
    }

    /// Appends what a person should know.
    pub(super) fn lines(&self, lines: &mut Vec<String>) {
        lines.push("\nisolation of language servers in restricted workspaces".to_owned());
        for report in &self.mechanisms {
            match &report.problem {
                None => lines.push(format!("  {}: holds; a child process was confined by it", report.mechanism)),
                Some(why) => lines.push(format!("  {}: doesn't hold: {why}", report.mechanism)),
            }
        }
        match self.mechanism {
            Some(mechanism) => lines.push(format!("  restricted workspaces use {mechanism}")),
            None => {
                lines.push("  restricted workspaces are refused: their language servers are not started".to_owned());
                lines.push(format!("      next: {}", sandbox_report::HINT));
            }
        }
        for workspace in &self.workspaces {
            let by = if workspace.configured { "configured" } else { "by the number of principals" };
            let how = match (workspace.level, self.mechanism) {
                ("restricted", Some(mechanism)) => format!(" by {mechanism}"),
                ("restricted", None) => ": refused".to_owned(),
                _ => String::new(),
            };
            lines.push(format!("  workspace {}: {}{how}, {by}", workspace.workspace, workspace.level));
        }
    }
}
