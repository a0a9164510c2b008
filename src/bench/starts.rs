//! From nothing to right answers, and back to them after the language server was killed.

use std::time::Duration;

use serde_json::Value;

use super::args::Scenario;
use super::bare::Bare;
use super::canonical::{Judge, Verdict};
use super::corpus::Corpus;
use super::process;
use super::questions::{Ask, Deck, words_near};
use super::report::{Report, Target};
use super::served::{Client, Served};
use super::stats::median;
use super::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_model::limits::RETRY_AFTER_MS;

/// How often each side is started.
const STARTS: usize = 7;
/// How often the language server is killed, and the bare one started to compare.
const KILLS: usize = 5;
/// Pause before the language server is killed: both it and codeyard are to be at rest.
const REST: Duration = Duration::from_secs(1);
/// Hits of the references that are to be complete.
const REFERENCES: usize = 80;
/// Questions that are tried as the one to start with.
const TRIES: usize = 60;
/// Longest wait for a right answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Pause before the bare server is asked again.
const AGAIN: Duration = Duration::from_millis(10);

/// Questions whose right answers are known.
struct Known {
    definitions: Vec<(Ask, Vec<u8>)>,
    references: (Ask, Vec<u8>),
    judge: Judge,
}

/// How long one side took, and what it said before that was incomplete and not marked.
#[derive(Default)]
struct Starts {
    definition: Vec<f64>,
    references: Vec<f64>,
    incomplete: usize,
    errors: usize,
}

impl Known {
    /// Asks a bare server that has read the project.
    async fn of(bench: &Bench, corpus: &Corpus) -> Result<Option<Self>, Failure> {
        let cache = bench.scratch.folder("bare")?;
        let bare = Bare::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
        let judge = Judge::new(&corpus.root);
        let mut deck = Deck::new(corpus, bench.args.seed.wrapping_add(1));
        let mut found = Vec::new();
        let mut references = None;
        for ask in (0..TRIES).map_while(|_| deck.definition()) {
            bare.ask(&ask).await.map_err(Failure::new)?;
            if found.is_empty() {
                bare.settle().await;
            }
            let answer = bare.ask(&ask).await.map_err(Failure::new)?;
            let elsewhere = |place: &Value| place[0].as_str().is_some_and(|path| *ask.path() != *path);
            if judge.places(&answer).iter().any(elsewhere) {
                found.push((ask, answer));
            }
        }
        for at in words_near(&corpus.files, REFERENCES).into_iter().take(TRIES / 2) {
            let ask = Ask::References(at);
            let answer = bare.ask(&ask).await.map_err(Failure::new)?;
            let better = |(_, old): &(Ask, Vec<u8>)| judge.count(&answer) > judge.count(old);
            if references.as_ref().is_none_or(better) {
                references = Some((ask, answer));
            }
            if references.as_ref().is_some_and(|(_, answer)| judge.count(answer) >= REFERENCES / 2) {
                break;
            }
        }
        bare.stop().await;
        let Some(references) = references else { return Ok(None) };
        Ok((!found.is_empty()).then_some(Self { definitions: found, references, judge }))
    }
}

/// How often something slow is done: `most` times, fewer where few calls are asked for.
fn times(bench: &Bench, most: usize) -> usize {
    most.min(bench.args.calls / 10).max(1)
}

/// Cold starts of both, in turn.
pub(crate) async fn cold(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let Some(known) = Known::of(bench, corpus).await? else {
        report.left_out("cold start: no definition in another file was found".to_owned());
        return Ok(());
    };
    let (mut bare, mut ours) = (Starts::default(), Starts::default());
    for number in 0..times(bench, STARTS) {
        let definition = &known.definitions[number % known.definitions.len()];
        if number % 2 == 0 {
            cold_bare(bench, corpus, &known, definition, &mut bare).await?;
            cold_served(bench, corpus, &known, definition, &mut ours).await?;
        } else {
            cold_served(bench, corpus, &known, definition, &mut ours).await?;
            cold_bare(bench, corpus, &known, definition, &mut bare).await?;
        }
    }
    let notes = format!("{} starts, {} answers said to come back", ours.definition.len(), ours.errors);
    let (first, all) = (median(bare.definition), median(bare.references));
    let target = Target::at_most(1.2 * first, "≤ 1.2 × bare");
    let values = (Some(first), median(ours.definition));
    report.add(figure(corpus, Scenario::Cold, "cold start to the first right definition, ms", values, target, notes));
    let hits = known.judge.count(&known.references.1);
    let target = Target::at_most(1.5 * all, "≤ 1.5 × bare");
    let what = format!("cold start to complete references ({hits} hits), ms");
    report.add(figure(corpus, Scenario::Cold, what, (Some(all), median(ours.references)), target, ""));
    let values = (Some(bare.incomplete as f64), ours.incomplete as f64);
    let what = "incomplete answers without a mark before that";
    report.add(figure(corpus, Scenario::Cold, what, values, Target::at_most(0.0, "0"), ""));
    Ok(())
}

async fn cold_bare(
    bench: &Bench,
    corpus: &Corpus,
    known: &Known,
    definition: &(Ask, Vec<u8>),
    starts: &mut Starts,
) -> Result<(), Failure> {
    let cache = bench.scratch.folder("bare")?;
    let began = Instant::now();
    let bare = Bare::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
    for ((ask, right), times) in
        [definition, &known.references].into_iter().zip([&mut starts.definition, &mut starts.references])
    {
        while began.elapsed() < PATIENCE {
            let said = bare.ask(ask).await.map_err(Failure::new)?;
            if known.judge.places(&said) == known.judge.places(right) {
                break;
            }
            starts.incomplete += 1;
            tokio::time::sleep(AGAIN).await;
        }
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    bare.stop().await;
    Ok(())
}

async fn cold_served(
    bench: &Bench,
    corpus: &Corpus,
    known: &Known,
    definition: &(Ask, Vec<u8>),
    starts: &mut Starts,
) -> Result<(), Failure> {
    let folder = bench.scratch.folder("served")?;
    let began = Instant::now();
    let served = Served::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
    let mut client = served.client(corpus).await?;
    until_right(&mut client, known, definition, starts).await?;
    starts.definition.push(began.elapsed().as_secs_f64() * 1e3);
    until_right(&mut client, known, &known.references, starts).await?;
    starts.references.push(began.elapsed().as_secs_f64() * 1e3);
    served.stop().await;
    Ok(())
}

/// Asks until the answer is right. What is wrong and isn't marked counts, what tells to come back too.
async fn until_right(
    client: &mut Client,
    known: &Known,
    (ask, right): &(Ask, Vec<u8>),
    starts: &mut Starts,
) -> Result<(), Failure> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let said = client.ask(ask).await.map_err(Failure::new)?;
        match known.judge.compare(ask, right, &said) {
            Verdict::Same | Verdict::Incomparable => return Ok(()),
            Verdict::Different(_) => starts.incomplete += 1,
            Verdict::Failed(_) => {
                starts.errors += 1;
                tokio::time::sleep(hint(&said)).await;
            }
        }
    }
    Err(Failure::new(format!("no right answer to {ask:?} in {} s", PATIENCE.as_secs())))
}

/// The pause that an error asks for.
fn hint(said: &[u8]) -> Duration {
    let said: Value = serde_json::from_slice(said).unwrap_or_default();
    let ms = said["error"]["data"]["details"]["retryAfterMs"].as_u64().unwrap_or(RETRY_AFTER_MS);
    Duration::from_millis(ms.min(RETRY_AFTER_MS))
}

/// The language server is killed, and something is asked that wasn't asked before.
pub(crate) async fn recovery(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let Some(known) = Known::of(bench, corpus).await? else {
        report.left_out("recovery: no definition in another file was found".to_owned());
        return Ok(());
    };
    let mut bare = Starts::default();
    for number in 0..times(bench, KILLS) {
        let definition = &known.definitions[number % known.definitions.len()];
        cold_bare(bench, corpus, &known, definition, &mut bare).await?;
    }
    let mut ours = Starts::default();
    for asked in known.definitions.windows(2).take(times(bench, KILLS)) {
        killed(bench, corpus, &known, asked, &mut ours).await?;
    }
    if ours.definition.is_empty() {
        report.left_out("recovery: too few definitions in other files".to_owned());
        return Ok(());
    }
    let longest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let (cold, most) = (longest(&bare.definition), longest(&ours.definition));
    let notes = format!("{} kills, {} errors, {} wrong", ours.definition.len(), ours.errors, ours.incomplete);
    let per_kill = ours.errors.div_ceil(ours.definition.len());
    let target = Target::at_most(cold, "≤ the server's cold start");
    let what = "killed: to the next right answer, the longest, ms";
    report.add(figure(corpus, Scenario::Recovery, what, (Some(cold), most), target, notes));
    let (target, what) = (Target::at_most(1.0, "≤ 1"), "killed: errors for each");
    report.add(figure(corpus, Scenario::Recovery, what, (None, per_kill as f64), target, ""));
    Ok(())
}

/// One kill: the first question makes a server run, the second is asked when it is dead.
async fn killed(
    bench: &Bench,
    corpus: &Corpus,
    known: &Known,
    asks: &[(Ask, Vec<u8>)],
    starts: &mut Starts,
) -> Result<(), Failure> {
    let [first, second] = asks else { return Ok(()) };
    let folder = bench.scratch.folder("served")?;
    let served = Served::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
    let mut client = served.client(corpus).await?;
    until_right(&mut client, known, first, &mut Starts::default()).await?;
    tokio::time::sleep(REST).await;
    if let Some(server) = served.tree()?.servers.first().copied() {
        process::kill(server);
        let began = Instant::now();
        until_right(&mut client, known, second, starts).await?;
        starts.definition.push(began.elapsed().as_secs_f64() * 1e3);
    }
    served.stop().await;
    Ok(())
}
