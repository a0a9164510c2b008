//! Frames of the LSP base protocol. However the bytes arrive, the reader returns the bodies that a plain reading of the whole stream gives,
//! and the same error.

#![no_main]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use codeyard_fuzz::{Expanded, Values};
use codeyard_lsp::client::frame::{FrameBudget, FrameError};
use codeyard_lsp::client::fuzzing::{FramesRead, read_frames};
use codeyard_lsp::limits::{FRAME_BUFFER_BYTES, MAX_FRAME_BYTES, MAX_FRAME_HEADER_BYTES};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::{Builder, Runtime};

/// Most bytes of a stream. The memory of a body grows once at each multiple of the read buffer's size that is a power of two.
const MAX_STREAM_BYTES: usize = 2 * FRAME_BUFFER_BYTES + 32 * 1024;
/// Most pieces of a repeated byte.
const MAX_PIECES_OF_RUN: usize = 256;

/// A stream that arrives in pieces.
struct Pieces<'d> {
    stream: &'d Expanded,
    at: usize,
    sizes: &'d [u8],
    read: usize,
}

impl Pieces<'_> {
    /// The size of the next piece, but at most the rest of the stream.
    fn next_size(&self) -> usize {
        let size = match self.sizes {
            [] => usize::MAX,
            // Small pieces cut headers, large ones cut bodies.
            sizes => match sizes[self.read % sizes.len()] {
                size if size < 128 => usize::from(size) + 1,
                size => usize::from(size) << 7,
            },
        };
        // What one byte repeated stands for takes time and finds nothing if it arrives in very many pieces. Its ends stay as they are.
        let runs = &self.stream.runs;
        let next = runs.partition_point(|run| run.end <= self.at);
        let least = match runs.get(next).filter(|run| run.contains(&self.at)) {
            Some(run) => (run.len() / MAX_PIECES_OF_RUN).min(run.end - self.at),
            None => 1,
        };
        size.max(least).min(self.stream.bytes.len() - self.at)
    }
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let end = self.at + self.next_size().min(into.remaining());
        into.put_slice(&self.stream.bytes[self.at..end]);
        (self.at, self.read) = (end, self.read + 1);
        Poll::Ready(Ok(()))
    }
}

/// Reads the stream without buffers, limits of memory and waiting.
fn plainly_read(mut stream: &[u8]) -> FramesRead {
    let mut bodies = Vec::new();
    loop {
        match text_before_header(stream) {
            Ok(Some(text)) => stream = &stream[text..],
            Ok(None) => return FramesRead { bodies, error: None },
            Err(error) => return FramesRead { bodies, error: Some(error) },
        }
        let (length, header) = match plain_header(stream) {
            Ok(found) => found,
            Err(error) => return FramesRead { bodies, error: Some(error) },
        };
        stream = &stream[header..];
        if length > MAX_FRAME_BYTES as u128 {
            return FramesRead { bodies, error: Some(FrameError::TooLarge) };
        }
        let Some((body, rest)) = stream.split_at_checked(length as usize) else {
            return FramesRead { bodies, error: Some(FrameError::Truncated) };
        };
        bodies.push(Some(body.to_vec()));
        stream = rest;
    }
}

/// The length of the printed text before the next header block, if there is one. Streams are too short for the limit of such text.
fn text_before_header(stream: &[u8]) -> Result<Option<usize>, FrameError> {
    let begins_line = |at: usize| at == 0 || stream[at - 1] == b'\n';
    let names: [&[u8]; 2] = [b"content-length:", b"content-type:"];
    let begins_with =
        |text: &[u8], name: &[u8]| text.len() >= name.len() && text[..name.len()].eq_ignore_ascii_case(name);
    let is_whole_block = |text: &[u8]| {
        let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
        let Some(value) = text[..end].get(names[0].len()..) else { return false };
        let digits = value.strip_prefix(b" ").unwrap_or(value);
        begins_with(text, names[0]) && (1..=20).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
    };
    let found = (0..stream.len()).find(|&at| match begins_line(at) {
        true => names.iter().any(|name| begins_with(&stream[at..], name)),
        false => matches!(stream[at], b'c' | b'C') && is_whole_block(&stream[at..]),
    });
    let last = stream.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = !last.is_empty() && names.iter().any(|name| begins_with(name, last));
    if found.is_none() && is_cut { Err(FrameError::Truncated) } else { Ok(found) }
}

/// The length of the body and of the header before it.
fn plain_header(stream: &[u8]) -> Result<(u128, usize), FrameError> {
    let mut at = 0;
    let mut length = None;
    loop {
        let end = stream[at..].iter().position(|byte| *byte == b'\n').map(|found| at + found);
        // What is behind the limit isn't looked at.
        let line = &stream[at..end.unwrap_or(stream.len()).min(MAX_FRAME_HEADER_BYTES)];
        let is_cut = end.is_none_or(|end| end >= MAX_FRAME_HEADER_BYTES);
        let colon = line.iter().position(|byte| *byte == b':');
        let name = &line[..colon.unwrap_or(line.len())];
        if is_cut {
            let name = if colon.is_none() { name.strip_suffix(b"\r").unwrap_or(name) } else { name };
            if !name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)) {
                return Err(FrameError::Garbage);
            }
            let is_too_long = stream.len() >= MAX_FRAME_HEADER_BYTES;
            return Err(if is_too_long { FrameError::HeaderTooLong } else { FrameError::Truncated });
        }
        at = end.unwrap_or(stream.len()) + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return length.map(|length| (length, at)).ok_or(FrameError::LengthMissing);
        }
        let is_name = |name: &[u8]| {
            !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
        };
        let Some(colon) = colon.filter(|_| is_name(name)) else { return Err(FrameError::Garbage) };
        if name.eq_ignore_ascii_case(b"content-length") {
            let digits = line[colon + 1..].trim_ascii();
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(FrameError::LengthInvalid);
            }
            let number = digits
                .iter()
                .fold(0_u128, |number, digit| number.saturating_mul(10).saturating_add(u128::from(digit - b'0')));
            if length.replace(number).is_some() {
                return Err(FrameError::LengthRepeated);
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().unwrap();
        static BUDGET: FrameBudget = FrameBudget::default();
    }
    let mut values = Values(data);
    let count = usize::from(values.byte() % 8);
    let sizes = values.bytes(count);
    let stream = values.expanded(MAX_STREAM_BYTES);
    let budget = BUDGET.with(FrameBudget::clone);
    let pieces = Pieces { stream: &stream, at: 0, sizes, read: 0 };
    let found = RUNTIME.with(|runtime| runtime.block_on(read_frames(pieces, &budget)));
    let plain = plainly_read(&stream.bytes);
    assert_eq!(found.error, plain.error, "in pieces of {sizes:?}");
    assert!(found.bodies == plain.bodies, "other bodies, in pieces of {sizes:?}");
    assert_eq!(budget.in_flight(), 0, "room isn't given back");
});
