//! Flags of `codeyard connect`.

use std::path::PathBuf;

use clap::Args;

use super::StateArgs;

/// Flags of `connect`.
#[derive(Debug, Clone, Args)]
pub struct ConnectArgs {
    /// The host, such as `claude-code`; without it, the hosts are listed.
    pub host: Option<String>,
    /// Test the connection and write the configuration. Without this flag nothing is changed.
    #[arg(long)]
    pub write: bool,
    /// Connect over HTTP to a running server; without this flag the host starts `codeyard stdio`.
    #[arg(long)]
    pub http: bool,
    /// The endpoint for --http [default: that of the running server for the root].
    #[arg(long, value_name = "URL", requires = "http")]
    pub url: Option<String>,
    /// Repository of the agent [default: the current folder].
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,
    /// Tool catalogs, joined with `+`.
    #[arg(long, value_name = "CATALOGS", default_value = "agent")]
    pub catalog: String,
    /// The host's configuration file [default: the one that the host reads].
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
}
