//! Calls that wait to become spans.
//!
//! Invariants: it never waits; it holds at most so many spans, and what comes beyond is dropped and counted; its reader is
//! woken once for a whole batch, not for each call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use opentelemetry::trace::{SpanContext, TraceId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Spans;
use super::call_trace::{CallTrace, ChildSpan};
use super::export::Losses;
use super::sampler::Sampler;
use super::settings::Batch;

/// One thing that becomes spans.
pub(super) enum Waiting {
    /// A call with all that is below it.
    Call(CallTrace),
    /// A child that ended after its call.
    Child(CallTrace, ChildSpan),
}

/// See the module.
pub(super) struct SpanQueue {
    sampler: Sampler,
    batch: Batch,
    losses: Arc<Losses>,
    waiting: Mutex<Inner>,
    full: Notify,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<(Waiting, usize)>,
    spans: usize,
    closed: bool,
}

impl SpanQueue {
    pub(super) fn new(sampler: Sampler, batch: Batch, losses: Arc<Losses>) -> Self {
        Self { sampler, batch, losses, waiting: Mutex::default(), full: Notify::new() }
    }

    fn push(&self, item: Waiting, spans: usize) {
        let mut inner = self.waiting.lock();
        if inner.closed || inner.spans + spans > self.batch.queue {
            drop(inner);
            self.losses.spans.fetch_add(spans as u64, Relaxed);
            return;
        }
        let before = inner.spans;
        inner.spans += spans;
        inner.items.push_back((item, spans));
        let is_due = before < self.batch.size && inner.spans >= self.batch.size;
        drop(inner);
        if is_due {
            self.full.notify_one();
        }
    }

    /// Until there is a batch.
    pub(super) async fn filled(&self) {
        if self.len() < self.batch.size {
            self.full.notified().await;
        }
    }

    /// Takes about one batch, at least one item if there is any; with the number of its spans.
    pub(super) fn take(&self) -> (Vec<Waiting>, usize) {
        let mut inner = self.waiting.lock();
        let (mut taken, mut spans) = (Vec::new(), 0);
        while spans < self.batch.size
            && let Some((item, weight)) = inner.items.pop_front()
        {
            spans += weight;
            taken.push(item);
        }
        inner.spans -= spans;
        (taken, spans)
    }

    /// Takes nothing more; what is left is counted as dropped.
    pub(super) fn close(&self) {
        let mut inner = self.waiting.lock();
        inner.closed = true;
        self.losses.spans.fetch_add(inner.spans as u64, Relaxed);
        inner.items.clear();
        inner.spans = 0;
    }

    /// Spans that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().spans
    }
}

impl Spans for SpanQueue {
    fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> bool {
        self.sampler.samples(parent, trace)
    }

    fn call(&self, call: &CallTrace) {
        let spans = 1 + call.read(|finished| finished.children.len());
        self.push(Waiting::Call(call.clone()), spans);
    }

    fn child_dropped(&self) {
        self.losses.spans.fetch_add(1, Relaxed);
    }

    fn child(&self, call: &CallTrace, child: ChildSpan) {
        self.push(Waiting::Child(call.clone(), child), 1);
    }
}
