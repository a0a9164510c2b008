//! A socket for hyper with a write timeout and a lingering close.
//!
//! Invariants: a write without progress fails after its timeout; after our side is shut down, the client's remaining bytes are
//! read and discarded within bounds, so that a TCP reset doesn't destroy the answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::limits::HTTP_LINGER_BYTES;

/// Longest time for that, in milliseconds.
const HTTP_LINGER_MS: u64 = 1_000;

/// A socket with a write timeout and a lingering close.
pub struct HttpSocket<S> {
    io: TokioIo<S>,
    write_timeout: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    linger: Option<Linger>,
}

struct Linger {
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl<S> HttpSocket<S> {
    /// Wraps `stream`. A write without progress fails after `write_timeout`.
    pub fn new(stream: S, write_timeout: Duration) -> Self {
        Self { io: TokioIo::new(stream), write_timeout, stalled: None, linger: None }
    }

    fn with_timeout(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
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
    /// Ready when the client has closed its side, or a bound is reached.
    fn poll<S: AsyncRead + Unpin>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<()> {
        let mut discarded = [0_u8; 8 * 1024];
        while self.until.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut discarded);
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

impl<S: AsyncRead + Unpin> Read for HttpSocket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for HttpSocket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.with_timeout(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.with_timeout(cx, written)
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
