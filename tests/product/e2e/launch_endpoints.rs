//! The catalog `launch` where other clients meet it: joined with others over HTTP, on stdio alone, and on stdio attached to a running server.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ServiceError, ServiceExt};
use serde_json::{Value, json};

use crate::e2e::launch::{Client, Sample};
use crate::mcp::until;
use crate::mcp_stream::StreamedCall;
use crate::running_server::{Process, Yard, assert_gone, codeyard, descendants};

/// The names of the tools that an endpoint lists.
fn listed(yard: &Yard, endpoint: &str) -> BTreeSet<String> {
    let client = Client::at(yard, endpoint);
    let mut names = BTreeSet::new();
    let mut params = json!({});
    loop {
        let answer = StreamedCall::request(&client.0, "tools/list", &params).answer();
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        for tool in tools {
            assert!(names.insert(tool["name"].as_str().unwrap().to_owned()), "twice: {tool}");
        }
        match answer["result"]["nextCursor"].as_str() {
            Some(next) => params["cursor"] = json!(next),
            None => return names,
        }
    }
}

#[test]
fn the_joined_endpoint_has_the_tools_of_all_its_catalogs() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let joined = listed(&yard, "lib/agent+code+launch");
    let each = ["agent", "code", "launch"].map(|catalog| listed(&yard, &format!("lib/{catalog}")));
    assert_eq!(each[2].len(), 11, "{:?}", each[2]);
    assert_eq!(joined, each.iter().flatten().cloned().collect());
    assert_eq!(joined.len(), each.iter().map(BTreeSet::len).sum::<usize>(), "no name is in two catalogs");
    let mut client = Client::at(&yard, "lib/agent+code+launch");
    let found = until(30_000, || client.0.call_text("search_code", &json!({"query": "Table"})).contains("table.py"));
    assert!(found, "the catalog `code` works");
    assert_eq!(client.ok("launch_list_runs", &json!({}))["runs"], json!([]));
    let started = client.ok("launch_start_run", &json!({"run_config": sample.run_config()}));
    let run = crate::e2e::launch::run_of(&started);
    client.wait(&run, "READY_FOR_PR");
    assert_eq!(client.ok("launch_list_runs", &json!({}))["runs"][0]["run_id"], run["run_id"]);
    // The same run at the endpoint of the one catalog.
    assert_eq!(Client::of(&yard).state(&run), "READY_FOR_PR");
    yard.stop();
}

/// A stdio client of the catalog `launch`, and its process.
async fn stdio(state: &Path, root: &Path) -> (RunningService<RoleClient, ()>, u32) {
    let mut command = codeyard("stdio", state);
    command.arg("--root").arg(root).args(["--catalog", "launch"]);
    let built = TokioChildProcess::builder(tokio::process::Command::from(command)).stderr(Stdio::null()).spawn();
    let transport = built.expect("the binary starts").0;
    let pid = transport.id().expect("it runs");
    (().serve(transport).await.expect("it initialises"), pid)
}

async fn call(client: &RunningService<RoleClient, ()>, tool: &'static str, arguments: &Value) -> Value {
    let arguments = arguments.as_object().expect("an object").clone();
    let called = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
    called.expect("an answer").structured_content.expect("structured content")
}

/// Takes a run from its start to where it is ready, over stdio.
async fn exercise(client: &RunningService<RoleClient, ()>, sample: &Sample) -> Value {
    let tools = client.list_all_tools().await.expect("tools");
    assert_eq!(tools.len(), 11);
    let mut config = sample.run_config();
    // The operator of a stdio server has no configuration that says where Hugo is.
    config["site"]["kind"] = json!("markdown");
    config["allowed_paths"] = json!(["**"]);
    let started = call(client, "launch_start_run", &json!({"run_config": config, "idempotency_key": "k"})).await;
    assert_eq!((&started["ok"], &started["state"]), (&json!(true), &json!("CREATED")), "{started}");
    let again = call(client, "launch_start_run", &json!({"run_config": config, "idempotency_key": "k"})).await;
    assert_eq!((&again["run_id"], &again["replayed"]), (&started["run_id"], &json!(true)));
    let run = json!({"run_id": started["run_id"]});
    let status = call(client, "launch_resume", &run).await["status"].clone();
    assert_eq!((&status["state"], &status["open_issues"]), (&json!("READY_FOR_PR"), &json!([])), "{status}");
    let refused = call(client, "launch_fix_next", &run).await;
    assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("ILLEGAL_STATE")), "{refused}");
    let unknown = client.call_tool(CallToolRequestParams::new("launch_fly")).await;
    let Err(ServiceError::McpError(error)) = unknown else { panic!("{unknown:?}") };
    assert_eq!(error.code.0, -32602, "{error:?}");
    run
}

fn of(pid: u32) -> BTreeSet<Process> {
    descendants(std::process::id()).into_iter().filter(|process| process.pid == pid).chain(descendants(pid)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_a_run_works_without_a_server() {
    let sample = Sample::new();
    let state = tempfile::tempdir().expect("a folder");
    let (client, pid) = stdio(state.path(), &sample.top()).await;
    let run = exercise(&client, &sample).await;
    let published = call(&client, "launch_open_pr", &run).await;
    assert_eq!(published["ok"], true, "{published}");
    assert_eq!(sample.branches(), [published["branch"].as_str().unwrap()]);
    let all = of(pid);
    client.cancel().await.expect("it ends");
    assert_gone(&all, 5_000);
    // The next process finds the run.
    let (client, pid) = stdio(state.path(), &sample.top()).await;
    let listed = call(&client, "launch_list_runs", &json!({"filter": {"state": "DONE"}})).await;
    assert_eq!(listed["runs"][0]["run_id"], run["run_id"], "{listed}");
    let all = of(pid);
    client.cancel().await.expect("it ends");
    assert_gone(&all, 5_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_an_attached_stdio_a_run_works_in_the_server() {
    let sample = Sample::new();
    let yard = Yard::serve(&format!("[[workspace]]\nname = \"lib\"\nroots = [{:?}]\n", sample.top()));
    let (client, pid) = stdio(yard.state.path(), &sample.top()).await;
    let run = exercise(&client, &sample).await;
    let own = of(pid);
    assert_eq!(own.len(), 1, "it starts nothing of its own");
    client.cancel().await.expect("it ends");
    assert_gone(&own, 5_000);
    // The run stays in the server.
    let mut http = Client::of(&yard);
    assert_eq!(http.state(&run), "READY_FOR_PR");
    http.ok("launch_open_pr", &run);
    assert_eq!(sample.branches().len(), 1);
    yard.stop();
}
