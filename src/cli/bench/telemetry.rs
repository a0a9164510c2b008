//! What telemetry costs: two codeyards with the same questions, one of which exports to a collector that takes everything.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::args::Scenario;
use super::corpus::Corpus;
use super::pair::{ask_served, first_place};
use super::questions::{Ask, Deck};
use super::report::{Report, Target};
use super::served::{Client, Served};
use super::stats::Times;
use super::{Bench, figure};
use crate::cli::Failure;

/// Clients at once.
const CLIENTS: usize = 4;
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
}

/// See the module.
pub async fn telemetry(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("the collector can't listen: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let collector = tokio::task::spawn_local(collect(listener));
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned()),
        ("OTEL_TRACES_EXPORTER", "otlp".to_owned()),
        ("OTEL_METRICS_EXPORTER", "otlp".to_owned()),
    ];
    let mut deck = Deck::new(corpus, bench.args.seed.wrapping_add(4));
    let mut off = Side::start(bench, corpus, &deck, &[]).await?;
    let mut on = Side::start(bench, corpus, &deck, &env).await?;
    let asks: Vec<Ask> = (0..bench.args.calls * 2).map_while(|_| deck.definition()).collect();
    for (number, asks) in asks.chunks((asks.len() / BLOCKS).max(CLIENTS)).enumerate() {
        if off.times.span + on.times.span > bench.time() * 3 {
            break;
        }
        if number % 2 == 0 {
            off.ask(asks).await;
            on.ask(asks).await;
        } else {
            on.ask(asks).await;
            off.ask(asks).await;
        }
    }
    tell(corpus, &off, &on, report);
    tokio::join!(off.served.stop(), on.served.stop());
    collector.abort();
    Ok(())
}

fn tell(corpus: &Corpus, off: &Side, on: &Side, report: &mut Report) {
    let notes =
        format!("{} calls each, {} errors; first column: telemetry off", on.times.len(), off.errors + on.errors);
    let rate = off.times.rate();
    let target = Target::at_least(rate * KEPT, "≥ 0.97 × without");
    let what = format!("exporting, {CLIENTS} clients, calls/s");
    report.add(figure(corpus, Scenario::Telemetry, what, (Some(rate), on.times.rate()), target, notes));
    let p99 = off.times.ms(99.0);
    let target = Target::at_most(p99 + ADDED_P99_MS, "≤ without + 0.2 ms");
    let what = format!("exporting, {CLIENTS} clients, p99 ms");
    report.add(figure(corpus, Scenario::Telemetry, what, (Some(p99), on.times.ms(99.0)), target, ""));
}

/// Accepts every export and says that it was taken.
async fn collect(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(take_all(stream));
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
