//! The scenarios `worktree` and `edits`, on a git repository with a copy of a part of the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::http_search::{answer, serve};
use super::{project, refusal_failure, run_own};
use crate::args::Scenario;
use crate::codeyard_server::McpHttpClient;
use crate::corpus::{self, Corpus};
use crate::process;
use crate::report::{Report, Target};
use crate::stats::{mib, precise};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Most files of the copy.
const FILES: usize = 5_000;
/// With fewer files the cost of a second worktree has no target.
const FEWEST: usize = 3_000;
/// Target: time and bytes of the second worktree relative to the first.
const SHARE: f64 = 0.05;
/// Number of edits.
const EDITS: usize = 12;
const SHOWN_WITHIN_MS: f64 = 500.0;
/// Pause between two queries.
const PAUSE: Duration = Duration::from_millis(2);
/// Longest wait for an edit to show.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates the copy and measures the wanted scenarios.
pub(super) async fn measure(
    bench: &Bench,
    corpus: &Corpus,
    wanted: &[Scenario],
    report: &mut Report,
) -> Result<(), Failure> {
    let (tree, files) = copy(bench, corpus).await?;
    let state = bench.scratch.folder("copies")?.join("s");
    let first = run_own(&["index", "--json"], &tree, &state).await?;
    if wanted.contains(&Scenario::Worktree) {
        let seconds = first["seconds"].as_f64().unwrap_or(f64::NAN);
        worktree(bench, corpus, &tree, files, &state, seconds, report).await?;
    }
    if wanted.contains(&Scenario::Edits) {
        edits(bench, corpus, &tree, &state, report).await?;
    }
    Ok(())
}

/// Copies files from all parts of the repository and commits them.
async fn copy(bench: &Bench, corpus: &Corpus) -> Result<(PathBuf, usize), Failure> {
    let tree = bench.scratch.folder("tree")?;
    let mut all = corpus::files_below(&corpus.root);
    // A .gitignore of a package may exclude all its files, so that none could be committed.
    all.retain(|path| path.file_name().is_none_or(|name| name != ".gitignore"));
    let wanted: Vec<&PathBuf> = all.iter().step_by(all.len().div_ceil(FILES).max(1)).collect();
    for path in &wanted {
        corpus::copy_file(path, &corpus.root, &tree)?;
    }
    process::run_git(&tree, &["init", "--quiet"]).await?;
    process::run_git(&tree, &["add", "--all"]).await?;
    let names = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    let commit: Vec<&str> = names.into_iter().chain(["commit", "--quiet", "--message", "all"]).collect();
    process::run_git(&tree, &commit).await?;
    Ok((tree, wanted.len()))
}

async fn worktree(
    bench: &Bench,
    corpus: &Corpus,
    tree: &Path,
    files: usize,
    state: &Path,
    first_s: f64,
    report: &mut Report,
) -> Result<(), Failure> {
    let bytes = || Ok::<u64, Failure>(project(state, tree)?.stats().map_err(refusal_failure)?.bytes);
    let before = bytes()?;
    let second = bench.scratch.folder("second")?.join("tree");
    let place = second.to_string_lossy();
    process::run_git(tree, &["worktree", "add", "--quiet", "-b", "second", &place]).await?;
    let done = run_own(&["index", "--json"], &second, state).await?;
    let second_s = done["seconds"].as_f64().unwrap_or(f64::NAN);
    let more = bytes()?.saturating_sub(before);
    let notes = format!("{files} files: {first_s:.2} s, then {second_s:.2} s");
    let mut add = |what: &str, share: f64, notes: String| {
        let target = Target::at_most(SHARE, "≤ 0.05").filter(|_| files >= FEWEST);
        report.add(figure(&corpus.name, Scenario::Worktree, what, None, share, target, notes));
    };
    add("a second working tree: time by the first's", second_s / first_s, notes);
    let notes = format!("{:.1} MiB, then {:.2} MiB more", mib(before), mib(more));
    add("a second working tree: bytes by the first's", precise(more) / precise(before), notes);
    Ok(())
}

/// Edits files while a server runs, and queries it until it shows each edit.
async fn edits(bench: &Bench, corpus: &Corpus, tree: &Path, state: &Path, report: &mut Report) -> Result<(), Failure> {
    let files = corpus::sources(&corpus::files_below(tree), &corpus.language);
    let copy = Corpus { name: corpus.name.clone(), root: tree.to_owned(), language: corpus.language, files };
    let served = serve(bench, &copy, state).await?;
    let mut client = served.client_of(&copy, "code").await?;
    let mut text = Vec::new();
    let mut symbol = Vec::new();
    for (nth, file) in copy.files.iter().step_by((copy.files.len() / EDITS).max(1)).take(EDITS).enumerate() {
        let name = format!("quite_new_{nth}_zx");
        let mut whole = fs::read(file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
        whole.extend(declared(corpus, &name).bytes());
        fs::write(file, whole).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
        let began = Instant::now();
        let ms = || began.elapsed().as_secs_f64() * 1e3;
        until(&mut client, "search_code", json!({"query": name, "mode": "text", "limit": 1}), |row| {
            row["text"].as_str().is_some_and(|text| text.contains(&name))
        })
        .await?;
        text.push(ms());
        until(&mut client, "locate_symbol", json!({"name": name, "limit": 1}), |row| row["name"] == name).await?;
        symbol.push(ms());
    }
    served.stop().await;
    for (what, mut times) in [("in lines", text), ("as a symbol", symbol)] {
        times.sort_by(f64::total_cmp);
        let notes = format!("{} edits, median {:.0} ms", times.len(), times.get(times.len() / 2).unwrap_or(&f64::NAN));
        let longest = times.last().copied().unwrap_or(f64::NAN);
        let target = Target::at_most(SHOWN_WITHIN_MS, "≤ 500 ms");
        let what = format!("an edit shows {what}, the longest, ms");
        report.add(figure(&corpus.name, Scenario::Edits, what, None, longest, target, notes));
    }
    Ok(())
}

fn declared(corpus: &Corpus, name: &str) -> String {
    match corpus.language.kind {
        "ty" => format!("\n\ndef {name}():\n    return 1\n"),
        "typescript" => format!("\nexport function {name}(): number {{\n  return 1;\n}}\n"),
        _ => format!("\nint {name}(void)\n{{\n\treturn 1;\n}}\n"),
    }
}

/// Queries until the first row is accepted.
async fn until(
    client: &mut McpHttpClient,
    tool: &str,
    arguments: Value,
    will_do: impl Fn(&Value) -> bool,
) -> Result<(), Failure> {
    let began = Instant::now();
    let arguments = arguments.to_string();
    loop {
        let answer = answer(client, tool, &arguments).await?;
        if will_do(&answer["results"][0]) {
            return Ok(());
        }
        if began.elapsed() > TIMEOUT {
            return Err(Failure::new(format!("an edit did not show within {} s: {answer}", TIMEOUT.as_secs())));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
