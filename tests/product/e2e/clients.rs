//! The official Rust client, unchanged, over HTTP with a token, over stdio, and over stdio attached to a running server.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ServiceError, ServiceExt};
use serde_json::Value;

use crate::e2e::place::Place;
use crate::running_server::{Process, Yard, assert_gone, codeyard, descendants};

const TOOLS: [&str; 7] = [
    "vscode.lsp.definition",
    "vscode.lsp.diagnostics.document",
    "vscode.lsp.diagnostics.workspace",
    "vscode.lsp.documentSymbols",
    "vscode.lsp.hover",
    "vscode.lsp.references",
    "vscode.lsp.workspaceSymbols",
];

/// Lists the tools and requests a definition until there is an answer.
async fn exercise(client: &RunningService<RoleClient, ()>, place: &Place) {
    let tools = client.list_all_tools().await.expect("tools");
    let names: BTreeSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, BTreeSet::from(TOOLS));
    let arguments = place.definition().0.as_object().expect("an object").clone();
    for _ in 0..20 {
        let call = CallToolRequestParams::new("vscode.lsp.definition").with_arguments(arguments.clone());
        match client.call_tool(call).await {
            Ok(answer) => return place.assert_right(&answer.structured_content.expect("structured content")),
            Err(ServiceError::McpError(error)) => {
                let data: Value = error.data.expect("data");
                assert_eq!(data["details"]["reason"], "timeout", "{data}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("never ready");
}

/// A stdio client of the real binary, and the process.
async fn stdio(state: &Path, root: &Path) -> (RunningService<RoleClient, ()>, u32) {
    let mut command = codeyard("stdio", state);
    command.arg("--root").arg(root);
    let built = TokioChildProcess::builder(tokio::process::Command::from(command)).stderr(Stdio::null()).spawn();
    let transport = built.expect("the binary starts").0;
    let pid = transport.id().expect("it runs");
    (().serve(transport).await.expect("it initialises"), pid)
}

fn of(pid: u32) -> BTreeSet<Process> {
    descendants(std::process::id()).into_iter().filter(|process| process.pid == pid).chain(descendants(pid)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http() {
    // The client library has no TLS provider of its own. An error means that another test installed one.
    rustls::crypto::ring::default_provider().install_default().ok();
    let place = Place::new("python");
    let yard = Yard::serve(&place.workspace());
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", yard.address));
    let transport = StreamableHttpClientTransport::from_config(config.auth_header(yard.token.clone()));
    let client = ().serve(transport).await.expect("it initialises");
    exercise(&client, &place).await;
    client.cancel().await.expect("it ends");
    let wrong = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", yard.address));
    let refused = ().serve(StreamableHttpClientTransport::from_config(wrong.auth_header("wrong"))).await;
    assert!(refused.is_err(), "a wrong token is refused");
    place.assert_untouched();
    yard.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_the_end_of_input_leaves_no_process() {
    let place = Place::new("python");
    let state = tempfile::tempdir().expect("a folder");
    let (client, pid) = stdio(state.path(), &place.root).await;
    exercise(&client, &place).await;
    let all = of(pid);
    assert!(all.len() > 1, "a language server runs");
    client.cancel().await.expect("it ends");
    assert_gone(&all, 5_000);
    place.assert_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_stdio_shares_the_running_language_server() {
    let place = Place::new("python");
    let mut yard = Yard::serve(&place.workspace());
    place.ask(&mut yard.client("python"));
    let before = yard.running("ty");
    assert_eq!(before.len(), 1);
    let (client, pid) = stdio(yard.state.path(), &place.root).await;
    exercise(&client, &place).await;
    let own = of(pid);
    assert_eq!(own.len(), 1, "it starts nothing of its own");
    assert_eq!(yard.running("ty"), before, "the same process answers");
    client.cancel().await.expect("it ends");
    assert_gone(&own, 5_000);
    place.ask(&mut yard.client("python"));
    yard.stop();
}
