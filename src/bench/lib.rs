//! `codeyard bench`: drives a bare language server and codeyard in the same run on a real repository, and prints what it
//! measured beside the targets.
//!
//! Both sides are asked the same questions in turn by clients of the same thread. Every answer is compared. Invariants:
//! nothing is written into a repository of the user's; every process it started has ended when it ends.

mod args;
mod bare;
mod canonical;
mod code;
mod corpus;
mod pair;
mod process;
mod questions;
mod report;
mod served;
mod stats;

mod freshness;
mod leak;
mod mix;
mod operations;
mod references;
mod sharing;
mod speed;
mod starts;
mod steadiness;
mod telemetry;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use self::args::{BenchArgs, CorpusName, Scenario};
use self::corpus::Corpus;
use self::pair::Pair;
use self::process::Scratch;
use self::report::{Figure, Report, Target};
use codeyard_base::clock::Instant;
use codeyard_cli::{Failure, assemble, output};
use codeyard_lsp::install::Installer;
use codeyard_lsp::registry::Registry;

/// What all scenarios share.
pub struct Bench {
    /// The flags.
    pub args: BenchArgs,
    /// Finds language servers.
    pub installer: Installer,
    /// Everything the run writes.
    pub scratch: Scratch,
    /// Where fetched repositories are kept.
    kept: PathBuf,
}

/// Subcommands of codeyard that a benchmark starts this executable with.
pub const OWN_COMMANDS: [&str; 6] = ["serve", "stdio", "syntactic", "index", "search", "outline"];

/// The command line of `codeyard-bench`.
#[derive(Debug, clap::Parser)]
#[command(
    name = "codeyard-bench",
    bin_name = "codeyard bench",
    version,
    about = "Measure a bare language server and codeyard on a repository, in the same run",
    long_about = "Measure a bare language server and codeyard on a repository, in the same run.\n\nBoth are asked the same questions in turn, by 1, 4 and 16 clients; every answer is compared. Beside each figure stands its target. Nothing is written into the repository, and no language server is left running.",
    after_help = "Examples:\n  codeyard bench\n  codeyard bench ~/src/redis --scenario latency,mix --seconds 10\n  codeyard bench --corpus django --clients 1,16\n  codeyard bench --all --write-docs docs/benchmarks.md --check"
)]
struct Cli {
    #[command(flatten)]
    args: BenchArgs,
}

/// Runs the benchmark that the command line describes. Exit codes are those of `codeyard`.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Cli::try_parse_from(args) {
        Ok(cli) => codeyard_cli::exit_code(run(cli.args)),
        Err(error) => codeyard_cli::usage_exit(&error),
    }
}

/// Runs all of it.
fn run(args: BenchArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("the runtime can't be started: {error}")))?;
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let installer = assemble::installer(&state);
    let bench = Bench { installer, scratch: Scratch::new()?, kept: state.path().join("corpora"), args };
    let local = tokio::task::LocalSet::new();
    let result = local.block_on(&runtime, async {
        tokio::select! {
            result = measure(&bench) => result,
            why = told_to_end() => Err(why),
        }
    });
    // Only now are the tasks dropped that hold the processes' streams.
    let family = process::family();
    drop(local);
    runtime.block_on(process::gone(family));
    result
}

/// Ends when the user or the system wants no more of it.
async fn told_to_end() -> Failure {
    use tokio::signal::unix::{SignalKind, signal};
    let (term, int) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut term), Ok(mut int)) = (term, int) else { return Failure::new("signals can't be received") };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Failure::new("interrupted; nothing is left running")
}

async fn measure(bench: &Bench) -> Result<(), Failure> {
    let began = Instant::now();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut report = Report { seed: bench.args.seed, processors, ..Report::default() };
    eprintln!("seed {}", bench.args.seed);
    let mut ranked = Vec::new();
    for corpus in bench.corpora().await? {
        let (of_index, of_servers): (Vec<Scenario>, Vec<Scenario>) =
            bench.scenarios(&corpus).into_iter().partition(|scenario| scenario.is_of_index());
        if !of_servers.is_empty() {
            eprintln!("{}: {} files for {}", corpus.name, corpus.files.len(), corpus.language.kind);
            corpus::installed(&bench.installer, &Registry::builtin(), corpus.language.kind)?;
            bench.measure(&corpus, &of_servers, &mut report).await?;
        }
        ranked.extend(code::measure(bench, &corpus, &of_index, &mut report).await?);
    }
    code::growth(&ranked, &mut report);
    eprintln!("took {:.0} s", began.elapsed().as_secs_f64());
    bench.publish(&report)
}

impl Bench {
    async fn corpora(&self) -> Result<Vec<Corpus>, Failure> {
        let names = match (self.args.all, self.args.corpus.as_slice()) {
            (true, []) => vec![CorpusName::Django, CorpusName::Rxjs, CorpusName::Zstd],
            (_, names) => names.to_vec(),
        };
        if names.is_empty() {
            let here = PathBuf::from(".");
            let path = self.args.path.as_ref().unwrap_or(&here);
            return Ok(vec![Corpus::of_path(path, self.args.server.as_deref(), self.needs_server())?]);
        }
        let mut all = Vec::new();
        for name in names {
            all.push(Corpus::fetch(name, &self.kept, &self.scratch).await?);
        }
        Ok(all)
    }

    /// Whether anything is to be measured that has a language server.
    fn needs_server(&self) -> bool {
        self.args.scenario.is_empty() || self.args.scenario.iter().any(|scenario| !scenario.is_of_index())
    }

    /// What is measured on a corpus: on the kernel what needs no language server. Of all corpora one is enough for the long run.
    fn scenarios(&self, corpus: &Corpus) -> Vec<Scenario> {
        let mut wanted = if self.args.scenario.is_empty() { Scenario::usual() } else { self.args.scenario.clone() };
        if self.args.all && self.args.scenario.is_empty() && corpus.language.kind == "typescript" {
            wanted.push(Scenario::Leak);
        }
        if corpus.is_without_server() {
            wanted.retain(|scenario| scenario.is_of_index());
        }
        wanted
    }

    async fn measure(&self, corpus: &Corpus, wanted: &[Scenario], report: &mut Report) -> Result<(), Failure> {
        let wants = |scenario: &Scenario| wanted.contains(scenario);
        let warm = [Scenario::Latency, Scenario::Operations, Scenario::Retained, Scenario::References];
        if warm.iter().any(wants) {
            eprintln!("  both read the project");
            let mut pair = Pair::start(self, corpus, self.args.seed).await?;
            for scenario in warm.iter().copied().filter(wants) {
                match scenario {
                    Scenario::Latency => speed::latency(self, &mut pair, report).await?,
                    Scenario::Operations => operations::operations(self, &mut pair, report).await?,
                    Scenario::Retained => speed::retained(self, &mut pair, report).await?,
                    _ => references::pages(self, &mut pair, report).await?,
                }
            }
            pair.stop().await;
        }
        for scenario in wanted.iter().copied() {
            match scenario {
                Scenario::Mix => mix::mix(self, corpus, report).await?,
                Scenario::Snapshots => references::snapshots(self, corpus, report).await?,
                Scenario::Cold => starts::cold(self, corpus, report).await?,
                Scenario::Recovery => starts::recovery(self, corpus, report).await?,
                Scenario::Sharing => sharing::sharing(self, corpus, report).await?,
                Scenario::Repositories => sharing::repositories(self, corpus, report).await?,
                Scenario::Freshness => freshness::freshness(self, corpus, report).await?,
                Scenario::Leak => leak::leak(self, corpus, report).await?,
                Scenario::Telemetry => telemetry::telemetry(self, corpus, report).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Longest time of one side of one figure.
    pub fn time(&self) -> Duration {
        Duration::from_secs(self.args.seconds)
    }

    fn publish(&self, report: &Report) -> Result<(), Failure> {
        if let Some(file) = &self.args.json {
            let text = serde_json::to_string_pretty(report).map_err(|error| Failure::new(error.to_string()))?;
            corpus::write(file, &text)?;
        }
        if let Some(file) = &self.args.write_docs {
            report.write_into(file)?;
        }
        output::print(if self.args.markdown { report.markdown() } else { report.text() })?;
        match report.missed() {
            missed @ 1.. if self.args.check => Err(Failure::new(format!("{missed} targets missed; see the table"))),
            _ => Ok(()),
        }
    }
}

/// A figure without notes.
pub fn figure(
    corpus: &Corpus,
    scenario: Scenario,
    what: impl Into<String>,
    (bare, codeyard): (Option<f64>, f64),
    target: Option<Target>,
    notes: impl Into<String>,
) -> Figure {
    Figure {
        corpus: corpus.name.clone(),
        scenario: scenario.name(),
        what: what.into(),
        bare,
        codeyard,
        target,
        met: None,
        notes: notes.into(),
    }
}
