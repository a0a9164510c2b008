//! Calls that wait to become spans.
//!
//! Invariants: it never waits; it holds at most so many spans and bytes, and what comes beyond is dropped and counted; its reader is
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
use crate::limits;

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

/// What one item counts for.
#[derive(Clone, Copy)]
struct Weight {
    spans: usize,
    bytes: usize,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<(Waiting, Weight)>,
    spans: usize,
    bytes: usize,
    closed: bool,
}

impl SpanQueue {
    pub(super) fn new(sampler: Sampler, batch: Batch, losses: Arc<Losses>) -> Self {
        Self { sampler, batch, losses, waiting: Mutex::default(), full: Notify::new() }
    }

    fn push(&self, item: Waiting, weight: Weight) {
        let Weight { spans, bytes } = weight;
        let mut inner = self.waiting.lock();
        let is_full = inner.spans + spans > self.batch.queue || inner.bytes + bytes > limits::MAX_SPAN_QUEUE_BYTES;
        if inner.closed || is_full {
            drop(inner);
            self.losses.spans.fetch_add(spans as u64, Relaxed);
            return;
        }
        let before = inner.spans;
        inner.spans += spans;
        inner.bytes += bytes;
        inner.items.push_back((item, weight));
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
            spans += weight.spans;
            inner.bytes -= weight.bytes;
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
        (inner.spans, inner.bytes) = (0, 0);
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
        self.push(Waiting::Call(call.clone()), Weight { spans, bytes: held_bytes(call) });
    }

    fn child_dropped(&self) {
        self.losses.spans.fetch_add(1, Relaxed);
    }

    fn child(&self, call: &CallTrace, child: ChildSpan) {
        // It may be the last to hold its call.
        self.push(Waiting::Child(call.clone(), child), Weight { spans: 1, bytes: held_bytes(call) });
    }
}

fn held_bytes(call: &CallTrace) -> usize {
    size_of::<(Waiting, Weight)>() + call.held_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_trace::samples::call_of;

    #[test]
    fn what_waits_is_bounded_in_bytes_whatever_the_environment_asks_for() {
        let losses = Arc::new(Losses::default());
        let batch = Batch { queue: limits::MAX_SPAN_QUEUE, ..Batch::default() };
        let queue = SpanQueue::new(Sampler::default(), batch, losses.clone());
        let call = call_of(64 * 1024);
        while losses.spans_dropped() == 0 {
            queue.call(&call);
            assert!(queue.waiting.lock().bytes <= limits::MAX_SPAN_QUEUE_BYTES);
        }
        let most = limits::MAX_SPAN_QUEUE_BYTES / (64 * 1024);
        assert!(queue.len() <= most && queue.len() > most / 2, "{}", queue.len());
        while !queue.take().0.is_empty() {}
        assert_eq!((queue.len(), queue.waiting.lock().bytes), (0, 0));
        queue.call(&call);
        assert_eq!(queue.len(), 1, "there is room again");
    }
}
