//! What a feature adds to a references question: two codeyard servers, one of them without it, get the same questions.
//!
//! Each question is asked once, one after the other, at alternating sides. The first question, at which all files are read, is a figure of
//! its own. The features: `linking`, which follows the modules of JavaScript, and `comparison`, which compares answers with the code index.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::{Corpus, Language, files_below, sources};
use crate::questions::{BenchQuestion, SeededRandom, identifiers};
use crate::report::{Report, Target};
use crate::stats::{CallTimes, median};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Files of CommonJS and ES modules.
const JAVASCRIPT: Language = Language { kind: "typescript", endings: &["js", "cjs", "mjs"], id: "javascript" };
/// Most questions.
const LINKING_QUESTIONS: usize = 60;
/// Enough for a percentile of 99.
const COMPARISON_QUESTIONS: usize = 300;
/// Fewer say nothing.
const MIN_QUESTIONS: usize = 5;
/// What following may add, in milliseconds or as a share of the time without it.
const FOLLOWING_ADDS_MS: f64 = 30.0;
const FOLLOWING_ADDS_SHARE: f64 = 0.1;
/// What the comparison may add, in milliseconds: at the median, and at the percentile of 99.
const COMPARING_ADDS_MS: f64 = 0.3;
const COMPARING_ADDS_MOST_MS: f64 = 5.0;

/// A feature whose cost is measured.
struct Feature {
    scenario: Scenario,
    /// The configuration without it.
    off: String,
    /// Its work needs the code index.
    needs_index: bool,
}

/// One of the servers.
struct FeatureSide {
    served: CodeyardServer,
    client: McpHttpClient,
    first_ms: f64,
    all: Vec<f64>,
    times: CallTimes,
    references: usize,
    marked: usize,
    retries: u32,
}

impl FeatureSide {
    async fn start(
        bench: &Bench,
        corpus: &Corpus,
        more: &str,
        needs_index: bool,
        first: &BenchQuestion,
    ) -> Result<Self, Failure> {
        let folder = bench.scratch.folder("feature")?;
        let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, more, &[]).await?;
        if needs_index {
            served.client_of(corpus, "lsp-v1+code").await?.until_indexed().await.map_err(Failure::new)?;
        }
        let client = served.client(corpus).await?;
        let mut side = Self {
            served,
            client,
            first_ms: 0.0,
            all: Vec::new(),
            times: CallTimes::default(),
            references: 0,
            marked: 0,
            retries: 0,
        };
        side.first_ms = side.ask(first).await?;
        side.times = CallTimes::default();
        side.all.clear();
        (side.references, side.marked, side.retries) = (0, 0, 0);
        Ok(side)
    }

    /// Returns the milliseconds.
    async fn ask(&mut self, ask: &BenchQuestion) -> Result<f64, Failure> {
        let began = Instant::now();
        let (body, retries) = self.client.ask_with_retry(ask).await.map_err(Failure::new)?;
        let took = began.elapsed();
        let answer: Value = serde_json::from_slice(&body).map_err(|error| Failure::new(error.to_string()))?;
        let content = &answer["result"]["structuredContent"];
        self.references += content["items"].as_array().map_or(0, Vec::len);
        self.marked += usize::from(content["summary"].as_str().is_some_and(|summary| summary.contains(" the name `")));
        self.retries += retries;
        self.times.add(took);
        let ms = took.as_secs_f64() * 1_000.0;
        self.all.push(ms);
        Ok(ms)
    }
}

/// Both servers after the questions.
struct FeatureTimes {
    off: FeatureSide,
    on: FeatureSide,
}

impl FeatureTimes {
    async fn measure(
        bench: &Bench,
        corpus: &Corpus,
        feature: &Feature,
        first: &BenchQuestion,
        asks: &[BenchQuestion],
    ) -> Result<Self, Failure> {
        let mut off = FeatureSide::start(bench, corpus, &feature.off, false, first).await?;
        let mut on = FeatureSide::start(bench, corpus, "", feature.needs_index, first).await?;
        for (number, ask) in asks.iter().enumerate() {
            if number % 2 == 0 {
                off.ask(ask).await?;
                on.ask(ask).await?;
            } else {
                on.ask(ask).await?;
                off.ask(ask).await?;
            }
        }
        Ok(Self { off, on })
    }

    /// The median of what the feature added to each question, in milliseconds.
    fn added(&self) -> f64 {
        median(self.on.all.iter().zip(&self.off.all).map(|(on, off)| on - off).collect())
    }

    async fn stop(self) {
        self.off.served.stop().await;
        self.on.served.stop().await;
    }
}

/// Measures with and without following.
pub(crate) async fn linking(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let files = sources(&files_below(&corpus.root), &JAVASCRIPT);
    let Some((first, asks)) = questions(bench, &files, LINKING_QUESTIONS) else { return Ok(()) };
    if corpus.language.kind != JAVASCRIPT.kind {
        return Ok(());
    }
    let off = format!("[servers.{}.quirks]\nlinks_commonjs = false\n", JAVASCRIPT.kind);
    let feature = Feature { scenario: Scenario::Linking, off, needs_index: false };
    let measured = FeatureTimes::measure(bench, corpus, &feature, &first, &asks).await?;
    let plain = median(measured.off.all.clone());
    let followed = median(measured.on.all.clone());
    let mut add = |what: &str, bare, codeyard, target, notes: String| {
        report.add(figure(&corpus.name, feature.scenario, what, bare, codeyard, target, notes));
    };
    let count = format!("{} files, {} questions; first column: not followed", files.len(), asks.len());
    add("references, p50 ms", Some(plain), followed, None, count);
    let bound = FOLLOWING_ADDS_MS.max(plain * FOLLOWING_ADDS_SHARE);
    let target = Target::at_most(bound, "≤ 30 ms or 10 %");
    let found = format!(
        "{} references, not followed {}; {} retries",
        measured.on.references, measured.off.references, measured.on.retries
    );
    add("references, added by following, p50 ms", None, measured.added(), target, found);
    let firsts = [measured.off.first_ms, measured.on.first_ms];
    add("references, first question with its start, ms", Some(firsts[0]), firsts[1], None, String::new());
    measured.stop().await;
    Ok(())
}

/// Measures with and without the comparison with the code index.
pub(crate) async fn comparison(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let files = sources(&files_below(&corpus.root), &corpus.language);
    let Some((first, asks)) = questions(bench, &files, COMPARISON_QUESTIONS) else { return Ok(()) };
    let feature =
        Feature { scenario: Scenario::Comparison, off: "[index]\nauto = false\n".to_owned(), needs_index: true };
    let measured = FeatureTimes::measure(bench, corpus, &feature, &first, &asks).await?;
    let mut add = |what: &str, bare, codeyard, target, notes: String| {
        report.add(figure(&corpus.name, feature.scenario, what, bare, codeyard, target, notes));
    };
    let count = format!("{} questions, {} marked; first column: not compared", asks.len(), measured.on.marked);
    let p50 = [&measured.off, &measured.on].map(|side| side.times.ms(50.0));
    let p99 = [&measured.off, &measured.on].map(|side| side.times.ms(99.0));
    add("references, p50 ms", Some(p50[0]), p50[1], None, count);
    let target = Target::at_most(COMPARING_ADDS_MS, "≤ 0.3 ms");
    add("references, added by comparing, p50 ms", None, measured.added(), target, String::new());
    let target = Target::at_most(p99[0] + COMPARING_ADDS_MOST_MS, "≤ not compared + 5 ms");
    add("references, p99 ms", Some(p99[0]), p99[1], target, String::new());
    measured.stop().await;
    Ok(())
}

/// The first question and at most `most` others, each about the first declaration of a file. `None`: there are too few.
fn questions(bench: &Bench, files: &[PathBuf], most: usize) -> Option<(BenchQuestion, Vec<BenchQuestion>)> {
    let mut asks: Vec<BenchQuestion> = files.iter().filter_map(|file| first_declaration(file)).collect();
    if asks.len() <= MIN_QUESTIONS {
        return None;
    }
    SeededRandom::new(bench.args.seed).shuffle(&mut asks);
    asks.truncate(most + 1);
    let first = asks.pop()?;
    Some((first, asks))
}

/// The first function or type that a file declares.
fn first_declaration(file: &Path) -> Option<BenchQuestion> {
    let words = identifiers(file);
    let is_declared = |pair: &&[(_, String)]| {
        matches!(pair[0].1.as_str(), "function" | "class" | "def" | "fn" | "struct" | "enum" | "interface")
    };
    words.windows(2).find(is_declared).map(|pair| BenchQuestion::References(pair[1].0.clone()))
}
