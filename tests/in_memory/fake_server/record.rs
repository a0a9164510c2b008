//! Records the messages that fake servers received.

use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Kind of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request of the client.
    Request,
    /// A notification of the client, `$/cancelRequest` included.
    Notification,
    /// The client's answer to a request of the server; `params` is the whole message.
    Answer,
}

/// One message.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Number of the launch that received it, from 0.
    pub launch: usize,
    pub kind: Kind,
    /// Method; for an answer, that of its request.
    pub method: String,
    pub id: Option<Value>,
    /// `Null` when there are none.
    pub params: Value,
    /// Whether the message had params at all.
    pub has_params: bool,
    pub at: Instant,
}

/// All messages, in the order of arrival.
#[derive(Default)]
pub(crate) struct Record {
    seen: Mutex<Vec<Seen>>,
    changed: Notify,
}

impl Record {
    pub(super) fn add(&self, seen: Seen) {
        self.seen.lock().push(seen);
        self.changed.notify_waiters();
    }

    /// All messages.
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// The methods of all requests and notifications, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let seen = self.seen.lock();
        seen.iter().filter(|seen| seen.kind != Kind::Answer).map(|seen| seen.method.clone()).collect()
    }

    /// Number of messages with `method`, without answers.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.seen.lock().iter().filter(|seen| seen.kind != Kind::Answer && seen.method == method).count()
    }

    /// Params of every message with `method`, in order.
    pub(crate) fn params(&self, method: &str) -> Vec<Value> {
        let seen = self.seen.lock();
        let fits = |seen: &&Seen| seen.kind != Kind::Answer && seen.method == method;
        seen.iter().filter(fits).map(|seen| seen.params.clone()).collect()
    }

    /// The client's answers to the server's `method`: whole messages.
    pub(crate) fn answers(&self, method: &str) -> Vec<Value> {
        let seen = self.seen.lock();
        let fits = |seen: &&Seen| seen.kind == Kind::Answer && seen.method == method;
        seen.iter().filter(fits).map(|seen| seen.params.clone()).collect()
    }

    /// The methods of the requests that were cancelled, in the order of the cancellations.
    pub(crate) fn cancelled(&self) -> Vec<String> {
        let seen = self.seen.lock();
        let cancels = seen.iter().filter(|seen| seen.method == "$/cancelRequest");
        let of = |cancel: &Seen| {
            let same = |seen: &&Seen| {
                seen.kind == Kind::Request
                    && seen.launch == cancel.launch
                    && seen.id.as_ref() == Some(&cancel.params["id"])
            };
            seen.iter().find(same).map_or("?".to_owned(), |seen| seen.method.clone())
        };
        cancels.map(of).collect()
    }

    /// Waits until `method` was received `count` times. Fails after one hour, which passes at once on paused time when nothing else runs.
    pub(crate) async fn wait_for(&self, method: &str, count: usize) {
        self.wait_until(&format!("{method} {count} times"), |record| record.count(method) >= count).await;
    }

    /// Waits until the client answered the server's `method` `count` times.
    pub(crate) async fn wait_for_answers(&self, method: &str, count: usize) {
        self.wait_until(&format!("{count} answers to {method}"), |record| record.answers(method).len() >= count).await;
    }

    /// Waits until `condition` holds; checks it after each message.
    pub(crate) async fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                let mut changed = std::pin::pin!(changed);
                changed.as_mut().enable();
                if condition(self) {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(3600), wait).await.is_err() {
            panic!("never happened: {what}; the server received {:?}", self.methods());
        }
    }
}
