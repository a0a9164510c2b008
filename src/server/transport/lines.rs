//! Lines out of a byte stream, each bounded.
//!
//! Only framing: what a line says isn't looked at. Invariants: never more than one line and one read's worth is held;
//! an overlong line is thrown away up to its line break and reported once; `next` may be dropped and called again.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// One read's worth, in bytes.
const CHUNK: usize = 16 * 1024;

/// What comes next in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line without its line break.
    Text(Bytes),
    /// A line longer than the limit, thrown away.
    TooLong,
    /// The end of the stream.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: BytesMut,
    /// How much of the buffer has no line break in it.
    scanned: usize,
    limit: usize,
    discarding: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub fn new(reader: R, limit: usize) -> Self {
        Self { reader, buffer: BytesMut::new(), scanned: 0, limit, discarding: false, ended: false }
    }

    /// Changes the limit for the lines to come.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The next line. Blank lines are passed over; a last line without a line break counts.
    ///
    /// # Errors
    /// Those of the reader.
    pub async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(line);
            }
            if self.ended {
                return Ok(self.take_rest());
            }
            if self.buffer.len() > self.limit + 1 {
                self.discarding = true;
            }
            if self.discarding {
                self.buffer.clear();
                self.scanned = 0;
            }
            self.buffer.reserve(CHUNK);
            self.ended = self.reader.read_buf(&mut self.buffer).await? == 0;
        }
    }

    fn take_line(&mut self) -> Option<Line> {
        loop {
            let Some(at) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') else {
                self.scanned = self.buffer.len();
                return None;
            };
            let line = self.buffer.split_to(self.scanned + at + 1).freeze();
            self.scanned = 0;
            if let Some(line) = self.judge(line.slice(..line.len() - 1)) {
                return Some(line);
            }
        }
    }

    fn take_rest(&mut self) -> Line {
        let rest = self.buffer.split().freeze();
        self.scanned = 0;
        self.judge(rest).unwrap_or(Line::End)
    }

    /// `None` for a blank line.
    fn judge(&mut self, line: Bytes) -> Option<Line> {
        let line = if line.ends_with(b"\r") { line.slice(..line.len() - 1) } else { line };
        if std::mem::take(&mut self.discarding) || line.len() > self.limit {
            return Some(Line::TooLong);
        }
        (!line.iter().all(u8::is_ascii_whitespace)).then_some(Line::Text(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, limit);
        let mut seen = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                Line::End => return seen,
                line => seen.push(line),
            }
        }
    }

    fn text(line: &'static str) -> Line {
        Line::Text(Bytes::from_static(line.as_bytes()))
    }

    #[tokio::test]
    async fn lines_blank_lines_and_line_breaks() {
        assert_eq!(all(b"a\r\n\n \t\nb\n\r\nc", 9).await, [text("a"), text("b"), text("c")]);
        assert_eq!(all(b"", 9).await, []);
    }

    #[tokio::test]
    async fn the_limit_is_exact_and_only_the_long_line_is_lost() {
        assert_eq!(all(b"1234\n12345\n1234\r\n", 4).await, [text("1234"), Line::TooLong, text("1234")]);
        let long = [vec![b'x'; 100 * 1024], b"\nok\n".to_vec(), vec![b'y'; 50 * 1024]].concat();
        assert_eq!(all(&long, 1024).await, [Line::TooLong, text("ok"), Line::TooLong]);
    }

    #[tokio::test]
    async fn what_is_held_stays_small() {
        let long = vec![b'x'; 4 * 1024 * 1024];
        let mut lines = Lines::new(&long[..], 1024);
        assert_eq!(lines.next().await.unwrap(), Line::TooLong);
        assert!(lines.buffer.capacity() < 256 * 1024);
    }
}
