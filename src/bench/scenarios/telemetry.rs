//! The scenario `telemetry`: two codeyard servers get the same questions, one of them exports to a collector that accepts everything.
//!
//! They alternate in blocks. The targets apply to the median of the differences of the blocks. Both are restarted several times,
//! because of two identical processes one is often faster for its whole lifetime.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::Corpus;
use crate::pair::{ask_served, first_place};
use crate::questions::{BenchQuestion, QuestionPool};
use crate::report::{Report, Target};
use crate::stats::{CallTimes, median};
use crate::{Bench, figure};
use codeyard_cli::Failure;

/// Concurrent clients.
const CLIENTS: usize = 4;
/// Restarts of both servers.
const ROUNDS: usize = 4;
/// Number of alternating blocks.
const BLOCKS: usize = 40;
/// Least throughput with export, relative to that without.
const KEPT: f64 = 0.97;
/// Milliseconds that the export may add to the 99th percentile.
const ADDED_P99_MS: f64 = 0.2;
/// Largest head of a request to the collector, in bytes.
const HEAD_BYTES: usize = 16 * 1024;

/// A codeyard server with its clients and durations.
struct TelemetrySide {
    served: CodeyardServer,
    clients: Vec<McpHttpClient>,
    times: CallTimes,
    errors: u64,
}

impl TelemetrySide {
    async fn start(
        bench: &Bench,
        corpus: &Corpus,
        pool: &QuestionPool,
        env: &[(&str, String)],
    ) -> Result<Self, Failure> {
        let folder = bench.scratch.folder("served")?;
        let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, "", env).await?;
        let mut clients = served.clients(corpus, CLIENTS).await?;
        if let Some(client) = clients.first_mut() {
            for path in &pool.warm {
                client.ask_with_retry(&first_place(path)).await.map_err(Failure::new)?;
            }
        }
        Ok(Self { served, clients, times: CallTimes::default(), errors: 0 })
    }

    async fn ask(&mut self, asks: &[BenchQuestion]) {
        let mut span = self.times.span;
        for sample in ask_served(&mut self.clients, asks, &mut span).await {
            sample.add_to(&mut self.times, &mut self.errors);
        }
        self.times.span = span;
    }

    /// The same; also returns the durations of this block.
    async fn ask_block(&mut self, asks: &[BenchQuestion]) -> CallTimes {
        let before = std::mem::take(&mut self.times);
        self.ask(asks).await;
        let block = std::mem::replace(&mut self.times, before);
        self.times.join(&block);
        block
    }
}

/// Measures with and without export.
pub(crate) async fn telemetry(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let collector = OtlpCollector::start().map_err(|error: std::io::Error| {
        Failure::new(format!("cannot start the OTLP collector on 127.0.0.1: {error}"))
    })?;
    let address = collector.address;
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned()),
        ("OTEL_TRACES_EXPORTER", "otlp".to_owned()),
        ("OTEL_METRICS_EXPORTER", "otlp".to_owned()),
    ];
    let mut pool = QuestionPool::new(corpus, bench.args.seed.wrapping_add(4));
    let asks: Vec<BenchQuestion> = (0..bench.args.calls * 2).map_while(|_| pool.definition()).collect();
    let block = (asks.len() / BLOCKS).max(CLIENTS);
    let mut costs = ExportCosts::default();
    for (round, asks) in asks.chunks(block * BLOCKS.div_ceil(ROUNDS)).enumerate() {
        let (mut off, mut on);
        if round % 2 == 0 {
            off = TelemetrySide::start(bench, corpus, &pool, &[]).await?;
            on = TelemetrySide::start(bench, corpus, &pool, &env).await?;
        } else {
            on = TelemetrySide::start(bench, corpus, &pool, &env).await?;
            off = TelemetrySide::start(bench, corpus, &pool, &[]).await?;
        }
        for (number, asks) in asks.chunks(block).enumerate() {
            if off.times.span + on.times.span > bench.time() {
                break;
            }
            let (without, with) = if number % 2 == 0 {
                let without = off.ask_block(asks).await;
                (without, on.ask_block(asks).await)
            } else {
                let with = on.ask_block(asks).await;
                (off.ask_block(asks).await, with)
            };
            costs.kept.push(with.rate() / without.rate().max(f64::MIN_POSITIVE));
            costs.added.push(with.ms(99.0) - without.ms(99.0));
        }
        costs.off.join(&off.times);
        costs.on.join(&on.times);
        costs.errors += off.errors + on.errors;
        tokio::join!(off.served.stop(), on.served.stop());
    }
    add_figures(corpus, costs, report);
    drop(collector);
    Ok(())
}

/// Cost of the export, by block.
#[derive(Default)]
struct ExportCosts {
    /// Durations without export and with export.
    off: CallTimes,
    on: CallTimes,
    errors: u64,
    /// Throughput with export relative to that without, by block.
    kept: Vec<f64>,
    /// Milliseconds added to the 99th percentile, by block.
    added: Vec<f64>,
}

fn add_figures(corpus: &Corpus, costs: ExportCosts, report: &mut Report) {
    let off = &costs.off;
    let on = &costs.on;
    let notes = format!("{} calls each, {} errors; first column: telemetry off", on.len(), costs.errors);
    let mut add = |what: &str, bare: Option<f64>, codeyard: f64, target: Option<Target>, notes: String| {
        let what = format!("exporting, {CLIENTS} clients, {what}");
        report.add(figure(&corpus.name, Scenario::Telemetry, what, bare, codeyard, target, notes));
    };
    let blocks = format!("median of {} blocks", costs.kept.len());
    add("calls/s", Some(off.rate()), on.rate(), None, notes);
    let target = Target::at_least(KEPT, format!("≥ {KEPT}"));
    add("calls/s by those without", None, median(costs.kept), target, blocks.clone());
    add("p99 ms", Some(off.ms(99.0)), on.ms(99.0), None, String::new());
    let target = Target::at_most(ADDED_P99_MS, format!("≤ {ADDED_P99_MS} ms"));
    add("added to p99, ms", None, median(costs.added), target, blocks);
}

/// An OTLP receiver on its own thread.
struct OtlpCollector {
    address: SocketAddr,
    /// Dropping it stops the receiver.
    _stop: oneshot::Sender<()>,
}

impl OtlpCollector {
    fn start() -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = collect(listener) => {}
                    _ = stopped => {}
                }
            });
        };
        std::thread::Builder::new().name("collector".to_owned()).spawn(work)?;
        Ok(Self { address, _stop: stop })
    }
}

/// Accepts every export and answers with success.
async fn collect(listener: std::net::TcpListener) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(take_all(stream));
    }
}

async fn take_all(mut stream: TcpStream) {
    let mut buffer = Vec::with_capacity(HEAD_BYTES);
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if buffer.len() > HEAD_BYTES || !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let mut lengths = head.lines().filter_map(|line| line.strip_prefix("content-length:"));
        let length: usize = lengths.next().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        while buffer.len() < end + length {
            if !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        }
        buffer.drain(..end + length);
        let answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
        if stream.write_all(answer).await.is_err() {
            return;
        }
    }
}
