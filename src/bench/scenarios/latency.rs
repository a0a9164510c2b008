//! The scenarios `latency` and `retained`: duration of single calls in files that the servers have read, with new and with retained
//! answers.

use std::time::Duration;

use crate::args::Scenario;
use crate::pair::{PairOutcome, ServerPair, ask_served};
use crate::questions::BenchQuestion;
use crate::report::{Report, Target};
use crate::stats::CallTimes;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// If the median of the bare server is at most this, the target is a difference, else a factor; in milliseconds.
const FAST_MS: f64 = 5.0;
/// Milliseconds that codeyard may add to the median.
const ADDED_P50_MS: f64 = 0.4;
/// Milliseconds that codeyard may add to the 99th percentile.
const ADDED_P99_MS: f64 = 2.0;
/// The allowed factor for slower servers.
const ADDED_FACTOR: f64 = 1.05;
/// Number of questions whose answers are retained and requested again.
const RETAINED: usize = 64;
/// Targets of retained answers: median in milliseconds, calls per second.
const RETAINED_P50_MS: f64 = 0.2;
const RETAINED_RATE: f64 = 20_000.0;

/// Measures definitions and hovers.
pub(crate) async fn latency(bench: &Bench, pair: &mut ServerPair, report: &mut Report) -> Result<(), Failure> {
    let places = pair.pool.places();
    for clients in bench.args.clients.clone() {
        for what in ["definition", "hover"] {
            // Leave positions for the scenarios that follow.
            let share = bench.args.calls.min(places / (bench.args.clients.len() + 1));
            let mut next = || if what == "hover" { pair.pool.hover() } else { pair.pool.definition() };
            let asks: Vec<BenchQuestion> = (0..share).map_while(|_| next()).collect();
            let outcome = pair.run(bench, clients, &asks).await?;
            report.add_compared(outcome.compared, outcome.wrong, &outcome.examples);
            if outcome.ours.is_empty() {
                report.left_out(format!("{what} with {clients} clients: no positions left"));
                continue;
            }
            add_figures(pair, report, &format!("{what}, {clients} clients"), &outcome);
        }
    }
    Ok(())
}

fn add_figures(pair: &ServerPair, report: &mut Report, what: &str, outcome: &PairOutcome) {
    let bare = &outcome.bare;
    let ours = &outcome.ours;
    let p50 = bare.ms(50.0);
    let p99 = bare.ms(99.0);
    let fast = p50 <= FAST_MS;
    let (half, most) = if fast {
        (
            Target::at_most(p50 + ADDED_P50_MS, format!("≤ bare + {ADDED_P50_MS} ms")),
            Target::at_most(p99 + ADDED_P99_MS, format!("≤ bare + {ADDED_P99_MS} ms")),
        )
    } else {
        let by = |value: f64| Target::at_most(value * ADDED_FACTOR, format!("≤ {ADDED_FACTOR} × bare"));
        (by(p50), by(p99))
    };
    let corpus = &pair.corpus;
    let scenario = Scenario::Latency;
    for (at, target, notes) in [(50.0, half, outcome.notes()), (90.0, None, String::new()), (99.0, most, String::new())]
    {
        let what = format!("{what}, p{at} ms");
        report.add(figure(&corpus.name, scenario, what, Some(bare.ms(at)), ours.ms(at), target, notes));
    }
}

/// Measures answers from retained results.
pub(crate) async fn retained(bench: &Bench, pair: &mut ServerPair, report: &mut Report) -> Result<(), Failure> {
    let asks: Vec<BenchQuestion> = (0..RETAINED).map_while(|_| pair.pool.definition()).collect();
    if asks.is_empty() {
        report.left_out("retained: no positions left".to_owned());
        return Ok(());
    }
    let mut first = pair.served.clients(&pair.corpus, 1).await?;
    ask_served(&mut first, &asks, &mut Duration::default()).await;
    for clients in bench.args.clients.clone() {
        let mut connections = pair.served.clients(&pair.corpus, clients).await?;
        let hits = pair.served.retained_hits().await;
        let mut times = CallTimes::default();
        let mut errors = 0;
        let began = Instant::now();
        let most = bench.args.calls * 20;
        let again: Vec<BenchQuestion> = asks.iter().cycle().take((asks.len() * clients).min(most)).cloned().collect();
        while began.elapsed() < bench.time() && times.len() < most as u64 {
            let mut span = times.span;
            for sample in ask_served(&mut connections, &again, &mut span).await {
                sample.add_to(&mut times, &mut errors);
            }
            times.span = span;
        }
        let hits = pair.served.retained_hits().await.saturating_sub(hits);
        let notes = format!("{} calls, {hits} from retained results, {errors} errors", times.len());
        let add = |what: &str, value: f64, target, notes: String| {
            let what = format!("retained, {clients} clients, {what}");
            figure(&pair.corpus.name, Scenario::Retained, what, None, value, target, notes)
        };
        let half = Target::at_most(RETAINED_P50_MS, format!("≤ {RETAINED_P50_MS} ms")).filter(|_| clients == 1);
        let rate = Target::at_least(RETAINED_RATE, "≥ 20,000").filter(|_| clients == 16);
        report.add(add("p50 ms", times.ms(50.0), half, notes));
        report.add(add("p99 ms", times.ms(99.0), None, String::new()));
        report.add(add("calls/s", times.rate(), rate, String::new()));
    }
    Ok(())
}
