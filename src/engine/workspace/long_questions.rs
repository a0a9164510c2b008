//! Questions that take a language server longer than a call waits for an answer.
//!
//! The deadline ends the call, not the work: the execution goes on, later calls with the same question join it or get its retained answer.
//! Invariants: an execution goes on only after the deadline of a call, never after the departure of its client; of each language server at
//! most [`limits::LONG_QUESTIONS`] go on, each no longer than [`limits::LONG_QUESTION_MS`] and no longer than
//! [`limits::LONG_QUESTION_UNASKED_MS`] after it was asked last; none goes on whose answer would be outdated.

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::sleep_until;

use crate::limits;
use crate::query::messages::WeakExecution;
use crate::server::actor::LanguageServer;
use codeyard_base::clock::Instant;
use codeyard_model::epoch::{EpochScope, Epochs, ResultEpochs};

/// An execution that goes on.
struct LongQuestion {
    key: String,
    servers: Vec<Addr<LanguageServer>>,
    epochs: ResultEpochs,
    /// When a call asked for it last.
    asked: Instant,
    work: AbortHandle,
}

/// The executions of one workspace that go on. Clones share them.
#[derive(Clone, Default)]
pub struct LongQuestions(Arc<Mutex<Vec<LongQuestion>>>);

/// An execution that a call waits for.
#[derive(Clone)]
pub struct AwaitedExecution {
    /// The execution. The call itself keeps it alive.
    pub run: WeakExecution,
    /// The snapshot key of its answer.
    pub key: String,
    /// The language servers that it asks.
    pub servers: Vec<Addr<LanguageServer>>,
    /// The changes seen at its start, and those that make its answer outdated.
    pub epochs: ResultEpochs,
    /// When it began.
    pub began: Instant,
    /// Where it is kept. `None`: a later call couldn't find it, because nothing watches the files.
    pub questions: Option<LongQuestions>,
    /// The runtime that it goes on in.
    pub runtime: Handle,
}

/// What becomes of an execution when the deadline of a call passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    /// It goes on. It has run for this time.
    GoesOn(Duration),
    /// It ends with the call, because the language server works on as many other long questions.
    NoRoom,
    /// It ends with the call.
    Ends,
}

impl AwaitedExecution {
    /// Lets the execution go on after the deadline of a call.
    pub fn go_on(&self) -> Continuation {
        match &self.questions {
            Some(questions) => questions.add(self),
            None => Continuation::Ends,
        }
    }
}

impl LongQuestions {
    fn add(&self, execution: &AwaitedExecution) -> Continuation {
        let now = Instant::now();
        let goes_on = Continuation::GoesOn(now.saturating_duration_since(execution.began));
        let mut kept = self.0.lock();
        kept.retain(|question| !question.work.is_finished());
        if let Some(question) = kept.iter_mut().find(|question| question.key == execution.key) {
            question.asked = now;
            return goes_on;
        }
        let Some(run) = execution.run.upgrade() else { return Continuation::Ends };
        for server in &execution.servers {
            if !make_room(&mut kept, server, now) {
                return Continuation::NoRoom;
            }
        }
        let questions = self.clone();
        let key = execution.key.clone();
        let end = execution.began + Duration::from_millis(limits::LONG_QUESTION_MS);
        let work = execution.runtime.spawn(async move {
            tokio::select! {
                _ = run => {}
                () = questions.unasked(&key, end) => {}
            }
            questions.0.lock().retain(|question| question.key != key);
        });
        kept.push(LongQuestion {
            key: execution.key.clone(),
            servers: execution.servers.clone(),
            epochs: execution.epochs.clone(),
            asked: now,
            work: work.abort_handle(),
        });
        goes_on
    }

    /// Another call waits for the execution with this key.
    pub(super) fn asked(&self, key: &str) {
        if let Some(question) = self.0.lock().iter_mut().find(|question| question.key == key) {
            question.asked = Instant::now();
        }
    }

    /// Ends the executions whose answers would be outdated, because more changes than at their start have been `seen`.
    pub(super) fn end_outdated(&self, seen: impl Fn(&EpochScope) -> Epochs) {
        self.0.lock().retain(|question| {
            let is_current = question.epochs.are_current(&seen);
            if !is_current {
                question.work.abort();
            }
            is_current
        });
    }

    /// Ends all executions.
    pub(super) fn end_all(&self) {
        for question in self.0.lock().drain(..) {
            question.work.abort();
        }
    }

    /// Resolves when the execution with this key has not been asked for long enough, or at `end`.
    async fn unasked(&self, key: &str, end: Instant) {
        loop {
            let asked = self.0.lock().iter().find(|question| question.key == key).map(|question| question.asked);
            let Some(asked) = asked else { return };
            let until = (asked + Duration::from_millis(limits::LONG_QUESTION_UNASKED_MS)).min(end);
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// Whether `server` can have one more. One that nobody has asked again as advised makes room.
fn make_room(kept: &mut Vec<LongQuestion>, server: &Addr<LanguageServer>, now: Instant) -> bool {
    let of_server = |question: &&LongQuestion| question.servers.contains(server);
    if kept.iter().filter(of_server).count() < limits::LONG_QUESTIONS {
        return true;
    }
    let forgotten = Duration::from_millis(limits::LONG_QUESTION_FORGOTTEN_MS);
    let oldest = kept.iter().filter(of_server).min_by_key(|question| question.asked);
    let oldest = oldest.filter(|question| now.saturating_duration_since(question.asked) >= forgotten);
    let Some(key) = oldest.map(|question| question.key.clone()) else { return false };
    kept.retain(|question| {
        let stays = question.key != key;
        if !stays {
            question.work.abort();
        }
        stays
    });
    true
}
