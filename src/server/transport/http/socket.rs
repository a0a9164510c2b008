//! A connection that neither waits for ever on a client that doesn't read, nor cuts an answer short.
//!
//! Invariants: a write that makes no progress for its timeout fails; after our side is closed, what the client still
//! sends is read and thrown away, within bounds, so that the answer isn't lost to a reset.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::limits::{HTTP_LINGER_BYTES, HTTP_LINGER_MS};

/// A connection with a clock on its writes.
pub struct Socket<S> {
    io: TokioIo<S>,
    write_timeout: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    linger: Option<Linger>,
}

struct Linger {
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl<S> Socket<S> {
    /// Wraps `stream`.
    pub fn new(stream: S, write_timeout: Duration) -> Self {
        Self { io: TokioIo::new(stream), write_timeout, stalled: None, linger: None }
    }

    fn timed(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Linger {
    /// Ready when the client is done, or the patience is.
    fn poll<S: AsyncRead + Unpin>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0_u8; 8 * 1024];
        while self.until.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut space);
            let read = ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer));
            let count = buffer.filled().len();
            if read.is_err() || count == 0 || count >= self.left {
                break;
            }
            self.left -= count;
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> Read for Socket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.timed(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.timed(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.io).poll_shutdown(cx))?;
        }
        let linger = this.linger.get_or_insert_with(|| Linger {
            left: HTTP_LINGER_BYTES,
            until: Box::pin(sleep(Duration::from_millis(HTTP_LINGER_MS))),
        });
        linger.poll(this.io.inner_mut(), cx).map(Ok)
    }
}
