//! The scenario `linking`: what it adds to a references question that codeyard follows the modules of JavaScript itself.
//!
//! Two codeyard servers get the same questions, about the first function or class of files of JavaScript. One of them returns the language
//! server's references as they are. Each question is asked once, one after the other, at alternating sides. The first question, at which
//! all files are read, is a figure of its own.

use std::path::Path;

use serde_json::Value;

use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::{Corpus, Language, files_below, sources};
use crate::questions::{BenchQuestion, SeededRandom, identifiers};
use crate::report::{Report, Target};
use crate::stats::median;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Files of CommonJS and ES modules.
const JAVASCRIPT: Language = Language { kind: "typescript", endings: &["js", "cjs", "mjs"], id: "javascript" };
/// Most questions.
const QUESTIONS: usize = 60;
/// Fewer say nothing.
const MIN_QUESTIONS: usize = 5;
/// What following may add, in milliseconds or as a share of the time without it.
const ADDED_MS: f64 = 30.0;
const ADDED_SHARE: f64 = 0.1;

/// One of the servers.
struct LinkingSide {
    served: CodeyardServer,
    client: McpHttpClient,
    first_ms: f64,
    times: Vec<f64>,
    references: usize,
    retries: u32,
}

impl LinkingSide {
    async fn start(bench: &Bench, corpus: &Corpus, more: &str, first: &BenchQuestion) -> Result<Self, Failure> {
        let folder = bench.scratch.folder("linking")?;
        let served = CodeyardServer::start(&[corpus], &bench.installer, &folder, more, &[]).await?;
        let client = served.client(corpus).await?;
        let mut side = Self { served, client, first_ms: 0.0, times: Vec::new(), references: 0, retries: 0 };
        side.ask(first).await?;
        side.first_ms = side.times.drain(..).sum();
        (side.references, side.retries) = (0, 0);
        Ok(side)
    }

    async fn ask(&mut self, ask: &BenchQuestion) -> Result<(), Failure> {
        let began = Instant::now();
        let (body, retries) = self.client.ask_with_retry(ask).await.map_err(Failure::new)?;
        self.times.push(began.elapsed().as_secs_f64() * 1_000.0);
        let answer: Value = serde_json::from_slice(&body).map_err(|error| Failure::new(error.to_string()))?;
        let items = &answer["result"]["structuredContent"]["items"];
        self.references += items.as_array().map_or(0, Vec::len);
        self.retries += retries;
        Ok(())
    }
}

/// Measures with and without following.
pub(crate) async fn linking(bench: &Bench, corpus: &Corpus, report: &mut Report) -> Result<(), Failure> {
    let files = sources(&files_below(&corpus.root), &JAVASCRIPT);
    let mut asks: Vec<BenchQuestion> = files.iter().filter_map(|file| first_declaration(file)).collect();
    if corpus.language.kind != JAVASCRIPT.kind || asks.len() <= MIN_QUESTIONS {
        return Ok(());
    }
    SeededRandom::new(bench.args.seed).shuffle(&mut asks);
    asks.truncate(QUESTIONS + 1);
    let Some(first) = asks.pop() else { return Ok(()) };
    let without = format!("[servers.{}.quirks]\nlinks_commonjs = false\n", JAVASCRIPT.kind);
    let mut off = LinkingSide::start(bench, corpus, &without, &first).await?;
    let mut on = LinkingSide::start(bench, corpus, "", &first).await?;
    for (number, ask) in asks.iter().enumerate() {
        if number % 2 == 0 {
            off.ask(ask).await?;
            on.ask(ask).await?;
        } else {
            on.ask(ask).await?;
            off.ask(ask).await?;
        }
    }
    off.served.stop().await;
    on.served.stop().await;
    let added = median(on.times.iter().zip(&off.times).map(|(on, off)| on - off).collect());
    let plain = median(off.times);
    let followed = median(on.times);
    let mut add = |what: &str, bare, codeyard, target, notes: String| {
        report.add(figure(&corpus.name, Scenario::Linking, what, bare, codeyard, target, notes));
    };
    let count = format!("{} files, {} questions; first column: not followed", files.len(), asks.len());
    add("references, p50 ms", Some(plain), followed, None, count);
    let bound = ADDED_MS.max(plain * ADDED_SHARE);
    let target = Target::at_most(bound, "≤ 30 ms or 10 %");
    let found = format!("{} references, not followed {}; {} retries", on.references, off.references, on.retries);
    add("references, added by following, p50 ms", None, added, target, found);
    add("references, first question with its start, ms", Some(off.first_ms), on.first_ms, None, String::new());
    Ok(())
}

/// The first function or class that a file declares.
fn first_declaration(file: &Path) -> Option<BenchQuestion> {
    let words = identifiers(file);
    let is_declared = |pair: &&[(_, String)]| matches!(pair[0].1.as_str(), "function" | "class");
    words.windows(2).find(is_declared).map(|pair| BenchQuestion::References(pair[1].0.clone()))
}
