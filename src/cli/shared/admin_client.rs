//! Access to the admin API of the running server, and its errors as failures of a command.

use std::path::Path;

use crate::Failure;
use crate::shared::assemble;
use codeyard_server::admin::client::{AdminClient, AdminClientError};

/// A client for the running server of a state directory. Connects with the first request.
pub(crate) fn admin_client(state_dir: Option<&Path>) -> Result<AdminClient, Failure> {
    Ok(AdminClient::new(&assemble::open_state(state_dir)?.admin_socket()))
}

/// The failure of a command whose request failed.
pub(crate) fn request_failure(error: AdminClientError) -> Failure {
    match &error {
        AdminClientError::NotRunning => Failure::missing(error.to_string()),
        AdminClientError::Rejected(problem) if problem.status == 404 => {
            Failure::missing(problem.detail.clone() + &next_command(&problem.remedy))
        }
        AdminClientError::Rejected(problem) => {
            let key = problem.key.as_deref().map(|key| format!("{key}: ")).unwrap_or_default();
            Failure::new(format!("{key}{}{}", problem.detail, next_command(&problem.remedy)))
        }
        AdminClientError::Broken(_) => Failure::new(error.to_string()),
    }
}

/// The remedy of the API, with HTTP paths replaced by commands.
fn next_command(remedy: &str) -> String {
    match remedy {
        remedy if remedy.contains("/admin/v1/workspaces lists") => {
            "; `codeyard workspaces` lists the workspaces".into()
        }
        remedy if remedy.contains("/admin/v1/servers lists") => {
            "; `codeyard servers running` lists the language servers that run".into()
        }
        remedy => format!("; {remedy}"),
    }
}
