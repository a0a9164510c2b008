//! The benchmark `codeyard-bench`: measures a bare language server and codeyard in the same run on a real repository, and prints the
//! figures with their targets.
//!
//! Both sides get the same questions in alternating blocks, from clients on the same thread. Every answer is compared. Invariants:
//! nothing is written into the user's repository; every process that it started has ended when it exits.

mod args;
mod bare_server;
mod code_index;
mod codeyard_server;
mod compare;
mod corpus;
mod dispute;
mod pair;
mod process;
mod profile;
mod questions;
mod report;
mod scenarios;
mod stats;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use self::args::{BenchArgs, CorpusName, Scenario};
use self::corpus::Corpus;
use self::pair::ServerPair;
use self::process::Scratch;
use self::report::{Figure, Report, Target};
use self::scenarios::{
    disagree, feature_cost, fleet, freshness, latency, leak, mix, operations, references, runs, sharing, start_times,
    telemetry,
};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_cli::shared::{assemble, output};
use codeyard_lsp::install::Installer;
use codeyard_lsp::registry::Registry;

/// The context that all scenarios share.
pub struct Bench {
    pub args: BenchArgs,
    /// Locates and installs language servers.
    pub installer: Installer,
    /// The temporary folder of the run.
    pub scratch: Scratch,
    /// The folder of fetched repositories.
    corpora_dir: PathBuf,
}

/// The subcommands of codeyard that this executable implements, so that a benchmark can start itself as codeyard.
pub const OWN_COMMANDS: [&str; 6] = ["serve", "stdio", "syntactic", "index", "search", "outline"];

/// The command line of `codeyard-bench`.
#[derive(Debug, clap::Parser)]
#[command(
    name = "codeyard-bench",
    bin_name = "codeyard bench",
    version,
    about = "Benchmark codeyard against a bare language server on a repository",
    long_about = "Benchmark codeyard against a bare language server on a repository.\n\nBoth get the same questions in alternating blocks, from 1, 4 and 16 clients, and every answer is compared. Each figure is printed with its target. Figures count only for an optimised build (`--profile dist`); the report names the profile. Nothing is written into the repository, and no language server keeps running.",
    after_help = "Examples:\n  codeyard bench\n  codeyard bench ~/src/redis --scenario latency,mix --seconds 10\n  codeyard bench --corpus django --clients 1,16\n  codeyard bench --all --write-docs docs/internals/measurements --check"
)]
struct Cli {
    #[command(flatten)]
    args: BenchArgs,
}

/// Parses the command line and runs the benchmark. The exit codes are those of `codeyard`.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Cli::try_parse_from(args) {
        Ok(cli) => codeyard_cli::exit_code(run(cli.args)),
        Err(error) => codeyard_cli::usage_exit(&error),
    }
}

/// Runs the benchmark until its end or a signal, then waits for the end of all processes that it started.
fn run(args: BenchArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start the async runtime: {error}")))?;
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let installer = assemble::installer(&state);
    let bench = Bench { installer, scratch: Scratch::new()?, corpora_dir: state.path().join("corpora"), args };
    let local = tokio::task::LocalSet::new();
    let result = local.block_on(&runtime, async {
        tokio::select! {
            result = measure(&bench) => result,
            why = interrupted() => Err(why),
        }
    });
    // This drops the tasks that hold the streams of the processes.
    let descendants = process::descendants();
    drop(local);
    runtime.block_on(process::wait_until_gone(descendants));
    result
}

/// Waits for SIGTERM or SIGINT.
async fn interrupted() -> Failure {
    use tokio::signal::unix::{SignalKind, signal};
    let term = signal(SignalKind::terminate());
    let int = signal(SignalKind::interrupt());
    let (Ok(mut term), Ok(mut int)) = (term, int) else { return Failure::new("cannot install a signal handler") };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Failure::new("interrupted; all started processes have ended")
}

async fn measure(bench: &Bench) -> Result<(), Failure> {
    let began = Instant::now();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let profile = profile::of_this_executable();
    let mut report = Report { profile, seed: bench.args.seed, processors, ..Report::default() };
    eprintln!("profile {}, seed {}", report.profile, bench.args.seed);
    if bench.args.scenario.contains(&Scenario::Fleet) {
        fleet::fleet(bench, &mut report).await?;
    }
    if bench.args.scenario.contains(&Scenario::Disagree) {
        disagree::disagree(bench, &bench.paths(), &mut report).await?;
    }
    if bench.args.scenario.contains(&Scenario::Groups) {
        code_index::measure_groups(bench, &mut report).await?;
    }
    if bench.args.scenario.contains(&Scenario::Runs) {
        runs::runs(bench, &mut report).await?;
    }
    let mut ranked = Vec::new();
    for corpus in bench.corpora().await? {
        let (of_index, of_servers): (Vec<Scenario>, Vec<Scenario>) =
            bench.scenarios(&corpus).into_iter().partition(|scenario| scenario.is_of_index());
        if !of_servers.is_empty() {
            eprintln!("{}: {} files for {}", corpus.name, corpus.files.len(), corpus.language.kind);
            corpus::ensure_installed(&bench.installer, &Registry::builtin(), corpus.language.kind)?;
            bench.measure(&corpus, &of_servers, &mut report).await?;
        }
        ranked.extend(code_index::measure(bench, &corpus, &of_index, &mut report).await?);
    }
    code_index::growth(&ranked, &mut report);
    eprintln!("took {:.0} s", began.elapsed().as_secs_f64());
    bench.publish(&report)
}

impl Bench {
    /// The folder of fetched repositories.
    fn corpora_dir(&self) -> &Path {
        &self.corpora_dir
    }

    /// The repositories of the command line.
    fn paths(&self) -> Vec<PathBuf> {
        match self.args.paths.is_empty() {
            true => vec![PathBuf::from(".")],
            false => self.args.paths.clone(),
        }
    }

    async fn corpora(&self) -> Result<Vec<Corpus>, Failure> {
        let wanted = &self.args.scenario;
        if !wanted.is_empty() && wanted.iter().all(|scenario| scenario.has_repositories()) {
            return Ok(Vec::new());
        }
        let names = match (self.args.all, self.args.corpus.as_slice()) {
            (true, []) => vec![CorpusName::Django, CorpusName::Rxjs, CorpusName::Zstd],
            (_, names) => names.to_vec(),
        };
        if names.is_empty() {
            let of = |path: &PathBuf| Corpus::of_path(path, self.args.server.as_deref(), self.needs_server());
            return self.paths().iter().map(of).collect();
        }
        let mut all = Vec::new();
        for name in names {
            all.push(Corpus::fetch(name, &self.corpora_dir, &self.scratch).await?);
        }
        Ok(all)
    }

    /// Whether any selected scenario needs a language server.
    fn needs_server(&self) -> bool {
        self.args.scenario.is_empty() || self.args.scenario.iter().any(|scenario| !scenario.is_of_index())
    }

    /// The scenarios for a corpus. On the kernel only those without a language server. With `--all`, `leak` runs on one corpus only.
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
            eprintln!("  both sides read the project");
            let mut pair = ServerPair::start(self, corpus, self.args.seed).await?;
            for scenario in warm.iter().copied().filter(wants) {
                match scenario {
                    Scenario::Latency => latency::latency(self, &mut pair, report).await?,
                    Scenario::Operations => operations::operations(self, &mut pair, report).await?,
                    Scenario::Retained => latency::retained(self, &mut pair, report).await?,
                    _ => references::pages(self, &mut pair, report).await?,
                }
            }
            pair.stop().await;
        }
        for scenario in wanted.iter().copied() {
            match scenario {
                Scenario::Mix => mix::mix(self, corpus, report).await?,
                Scenario::Snapshots => references::snapshots(self, corpus, report).await?,
                Scenario::Cold => start_times::cold(self, corpus, report).await?,
                Scenario::Recovery => start_times::recovery(self, corpus, report).await?,
                Scenario::Sharing => sharing::sharing(self, corpus, report).await?,
                Scenario::Repositories => sharing::repositories(self, corpus, report).await?,
                Scenario::Freshness => freshness::freshness(self, corpus, report).await?,
                Scenario::Leak => leak::leak(self, corpus, report).await?,
                Scenario::Telemetry => telemetry::telemetry(self, corpus, report).await?,
                Scenario::Linking => feature_cost::linking(self, corpus, report).await?,
                Scenario::Comparison => feature_cost::comparison(self, corpus, report).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Longest time for one side of one figure.
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
            missed @ 1.. if self.args.check => {
                Err(Failure::new(format!("{missed} targets missed; see the rows marked **no** in the table")))
            }
            _ => Ok(()),
        }
    }
}

/// A figure of a corpus and a scenario. `bare` is the value of the bare side, if it was measured.
pub fn figure(
    corpus: &str,
    scenario: Scenario,
    what: impl Into<String>,
    bare: Option<f64>,
    codeyard: f64,
    target: Option<Target>,
    notes: impl Into<String>,
) -> Figure {
    Figure {
        corpus: corpus.to_owned(),
        scenario: scenario.name(),
        what: what.into(),
        bare,
        codeyard,
        target,
        met: None,
        notes: notes.into(),
    }
}
