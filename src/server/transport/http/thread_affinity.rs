//! Chooses the thread that serves a connection: the thread of the workspace that its first request names, so that one thread
//! reads, asks and answers.
//!
//! A connection with TLS is served where it was accepted, because its first request can't be read before the handshake. For others, it peeks
//! at the first bytes and leaves them unread; they have no influence on the answer. Invariants: nothing is looked up
//! for a client without a valid token; a connection whose first bytes name no workspace is served where it was accepted; a
//! connection that sends nothing is closed after the time that a connection without authentication has; a connection of a workspace whose
//! thread is stuck is served where it was accepted.

use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::connection::serve_connection;
use super::handler::{ConnectionService, McpEndpoint};
use super::options::ConnectionLimits;
use super::path::EndpointPath;
use codeyard_gateway::service::Principal;
use codeyard_gateway::workspace_thread::WorkspaceThread;

/// Bytes of a request head that are peeked at. An `Authorization` header behind them isn't seen.
const PEEKED_BYTES: usize = 2 * 1024;

/// Serves a connection to its end, or until `shutdown`.
pub(super) async fn serve(
    stream: TcpStream,
    connection: ConnectionService,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) {
    let mut head = [0_u8; PEEKED_BYTES];
    let peeked = tokio::select! {
        biased;
        () = shutdown.cancelled() => return,
        () = connection.place.must_close() => return,
        peeked = tokio::time::timeout(limits.head, stream.peek(&mut head)) => peeked,
    };
    let Ok(Ok(count)) = peeked else { return };
    let Some(workspace_thread) = workspace_thread(&connection.endpoint, &head[..count]) else {
        return serve_while_open(stream, connection, &limits, shutdown).await;
    };
    // Registered again on the other thread, so that its reactor gets the events.
    let Ok(stream) = stream.into_std() else { return };
    let work = async move {
        if let Ok(stream) = TcpStream::from_std(stream) {
            serve_while_open(stream, connection, &limits, shutdown).await;
        }
    };
    if let Some(unused) = workspace_thread.run(work).await {
        unused.await;
    }
}

/// Serves a connection until it ends or must close.
async fn serve_while_open(
    stream: TcpStream,
    connection: ConnectionService,
    limits: &ConnectionLimits,
    shutdown: CancellationToken,
) {
    let place = connection.place.clone();
    place.while_open(serve_connection(stream, connection, limits, shutdown)).await;
}

/// The thread of the workspace that a request head names, if its sender may see that workspace.
fn workspace_thread(endpoint: &McpEndpoint, head: &[u8]) -> Option<WorkspaceThread> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let target = lines.next()?.split(' ').nth(1)?;
    let target = target.split('?').next()?;
    let path = EndpointPath::parse(target)?;
    let principal = match &endpoint.auth {
        None => Principal::local(),
        Some(_) => {
            let mut fields = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
            let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case("authorization"))?;
            endpoint.known_bearer(value.trim_matches([' ', '\t']), target)?
        }
    };
    let workspace = endpoint.service.endpoint(&principal, path.workspace.as_deref(), path.catalogs.as_deref())?;
    endpoint.service.workspace_thread(&workspace)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use serde_json::value::RawValue;

    use super::*;
    use crate::transport::http::HttpOptions;
    use codeyard_gateway::service::{Endpoint, Service, ToolCall, ToolReply};
    use codeyard_state::{StateDir, TokenAudience, TokenStore};

    /// Records the workspaces that are looked up.
    #[derive(Default)]
    struct RecordingService(Mutex<Vec<Option<String>>>);

    impl Service for RecordingService {
        fn endpoint(&self, _: &Principal, workspace: Option<&str>, _: Option<&str>) -> Option<Endpoint> {
            self.0.lock().push(workspace.map(str::to_owned));
            None
        }

        fn tools(&self, _: &Principal, _: &Endpoint) -> Arc<RawValue> {
            Arc::from(RawValue::NULL.to_owned())
        }

        fn call(&self, _: ToolCall) -> BoxFuture<'static, ToolReply> {
            Box::pin(std::future::pending())
        }

        fn instructions(&self, _: &Endpoint) -> Option<String> {
            None
        }
    }

    fn looked_up(auth: Option<Arc<TokenStore>>, heads: &[&str]) -> Vec<Option<String>> {
        let service = Arc::new(RecordingService::default());
        let endpoint = McpEndpoint::new(service.clone(), HttpOptions::new(auth), CancellationToken::new());
        for head in heads {
            assert!(workspace_thread(&endpoint, head.as_bytes()).is_none());
        }
        std::mem::take(&mut *service.0.lock())
    }

    #[test]
    fn the_first_request_names_the_workspace() {
        let heads = [
            "POST /mcp/linux HTTP/1.1\r\nHost: localhost\r\n\r\n{}",
            "POST /mcp?x HTTP/1.1\r\n",
            "GET /livez HTTP/1.1\r\n\r\n",
            "POST /m",
            "POST http://localhost/mcp/linux HTTP/1.1\r\n",
            "\u{16}\u{3}",
            "",
        ];
        assert_eq!(looked_up(None, &heads), [Some("linux".to_owned()), None]);
    }

    #[tokio::test]
    async fn nothing_is_looked_up_without_a_valid_token() {
        let dir = tempfile::tempdir().unwrap();
        let (store, made) =
            TokenStore::open_or_create(StateDir::open(dir.path()).unwrap().store().unwrap(), TokenAudience::Mcp)
                .unwrap();
        let store = Arc::new(store);
        let token = made.unwrap();
        let head = |field: &str| format!("POST /mcp/linux HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n{{}}");
        let right = format!("authorization:  Bearer {}", token.reveal());
        for (field, expected) in [
            ("Accept: */*", vec![]),
            ("Authorization: Bearer cyd_wrong", vec![]),
            (&format!("\r\n{right}"), vec![]),
            (&right, vec![Some("linux".to_owned())]),
        ] {
            assert_eq!(looked_up(Some(store.clone()), &[&head(field)]), expected, "{field}");
        }
    }
}
