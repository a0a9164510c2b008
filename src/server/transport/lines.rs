//! Lines of a byte stream, each of bounded length.
//!
//! tokio-util frames the stream: [`FramedRead`] buffers, [`AnyDelimiterCodec`] finds newlines and discards an overlong line up to
//! its newline. [`LineCodec`] adapts the codec, because `FramedRead` stops decoding its buffer after a decoding error and an
//! overlong line must not stop the session. `LinesCodec` doesn't fit: it reports a line that isn't UTF-8 as an I/O error, but such
//! a line is answered like any malformed message.
//!
//! The content of a line isn't decoded here. Invariants: at most one line and one read are buffered; a line over the limit is
//! reported once; `next` is cancel-safe.

use std::io;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::io::AsyncRead;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};

/// The next item of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineFrame {
    /// A line without its line break.
    Text(Bytes),
    /// A line over the limit. Its content is discarded.
    TooLong,
    /// The end of the stream.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub struct LineReader<R> {
    frames: FramedRead<R, LineCodec>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes, the line break not counted.
    pub fn new(reader: R, limit: usize) -> Self {
        Self { frames: FramedRead::new(reader, LineCodec::new(limit)) }
    }

    /// Changes the limit of the following lines. Call it only after a [`LineFrame::Text`].
    pub fn set_limit(&mut self, limit: usize) {
        *self.frames.decoder_mut() = LineCodec::new(limit);
    }

    /// The next line. Blank lines are skipped. A last line without a newline counts as a line.
    ///
    /// # Errors
    /// Those of the reader.
    pub async fn next(&mut self) -> io::Result<LineFrame> {
        self.frames.next().await.unwrap_or(Ok(LineFrame::End))
    }
}

/// Decodes lines, and reports an overlong line as an item instead of an error.
#[derive(Debug)]
struct LineCodec {
    newlines: AnyDelimiterCodec,
    /// Longest line without its line break, in bytes.
    limit: usize,
}

impl LineCodec {
    fn new(limit: usize) -> Self {
        // The codec counts the carriage return of a `\r\n`, so it gets one byte more.
        let newlines = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), limit.saturating_add(1));
        Self { newlines, limit }
    }

    /// The item for what the codec decoded; `None` for a blank line.
    fn line(&self, decoded: Result<Bytes, AnyDelimiterCodecError>) -> io::Result<Option<LineFrame>> {
        let line = match decoded {
            Ok(line) => line,
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => return Ok(Some(LineFrame::TooLong)),
            Err(AnyDelimiterCodecError::Io(error)) => return Err(error),
        };
        let line = if line.ends_with(b"\r") { line.slice(..line.len() - 1) } else { line };
        if line.len() > self.limit {
            return Ok(Some(LineFrame::TooLong));
        }
        Ok((!line.iter().all(u8::is_ascii_whitespace)).then_some(LineFrame::Text(line)))
    }
}

impl Decoder for LineCodec {
    type Item = LineFrame;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<LineFrame>> {
        while let Some(decoded) = self.newlines.decode(buffer).transpose() {
            if let Some(line) = self.line(decoded)? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<LineFrame>> {
        while let Some(decoded) = self.newlines.decode_eof(buffer).transpose() {
            if let Some(line) = self.line(decoded)? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    async fn all(input: &[u8], limit: usize) -> Vec<LineFrame> {
        let mut lines = LineReader::new(input, limit);
        let mut read = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                LineFrame::End => return read,
                line => read.push(line),
            }
        }
    }

    fn text(line: &'static str) -> LineFrame {
        LineFrame::Text(Bytes::from_static(line.as_bytes()))
    }

    #[tokio::test]
    async fn lines_blank_lines_and_line_breaks() {
        assert_eq!(all(b"a\r\n\n \t\nb\n\r\nc", 9).await, [text("a"), text("b"), text("c")]);
        assert_eq!(all(b"", 9).await, []);
        assert_eq!(all(b"\xff\xfe\n", 9).await, [LineFrame::Text(Bytes::from_static(b"\xff\xfe"))]);
    }

    #[tokio::test]
    async fn the_limit_is_exact_and_only_the_long_line_is_lost() {
        assert_eq!(all(b"1234\n12345\n1234\r\n", 4).await, [text("1234"), LineFrame::TooLong, text("1234")]);
        assert_eq!(all(b"12345\r\n1234", 4).await, [LineFrame::TooLong, text("1234")]);
        let long = [vec![b'x'; 100 * 1024], b"\nok\n".to_vec(), vec![b'y'; 50 * 1024]].concat();
        assert_eq!(all(&long, 1024).await, [LineFrame::TooLong, text("ok"), LineFrame::TooLong]);
    }

    #[tokio::test]
    async fn a_line_behind_an_overlong_one_needs_no_further_input() {
        let (reader, mut writer) = tokio::io::duplex(1024);
        let mut lines = LineReader::new(reader, 4);
        writer.write_all(b"123456789\nok\n").await.unwrap();
        assert_eq!(lines.next().await.unwrap(), LineFrame::TooLong);
        let next = tokio::time::timeout(std::time::Duration::from_secs(5), lines.next()).await;
        assert_eq!(next.expect("the line is already buffered").unwrap(), text("ok"));
    }

    #[tokio::test]
    async fn the_limit_can_change_between_two_lines() {
        let mut lines = LineReader::new(&b"1234\n12345678\n123456789\n"[..], 4);
        assert_eq!(lines.next().await.unwrap(), text("1234"));
        lines.set_limit(8);
        assert_eq!(lines.next().await.unwrap(), text("12345678"));
        assert_eq!(lines.next().await.unwrap(), LineFrame::TooLong);
    }

    #[tokio::test]
    async fn an_overlong_line_is_not_buffered() {
        let long = vec![b'x'; 4 * 1024 * 1024];
        let mut lines = LineReader::new(&long[..], 1024);
        assert_eq!(lines.next().await.unwrap(), LineFrame::TooLong);
        assert_eq!(lines.next().await.unwrap(), LineFrame::End);
        assert!(lines.frames.read_buffer().capacity() < 256 * 1024);
    }
}
