//! Flags of the commands that use the code index: `index`, `search`, `outline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StateArgs;

/// The location of an index, and the output format.
#[derive(Debug, Clone, Args)]
pub struct IndexLocationArgs {
    /// Root of the index [default: the repository that contains the current folder, else that folder].
    #[arg(long, short = 'r', value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Configuration file with the `[index]` settings.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `index`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct IndexArgs {
    /// The subcommand; without one, update the index.
    #[command(subcommand)]
    pub command: Option<IndexCommand>,
    /// Branch, tag or commit to index instead of the working tree.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Keep running and index every change until Ctrl-C.
    #[arg(long, conflicts_with = "reference")]
    pub watch: bool,
    /// Read all files again; rebuild an index that is damaged or has another version.
    #[arg(long)]
    pub force: bool,
    /// The location of the index.
    #[command(flatten)]
    pub location: IndexLocationArgs,
}

/// The subcommands of `index`.
#[derive(Debug, Clone, Subcommand)]
pub enum IndexCommand {
    /// Print the size and the contents of the index.
    Stats(IndexLocationArgs),
    /// Read the whole index and check its integrity.
    Verify(IndexLocationArgs),
    /// Remove worktrees and branches that no longer exist, and file contents that nothing refers to.
    Gc(IndexLocationArgs),
}

/// Flags of `search`.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    /// Name, words, text, or regular expression to search for.
    pub query: String,
    /// How to interpret the query.
    #[arg(long, short = 'm', value_name = "MODE", default_value = "auto", value_parser = ["auto", "text", "regex", "symbol"])]
    pub mode: String,
    /// Search only files of this language.
    #[arg(long, short = 'l', value_name = "LANGUAGE")]
    pub language: Option<String>,
    /// Search only paths that match this glob; a leading `!` excludes them. Can be repeated.
    #[arg(long = "glob", short = 'g', value_name = "GLOB")]
    pub globs: Vec<String>,
    /// Whether upper and lower case are the same: smart, sensitive or insensitive.
    #[arg(long, value_name = "RULE", default_value = "smart", value_parser = ["smart", "sensitive", "insensitive"])]
    pub case: String,
    /// Match only whole words; for the modes text and regex.
    #[arg(long, short = 'w')]
    pub word: bool,
    /// Lines of context before and after each matching line, at most 10; for the modes text and regex.
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0)]
    pub context: usize,
    /// Most rows to print, 1 to 200.
    #[arg(long, short = 'n', value_name = "ROWS", default_value_t = 20)]
    pub limit: usize,
    /// Rows to skip; for the modes text and regex.
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    pub offset: usize,
    /// Indexed branch, tag or commit to search instead of the working tree.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Detail of each row.
    #[arg(long, value_name = "LEVEL", default_value = "signature", value_parser = ["location", "signature", "context"])]
    pub detail: String,
    /// Explain the rank of each row.
    #[arg(long, value_name = "LEVEL", default_value = "off", value_parser = ["off", "basic", "full"])]
    pub explain: String,
    /// Query the index without updating it first.
    #[arg(long)]
    pub no_sync: bool,
    /// The location of the index.
    #[command(flatten)]
    pub location: IndexLocationArgs,
}

/// Flags of `outline`.
#[derive(Debug, Clone, Args)]
pub struct OutlineArgs {
    /// File whose declarations are shown.
    pub file: PathBuf,
    /// Show only the top level, or all levels.
    #[arg(long, value_name = "DEPTH", default_value = "all", value_parser = ["top", "all"])]
    pub depth: String,
    /// Indexed branch, tag or commit to search instead of the working tree.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Query the index without updating it first.
    #[arg(long)]
    pub no_sync: bool,
    /// The location of the index.
    #[command(flatten)]
    pub location: IndexLocationArgs,
}
