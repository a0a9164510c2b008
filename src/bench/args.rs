//! Flags of `codeyard bench`, and the names of what it measures.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use codeyard_cli::args::StateArgs;

/// Flags of `bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// A repository of yours [default: the present folder]. Nothing is written into it.
    #[arg(value_name = "PATH", conflicts_with_all = ["corpus", "all"])]
    pub path: Option<PathBuf>,
    /// A public repository, fetched once by its registry's own client; may be given more than once.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub corpus: Vec<CorpusName>,
    /// All scenarios on all corpora: what docs/benchmarks.md shows.
    #[arg(long)]
    pub all: bool,
    /// What to measure; may be given more than once [default: all but `leak`].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub scenario: Vec<Scenario>,
    /// Kind of language server, where several could serve the repository.
    #[arg(long, value_name = "KIND")]
    pub server: Option<String>,
    /// Numbers of clients at the same time.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16", value_name = "N,…")]
    pub clients: Vec<usize>,
    /// Longest time of one side of one figure.
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub seconds: u64,
    /// Most calls of one side of one figure.
    #[arg(long, default_value_t = 3_000, value_name = "N")]
    pub calls: usize,
    /// Draws the positions; the same seed asks the same questions.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Write the figures as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print the tables as Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// Put the tables between the markers of a Markdown file, such as docs/benchmarks.md.
    #[arg(long, value_name = "FILE")]
    pub write_docs: Option<PathBuf>,
    /// Exit with 1 if a target is missed.
    #[arg(long)]
    pub check: bool,
    /// State: where corpora and language servers are kept.
    #[command(flatten)]
    pub state: StateArgs,
}

/// A public repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum CorpusName {
    /// Python: Django's source distribution, from PyPI.
    Django,
    /// TypeScript: rxjs, from npm.
    Rxjs,
    /// C: zstd as `zstd-sys` brings it, from crates.io.
    Zstd,
    /// The kernel as Debian's package `linux-source-6.1` brings it, by `apt-get`; only for what needs no language server.
    Linux,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Scenario {
    /// Definition and hover in warm files, at positions never asked before.
    Latency,
    /// The nine operations of the tool `lsp`, at positions never asked before.
    Operations,
    /// Three definitions, a hover, two document symbols, one references.
    Mix,
    /// Answers from the retained result.
    Retained,
    /// References with about 80 and 1,200 hits, first and further pages.
    References,
    /// References with 20,000 hits, and what is left of 100 of their snapshots.
    Snapshots,
    /// From nothing to the first right definition and to complete references.
    Cold,
    /// One language server for 1, 2, 4 and 16 clients; memory.
    Sharing,
    /// Two repositories with two clients each.
    Repositories,
    /// The language server is killed.
    Recovery,
    /// An edit and a new file on disk.
    Freshness,
    /// 100,000 mixed calls: memory, descriptors, threads.
    Leak,
    /// What telemetry costs.
    Telemetry,
    /// The code index: time, size and memory of making it, and the first answer of a new process.
    Index,
    /// Twenty texts and expressions beside ripgrep, every line compared.
    Search,
    /// Outlines, the location of symbols, ranked search.
    Ranked,
    /// A second working tree of a git repository of 5,000 files.
    Worktree,
    /// From a saved edit to a search that shows it.
    Edits,
}

impl Scenario {
    /// Its name on the command line and in tables.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it is about the code index, and needs no language server.
    pub fn is_of_index(self) -> bool {
        matches!(self, Self::Index | Self::Search | Self::Ranked | Self::Worktree | Self::Edits)
    }

    /// Those that are run where none is named.
    pub fn usual() -> Vec<Self> {
        Self::value_variants().iter().copied().filter(|scenario| *scenario != Self::Leak).collect()
    }
}
