//! The questions of the scenario `search` over HTTP: a `codeyard serve` with the built index, and one client of the catalog `code`.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::BuiltIndex;
use super::search_questions::{PatternKind, SearchQuestion};
use super::text_search::MIN_COMPARABLE_MS;
use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::Corpus;
use crate::process::status_bytes;
use crate::report::{Report, Target};
use crate::stats::{median, mib};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_model::limits::MAX_PAGE_SIZE;

/// Rounds for each question.
const ROUNDS: usize = 5;
/// Longest wait until the index of the server is fresh.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Pause between two queries.
const PAUSE: Duration = Duration::from_millis(20);
/// Target: memory of the server, in MiB.
const SERVING_MIB: f64 = 300.0;

/// Starts a server for a repository with the indexes of a state directory.
pub(super) async fn serve(bench: &Bench, corpus: &Corpus, state: &Path) -> Result<CodeyardServer, Failure> {
    let folder = state.parent().unwrap_or(state);
    CodeyardServer::start(&[corpus], &bench.installer, folder, "", &[]).await
}

/// The structured content of a tool's answer, also of its errors.
pub(super) async fn answer(client: &mut McpHttpClient, tool: &str, arguments: &str) -> Result<Value, Failure> {
    let body = client.call(tool, arguments).await.map_err(Failure::new)?;
    let mut actual: Value = serde_json::from_slice(&body).map_err(|error| Failure::new(error.to_string()))?;
    match actual["result"]["structuredContent"].take() {
        Value::Null => Err(Failure::new(format!("{tool}: {}", actual["error"]["message"]))),
        content => Ok(content),
    }
}

/// Asks each question several times and compares with the durations of ripgrep.
pub(super) async fn questions(
    bench: &Bench,
    corpus: &Corpus,
    built: &BuiltIndex,
    question: &[SearchQuestion],
    theirs: &[f64],
    report: &mut Report,
) -> Result<(), Failure> {
    let began = Instant::now();
    let served = serve(bench, corpus, &built.state).await?;
    let mut client = served.client_of(corpus, "code").await?;
    let arguments = json!({"query": "main", "limit": 1}).to_string();
    let mut first = None;
    while began.elapsed() < TIMEOUT {
        let actual = answer(&mut client, "search_code", &arguments).await?;
        if actual["results"].as_array().is_some_and(|rows| !rows.is_empty()) {
            first.get_or_insert_with(|| began.elapsed());
            if actual["metadata"]["freshness_status"] == "fresh" {
                break;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    let mut ours = Vec::new();
    let mut errors = 0;
    let mut ratios = Vec::new();
    for (one, theirs) in question.iter().zip(theirs) {
        let arguments = arguments_of(one).to_string();
        let mut times = Vec::new();
        for _ in 0..=ROUNDS {
            let began = Instant::now();
            let body = client.call("search_code", &arguments).await.map_err(Failure::new)?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            errors += usize::from(!body.windows(15).any(|window| window == b"\"isError\":false"));
        }
        ours.push(median(times.split_off(1)));
        ratios.extend(ours.last().map(|ours| ours / theirs));
    }
    let held = served.tree().ok().and_then(|tree| status_bytes(tree.serve, "RssAnon:")).unwrap_or(0);
    served.stop().await;
    let longest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut add = |what: &str, bare: Option<f64>, codeyard: f64, target: Option<Target>, notes: String| {
        report.add(figure(&corpus.name, Scenario::Search, what, bare, codeyard, target, notes));
    };
    let first = first.map_or(f64::NAN, |first| first.as_secs_f64() * 1e3);
    add("a server starts and answers, ms", None, first, Target::at_most(300.0, "≤ 300 ms"), String::new());
    let middle = (median(theirs.to_vec()), median(ours.clone()));
    let is_large = middle.0 >= MIN_COMPARABLE_MS;
    let target = Target::at_most(middle.0 / 20.0, "≤ 1/20 of ripgrep").filter(|_| is_large);
    let notes = format!("{} calls each, {errors} errors", ROUNDS);
    add("over HTTP: the median of the questions, ms", Some(middle.0), middle.1, target, notes);
    let target = Target::at_most(1.2, "≤ 1.2").filter(|_| is_large);
    let notes = format!("the longest takes {:.0} ms", longest(&ours));
    add("over HTTP: the most that a question takes by ripgrep's time", None, longest(&ratios), target, notes);
    let target = Target::at_most(SERVING_MIB, "≤ 300 MiB");
    add("memory of the server itself, MiB", None, mib(held), target, "after all questions".to_owned());
    Ok(())
}

fn arguments_of(question: &SearchQuestion) -> Value {
    json!({
        "query": question.pattern,
        "mode": if question.pattern_kind == PatternKind::Regex { "regex" } else { "text" },
        "case": if question.ignores_case { "insensitive" } else { "sensitive" },
        "word": question.is_word,
        "limit": MAX_PAGE_SIZE,
        "freshness_policy": "best_effort",
    })
}
