//! Reads what the client sends to a fake server. A broken frame fails the test.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, DuplexStream, ReadHalf};

/// The next message; `None` at the end of the stream.
pub(crate) async fn read_message(reader: &mut BufReader<ReadHalf<DuplexStream>>) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", digits)) => length = Some(digits.parse().expect("the client's header is broken")),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length.expect("the client's header has no length")];
    reader.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).expect("the client's frame is no JSON"))
}
