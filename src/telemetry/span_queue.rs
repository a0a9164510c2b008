//! The queue of calls that become spans.
//!
//! Invariants: adding never waits; the queue holds a bounded number of spans and bytes, and what comes beyond is dropped and counted; its
//! reader is woken once for a whole batch, not for each call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use opentelemetry::trace::{SpanContext, TraceId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::SpanSink;
use super::call_trace::{CallTrace, ChildSpan};
use super::losses::Losses;
use super::sampler::Sampler;
use super::settings::Batch;
use super::work_span::EndedWork;

/// Bytes of the spans in the queue, whatever the environment sets. Further spans are dropped and counted.
const MAX_SPAN_QUEUE_BYTES: usize = 64 * 1024 * 1024;

pub(super) enum QueuedCall {
    /// A call that has ended, with its children.
    Ended(CallTrace),
    /// A child that ended after its call.
    LateChild(CallTrace, ChildSpan),
    Work(Box<EndedWork>),
}

/// A bounded queue, and the sampler that decides what gets into it.
pub(super) struct SpanQueue {
    sampler: Sampler,
    batch: Batch,
    losses: Arc<Losses>,
    waiting: Mutex<Inner>,
    full: Notify,
}

#[derive(Clone, Copy)]
struct ItemSize {
    spans: usize,
    bytes: usize,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<(QueuedCall, ItemSize)>,
    spans: usize,
    bytes: usize,
    closed: bool,
}

impl SpanQueue {
    pub(super) fn new(sampler: Sampler, batch: Batch, losses: Arc<Losses>) -> Self {
        Self { sampler, batch, losses, waiting: Mutex::default(), full: Notify::new() }
    }

    fn push(&self, item: QueuedCall, size: ItemSize) {
        let ItemSize { spans, bytes } = size;
        let mut inner = self.waiting.lock();
        let is_full = inner.spans + spans > self.batch.queue || inner.bytes + bytes > MAX_SPAN_QUEUE_BYTES;
        if inner.closed || is_full {
            drop(inner);
            self.losses.spans.fetch_add(spans as u64, Relaxed);
            return;
        }
        let before = inner.spans;
        inner.spans += spans;
        inner.bytes += bytes;
        inner.items.push_back((item, size));
        let is_due = before < self.batch.size && inner.spans >= self.batch.size;
        drop(inner);
        if is_due {
            self.full.notify_one();
        }
    }

    /// Waits until there is a batch.
    pub(super) async fn filled(&self) {
        if self.len() < self.batch.size {
            self.full.notified().await;
        }
    }

    /// Takes about one batch, at least one item if there is any, and returns it with the number of its spans.
    pub(super) fn take(&self) -> (Vec<QueuedCall>, usize) {
        let mut inner = self.waiting.lock();
        let mut taken = Vec::new();
        let mut spans = 0;
        while spans < self.batch.size
            && let Some((item, size)) = inner.items.pop_front()
        {
            spans += size.spans;
            inner.bytes -= size.bytes;
            taken.push(item);
        }
        inner.spans -= spans;
        (taken, spans)
    }

    /// Refuses further items. The rest is counted as dropped.
    pub(super) fn close(&self) {
        let mut inner = self.waiting.lock();
        inner.closed = true;
        self.losses.spans.fetch_add(inner.spans as u64, Relaxed);
        inner.items.clear();
        (inner.spans, inner.bytes) = (0, 0);
    }

    /// The number of spans in the queue.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().spans
    }
}

impl SpanSink for SpanQueue {
    fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> bool {
        self.sampler.samples(parent, trace)
    }

    fn call(&self, call: &CallTrace) {
        let spans = 1 + call.read(|finished| finished.children.len());
        self.push(QueuedCall::Ended(call.clone()), ItemSize { spans, bytes: held_bytes(call) });
    }

    fn work(&self, ended: EndedWork) {
        let bytes = size_of::<(QueuedCall, ItemSize)>() + size_of::<EndedWork>() + ended.held_bytes();
        self.push(QueuedCall::Work(Box::new(ended)), ItemSize { spans: 1, bytes });
    }

    fn child_dropped(&self) {
        self.losses.spans.fetch_add(1, Relaxed);
    }

    fn child(&self, call: &CallTrace, child: ChildSpan) {
        // The item may be the last owner of its call.
        self.push(QueuedCall::LateChild(call.clone(), child), ItemSize { spans: 1, bytes: held_bytes(call) });
    }
}

fn held_bytes(call: &CallTrace) -> usize {
    size_of::<(QueuedCall, ItemSize)>() + call.held_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_trace::samples::call_of;
    use crate::limits::MAX_SPAN_QUEUE;

    #[test]
    fn the_queue_is_bounded_in_bytes_whatever_the_environment_asks_for() {
        let losses = Arc::new(Losses::default());
        let batch = Batch { queue: MAX_SPAN_QUEUE, ..Batch::default() };
        let queue = SpanQueue::new(Sampler::default(), batch, losses.clone());
        let call = call_of(64 * 1024);
        while losses.spans_dropped() == 0 {
            queue.call(&call);
            assert!(queue.waiting.lock().bytes <= MAX_SPAN_QUEUE_BYTES);
        }
        let most = MAX_SPAN_QUEUE_BYTES / (64 * 1024);
        assert!(queue.len() <= most && queue.len() > most / 2, "{}", queue.len());
        while !queue.take().0.is_empty() {}
        assert_eq!((queue.len(), queue.waiting.lock().bytes), (0, 0));
        queue.call(&call);
        assert_eq!(queue.len(), 1, "there is room again");
    }
}
