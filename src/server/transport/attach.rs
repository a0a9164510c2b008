//! The local socket through which `codeyard stdio` shares a running server (`docs/internals/protocol.md#standard-input-and-output`).
//!
//! After one handshake line in each direction the stream is plain stdio framing. Invariants: the socket has mode 0600, and both
//! ends check that the peer has their own user id; the handshake is bounded in size and time; without a valid answer `codeyard
//! stdio` serves by itself and reports no error.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::lines::{LineFrame, LineReader};
use super::stdio::serve_lines;
use crate::accept::accept_until_shutdown;
use codeyard_config::ContentMode;
use codeyard_gateway::service::{Endpoint, Service};
use codeyard_model::limits::Limits;

/// Connections to the local attach socket.
const MAX_ATTACHED: usize = 256;
/// First line on the local attach socket, in bytes.
const MAX_ATTACH_HELLO_BYTES: usize = 64 * 1024;
/// Time for the handshake on the local attach socket, in milliseconds.
const ATTACH_HELLO_TIMEOUT_MS: u64 = 2_000;

/// The version of the handshake. Peers with different versions don't attach.
pub const VERSION: u32 = 1;

/// The request of the attaching process: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The roots of the workspace, as absolute paths. Empty if it names the workspace, or wants the default one.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// The name of the workspace.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The catalogs, joined with `+`; `None` is `lsp-v1`.
    #[serde(default)]
    pub catalogs: Option<String>,
    /// The copies of a result; `None` is what the configuration says.
    #[serde(default)]
    pub content: Option<ContentMode>,
}

/// The answer to a [`Hello`]: one line of JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Welcome {
    version: u32,
    ok: bool,
}

/// Finds the endpoint of a [`Hello`]; `None` rejects it.
pub type ResolveEndpoint = Arc<dyn Fn(&Hello) -> Option<Endpoint> + Send + Sync>;

/// Binds the socket at `path` with mode 0600. Replaces the socket that a dead server left behind.
///
/// The caller must hold the lock of the state directory.
///
/// # Errors
/// If the path is too long for a socket (107 bytes) or can't be bound.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let mut draft = path.as_os_str().to_owned();
    draft.push("~");
    let draft = PathBuf::from(draft);
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Bound under another name, so that no client connects before the mode is set.
    let listener = UnixListener::bind(&draft)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&draft, path)?;
    Ok(listener)
}

/// Serves attached clients until `shutdown`, then lets their connections drain.
///
/// # Errors
/// Never today; failures to accept are logged and retried.
pub async fn serve_attach(
    listener: UnixListener,
    service: Arc<dyn Service>,
    resolve: ResolveEndpoint,
    limits: Limits,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let limits = Arc::new(limits);
    let mut connections = accept_until_shutdown(
        "attach socket",
        MAX_ATTACHED,
        &shutdown,
        || listener.accept(),
        |(stream, _), connections| {
            let service = Arc::clone(&service);
            let resolve = Arc::clone(&resolve);
            let limits = Arc::clone(&limits);
            let shutdown = shutdown.clone();
            connections.spawn(async move {
                if let Err(error) = connection(stream, service, &resolve, &limits, shutdown).await {
                    tracing::debug!(%error, "an attached connection ended early");
                }
            });
        },
    )
    .await;
    drop(listener);
    // Each connection bounds its own drain.
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Attaches to the server behind the socket at `path`. `None` if no server listens there, or it rejects `hello`.
pub async fn attach(path: &Path, hello: &Hello) -> Option<UnixStream> {
    let limit = Duration::from_millis(ATTACH_HELLO_TIMEOUT_MS);
    timeout(limit, handshake(path, hello)).await.ok()?.ok().flatten()
}

/// Copies `input` to the server and the server's answers to `output`, until the server closes the connection. The end of `input`
/// is passed on.
///
/// # Errors
/// Those of the three streams.
pub async fn pipe<R, W>(mut input: R, mut output: W, stream: UnixStream) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (mut from_server, mut to_server) = stream.into_split();
    let to_peer = async {
        // If the server has closed the connection, the other half ends.
        let _ = tokio::io::copy(&mut input, &mut to_server).await;
        let _ = to_server.shutdown().await;
        std::future::pending::<()>().await;
    };
    let from_peer = async {
        tokio::io::copy(&mut from_server, &mut output).await?;
        output.flush().await
    };
    tokio::select! {
        () = to_peer => Ok(()),
        done = from_peer => done,
    }
}

async fn handshake(path: &Path, hello: &Hello) -> io::Result<Option<UnixStream>> {
    let mut stream = UnixStream::connect(path).await?;
    if !is_ours(&stream)? {
        return Ok(None);
    }
    let mut line = serde_json::to_vec(hello)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    // The server sends nothing more before our first message, so the reader's buffer only has the handshake.
    let mut lines = LineReader::new(&mut stream, MAX_ATTACH_HELLO_BYTES);
    let LineFrame::Text(answer) = lines.next().await? else {
        return Ok(None);
    };
    let welcome: Welcome = serde_json::from_slice(&answer)?;
    Ok((welcome.ok && welcome.version == VERSION).then_some(stream))
}

async fn connection(
    stream: UnixStream,
    service: Arc<dyn Service>,
    resolve: &ResolveEndpoint,
    limits: &Limits,
    shutdown: CancellationToken,
) -> io::Result<()> {
    if !is_ours(&stream)? {
        tracing::warn!("rejected an attach connection of another user");
        return Ok(());
    }
    let (reader, mut writer) = stream.into_split();
    let mut lines = LineReader::new(reader, MAX_ATTACH_HELLO_BYTES);
    let hello = timeout(Duration::from_millis(ATTACH_HELLO_TIMEOUT_MS), lines.next());
    let line = tokio::select! {
        () = shutdown.cancelled() => return Ok(()),
        line = hello => line.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
    };
    let endpoint = match line {
        LineFrame::Text(line) => serde_json::from_slice::<Hello>(&line).ok().filter(|hello| hello.version == VERSION),
        _ => None,
    }
    .and_then(|hello| resolve(&hello));
    let mut welcome = serde_json::to_vec(&Welcome { version: VERSION, ok: endpoint.is_some() })?;
    welcome.push(b'\n');
    writer.write_all(&welcome).await?;
    let Some(endpoint) = endpoint else {
        return Ok(());
    };
    lines.set_limit(limits.max_request_bytes);
    serve_lines(lines, writer, service, endpoint, limits, shutdown).await
}

/// Whether the peer is a process of our own user.
pub fn is_ours(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}
