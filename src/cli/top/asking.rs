//! What `top` asks of the server, beside the keyboard: one look at a time, one restart at a time.

use hyper::Method;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::INTERVAL;
use super::model::Model;
use super::sample::Sample;
use codeyard_base::clock::Instant;
use codeyard_server::admin::client::{AdminClient, Error};

/// See the module.
pub(super) struct Asking<'a> {
    runtime: &'a Runtime,
    client: &'a AdminClient,
    next: Instant,
    /// Since when nothing was answered, while something is asked.
    since: Option<Instant>,
    look: Option<JoinHandle<Result<Sample, Error>>>,
    restart: Option<JoinHandle<String>>,
}

impl<'a> Asking<'a> {
    /// The first look comes after an interval.
    pub(super) fn new(runtime: &'a Runtime, client: &'a AdminClient) -> Self {
        Self { runtime, client, next: Instant::now() + INTERVAL, since: None, look: None, restart: None }
    }

    /// Takes in what has come, and asks anew when it is time. Waits for nothing.
    pub(super) fn go_on(&mut self, model: &mut Model) {
        if let Some(told) = finished(self.runtime, &mut self.restart) {
            model.tell(told);
        }
        if let Some(looked) = finished(self.runtime, &mut self.look) {
            match looked {
                Ok(sample) => {
                    model.see(sample);
                    self.since = None;
                }
                Err(error) => model.lose(error.to_string()),
            }
            self.next = Instant::now() + INTERVAL;
        }
        if self.look.is_none() && Instant::now() >= self.next {
            self.since.get_or_insert_with(Instant::now);
            let client = self.client.clone();
            self.look = Some(self.runtime.spawn(async move { Sample::take(&client).await }));
        }
        model.silent_s = self.since.map_or(0, |since| since.elapsed().as_secs());
    }

    /// Asks for a restart; what comes of it is told later.
    pub(super) fn restart(&mut self, model: &mut Model, workspace: &str, id: &str) {
        if self.restart.is_some() {
            model.tell("another restart isn't answered yet; try again when it is".to_owned());
            return;
        }
        let path = format!("/admin/v1/servers/{workspace}/{id}/restart");
        let done = format!("{id} of {workspace} is being started anew");
        let client = self.client.clone();
        self.restart = Some(self.runtime.spawn(async move {
            let asked = client.send::<Value>(Method::POST, &path, None).await;
            asked.map_or_else(|error| error.to_string(), |_| done)
        }));
    }
}

/// What came of a task that has ended.
fn finished<T>(runtime: &Runtime, task: &mut Option<JoinHandle<T>>) -> Option<T> {
    let ended = task.take_if(|task| task.is_finished())?;
    runtime.block_on(ended).ok()
}
