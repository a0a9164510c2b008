//! Very many mixed calls: what a codeyard holds must not grow with them.

use std::time::Duration;

use super::args::Scenario;
use super::corpus::Corpus;
use super::pair::ask_served;
use super::process::Holds;
use super::questions::{Ask, Deck};
use super::report::{Report, Target};
use super::served::Served;
use super::stats::{Times, mib, precise};
use super::{Bench, figure};
use codeyard_cli::Failure;

/// Calls in all, or 30 for each call of `--calls` if that is less.
const CALLS: usize = 100_000;
/// Clients at once.
const CLIENTS: usize = 16;
/// Looks at what is held, spread over the calls; the first fifth is for growing to the caps.
const LOOKS: usize = 20;
/// What retained answers may take here: the cap is reached early.
const SNAPSHOTS_BYTES: usize = 2 * 1024 * 1024;
/// Allowed growth of memory after the first fifth.
const GROWTH: f64 = 1.1;

/// See the module.
pub(crate) async fn leak(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let folder = bench.scratch.folder("served")?;
    let limits = format!(
        "[limits]\nmax_snapshot_bytes = {SNAPSHOTS_BYTES}\nmax_snapshots_total_bytes = {SNAPSHOTS_BYTES}\nsnapshot_ttl_s = 30\n"
    );
    let served = Served::start(&[corpus], &bench.installer, &folder, &limits, &[]).await?;
    let mut clients = served.clients(corpus, CLIENTS).await?;
    let calls = CALLS.min(bench.args.calls.saturating_mul(34));
    let (mut times, mut errors, mut looks) = (Times::default(), 0, Vec::new());
    let mut deck = Deck::new(corpus, bench.args.seed);
    if let (Some(client), Some(ask)) = (clients.first_mut(), deck.symbols()) {
        client.ask_patiently(&ask).await.map_err(Failure::new)?;
    }
    for _ in 0..LOOKS {
        let asks: Vec<Ask> = (0..calls / LOOKS).filter_map(|number| next(&mut deck, corpus, bench, number)).collect();
        let mut span = times.span;
        for sample in ask_served(&mut clients, &asks, &mut span).await {
            sample.add_to(&mut times, &mut errors);
        }
        times.span = span;
        looks.extend(Holds::of(served.tree()?.serve));
        eprintln!("  {} calls, {:?}", times.len(), looks.last());
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    served.stop().await;
    let (Some(early), Some(late)) = (looks.get(LOOKS / 5), looks.last()) else { return Ok(()) };
    let notes = format!("{} calls, {errors} errors, {:.0} calls/s", times.len(), times.rate());
    let growth = |what: &str, early: f64, late: f64, bound: f64, words: &str, notes: String| {
        let what = format!("{what} after all calls (first column: after a fifth)");
        figure(corpus, Scenario::Leak, what, (Some(early), late), Target::at_most(bound, words), notes)
    };
    let memory = (mib(early.memory), mib(late.memory));
    report.add(growth("memory, MiB", memory.0, memory.1, memory.0 * GROWTH, "≤ 1.1 × that", notes));
    let (before, after) = (precise(early.descriptors), precise(late.descriptors));
    report.add(growth("descriptors", before, after, before + 2.0, "≤ that + 2", String::new()));
    let (before, after) = (precise(early.threads), precise(late.threads));
    report.add(growth("threads", before, after, before + 2.0, "≤ that + 2", String::new()));
    Ok(())
}

/// Two thirds definitions, a third hovers, a few symbols, seldom references. When all was asked it begins anew.
fn next(deck: &mut Deck, corpus: &Corpus, bench: &Bench, number: usize) -> Option<Ask> {
    let draw = |deck: &mut Deck| match number % 100 {
        99 => deck.references(),
        90..99 => deck.symbols(),
        0..30 => deck.hover(),
        _ => deck.definition(),
    };
    if let Some(ask) = draw(deck) {
        return Some(ask);
    }
    *deck = Deck::new(corpus, bench.args.seed);
    draw(deck)
}
