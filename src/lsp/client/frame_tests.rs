//! Headers that arrive in pieces: they are read as if they had arrived at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::counters::LiveCounters;
use super::frame::{FrameBudget, FrameError, FrameReader};
use crate::limits::MAX_FRAME_HEADER_BYTES;

/// A stream of which each read gives at most `size` bytes.
struct Pieces<'b> {
    rest: &'b [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let (now, later) = self.rest.split_at(self.size.min(into.remaining()).min(self.rest.len()));
        into.put_slice(now);
        self.rest = later;
        Poll::Ready(Ok(()))
    }
}

/// The bodies of a stream, and why reading ended.
async fn read(bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let pieces = Pieces { rest: bytes, size };
    let mut frames = FrameReader::new(pieces, &FrameBudget::default(), Arc::new(LiveCounters::new()));
    let mut bodies = Vec::new();
    loop {
        match frames.next().await {
            Ok(Some(frame)) => bodies.push(frame.to_vec()),
            Ok(None) => return (bodies, None),
            Err(error) => return (bodies, Some(error)),
        }
    }
}

#[tokio::test]
async fn headers_in_pieces_are_read_as_if_they_had_arrived_at_once() {
    let name = |length: usize| "n".repeat(length);
    let long_value = format!("X: {}: \\", "y".repeat(MAX_FRAME_HEADER_BYTES));
    let (at_limit, over_limit) = (name(MAX_FRAME_HEADER_BYTES - 1), name(MAX_FRAME_HEADER_BYTES));
    let ends_with_garbage = format!("{}\\", name(MAX_FRAME_HEADER_BYTES - 1));
    let garbage_behind = format!("{}\\", name(MAX_FRAME_HEADER_BYTES));
    let cases = [
        ("Content-Length: 2\r\nX: \\ \r y\r\n\r\n{}Content-Length: 0\n\n", 2, None),
        ("Content-Length\r: 2\r\n\r\n{}", 0, Some(FrameError::Garbage)),
        ("Content-Length\rx", 0, Some(FrameError::Garbage)),
        ("Content-Length\r", 0, Some(FrameError::Truncated)),
        ("X: y\r\nContent Length", 0, Some(FrameError::Garbage)),
        ("X: y\r\nContent-Length", 0, Some(FrameError::Truncated)),
        ("no\\header", 0, Some(FrameError::Garbage)),
        (&long_value, 0, Some(FrameError::HeaderTooLong)),
        (&at_limit, 0, Some(FrameError::Truncated)),
        (&over_limit, 0, Some(FrameError::HeaderTooLong)),
        (&ends_with_garbage, 0, Some(FrameError::Garbage)),
        (&garbage_behind, 0, Some(FrameError::HeaderTooLong)),
    ];
    for (text, bodies, error) in cases {
        for size in [1, 2, 3, 7, 4_096, usize::MAX] {
            let (read, found) = read(text.as_bytes(), size).await;
            assert_eq!((read.len(), found), (bodies, error), "{text:.60} in pieces of {size}");
        }
    }
}
