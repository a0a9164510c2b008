//! How far the index is, told to the client as the protocol's progress.
//!
//! The first job is told of from its beginning; later ones only if they last. Invariant: every progress that begins ends.

use std::sync::Arc;
use std::time::Duration;

use async_lsp::ClientSocket;
use async_lsp::lsp_types as lsp;
use lsp::notification::{LogMessage, Progress as Report};
use lsp::request::WorkDoneProgressCreate;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};

use codeyard_index::Progress;

/// What progress is called; the registry of language servers waits for it.
pub(crate) const TITLE: &str = "Indexing";
/// Jobs that take less aren't told of, but for the first.
const QUIET: Duration = Duration::from_millis(700);
/// Between two reports.
const EVERY: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Clone)]
pub(crate) struct Teller {
    client: ClientSocket,
    runtime: Handle,
    /// The client shows progress.
    is_wanted: bool,
}

impl Teller {
    /// For this client.
    pub(crate) fn new(client: ClientSocket, runtime: Handle, is_wanted: bool) -> Self {
        Self { client, runtime, is_wanted }
    }

    /// Tells of a job until what is returned is dropped.
    pub(crate) fn begin(&self, progress: Arc<Progress>, at_once: bool) -> Telling {
        let over = CancellationToken::new();
        let (client, is_wanted, told) = (self.client.clone(), self.is_wanted, over.clone());
        let task = async move {
            if is_wanted {
                tell(&client, &progress, at_once, &told).await;
            }
        };
        let ended = self.runtime.spawn(task);
        Telling { over: Some(over.drop_guard()), ended: Some(ended), runtime: self.runtime.clone() }
    }

    /// Says what is wrong.
    pub(crate) fn complain(&self, what: &str) {
        let params = lsp::LogMessageParams { typ: lsp::MessageType::ERROR, message: what.to_owned() };
        // A client that is gone needs no telling.
        self.client.notify::<LogMessage>(params).ok();
    }
}

/// A job that is told of. Dropping it waits until its end is told.
pub(crate) struct Telling {
    over: Option<DropGuard>,
    ended: Option<tokio::task::JoinHandle<()>>,
    runtime: Handle,
}

impl Drop for Telling {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(ended) = self.ended.take() {
            // Of this module's own making, and it ends; a panic in it was told already.
            self.runtime.block_on(ended).ok();
        }
    }
}

async fn tell(client: &ClientSocket, progress: &Progress, at_once: bool, over: &CancellationToken) {
    if !at_once && tokio::time::timeout(QUIET, over.cancelled()).await.is_ok() {
        return;
    }
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let token = lsp::NumberOrString::String(format!("codeyard/index/{number}"));
    let create = lsp::WorkDoneProgressCreateParams { token: token.clone() };
    // A client that doesn't answer must not hold up the index.
    tokio::select! {
        _ = client.request::<WorkDoneProgressCreate>(create) => {}
        () = over.cancelled(), if !at_once => return,
        () = tokio::time::sleep(QUIET) => {}
    }
    let send = |value: lsp::WorkDoneProgress| {
        let value = lsp::ProgressParamsValue::WorkDone(value);
        client.notify::<Report>(lsp::ProgressParams { token: token.clone(), value }).ok();
    };
    send(lsp::WorkDoneProgress::Begin(lsp::WorkDoneProgressBegin {
        title: TITLE.to_owned(),
        cancellable: Some(false),
        ..Default::default()
    }));
    while tokio::time::timeout(EVERY, over.cancelled()).await.is_err() {
        let message = Some(said(progress));
        let report = lsp::WorkDoneProgressReport { cancellable: Some(false), message, percentage: None };
        send(lsp::WorkDoneProgress::Report(report));
    }
    send(lsp::WorkDoneProgress::End(lsp::WorkDoneProgressEnd { message: None }));
}

fn said(progress: &Progress) -> String {
    let now = progress.snapshot();
    match now.files {
        (_, 0) => now.phase.as_str().to_owned(),
        (done, all) => format!("{}, {done} of {all} files", now.phase.as_str()),
    }
}
