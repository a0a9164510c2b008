//! Headers and printed text that arrive in pieces: they are read as if they had arrived at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use proptest::prelude::*;
use tokio::io::{AsyncRead, ReadBuf};

use super::counters::LiveCounters;
use super::frame::{FrameBudget, FrameError, FrameReader};
use crate::limits::{MAX_FRAME_HEADER_BYTES, MAX_STRAY_TEXT_BYTES};

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

/// What a stream was read as.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    bodies: Vec<Vec<u8>>,
    /// Why reading ended; `None` if the stream ended between two frames.
    error: Option<FrameError>,
    /// Bytes of printed text.
    stray: u64,
}

async fn read(bytes: &[u8], size: usize) -> Found {
    let pieces = Pieces { rest: bytes, size };
    let counters = Arc::new(LiveCounters::new());
    let mut frames = FrameReader::new(pieces, &FrameBudget::default(), counters.clone());
    let mut bodies = Vec::new();
    let error = loop {
        match frames.next().await {
            Ok(Some(frame)) => bodies.push(frame.to_vec()),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Found { bodies, error, stray: counters.snapshot().stray_bytes }
}

const SIZES: [usize; 6] = [1, 2, 3, 7, 4_096, usize::MAX];

#[tokio::test]
async fn headers_in_pieces_are_read_as_if_they_had_arrived_at_once() {
    let first = "Content-Type: x\n";
    let name = |length: usize| format!("{first}{}", "n".repeat(length - first.len()));
    let long_value = format!("Content-Type: {}: \\", "y".repeat(MAX_FRAME_HEADER_BYTES));
    let at_limit = name(MAX_FRAME_HEADER_BYTES - 1);
    let over_limit = name(MAX_FRAME_HEADER_BYTES);
    let ends_with_garbage = format!("{}\\", name(MAX_FRAME_HEADER_BYTES - 1));
    let garbage_behind = format!("{}\\", name(MAX_FRAME_HEADER_BYTES));
    let cases = [
        ("Content-Length: 2\r\nX: \\ \r y\r\n\r\n{}Content-Length: 0\n\n", 2, None),
        ("Content-Type: x\nContent-Length\r: 2\r\n\r\n{}", 0, Some(FrameError::Garbage)),
        ("Content-Type: x\nContent-Length\rx", 0, Some(FrameError::Garbage)),
        ("Content-Type: x\nContent-Length\r", 0, Some(FrameError::Truncated)),
        ("Content-Type: y\r\nContent Length", 0, Some(FrameError::Garbage)),
        ("Content-Type: y\r\nContent-Length", 0, Some(FrameError::Truncated)),
        ("Content-Type: y\r\nno\\header", 0, Some(FrameError::Garbage)),
        ("Content-Length: 2\r\nno header\r\n\r\n{}", 0, Some(FrameError::Garbage)),
        (&long_value, 0, Some(FrameError::HeaderTooLong)),
        (&at_limit, 0, Some(FrameError::Truncated)),
        (&over_limit, 0, Some(FrameError::HeaderTooLong)),
        (&ends_with_garbage, 0, Some(FrameError::Garbage)),
        (&garbage_behind, 0, Some(FrameError::HeaderTooLong)),
    ];
    for (text, bodies, error) in cases {
        for size in SIZES {
            let found = read(text.as_bytes(), size).await;
            assert_eq!((found.bodies.len(), found.error, found.stray), (bodies, error, 0), "{text:.60} by {size}");
        }
    }
}

/// Text that servers print, complete lines or not.
const PRINTED: [&str; 14] = [
    "Couldn't find package @astrojs/vue (searching from /w/src/App.vue). Make sure it's installed.\n",
    "Starting\n",
    "one\ntwo: three\n\nError: x\n    at y (z.js:1:2)\n",
    "one\r\ntwo\r\n",
    "\n",
    "\r\n\r\n",
    "\u{feff}",
    "without an end of line",
    "50 %\r100 %\r",
    "{\"jsonrpc\":\"2.0\"}",
    "the Content-Length: 5\n",
    "no Content-Length: 5\r\nhere",
    "Content-\nContent Length: 7\r\n\r\n C",
    " Content-Type: x\nCContent-Lengt",
];

#[tokio::test]
async fn text_before_and_between_frames_is_skipped() {
    for text in PRINTED {
        let stream = format!("{text}Content-Length: 2\r\n\r\n{{}}{text}Content-Length: 3\r\n\r\n[1]{text}");
        for size in SIZES {
            let stray = 3 * text.len() as u64;
            let bodies = vec![b"{}".to_vec(), b"[1]".to_vec()];
            let expected = Found { bodies, error: None, stray };
            assert_eq!(read(stream.as_bytes(), size).await, expected, "{text:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn a_header_behind_text_may_have_any_form_at_the_beginning_of_a_line_only() {
    let forms = ["content-LENGTH:2\n\n{}", "Content-Type: x\r\nContent-Length: 2\r\n\r\n{}"];
    for (form, text) in forms.iter().flat_map(|form| [(form, "text\n"), (form, "text ")]) {
        for size in SIZES {
            let found = read(format!("{text}{form}").as_bytes(), size).await;
            let bodies = usize::from(text.ends_with('\n'));
            // The second header of a block begins a line.
            let bodies = if form.starts_with("Content-Type") { 1 } else { bodies };
            assert_eq!((found.bodies.len(), found.error), (bodies, None), "{text}{form} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn a_malformed_header_behind_text_is_an_error() {
    let cases = [
        ("Content-Length: -1\r\n\r\n", FrameError::LengthInvalid),
        ("Content-Length: ten\r\n\r\n", FrameError::LengthInvalid),
        ("Content-Length: 99999999999999999999\r\n\r\n", FrameError::TooLarge),
        ("Content-Type: x\r\n\r\n{}", FrameError::LengthMissing),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", FrameError::LengthRepeated),
        ("Content-Length: 5\r\n\r\n{}", FrameError::Truncated),
        ("Content-Len", FrameError::Truncated),
    ];
    for (header, error) in cases {
        for size in SIZES {
            let found = read(format!("a stack trace\n{header}").as_bytes(), size).await;
            assert_eq!((found.bodies.len(), found.error), (0, Some(error)), "{header:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn text_above_the_limit_is_an_error() {
    let frame = "Content-Length: 2\r\n\r\n{}";
    for line in ["x", "text\n", "\r\n", "\0"] {
        let text = |bytes: usize| line.repeat(bytes.div_ceil(line.len()))[..bytes].to_owned();
        let at_limit = text(MAX_STRAY_TEXT_BYTES);
        let above = text(MAX_STRAY_TEXT_BYTES + 1);
        for size in [61, 4_096, usize::MAX] {
            let limit = MAX_STRAY_TEXT_BYTES as u64;
            let found = read(format!("{at_limit}{frame}{at_limit}{frame}{at_limit}").as_bytes(), size).await;
            assert_eq!((found.bodies.len(), found.error, found.stray), (2, None, 3 * limit), "{line:?} by {size}");
            for stream in [&above, &format!("{above}{frame}"), &format!("{above}{above}")] {
                let found = read(stream.as_bytes(), size).await;
                assert_eq!((found.bodies.len(), found.error), (0, Some(FrameError::Garbage)), "{line:?} by {size}");
            }
        }
    }
}

/// Printed text without the name of a header, up to the limit.
fn printed() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..50),
        "[ -~]{0,80}\r?\n?".prop_map(String::into_bytes),
        proptest::sample::select(vec!["\r\n\r\n", "\n", "Content-", "Length: 5", "C", ": "])
            .prop_map(|part| part.as_bytes().to_vec()),
    ];
    let repeated = (proptest::collection::vec(part, 0..12), prop_oneof![9 => Just(1), 1 => 1..3_000_usize]);
    let text = repeated.prop_map(|(parts, times)| {
        let mut text = parts.concat().repeat(times);
        text.truncate(MAX_STRAY_TEXT_BYTES);
        text
    });
    text.prop_filter("names a header", |text| {
        let lower = text.to_ascii_lowercase();
        !["content-length", "content-type"]
            .iter()
            .any(|name| lower.windows(name.len()).any(|part| part == name.as_bytes()))
    })
}

proptest! {
    #[test]
    fn no_text_loses_a_frame(text in printed(), size in 1..5_000_usize) {
        let frame = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
        let stream = [frame("{\"a\":1}"), text.clone(), frame("[]")].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found = runtime.block_on(read(&stream, size));
        let bodies = vec![b"{\"a\":1}".to_vec(), b"[]".to_vec()];
        prop_assert_eq!(found, Found { bodies, error: None, stray: text.len() as u64 });
    }
}
