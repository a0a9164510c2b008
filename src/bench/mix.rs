//! The mix: definitions, a hover, references, and symbols of files not read before, by several clients.
//!
//! A small repository's files are soon all read: then both sides are started anew, with positions of another seed. What a
//! server does once (a type checker's first look at the project) is done before the clock runs. Both sides get the same blocks
//! of whole mixes in turn, and the target is judged by the median of what they did block by block; a block in which codeyard
//! gave an error doesn't count, as a call that is given up early isn't a fast one.

use super::args::Scenario;
use super::corpus::Corpus;
use super::pair::{Outcome, Pair};
use super::questions::{Ask, MIX};
use super::report::{Report, Target};
use super::stats::median;
use super::{Bench, figure};
use codeyard_cli::Failure;

/// In how many parts each number of clients gets its questions.
const PARTS: usize = 5;
/// So many calls are one part.
const PART_CALLS: usize = 100;
/// Mixes that are asked before the clock runs.
const BEFORE: usize = 3;

/// See the module.
pub(crate) async fn mix(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let counts = bench.args.clients.clone();
    let mut sums = vec![Outcome::default(); counts.len()];
    let parts = (bench.args.calls / PART_CALLS).clamp(1, PARTS);
    let limit = bench.time() * 2 / u32::try_from(parts).unwrap_or(1);
    let (mut starts, mut kept) = (0, None);
    for part in 0..parts {
        let mut pair = match kept.take() {
            Some(pair) => pair,
            None => {
                starts += 1;
                Pair::start(bench, corpus, bench.args.seed.wrapping_add(1_000 + part as u64)).await?
            }
        };
        // No file's symbols are asked for twice: each number of clients gets its share.
        let share = pair.deck.unread() / 2 / counts.len().max(1);
        let share = share.min(bench.args.calls / MIX / parts).max(1);
        for (clients, sum) in rotated(&counts, &mut sums, part) {
            let mut mixes = |count: usize| -> Vec<Ask> { (0..count).flat_map(|_| pair.deck.mixed()).collect() };
            let (before, asks) = (mixes(BEFORE.min(share / 2)), mixes(share - BEFORE.min(share / 2)));
            // Few clients get few mixes at a time, so that the sides take turns often; many must all have something to do.
            let block = (MIX * (clients / 3).max(2)).min(asks.len().max(1));
            sum.judge(pair.run_blocks(bench, clients, &before, (before.len().max(1), limit)).await?);
            sum.join(pair.run_blocks(bench, clients, &asks, (block, limit)).await?);
        }
        if pair.deck.unread() >= share * 2 * counts.len() && share > 1 {
            kept = Some(pair);
        } else {
            pair.stop().await;
        }
    }
    if let Some(pair) = kept {
        pair.stop().await;
    }
    for (clients, sum) in counts.into_iter().zip(sums) {
        report.judged(sum.compared, sum.wrong, &sum.examples);
        if sum.ratios.is_empty() {
            report.left_out(format!("mix with {clients} clients: no block of questions without an error"));
            continue;
        }
        let values = (Some(sum.bare.rate()), sum.ours.rate());
        let what = format!("mix, {clients} clients, calls/s");
        report.add(figure(corpus, Scenario::Mix, what, values, None, sum.notes()));
        let factor = if clients == 1 { 0.9 } else { 1.0 };
        let (blocks, ratio) = (sum.ratios.len(), median(sum.ratios));
        let target = Target::at_least(factor, format!("≥ {factor:.1}"));
        let what = format!("mix, {clients} clients, calls/s by the bare server's");
        let notes = format!("median of {blocks} blocks, {starts} starts");
        report.add(figure(corpus, Scenario::Mix, what, (None, ratio), target, notes));
    }
    Ok(())
}

/// The numbers of clients with their sums, beginning with another one each time.
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
