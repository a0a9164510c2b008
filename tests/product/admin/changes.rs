//! Workspaces and language servers changed over the local socket, and every refusal.

use rustix::process::Signal;
use serde_json::json;

use crate::admin::wire::Way;
use crate::cli::harness::Sandbox;
use crate::mcp::until;

const OTHER: &str = "/admin/v1/workspaces/other";

#[test]
fn a_workspace_can_be_put_queried_changed_and_deleted() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::local(&sandbox);
    let body = json!({"roots": [sandbox.path("other")], "env": {"A": "s3cret"}});
    let made = way.json("PUT", OTHER, &body).is(201);
    let tag = made.header("etag").unwrap().to_owned();
    assert!(made.json()["change"] == "created" && made.json()["workspace"]["origin"] == "operator", "{made:?}");
    assert!(!made.body.contains("s3cret"), "{made:?}");
    let uri = json!({"uri": format!("file://{}", sandbox.path("other/a.tiny").display())});
    let mut client = serving.client("other");
    assert_eq!(client.ask("vscode.lsp.documentSymbols", &uri).unwrap()["symbols"][0]["name"], "other");
    assert_eq!(way.json("PUT", OTHER, &body).is(200).json()["change"], "unchanged");
    let got = way.get(OTHER).is(200);
    assert_eq!(got.header("etag"), Some(tag.as_str()));
    // A received body may be sent back with its redacted values.
    let mut sent = got.json()["configuration"].clone();
    assert_eq!(way.json("PUT", OTHER, &sent).is(200).json()["change"], "unchanged");
    sent["limits"] = json!({"max_page_size": 5});
    let if_match = format!("If-Match: {tag}");
    let kind = "Content-Type: application/json";
    let changed = way.send("PUT", OTHER, &[kind, &if_match], &sent.to_string()).is(200);
    assert_eq!(changed.json()["change"], "retuned");
    let problem = way.send("PUT", OTHER, &[kind, &if_match], &sent.to_string()).problem(412);
    assert_eq!(format!("\"{}\"", problem["revision"].as_str().unwrap()), changed.header("etag").unwrap());
    way.send("PUT", OTHER, &[kind, "If-None-Match: *"], &sent.to_string()).problem(412);
    way.send("DELETE", OTHER, &[&if_match], "").problem(412);
    sent["roots"] = json!([sandbox.path("repo")]);
    assert_eq!(way.json("PUT", OTHER, &sent).is(200).json()["change"], "replaced");
    let gone = way.send("DELETE", OTHER, &[], "").is(200).json();
    assert!(gone["finished"] == true && gone["calls_cut"] == 0, "{gone}");
    way.send("DELETE", OTHER, &[], "").problem(404);
    assert_eq!(serving.status("/mcp/other", &serving.token), 404);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_put_workspace_survives_a_reload_but_not_a_restart() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    let serving = sandbox.serve(&["--config", &config]);
    let way = Way::local(&sandbox);
    way.json("PUT", OTHER, &json!({"roots": [sandbox.path("other")]})).is(201);
    serving.signal(Signal::HUP);
    serving.wait_for("configuration reloaded");
    assert_eq!(way.get(OTHER).is(200).json()["state"], "open");
    assert_eq!(serving.stop(Signal::TERM), 0);
    let serving = sandbox.serve(&["--config", &config]);
    way.get(OTHER).problem(404);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn refusals_name_the_next_step() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::local(&sandbox);
    let kind = "Content-Type: application/json";
    way.get("/nowhere").problem(404);
    way.get("/admin/v1/workspaces/").problem(404);
    let wrong = way.send("PATCH", OTHER, &[], "").is(405);
    assert_eq!(wrong.header("allow"), Some("GET, PUT, DELETE, HEAD"));
    way.send("PUT", OTHER, &["Content-Type: text/plain"], "{}").problem(415);
    way.send("PUT", OTHER, &[], "{}").problem(415);
    way.send("PUT", OTHER, &[kind], "{").problem(400);
    way.send("PUT", OTHER, &[kind], r#"{"roots": ["/a"], "roots": ["/b"]}"#).problem(400);
    way.send("PUT", OTHER, &[kind, "Content-Length: 1048577"], "").problem(413);
    for (body, key) in [
        (json!({}), "roots"),
        (json!({"roots": ["relative"]}), "roots[0]"),
        (json!({"roots": [sandbox.path("other")], "servers": {"prefer": ["nonsense"]}}), "servers.prefer"),
        (json!({"roots": [sandbox.path("other")], "servers": {"disable": ["nonsense"]}}), "servers.disable"),
        (json!({"roots": [sandbox.path("other")], "prewarm": ["tiny", "nonsense"]}), "prewarm"),
        (json!({"roots": [sandbox.path("other")], "settings": {"nonsense": {}}}), "settings"),
        (json!({"roots": ["/nowhere/at/all"]}), "roots"),
        (json!({"roots": [sandbox.path("other")], "root": []}), "root"),
        (json!({"roots": [sandbox.path("other")], "name": "else"}), "name"),
    ] {
        let problem = way.json("PUT", OTHER, &body).problem(422);
        assert_eq!(problem["key"], key, "{problem}");
    }
    way.json("PUT", "/admin/v1/workspaces/Not%20A%20Name", &json!({"roots": ["/"]})).problem(422);
    way.send("POST", "/admin/v1/servers/repo/none-1/restart", &[], "").problem(404);
    way.send("POST", "/admin/v1/servers/nowhere/none-1/stop", &[], "").problem(404);
    let head = way.send("HEAD", "/admin/v1/workspaces", &[], "");
    assert!(head.status == 200 && head.body.is_empty());
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_workspace_that_could_not_be_opened_is_listed_and_leaves_the_service_ready() {
    let sandbox = Sandbox::new();
    let rest =
        "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"gone\"\nroots = [\"gone\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(rest)]);
    let way = Way::local(&sandbox);
    let gone = way.get("/admin/v1/workspaces/gone").is(200).json();
    assert!(gone["state"] == "failed" && gone["problem"].as_str().unwrap().contains("gone"), "{gone}");
    let not_open = json!([{"check": "workspace_not_open", "workspace": "gone"}]);
    let ready = way.get("/readyz").is(200).json();
    assert_eq!(ready, json!({"ready": true, "failing": [], "degraded": not_open}));
    let series = "codeyard_workspace_degraded{codeyard_reason=\"workspace_not_open\",codeyard_workspace=\"gone\"} 1\n";
    let metrics = way.get("/metrics").is(200).body;
    assert!(metrics.contains(series), "{metrics}");
    way.send("POST", "/admin/v1/servers/gone/x/restart", &[], "").problem(409);
    std::fs::create_dir(sandbox.path("gone")).unwrap();
    way.json("PUT", "/admin/v1/workspaces/gone", &json!({"roots": [sandbox.path("gone")]})).is(200);
    assert_eq!(way.get("/readyz").is(200).json()["degraded"], json!([]));
    assert!(!way.get("/metrics").is(200).body.contains("codeyard_workspace_degraded{"));
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_service_without_a_workspace_that_serves_is_not_ready() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::local(&sandbox);
    way.get("/readyz").is(200);
    sandbox.configure(
        "[[workspace]]\nname = \"one\"\nroots = [\"gone\"]\n[[workspace]]\nname = \"two\"\nroots = [\"off\"]\n",
    );
    serving.signal(Signal::HUP);
    assert!(until(10_000, || way.get("/readyz").status == 503), "{}", serving.log());
    let ready = way.get("/readyz").is(503).json();
    let not_open = |name: &str| json!({"check": "workspace_not_open", "workspace": name});
    assert_eq!(ready, json!({"ready": false, "failing": [not_open("one"), not_open("two")], "degraded": []}));
    sandbox.run(&["health"]).code(1).says(&["workspace_not_open", "one", "two", "codeyard workspaces"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}
