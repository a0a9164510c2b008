//! The local socket through which `codeyard stdio` shares a running server.
//!
//! After one handshake line each way the stream is plain stdio framing. It is no way in for others: the socket is mode
//! 0600 and both ends check that the peer has their own user id. Invariants: a handshake is bounded in size and time;
//! no answer from the other end means "run alone", never an error the user has to deal with.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::lines::{Line, Lines};
use super::stdio::serve_lines;
use crate::limits::{ATTACH_HELLO_TIMEOUT_MS, MAX_ATTACH_HELLO_BYTES, MAX_ATTACHED};
use codeyard_gateway::service::{Endpoint, Service};
use codeyard_model::limits::Limits;

/// The handshake's version. Ends of different versions don't attach.
pub const VERSION: u32 = 1;

/// What the attaching end asks for, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The roots it wants, as absolute paths; empty if it names a workspace, or wants the default.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// The workspace it wants by name.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The catalogs it wants, joined with `+`; `None` is `lsp-v1`.
    #[serde(default)]
    pub catalogs: Option<String>,
}

/// The answer to a [`Hello`], as one line of JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Welcome {
    version: u32,
    ok: bool,
}

/// Finds the endpoint that a [`Hello`] asks for; `None` refuses it.
pub type Resolve = Arc<dyn Fn(&Hello) -> Option<Endpoint> + Send + Sync>;

/// Binds the socket at `path`, mode 0600, in the place of one that a dead server left behind.
///
/// Only who holds the state directory's lock may call this.
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
    // Bound under another name, so that nobody meets it before its mode is set.
    let listener = UnixListener::bind(&draft)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&draft, path)?;
    Ok(listener)
}

/// Serves whoever attaches, until `shutdown`; then lets the connections drain.
///
/// # Errors
/// None now; kept for the listener's own failures.
pub async fn serve_attach(
    listener: UnixListener,
    service: Arc<dyn Service>,
    resolve: Resolve,
    limits: Limits,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let limits = Arc::new(limits);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_ATTACHED => match accepted {
                Ok((stream, _)) => {
                    let (service, resolve) = (Arc::clone(&service), Arc::clone(&resolve));
                    let (limits, shutdown) = (Arc::clone(&limits), shutdown.clone());
                    connections.spawn(async move { connection(stream, service, &resolve, &limits, shutdown).await });
                }
                Err(error) => {
                    tracing::warn!(%error, "attach socket can't accept");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Attaches to the server behind the socket at `path`; `None` if nobody is there, or the server doesn't know what
/// `hello` asks for.
pub async fn attach(path: &Path, hello: &Hello) -> Option<UnixStream> {
    let limit = Duration::from_millis(ATTACH_HELLO_TIMEOUT_MS);
    timeout(limit, shake_hands(path, hello)).await.ok()?.ok().flatten()
}

/// Carries `input` to the server and its answers to `output`, until the server is done. The end of `input` is passed on.
///
/// # Errors
/// Those of the three streams.
pub async fn pipe<R, W>(mut input: R, mut output: W, stream: UnixStream) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (mut from_server, mut to_server) = stream.into_split();
    let up = async {
        // A server that has gone is seen on the other half.
        let _ = tokio::io::copy(&mut input, &mut to_server).await;
        let _ = to_server.shutdown().await;
        std::future::pending::<()>().await;
    };
    let down = async {
        tokio::io::copy(&mut from_server, &mut output).await?;
        output.flush().await
    };
    tokio::select! {
        () = up => Ok(()),
        done = down => done,
    }
}

async fn shake_hands(path: &Path, hello: &Hello) -> io::Result<Option<UnixStream>> {
    let mut stream = UnixStream::connect(path).await?;
    if !is_ours(&stream)? {
        return Ok(None);
    }
    let mut line = serde_json::to_vec(hello)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    // The server says nothing more until we do, so whatever is read belongs to the handshake.
    let mut lines = Lines::new(&mut stream, MAX_ATTACH_HELLO_BYTES);
    let Line::Text(answer) = lines.next().await? else {
        return Ok(None);
    };
    let welcome: Welcome = serde_json::from_slice(&answer)?;
    Ok((welcome.ok && welcome.version == VERSION).then_some(stream))
}

async fn connection(
    stream: UnixStream,
    service: Arc<dyn Service>,
    resolve: &Resolve,
    limits: &Limits,
    shutdown: CancellationToken,
) -> io::Result<()> {
    if !is_ours(&stream)? {
        tracing::warn!("attach by another user refused");
        return Ok(());
    }
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader, MAX_ATTACH_HELLO_BYTES);
    let hello = timeout(Duration::from_millis(ATTACH_HELLO_TIMEOUT_MS), lines.next());
    let line = tokio::select! {
        () = shutdown.cancelled() => return Ok(()),
        line = hello => line.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
    };
    let endpoint = match line {
        Line::Text(line) => serde_json::from_slice::<Hello>(&line).ok().filter(|hello| hello.version == VERSION),
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

/// Whether the other end is a process of our own user.
pub fn is_ours(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}
