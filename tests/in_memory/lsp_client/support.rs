//! Shared parts of these tests.

use std::sync::Arc;

use codeyard_lsp::client::events::ServerEvents;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::client::server_requests::StaticClientHost;
use codeyard_lsp::client::{ClientOptions, LspClient};
use codeyard_process::launch::{LaunchSpec, Launcher, Process};
use serde_json::json;
use tokio::io::{DuplexStream, duplex};

use crate::fake_server::FakeLauncher;

pub(crate) fn options() -> ClientOptions {
    let host = StaticClientHost {
        settings: json!({"python": {"analysis": {"level": 3}}, "a.b": "dotted"}),
        folders: vec![("file:///w".into(), "w".into())],
        wanted: vec!["custom/wanted".into(), "window/logMessage".into()],
    };
    ClientOptions {
        label: "test".into(),
        no_cancel: Vec::new(),
        omit_null_params: false,
        restart_on_error: None,
        host: Arc::new(host),
        frames: Arc::new(FrameBudget::default()),
    }
}

pub(crate) fn spec() -> LaunchSpec {
    LaunchSpec {
        label: "fake".into(),
        program: "fake".into(),
        args: Vec::new(),
        cwd: std::env::temp_dir(),
        env: Vec::new(),
        limits: Default::default(),
        isolation: Default::default(),
    }
}

/// A client of a launched fake server.
pub(crate) struct Connected {
    pub client: LspClient,
    pub events: ServerEvents,
    pub process: Arc<dyn Process>,
}

pub(crate) async fn connect(fake: &FakeLauncher) -> Connected {
    connect_with(fake, options()).await
}

pub(crate) async fn connect_with(fake: &FakeLauncher, options: ClientOptions) -> Connected {
    let connection = fake.launch(&spec()).await.unwrap();
    let (client, events) = LspClient::start(connection.reader, connection.writer, options);
    Connected { client, events, process: connection.process }
}

/// A client whose server end is controlled by the test.
pub(crate) fn bare(pipe_bytes: usize, options: ClientOptions) -> (LspClient, ServerEvents, DuplexStream) {
    let (ours, theirs) = duplex(pipe_bytes);
    let (reader, writer) = tokio::io::split(ours);
    let (client, events) = LspClient::start(reader, writer, options);
    (client, events, theirs)
}

pub(crate) fn framed(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Runs all tasks until they wait.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
