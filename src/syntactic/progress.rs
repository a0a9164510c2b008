//! Reports the index's progress to the client as work-done progress.
//!
//! The first job is reported from its start, later jobs only if they take longer than [`REPORT_DELAY`]. async-lsp has the message types
//! but no sender that pairs begin and end. Invariant: every progress that begins also ends.

use std::sync::Arc;
use std::time::Duration;

use async_lsp::ClientSocket;
use async_lsp::lsp_types as lsp;
use lsp::notification::{LogMessage, Progress as ProgressNotification};
use lsp::request::WorkDoneProgressCreate;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};

use codeyard_index::JobProgress;

/// The title of the progress. The registry of language servers waits for it.
pub(crate) const TITLE: &str = "Indexing";
/// Jobs other than the first that take less time aren't reported.
const REPORT_DELAY: Duration = Duration::from_millis(700);
/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// Sends progress and error messages to the client.
#[derive(Clone)]
pub(crate) struct ProgressReporter {
    client: ClientSocket,
    runtime: Handle,
    /// Whether the client supports work-done progress.
    is_supported: bool,
}

impl ProgressReporter {
    pub(crate) fn new(client: ClientSocket, runtime: Handle, is_supported: bool) -> Self {
        Self { client, runtime, is_supported }
    }

    /// Reports the progress of a job until the returned guard is dropped.
    pub(crate) fn begin(&self, progress: Arc<JobProgress>, at_once: bool) -> ProgressGuard {
        let finished = CancellationToken::new();
        let client = self.client.clone();
        let is_supported = self.is_supported;
        let token = finished.clone();
        let task = async move {
            if is_supported {
                report(&client, &progress, at_once, &token).await;
            }
        };
        let task = self.runtime.spawn(task);
        ProgressGuard { finished: Some(finished.drop_guard()), task: Some(task), runtime: self.runtime.clone() }
    }

    /// Sends an error to the client's log.
    pub(crate) fn log_error(&self, message: &str) {
        let params = lsp::LogMessageParams { typ: lsp::MessageType::ERROR, message: message.to_owned() };
        // Sending fails only if the client is gone.
        self.client.notify::<LogMessage>(params).ok();
    }
}

/// The progress of one job. Dropping it waits until the end of the progress has been sent.
pub(crate) struct ProgressGuard {
    finished: Option<DropGuard>,
    task: Option<tokio::task::JoinHandle<()>>,
    runtime: Handle,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        drop(self.finished.take());
        if let Some(task) = self.task.take() {
            // The task ends once `finished` is set. The runtime has logged a panic in it already.
            self.runtime.block_on(task).ok();
        }
    }
}

async fn report(client: &ClientSocket, progress: &JobProgress, at_once: bool, finished: &CancellationToken) {
    if !at_once && tokio::time::timeout(REPORT_DELAY, finished.cancelled()).await.is_ok() {
        return;
    }
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let token = lsp::NumberOrString::String(format!("codeyard/index/{number}"));
    let create = lsp::WorkDoneProgressCreateParams { token: token.clone() };
    // A client that doesn't answer must not delay the index.
    tokio::select! {
        _ = client.request::<WorkDoneProgressCreate>(create) => {}
        () = finished.cancelled(), if !at_once => return,
        () = tokio::time::sleep(REPORT_DELAY) => {}
    }
    let send = |value: lsp::WorkDoneProgress| {
        let value = lsp::ProgressParamsValue::WorkDone(value);
        client.notify::<ProgressNotification>(lsp::ProgressParams { token: token.clone(), value }).ok();
    };
    send(lsp::WorkDoneProgress::Begin(lsp::WorkDoneProgressBegin {
        title: TITLE.to_owned(),
        cancellable: Some(false),
        ..Default::default()
    }));
    while tokio::time::timeout(REPORT_INTERVAL, finished.cancelled()).await.is_err() {
        let message = Some(message(progress));
        let report = lsp::WorkDoneProgressReport { cancellable: Some(false), message, percentage: None };
        send(lsp::WorkDoneProgress::Report(report));
    }
    send(lsp::WorkDoneProgress::End(lsp::WorkDoneProgressEnd { message: None }));
}

fn message(progress: &JobProgress) -> String {
    let now = progress.snapshot();
    match now.files {
        (_, 0) => now.phase.as_str().to_owned(),
        (done, all) => format!("{}, {done} of {all} files", now.phase.as_str()),
    }
}
