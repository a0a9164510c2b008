//! Flags of `codeyard-bench`, and the names of its scenarios. The doc comments here are help texts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use codeyard_cli::args::StateArgs;

/// Flags of `codeyard-bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Repositories to measure on [default: the current folder]. Nothing is written into them.
    #[arg(value_name = "PATH", conflicts_with_all = ["corpus", "all"])]
    pub paths: Vec<PathBuf>,
    /// Public repository to measure on; fetched once with the client of its registry. Can be repeated.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub corpus: Vec<CorpusName>,
    /// Measure all scenarios on django, rxjs and zstd, as in docs/internals/measurements/language-servers.md.
    #[arg(long)]
    pub all: bool,
    /// Scenario to measure; can be repeated [default: all except `disagree`, `leak`, `fleet`, `groups` and `runs`].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub scenario: Vec<Scenario>,
    /// Kind of language server, if several can serve the repository: ty, typescript or clangd.
    #[arg(long, value_name = "KIND")]
    pub server: Option<String>,
    /// Numbers of concurrent clients.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16", value_name = "N,…")]
    pub clients: Vec<usize>,
    /// Longest time for one side of one figure, in seconds.
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub seconds: u64,
    /// Most calls for one side of one figure.
    #[arg(long, default_value_t = 3_000, value_name = "N")]
    pub calls: usize,
    /// Seed of the random positions; the same seed gives the same questions.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Repositories of the scenario `fleet`, at most 60; with fewer repositories there are fewer agents.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub fleet: usize,
    /// Finished runs in the store in the scenario `runs`.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    pub runs: usize,
    /// Write the figures as JSON into this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print the tables as Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// Write the tables between the markers of a Markdown file, or of the pages of a folder such as docs/internals/measurements.
    #[arg(long, value_name = "PATH")]
    pub write_docs: Option<PathBuf>,
    /// Exit with code 1 if a target is missed or an answer is wrong.
    #[arg(long)]
    pub check: bool,
    /// The state directory, with the fetched repositories and the language servers.
    #[command(flatten)]
    pub state: StateArgs,
}

/// A public repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum CorpusName {
    /// Python: the source distribution of Django, from PyPI.
    Django,
    /// TypeScript: rxjs, from npm.
    Rxjs,
    /// C: zstd as packaged in `zstd-sys`, from crates.io.
    Zstd,
    /// C: the Linux kernel as packaged in Debian's `linux-source-6.1`, from `apt-get`; only for scenarios without a language server.
    Linux,
}

/// A scenario: a group of related figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Scenario {
    /// Definition and hover in files that both sides have read, at new positions.
    Latency,
    /// The nine operations of the tool `lsp`, at new positions.
    Operations,
    /// A mix of three definitions, one hover, two document symbols and one references call.
    Mix,
    /// Calls that are answered from retained results.
    Retained,
    /// References with about 80 and 1,200 hits: first and further pages.
    References,
    /// References with 20,000 hits, and the memory after 100 such snapshots expired.
    Snapshots,
    /// Cold start to the first right definition and to complete references.
    Cold,
    /// Memory and language servers with 1, 2, 4 and 16 clients.
    Sharing,
    /// Two repositories with two clients each.
    Repositories,
    /// Time to the next right answer after the language server was killed.
    Recovery,
    /// Time until answers show an edit and a new file on disk.
    Freshness,
    /// Memory, file descriptors and threads over 100,000 mixed calls.
    Leak,
    /// Cost of exporting telemetry.
    Telemetry,
    /// References in JavaScript with and without following its modules.
    Linking,
    /// References with and without the comparison with the code index: p50 and p99.
    Comparison,
    /// Where the answers of language servers differ from the names in the code, by cause.
    Disagree,
    /// 60 repositories of packages and 100 agents at once: right answers, deadlines, idle cost, memory, stop. Needs no repository.
    Fleet,
    /// Launch runs of the sample: alone, 50 at once beside questions, and with 1,000 finished ones in the store. Needs no repository.
    Runs,
    /// Code index: time, size and memory of a build, and the first answer of a new process.
    Index,
    /// Code index: twenty text and regex searches compared with ripgrep, line by line.
    Search,
    /// Code index: outlines, symbol lookup, ranked search.
    Ranked,
    /// Code index: search over 60 repositories at one endpoint. Needs no repository.
    Groups,
    /// Code index: a second worktree of a git repository of 5,000 files.
    Worktree,
    /// Code index: time from a saved edit to a search that shows it.
    Edits,
}

impl Scenario {
    /// The name on the command line and in tables.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it measures the code index and needs no language server.
    pub fn is_of_index(self) -> bool {
        matches!(self, Self::Index | Self::Search | Self::Ranked | Self::Groups | Self::Worktree | Self::Edits)
    }

    /// Whether it brings its own repositories or reads those of the command line itself.
    pub fn has_repositories(self) -> bool {
        matches!(self, Self::Disagree | Self::Fleet | Self::Groups | Self::Runs)
    }

    /// The scenarios that run without `--scenario`.
    pub fn usual() -> Vec<Self> {
        let is_usual = |scenario: &Self| !scenario.has_repositories() && *scenario != Self::Leak;
        Self::value_variants().iter().copied().filter(is_usual).collect()
    }
}
