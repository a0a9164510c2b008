//! The embedded language server. It answers by name and scope from the code index, for languages without a language server.
//!
//! It runs as its own process (`codeyard syntactic`), speaks the Language Server Protocol on standard input and output, and is started
//! and supervised like any other language server. It isn't a type checker: if several symbols have the name, it returns all of them.
//! `docs/internals/decisions/syntactic.md` says when it answers and how a name is resolved.
//!
//! - `server`, `progress`, `text_changes`: the protocol.
//! - `worker`: the thread that owns the index and the open documents, and handles messages in order.
//! - `fact_source`, `index_overlay`: the facts that answers are made from.
//! - `usages`, `templates`: uses that facts don't hold: plain and local names, and names in templates.
//! - `cursor_context`, `name_resolution`, `handlers`, `references`, `call_hierarchy`, `conversion`: from a position to symbols to a response.
//!
//! Invariants: it writes nothing inside the root; the process ends when its client or its parent process is gone.

mod call_hierarchy;
mod conversion;
mod cursor_context;
mod fact_source;
mod handlers;
mod index_overlay;
pub mod limits;
mod name_resolution;
mod progress;
mod references;
mod server;
mod templates;
#[cfg(test)]
mod testing;
mod text_changes;
mod usages;
mod worker;

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_lsp::concurrency::ConcurrencyLayer;
use async_lsp::server::LifecycleLayer;
use async_lsp::{Error, MainLoop};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};
use tower_layer::Layer;

use codeyard_index::StopSignal;
use server::SyntacticServer;

/// Requests that it accepts at a time.
const MAX_NAMED_REQUESTS: usize = 256;

/// Time between two checks whether the parent process is alive.
const PARENT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Serves one client on standard input and output until it exits, its pipe closes, or the parent process ends. Keeps its indexes in
/// the folder `indexes`. Must run inside a tokio runtime with several threads.
///
/// # Errors
/// The input isn't valid protocol, or a pipe can't be written.
pub async fn serve(indexes: PathBuf) -> io::Result<()> {
    let stop_signal: Arc<OnceLock<StopSignal>> = Arc::default();
    let started = stop_signal.clone();
    let runtime = tokio::runtime::Handle::current();
    let (main_loop, _) = MainLoop::new_server(|client| {
        // The worker starts once; a second `initialize` is refused before it gets here.
        let on_start = move |stop| drop(started.set(stop));
        let router = SyntacticServer::router(client, runtime, indexes, on_start);
        let max_requests = NonZeroUsize::new(MAX_NAMED_REQUESTS).unwrap_or(NonZeroUsize::MIN);
        LifecycleLayer::default().layer(ConcurrencyLayer::new(max_requests).layer(router))
    });
    // Not `async_lsp::stdio`: it accepts pipes, sockets and terminals only, and standard input may be a file.
    let session = main_loop.run_buffered(tokio::io::stdin().compat(), tokio::io::stdout().compat_write());
    let result = tokio::select! {
        result = session => result,
        () = parent_exited() => Ok(()),
    };
    // Stopping a running job keeps everything that was published before it.
    if let Some(stop) = stop_signal.get() {
        stop.set();
    }
    match result {
        Ok(()) | Err(Error::Eof) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Resolves when the process that started this one has ended.
///
/// `async_lsp::client_monitor` watches the `processId` of `initialize` instead. That id may be null, is that of the client and not of
/// the guard process between the two, and is known only after `initialize`.
async fn parent_exited() {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        tokio::time::sleep(PARENT_POLL_INTERVAL).await;
    }
}
