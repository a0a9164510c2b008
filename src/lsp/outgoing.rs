//! The queue of frames to one server, and the task that writes them.
//!
//! It neither builds nor understands frames. Invariants: frames are written whole, one after the other, by one task; the
//! queue is bounded in messages and bytes; a request dropped before it was written is never written.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::frame::{Encoded, count_written};
use super::meter::Meter;
use super::pending::Pending;
use crate::limits;

/// Small frames are written together up to this many bytes.
const BATCH_BYTES: usize = 16 * 1024;

/// Who waits for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Our own messages.
    Ours,
    /// Answers to the server, for which as much room again is kept: a full queue must not eat them.
    Answers,
}

/// The queue is full: the server doesn't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

struct Item {
    frame: Encoded,
    /// Set for a request of ours.
    id: Option<u64>,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
}

/// The queue.
#[derive(Default)]
pub(super) struct Outgoing {
    queue: Mutex<Queue>,
    filled: Notify,
}

impl Outgoing {
    /// Puts a frame at the end.
    pub(super) fn push(&self, frame: Encoded, id: Option<u64>, lane: Lane) -> Result<(), Full> {
        let share = if lane == Lane::Answers { 2 } else { 1 };
        let size = frame.as_bytes().len();
        let mut queue = self.queue.lock();
        let too_many = queue.items.len() >= limits::MAX_OUTGOING_QUEUE * share;
        let too_large = !queue.items.is_empty() && queue.bytes + size > limits::MAX_OUTGOING_QUEUE_BYTES * share;
        if too_many || too_large {
            return Err(Full);
        }
        queue.bytes += size;
        queue.items.push_back(Item { frame, id });
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    /// Frames that wait.
    pub(super) fn len(&self) -> usize {
        self.queue.lock().items.len()
    }

    fn pop(&self, at_most: usize) -> Option<Item> {
        let mut queue = self.queue.lock();
        if queue.items.front()?.frame.as_bytes().len() > at_most {
            return None;
        }
        let item = queue.items.pop_front()?;
        queue.bytes -= item.frame.as_bytes().len();
        Some(item)
    }

    /// The next frame that is still wanted; waits for one.
    async fn next(&self, pending: &Pending) -> Item {
        loop {
            match self.pop(usize::MAX) {
                Some(item) if wanted(&item, pending) => return item,
                Some(_) => {}
                None => self.filled.notified().await,
            }
        }
    }
}

/// Whether the frame must be written; a request counts as written from here on.
fn wanted(item: &Item, pending: &Pending) -> bool {
    item.id.is_none_or(|id| pending.mark_written(id))
}

/// Writes frames until writing fails; the failure is returned.
pub(super) async fn write_frames<W: AsyncWrite + Unpin>(
    mut writer: W,
    outgoing: Arc<Outgoing>,
    pending: Arc<Pending>,
    meter: Arc<Meter>,
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
                if wanted(&item, &pending) {
                    batch.extend_from_slice(item.frame.as_bytes());
                    frames += 1;
                }
            }
            write(&mut writer, &batch).await.map(|()| batch.len())
        };
        match written {
            Ok(bytes) => count_written(&meter, bytes, frames),
            Err(error) => return error,
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, bytes: &[u8]) -> std::io::Result<()> {
    writer.write_all(bytes).await?;
    writer.flush().await
}
