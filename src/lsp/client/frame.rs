//! Frames of the LSP base protocol: a header block with `Content-Length`, then that many bytes.
//!
//! This module knows nothing of JSON. The reader treats its input as hostile: every fault is a typed [`FrameError`],
//! and after one the stream is not read again. Text that a server prints between two frames is skipped. Invariants: that text is
//! at most `MAX_STRAY_TEXT_BYTES`; a header block is at most 8 KiB; a body is at most `MAX_FRAME_BYTES`; the memory of a body
//! grows with the bytes that arrived, not with the announced length; a body
//! larger than the read buffer is admitted by the [`FrameBudget`], which all connections share, before it is read. While
//! it waits for that, nothing is read, so the server is slowed down and not blamed. A server that holds room which others
//! wait for, and makes no progress, is.
//!
//! The frame readers of `lsp-server` and `async-lsp` are not used: they allocate the announced length at once, without
//! a limit, a shared budget or a time limit.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::counters::{LiveCounters, increment};
pub use super::frame_budget::FrameBudget;
use super::frame_budget::{BudgetMember, FramePermit};
use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;

pub(super) mod stray_text;

/// Why reading a stream of frames failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FrameError {
    /// Bytes that are not a header stand where a header must start: in a header block, or more printed text than is skipped.
    #[error("found bytes that are not a header where a header was expected")]
    Garbage,
    /// The header block is longer than 8 KiB.
    #[error("the header block is too long")]
    HeaderTooLong,
    /// The header block has no `Content-Length`.
    #[error("the header block has no content-length")]
    LengthMissing,
    /// The header block has two `Content-Length` headers.
    #[error("the header block has two content-lengths")]
    LengthRepeated,
    /// The length is not a decimal number.
    #[error("content-length is not a number")]
    LengthInvalid,
    /// The length exceeds the largest frame.
    #[error("the frame is larger than the limit")]
    TooLarge,
    /// The stream ended inside a frame.
    #[error("the output ended inside a frame")]
    Truncated,
    /// The budget of all frames in flight had no room for this one in time, or there was no memory. In the first case
    /// the frame is skipped, and the connection goes on.
    #[error("the memory budget for frames in flight is exhausted")]
    NoRoom,
    /// A large frame was not complete in time, or made no progress while others waited for its room.
    #[error("the frame was not complete in time")]
    Stalled,
    #[error("reading failed: {0}")]
    Io(io::ErrorKind),
}

/// One complete body.
#[derive(Debug)]
pub(super) enum Frame<'a> {
    /// Still in the read buffer.
    Small(&'a [u8]),
    /// In its own memory, with its part of the budget.
    Large(Vec<u8>, Option<FramePermit>),
    /// There was no room for it in time. It was read and not kept.
    Skipped,
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Frame::Small(body) => body,
            Frame::Large(body, _) => body,
            Frame::Skipped => &[],
        }
    }
}

impl Frame<'_> {
    /// Takes the part of the budget out, so that it can live as long as what was parsed from the frame.
    pub(super) fn take_permit(&mut self) -> Option<FramePermit> {
        match self {
            Frame::Small(_) | Frame::Skipped => None,
            Frame::Large(_, permit) => permit.take(),
        }
    }
}

/// Splits a byte stream into frames.
pub(super) struct FrameReader<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    member: BudgetMember,
    counters: Arc<LiveCounters>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(reader: R, budget: &FrameBudget, counters: Arc<LiveCounters>) -> Self {
        let buffer = vec![0; limits::FRAME_BUFFER_BYTES].into_boxed_slice();
        Self { reader, buffer, start: 0, end: 0, member: budget.join(), counters }
    }

    /// The next frame, or `None` when the stream ended between two frames.
    pub(super) async fn next(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        if !self.skip_stray_text().await? {
            return Ok(None);
        }
        let length = self.read_header().await?;
        if length > limits::MAX_FRAME_BYTES && !seeded_faults::is_on("frame_of_any_length") {
            return Err(FrameError::TooLarge);
        }
        if length > self.buffer.len() {
            let permit = self.member.admit(length, &self.counters).await;
            // The wait for room is not the server's time.
            let limit = Duration::from_millis(limits::FRAME_TIME_LIMIT_MS);
            let read = tokio::time::timeout(limit, self.read_or_skip(length, permit));
            let frame = read.await.map_err(|_| FrameError::Stalled)??;
            increment(&self.counters.frames_read);
            return Ok(Some(frame));
        }
        self.make_room(length);
        while self.end - self.start < length {
            if self.fill().await? == 0 {
                return Err(FrameError::Truncated);
            }
        }
        increment(&self.counters.frames_read);
        let body = self.start..self.start + length;
        self.start = body.end;
        Ok(Some(Frame::Small(&self.buffer[body])))
    }

    /// Skips text up to the next header block. Returns whether one comes before the end of the stream.
    async fn skip_stray_text(&mut self) -> Result<bool, FrameError> {
        let mut skipped = 0;
        let mut is_line_start = true;
        let mut is_end = false;
        loop {
            let text = &self.buffer[self.start..self.end];
            let found = stray_text::find_header(text, is_line_start);
            if is_end && found.is_none() && stray_text::ends_in_header(text, is_line_start) {
                return Err(FrameError::Truncated);
            }
            let undecided = if is_end { 0 } else { stray_text::UNDECIDED_BYTES };
            let stray = found.unwrap_or(text.len().saturating_sub(undecided));
            is_line_start = text[..stray].last().map_or(is_line_start, |&last| last == b'\n');
            self.start += stray;
            self.counters.stray_bytes.fetch_add(stray as u64, Relaxed);
            skipped += stray;
            if skipped > limits::MAX_STRAY_TEXT_BYTES {
                return Err(FrameError::Garbage);
            }
            if found.is_some() || is_end {
                return Ok(found.is_some());
            }
            self.make_room(limits::MAX_FRAME_HEADER_BYTES);
            is_end = self.fill().await? == 0;
        }
    }

    /// Reads a header block. Returns the announced length.
    async fn read_header(&mut self) -> Result<usize, FrameError> {
        let mut line = 0;
        let mut seen = 0;
        let mut length = None;
        // Whether the unfinished line has its colon.
        let mut is_named = false;
        self.make_room(limits::MAX_FRAME_HEADER_BYTES);
        loop {
            let fresh = &self.buffer[self.start + seen..self.end];
            let Some(at) = fresh.iter().position(|&byte| byte == b'\n') else {
                // Only what is new, and the byte before it again: a `\r` may be the last one only.
                let from = line.max(seen.saturating_sub(1));
                seen = self.end - self.start;
                if !is_named {
                    let fresh = self.header_line_so_far(from, seen);
                    check_header_start(fresh)?;
                    is_named = fresh.contains(&b':');
                }
                if seen >= limits::MAX_FRAME_HEADER_BYTES {
                    return Err(FrameError::HeaderTooLong);
                }
                if self.fill().await? == 0 {
                    return Err(FrameError::Truncated);
                }
                continue;
            };
            let end = seen + at;
            if end >= limits::MAX_FRAME_HEADER_BYTES {
                // The same error as if the line had arrived in pieces.
                check_header_start(self.header_line_so_far(line, end))?;
                return Err(FrameError::HeaderTooLong);
            }
            let text = &self.buffer[self.start + line..self.start + end];
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            (line, seen, is_named) = (end + 1, end + 1, false);
            if text.is_empty() {
                self.start += line;
                return length.ok_or(FrameError::LengthMissing);
            }
            if let Some(found) = header_line(text)?
                && length.replace(found).is_some()
            {
                return Err(FrameError::LengthRepeated);
            }
        }
    }

    /// The bytes of an unfinished header line from `from` to `end`, as far as a header block may reach. Both count from its beginning.
    fn header_line_so_far(&self, from: usize, end: usize) -> &[u8] {
        &self.buffer[self.start + from..self.start + end.min(limits::MAX_FRAME_HEADER_BYTES)]
    }

    async fn read_or_skip<'a>(&mut self, length: usize, permit: Option<FramePermit>) -> Result<Frame<'a>, FrameError> {
        match permit {
            Some(mut permit) => {
                let body = self.read_large_body(length, &mut permit).await?;
                Ok(Frame::Large(body, Some(permit)))
            }
            None => self.skip(length).await.map(|()| Frame::Skipped),
        }
    }

    /// Reads a body that doesn't fit into the buffer. Its memory doubles as bytes arrive.
    async fn read_large_body(&mut self, length: usize, permit: &mut FramePermit) -> Result<Vec<u8>, FrameError> {
        let mut body = Vec::new();
        let have = self.end - self.start;
        reserve(&mut body, limits::FRAME_BUFFER_BYTES.min(length))?;
        permit.set_allocated(body.capacity());
        body.extend_from_slice(&self.buffer[self.start..self.end][..have.min(length)]);
        (self.start, self.end) = (0, 0);
        let mut progress = FrameProgress::new();
        while body.len() < length {
            if body.len() == body.capacity() {
                let more = body.len().min(length - body.len());
                reserve(&mut body, more)?;
                permit.set_allocated(body.capacity());
            }
            let room = (body.capacity() - body.len()).min(length - body.len());
            let interval = Duration::from_millis(limits::FRAME_PROGRESS_MS);
            let mut limited = (&mut body).limit(room);
            let got = match tokio::time::timeout(interval, self.reader.read_buf(&mut limited)).await {
                Ok(got) => got.map_err(io_error)?,
                Err(_) if self.member.is_awaited() => return Err(FrameError::Stalled),
                Err(_) => continue,
            };
            if got == 0 {
                return Err(FrameError::Truncated);
            }
            self.counters.received(got);
            if progress.is_too_slow(got) && self.member.is_awaited() {
                return Err(FrameError::Stalled);
            }
        }
        Ok(body)
    }

    /// Reads a body without keeping it.
    async fn skip(&mut self, length: usize) -> Result<(), FrameError> {
        let mut left = length;
        loop {
            let buffered = left.min(self.end - self.start);
            self.start += buffered;
            left -= buffered;
            if left == 0 {
                return Ok(());
            }
            (self.start, self.end) = (0, 0);
            if self.fill().await? == 0 {
                return Err(FrameError::Truncated);
            }
        }
    }

    /// Reads once into the buffer. The caller has made room.
    async fn fill(&mut self) -> Result<usize, FrameError> {
        let got = self.reader.read(&mut self.buffer[self.end..]).await.map_err(io_error)?;
        self.end += got;
        if got > 0 {
            self.counters.received(got);
        }
        Ok(got)
    }

    /// Moves the buffered bytes to the front if `length` bytes would not fit after them.
    fn make_room(&mut self, length: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + length > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}

/// How fast the body of a large frame arrives.
struct FrameProgress {
    since: Instant,
    bytes: usize,
}

impl FrameProgress {
    fn new() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }

    /// Records `got` bytes. Returns whether too few came in the interval that ends with them.
    fn is_too_slow(&mut self, got: usize) -> bool {
        self.bytes += got;
        if self.since.elapsed() < Duration::from_millis(limits::FRAME_PROGRESS_MS) {
            return false;
        }
        let interval = std::mem::replace(self, Self::new());
        interval.bytes < limits::MIN_FRAME_PROGRESS_BYTES
    }
}

/// The length if `line` is a `Content-Length` header; `None` for any other well-formed header.
fn header_line(line: &[u8]) -> Result<Option<usize>, FrameError> {
    let colon = line.iter().position(|&byte| byte == b':').ok_or(FrameError::Garbage)?;
    let name = &line[..colon];
    if name.is_empty() || !name.iter().all(|&byte| is_name_byte(byte)) {
        return Err(FrameError::Garbage);
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return Ok(None);
    }
    let digits = line[colon + 1..].trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(FrameError::LengthInvalid);
    }
    // A number with too many digits means that the frame is too large, not that the header is malformed.
    let parsed = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    Ok(Some(parsed.unwrap_or(usize::MAX)))
}

/// Refuses an unfinished line that can't become a header any more, so that printed text is reported at once.
fn check_header_start(line: &[u8]) -> Result<(), FrameError> {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
    let fits = name.iter().enumerate().all(|(at, &byte)| is_name_byte(byte) || (byte == b'\r' && at + 1 == line.len()));
    if fits { Ok(()) } else { Err(FrameError::Garbage) }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn reserve(body: &mut Vec<u8>, more: usize) -> Result<(), FrameError> {
    body.try_reserve_exact(more).map_err(|_| FrameError::NoRoom)
}

fn io_error(error: io::Error) -> FrameError {
    FrameError::Io(error.kind())
}

/// A frame to send: its bytes with the header in front.
#[derive(Debug)]
pub(super) struct EncodedFrame {
    bytes: Vec<u8>,
    start: usize,
}

/// Space reserved before a body for the longest header.
const HEADER_ROOM: usize = "Content-Length: 18446744073709551615\r\n\r\n".len();

impl EncodedFrame {
    /// Builds a frame from the bytes that `write` appends.
    pub(super) fn build<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes = Vec::with_capacity(512);
        bytes.resize(HEADER_ROOM, 0);
        write(&mut bytes)?;
        let header = format!("Content-Length: {}\r\n\r\n", bytes.len() - HEADER_ROOM);
        let start = HEADER_ROOM - header.len();
        bytes[start..HEADER_ROOM].copy_from_slice(header.as_bytes());
        Ok(Self { bytes, start })
    }

    /// Header and body.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

pub(super) fn count_written(counters: &LiveCounters, bytes: usize, frames: u64) {
    counters.bytes_written.fetch_add(bytes as u64, Relaxed);
    counters.frames_written.fetch_add(frames, Relaxed);
}
