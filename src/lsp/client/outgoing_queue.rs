//! The queue of frames to one server, and the task that writes them.
//!
//! It neither builds nor interprets frames. Invariants: one task writes the frames, whole and in order; the queue is
//! bounded in messages and bytes; a request that was dropped before it was written is never written.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::counters::LiveCounters;
use super::frame::{EncodedFrame, count_written};
use super::pending_requests::PendingRequests;
use crate::limits;

/// Answers to the requests of one language server that may wait to be written, in bytes. One answer alone may be larger.
const MAX_ANSWER_QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// Small frames are written together, up to this many bytes.
const BATCH_BYTES: usize = 16 * 1024;

/// Places that an empty queue keeps.
const KEPT_CAPACITY: usize = 64;

/// Which share of the queue a frame may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueShare {
    /// Our own messages.
    Client,
    /// Responses to the server. They have room of their own, so that our messages don't keep them out, and a server that
    /// makes requests and reads nothing can't fill ours.
    Responses,
}

/// The queue is full: the server doesn't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutgoingQueueFull;

struct QueuedFrame {
    frame: EncodedFrame,
    /// Set for a request of ours.
    id: Option<u64>,
    share: QueueShare,
}

#[derive(Default)]
struct FrameQueue {
    items: VecDeque<QueuedFrame>,
    /// Frames of our messages, and of responses.
    frames: [usize; 2],
    bytes: [usize; 2],
}

/// The frames that wait to be written.
#[derive(Default)]
pub(super) struct OutgoingQueue {
    queue: Mutex<FrameQueue>,
    filled: Notify,
}

impl OutgoingQueue {
    /// Appends a frame.
    pub(super) fn push(
        &self,
        frame: EncodedFrame,
        id: Option<u64>,
        share: QueueShare,
    ) -> Result<(), OutgoingQueueFull> {
        let most = match share {
            QueueShare::Client => limits::MAX_OUTGOING_QUEUE_BYTES,
            QueueShare::Responses => MAX_ANSWER_QUEUE_BYTES,
        };
        let size = frame.as_bytes().len();
        let mut queue = self.queue.lock();
        let frames = queue.frames[share as usize];
        let queued = queue.bytes[share as usize];
        if frames >= limits::MAX_OUTGOING_QUEUE || queued > 0 && queued + size > most {
            return Err(OutgoingQueueFull);
        }
        queue.frames[share as usize] += 1;
        queue.bytes[share as usize] += size;
        queue.items.push_back(QueuedFrame { frame, id, share });
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    /// The number of waiting frames.
    pub(super) fn len(&self) -> usize {
        self.queue.lock().items.len()
    }

    fn pop(&self, at_most: usize) -> Option<QueuedFrame> {
        let mut queue = self.queue.lock();
        if queue.items.front()?.frame.as_bytes().len() > at_most {
            return None;
        }
        let item = queue.items.pop_front()?;
        queue.frames[item.share as usize] -= 1;
        queue.bytes[item.share as usize] -= item.frame.as_bytes().len();
        if queue.items.is_empty() {
            // A flood must not leave its capacity behind.
            queue.items.shrink_to(KEPT_CAPACITY);
        }
        Some(item)
    }

    /// The next frame that is still needed; waits for one.
    async fn next(&self, pending: &PendingRequests) -> QueuedFrame {
        loop {
            match self.pop(usize::MAX) {
                Some(item) if is_needed(&item, pending) => return item,
                Some(_) => {}
                None => self.filled.notified().await,
            }
        }
    }
}

/// Whether the frame must be written. From here on a request counts as written.
fn is_needed(item: &QueuedFrame, pending: &PendingRequests) -> bool {
    item.id.is_none_or(|id| pending.mark_written(id))
}

/// Writes frames until writing fails. Returns the failure.
pub(super) async fn write_frames<W: AsyncWrite + Unpin>(
    mut writer: W,
    outgoing: Arc<OutgoingQueue>,
    pending: Arc<PendingRequests>,
    counters: Arc<LiveCounters>,
) -> std::io::Error {
    let mut batch = Vec::with_capacity(BATCH_BYTES);
    loop {
        let first = outgoing.next(&pending).await;
        let mut frames = 1;
        batch.clear();
        let size = first.frame.as_bytes().len();
        let written = if size > BATCH_BYTES || outgoing.len() == 0 {
            write(&mut writer, first.frame.as_bytes()).await.map(|()| size)
        } else {
            batch.extend_from_slice(first.frame.as_bytes());
            while let Some(item) = outgoing.pop(BATCH_BYTES - batch.len()) {
                if is_needed(&item, &pending) {
                    batch.extend_from_slice(item.frame.as_bytes());
                    frames += 1;
                }
            }
            write(&mut writer, &batch).await.map(|()| batch.len())
        };
        match written {
            Ok(bytes) => count_written(&counters, bytes, frames),
            Err(error) => return error,
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, bytes: &[u8]) -> std::io::Result<()> {
    writer.write_all(bytes).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> EncodedFrame {
        let written: Result<_, std::convert::Infallible> = EncodedFrame::build(|bytes| {
            bytes.extend_from_slice(b"{}");
            Ok(())
        });
        written.unwrap()
    }

    #[test]
    fn responses_leave_our_messages_their_share_and_ours_leave_theirs() {
        for (first, second) in
            [(QueueShare::Responses, QueueShare::Client), (QueueShare::Client, QueueShare::Responses)]
        {
            let queue = OutgoingQueue::default();
            while queue.push(frame(), None, first).is_ok() {}
            assert_eq!(queue.len(), limits::MAX_OUTGOING_QUEUE);
            for _ in 0..limits::MAX_OUTGOING_QUEUE {
                queue.push(frame(), None, second).unwrap();
            }
            assert_eq!(queue.push(frame(), None, second), Err(OutgoingQueueFull));
            queue.pop(usize::MAX).unwrap();
            queue.push(frame(), None, first).unwrap();
        }
    }
}
