//! The requests of `top` to the running server, in the background: at most one poll and one restart at a time.

use hyper::Method;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::INTERVAL;
use super::model::TopModel;
use super::sample::AdminSample;
use codeyard_base::clock::Instant;
use codeyard_server::admin::client::{AdminClient, AdminClientError};

/// Polls the server and requests restarts. Never blocks on the server.
pub(super) struct Poller<'a> {
    runtime: &'a Runtime,
    client: &'a AdminClient,
    next: Instant,
    /// When the unanswered poll was sent.
    since: Option<Instant>,
    poll: Option<JoinHandle<Result<AdminSample, AdminClientError>>>,
    restart: Option<JoinHandle<String>>,
}

impl<'a> Poller<'a> {
    /// A poller whose first poll is due after one interval.
    pub(super) fn new(runtime: &'a Runtime, client: &'a AdminClient) -> Self {
        Self { runtime, client, next: Instant::now() + INTERVAL, since: None, poll: None, restart: None }
    }

    /// Applies finished requests to `model`, and starts the next poll when it is due.
    pub(super) fn tick(&mut self, model: &mut TopModel) {
        if let Some(message) = finished(self.runtime, &mut self.restart) {
            model.show_message(message);
        }
        if let Some(polled) = finished(self.runtime, &mut self.poll) {
            match polled {
                Ok(sample) => {
                    model.update(sample);
                    self.since = None;
                }
                Err(error) => model.set_error(error.to_string()),
            }
            self.next = Instant::now() + INTERVAL;
        }
        if self.poll.is_none() && Instant::now() >= self.next {
            self.since.get_or_insert_with(Instant::now);
            let client = self.client.clone();
            self.poll = Some(self.runtime.spawn(async move { AdminSample::take(&client).await }));
        }
        model.unanswered_s = self.since.map_or(0, |since| since.elapsed().as_secs());
    }

    /// Requests the restart of a server. A later `tick` shows the outcome.
    pub(super) fn restart(&mut self, model: &mut TopModel, workspace: &str, id: &str) {
        if self.restart.is_some() {
            model.show_message("another restart is still in progress; try again later".to_owned());
            return;
        }
        let path = format!("/admin/v1/servers/{workspace}/{id}/restart");
        let done = format!("{id} of {workspace} is restarting");
        let client = self.client.clone();
        self.restart = Some(self.runtime.spawn(async move {
            let asked = client.send::<Value>(Method::POST, &path, None).await;
            asked.map_or_else(|error| error.to_string(), |_| done)
        }));
    }
}

/// The result of a finished task; `None` while it runs.
fn finished<T>(runtime: &Runtime, task: &mut Option<JoinHandle<T>>) -> Option<T> {
    let ended = task.take_if(|task| task.is_finished())?;
    runtime.block_on(ended).ok()
}
