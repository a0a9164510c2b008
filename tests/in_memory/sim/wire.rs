//! Frames of the base protocol, as a fake server writes them. `message_reader` reads them.

use serde_json::Value;

/// A message with its header.
pub(crate) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
