//! Frames of the base protocol, as a fake server reads and writes them.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, DuplexStream, ReadHalf};

/// A message with its header.
pub(crate) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message of the client; nothing at the end.
pub(crate) async fn read_message(reader: &mut BufReader<ReadHalf<DuplexStream>>) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", digits)) => length = Some(digits.parse().unwrap()),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}
