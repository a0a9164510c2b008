//! The quickstart with the real language servers: seven right answers, and nothing left behind.

use crate::harness::{Sandbox, run};
use crate::real_servers::servers_dir;

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
        "lsp-v1-safe",
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
