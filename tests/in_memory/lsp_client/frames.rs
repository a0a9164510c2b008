//! Frames: malformed and unusual input at the byte level.

use std::sync::Arc;
use std::time::Duration;

use codeyard_lsp::client::LspClient;
use codeyard_lsp::client::events::{CloseReason, ServerEvent, ServerEvents};
use codeyard_lsp::client::frame::{FrameBudget, FrameError};
use codeyard_lsp::client::pending_requests::{PendingReply, RequestError};
use codeyard_lsp::limits;
use serde_json::Value;
use tokio::io::{AsyncWriteExt, DuplexStream};

use crate::lsp_client::support::{bare, framed, options, settle};

/// Close reason after these bytes and the end of the stream.
async fn close_reason_for(bytes: &[u8]) -> CloseReason {
    let (client, mut events, mut server) = bare(64 * 1024 * 1024, options());
    let reply = client.request("x", &Value::Null).unwrap();
    // The client may close before it has read everything.
    let _ = server.write_all(bytes).await;
    let _ = server.shutdown().await;
    let reason = client.closed().await;
    assert_eq!(reply.await.unwrap_err(), RequestError::Closed(reason), "a waiting request ends with the reason");
    assert!(matches!(events.recv().await, Some(ServerEvent::Closed(reported)) if reported == reason));
    assert!(events.recv().await.is_none(), "nothing follows");
    assert_eq!(client.request("x", &Value::Null).err(), Some(RequestError::Closed(reason)));
    assert_eq!(client.notify("x", &Value::Null).err(), Some(RequestError::Closed(reason)));
    reason
}

#[tokio::test(start_paused = true)]
async fn each_broken_header_closes_with_its_reason() {
    let long_value = format!("Content-Type: {}\r\n", "y".repeat(limits::MAX_FRAME_HEADER_BYTES));
    let many = "Content-Type: y\r\n".repeat(limits::MAX_FRAME_HEADER_BYTES);
    let too_large = format!("Content-Length: {}\r\n\r\n", limits::MAX_FRAME_BYTES + 1);
    // A long line that is no header is garbage, whether its end has arrived or not.
    let long_garbage = format!("Content-Type: x\r\n\\: {}\r\n", "y".repeat(limits::MAX_FRAME_HEADER_BYTES));
    let much_text = "Starting the server\n".repeat(limits::MAX_STRAY_TEXT_BYTES / 20 + 1);
    let long_text = "x".repeat(limits::MAX_STRAY_TEXT_BYTES + 1);
    let table: [(&str, FrameError); 19] = [
        (&much_text, FrameError::Garbage),
        (&long_text, FrameError::Garbage),
        ("Content-Type: x\n{\"jsonrpc\":\"2.0\"}", FrameError::Garbage),
        ("Content-Type: x\n\u{feff}Content-Length: 2\r\n\r\n{}", FrameError::Garbage),
        ("Content-Type: x\n: 2\r\n\r\n{}", FrameError::Garbage),
        ("Content-Type: x\nContent Length: 2\r\n\r\n{}", FrameError::Garbage),
        ("Content-Type: x\r\n\r\n{}", FrameError::LengthMissing),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", FrameError::LengthRepeated),
        ("Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}", FrameError::LengthRepeated),
        ("Content-Length: -1\r\n\r\n", FrameError::LengthInvalid),
        ("Content-Length: 0x10\r\n\r\n", FrameError::LengthInvalid),
        ("Content-Length: +2\r\n\r\n{}", FrameError::LengthInvalid),
        ("Content-Length:\r\n\r\n", FrameError::LengthInvalid),
        ("Content-Length: 99999999999999999999999999\r\n\r\n", FrameError::TooLarge),
        (&too_large, FrameError::TooLarge),
        (&long_value, FrameError::HeaderTooLong),
        (&long_garbage, FrameError::Garbage),
        (&many, FrameError::HeaderTooLong),
        ("Content-Length: 5\r\n\r\n{}", FrameError::Truncated),
    ];
    for (bytes, reason) in table {
        assert_eq!(close_reason_for(bytes.as_bytes()).await, CloseReason::Frame(reason), "{:.60}", bytes);
    }
    for cut in 1.."Content-Length: 2\r\n\r\n{".len() {
        let whole = "Content-Length: 2\r\n\r\n{}";
        assert_eq!(
            close_reason_for(&whole.as_bytes()[..cut]).await,
            CloseReason::Frame(FrameError::Truncated),
            "{cut}"
        );
    }
    assert_eq!(close_reason_for(b"").await, CloseReason::EndOfOutput);
    for text in ["a stack trace\n", "Starting, without an end of line", ": 2\r\n\r\n{}", "\r\n\r\n"] {
        assert_eq!(close_reason_for(text.as_bytes()).await, CloseReason::EndOfOutput, "{text:?}");
    }
    let large_cut = format!("Content-Length: 1000000\r\n\r\n{}", "x".repeat(200_000));
    assert_eq!(close_reason_for(large_cut.as_bytes()).await, CloseReason::Frame(FrameError::Truncated));
}

#[tokio::test(start_paused = true)]
async fn odd_but_valid_headers_are_read() {
    let body = r#"{"jsonrpc":"2.0","id":1,"result":"ä"}"#;
    let length = body.len();
    let headers = [
        format!("Content-Length: {length}\r\n\r\n"),
        format!("Content-Length: {length}\n\n"),
        format!("content-LENGTH:{length}\r\n\r\n"),
        format!("Content-Length:   {length}  \r\n\r\n"),
        format!("Content-Length: 000{length}\r\n\r\n"),
        format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"),
        format!("Content-Length: {length}\r\nX-Other: a:b\r\n\r\n"),
    ];
    for header in headers {
        let (client, _events, mut server) = bare(1 << 16, options());
        let reply = client.request("x", &Value::Null).unwrap();
        server.write_all(header.as_bytes()).await.unwrap();
        server.write_all(body.as_bytes()).await.unwrap();
        assert_eq!(reply.await.unwrap().get(), "\"ä\"", "{header:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn printed_text_costs_no_reply_and_is_counted() {
    let lines = "Couldn't find package x (searching from y). Make sure it's installed.\n".repeat(2_000);
    let (client, _events, mut server) = bare(1 << 16, options());
    for (id, text) in ["Starting\n", &lines, "\n\r\n", "50 %\r100 %"].into_iter().enumerate() {
        let before = client.counters();
        let reply = client.request("x", &Value::Null).unwrap();
        let frame = framed(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, id + 1));
        server.write_all(text.as_bytes()).await.unwrap();
        server.write_all(&frame).await.unwrap();
        assert_eq!(reply.await.unwrap().get(), "1", "{text:.40}");
        let after = client.counters();
        assert_eq!(after.stray_bytes - before.stray_bytes, text.len() as u64, "{text:.40}");
        assert_eq!((after.frames_read - before.frames_read, after.malformed), (1, 0), "{text:.40}");
    }
}

#[tokio::test(start_paused = true)]
async fn frames_may_be_split_anywhere_or_joined() {
    let bodies: Vec<String> =
        (1..=40).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "é".repeat(id * 13))).collect();
    let stream: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
    for step in [1, 2, 3, 7, 19, 64, 1_000, stream.len()] {
        let (client, _events, mut server) = bare(1 << 20, options());
        let replies: Vec<_> = (0..40).map(|_| client.request("x", &Value::Null).unwrap()).collect();
        for part in stream.chunks(step) {
            server.write_all(part).await.unwrap();
            tokio::task::yield_now().await;
        }
        for (at, reply) in replies.into_iter().enumerate() {
            assert_eq!(reply.await.unwrap().decode::<&str>().unwrap(), "é".repeat((at + 1) * 13), "step {step}");
        }
        assert_eq!(client.counters().bytes_read, stream.len() as u64);
        assert_eq!(client.counters().frames_read, 40);
    }
}

#[tokio::test(start_paused = true)]
async fn frames_around_the_read_buffer_size_are_read() {
    let (client, _events, mut server) = bare(1 << 16, options());
    let around = limits::FRAME_BUFFER_BYTES - 60..limits::FRAME_BUFFER_BYTES + 60;
    let sender = tokio::spawn(async move {
        for (at, size) in around.clone().enumerate() {
            let id = at + 1;
            let frame = framed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "x".repeat(size)));
            server.write_all(&frame).await.unwrap();
        }
        server
    });
    let replies: Vec<_> = (0..120).map(|_| client.request("x", &Value::Null).unwrap()).collect();
    for (at, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply.await.unwrap().len(), limits::FRAME_BUFFER_BYTES - 60 + at + 2);
    }
    sender.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn memory_grows_with_received_bytes_not_with_the_header() {
    let mut options = options();
    let budget = Arc::new(FrameBudget::default());
    options.frames = budget.clone();
    let (client, _events, mut server) = bare(1 << 20, options);
    let reply = client.request("x", &Value::Null).unwrap();
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(3_000_000));
    let frame = framed(&body);
    let mut sent = 0;
    for part in frame.chunks(100_000) {
        server.write_all(part).await.unwrap();
        settle().await;
        sent += part.len();
        let held = budget.in_flight();
        assert!(held <= (2 * sent).max(limits::FRAME_BUFFER_BYTES), "{held} bytes held for {sent} that came");
    }
    assert!(budget.in_flight() >= 3_000_000, "a reply that waits still counts");
    let reply = reply.await.unwrap();
    assert_eq!(reply.len(), 3_000_002);
    drop(reply);
    assert_eq!(budget.in_flight(), 0);
}

/// A connection of a shared budget, with one request that waits for its reply.
struct Sharing {
    client: LspClient,
    events: ServerEvents,
    server: DuplexStream,
    reply: PendingReply,
}

fn sharing(budget: &Arc<FrameBudget>) -> Sharing {
    let mut options = options();
    options.frames = budget.clone();
    let (client, events, server) = bare(1 << 20, options);
    let reply = client.request("x", &Value::Null).unwrap();
    Sharing { client, events, server, reply }
}

/// The frame of a reply of about `bytes`.
fn reply_of(bytes: usize) -> Vec<u8> {
    framed(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(bytes)))
}

#[tokio::test(start_paused = true)]
async fn a_frame_waits_for_room_and_small_ones_are_not_delayed() {
    let budget = Arc::new(FrameBudget::new(1_000_000));
    let big = reply_of(700_000);
    let mut first = sharing(&budget);
    first.server.write_all(&big[..650_000]).await.unwrap();
    settle().await;
    let mut second = sharing(&budget);
    let mut small = sharing(&budget);
    second.server.write_all(&big).await.unwrap();
    small.server.write_all(&reply_of(1)).await.unwrap();
    assert_eq!(small.reply.await.unwrap().get(), "\"x\"");
    // The wait of the second isn't its silence.
    tokio::time::sleep(Duration::from_millis(limits::FRAME_PROGRESS_MS - 500)).await;
    assert!(second.client.last_byte_at().elapsed().is_zero());
    first.server.write_all(&big[650_000..]).await.unwrap();
    drop(first.reply.await.unwrap());
    assert_eq!(second.reply.await.unwrap().len(), 700_002);
    assert!(!first.client.is_closed() && !second.client.is_closed());
    assert_eq!(budget.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn holders_without_progress_are_at_fault_and_who_waits_for_them_is_not() {
    let budget = Arc::new(FrameBudget::default());
    let mut silent = sharing(&budget);
    let mut dripping = sharing(&budget);
    silent.server.write_all(b"Content-Length: 20000000\r\n\r\n{").await.unwrap();
    dripping.server.write_all(b"Content-Length: 22000000\r\n\r\n{").await.unwrap();
    let mut drips = dripping.server;
    tokio::spawn(async move {
        while drips.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    tokio::time::sleep(Duration::from_millis(2 * limits::FRAME_PROGRESS_MS)).await;
    assert!(!silent.client.is_closed() && !dripping.client.is_closed(), "nobody waits for them");
    let mut innocent = sharing(&budget);
    let began = tokio::time::Instant::now();
    let mut server = innocent.server;
    tokio::spawn(async move {
        server.write_all(&reply_of(10_000_000)).await.unwrap();
        std::future::pending::<()>().await;
    });
    assert_eq!(innocent.reply.await.unwrap().len(), 10_000_002);
    assert!(began.elapsed() <= Duration::from_millis(2 * limits::FRAME_PROGRESS_MS), "{:?}", began.elapsed());
    assert!(innocent.events.try_recv().is_none() && !innocent.client.is_closed());
    let stalled = CloseReason::Frame(FrameError::Stalled);
    assert!([silent.client, dripping.client].iter().any(LspClient::is_closed));
    assert_eq!(silent.reply.await.unwrap_err(), RequestError::Closed(stalled));
}

#[tokio::test(start_paused = true)]
async fn a_frame_without_room_for_too_long_is_skipped_and_the_connection_goes_on() {
    let budget = Arc::new(FrameBudget::new(1_000_000));
    let mut first = sharing(&budget);
    first.server.write_all(&reply_of(700_000)).await.unwrap();
    // A reply that this side keeps holds room, too, and no server is at fault for that.
    let kept = first.reply.await.unwrap();
    let mut second = sharing(&budget);
    second.server.write_all(&reply_of(700_000)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(limits::FRAME_BUDGET_WAIT_MS + 100)).await;
    assert!(matches!(second.events.recv().await, Some(ServerEvent::Lost { count: 1 })));
    assert!(budget.rejected().contains(&("no_room", 1)));
    second.server.write_all(&reply_of(5)).await.unwrap();
    assert_eq!(second.reply.await.unwrap().get(), "\"xxxxx\"");
    assert!(!first.client.is_closed() && !second.client.is_closed());
    drop(kept);
    assert_eq!(budget.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_large_frame_releases_its_budget() {
    let budget = Arc::new(FrameBudget::default());
    let mut options = options();
    options.frames = budget.clone();
    let (client, _events, mut server) = bare(1 << 20, options);
    server.write_all(b"Content-Length: 30000000\r\n\r\n").await.unwrap();
    server.write_all(&vec![b' '; 500_000]).await.unwrap();
    assert_eq!(client.closed().await, CloseReason::Frame(FrameError::Stalled));
    settle().await;
    assert_eq!(budget.in_flight(), 0);
}
