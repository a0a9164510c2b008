//! The client with a server that uses another implementation of the protocol (async-lsp), so that both ends can't
//! share a misunderstanding.

use std::ops::ControlFlow;

use async_lsp::concurrency::ConcurrencyLayer;
use async_lsp::router::Router;
use async_lsp::server::LifecycleLayer;
use async_lsp::{ClientSocket, MainLoop, ResponseError};
use codeyard_lsp::client::LspClient;
use codeyard_lsp::client::lifecycle::{InitializeSpec, initialize};
use codeyard_lsp::{convert, methods};
use codeyard_model::hover::MarkupKind;
use codeyard_model::position::Position;
use lsp_types::notification::{DidChangeConfiguration, Exit, Initialized};
use lsp_types::request::{HoverRequest, Initialize, References, Shutdown, WorkspaceConfiguration};
use lsp_types::{
    ConfigurationItem, ConfigurationParams, Hover, HoverContents, HoverProviderCapability, InitializeResult,
    MarkedString, OneOf, ServerCapabilities,
};
use tokio::io::duplex;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};
use tower::ServiceBuilder;

use crate::lsp_client::support::options;

fn router(client: ClientSocket) -> Router<ClientSocket> {
    let mut router = Router::new(client);
    router
        .request::<Initialize, _>(|_, _| async {
            let capabilities = ServerCapabilities {
                hover_provider: Some(HoverProviderCapability::Simple(true)),
                references_provider: Some(OneOf::Left(true)),
                ..ServerCapabilities::default()
            };
            Ok(InitializeResult { capabilities, server_info: None })
        })
        .request::<HoverRequest, _>(|client, params| {
            let client = client.clone();
            async move {
                // The server sends a request before it answers: the client must answer that request first.
                let items = vec![ConfigurationItem { scope_uri: None, section: Some("python.analysis".into()) }];
                let settings = client.request::<WorkspaceConfiguration>(ConfigurationParams { items }).await;
                let settings = settings
                    .map_err(|error| ResponseError::new(async_lsp::ErrorCode::INTERNAL_ERROR, error.to_string()))?;
                let line = params.text_document_position_params.position.line;
                let contents = HoverContents::Scalar(MarkedString::String(format!("{line} {}", settings[0])));
                Ok(Some(Hover { contents, range: None }))
            }
        })
        .request::<References, _>(|_, _| futures::future::pending())
        .request::<Shutdown, _>(|_, ()| async { Ok(()) })
        .notification::<Exit>(|_, ()| ControlFlow::Break(Ok(())))
        .notification::<Initialized>(|_, _| ControlFlow::Continue(()))
        .notification::<DidChangeConfiguration>(|_, _| ControlFlow::Continue(()));
    router
}

#[tokio::test]
async fn the_client_works_with_another_implementation() {
    let (ours, theirs) = duplex(4_096);
    let (server, _) = MainLoop::new_server(|client| {
        let layers = ServiceBuilder::new().layer(LifecycleLayer::default()).layer(ConcurrencyLayer::default());
        layers.service(router(client))
    });
    let (read, write) = tokio::io::split(theirs);
    let serving = tokio::spawn(server.run_buffered(read.compat(), write.compat_write()));

    let (read, write) = tokio::io::split(ours);
    let (client, _events) = LspClient::start(read, write, options());
    let spec = InitializeSpec {
        root: "/w".into(),
        folders: vec!["/w".into()],
        process_id: None,
        initialization_options: None,
        encodings: vec![],
        settings: Some(serde_json::json!({})),
    };
    let initialized = initialize(&client, &spec).await.unwrap();
    assert_eq!(initialized.encoding, "utf-16");

    let at = methods::at("file:///w/a.py", Position { line: 7, character: 1 });
    let reply = client.request(methods::HOVER, &at).unwrap().await.unwrap().into_raw();
    let hover = convert::hover(&reply).unwrap().unwrap();
    assert_eq!(hover.contents[0].kind, MarkupKind::Markdown);
    assert_eq!(hover.contents[0].value, "7 {\"level\":3}");

    // A dropped request is cancelled at the server: its slot is free, and the next one is answered.
    let references = methods::references("file:///w/a.py", Position { line: 0, character: 0 }, true);
    drop(client.request(methods::REFERENCES, &references).unwrap());
    assert_eq!(client.pending(), 0);
    client.request(methods::SHUTDOWN, &()).unwrap().await.unwrap();
    client.notify(methods::EXIT, &()).unwrap();
    serving.await.unwrap().unwrap();
}
