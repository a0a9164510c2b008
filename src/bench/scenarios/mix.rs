//! The scenario `mix`: definitions, hovers, references, and symbols of files that the servers have not read, with several clients.
//!
//! When all files of a small repository are read, both sides are restarted with positions of another seed. One-time work of a server
//! (the first check of the project) is done before the clock starts. Both sides get the same blocks of whole mixes in turn. The
//! target applies to the median of the ratios of the blocks. A block with an error of codeyard does not count, because a call that
//! fails early is not a fast call.

use crate::args::Scenario;
use crate::corpus::Corpus;
use crate::pair::{PairOutcome, ServerPair};
use crate::questions::{BenchQuestion, MIX};
use crate::report::{Report, Target};
use crate::stats::median;
use crate::{Bench, figure};
use codeyard_cli::Failure;

/// Parts into which the questions of each number of clients are split.
const PARTS: usize = 5;
/// Calls of one part.
const PART_CALLS: usize = 100;
/// Mixes that are asked before the clock starts.
const BEFORE: usize = 3;

/// Measures the mix with each number of clients.
pub(crate) async fn mix(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let counts = bench.args.clients.clone();
    let mut sums = vec![PairOutcome::default(); counts.len()];
    let parts = (bench.args.calls / PART_CALLS).clamp(1, PARTS);
    let limit = bench.time() * 2 / u32::try_from(parts).unwrap_or(1);
    let mut starts = 0;
    let mut kept = None;
    for part in 0..parts {
        let mut pair = match kept.take() {
            Some(pair) => pair,
            None => {
                starts += 1;
                ServerPair::start(bench, corpus, bench.args.seed.wrapping_add(1_000 + part as u64)).await?
            }
        };
        // The symbols of a file are asked for once, so each number of clients gets a share of the files.
        let share = pair.pool.unread_files() / 2 / counts.len().max(1);
        let share = share.min(bench.args.calls / MIX / parts).max(1);
        for (clients, sum) in rotated(&counts, &mut sums, part) {
            let mut mixes =
                |count: usize| -> Vec<BenchQuestion> { (0..count).flat_map(|_| pair.pool.mixed()).collect() };
            let before = mixes(BEFORE.min(share / 2));
            let asks = mixes(share - BEFORE.min(share / 2));
            // With few clients the blocks are small, so that the sides alternate often. With many clients each must get enough work.
            let block = (MIX * (clients / 3).max(2)).min(asks.len().max(1));
            sum.add_untimed(pair.run_blocks(bench, clients, &before, before.len().max(1), limit).await?);
            sum.join(pair.run_blocks(bench, clients, &asks, block, limit).await?);
        }
        if pair.pool.unread_files() >= share * 2 * counts.len() && share > 1 {
            kept = Some(pair);
        } else {
            pair.stop().await;
        }
    }
    if let Some(pair) = kept {
        pair.stop().await;
    }
    for (clients, sum) in counts.into_iter().zip(sums) {
        report.add_compared(sum.compared, sum.wrong, &sum.examples);
        if sum.ratios.is_empty() {
            report.left_out(format!("mix with {clients} clients: every block had an error"));
            continue;
        }
        let what = format!("mix, {clients} clients, calls/s");
        report.add(figure(
            &corpus.name,
            Scenario::Mix,
            what,
            Some(sum.bare.rate()),
            sum.ours.rate(),
            None,
            sum.notes(),
        ));
        let factor = if clients == 1 { 0.9 } else { 1.0 };
        let blocks = sum.ratios.len();
        let ratio = median(sum.ratios);
        let target = Target::at_least(factor, format!("≥ {factor:.1}"));
        let what = format!("mix, {clients} clients, calls/s by the bare server's");
        let notes = format!("median of {blocks} blocks, {starts} starts");
        report.add(figure(&corpus.name, Scenario::Mix, what, None, ratio, target, notes));
    }
    Ok(())
}

/// The numbers of clients with their sums, rotated by `begin`.
fn rotated<'a, T>(counts: &[usize], sums: &'a mut [T], begin: usize) -> Vec<(usize, &'a mut T)> {
    let mut all: Vec<(usize, &'a mut T)> = counts.iter().copied().zip(sums).collect();
    let by = begin % all.len().max(1);
    all.rotate_left(by);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_clients_comes_first_once() {
        let first = |begin| rotated(&[1, 4, 16], &mut [(); 3], begin).first().map(|(clients, ())| *clients);
        assert_eq!([0, 1, 2, 3].map(first), [1, 4, 16, 1].map(Some));
        assert!(rotated::<()>(&[], &mut [], 1).is_empty());
    }
}
