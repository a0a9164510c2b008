//! Frames of the base protocol: a header block with `Content-Length`, then that many bytes.
//!
//! It knows nothing of JSON. A reader takes hostile input: every fault is a typed [`FrameError`], after which the stream is
//! not read again (there is no resync). Invariants: a header block is at most 8 KiB; a body at most `MAX_FRAME_BYTES`; a
//! body's memory grows with the bytes that came, never by the header's word; bodies larger than the read buffer are
//! charged to the [`FrameBudget`] that all connections share, byte for byte of their capacity, before it is allocated.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::meter::{Meter, count};
use crate::limits;

/// Why a stream of frames ended badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FrameError {
    /// Something else than a header came where a header must stand, such as text printed to standard output.
    #[error("bytes that are no header where a header was expected")]
    Garbage,
    /// The header block is longer than 8 KiB.
    #[error("header block is too long")]
    HeaderTooLong,
    /// The header block names no length.
    #[error("header block without content-length")]
    LengthMissing,
    /// The header block names a length twice.
    #[error("header block with two content-lengths")]
    LengthRepeated,
    /// The length is no decimal number.
    #[error("content-length is not a number")]
    LengthInvalid,
    /// The length is above the largest frame.
    #[error("frame is larger than allowed")]
    TooLarge,
    /// The stream ended inside a frame.
    #[error("output ended inside a frame")]
    Truncated,
    /// All frames in flight together left no room in time.
    #[error("no memory left for frames in flight")]
    NoRoom,
    /// A large frame was not complete in time.
    #[error("frame was not complete in time")]
    Stalled,
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(io::ErrorKind),
}

/// The bytes of large frames in flight over all connections, and what was rejected there.
#[derive(Debug, Clone)]
pub struct FrameBudget {
    room: Arc<Semaphore>,
    total: usize,
    rejected: Arc<[AtomicU64; REJECTIONS.len()]>,
}

/// Why frames are rejected, as [`FrameBudget::rejected`] names it.
const REJECTIONS: [&str; 11] = [
    "garbage",
    "header_too_long",
    "length_missing",
    "length_repeated",
    "length_invalid",
    "too_large",
    "truncated",
    "no_room",
    "stalled",
    "io",
    "malformed",
];

/// A part of the budget, given back on drop.
#[derive(Debug)]
pub(super) struct FramePermit(OwnedSemaphorePermit);

impl Default for FrameBudget {
    fn default() -> Self {
        Self::new(limits::MAX_FRAMES_IN_FLIGHT_BYTES)
    }
}

impl FrameBudget {
    /// A budget of `bytes`, at most `MAX_FRAMES_IN_FLIGHT_BYTES`.
    pub fn new(bytes: usize) -> Self {
        let total = bytes.min(limits::MAX_FRAMES_IN_FLIGHT_BYTES);
        Self { room: Arc::new(Semaphore::new(total)), total, rejected: Arc::default() }
    }

    /// How many frames were rejected so far, by reason: a [`FrameError`], or `malformed` for a body that is no message.
    pub fn rejected(&self) -> Vec<(&'static str, u64)> {
        REJECTIONS.iter().zip(&*self.rejected).map(|(reason, count)| (*reason, count.load(Relaxed))).collect()
    }

    /// Counts a frame that ended its connection, or `None` for one that is no message.
    pub(super) fn reject(&self, error: Option<FrameError>) {
        count(&self.rejected[error.map_or(REJECTIONS.len() - 1, FrameError::index)]);
    }

    /// Bytes in flight now.
    pub fn in_flight(&self) -> usize {
        self.total - self.room.available_permits()
    }

    /// Adds `bytes` to `permit`, waiting a short while for room.
    async fn extend(&self, permit: &mut Option<FramePermit>, bytes: usize) -> Result<(), FrameError> {
        let amount = u32::try_from(bytes).map_err(|_| FrameError::TooLarge)?;
        if bytes > self.total {
            return Err(FrameError::NoRoom);
        }
        let wait = Duration::from_millis(limits::FRAME_BUDGET_WAIT_MS);
        let acquired = match self.room.clone().try_acquire_many_owned(amount) {
            Ok(acquired) => acquired,
            Err(_) => match tokio::time::timeout(wait, self.room.clone().acquire_many_owned(amount)).await {
                Ok(Ok(acquired)) => acquired,
                _ => return Err(FrameError::NoRoom),
            },
        };
        match permit {
            Some(held) => held.0.merge(acquired),
            None => *permit = Some(FramePermit(acquired)),
        }
        Ok(())
    }
}

impl FrameError {
    /// Its place in [`REJECTIONS`].
    fn index(self) -> usize {
        match self {
            Self::Garbage => 0,
            Self::HeaderTooLong => 1,
            Self::LengthMissing => 2,
            Self::LengthRepeated => 3,
            Self::LengthInvalid => 4,
            Self::TooLarge => 5,
            Self::Truncated => 6,
            Self::NoRoom => 7,
            Self::Stalled => 8,
            Self::Io(_) => 9,
        }
    }
}

/// One whole body.
#[derive(Debug)]
pub(super) enum Frame<'a> {
    /// Still in the read buffer.
    Small(&'a [u8]),
    /// In memory of its own, with its part of the budget.
    Large(Vec<u8>, Option<FramePermit>),
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Frame::Small(body) => body,
            Frame::Large(body, _) => body,
        }
    }
}

impl Frame<'_> {
    /// Takes the part of the budget out, to keep it as long as what was parsed from the frame.
    pub(super) fn take_permit(&mut self) -> Option<FramePermit> {
        match self {
            Frame::Small(_) => None,
            Frame::Large(_, permit) => permit.take(),
        }
    }
}

/// Cuts a byte stream into frames.
pub(super) struct FrameReader<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    budget: Arc<FrameBudget>,
    meter: Arc<Meter>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(reader: R, budget: Arc<FrameBudget>, meter: Arc<Meter>) -> Self {
        let buffer = vec![0; limits::FRAME_BUFFER_BYTES].into_boxed_slice();
        Self { reader, buffer, start: 0, end: 0, budget, meter }
    }

    /// The next frame, or `None` when the stream ended between two frames.
    pub(super) async fn next(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let Some(length) = self.header().await? else { return Ok(None) };
        if length > limits::MAX_FRAME_BYTES {
            return Err(FrameError::TooLarge);
        }
        if length > self.buffer.len() {
            let limit = Duration::from_millis(limits::FRAME_TIME_LIMIT_MS);
            let (body, permit) =
                tokio::time::timeout(limit, self.large(length)).await.map_err(|_| FrameError::Stalled)??;
            count(&self.meter.frames_read);
            return Ok(Some(Frame::Large(body, permit)));
        }
        self.make_room(length);
        while self.end - self.start < length {
            if self.fill().await? == 0 {
                return Err(FrameError::Truncated);
            }
        }
        count(&self.meter.frames_read);
        let body = self.start..self.start + length;
        self.start = body.end;
        Ok(Some(Frame::Small(&self.buffer[body])))
    }

    /// Reads a header block; the length it names, or `None` at the end of the stream.
    async fn header(&mut self) -> Result<Option<usize>, FrameError> {
        let (mut line, mut seen, mut length) = (0, 0, None);
        self.make_room(limits::MAX_FRAME_HEADER_BYTES);
        loop {
            let fresh = &self.buffer[self.start + seen..self.end];
            let Some(at) = fresh.iter().position(|&byte| byte == b'\n') else {
                seen = self.end - self.start;
                check_header_start(&self.buffer[self.start + line..self.end])?;
                if seen >= limits::MAX_FRAME_HEADER_BYTES {
                    return Err(FrameError::HeaderTooLong);
                }
                if self.fill().await? == 0 {
                    return if seen == 0 { Ok(None) } else { Err(FrameError::Truncated) };
                }
                continue;
            };
            let end = seen + at;
            if end >= limits::MAX_FRAME_HEADER_BYTES {
                return Err(FrameError::HeaderTooLong);
            }
            let text = &self.buffer[self.start + line..self.start + end];
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            (line, seen) = (end + 1, end + 1);
            if text.is_empty() {
                self.start += line;
                return length.ok_or(FrameError::LengthMissing).map(Some);
            }
            if let Some(found) = header_line(text)? {
                match length {
                    Some(_) => return Err(FrameError::LengthRepeated),
                    None => length = Some(found),
                }
            }
        }
    }

    /// Reads a body that doesn't fit into the buffer. Its memory doubles as bytes come.
    async fn large(&mut self, length: usize) -> Result<(Vec<u8>, Option<FramePermit>), FrameError> {
        let mut permit = None;
        let mut body = Vec::new();
        let have = self.end - self.start;
        let first = limits::FRAME_BUFFER_BYTES.min(length);
        self.budget.extend(&mut permit, first).await?;
        grow(&mut body, first)?;
        body.extend_from_slice(&self.buffer[self.start..self.end][..have.min(length)]);
        (self.start, self.end) = (0, 0);
        while body.len() < length {
            if body.len() == body.capacity() {
                let more = body.len().min(length - body.len());
                self.budget.extend(&mut permit, more).await?;
                grow(&mut body, more)?;
            }
            let room = (body.capacity() - body.len()).min(length - body.len());
            let got = self.reader.read_buf(&mut (&mut body).limit(room)).await.map_err(io_error)?;
            if got == 0 {
                return Err(FrameError::Truncated);
            }
            self.meter.received(got);
        }
        Ok((body, permit))
    }

    /// Reads once into the buffer. The caller has made room.
    async fn fill(&mut self) -> Result<usize, FrameError> {
        let got = self.reader.read(&mut self.buffer[self.end..]).await.map_err(io_error)?;
        if got > 0 {
            self.end += got;
            self.meter.received(got);
        }
        Ok(got)
    }

    /// Moves what is buffered to the front if `length` bytes would not fit behind it.
    fn make_room(&mut self, length: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + length > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}

/// The length if `line` is a `Content-Length` header, `None` for any other well-formed header.
fn header_line(line: &[u8]) -> Result<Option<usize>, FrameError> {
    let colon = line.iter().position(|&byte| byte == b':').ok_or(FrameError::Garbage)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.is_empty() || !name.iter().all(|&byte| is_name_byte(byte)) {
        return Err(FrameError::Garbage);
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return Ok(None);
    }
    let digits = value.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(FrameError::LengthInvalid);
    }
    // More digits than a number holds mean a frame that is too large, not one that is badly written.
    let parsed = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    Ok(Some(parsed.unwrap_or(usize::MAX)))
}

/// Refuses an unfinished line that can't become a header any more, so that printed text is told at once.
fn check_header_start(line: &[u8]) -> Result<(), FrameError> {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
    let fits = name.iter().enumerate().all(|(at, &byte)| is_name_byte(byte) || (byte == b'\r' && at + 1 == line.len()));
    if fits { Ok(()) } else { Err(FrameError::Garbage) }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn grow(body: &mut Vec<u8>, more: usize) -> Result<(), FrameError> {
    body.try_reserve_exact(more).map_err(|_| FrameError::NoRoom)
}

fn io_error(error: io::Error) -> FrameError {
    FrameError::Io(error.kind())
}

/// A frame to send: its bytes with the header in front.
#[derive(Debug)]
pub(super) struct Encoded {
    bytes: Vec<u8>,
    start: usize,
}

/// Room in front of a body for the longest header.
const HEADER_ROOM: usize = "Content-Length: 18446744073709551615\r\n\r\n".len();

impl Encoded {
    /// Builds a frame from what `write` appends.
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

/// Counts a written batch.
pub(super) fn count_written(meter: &Meter, bytes: usize, frames: u64) {
    meter.bytes_written.fetch_add(bytes as u64, Relaxed);
    meter.frames_written.fetch_add(frames, Relaxed);
}
