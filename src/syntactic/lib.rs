//! Rank 6: the embedded language server. It answers by name and scope from the code index, where no language server is there to
//! understand the code.
//!
//! It is a process of its own (`codeyard syntactic`) that speaks the Language Server Protocol on standard input and output, started and
//! supervised like any other language server. It isn't a type checker: where several things are called alike it names them all.
//!
//! - `server`, `tell`, `edits`: the protocol.
//! - `worker`: the index and what is open, in the order of what comes in.
//! - `library`, `shelf`: what answers are made from.
//! - `spot`, `resolve`, `answers`, `calls`, `present`: what is pointed at, what it may mean, and how that is told.
//!
//! Invariants: nothing is written inside the root; the process ends when its client is gone.

mod answers;
mod calls;
mod edits;
mod library;
pub mod limits;
mod present;
mod resolve;
mod server;
mod shelf;
mod spot;
mod tell;
#[cfg(test)]
mod testing;
mod worker;

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_lsp::concurrency::ConcurrencyLayer;
use async_lsp::server::LifecycleLayer;
use async_lsp::{Error, MainLoop};
use parking_lot::Mutex;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};
use tower_layer::Layer;

use crate::limits::MAX_NAMED_REQUESTS;
use codeyard_index::Stop;
use server::Server;

/// Between two looks whether the parent is still there.
const PARENT_EVERY: Duration = Duration::from_secs(1);

/// Serves one client on standard input and output until it leaves, its pipe ends, or the parent is gone. Indexes are kept in `indexes`.
/// Must run inside a tokio runtime of several threads.
///
/// # Errors
/// The conversation broke: input that isn't the protocol's, or a pipe that can't be written.
pub async fn serve(indexes: PathBuf) -> io::Result<()> {
    let running: Arc<Mutex<Option<Stop>>> = Arc::default();
    let started = running.clone();
    let runtime = tokio::runtime::Handle::current();
    let (main, _) = MainLoop::new_server(|client| {
        let on_start = move |stop| *started.lock() = Some(stop);
        let router = Server::router(client, runtime, indexes, on_start);
        let most = NonZeroUsize::new(MAX_NAMED_REQUESTS).unwrap_or(NonZeroUsize::MIN);
        LifecycleLayer::default().layer(ConcurrencyLayer::new(most).layer(router))
    });
    let conversation = main.run_buffered(tokio::io::stdin().compat(), tokio::io::stdout().compat_write());
    let ended = tokio::select! {
        ended = conversation => ended,
        () = orphaned() => Ok(()),
    };
    // A job that runs leaves what was published before it.
    if let Some(stop) = running.lock().take() {
        stop.set();
    }
    match ended {
        Ok(()) | Err(Error::Eof) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Resolves when the process that started this one has ended.
async fn orphaned() {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        tokio::time::sleep(PARENT_EVERY).await;
    }
}
