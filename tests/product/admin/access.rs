//! Access control: the socket's mode, tokens of each kind, hosts and origins.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::admin::wire::Way;
use crate::cli::harness::Sandbox;
use crate::mcp::until;

#[test]
fn operator_tokens_are_accepted_only_over_tcp() {
    let sandbox = Sandbox::new();
    let rest = "[admin]\nlisten = \"127.0.0.1:0\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(rest)]);
    let log = serving.log();
    let after = |mark: &str| log.lines().find_map(|line| line.strip_prefix(mark)).unwrap_or_else(|| panic!("{log}"));
    let file = after("first admin token is in ").split(" (only").next().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let first = std::fs::read_to_string(file).unwrap().trim().to_owned();
    assert!(first.starts_with("cyd_") && !log.contains("cyd_"), "{log}");
    let way = Way::Tcp(after("admin API at http://").split('/').next().unwrap().to_owned());
    let added = sandbox.run(&["token", "add", "--admin", "ops"]).code(0).stdout.trim().to_owned();
    let listed = sandbox.run(&["token", "list", "--admin", "--json"]).code(0).json();
    let mut names: Vec<_> = listed.as_array().unwrap().iter().map(|token| token["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["local", "ops"]);
    let with = |token: &str| format!("Authorization: Bearer {token}");
    let path = "/admin/v1/workspaces";
    for token in [&first, &added] {
        way.send("GET", path, &[&with(token)], "").is(200);
        assert_eq!(serving.status("/mcp", token), 401, "an operator's token is none of /mcp");
    }
    let refused = way.send("GET", path, &[&with(&serving.token)], "").is(401);
    assert!(refused.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
    for path in [path, "/nowhere", "/readyz", "/metrics", "/admin/v1/openapi.json"] {
        way.send("GET", path, &[], "").problem(401);
    }
    way.send("GET", "/livez", &[], "").is(200);
    way.send("GET", "/readyz", &[&with(&first)], "").is(200);
    way.send("GET", path, &[&with(&first), &with(&first)], "").problem(401);
    way.send("GET", path, &[&with(&first), "Host: evil.example"], "").problem(403);
    way.send("GET", path, &[&with(&first), "Origin: http://evil.example"], "").problem(403);
    way.send("GET", path, &[&with(&first), "Origin: null"], "").problem(403);
    sandbox.run(&["token", "remove", "--admin", "ops"]).code(0);
    assert!(until(5_000, || way.send("GET", path, &[&with(&added)], "").status == 401), "a removed token is refused");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn idle_connections_without_a_token_do_not_block_operators() {
    let sandbox = Sandbox::new();
    let rest = "[admin]\nlisten = \"127.0.0.1:0\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(rest)]);
    let log = serving.log();
    let address = log.lines().find_map(|line| line.strip_prefix("admin API at http://")).unwrap();
    let address = address.split('/').next().unwrap().to_owned();
    // Twice the connection limit: with the timeout of /mcp callers, the request would take longer than its reader waits.
    let silent: Vec<_> = (0..128).map(|_| std::net::TcpStream::connect(&address).unwrap()).collect();
    Way::Tcp(address).send("GET", "/livez", &[], "").is(200);
    drop(silent);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn the_local_socket_serves_its_user_without_a_token() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let socket = sandbox.path("state/run/admin.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!sandbox.path("state/run/status.sock").exists());
    let admin_tokens = sandbox.run(&["token", "list", "--admin", "--json"]).code(0).json();
    assert_eq!(admin_tokens, serde_json::json!([]), "no token where none is required");
    let way = Way::local(&sandbox);
    let service = way.get("/admin/v1/service").is(200).json();
    assert_eq!(service["pid"], serving.pid());
    assert_eq!(serving.stop(Signal::TERM), 0);
}
