//! Every refusal, alone and combined with every other: the earlier check wins.

use std::time::Duration;

use codeyard_model::limits::MAX_REQUEST_BYTES;
use codeyard_server::transport::http::refusal::RefusalReason;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::transport::wire::{Ask, Server, read_answer, server, server_with};

/// Changes `ask` so that it violates `refusal`; `None` for refusals that need more than bytes.
pub(crate) fn violate(refusal: RefusalReason, ask: Ask) -> Option<Ask> {
    Some(match refusal {
        RefusalReason::HeadSize => ask.add("x-large", &"x".repeat(33 * 1024)),
        RefusalReason::Path => ask.at("/elsewhere"),
        RefusalReason::Method => ask.method("PUT"),
        RefusalReason::Host => ask.set("host", "evil.example"),
        RefusalReason::Origin => ask.add("origin", "http://evil.example"),
        RefusalReason::Bearer => ask.set("authorization", "Bearer cyd_wrong"),
        RefusalReason::GroupCatalog => ask.at("/mcp/@nowhere/lsp-v1"),
        RefusalReason::Endpoint => ask.at("/mcp/nowhere"),
        RefusalReason::Content => ask.at("/mcp?content=some"),
        RefusalReason::ContentType => ask.set("content-type", "text/plain"),
        RefusalReason::Accept => ask.set("accept", "application/json"),
        RefusalReason::BodySize => ask.body(vec![b' '; MAX_REQUEST_BYTES + 1]),
        RefusalReason::Message => ask.body("nonsense"),
        RefusalReason::WrongVersion => ask.set("mcp-protocol-version", "2024-11-05"),
        RefusalReason::MissingVersion => ask.without("mcp-protocol-version").without("mcp-session-id"),
        RefusalReason::MissingSession => ask.without("mcp-session-id"),
        RefusalReason::UnknownSession => ask.in_session("nonesuch"),
        RefusalReason::BodyTime | RefusalReason::BodyBroken => return None,
        // They need an authorization server: `admin::sign_on` of the tests of the product.
        RefusalReason::SignOn | RefusalReason::NoTenant => return None,
        // At a path of their own: `admin::minted` of the tests of the product.
        RefusalReason::TokenMethod
        | RefusalReason::UnknownToken
        | RefusalReason::TokenRequest
        | RefusalReason::TokenStore => return None,
    })
}

pub(crate) fn reason_of(refusal: RefusalReason) -> &'static str {
    if refusal == RefusalReason::Message { "not_json" } else { refusal.reason() }
}

async fn good(server: &Server) -> Ask {
    let id = server.session().await;
    server.call(&json!(1), "echo", &json!({})).in_session(&id)
}

#[tokio::test]
async fn each_refusal_and_each_pair_in_order() {
    let server = server().await;
    let good = good(&server).await;
    assert_eq!(server.send(&good).await.status, 200);
    for (at, first) in RefusalReason::ALL.into_iter().enumerate() {
        let Some(alone) = violate(first, good.clone()) else { continue };
        let answer = server.send(&alone).await;
        assert_eq!((answer.status, &*answer.reason()), (first.status().as_u16(), reason_of(first)), "{first:?}");
        assert!(answer.body.len() < 400 && answer.header("content-type") == Some("application/json"));
        for second in &RefusalReason::ALL[at + 1..] {
            // Applies the later violation first, so that the earlier one wins where both change the same part.
            let Some(both) = violate(*second, good.clone()).and_then(|ask| violate(first, ask)) else { continue };
            let answer = server.send(&both).await;
            assert_eq!(answer.reason(), reason_of(first), "{first:?} before {second:?}");
        }
    }
    assert_eq!(server.fake.started.load(std::sync::atomic::Ordering::SeqCst), 1, "no refused request reached a tool");
}

#[tokio::test]
async fn refusals_have_the_required_http_headers() {
    let server = server().await;
    let good = good(&server).await;
    for method in ["GET", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE"] {
        let answer = server.send(&good.clone().method(method).body("")).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, DELETE")), "{method}");
    }
    let answer = server.send(&violate(RefusalReason::Bearer, good.clone()).unwrap()).await;
    assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"codeyard\""));
    assert!(!String::from_utf8_lossy(&answer.body).contains("cyd_"));
    for wrong in ["", "cyd_", "Basic abc", "Bearer", "Bearer ", &format!("Bearer {}x", server.token), &server.token] {
        assert_eq!(server.send(&good.clone().set("authorization", wrong)).await.status, 401, "{wrong}");
    }
    let twice = good.clone().add("authorization", &format!("Bearer {}", server.token));
    assert_eq!(server.send(&twice).await.status, 401);
    assert_eq!(server.send(&good.clone().without("authorization")).await.status, 401);
    let lower = good.clone().set("authorization", &format!("bearer {}", server.token));
    assert_eq!(server.send(&lower).await.status, 200);
}

#[tokio::test]
async fn a_client_that_begins_oauth_reads_that_it_needs_a_token() {
    let server = server().await;
    let message = crate::transport::wire::initialize();
    let refused = server.send(&server.post(&message).without("authorization")).await;
    let says = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        ["Authorization: Bearer", "codeyard connect", "codeyard token add", "no OAuth"]
            .iter()
            .all(|part| text.contains(part))
    };
    assert!(refused.status == 401 && says(&refused.json()["error"]["message"]), "{refused:?}");
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"] {
        let answer = server.send(&server.post(&message).without("authorization").at(path).method("GET").body("")).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    let register =
        server.post(&json!({"redirect_uris": ["http://127.0.0.1:1/x"]})).without("authorization").at("/register");
    let answer = server.send(&register).await;
    assert!(answer.status == 400 && says(&answer.json()["error_description"]), "{answer:?}");
    assert_eq!(answer.json()["error"], "invalid_client_metadata");
}

#[tokio::test]
async fn hidden_and_unknown_endpoints_are_indistinguishable() {
    let server = server().await;
    let good = good(&server).await;
    let bodies = ["/mcp/secret", "/mcp/nowhere", "/mcp/main/nope", "/mcp/main/agent+nope", "/mcp/@nowhere/code"]
        .map(|target| good.clone().at(target));
    let mut seen = Vec::new();
    for ask in &bodies {
        let answer = server.send(ask).await;
        assert_eq!(answer.status, 404);
        seen.push(answer.body);
    }
    seen.dedup();
    assert_eq!(seen.len(), 1);
    let bob = good
        .clone()
        .set("authorization", &format!("Bearer {}", server.bob))
        .body(crate::transport::wire::initialize().to_string());
    assert_eq!(server.send(&bob.at("/mcp/secret")).await.status, 200);
    let aliases = ["/mcp/main/mcp", "/mcp/main/agent/mcp", "/mcp/main/agent+lsp-v1/mcp?x=1"];
    for target in ["/mcp/main", "/mcp/main/agent", "/mcp/main/agent+lsp-v1", "/mcp?x=1"].into_iter().chain(aliases) {
        assert_eq!(server.send(&good.clone().at(target)).await.status, 200, "{target}");
    }
}

#[tokio::test]
async fn a_wrong_path_is_answered_with_the_right_one() {
    let server = server().await;
    let good = good(&server).await;
    for (target, right) in [
        ("/mcp/main/agent/", "use /mcp/main/agent"),
        ("/mcp/main/agent/sse", "use /mcp/main/agent"),
        ("/sse", "use /mcp"),
        ("/elsewhere", "also with /mcp at the end"),
    ] {
        let answer = server.send(&good.clone().at(target)).await;
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(answer.status == 404 && message.ends_with(right), "{target}: {message}");
    }
    let answer = server.send(&good.clone().at("/mcp/x$y/agent")).await;
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(!message.contains("x$y") && !message.contains("use /mcp"), "{message}");
}

#[tokio::test]
async fn host_headers_are_checked() {
    let server = server_with(|options| assert!(options.allowed_hosts.allow("code.example"))).await;
    let good = good(&server).await;
    for host in ["localhost:1", "LOCALHOST", "localhost.", "127.0.0.1", "[::1]:3939", "code.example"] {
        assert_eq!(server.send(&good.clone().set("host", host)).await.status, 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", ""] {
        assert_eq!(server.send(&good.clone().set("host", host)).await.status, 403, "{host}");
    }
    assert_eq!(server.send(&good.clone().without("host")).await.status, 403);
    assert_eq!(server.send(&good.clone().add("host", "localhost")).await.status, 403);
    assert_eq!(server.send(&good.clone().at("http://evil.example/mcp")).await.status, 403);
    assert_eq!(server.send(&good.clone().at("http://localhost/mcp")).await.status, 200);
}

#[tokio::test]
async fn origin_headers_are_checked() {
    let server = server_with(|options| options.allowed_origins.allow("https://app.example")).await;
    let good = good(&server).await;
    for origin in ["http://localhost:5173", "http://127.0.0.1", "https://app.example"] {
        assert_eq!(server.send(&good.clone().add("origin", origin)).await.status, 200, "{origin}");
    }
    for origin in ["null", "http://evil.example", "http://app.example", ""] {
        assert_eq!(server.send(&good.clone().add("origin", origin)).await.status, 403, "{origin}");
    }
}

#[tokio::test]
async fn oversized_bodies_are_refused_by_header_and_by_count() {
    let server = server().await;
    let good = good(&server).await;
    // Announced length: refused before a byte of the body was sent.
    let announced = good.clone().body("").set("content-length", &(MAX_REQUEST_BYTES + 1).to_string());
    let mut stream = server.open(&announced.bytes()).await;
    let mut start = [0_u8; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
    // Counted length.
    let mut body = format!("{:x}\r\n", MAX_REQUEST_BYTES + 1).into_bytes();
    body.resize(body.len() + MAX_REQUEST_BYTES + 1, b' ');
    body.extend_from_slice(b"\r\n0\r\n\r\n");
    let counted = server.send(&good.clone().set("transfer-encoding", "chunked").body(body)).await;
    assert_eq!((counted.status, &*counted.reason()), (413, "body_too_large"));
    // The body is much larger than the part that the server reads, yet the answer arrives.
    let flood = server.send(&good.clone().body(vec![b' '; 3 * MAX_REQUEST_BYTES])).await;
    assert_eq!(flood.status, 413);
    // A body of exactly the limit is accepted.
    let mut exact = good.body.clone();
    exact.resize(MAX_REQUEST_BYTES, b' ');
    assert_eq!(server.send(&good.body(exact)).await.status, 200);
}

#[tokio::test]
async fn slow_and_broken_requests_are_refused() {
    let server = server_with(|options| {
        options.connections.body = Duration::from_millis(150);
        options.connections.head = Duration::from_millis(400);
    })
    .await;
    let good = good(&server).await.set("content-length", "50").body("{");
    let slow = server.send_bytes(&good.bytes()).await;
    assert_eq!((slow.status, &*slow.reason()), (408, "body_too_slow"));
    // An endless head: closed with at most a bare status.
    let mut stream = server.open(b"POST /mcp HTTP/1.1\r\nhost: local").await;
    let mut text = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut text)).await;
    assert!(closed.is_ok());
    // Too many headers, and too long ones.
    let many = (0..200).fold(good.clone(), |ask, at| ask.add(&format!("x-{at}"), "y"));
    assert_eq!(server.send(&many).await.status, 431);
    let long = good.add("x-long", &"y".repeat(64 * 1024));
    assert_eq!(server.send(&long).await.status, 431);
}

#[tokio::test]
async fn malformed_messages_are_400_with_a_json_rpc_error() {
    let server = server().await;
    let good = good(&server).await;
    let cases = [
        ("", -32700, "not_json", Value::Null),
        ("{\"jsonrpc\":", -32700, "not_json", Value::Null),
        ("[]", -32600, "batch", Value::Null),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, "batch", Value::Null),
        ("{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", -32600, "wrong_jsonrpc", json!(5)),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, "bad_id", Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, "bad_id", Value::Null),
    ];
    for (body, code, reason, id) in cases {
        let answer = server.send(&good.clone().body(body)).await;
        let error = answer.json();
        assert_eq!((answer.status, &error["error"]["code"], &*answer.reason()), (400, &json!(code), reason), "{body}");
        assert_eq!((&error["id"], &error["jsonrpc"]), (&id, &json!("2.0")), "{body}");
    }
}

#[tokio::test]
async fn connections_above_the_cap_are_refused_with_a_retry_hint() {
    let server = server_with(|options| options.connections.connections = 1).await;
    let ask = server.post(&crate::transport::wire::initialize()).without("connection");
    let mut held = server.open(&ask.bytes()).await;
    let mut start = [0_u8; 12];
    held.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let turned_away = server.send(&ask.clone()).await;
    assert_eq!((turned_away.status, turned_away.header("retry-after")), (503, Some("1")));
    assert_eq!(turned_away.json()["error"]["data"]["retryAfterMs"], 1000);
    drop(held);
    let address = server.address;
    let bytes = ask.add("connection", "close").bytes();
    let again = async {
        loop {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            let mut text = Vec::new();
            stream.read_to_end(&mut text).await.unwrap();
            if read_answer(&text).status == 200 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), again).await.expect("the connection slot was never freed");
}

#[tokio::test]
async fn without_tokens_only_loopback_is_served() {
    use codeyard_server::transport::http::{self, HttpOptions};
    let open = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let fake = std::sync::Arc::new(crate::transport::fake::Fake::default());
    let served = http::serve(open, fake, HttpOptions::new(None), Default::default()).await;
    assert!(matches!(served, Err(http::HttpServerError::OpenWithoutToken)));
    let server = server_with(|options| options.auth = None).await;
    let open = good(&server).await.without("authorization");
    assert_eq!(server.send(&open).await.status, 200);
    assert_eq!(server.fake.seen.lock()[0]["principal"], "local");
}

#[tokio::test]
async fn a_client_still_sending_when_refused_is_not_reset() {
    let server = server().await;
    let ask =
        good(&server).await.without("authorization").set("content-length", &MAX_REQUEST_BYTES.to_string()).body("{");
    let mut stream = server.open(&ask.bytes()).await;
    let mut text = Vec::new();
    // The connection ends with the answer, before the client has sent the announced body.
    stream.read_to_end(&mut text).await.unwrap();
    assert_eq!(read_answer(&text).status, 401);
    for _ in 0..15 {
        stream.write_all(&[b' '; 64 * 1024]).await.expect("the rest is read and thrown away");
        tokio::task::yield_now().await;
    }
}
