//! The quickstart with the real language servers: seven right answers, and nothing left behind.

use crate::cli::harness::{Sandbox, run};
use codeyard_test_support::real_servers::servers_dir;

#[test]
fn documented_calls_find_what_they_name() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(top.join("docs/use/command-line.md")).unwrap();
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["call", "--help"]).code(0).stdout;
    let calls: Vec<(&str, &str)> = page
        .lines()
        .filter(|line| line.starts_with("codeyard call "))
        .filter_map(|line| line.split_once(" # in "))
        .collect();
    assert_eq!(calls.len(), 3, "{calls:?}");
    for (call, folder) in calls {
        let call = call.trim_end();
        assert!(help.contains(call), "the help has no `{call}`: {help}");
        let (tool, json) = call.strip_prefix("codeyard call ").unwrap().split_once(' ').unwrap();
        let mut command = sandbox.command(&["call", tool, json.trim_matches('\'')]);
        command.env("CODEYARD_SERVERS_DIR", servers_dir()).current_dir(top.join(folder));
        let found = run(&mut command).code(0);
        assert!(!found.stdout.is_empty() && !found.stdout.starts_with("No "), "{call} in {folder}: {found:#?}");
    }
}

#[test]
fn quickstart_gets_seven_right_answers() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["quickstart", "--once", "--listen", "127.0.0.1:0"]);
    let ran = run(command.env("CODEYARD_SERVERS_DIR", servers_dir())).code(0);
    for wanted in [
        "7 of 7 answers are right",
        "src/yard.c:",
        "src/sheet.ts:",
        "train_uncouple",
        "class Perishable",
        "class Evaluator",
        "error: No member named 'carcount'",
        "larder/broken.py:",
        "\"Authorization\": \"Bearer cyd_",
        "\"stdio\"",
        "/python/agent\"",
        "codeyard connect HOST",
    ] {
        assert!(ran.stdout.contains(wanted), "no `{wanted}` in {}", ran.stdout);
    }
    ran.says(&["ty: ", "is already installed"]);
    assert_eq!(ran.stdout.matches(" ms").count(), 7, "{}", ran.stdout);
    // The token that was printed holds for a later server of the same state directory.
    let token = ran.stdout.split_once("Bearer ").unwrap().1.split('"').next().unwrap();
    let serving = sandbox.serve(&["--root", "."]);
    assert_eq!(serving.status("/mcp", token), 200);
}
