//! `codeyard health`: asks the running server for its readiness, for health checks that run a command.

use serde_json::json;

use crate::Failure;
use crate::args::HealthArgs;
use crate::shared::admin_client::{admin_client, request_failure};
use crate::shared::output;
use codeyard_server::transport::http::probes::{FailingCheck, ProbeCheck};

/// Prints the readiness, with the workspaces that don't serve as they should. Fails if the service isn't ready.
pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    crate::runtime()?.block_on(async {
        let readiness = admin_client(args.state.state_dir.as_deref())?.readiness().await.map_err(request_failure)?;
        let is_healthy = args.live || readiness.ready;
        output::print_json_or(args.json, &readiness, || match (args.live, readiness.ready) {
            (true, _) => "live\n".to_owned(),
            (false, true) => format!("ready\n{}", lines("degraded", &readiness.degraded)),
            (false, false) => String::new(),
        })?;
        if is_healthy {
            Ok(())
        } else {
            Err(Failure::new(lines("not ready", &readiness.failing).trim_end().to_owned()))
        }
    })
}

/// One line for each check.
fn lines(what: &str, checks: &[FailingCheck]) -> String {
    let line = |check: &FailingCheck| {
        let name = json!(check.check);
        let name = name.as_str().unwrap_or_default().to_owned();
        let of = |kind: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!(" {kind} {value}")).unwrap_or_default()
        };
        let about = of("workspace", &check.workspace) + &of("server", &check.server);
        format!("{what}: {name}{about}; {}\n", next_command(check.check))
    };
    checks.iter().map(line).collect()
}

fn next_command(check: ProbeCheck) -> &'static str {
    match check {
        ProbeCheck::Engine => "see the log, then restart codeyard",
        ProbeCheck::Draining => "it is stopping",
        ProbeCheck::WorkspaceNotOpen => "`codeyard workspaces` shows why; it is tried again every 15 s",
        ProbeCheck::WorkspaceNotAnswering => "`codeyard workspaces` shows its state",
        ProbeCheck::WatcherGone => "see the log; `codeyard doctor` shows the limits of the machine",
        ProbeCheck::StateDiskFull => "free some space on the disk of the state directory, then run `codeyard index`",
        ProbeCheck::ServerQuarantined => "`codeyard doctor` shows why; `codeyard servers restart` starts it again",
    }
}
