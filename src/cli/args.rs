//! The commands and their flags. Help, completions and manual pages are generated from these declarations, so every doc comment here
//! is a help text.

mod admin;
mod audit;
mod code_index;
mod connect;
mod runs;
mod servers;
mod serving;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use admin::{
    HealthArgs, PermissionsCommand, PutWorkspaceArgs, ServerSelectorArgs, TokenCommand, TopArgs, WorkspacesArgs,
    WorkspacesCommand,
};
pub use audit::{AuditCommand, AuditFilterArgs};
pub use code_index::{IndexArgs, IndexCommand, IndexLocationArgs, OutlineArgs, SearchArgs, SearchScope};
pub use connect::ConnectArgs;
pub use runs::{OneRunArgs, RunTargetArgs, RunsCommand, StartRunArgs};
pub use servers::{ConfigCommand, DoctorArgs, InstallServersArgs, RegistryArgs, ServersCommand};
pub use serving::{CallArgs, QuickstartArgs, ServeArgs, SourceArgs, StdioArgs, SyntacticArgs};

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
        after_help = "Examples:\n  codeyard call workspaceSymbols '{\"query\": \"Order\"}'\n  codeyard call hover '{\"uri\": \"src/main.c\", \"position\": {\"line\": 4, \"character\": 12}}'\n  codeyard call incomingCalls '{\"filePath\": \"src/yard.c\", \"line\": 36, \"character\": 15}'\n  codeyard call diagnostics.document '{\"uri\": \"src/main.c\"}' --json | jq .diagnostics"
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
    /// Start, watch, repair and publish launch runs: from a repository to the pull request with its pages.
    #[command(
        subcommand,
        after_help = "Examples:\n  codeyard runs demo\n  codeyard runs start run.yaml\n  codeyard runs list\n  codeyard runs show latest --follow\n  codeyard runs fix latest --all\n  codeyard runs diff latest\n  codeyard runs open-pr latest\n\nExit codes: 0 success; 1 failure; 2 wrong usage; 3 not found or not running; 4 the run has failed or needs a repair."
    )]
    Runs(RunsCommand),
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
    /// Connect an agent host: show, or write and test, its configuration.
    ///
    /// Without --write nothing is changed: the entry is shown with the file that it would be written into. With --write the entry is
    /// merged into that file, the old file is kept beside it, a token is made if the server wants one, and the connection is tested.
    /// Without HOST the known hosts are listed.
    #[command(
        after_help = "Examples:\n  codeyard connect\n  codeyard connect claude-code\n  codeyard connect claude-code --write\n  codeyard connect codex --http --write"
    )]
    Connect(ConnectArgs),
    /// Create, list and remove bearer tokens.
    ///
    /// A running server with the same state directory applies changes within a second.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Check, show and export the audit log: who did what.
    ///
    /// The section `[audit]` of the configuration switches it on.
    #[command(subcommand)]
    Audit(AuditCommand),
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
