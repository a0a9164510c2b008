//! The commands and their flags, declared once: help, completions and the man page come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// One server that supervises language servers for many repositories and serves exact, bounded, reproducible code
/// intelligence to agents over MCP.
#[derive(Debug, Parser)]
#[command(name = "codeyard", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What codeyard can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve workspaces to many clients over HTTP.
    ///
    /// With no configuration at all, name one or more roots: each becomes a workspace named after its folder, the first
    /// is the default one. The address is printed as `listening http://…/mcp` on standard error once it accepts.
    #[command(
        after_help = "Examples:\n  codeyard serve --root ~/src/linux --root ~/src/redis\n  codeyard serve --config codeyard.toml --listen 127.0.0.1:0"
    )]
    Serve(ServeArgs),
    /// Serve one client over standard input and output.
    ///
    /// If a `codeyard serve` of the same state directory runs and knows the root, its language servers are shared;
    /// otherwise this process starts its own and stops them at the end of input.
    #[command(after_help = "Example:\n  codeyard stdio --root . --catalog lsp-v1-safe")]
    Stdio(StdioArgs),
}

/// Where workspaces and state are, for commands that serve.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Configuration file (TOML); see `codeyard config show`.
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub config: Option<PathBuf>,
    /// A repository to serve; may be given more than once.
    #[arg(long, value_name = "PATH")]
    pub root: Vec<PathBuf>,
    /// Choose this kind of language server where several could serve a language; may be given more than once.
    #[arg(long, value_name = "KIND")]
    pub server: Vec<String>,
    /// Where tokens, caches and installed language servers are kept.
    #[arg(long, value_name = "DIR", env = "CODEYARD_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

/// Flags of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Workspaces and state.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:3939, or the configuration's].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Ask for no token. For loopback addresses only.
    #[arg(long)]
    pub no_auth: bool,
}

/// Flags of `stdio`.
#[derive(Debug, Clone, Args)]
pub struct StdioArgs {
    /// Workspaces and state.
    #[command(flatten)]
    pub source: SourceArgs,
    /// The workspace to serve, where a configuration has several [default: its default one].
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// Catalogs to serve, joined with `+`.
    #[arg(long, value_name = "CATALOGS", default_value = "lsp-v1")]
    pub catalog: String,
    /// Never attach to a running server; always start language servers of one's own.
    #[arg(long)]
    pub alone: bool,
}
