//! `codeyard health`: asks the running server for its readiness, for health checks that run a command.

use serde_json::json;

use crate::Failure;
use crate::args::HealthArgs;
use crate::shared::admin_client::{admin_client, request_failure};
use crate::shared::output;
use codeyard_server::transport::http::probes::{FailingCheck, ProbeCheck};

/// Prints the readiness. Fails if a check fails.
pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    crate::runtime()?.block_on(async {
        let readiness = admin_client(args.state.state_dir.as_deref())?.readiness().await.map_err(request_failure)?;
        let is_healthy = args.live || readiness.ready;
        output::print_json_or(args.json, &readiness, || {
            if is_healthy { if args.live { "live\n" } else { "ready\n" }.to_owned() } else { String::new() }
        })?;
        if is_healthy { Ok(()) } else { Err(Failure::new(not_ready(&readiness.failing))) }
    })
}

/// The failing checks, one line for each.
fn not_ready(failing: &[FailingCheck]) -> String {
    let lines = failing.iter().map(|check| {
        let name = json!(check.check);
        let name = name.as_str().unwrap_or_default().to_owned();
        let of = |kind: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!(" {kind} {value}")).unwrap_or_default()
        };
        let about = of("workspace", &check.workspace) + &of("server", &check.server);
        format!("not ready: {name}{about}; {}", next_command(check.check))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn next_command(check: ProbeCheck) -> &'static str {
    match check {
        ProbeCheck::Engine => "see the log, then restart codeyard",
        ProbeCheck::Draining => "it is stopping",
        ProbeCheck::WorkspaceNotOpen => "check that its roots exist, then reload with SIGHUP",
        ProbeCheck::WorkspaceNotAnswering => "`codeyard workspaces` shows its state",
        ProbeCheck::WatcherGone => "see the log; `codeyard doctor` shows the limits of the machine",
        ProbeCheck::ServerQuarantined => "`codeyard doctor` shows why; `codeyard servers restart` starts it again",
    }
}
