//! The scenario `leak`: memory, file descriptors and threads must not grow with the number of calls.

use std::time::Duration;

use crate::args::Scenario;
use crate::codeyard_server::CodeyardServer;
use crate::corpus::Corpus;
use crate::pair::ask_served;
use crate::process::ProcessUsage;
use crate::questions::{BenchQuestion, QuestionPool};
use crate::report::{Report, Target};
use crate::stats::{CallTimes, mib, precise};
use crate::{Bench, figure};
use codeyard_cli::Failure;

/// Number of calls; 34 times `--calls` if that is less.
const CALLS: usize = 100_000;
/// Concurrent clients.
const CLIENTS: usize = 16;
/// Samples of the usage, spread over the calls. The first fifth of the calls fills the caches.
const LOOKS: usize = 20;
/// Cap of retained results in bytes; small, so that it is reached early.
const SNAPSHOTS_BYTES: usize = 2 * 1024 * 1024;
/// Allowed factor of memory after the first fifth.
const GROWTH: f64 = 1.1;

/// Measures the usage over many mixed calls.
pub(crate) async fn leak(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let folder = bench.scratch.folder("served")?;
    let limits = format!(
        "[limits]\nmax_snapshot_bytes = {SNAPSHOTS_BYTES}\nmax_snapshots_total_bytes = {SNAPSHOTS_BYTES}\nsnapshot_ttl_s = 30\n"
    );
    let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, &limits, &[]).await?;
    let mut clients = served.clients(corpus, CLIENTS).await?;
    let calls = CALLS.min(bench.args.calls.saturating_mul(34));
    let mut times = CallTimes::default();
    let mut errors = 0;
    let mut samples = Vec::new();
    let mut pool = QuestionPool::new(corpus, bench.args.seed);
    if let (Some(client), Some(ask)) = (clients.first_mut(), pool.symbols()) {
        client.ask_with_retry(&ask).await.map_err(Failure::new)?;
    }
    for _ in 0..LOOKS {
        let asks: Vec<BenchQuestion> =
            (0..calls / LOOKS).filter_map(|number| next(&mut pool, corpus, bench, number)).collect();
        let mut span = times.span;
        for sample in ask_served(&mut clients, &asks, &mut span).await {
            sample.add_to(&mut times, &mut errors);
        }
        times.span = span;
        samples.extend(ProcessUsage::of(served.tree()?.serve));
        eprintln!("  {} calls, {:?}", times.len(), samples.last());
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    served.stop().await;
    let (Some(early), Some(late)) = (samples.get(LOOKS / 5), samples.last()) else { return Ok(()) };
    let notes = format!("{} calls, {errors} errors, {:.0} calls/s", times.len(), times.rate());
    let growth = |what: &str, early: f64, late: f64, bound: f64, words: &str, notes: String| {
        let what = format!("{what} after all calls (first column: after a fifth)");
        figure(&corpus.name, Scenario::Leak, what, Some(early), late, Target::at_most(bound, words), notes)
    };
    let memory = (mib(early.memory), mib(late.memory));
    report.add(growth("memory, MiB", memory.0, memory.1, memory.0 * GROWTH, "≤ 1.1 × that", notes));
    let before = precise(early.descriptors);
    let after = precise(late.descriptors);
    report.add(growth("descriptors", before, after, before + 2.0, "≤ that + 2", String::new()));
    let before = precise(early.threads);
    report.add(growth("threads", before, precise(late.threads), before + 2.0, "≤ that + 2", String::new()));
    Ok(())
}

/// The next question: 60 % definitions, 30 % hovers, 9 % symbols, 1 % references. Starts over when the questions are used up.
fn next(pool: &mut QuestionPool, corpus: &Corpus, bench: &Bench, number: usize) -> Option<BenchQuestion> {
    let draw = |pool: &mut QuestionPool| match number % 100 {
        99 => pool.references(),
        90..99 => pool.symbols(),
        0..30 => pool.hover(),
        _ => pool.definition(),
    };
    if let Some(ask) = draw(pool) {
        return Some(ask);
    }
    *pool = QuestionPool::new(corpus, bench.args.seed);
    draw(pool)
}
