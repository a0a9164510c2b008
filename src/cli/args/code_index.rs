//! Flags of the commands that use the code index: `index`, `search`, `outline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StateArgs;
use crate::terminal_style::When;
use codeyard_base::ids::{GroupName, TenantId};
use codeyard_catalog::limits::MAX_CODE_CONTEXT_LINES;

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
    /// Read all files again; rebuild an index that is damaged or has another version. Index the root even if it is no repository and is
    /// `/`, the home folder, or very large.
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
    /// Which workspaces to search.
    #[command(flatten)]
    pub scope: SearchScope,
    /// Search only files of this language.
    #[arg(long, short = 't', visible_alias = "type", value_name = "LANGUAGE")]
    pub language: Option<String>,
    /// Search only paths that match this glob; a leading `!` excludes them. Can be repeated.
    #[arg(long = "glob", short = 'g', value_name = "GLOB")]
    pub globs: Vec<String>,
    /// Whether upper and lower case are the same: smart, sensitive or insensitive.
    #[arg(long, value_name = "RULE", default_value = "smart", value_parser = ["smart", "sensitive", "insensitive"])]
    pub case: String,
    /// Ignore case; the same as `--case insensitive`.
    #[arg(long, short = 'i', conflicts_with = "case_sensitive")]
    pub ignore_case: bool,
    /// Heed case; the same as `--case sensitive`.
    #[arg(long, short = 's')]
    pub case_sensitive: bool,
    /// Match only whole words; for the modes text and regex.
    #[arg(long, short = 'w')]
    pub word: bool,
    /// Lines of context before and after each matching line, at most 10; for the modes text and regex.
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0)]
    pub context: usize,
    /// Lines of context after each matching line, at most 10; for the modes text and regex.
    #[arg(long, short = 'A', value_name = "LINES")]
    pub after_context: Option<usize>,
    /// Lines of context before each matching line, at most 10; for the modes text and regex.
    #[arg(long, short = 'B', value_name = "LINES")]
    pub before_context: Option<usize>,
    /// Print only the paths of the files with a match.
    #[arg(long, short = 'l', conflicts_with = "count")]
    pub files_with_matches: bool,
    /// Print only the number of matching lines or symbols of each file.
    #[arg(long, short = 'c')]
    pub count: bool,
    /// Whether the output has colours; `auto` heeds NO_COLOR and TERM.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: When,
    /// Whether paths are links that the terminal opens.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub hyperlink: When,
    /// Group the rows below the path of their file [default: on a terminal].
    #[arg(long, conflicts_with = "no_heading")]
    pub heading: bool,
    /// Print the path on each line [default: if the output is no terminal].
    #[arg(long)]
    pub no_heading: bool,
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
    /// Index the root even if it is no repository and is `/`, the home folder, or very large.
    #[arg(long)]
    pub force: bool,
    /// Seconds to wait for workspaces of a running server that are being indexed.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub wait: u64,
    /// The location of the index.
    #[command(flatten)]
    pub location: IndexLocationArgs,
}

impl SearchArgs {
    /// The lines of context before and after each matching line.
    pub fn context_lines(&self) -> (usize, usize) {
        let most = MAX_CODE_CONTEXT_LINES;
        let lines = |own: Option<usize>| own.unwrap_or(self.context).min(most);
        (lines(self.before_context), lines(self.after_context))
    }

    /// Whether only files are printed, so that all matches are needed.
    pub fn lists_files(&self) -> bool {
        self.files_with_matches || self.count
    }
}

/// The workspaces that `search` covers. Without a flag, the repository of the current folder.
#[derive(Debug, Clone, Default, Args)]
pub struct SearchScope {
    /// Search all workspaces: those of the running server, of --config, or all repositories that have an index.
    #[arg(long, conflicts_with_all = ["root", "group"])]
    pub all: bool,
    /// Search the workspaces of this group of the configuration.
    #[arg(long, value_name = "NAME", conflicts_with = "root")]
    pub group: Option<String>,
    /// Search the workspace of this name, or those that match a pattern with `*` and `?`.
    #[arg(long, value_name = "NAME", conflicts_with = "root")]
    pub workspace: Option<String>,
}

impl SearchScope {
    /// Whether workspaces are selected by name.
    pub fn is_group(&self) -> bool {
        self.all || self.group.is_some() || self.workspace.is_some()
    }

    /// The tenant whose workspaces are searched, and the pattern of their names: `--workspace` may be `TENANT/PATTERN`.
    pub fn tenant_and_pattern(&self) -> (TenantId, Option<&str>) {
        let (tenant, pattern) = self.workspace.as_deref().map(TenantId::split).unzip();
        (tenant.unwrap_or_else(TenantId::default_tenant), pattern)
    }

    /// The group to search: that of `--group`, else all workspaces. `None` if no group can have the name of `--group`.
    pub fn group_name(&self) -> Option<GroupName> {
        match &self.group {
            Some(name) => GroupName::new(name.strip_prefix('@').unwrap_or(name)),
            None => Some(GroupName::all()),
        }
    }
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
    /// Index the root even if it is no repository and is `/`, the home folder, or very large.
    #[arg(long)]
    pub force: bool,
    /// The location of the index.
    #[command(flatten)]
    pub location: IndexLocationArgs,
}
