//! What telemetry costs: two codeyards with the same questions, one of which exports to a collector that takes everything.
//!
//! They take turns in blocks, and the targets are judged by the median of what the two differ by, block by block. Both are
//! started anew several times: of two processes that do the same, one is often the faster for as long as it lives.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::args::Scenario;
use super::corpus::Corpus;
use super::pair::{ask_served, first_place};
use super::questions::{Ask, Deck};
use super::report::{Report, Target};
use super::served::{Client, Served};
use super::stats::{Times, median};
use super::{Bench, figure};
use codeyard_cli::Failure;

/// Clients at once.
const CLIENTS: usize = 4;
/// How often both are started.
const ROUNDS: usize = 4;
/// Blocks in which the two take turns.
const BLOCKS: usize = 40;
/// The share of the throughput that must stay.
const KEPT: f64 = 0.97;
/// What may be added to the 99th percentile, in milliseconds.
const ADDED_P99_MS: f64 = 0.2;
/// Longest head of a request to the collector.
const HEAD_BYTES: usize = 16 * 1024;

/// A codeyard with its clients and times.
struct Side {
    served: Served,
    clients: Vec<Client>,
    times: Times,
    errors: u64,
}

impl Side {
    async fn start(bench: &Bench, corpus: &Corpus, deck: &Deck, env: &[(&str, String)]) -> Result<Self, Failure> {
        let folder = bench.scratch.folder("served")?;
        let served = Served::start(&[corpus], &bench.installer, &folder, "", env).await?;
        let mut clients = served.clients(corpus, CLIENTS).await?;
        if let Some(client) = clients.first_mut() {
            for path in &deck.warm {
                client.ask_patiently(&first_place(path)).await.map_err(Failure::new)?;
            }
        }
        Ok(Self { served, clients, times: Times::default(), errors: 0 })
    }

    async fn ask(&mut self, asks: &[Ask]) {
        let mut span = self.times.span;
        for sample in ask_served(&mut self.clients, asks, &mut span).await {
            sample.add_to(&mut self.times, &mut self.errors);
        }
        self.times.span = span;
    }

    /// The same, and the block's own times.
    async fn ask_block(&mut self, asks: &[Ask]) -> Times {
        let before = std::mem::take(&mut self.times);
        self.ask(asks).await;
        let block = std::mem::replace(&mut self.times, before);
        self.times.join(&block);
        block
    }
}

/// See the module.
pub(crate) async fn telemetry(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let collector = Collector::start()
        .map_err(|error: std::io::Error| Failure::new(format!("the collector can't listen: {error}")))?;
    let address = collector.address;
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned()),
        ("OTEL_TRACES_EXPORTER", "otlp".to_owned()),
        ("OTEL_METRICS_EXPORTER", "otlp".to_owned()),
    ];
    let mut deck = Deck::new(corpus, bench.args.seed.wrapping_add(4));
    let asks: Vec<Ask> = (0..bench.args.calls * 2).map_while(|_| deck.definition()).collect();
    let block = (asks.len() / BLOCKS).max(CLIENTS);
    let mut costs = Costs::default();
    for (round, asks) in asks.chunks(block * BLOCKS.div_ceil(ROUNDS)).enumerate() {
        let (mut off, mut on);
        if round % 2 == 0 {
            off = Side::start(bench, corpus, &deck, &[]).await?;
            on = Side::start(bench, corpus, &deck, &env).await?;
        } else {
            on = Side::start(bench, corpus, &deck, &env).await?;
            off = Side::start(bench, corpus, &deck, &[]).await?;
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
    tell(corpus, costs, report);
    drop(collector);
    Ok(())
}

/// What exporting took from each block.
#[derive(Default)]
struct Costs {
    /// The times without it, and with it.
    off: Times,
    on: Times,
    errors: u64,
    /// The share of the throughput that was kept.
    kept: Vec<f64>,
    /// What was added to the 99th percentile, in milliseconds.
    added: Vec<f64>,
}

fn tell(corpus: &Corpus, costs: Costs, report: &mut Report) {
    let (off, on) = (&costs.off, &costs.on);
    let notes = format!("{} calls each, {} errors; first column: telemetry off", on.len(), costs.errors);
    let mut add = |what: &str, values: (Option<f64>, f64), target: Option<Target>, notes: String| {
        let what = format!("exporting, {CLIENTS} clients, {what}");
        report.add(figure(corpus, Scenario::Telemetry, what, values, target, notes));
    };
    let blocks = format!("median of {} blocks", costs.kept.len());
    add("calls/s", (Some(off.rate()), on.rate()), None, notes);
    let target = Target::at_least(KEPT, format!("≥ {KEPT}"));
    add("calls/s by those without", (None, median(costs.kept)), target, blocks.clone());
    add("p99 ms", (Some(off.ms(99.0)), on.ms(99.0)), None, String::new());
    let target = Target::at_most(ADDED_P99_MS, format!("≤ {ADDED_P99_MS} ms"));
    add("added to p99, ms", (None, median(costs.added)), target, blocks);
}

/// A receiver on a thread of its own, as a collector is no part of its clients.
struct Collector {
    address: SocketAddr,
    /// Its end is the receiver's.
    _stop: oneshot::Sender<()>,
}

impl Collector {
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

/// Accepts every export and says that it was taken.
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
