//! The local socket that tells how the running server is: one JSON document a connection, then the end.
//!
//! It takes no request and changes nothing. It is no way in for others: mode 0600, and both ends check that the peer has
//! their own user id. Invariants: a connection is bounded in time, their number and the document in size.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::attach::is_ours;
use crate::base::limits::{MAX_STATUS_BYTES, MAX_STATUS_CONNECTIONS, STATUS_TIMEOUT_MS};

/// Makes the document.
pub type Report = Arc<dyn Fn() -> BoxFuture<'static, Value> + Send + Sync>;

/// Answers every connection with what `report` says, until `shutdown`. Bind the socket with
/// [`attach::listen`](super::attach::listen).
pub async fn serve_status(listener: UnixListener, report: Report, shutdown: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_STATUS_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let told = tell(stream, report.clone());
                    connections.spawn(timeout(Duration::from_millis(STATUS_TIMEOUT_MS), told));
                }
                Err(error) => {
                    tracing::warn!(%error, "status socket can't accept");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
}

/// Asks the server behind the socket at `path`; `None` if nobody is there.
///
/// # Errors
/// If somebody is there and gives no document: another user's process, silence, or too much.
pub async fn ask(path: &Path) -> io::Result<Option<Value>> {
    let limit = Duration::from_millis(STATUS_TIMEOUT_MS);
    timeout(limit, read(path)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn tell(mut stream: UnixStream, report: Report) -> io::Result<()> {
    if !is_ours(&stream)? {
        tracing::warn!("status for another user refused");
        return Ok(());
    }
    let mut text = serde_json::to_vec(&report().await)?;
    text.push(b'\n');
    stream.write_all(&text).await?;
    stream.shutdown().await
}

async fn read(path: &Path) -> io::Result<Option<Value>> {
    let stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !is_ours(&stream)? {
        return Err(io::Error::other("the socket belongs to another user"));
    }
    let mut text = Vec::new();
    stream.take(MAX_STATUS_BYTES + 1).read_to_end(&mut text).await?;
    if text.len() as u64 > MAX_STATUS_BYTES {
        return Err(io::Error::other("the answer is too large"));
    }
    Ok(Some(serde_json::from_slice(&text)?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use futures::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::transport::attach;

    #[tokio::test]
    async fn one_document_a_connection_and_nobody_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status.sock");
        assert!(ask(&path).await.unwrap().is_none());
        let stop = CancellationToken::new();
        let report: Report = Arc::new(|| futures::future::ready(json!({"pid": 7})).boxed());
        let serving = tokio::spawn(serve_status(attach::listen(&path).unwrap(), report, stop.clone()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for _ in 0..2 {
            assert_eq!(ask(&path).await.unwrap(), Some(json!({"pid": 7})));
        }
        stop.cancel();
        serving.await.unwrap();
        assert!(ask(&path).await.unwrap().is_none(), "a socket left behind counts as nobody");
    }

    #[tokio::test]
    async fn who_says_something_else_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status.sock");
        let listener = attach::listen(&path).unwrap();
        let talking = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"hello\n").await.unwrap();
        });
        assert!(ask(&path).await.is_err());
        talking.await.unwrap();
    }
}
