//! Quotas of tenants and tokens: what a call over one is answered in each catalog, that another tenant doesn't feel it, and that a reload
//! changes it.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::{Mcp, until};

/// A tool of each catalog, with arguments that need no language server.
const TOOLS: [(&str, &str, &str); 5] = [
    ("lsp-v1", "vscode.lsp.workspaceSymbols", "{\"query\": \"web\"}"),
    ("lsp-v1-safe", "vscode_lsp_workspaceSymbols", "{\"query\": \"web\"}"),
    ("agent", "lsp", "{\"operation\": \"workspaceSymbol\", \"query\": \"web\"}"),
    ("code", "index_status", "{}"),
    ("launch", "launch_list_runs", "{}"),
];

fn service(quotas: &str) -> (Sandbox, ServeProcess, [String; 3]) {
    let sandbox = Sandbox::new();
    let workspace = |name: &str, root: &str| {
        format!("[[workspace]]\nname = \"{name}\"\nroots = [\"{root}\"]\nisolation = \"trusted\"\n")
    };
    let config = sandbox.configure(&(workspace("team-a/web", "repo") + &workspace("team-b/web", "other") + quotas));
    let serving = sandbox.serve(&["--config", &config]);
    let token = |name: &str, tenant: &str| {
        sandbox.run(&["token", "add", name, "--tenant", tenant]).code(0).stdout.trim().to_owned()
    };
    let tokens = [token("ann", "team-a"), token("ci", "team-a"), token("bob", "team-b")];
    (sandbox, serving, tokens)
}

/// The whole answer to a call over HTTP in the revision without sessions.
fn answered(serving: &ServeProcess, catalog: &str, token: &str, tool: &str, arguments: &str) -> (String, String) {
    let mut client = Mcp::connect(&serving.address, &format!("/mcp/web/{catalog}"), Some(token));
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    client.call_head_and_text(tool, &arguments)
}

#[test]
fn a_call_over_a_quota_is_refused_in_the_shape_of_its_catalog_and_other_tenants_go_on() {
    let (sandbox, serving, [ann, ci, bob]) = service(
        "[tenants.team-a.quota]\ncalls_per_second = 1\nburst = 5\n[tokens.\"team-a/ci\".quota]\ncalls_per_second = 1\nburst = 1\n",
    );
    let ask = |token: &str, at: usize| {
        let (catalog, tool, arguments) = TOOLS[at % TOOLS.len()];
        answered(&serving, catalog, token, tool, arguments)
    };
    // Some of the burst comes back while it is used up.
    let is_refused = |answer: &(String, String)| answer.1.contains("quota_exceeded");
    let mut seen = [false; TOOLS.len()];
    // Tools that there aren't are no way around it.
    let is_turned_away = until(60_000, || {
        let answer = answered(&serving, "agent", &ann, "nothing", "{}");
        is_refused(&answer) && answer.0.starts_with("HTTP/1.1 429")
    });
    assert!(is_turned_away);
    let all_seen = until(60_000, || {
        for at in 0..3 * TOOLS.len() {
            let answer = ask(&ann, at);
            if is_refused(&answer) {
                seen[at % TOOLS.len()] = true;
                let (head, body) = &answer;
                for part in ["calls_per_second", "tenant", "retryAfterMs"] {
                    assert!(body.contains(part), "no {part} in {body}");
                }
                assert!(
                    head.starts_with("HTTP/1.1 429") && head.to_lowercase().contains("retry-after: 1\r\n"),
                    "{head}"
                );
            }
        }
        seen == [true; TOOLS.len()]
    });
    assert!(all_seen, "{seen:?}");
    for at in 0..10 {
        assert!(!is_refused(&ask(&bob, at)), "another tenant has no quota");
    }
    let metrics = crate::admin::wire::Way::Tcp(serving.address.clone()).get("/metrics").is(200).body;
    let shed = metrics.lines().find(|line| line.starts_with("codeyard_calls_shed_total{codeyard_reason=\"quota\"}"));
    assert!(shed.is_some_and(|line| !line.ends_with(" 0")), "{shed:?}");

    // A reload applies other values at once, and the token's own quota is left.
    let config = sandbox.path("codeyard.toml");
    let text = fs::read_to_string(&config).unwrap().replacen("burst = 5", "burst = 500", 1);
    fs::write(&config, text.replacen("calls_per_second = 1", "calls_per_second = 500", 1)).unwrap();
    serving.signal(Signal::HUP);
    serving.wait_for("configuration reloaded");
    assert!(until(10_000, || (0..20).all(|at| !is_refused(&ask(&ann, at)))), "the new quota is large enough");
    assert!(until(20_000, || {
        let answer = ask(&ci, 0);
        is_refused(&answer) && answer.1.contains("token")
    }));
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_quota_that_allows_nothing_or_is_of_no_tenant_is_refused_with_advice() {
    let sandbox = Sandbox::new();
    for (text, said) in [
        ("[quota]\ncalls_in_flight = 0\n", "quota.calls_in_flight"),
        ("[tenants.\"Team A\".quota]\nburst = 1\n", "is not the name of a tenant"),
        ("[tokens.ci.quota]\nburst = 0\n", "a quota of 0 allows no call"),
        ("[quota]\nburst = 5\n", "without `calls_per_second`"),
        ("[tenants.team-a.quota]\nburst = 5\n", "tenants.team-a.quota.burst"),
        ("[tenants.team-a.quota]\ncalls = 5\n", "calls"),
    ] {
        let config = sandbox.configure(text);
        let refused = sandbox.run(&["config", "check", &config]).code(1);
        assert!(format!("{}{}", refused.stdout, refused.stderr).contains(said), "{text}: {refused:?}");
    }
}
