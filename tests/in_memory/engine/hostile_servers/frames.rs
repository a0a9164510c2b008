//! Frames that break the base protocol: headers, lengths and bodies.

use super::*;

const CLOSED: &str = "PROVIDER_UNAVAILABLE crashed";
const TWO_VIOLATIONS: &str = "restarting crashed, 2 protocol_error";
const TIMEOUT: &str = "CAP_EXCEEDED timeout answering";

/// Bytes after which the stream can't be read any further. The call is tried again once, and the second server does the same.
fn closed(name: &'static str, bytes: impl Fn() -> Vec<u8> + 'static) -> Behaviour {
    on_definition(name, move |_| vec![raw(&bytes())]).gets(CLOSED).leaves(TWO_VIOLATIONS)
}

/// Text between two messages that is passed over; the right answer follows.
fn printed(name: &'static str, bytes: impl Fn() -> Vec<u8> + 'static) -> Behaviour {
    on_definition(name, move |site| vec![raw(&bytes()), reply(json!([site.location("a.fake", 1)]))])
}

/// A body that is passed over; the right answer follows.
fn passed_over(name: &'static str, bytes: impl Fn() -> Vec<u8> + 'static) -> Behaviour {
    on_definition(name, move |site| vec![body(bytes()), reply(json!([site.location("a.fake", 1)]))])
}

fn answer_to(site: &Site) -> String {
    json!({"jsonrpc": "2.0", "id": "{id}", "result": [site.location("a.fake", 1)]})
        .to_string()
        .replace("\"{id}\"", "{id}")
}

fn headers() -> Vec<Behaviour> {
    vec![
        printed("text before a header", || b"Segmentation fault\r\n\r\n".to_vec()),
        printed("text without an end of line before a header", || b"Loading 50 %\rLoading 100 %".to_vec()),
        printed("a line of text for each of a thousand files", || {
            "Error: no such package\n".repeat(1_000).into_bytes()
        }),
        closed("text above the limit", || "Error: no such package\n".repeat(50_000).into_bytes()),
        closed("a line above the limit", || vec![b'x'; 1_100_000]),
        closed("no Content-Length", || b"Content-Type: text\r\n\r\n{}".to_vec()),
        closed("negative length", || b"Content-Length: -1\r\n\r\n".to_vec()),
        closed("length in letters", || b"Content-Length: ten\r\n\r\n".to_vec()),
        closed("length above the limit", || b"Content-Length: 34603008\r\n\r\n".to_vec()),
        closed("length of a hundred digits", || format!("Content-Length: {}\r\n\r\n", "9".repeat(100)).into_bytes()),
        closed("two lengths", || b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}".to_vec()),
        closed("empty length", || b"Content-Length:\r\n\r\n{}".to_vec()),
        closed("a header of 20,000 bytes", || format!("Content-Type: {}", "x".repeat(20_000)).into_bytes()),
        closed("10,000 headers", || "Content-Type: b\r\n".repeat(10_000).into_bytes()),
        closed("text in a header block", || b"Content-Type: x\r\nSegmentation fault\r\n\r\n".to_vec()),
        printed("an empty header block", || b"\r\n\r\n".to_vec()),
        printed("NUL bytes before a header", || vec![0; 64]),
        printed("a byte order mark before the header", || "\u{feff}Content-Length: 2\r\n\r\n{}".into()),
        printed("a body longer than its length", || b"Content-Length: 2\r\n\r\n{} and more".to_vec()),
        on_definition("text in place of an answer", |_| vec![raw(b"Segmentation fault\r\n\r\n")]).gets(TIMEOUT),
        on_definition("lines that end with LF only", |site| {
            let text = json!({"jsonrpc": "2.0", "method": "x"}).to_string();
            let bytes = format!("Content-Length: {}\n\n{text}", text.len());
            vec![raw(bytes.as_bytes()), reply(json!([site.location("a.fake", 1)]))]
        }),
        on_definition("an unknown charset and a header in lower case", |site| {
            let bytes = b"content-length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-99\r\n\r\n{}";
            vec![raw(bytes), reply(json!([site.location("a.fake", 1)]))]
        }),
    ]
}

fn bodies() -> Vec<Behaviour> {
    vec![
        passed_over("an empty body", Vec::new),
        passed_over("NUL bytes in a body", || vec![0; 100]),
        passed_over("invalid UTF-8", || b"{\"method\":\"x\",\"params\":\"\xff\xfe\"}".to_vec()),
        passed_over("a byte order mark in a body", || "\u{feff}{\"method\":\"x\"}".into()),
        passed_over("nesting of 100,000 arrays", || {
            format!("{{\"method\":\"x\",\"params\":{}1", "[".repeat(100_000)).into()
        }),
        passed_over("a number of 100,000 digits", || {
            format!("{{\"method\":\"x\",\"params\":{}}}", "9".repeat(100_000)).into()
        }),
        passed_over("a number with a huge exponent", || b"{\"method\":\"x\",\"params\":1e999999999}".to_vec()),
        passed_over("duplicate keys", || b"{\"id\":1,\"result\":1,\"result\":2}".to_vec()),
        passed_over("a batch of messages", || b"[{\"method\":\"x\"},{\"method\":\"y\"}]".to_vec()),
        passed_over("a text as the whole body", || b"\"hello\"".to_vec()),
        passed_over("two messages in one body", || b"{\"method\":\"x\"}{\"method\":\"y\"}".to_vec()),
        on_definition("63 malformed bodies", |site| {
            let mut steps = vec![body("no"); 63];
            steps.push(reply(json!([site.location("a.fake", 1)])));
            steps
        }),
        on_definition("64 malformed bodies", |_| vec![body("no"); 64]).gets(CLOSED).leaves(TWO_VIOLATIONS),
        on_definition("a notification of 31 MiB", |site| {
            let large = repeat("{\"method\":\"x\",\"params\":\"", "mmmmmmmm", 31 << 17, "\"}");
            vec![large, reply(json!([site.location("a.fake", 1)]))]
        }),
        on_definition("an answer of which half arrives", |_| vec![half_reply()]).gets(TIMEOUT).stays_hostile(),
        on_definition("a header without its body", |_| vec![header_of(1_000)]).gets(TIMEOUT).stays_hostile(),
        on_definition("an answer longer than its text", |site| {
            let text = answer_to(site);
            vec![header_of(text.len() + 50), raw(text.as_bytes())]
        })
        .gets(TIMEOUT)
        .stays_hostile(),
        on_definition("an answer one byte at a time", |site| vec![trickle(1, &answer_to(site))]),
        on_definition("an answer that is too slow", |site| vec![trickle(100, &answer_to(site))])
            .gets(TIMEOUT)
            .stays_hostile(),
    ]
}

pub(super) fn behaviours() -> Vec<Behaviour> {
    headers().into_iter().chain(bodies()).collect()
}

#[test]
fn frames() {
    check("frames", behaviours());
}
