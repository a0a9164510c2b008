//! The simulation runs supervisor, workspaces, language servers and clients in one thread on paused time, driven by a seed.
//!
//! `docs/internals/simulation.md` describes it. A failing seed is printed and replays byte for byte.

mod answers;
mod call;
mod coverage;
mod dice;
mod events;
mod fault_injection;
mod faults;
mod fleet;
mod language;
mod panic_injector;
mod profile;
mod rules;
mod run;
mod server;
mod server_model;
mod setting;
mod site;
mod stage;
mod verdict;
mod watchdog;
mod wire;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use run::{Ran, run, run_with};
use stage::Sabotage;

/// Number of concurrent worlds, each on its own thread.
const AT_ONCE: u64 = 2;
/// Real time after which an unfinished world is reported.
const STUCK: Duration = Duration::from_secs(300);

/// Runs these seeds and sums their coverage.
#[track_caller]
fn run_all(seeds: std::ops::Range<u64>) -> BTreeMap<String, u64> {
    let next = Arc::new(AtomicU64::new(seeds.start));
    let (sender, results) = mpsc::channel::<(u64, Option<Ran>)>();
    for _ in 0..AT_ONCE {
        let next = next.clone();
        let sender = sender.clone();
        let end = seeds.end;
        std::thread::spawn(move || {
            loop {
                let seed = next.fetch_add(1, SeqCst);
                if seed >= end || sender.send((seed, None)).is_err() {
                    return;
                }
                drop(sender.send((seed, Some(run(seed)))));
            }
        });
    }
    drop(sender);
    let mut running = std::collections::BTreeSet::new();
    let mut seen = BTreeMap::new();
    let mut failed = vec![];
    loop {
        match results.recv_timeout(STUCK) {
            Ok((seed, None)) => drop(running.insert(seed)),
            Ok((seed, Some(ran))) => {
                running.remove(&seed);
                if !ran.wrong.is_empty() {
                    println!("{}", ran.report());
                    failed.push(seed);
                }
                ran.seen.into_iter().for_each(|(what, count)| *seen.entry(what).or_insert(0) += count);
                if failed.len() >= 5 {
                    next.store(seeds.end, SeqCst);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("these seeds don't end: {running:?}"),
        }
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
    seen
}

#[test]
fn one_seed() {
    let Ok(seed) = std::env::var("CODEYARD_SIM_SEED") else {
        println!("skipped: CODEYARD_SIM_SEED names no seed");
        return;
    };
    let ran = run(seed.parse().expect("a number"));
    println!("{}", ran.transcript.join("\n"));
    assert!(ran.wrong.is_empty(), "{}", ran.wrong.join("\n"));
}

#[test]
fn two_hundred_seeds() {
    let seen = run_all(0..200);
    for (what, count) in &seen {
        println!("{count:>8} {what}");
    }
    let blind = coverage::missing(&seen);
    assert!(blind.is_empty(), "the simulation lost coverage: none of its 200 seeds produced {blind:#?}");
}

#[test]
#[ignore = "the slow command runs it"]
fn ten_thousand_seeds() {
    run_all(chosen_seeds().unwrap_or(0..10_000));
}

/// The seeds of `CODEYARD_SIM_SEEDS=FROM..TO`.
fn chosen_seeds() -> Option<std::ops::Range<u64>> {
    let text = std::env::var("CODEYARD_SIM_SEEDS").ok()?;
    let (from, to) = text.split_once("..").expect("FROM..TO");
    Some(from.parse().expect("a number")..to.parse().expect("a number"))
}

/// Worlds with an intentional defect, and a part of the expected failure.
const SABOTAGES: [(Sabotage, &str); 5] = [
    (Sabotage::DeafToChanges, "never true"),
    (Sabotage::QuietIndexing, "never true"),
    (Sabotage::DoubleAnswers, "answered twice"),
    (Sabotage::DeafToCancels, "open at servers"),
    (Sabotage::LateAnswers, "took"),
];

#[test]
fn injected_faults_are_detected() {
    for (sabotage, said) in SABOTAGES {
        let caught = (0..60).any(|seed| run_with(seed, sabotage).wrong.iter().any(|wrong| wrong.contains(said)));
        assert!(caught, "{sabotage:?} isn't detected");
    }
}

#[test]
fn a_seed_replays_byte_for_byte() {
    for seed in 1_000..1_008 {
        let first = run(seed).transcript;
        let second = run(seed).transcript;
        let differs = first.iter().zip(&second).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!("seed {seed} differs at line {at}:\n  {}\n  {}", first[at], second[at]);
        }
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
