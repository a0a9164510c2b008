//! The scenarios `cold` and `recovery`: time to right answers after a cold start, and after the language server was killed.

use std::time::Duration;

use serde_json::Value;

use crate::args::Scenario;
use crate::bare_server::BareServer;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::compare::{AnswerComparer, Comparison};
use crate::corpus::Corpus;
use crate::process;
use crate::questions::{BenchQuestion, QuestionPool, words_near};
use crate::report::{Report, Target};
use crate::stats::median;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_model::limits::RETRY_AFTER_MS;

/// Cold starts of each side.
const STARTS: usize = 7;
/// Number of kills, and of starts of the bare server to compare with.
const KILLS: usize = 5;
/// Pause before the language server is killed, so that it and codeyard are idle.
const REST: Duration = Duration::from_secs(1);
/// Wanted number of hits of the references question.
const REFERENCES: usize = 80;
/// Most questions that are tried as the first one.
const TRIES: usize = 60;
/// Longest wait for a right answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Pause between two requests to the bare server.
const AGAIN: Duration = Duration::from_millis(10);

/// Questions with known right answers.
struct KnownAnswers {
    definitions: Vec<(BenchQuestion, Vec<u8>)>,
    references: (BenchQuestion, Vec<u8>),
    comparer: AnswerComparer,
}

/// Times of one side, and the number of incomplete answers that were not marked as such.
#[derive(Default)]
struct StartTimes {
    definition: Vec<f64>,
    references: Vec<f64>,
    incomplete: usize,
    errors: usize,
}

impl KnownAnswers {
    /// Collects the answers of a bare server that has read the project.
    async fn of(bench: &Bench, corpus: &Corpus) -> Result<Option<Self>, Failure> {
        let cache = bench.scratch.folder("bare")?;
        let bare = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
        let comparer = AnswerComparer::new(&corpus.root);
        let mut pool = QuestionPool::new(corpus, bench.args.seed.wrapping_add(1));
        let mut found = Vec::new();
        let mut references = None;
        for ask in (0..TRIES).map_while(|_| pool.definition()) {
            bare.ask(&ask).await.map_err(Failure::new)?;
            if found.is_empty() {
                bare.wait_until_idle().await;
            }
            let answer = bare.ask(&ask).await.map_err(Failure::new)?;
            let elsewhere = |place: &Value| place[0].as_str().is_some_and(|path| *ask.path() != *path);
            if comparer.places(&answer).iter().any(elsewhere) {
                found.push((ask, answer));
            }
        }
        for at in words_near(&corpus.files, REFERENCES).into_iter().take(TRIES / 2) {
            let ask = BenchQuestion::References(at);
            let answer = bare.ask(&ask).await.map_err(Failure::new)?;
            let better = |(_, old): &(BenchQuestion, Vec<u8>)| comparer.count(&answer) > comparer.count(old);
            if references.as_ref().is_none_or(better) {
                references = Some((ask, answer));
            }
            if references.as_ref().is_some_and(|(_, answer)| comparer.count(answer) >= REFERENCES / 2) {
                break;
            }
        }
        bare.stop().await;
        let Some(references) = references else { return Ok(None) };
        Ok((!found.is_empty()).then_some(Self { definitions: found, references, comparer }))
    }
}

/// Repetitions of a slow step: `most`, or fewer if `--calls` is small.
fn times(bench: &Bench, most: usize) -> usize {
    most.min(bench.args.calls / 10).max(1)
}

/// Measures cold starts of both sides in turn.
pub(crate) async fn cold(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let Some(known) = KnownAnswers::of(bench, corpus).await? else {
        report.left_out("cold start: no definition in another file was found".to_owned());
        return Ok(());
    };
    let mut bare = StartTimes::default();
    let mut ours = StartTimes::default();
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
    let notes = format!("{} starts, {} answers with a retry hint", ours.definition.len(), ours.errors);
    let first = median(bare.definition);
    let all = median(bare.references);
    let target = Target::at_most(1.2 * first, "≤ 1.2 × bare");
    let what = "cold start to the first right definition, ms";
    report.add(figure(&corpus.name, Scenario::Cold, what, Some(first), median(ours.definition), target, notes));
    let hits = known.comparer.count(&known.references.1);
    let target = Target::at_most(1.5 * all, "≤ 1.5 × bare");
    let what = format!("cold start to complete references ({hits} hits), ms");
    report.add(figure(&corpus.name, Scenario::Cold, what, Some(all), median(ours.references), target, ""));
    let theirs = Some(bare.incomplete as f64);
    let what = "incomplete answers without a mark before that";
    report.add(figure(
        &corpus.name,
        Scenario::Cold,
        what,
        theirs,
        ours.incomplete as f64,
        Target::at_most(0.0, "0"),
        "",
    ));
    Ok(())
}

async fn cold_bare(
    bench: &Bench,
    corpus: &Corpus,
    known: &KnownAnswers,
    definition: &(BenchQuestion, Vec<u8>),
    starts: &mut StartTimes,
) -> Result<(), Failure> {
    let cache = bench.scratch.folder("bare")?;
    let began = Instant::now();
    let bare = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await?;
    for ((ask, right), times) in
        [definition, &known.references].into_iter().zip([&mut starts.definition, &mut starts.references])
    {
        while began.elapsed() < TIMEOUT {
            let actual = bare.ask(ask).await.map_err(Failure::new)?;
            if known.comparer.places(&actual) == known.comparer.places(right) {
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
    known: &KnownAnswers,
    definition: &(BenchQuestion, Vec<u8>),
    starts: &mut StartTimes,
) -> Result<(), Failure> {
    let folder = bench.scratch.folder("served")?;
    let began = Instant::now();
    let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
    let mut client = served.client(corpus).await?;
    until_right(&mut client, known, definition, starts).await?;
    starts.definition.push(began.elapsed().as_secs_f64() * 1e3);
    until_right(&mut client, known, &known.references, starts).await?;
    starts.references.push(began.elapsed().as_secs_f64() * 1e3);
    served.stop().await;
    Ok(())
}

/// Asks until the answer is right. Counts answers that are incomplete without an error, and errors with a retry hint.
async fn until_right(
    client: &mut McpHttpClient,
    known: &KnownAnswers,
    known_answer: &(BenchQuestion, Vec<u8>),
    starts: &mut StartTimes,
) -> Result<(), Failure> {
    let (ask, right) = known_answer;
    let began = Instant::now();
    while began.elapsed() < TIMEOUT {
        let actual = client.ask(ask).await.map_err(Failure::new)?;
        match known.comparer.compare(ask, right, &actual) {
            Comparison::Same | Comparison::Incomparable => return Ok(()),
            Comparison::Different(_) => starts.incomplete += 1,
            Comparison::Failed(_) => {
                starts.errors += 1;
                tokio::time::sleep(hint(&actual)).await;
            }
        }
    }
    Err(Failure::new(format!("no right answer to {ask:?} in {} s", TIMEOUT.as_secs())))
}

/// The retry hint of an error.
fn hint(actual: &[u8]) -> Duration {
    let actual: Value = serde_json::from_slice(actual).unwrap_or_default();
    let ms = actual["error"]["data"]["details"]["retryAfterMs"].as_u64().unwrap_or(RETRY_AFTER_MS);
    Duration::from_millis(ms.min(RETRY_AFTER_MS))
}

/// Measures the time to the next right answer after the language server was killed.
pub(crate) async fn recovery(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let Some(known) = KnownAnswers::of(bench, corpus).await? else {
        report.left_out("recovery: no definition in another file was found".to_owned());
        return Ok(());
    };
    let mut bare = StartTimes::default();
    for number in 0..times(bench, KILLS) {
        let definition = &known.definitions[number % known.definitions.len()];
        cold_bare(bench, corpus, &known, definition, &mut bare).await?;
    }
    let mut ours = StartTimes::default();
    for asked in known.definitions.windows(2).take(times(bench, KILLS)) {
        killed(bench, corpus, &known, asked, &mut ours).await?;
    }
    if ours.definition.is_empty() {
        report.left_out("recovery: too few definitions in other files".to_owned());
        return Ok(());
    }
    let longest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let cold = longest(&bare.definition);
    let most = longest(&ours.definition);
    let notes = format!("{} kills, {} errors, {} wrong", ours.definition.len(), ours.errors, ours.incomplete);
    let per_kill = ours.errors.div_ceil(ours.definition.len());
    let target = Target::at_most(cold, "≤ the server's cold start");
    let what = "killed: to the next right answer, the longest, ms";
    report.add(figure(&corpus.name, Scenario::Recovery, what, Some(cold), most, target, notes));
    let target = Target::at_most(1.0, "≤ 1");
    report.add(figure(&corpus.name, Scenario::Recovery, "killed: errors for each", None, per_kill as f64, target, ""));
    Ok(())
}

/// One kill: the first question starts the server, the second is asked after the kill.
async fn killed(
    bench: &Bench,
    corpus: &Corpus,
    known: &KnownAnswers,
    asks: &[(BenchQuestion, Vec<u8>)],
    starts: &mut StartTimes,
) -> Result<(), Failure> {
    let [first, second] = asks else { return Ok(()) };
    let folder = bench.scratch.folder("served")?;
    let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, "", &[]).await?;
    let mut client = served.client(corpus).await?;
    until_right(&mut client, known, first, &mut StartTimes::default()).await?;
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
