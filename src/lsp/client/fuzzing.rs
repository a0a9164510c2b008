//! Entries for the fuzz targets in `tests/fuzz`: the frame reader and the parser of messages, which are private otherwise.
//!
//! Compiled with `--cfg fuzzing` only, which cargo-fuzz sets; no build of codeyard contains it. It decides nothing: each function calls the
//! code that connections use, and copies what that returns.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::io::AsyncRead;

use super::counters::LiveCounters;
use super::frame::{Frame, FrameBudget, FrameError, FrameReader};
use super::message::{self, IncomingMessage};

/// What a stream of bytes was read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramesRead {
    /// The bodies in order; `None` for one that was skipped.
    pub bodies: Vec<Option<Vec<u8>>>,
    /// Why reading ended; `None` if the stream ended between two frames.
    pub error: Option<FrameError>,
}

/// Reads frames until the stream ends or a frame is rejected.
pub async fn read_frames(reader: impl AsyncRead + Unpin, budget: &FrameBudget) -> FramesRead {
    let mut frames = FrameReader::new(reader, budget, Arc::new(LiveCounters::new()));
    let mut bodies = Vec::new();
    loop {
        match frames.next().await {
            Ok(Some(Frame::Skipped)) => bodies.push(None),
            Ok(Some(frame)) => bodies.push(Some(frame.to_vec())),
            Ok(None) => return FramesRead { bodies, error: None },
            Err(error) => return FramesRead { bodies, error: Some(error) },
        }
    }
}

/// A message from a server. Raw JSON is kept as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerMessage {
    /// The response to our request with this id; `Err` is the error object.
    Response(u64, Result<String, String>),
    /// A response that belongs to no request.
    Unmatched,
    /// A request: its id, method and params.
    Request(String, String, Option<String>),
    /// A notification: its method and params.
    Notification(String, Option<String>),
}

/// Parses a message from a server; `None` if it is malformed.
pub fn server_message(text: &str) -> Option<ServerMessage> {
    let owned = |raw: &RawValue| raw.get().to_owned();
    Some(match message::parse(text).ok()? {
        IncomingMessage::Response { id, outcome } => ServerMessage::Response(id, outcome.map(owned).map_err(owned)),
        IncomingMessage::Unmatched => ServerMessage::Unmatched,
        IncomingMessage::Request { id, method, params } => {
            ServerMessage::Request(owned(id), method.into_owned(), params.map(owned))
        }
        IncomingMessage::Notification { method, params } => {
            ServerMessage::Notification(method.into_owned(), params.map(owned))
        }
    })
}

/// The frame of our request; `None` if it can't be written.
pub fn request_frame(id: u64, method: &str, params: &RawValue) -> Option<Vec<u8>> {
    message::request(id, method, &params, true).ok().map(|frame| frame.as_bytes().to_vec())
}
