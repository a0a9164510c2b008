//! OTLP receivers, working and failing: the bytes on the wire, and that failing receivers delay no call.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_telemetry::Pipeline;
use codeyard_telemetry::settings::Settings;
use parking_lot::Mutex;
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

/// A timeout that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
struct Received {
    path: String,
    head: String,
    body: Vec<u8>,
}

/// What a receiver does with a connection.
type Behaviour = fn(TcpStream, &Mutex<Vec<Received>>);

/// A receiver on a port of its own, with a thread for each connection.
struct Receiver {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let kept = received.clone();
        let stopping = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if stopping.load(SeqCst) {
                    break;
                }
                let stream = stream.unwrap();
                let kept = kept.clone();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let other_end = stream.try_clone().unwrap();
                connections.push((other_end, std::thread::spawn(move || behaviour(stream, &kept))));
            }
            for (stream, thread) in connections {
                drop(stream.shutdown(std::net::Shutdown::Both));
                thread.join().unwrap();
            }
        });
        Self { address, received, stop, thread: Some(thread) }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        drop(TcpStream::connect(&self.address));
        drop(self.thread.take().unwrap().join());
    }
}

fn one_http_request(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut head = String::new();
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().trim().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Received { path, head, body })
}

fn answering(status: &str, stream: TcpStream, received: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = one_http_request(&mut reader) {
        received.lock().push(request);
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn good(stream: TcpStream, received: &Mutex<Vec<Received>>) {
    answering("200 OK", stream, received);
}

fn broken(stream: TcpStream, received: &Mutex<Vec<Received>>) {
    answering("500 Internal Server Error", stream, received);
}

fn busy(stream: TcpStream, received: &Mutex<Vec<Received>>) {
    answering("503 Service Unavailable", stream, received);
}

/// Accepts requests and never answers.
fn mute(stream: TcpStream, received: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = one_http_request(&mut reader) {
        received.lock().push(request);
    }
}

fn settings(variables: &[(&str, &str)]) -> Settings {
    let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let (settings, warnings) = Settings::from_variables(find);
    assert_eq!(warnings, Vec::<String>::new());
    settings
}

async fn yard(pipeline: &Arc<Pipeline>) -> Yard {
    let site = Site::usual();
    let fake = FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]));
    let pipeline = pipeline.clone();
    Plan::one(site, fake.launcher()).telemetry_setup(move |report| report.with_spans(&pipeline)).open().await
}

fn start(settings: &Settings) -> Arc<Pipeline> {
    let (pipeline, warnings) = Pipeline::start(settings, |builder| builder);
    assert_eq!(warnings, Vec::<String>::new());
    Arc::new(pipeline)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn traces_and_metrics_arrive_by_http() {
    paused(|| async {
        let receiver = Receiver::start(good);
        let pipeline = start(&settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20b"),
            ("OTEL_SERVICE_NAME", "the-yard"),
        ]));
        let counter = pipeline.meter().u64_counter("codeyard.test").build();
        counter.add(3, &[]);
        let yard = yard(&pipeline).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.drain().await;
        pipeline.shutdown();
        assert!(pipeline.losses().spans_exported() >= 3 && pipeline.losses().spans_dropped() == 0);
        let all = receiver.received();
        let of =
            |path: &str| all.iter().find(|request| request.path == path).unwrap_or_else(|| panic!("{path}: {all:?}"));
        let traces = of("/v1/traces");
        assert!(traces.head.starts_with("post ") && traces.head.contains("content-type: application/x-protobuf"));
        assert!(traces.head.contains("x-tenant: a b\r\n"), "{}", traces.head);
        for text in [
            "tools/call vscode.lsp.definition",
            "textDocument/definition",
            "service.name",
            "the-yard",
            "telemetry.sdk.name",
        ] {
            assert!(contains(&traces.body, text), "{text}");
        }
        assert!(contains(&of("/v1/metrics").body, "codeyard.test"));
    });
}

#[test]
fn a_proxy_from_the_environment_receives_nothing() {
    let proxy = Receiver::start(good);
    // Environment variables are per process, so another process runs the test.
    #[expect(clippy::disallowed_methods, reason = "this test itself, with another environment")]
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "telemetry::receivers::traces_and_metrics_arrive_by_http"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        again.env(name, proxy.url());
    }
    let ran = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(proxy.received().len(), 0);
}

#[test]
fn a_failing_receiver_costs_no_call_and_bounded_memory() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let mute = Receiver::start(mute);
    let broken = Receiver::start(broken);
    let busy = Receiver::start(busy);
    let cases = [
        (dead.clone(), "http/protobuf"),
        (dead, "grpc"),
        (mute.url(), "http/protobuf"),
        (broken.url(), "http/protobuf"),
        (busy.url(), "http/protobuf"),
    ];
    for (url, protocol) in cases {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "16"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4"),
            ("OTEL_BSP_SCHEDULE_DELAY", "1"),
        ];
        in_real_time(async || bad(&settings(&variables)).await);
    }
}

async fn bad(settings: &Settings) {
    let pipeline = start(settings);
    let yard = yard(&pipeline).await;
    for line in 0..3 {
        for character in 0..4 {
            yard.call(DEFINITION, yard.site().at("a.fake", line, character)).await.ok();
        }
    }
    // Many quick answers from snapshots.
    let began = Instant::now();
    let losses = pipeline.losses();
    while losses.spans_dropped() < 100 {
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert!(began.elapsed() < PATIENCE, "nothing is dropped: {losses:?}");
    }
    assert_eq!(losses.spans_exported(), 0);
    yard.drain().await;
    let began = Instant::now();
    pipeline.shutdown();
    assert!(began.elapsed() < Duration::from_secs(8), "the end is bounded: {:?}", began.elapsed());
}

#[test]
fn a_failed_exporter_setup_is_reported_and_the_service_runs() {
    paused(|| async {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none.pem");
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "no certificate").unwrap();
        let start = |file: &std::path::Path, protocol: &str| {
            let settings = settings(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:1"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
                ("OTEL_EXPORTER_OTLP_CERTIFICATE", file.to_str().unwrap()),
            ]);
            Pipeline::start(&settings, |builder| builder)
        };
        for (file, wrong) in [(&missing, "can't be read"), (&empty, "holds no PEM")] {
            for protocol in ["http/protobuf", "grpc"] {
                let (pipeline, warnings) = start(file, protocol);
                pipeline.shutdown();
                assert_eq!(warnings.len(), 2, "{warnings:?}");
                let expected = format!("OTEL_EXPORTER_OTLP_CERTIFICATE {wrong}");
                assert!(warnings.iter().all(|warning| warning.contains(&expected)), "{warnings:?}");
                assert!(!warnings.concat().contains(".pem"), "no path: {warnings:?}");
            }
        }
        let (pipeline, _) = start(&missing, "http/protobuf");
        let pipeline = Arc::new(pipeline);
        let yard = yard(&pipeline).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.drain().await;
        pipeline.shutdown();
    });
}

/// A minimal HTTP/2 server for unary gRPC calls on one connection: it acknowledges settings, keeps the bodies, and
/// answers each call with an empty message and status 0.
fn grpc(mut stream: TcpStream, received: &Mutex<Vec<Received>>) {
    const PREFACE: usize = 24;
    let frame = |kind: u8, flags: u8, id: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &id.to_be_bytes(), payload].concat()
    };
    let mut preface = [0; PREFACE];
    if stream.read_exact(&mut preface).is_err() || stream.write_all(&frame(4, 0, 0, &[])).is_err() {
        return;
    }
    let mut body = Vec::new();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).is_err() {
            return;
        }
        let kind = head[3];
        let flags = head[4];
        let answer = match kind {
            4 if flags & 1 == 0 => frame(4, 1, 0, &[]),
            6 if flags & 1 == 0 => frame(6, 1, 0, &payload),
            0 => {
                body.extend_from_slice(&payload);
                if flags & 1 == 0 {
                    continue;
                }
                let body = std::mem::take(&mut body);
                received.lock().push(Received { path: String::new(), head: String::new(), body });
                // `:status: 200` by its index, `content-type` by the index of its name, `grpc-status` in full.
                let kind = [&[0x88, 0x0f, 0x10, 16][..], b"application/grpc"].concat();
                let status = [&[0x00, 11][..], b"grpc-status", &[1], b"0"].concat();
                [frame(1, 4, id, &kind), frame(0, 0, id, &[0; 5]), frame(1, 5, id, &status)].concat()
            }
            _ => continue,
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

#[test]
fn traces_and_metrics_arrive_by_grpc() {
    paused(|| async {
        let receiver = Receiver::start(grpc);
        let pipeline = start(&settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ]));
        pipeline.meter().u64_counter("codeyard.test").build().add(3, &[]);
        let yard = yard(&pipeline).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.drain().await;
        pipeline.shutdown();
        let losses = pipeline.losses();
        assert!(losses.spans_exported() >= 3 && losses.spans_dropped() == 0, "{losses:?}");
        assert_eq!(losses.metric_exports_failed(), 0);
        let all = receiver.received();
        for text in ["tools/call vscode.lsp.definition", "textDocument/definition", "codeyard.test"] {
            assert!(all.iter().any(|request| contains(&request.body, text)), "{text}");
        }
    });
}
