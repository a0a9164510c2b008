//! Flags of the commands that ask the code index: `index`, `search`, `outline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StateArgs;

/// Which index, and how it is asked.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// The root [default: the repository that holds the present folder, else that folder].
    #[arg(long, short = 'r', value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Configuration file with the settings of the index.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// State.
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
    /// What to do; without it, bring the index up to date.
    #[command(subcommand)]
    pub command: Option<IndexCommand>,
    /// A branch, a tag or a commit, in place of the working tree.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Go on, and follow every change until Ctrl-C.
    #[arg(long, conflicts_with = "reference")]
    pub watch: bool,
    /// Read everything anew; an index that is damaged or of another version is begun anew.
    #[arg(long)]
    pub force: bool,
    /// Which index.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// What `index` can do beside indexing.
#[derive(Debug, Clone, Subcommand)]
pub enum IndexCommand {
    /// Say what the index holds, and how large it is.
    Stats(PlaceArgs),
    /// Read the whole index and check it.
    Verify(PlaceArgs),
    /// Forget working trees and branches that are gone, and what nobody shows any more.
    Gc(PlaceArgs),
}

/// Flags of `search`.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    /// A name, words, a text, or a regular expression.
    pub query: String,
    /// How to read it: auto, text, regex or symbol.
    #[arg(long, short = 'm', value_name = "MODE", default_value = "auto", value_parser = ["auto", "text", "regex", "symbol"])]
    pub mode: String,
    /// Only files of this language.
    #[arg(long, short = 'l', value_name = "LANGUAGE")]
    pub language: Option<String>,
    /// Only paths that match a glob; `!` in front leaves out. May be given more than once.
    #[arg(long = "glob", short = 'g', value_name = "GLOB")]
    pub globs: Vec<String>,
    /// Whether upper and lower case are the same: smart, sensitive or insensitive.
    #[arg(long, value_name = "RULE", default_value = "smart", value_parser = ["smart", "sensitive", "insensitive"])]
    pub case: String,
    /// Only whole words, in lines.
    #[arg(long, short = 'w')]
    pub word: bool,
    /// Lines around each line that was found.
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0)]
    pub context: usize,
    /// Rows at most, 1 to 200.
    #[arg(long, short = 'n', value_name = "ROWS", default_value_t = 20)]
    pub limit: usize,
    /// Rows to leave out at the beginning, in lines.
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    pub offset: usize,
    /// A branch, a tag or a commit that is indexed, in place of the working tree.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// How much each row tells: location, signature or context.
    #[arg(long, value_name = "LEVEL", default_value = "signature", value_parser = ["location", "signature", "context"])]
    pub detail: String,
    /// Say why rows stand where they stand: off, basic or full.
    #[arg(long, value_name = "LEVEL", default_value = "off", value_parser = ["off", "basic", "full"])]
    pub explain: String,
    /// Ask the index as it is, without bringing it up to date first.
    #[arg(long)]
    pub no_sync: bool,
    /// Which index.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Flags of `outline`.
#[derive(Debug, Clone, Args)]
pub struct OutlineArgs {
    /// A file.
    pub file: PathBuf,
    /// How deep: top or all.
    #[arg(long, value_name = "DEPTH", default_value = "all", value_parser = ["top", "all"])]
    pub depth: String,
    /// A branch, a tag or a commit that is indexed, in place of the working tree.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Ask the index as it is, without bringing it up to date first.
    #[arg(long)]
    pub no_sync: bool,
    /// Which index.
    #[command(flatten)]
    pub place: PlaceArgs,
}
