//! The code index: how long it takes to make, what it takes, and how fast it answers beside ripgrep. No language server takes part.
//!
//! The index is made by a `codeyard index` of the same binary and asked in this process, as the server asks it. ripgrep is a process for
//! each question, and question by question the sides take turns. Afterwards the same is asked of a server. Nothing is written into the tree: what is edited is a copy.

mod asked;
mod building;
mod copies;
mod names;
mod ripgrep;
mod searching;
mod served;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::io::AsyncReadExt;

use self::ripgrep::Ripgrep;
use super::args::Scenario;
use super::corpus::Corpus;
use super::process;
use super::report::{Report, Target};
use super::{Bench, figure};
use codeyard_cli::Failure;
use codeyard_index::Project;
use codeyard_index::project::settings::Settings;
use codeyard_process::launch::Connection;
use codeyard_process::sibling;

/// Ten times the files may take ranked search so much longer.
const GROWTH: f64 = 2.0;
/// Trees are compared where the one has so many times the files of the other.
const TEN_TIMES: f64 = 8.0;

/// What is known of a tree whose ranked search was measured.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    corpus: Corpus,
    files: usize,
    p95_ms: f64,
}

/// An index that was made for this run.
struct Built {
    state: PathBuf,
    project: Project,
    /// The tree's source files, which questions are drawn from.
    sources: Vec<PathBuf>,
}

/// Measures what is wanted of a tree.
pub(crate) async fn measure(
    bench: &Bench,
    corpus: &Corpus,
    wanted: &[Scenario],
    report: &mut Report,
) -> Result<Option<Ranked>, Failure> {
    let wants = |scenario: Scenario| wanted.contains(&scenario);
    let mut ranked = None;
    if [Scenario::Index, Scenario::Search, Scenario::Ranked].into_iter().any(wants) {
        let built = building::build(bench, corpus, wants(Scenario::Index), report).await?;
        if wants(Scenario::Search) {
            searching::search(bench, corpus, &built, &Ripgrep::find().await?, report).await?;
        }
        if wants(Scenario::Ranked) {
            ranked = Some(names::names(bench, corpus, &built, report)?);
        }
    }
    if wants(Scenario::Worktree) || wants(Scenario::Edits) {
        copies::copies(bench, corpus, wanted, report).await?;
    }
    Ok(ranked)
}

/// Ranked search in trees of about ten times the files, beside that in the smaller one.
pub(crate) fn growth(all: &[Ranked], report: &mut Report) {
    for large in all {
        for small in all.iter().filter(|small| large.files as f64 >= TEN_TIMES * small.files as f64) {
            let what = format!("search_code, p95 by that on {}", small.corpus.name);
            let notes = format!("{} files and {}", large.files, small.files);
            let target = Target::at_most(GROWTH, format!("≤ {GROWTH} × at ten times the files"));
            let ratio = large.p95_ms / small.p95_ms;
            report.add(figure(&large.corpus, Scenario::Ranked, what, (None, ratio), target, notes));
        }
    }
}

/// This program.
fn own_program() -> Result<PathBuf, Failure> {
    sibling::own().map_err(|error| Failure::new(format!("this program's own path can't be found: {error}")))
}

/// Starts this program with these words, a root and a state.
async fn start_own(words: &[&str], root: &Path, state: &Path) -> Result<Connection, Failure> {
    let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
    args.extend(["--root".into(), root.into(), "--state-dir".into(), state.into()]);
    process::start("codeyard", &own_program()?, args, root, std::env::vars_os().collect()).await
}

/// Runs this program to its end, and gives the JSON that it prints.
async fn run_own(words: &[&str], root: &Path, state: &Path) -> Result<Value, Failure> {
    ended(start_own(words, root, state).await?).await
}

/// Waits for the end of this program, and gives the JSON that it prints.
async fn ended(connection: Connection) -> Result<Value, Failure> {
    let Connection { mut reader, writer, process } = connection;
    drop(writer);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).await.map_err(|error| Failure::new(error.to_string()))?;
    if process.exited().await.code != Some(0) {
        return Err(Failure::new(format!("codeyard failed: {}", process.stderr_tail())));
    }
    serde_json::from_slice(&output).map_err(|error| Failure::new(format!("what codeyard printed is no JSON: {error}")))
}

/// The index of a root in a state.
fn project(state: &Path, root: &Path) -> Result<Project, Failure> {
    let project = Project::new(&state.join("index"), root, false, Settings::default());
    project.map_err(|error| Failure::new(format!("the index can't be opened: {error}")))
}

/// What a question was refused with.
#[expect(clippy::boxed_local, reason = "handed to map_err as it comes")]
fn refused(refusal: Box<codeyard_model::code::Refusal>) -> Failure {
    Failure::new(refusal.message)
}
