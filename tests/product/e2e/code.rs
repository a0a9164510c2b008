//! The catalog `code` of the real binary over HTTP: index, query, edit, stop, restart.

use std::fs;

use codeyard_base::ids::TenantId;
use codeyard_state::{StateDir, WarmWorkspace, Warmset};
use serde_json::{Value, json};

use crate::mcp::{Mcp, until};
use crate::running_server::Yard;

/// A timeout that only a hang exceeds.
const PATIENCE_MS: u64 = 60_000;

fn rows(answer: &Value) -> Vec<String> {
    let rows = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
    rows.iter().map(|row| format!("{}:{}", row["path"].as_str().expect("a path"), row["line_start"])).collect()
}

fn client(yard: &Yard, token: &str) -> Mcp {
    Mcp::connect(&yard.address, "/mcp/w/code", Some(token))
}

/// Repeats the query until `done` accepts its payload.
fn asked(client: &mut Mcp, tool: &str, arguments: &Value, done: impl Fn(&Value) -> bool) -> Value {
    let mut answer = Value::Null;
    let is_done = until(PATIENCE_MS, || {
        answer = client.ask(tool, arguments).expect("an answer");
        done(&answer)
    });
    assert!(is_done, "{answer}");
    answer
}

#[test]
fn the_first_query_builds_the_index_and_the_next_start_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(folder.path()).expect("a path").join("w");
    fs::create_dir_all(root.join("src")).expect("a folder");
    fs::write(
        root.join("src/dock.rs"),
        "/// Where ships lie.\npub struct Dock;\n\nimpl Dock {\n    pub fn moor(&self) {}\n}\n",
    )
    .expect("a file");
    let configuration = format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n");
    let (state, token) = {
        let yard = Yard::serve(&configuration);
        let mut client = client(&yard, &yard.token);
        let found =
            asked(&mut client, "locate_symbol", &json!({"name": "moor"}), |answer| answer["total_candidates"] == 1);
        assert_eq!(rows(&found), ["src/dock.rs:5"]);
        fs::write(root.join("src/quay.rs"), "pub fn moor_at_quay() {}\n").expect("a file");
        let text = json!({"query": "moor", "mode": "text"});
        let answer = client.ask("search_code", &text).expect("an answer");
        assert_eq!(rows(&answer), ["src/dock.rs:5", "src/quay.rs:1"], "at once");
        asked(&mut client, "locate_symbol", &json!({"name": "moor_at_quay"}), |answer| answer["total_candidates"] == 1);
        let health = asked(&mut client, "health_check", &json!({}), |answer| answer["status"] == "ready");
        assert_eq!(health["prewarm_status"], "skipped");
        let store = StateDir::open(yard.state.path()).expect("a state directory").store().expect("a store");
        let is_stored = || {
            let stored = Warmset::open(store.clone());
            stored.configure(true, 1);
            stored.contains(&WarmWorkspace::new(&TenantId::default_tenant(), std::slice::from_ref(&root)))
        };
        assert!(until(PATIENCE_MS, is_stored));
        client.end();
        let kept = (yard.state.clone(), yard.token.clone());
        yard.stop();
        kept
    };
    for (flags, expected) in [(vec![], "complete"), (vec!["--no-prewarm"], "skipped")] {
        let yard = Yard::serve_from(state.clone(), &configuration, &flags, &[]);
        let mut client = client(&yard, &token);
        let health = asked(&mut client, "health_check", &json!({}), |answer| answer["prewarm_status"] == expected);
        assert_eq!(health["projects"][0]["file_count"], 2);
        assert_eq!(health["workspace_warmset"]["enabled"], expected == "complete");
        client.end();
        yard.stop();
    }
}
