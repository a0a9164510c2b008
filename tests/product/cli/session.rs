//! The example of an agent's session, with the real language servers: who calls this, and where is it implemented?

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::harness::{CommandOutput, Sandbox, run};
use codeyard_test_support::real_servers::servers_dir;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

fn who_calls(sandbox: &Sandbox, name: &str, workspace: &str, more: &[&str]) -> CommandOutput {
    #[expect(clippy::disallowed_methods, reason = "the example under test")]
    let mut command = Command::new("python3");
    command.arg(example("agent/who_calls.py")).arg(name).args(more);
    command.arg("--root").arg(example("workspaces").join(workspace));
    command.args(["--codeyard", env!("CARGO_BIN_EXE_codeyard")]);
    command.env("CODEYARD_STATE_DIR", sandbox.path("state")).env("CODEYARD_SERVERS_DIR", servers_dir());
    run(&mut command)
}

/// The lines below a heading of what the session printed.
fn below<'r>(ran: &'r CommandOutput, heading: &str) -> Vec<&'r str> {
    let lines = ran.stdout.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| line.starts_with(' ')).map(str::trim).collect()
}

#[test]
fn an_agent_finds_implementations_and_callers() {
    let sandbox = Sandbox::new();
    let accept = who_calls(&sandbox, "accept", "typescript", &[]).code(0);
    assert!(accept.stdout.starts_with("accept (Node), src/nodes.ts:14\n"), "{}", accept.stdout);
    let implemented = below(&accept, "implemented in");
    assert_eq!(implemented.len(), 5, "{implemented:?}");
    assert!(implemented.iter().all(|sandbox| sandbox.starts_with("src/nodes.ts:")));
    let callers = below(&accept, "called by");
    assert_eq!(callers[0], "visitBinary, src/nodes.ts:87 (in line 88, 88)", "the file of the question comes first");
    assert!(callers.contains(&"evaluate, src/evaluate.ts:16 (in line 17)"), "{callers:?}");

    let price = who_calls(&sandbox, "price", "python", &["--file", "larder/pricing.py"]).code(0);
    assert!(below(&price, "called by").contains(&"cost, larder/orders.py:47 (in line 48)"), "{}", price.stdout);
    let find = who_calls(&sandbox, "yard_find", "c", &[]).code(0);
    assert_eq!(below(&find, "called by"), ["run, src/main.c:25 (in line 38)"], "{}", find.stdout);
    let none = who_calls(&sandbox, "nonesuch", "c", &[]).code(1);
    assert_eq!(none.stdout, "nothing is called nonesuch\n");
}
