//! MCP over Streamable HTTP: listening, connections, stopping.
//!
//! What happens inside a request is `handler`'s. Invariants: never more than `MAX_HTTP_CONNECTIONS` connections; no
//! listening beyond loopback without tokens; a stop lets what is in flight end, for `DRAIN_MS`.

pub mod answer;
pub mod body;
pub mod connection;
pub mod handler;
pub mod host;
pub mod media;
mod near;
pub mod path;
pub mod probes;
pub mod refusal;
pub mod session;
pub mod socket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::handler::Door;
pub use self::host::{AllowedHosts, AllowedOrigins};
use self::probes::Probes;
use self::session::Sessions;
use self::socket::Socket;
use crate::limits::{
    DRAIN_MS, HTTP_BODY_TIMEOUT_MS, HTTP_HEAD_TIMEOUT_MS, HTTP_WRITE_TIMEOUT_MS, MAX_HTTP_CONNECTIONS,
    MAX_HTTP_TURNED_AWAY, MAX_SESSIONS,
};
use codeyard_gateway::service::Service;
use codeyard_model::limits::Limits;
use codeyard_state::TokenStore;

/// Why the server can't serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Asked to listen beyond loopback without tokens.
    #[error("without tokens only a loopback address may be listened on")]
    OpenWithoutToken,
    /// The listener is unusable.
    #[error("the listener can't be used: {0}")]
    Listener(#[from] io::Error),
}

/// How to serve.
#[derive(Clone)]
pub struct HttpOptions {
    /// The valid tokens; `None` asks for none and allows loopback only.
    pub auth: Option<Arc<TokenStore>>,
    /// Hosts that may be asked for.
    pub allowed_hosts: AllowedHosts,
    /// Web origins that may ask.
    pub allowed_origins: AllowedOrigins,
    /// Limits of requests and answers.
    pub limits: Limits,
    /// Limits of connections.
    pub connections: ConnectionLimits,
    /// What `/livez`, `/readyz` and `/metrics` stand on; `None`: they aren't served.
    pub probes: Option<Probes>,
}

/// Limits of connections; the defaults are the named limits, tests tighten them.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections open at a time.
    pub connections: usize,
    /// Sessions remembered.
    pub sessions: usize,
    /// Time for a request's head, and of being idle.
    pub head: Duration,
    /// Time for a request's body.
    pub body: Duration,
    /// Time without progress while writing.
    pub write: Duration,
}

impl HttpOptions {
    /// Loopback names and origins, default limits.
    pub fn new(auth: Option<Arc<TokenStore>>) -> Self {
        Self {
            auth,
            allowed_hosts: AllowedHosts::default(),
            allowed_origins: AllowedOrigins::default(),
            limits: Limits::default(),
            connections: ConnectionLimits::default(),
            probes: None,
        }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: MAX_HTTP_CONNECTIONS,
            sessions: MAX_SESSIONS,
            head: Duration::from_millis(HTTP_HEAD_TIMEOUT_MS),
            body: Duration::from_millis(HTTP_BODY_TIMEOUT_MS),
            write: Duration::from_millis(HTTP_WRITE_TIMEOUT_MS),
        }
    }
}

/// Serves on `listener` until `shutdown`, then lets what is in flight end.
///
/// # Errors
/// [`Error::OpenWithoutToken`], [`Error::Listener`]; both before anything is accepted.
pub async fn serve(
    listener: TcpListener,
    service: Arc<dyn Service>,
    options: HttpOptions,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    if options.auth.is_none() && !listener.local_addr()?.ip().is_loopback() {
        return Err(Error::OpenWithoutToken);
    }
    let limits = options.connections.clone();
    let metrics = service.metrics();
    let door = door(service, options);
    let places = Arc::new(Semaphore::new(limits.connections));
    let turned_away = Arc::new(Semaphore::new(MAX_HTTP_TURNED_AWAY));
    let mut connections = JoinSet::new();
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "connection can't be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let (door, limits, shutdown) = (door.clone(), limits.clone(), shutdown.clone());
            connections.spawn(async move {
                let _place = place;
                let _ = stream.set_nodelay(true);
                near::serve(stream, peer, door, limits, shutdown).await;
            });
        } else if let Ok(place) = Arc::clone(&turned_away).try_acquire_owned() {
            metrics.shed("connection");
            connections.spawn(turn_away(stream, place));
        } else {
            metrics.shed("connection");
        }
    }
    drop(listener);
    door.sessions.close();
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(DRAIN_MS), ended).await;
    connections.shutdown().await;
    Ok(())
}

fn door(service: Arc<dyn Service>, options: HttpOptions) -> Arc<Door> {
    let sessions = Sessions::new(options.connections.sessions, service.metrics());
    Arc::new(Door {
        service,
        auth: options.auth,
        hosts: options.allowed_hosts,
        origins: options.allowed_origins,
        limits: options.limits.clamped(),
        body_timeout: options.connections.body,
        sessions,
        probes: options.probes,
    })
}

/// Tells a connection beyond the cap to come back, and closes it.
async fn turn_away(stream: TcpStream, _place: OwnedSemaphorePermit) {
    const BODY: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many connections; try again after the hinted time","data":{"reason":"overloaded","retryAfterMs":1000}}}"#;
    let head =
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close";
    let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
    let told = async {
        let mut socket = stream;
        socket.write_all(text.as_bytes()).await?;
        let mut socket = Socket::new(socket, Duration::from_secs(1));
        std::future::poll_fn(|cx| hyper::rt::Write::poll_shutdown(std::pin::Pin::new(&mut socket), cx)).await
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), told).await;
}
