//! Flags of the commands that serve workspaces or call a tool: `serve`, `stdio`, `quickstart`, `call`, `syntactic`.

use std::path::PathBuf;

use clap::Args;

use super::StateArgs;

/// Flags of `codeyard syntactic`.
#[derive(Debug, Clone, Default, Args)]
pub struct SyntacticArgs {
    /// Folder of the code indexes [default: `index` in the state directory].
    #[arg(long, value_name = "DIR")]
    pub index_dir: Option<PathBuf>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
}

/// The workspaces and the state directory of commands that serve.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Configuration file (TOML); `codeyard config show` prints a commented one.
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub config: Option<PathBuf>,
    /// Repository to serve as a workspace; can be repeated.
    #[arg(long, value_name = "PATH")]
    pub root: Vec<PathBuf>,
    /// Kind of language server to prefer where several can serve a language; can be repeated.
    #[arg(long, value_name = "KIND")]
    pub server: Vec<String>,
    /// State directory: tokens, caches, indexes, installed language servers [default: ~/.local/state/codeyard].
    #[arg(long, value_name = "DIR", env = "CODEYARD_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

/// Flags of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// The workspaces and the state directory.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Address to listen on; port 0 selects a free port [default: `server.listen` of the configuration, else 127.0.0.1:3939].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Require no token; only for loopback addresses.
    #[arg(long)]
    pub no_auth: bool,
    /// Network of a proxy in front, which may be plain HTTP beyond loopback, such as 10.0.0.0/8; can be repeated. Adds to
    /// `server.behind_proxy` of the configuration.
    #[arg(long, value_name = "NETWORK")]
    pub behind_proxy: Vec<String>,
    /// Do not load code indexes into memory at start.
    #[arg(long)]
    pub no_prewarm: bool,
}

/// Flags of `stdio`.
#[derive(Debug, Clone, Args)]
pub struct StdioArgs {
    /// The workspaces and the state directory.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Workspace to serve if there are several, or a group such as @all [default: the default workspace].
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// Tool catalogs to serve, joined with `+`.
    #[arg(long, value_name = "CATALOGS", default_value = "lsp-v1")]
    pub catalog: String,
    /// Do not attach to a running server; always start own language servers.
    #[arg(long)]
    pub alone: bool,
    /// Do not load code indexes into memory at start.
    #[arg(long)]
    pub no_prewarm: bool,
}

/// Flags of `quickstart`.
#[derive(Debug, Clone, Args)]
pub struct QuickstartArgs {
    /// Exit after the answers; the exit code is 0 only if all seven are right.
    #[arg(long)]
    pub once: bool,
    /// Address to listen on [default: 127.0.0.1:3939, or a free port if that is in use].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Flags of `call`.
#[derive(Debug, Clone, Args)]
pub struct CallArgs {
    /// Tool: a full name, the end of one such as `hover`, or an operation of the tool `lsp` such as `incomingCalls`.
    pub tool: String,
    /// Arguments as a JSON object; `-` reads them from standard input.
    #[arg(default_value = "{}", value_name = "JSON")]
    pub arguments: String,
    /// Endpoint of the server to call, such as http://127.0.0.1:3939/mcp.
    #[arg(long, value_name = "URL", conflicts_with_all = ["root", "config", "server"])]
    pub url: Option<String>,
    /// Bearer token for --url.
    #[arg(long, env = "CODEYARD_TOKEN", hide_env_values = true, requires = "url")]
    pub token: Option<String>,
    /// Workspace to call [default: the one that contains the file or the current folder].
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// The workspaces and the state directory, for calls without a running server.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// Seconds to retry while the language server is starting.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub wait: u64,
}
