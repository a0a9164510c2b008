//! The official Rust client, unchanged, over both transports.

use std::sync::Arc;
use std::time::Duration;

use codeyard_model::limits::Limits;
use codeyard_server::transport::stdio::serve_stdio;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, PingRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ServiceExt, service::ServiceError};
use serde_json::json;

use crate::transport::fake::{Fake, endpoint};
use crate::transport::wire::server;

async fn exercise(client: RunningService<RoleClient, ()>, fake: &Fake, catalog: &str) {
    let info = client.peer_info().unwrap();
    assert_eq!(info.protocol_version.to_string(), "2025-11-25", "this client begins with `initialize`");
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, format!("{catalog}.echo"));
    let arguments = json!({"x": 1}).as_object().unwrap().clone();
    let answer = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
    assert_eq!(answer.structured_content.unwrap()["echo"]["x"], 1);
    let failed = client.call_tool(CallToolRequestParams::new("fail")).await.unwrap_err();
    assert!(matches!(failed, ServiceError::McpError(error) if error.code.0 == -32603));
    let slow = json!({"ms": 1500}).as_object().unwrap().clone();
    let slow = client.call_tool(CallToolRequestParams::new("slow").with_arguments(slow)).await.unwrap();
    assert_eq!(slow.is_error, Some(false));
    let ping = client.send_request(ClientRequest::PingRequest(PingRequest::default())).await.unwrap();
    assert!(matches!(ping, ServerResult::EmptyResult(_)));
    let hang = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("hang")));
    let handle = client.send_cancellable_request(hang, PeerRequestOptions::no_options()).await.unwrap();
    fake.until_running(1).await;
    handle.cancel(Some("enough".to_owned())).await.unwrap();
    fake.until_running(0).await;
    let again = client.call_tool(CallToolRequestParams::new("echo")).await;
    assert!(again.is_ok(), "the session continues");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn over_http() {
    // The client library has no TLS provider of its own. An error means that another test installed one.
    rustls::crypto::ring::default_provider().install_default().ok();
    let server = server().await;
    for catalog in ["lsp-v1", "agent"] {
        let uri = format!("http://{}/mcp/main/{catalog}", server.address);
        let config = StreamableHttpClientTransportConfig::with_uri(uri);
        let transport = StreamableHttpClientTransport::from_config(config.auth_header(server.token.clone()));
        let client = ().serve(transport).await.unwrap();
        exercise(client, &server.fake, catalog).await;
    }
}

#[tokio::test]
async fn over_stdio() {
    let fake = Arc::new(Fake::default());
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    let service = fake.clone();
    let served = tokio::spawn(async move {
        serve_stdio(reader, writer, service, endpoint("main", "lsp-v1"), &Limits::default(), Default::default()).await
    });
    let client = ().serve(tokio::io::split(theirs)).await.unwrap();
    exercise(client, &fake, "lsp-v1").await;
    tokio::time::timeout(Duration::from_secs(5), served).await.expect("it ends with its input").unwrap().unwrap();
}
