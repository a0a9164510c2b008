//! The scenario `index`: observes a process that builds the index, then measures the first query of a new process.

use std::time::Duration;

use super::{BuiltIndex, ended, project, refusal_failure, run_own, start_own};
use crate::args::Scenario;
use crate::corpus::Corpus;
use crate::process::status_bytes;
use crate::report::{Report, Target};
use crate::stats::{median, mib, precise};
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_index::Project;
use codeyard_process::proc_tree;

/// Pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Polling for symbols reads more than polling for text and slows the build down. The pause between two polls for symbols is the time
/// since the start divided by this.
const SYMBOLS_LOOK: u32 = 100;
/// Longest time to build an index.
const TIMEOUT: Duration = Duration::from_secs(1_800);
/// The parse rate is measured only for at least this many bytes of source.
const FEWEST_BYTES: u64 = 10_000_000;
/// Number of processes that are started to query the index.
const STARTS: usize = 9;

/// Target: seconds until all text is searchable, on two processors.
const TEXT_S: f64 = 60.0;
/// Target: size of the text index relative to the size of the repository.
const TEXT_SHARE: f64 = 0.7;
/// Target: megabytes of source parsed per second.
const PARSED_MB_S: f64 = 8.0;
const BUILDING_MIB: f64 = 1_024.0;
const FIRST_ANSWER_MS: f64 = 300.0;

/// What was observed during the build.
#[derive(Default)]
struct BuildTimes {
    text_s: f64,
    symbols_s: f64,
    all_s: f64,
    peak: u64,
}

/// Builds the index of a repository. Adds the figures if they are `wanted`.
pub(super) async fn build(
    bench: &Bench,
    corpus: &Corpus,
    wanted: bool,
    report: &mut Report,
) -> Result<BuiltIndex, Failure> {
    eprintln!("  {}: building the index", corpus.name);
    let state = bench.scratch.folder("index")?.join("s");
    let (times, project) = watch(corpus, &state).await?;
    let files = project.files().map_err(refusal_failure)?;
    let parsed: u64 = files.iter().filter(|file| file.is_parsed).map(|file| file.size).sum();
    let sources = files.iter().filter(|file| file.is_parsed).map(|file| corpus.root.join(&*file.path)).collect();
    let built = BuiltIndex { state, project, sources };
    if !wanted {
        return Ok(built);
    }
    let tree: u64 = files.iter().map(|file| file.size).sum();
    let stats = built.project.stats().map_err(refusal_failure)?;
    let symbols = stats.manifests.first().map_or(0, |(_, _, symbols)| *symbols);
    let mut add = |what: &str, value: f64, target: Option<Target>, notes: String| {
        report.add(figure(&corpus.name, Scenario::Index, what, None, value, target, notes));
    };
    let of = format!("{} files, {:.1} MB", files.len(), precise(tree) / 1e6);
    add("text is searchable, s", times.text_s, Target::at_most(TEXT_S, "≤ 60 s"), of);
    add("symbols are there too, s", times.symbols_s, None, format!("{symbols} symbols"));
    add("all is done, s", times.all_s, None, "what was written in pieces is one".into());
    let rate = precise(parsed) / 1e6 / (times.symbols_s - times.text_s).max(1e-3);
    let target = Target::at_least(PARSED_MB_S, "≥ 8 MB/s").filter(|_| parsed >= FEWEST_BYTES);
    add("symbols, MB of source a second", rate, target, format!("{:.1} MB parsed", precise(parsed) / 1e6));
    let share = |bytes: u64| precise(bytes) / precise(tree.max(1));
    let text = stats.segments.1;
    add("text index by the tree", share(text), Target::at_most(TEXT_SHARE, "≤ 0.7"), format!("{:.1} MiB", mib(text)));
    add("whole index by the tree", share(stats.bytes), None, format!("{:.1} MiB", mib(stats.bytes)));
    add("memory at most meanwhile, MiB", mib(times.peak), Target::at_most(BUILDING_MIB, "≤ 1 GiB"), String::new());
    let again = run_own(&["index", "--json"], &corpus.root, &built.state).await?;
    add("once more, nothing has changed, s", again["seconds"].as_f64().unwrap_or(f64::NAN), None, String::new());
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        let words = ["search", "--no-sync", "--json", "--mode", "symbol", "main"];
        run_own(&words, &corpus.root, &built.state).await?;
        starts.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let worst = starts.iter().copied().fold(0.0, f64::max);
    let notes = format!("median of {STARTS} processes, the longest {worst:.0} ms");
    let target = Target::at_most(FIRST_ANSWER_MS, "≤ 300 ms");
    add("a process starts, answers and ends, ms", median(starts), target, notes);
    Ok(built)
}

/// Builds the index in another process. Text counts as searchable when this process finds a manifest.
async fn watch(corpus: &Corpus, state: &std::path::Path) -> Result<(BuildTimes, Project), Failure> {
    let mut times = BuildTimes::default();
    let mut open = None;
    let began = Instant::now();
    let connection = start_own(&["index", "--json"], &corpus.root, state).await?;
    let process = connection.process.clone();
    let own = || process.id().and_then(|outer| proc_tree::descendants(outer).first().map(|process| process.pid));
    let mut pid = None;
    let mut next = Duration::ZERO;
    loop {
        if tokio::time::timeout(POLL_INTERVAL, process.exited()).await.is_ok() {
            break;
        }
        pid = pid.or_else(own);
        let peak = pid.and_then(|pid| status_bytes(pid, "VmHWM:"));
        times.peak = times.peak.max(peak.unwrap_or(0));
        if open.is_none() && state.join("index").is_dir() {
            open = Some(project(state, &corpus.root)?);
        }
        let is_searchable = |project: &Project| project.files().is_ok_and(|files| !files.is_empty());
        if times.text_s == 0.0 && open.as_ref().is_some_and(is_searchable) {
            times.text_s = began.elapsed().as_secs_f64();
        }
        if times.text_s > 0.0 && times.symbols_s == 0.0 && began.elapsed() >= next {
            next = began.elapsed() + began.elapsed() / SYMBOLS_LOOK;
            // The symbols of a manifest are counted once all are stored.
            let is_whole = open.as_ref().is_some_and(|project| {
                project.stats().is_ok_and(|stats| stats.manifests.iter().any(|(_, _, symbols)| *symbols > 0))
            });
            if is_whole {
                times.symbols_s = began.elapsed().as_secs_f64();
            }
        }
        if began.elapsed() > TIMEOUT {
            process.kill();
            return Err(Failure::new(format!("the index was not built within {} s", TIMEOUT.as_secs())));
        }
    }
    times.all_s = began.elapsed().as_secs_f64();
    if times.text_s == 0.0 {
        times.text_s = times.all_s;
    }
    if times.symbols_s == 0.0 {
        times.symbols_s = times.all_s;
    }
    ended(connection).await?;
    let project = match open {
        Some(project) => project,
        None => project(state, &corpus.root)?,
    };
    Ok((times, project))
}
