//! The commands and their flags. Help, completions and manual pages are generated from these declarations, so every doc comment here
//! is a help text.

mod admin;
mod code_index;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use admin::{
    HealthArgs, PermissionsCommand, PutWorkspaceArgs, ServerSelectorArgs, TokenCommand, TopArgs, WorkspacesArgs,
    WorkspacesCommand,
};
pub use code_index::{IndexArgs, IndexCommand, IndexLocationArgs, OutlineArgs, SearchArgs, SearchScope};

/// One server that supervises language servers for many repositories and serves exact, bounded, reproducible code
/// intelligence to agents over MCP.
#[derive(Debug, Parser)]
#[command(
    name = "codeyard",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "First steps:\n  codeyard quickstart               try it on three sample repositories\n  codeyard doctor .                 show which language servers would serve the files here\n  codeyard servers install --for .  install the missing ones\n  codeyard serve --root .           serve this repository\n\nExit codes: 0 success; 1 failure, the message says what to do; 2 wrong usage; 3 not found or not running."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of codeyard.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve workspaces to MCP clients over HTTP.
    ///
    /// Without a configuration file, pass one or more roots: each becomes a workspace named after its folder, the first is the default
    /// one. When the server accepts connections, it prints `listening http://…/mcp` on standard error. SIGHUP reloads the configuration
    /// file. SIGTERM lets calls in flight finish, stops all language servers, and exits.
    #[command(
        after_help = "Examples:\n  codeyard serve --root ~/src/linux --root ~/src/redis\n  codeyard serve --config codeyard.toml --listen 127.0.0.1:0"
    )]
    Serve(ServeArgs),
    /// Serve one MCP client over standard input and output.
    ///
    /// If a `codeyard serve` with the same state directory runs and has a workspace with the same roots, its language servers are
    /// shared. Otherwise this process starts its own language servers and stops them at the end of standard input.
    #[command(after_help = "Example:\n  codeyard stdio --root . --catalog lsp-v1-safe")]
    Stdio(StdioArgs),
    /// Try codeyard: install language servers, serve sample workspaces, call each tool once.
    ///
    /// Installs the language servers for Python, TypeScript and C into the state directory (nothing global), serves the sample
    /// workspaces on loopback, calls each of the seven tools of `lsp-v1` over MCP, prints questions, answers and a client configuration,
    /// and serves until Ctrl-C.
    #[command(after_help = "Examples:\n  codeyard quickstart\n  codeyard quickstart --once --listen 127.0.0.1:0")]
    Quickstart(QuickstartArgs),
    /// Call one tool and print the answer.
    ///
    /// Calls the server at --url if given, else the running server of the state directory, else a server started for this call. TOOL is
    /// a full name (`vscode.lsp.hover`), the end of one (`hover`), or an operation of the tool `lsp` (`incomingCalls`). JSON holds the
    /// arguments; `-` reads them from standard input. A `uri` may be a path. Lines and characters count from 0; those of `lsp` count
    /// from 1.
    #[command(
        after_help = "Examples:\n  codeyard call workspaceSymbols '{\"query\": \"Order\"}'\n  codeyard call hover '{\"uri\": \"src/main.c\", \"position\": {\"line\": 4, \"character\": 7}}'\n  codeyard call incomingCalls '{\"filePath\": \"src/yard.c\", \"line\": 36, \"character\": 15}'\n  codeyard call diagnostics.document '{\"uri\": \"src/main.c\"}' --json | jq .diagnostics"
    )]
    Call(CallArgs),
    /// Build or update the code index of a repository.
    ///
    /// Text is searchable first, symbols follow. The index is stored in the state directory and shared by all branches and worktrees of
    /// the repository. A running server can use it at the same time. Nothing is written into the repository.
    #[command(
        after_help = "Examples:\n  codeyard index\n  codeyard index --root ~/src/linux --watch\n  codeyard index --ref main\n  codeyard index stats"
    )]
    Index(IndexArgs),
    /// Search code by name, words, text or regular expression.
    ///
    /// Updates the index first. --all searches all workspaces of the running server, or all indexed repositories. Exit code 1: no match.
    #[command(
        after_help = "Examples:\n  codeyard search parse_config\n  codeyard search 'split a path into segments'\n  codeyard search --mode regex 'fn \\w+_init\\(' --glob 'src/**' --context 2\n  codeyard search --mode text 'TODO' --word --json\n  codeyard search --all parse_config\n  codeyard search --workspace 'svc-*' -m text 'connection refused' -C 2"
    )]
    Search(SearchArgs),
    /// Show the declarations of a file as a tree.
    #[command(
        after_help = "Examples:\n  codeyard outline src/main.rs\n  codeyard outline src/main.rs --depth top --ref main"
    )]
    Outline(OutlineArgs),
    /// List, install, remove and locate language servers; restart and stop running ones.
    #[command(subcommand)]
    Servers(ServersCommand),
    /// List, create, change and delete workspaces of the running server.
    ///
    /// Changes last until the server stops. A reload of the configuration file keeps them, unless the file defines the same name.
    #[command(
        after_help = "Examples:\n  codeyard workspaces\n  codeyard workspaces put redis --root ~/src/redis\n  codeyard workspaces delete redis"
    )]
    Workspaces(WorkspacesArgs),
    /// Show the running server live: workspaces, language servers, calls, memory.
    ///
    /// Keys: arrows select a language server, r restarts it, s changes the sort order, q quits.
    #[command(after_help = "Examples:\n  codeyard top\n  codeyard top --once")]
    Top(TopArgs),
    /// Diagnose which language servers serve the files here, the limits of this machine, and the running server.
    ///
    /// For a folder: for each language found in it, which language server would serve it, from which project root, and why the others
    /// would not. For a file: the same for each kind in the order of preference, with the reason for its project root and its state.
    /// The workspaces are those of --config, else those of the running server.
    #[command(
        after_help = "Examples:\n  codeyard doctor\n  codeyard doctor src/main.rs\n  codeyard doctor ~/src/linux --json"
    )]
    Doctor(DoctorArgs),
    /// Check a configuration, show it with all defaults, print its schema.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Create, list and remove bearer tokens.
    ///
    /// A running server with the same state directory applies changes within a second.
    #[command(subcommand)]
    Token(TokenCommand),
    /// List and revoke stored permissions.
    ///
    /// With `permission.lsp = "ask"` the person at the client is asked; the answer "always" is stored. A running server with the same
    /// state directory applies a revocation with the next call.
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Benchmark codeyard against a bare language server on a repository.
    ///
    /// Runs the separate program `codeyard-bench` from the folder of codeyard, and passes all flags to it.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  codeyard bench --help\n  codeyard bench ~/src/redis --scenario latency,mix"
    )]
    Bench {
        /// Flags and arguments of `codeyard-bench`; see `codeyard bench --help`.
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Run the embedded name-based language server on standard input and output.
    ///
    /// It needs no installation: definitions, references, hovers, symbols, implementations and calls come from the code index of the
    /// root in `initialize`. `codeyard serve` starts it where no other language server is available (`[syntactic]` of the
    /// configuration). An editor can start it like any other language server.
    #[command(after_help = "Example:\n  codeyard syntactic --index-dir ~/.local/state/codeyard/index")]
    Syntactic(SyntacticArgs),
    /// Check the running server; exit code 0 if it is ready.
    ///
    /// For health checks of containers and process supervisors. It asks the server of the state directory over its local socket, so it
    /// needs no token and no address. It prints `ready`, or each failing check.
    #[command(
        after_help = "Examples:\n  codeyard health\n  codeyard health --live\n\nExit codes: 0 ready; 1 a check fails, or the server does not answer; 3 not running."
    )]
    Health(HealthArgs),
    /// Print shell completions.
    #[command(
        after_help = "Example:\n  codeyard completions bash > ~/.local/share/bash-completion/completions/codeyard"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page for each command into a folder.
    #[command(after_help = "Examples:\n  codeyard man | man -l -\n  codeyard man --dir ~/.local/share/man/man1")]
    Man {
        /// Write `codeyard.1`, `codeyard-serve.1` and so on into this folder; it is created if missing.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// The flag for the state directory.
#[derive(Debug, Clone, Default, Args)]
pub struct StateArgs {
    /// State directory: tokens, caches, indexes, installed language servers [default: ~/.local/state/codeyard].
    #[arg(long, value_name = "DIR", env = "CODEYARD_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

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
    /// Workspace to call [default: the one that contains the file or the current folder, else the default workspace].
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

/// The subcommands of `servers`.
#[derive(Debug, Subcommand)]
pub enum ServersCommand {
    /// List all kinds of language servers: their languages and whether they are installed.
    #[command(
        after_help = "Examples:\n  codeyard servers list\n  codeyard servers list --json | jq '.[] | select(.available)'"
    )]
    List {
        /// The registry of language servers.
        #[command(flatten)]
        registry: RegistryArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Install language servers into the state directory; nothing global is changed.
    #[command(
        after_help = "Examples:\n  codeyard servers install ty clangd\n  codeyard servers install --for ~/src/redis"
    )]
    Install {
        /// Kinds to install; `codeyard servers list` shows them.
        #[arg(value_name = "KIND", required_unless_present = "for_path")]
        kinds: Vec<String>,
        /// Install the kinds that the files below this path need.
        #[arg(long = "for", value_name = "PATH")]
        for_path: Option<PathBuf>,
        /// The registry of language servers.
        #[command(flatten)]
        registry: RegistryArgs,
        /// Print the installed kinds as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove language servers from the state directory, all versions.
    Uninstall {
        /// Kinds to remove.
        #[arg(value_name = "KIND", required = true)]
        kinds: Vec<String>,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
    /// List the language servers of the running codeyard server: state, process, memory in MiB, restarts.
    Running {
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Restart language servers of the running codeyard server.
    #[command(after_help = "Example:\n  codeyard servers restart redis clangd")]
    Restart(ServerSelectorArgs),
    /// Stop language servers of the running codeyard server; the next call that needs them starts them.
    Stop(ServerSelectorArgs),
    /// Print the path of a language server's program, or the folder where servers are installed.
    Path {
        /// Kind of language server; without it, print the folder where servers are installed.
        kind: Option<String>,
        /// The registry of language servers.
        #[command(flatten)]
        registry: RegistryArgs,
    },
}

/// The registry of language servers and the folder where they are installed.
#[derive(Debug, Clone, Default, Args)]
pub struct RegistryArgs {
    /// Configuration file whose `[servers]` and `[languages]` extend the built-in registry.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Flags of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Folder or file to diagnose.
    #[arg(default_value = ".", value_name = "PATH|FILE")]
    pub path: PathBuf,
    /// The registry of language servers.
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Kind of language server to prefer where several can serve a language; can be repeated.
    #[arg(long, value_name = "KIND")]
    pub server: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The subcommands of `config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a configuration file and print what it would serve.
    #[command(after_help = "Example:\n  codeyard config check codeyard.toml && kill -HUP $(pidof codeyard)")]
    Check {
        /// Configuration file.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a configuration with all defaults filled in and secrets redacted; without FILE, the commented defaults.
    #[command(after_help = "Example:\n  codeyard config show > codeyard.toml")]
    Show {
        /// Configuration file.
        file: Option<PathBuf>,
    },
    /// Print the JSON schema of configuration files.
    Schema,
}
