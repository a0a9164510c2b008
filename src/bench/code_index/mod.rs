//! The scenarios of the code index: build time and size, and query times compared with ripgrep. No language server is involved.
//!
//! A `codeyard index` of the same executable builds the index. This process queries it as the server does. ripgrep is one process for
//! each question, and the sides alternate with each question. Then the same questions are sent to a server. Nothing is written into
//! the repository; edits are made in a copy.

mod build;
mod group_search;
mod http_search;
mod ranked_search;
mod ripgrep;
mod search_questions;
mod text_search;
mod working_copy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::io::AsyncReadExt;

pub(crate) use self::group_search::measure as measure_groups;
use self::ripgrep::Ripgrep;
use crate::args::Scenario;
use crate::corpus::Corpus;
use crate::process;
use crate::report::{Report, Target};
use crate::{Bench, figure};
use codeyard_cli::Failure;
use codeyard_index::Project;
use codeyard_index::settings::IndexSettings;
use codeyard_process::launch::LaunchedServer;
use codeyard_process::sibling;

/// Allowed growth of ranked search at ten times the files.
const GROWTH: f64 = 2.0;
/// Repositories are compared if one has at least this many times the files of the other.
const TEN_TIMES: f64 = 8.0;

/// The ranked search figures of one repository.
#[derive(Debug, Clone)]
pub(crate) struct RankedSearchTimes {
    corpus: Corpus,
    files: usize,
    p95_ms: f64,
}

/// An index that was built in this run.
struct BuiltIndex {
    state: PathBuf,
    project: Project,
    /// The source files of the repository, from which questions are drawn.
    sources: Vec<PathBuf>,
}

/// Measures the wanted scenarios on a repository.
pub(crate) async fn measure(
    bench: &Bench,
    corpus: &Corpus,
    wanted: &[Scenario],
    report: &mut Report,
) -> Result<Option<RankedSearchTimes>, Failure> {
    let wants = |scenario: Scenario| wanted.contains(&scenario);
    let mut ranked = None;
    if [Scenario::Index, Scenario::Search, Scenario::Ranked].into_iter().any(wants) {
        let built = build::build(bench, corpus, wants(Scenario::Index), report).await?;
        if wants(Scenario::Search) {
            text_search::search(bench, corpus, &built, &Ripgrep::find().await?, report).await?;
        }
        if wants(Scenario::Ranked) {
            ranked = Some(ranked_search::measure(bench, corpus, &built, report)?);
        }
    }
    if wants(Scenario::Worktree) || wants(Scenario::Edits) {
        working_copy::measure(bench, corpus, wanted, report).await?;
    }
    Ok(ranked)
}

/// Compares ranked search on repositories with about ten times the files.
pub(crate) fn growth(all: &[RankedSearchTimes], report: &mut Report) {
    for large in all {
        for small in all.iter().filter(|small| large.files as f64 >= TEN_TIMES * small.files as f64) {
            let what = format!("search_code, p95 by that on {}", small.corpus.name);
            let notes = format!("{} files and {}", large.files, small.files);
            let target = Target::at_most(GROWTH, format!("≤ {GROWTH} × at ten times the files"));
            let ratio = large.p95_ms / small.p95_ms;
            report.add(figure(&large.corpus.name, Scenario::Ranked, what, None, ratio, target, notes));
        }
    }
}

fn own_program() -> Result<PathBuf, Failure> {
    sibling::own().map_err(|error| Failure::new(format!("cannot find the path of this executable: {error}")))
}

/// Starts this executable with arguments, a root and a state directory.
async fn start_own(words: &[&str], root: &Path, state: &Path) -> Result<LaunchedServer, Failure> {
    let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
    args.extend(["--root".into(), root.into(), "--state-dir".into(), state.into()]);
    process::start("codeyard", &own_program()?, args, root, std::env::vars_os().collect()).await
}

/// Runs this executable and returns the JSON that it prints.
async fn run_own(words: &[&str], root: &Path, state: &Path) -> Result<Value, Failure> {
    ended(start_own(words, root, state).await?).await
}

/// Waits for the exit of this executable and returns the JSON that it printed.
async fn ended(connection: LaunchedServer) -> Result<Value, Failure> {
    let LaunchedServer { mut reader, writer, process } = connection;
    drop(writer);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).await.map_err(|error| Failure::new(error.to_string()))?;
    if process.exited().await.code != Some(0) {
        return Err(Failure::new(format!("codeyard failed: {}", process.stderr_tail())));
    }
    serde_json::from_slice(&output).map_err(|error| Failure::new(format!("codeyard printed invalid JSON: {error}")))
}

/// Opens the index of a root in a state directory.
fn project(state: &Path, root: &Path) -> Result<Project, Failure> {
    let project = Project::new(&state.join("index"), root, false, IndexSettings::default());
    project.map_err(|error| Failure::new(format!("cannot open the index: {error}")))
}

/// The failure of a refused query.
fn refusal_failure(refusal: Box<codeyard_model::code::CodeRefusal>) -> Failure {
    Failure::new(refusal.message)
}
