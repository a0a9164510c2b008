//! The commands and their flags, declared once: help, completions and the man page come from here.

mod code;
mod operating;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use code::{IndexArgs, IndexCommand, OutlineArgs, PlaceArgs, SearchArgs};
pub use operating::{PermissionsCommand, PickArgs, PutArgs, TokenCommand, TopArgs, WorkspacesArgs, WorkspacesCommand};

/// One server that supervises language servers for many repositories and serves exact, bounded, reproducible code
/// intelligence to agents over MCP.
#[derive(Debug, Parser)]
#[command(
    name = "codeyard",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "First steps:\n  codeyard quickstart             see it work on three sample repositories\n  codeyard doctor .               what would serve the files here\n  codeyard servers install --for .\n  codeyard serve --root .\n\nExit codes: 0 done; 1 failed, the message says what to do; 2 wrong usage; 3 not found or not running."
)]
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
    /// SIGHUP reads the configuration file again; SIGTERM lets calls end, stops all language servers, and ends.
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
    /// See it work: language servers, sample workspaces, one question for each tool.
    ///
    /// Installs the language servers for Python, TypeScript and C into the state directory (nothing global), serves the
    /// sample workspaces on loopback, asks one question of each of the seven tools over MCP, prints questions, answers
    /// and a configuration to paste into a client, and goes on serving until Ctrl-C.
    #[command(after_help = "Examples:\n  codeyard quickstart\n  codeyard quickstart --once --listen 127.0.0.1:0")]
    Quickstart(QuickstartArgs),
    /// Ask one question and print the answer.
    ///
    /// The running server of the state directory is asked if there is one, else the one at --url, else a server is
    /// started for this call. TOOL is a full name (`vscode.lsp.hover`) or the end of one (`hover`); JSON are its
    /// arguments, `-` reads them from standard input. A `uri` may be written as a path. Lines and characters count from 0.
    #[command(
        after_help = "Examples:\n  codeyard call workspaceSymbols '{\"query\": \"Order\"}'\n  codeyard call hover '{\"uri\": \"src/main.c\", \"position\": {\"line\": 4, \"character\": 7}}'\n  codeyard call incomingCalls '{\"filePath\": \"src/yard.c\", \"line\": 36, \"character\": 15}'\n  codeyard call diagnostics.document '{\"uri\": \"src/main.c\"}' --json | jq .diagnostics"
    )]
    Call(CallArgs),
    /// Make the code index of a repository, or bring it up to date.
    ///
    /// Text is searchable first, symbols follow. The index lies in the state directory, is shared by all branches and working
    /// trees of a repository, and may be used by a running server meanwhile. Nothing is written into the repository.
    #[command(
        after_help = "Examples:\n  codeyard index\n  codeyard index --root ~/src/linux --watch\n  codeyard index --ref main\n  codeyard index stats"
    )]
    Index(IndexArgs),
    /// Search code: by name, by words, by text, by regular expression.
    ///
    /// The index is made or brought up to date first. Rows are `path:line: kind name`, lines `path:line:text`.
    #[command(
        after_help = "Examples:\n  codeyard search parse_config\n  codeyard search 'split a path into segments'\n  codeyard search --mode regex 'fn \\w+_init\\(' --glob 'src/**' --context 2\n  codeyard search --mode text 'TODO' --word --json"
    )]
    Search(SearchArgs),
    /// Show what a file declares, nested.
    #[command(
        after_help = "Examples:\n  codeyard outline src/main.rs\n  codeyard outline src/main.rs --depth top --ref main"
    )]
    Outline(OutlineArgs),
    /// List, install, remove and find language servers; restart and stop those that run.
    #[command(subcommand)]
    Servers(ServersCommand),
    /// List, put and delete workspaces of the running server.
    ///
    /// What is put holds until the server ends; reading the configuration file again keeps it, unless the file defines the
    /// same name.
    #[command(
        after_help = "Examples:\n  codeyard workspaces\n  codeyard workspaces put redis --root ~/src/redis\n  codeyard workspaces delete redis"
    )]
    Workspaces(WorkspacesArgs),
    /// Watch the running server: workspaces, language servers, calls, memory.
    ///
    /// Keys: arrows choose a language server, r starts it anew, s sorts, q ends.
    #[command(after_help = "Examples:\n  codeyard top\n  codeyard top --once")]
    Top(TopArgs),
    /// Say what would serve the files here, what this machine allows, and how the running server is.
    ///
    /// For each language found below PATH: which language server would serve it, from which project root, and why not the
    /// others. For a FILE: the same of each kind in the order of choice, with what makes its project root that, and how it is
    /// now. Workspaces are those of the running server, or of --config.
    #[command(
        after_help = "Examples:\n  codeyard doctor\n  codeyard doctor src/main.rs\n  codeyard doctor ~/src/linux --json"
    )]
    Doctor(DoctorArgs),
    /// Check, show and describe configurations.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make, list and remove bearer tokens.
    ///
    /// A running server of the same state directory follows within a second.
    #[command(subcommand)]
    Token(TokenCommand),
    /// List and revoke permissions that were given for always.
    ///
    /// With `permission.lsp = "ask"` a person is asked, and may answer "always". A running server of the same state
    /// directory follows with the next call.
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Measure a bare language server and codeyard on a repository, in the same run.
    ///
    /// This runs `codeyard-bench`, a program of its own that is installed beside codeyard; all flags are passed on to it.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  codeyard bench --help\n  codeyard bench ~/src/redis --scenario latency,mix"
    )]
    Bench {
        /// Flags and arguments of `codeyard-bench`.
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Be a language server that answers by name, on standard input and output.
    ///
    /// It needs nothing installed: definitions, references, hovers, symbols, implementations and calls come from the code
    /// index of the root that `initialize` names. `codeyard serve` starts it by itself where a language's own server is
    /// missing (`[syntactic]` of the configuration); an editor can start it as any other language server.
    #[command(after_help = "Example:\n  codeyard syntactic --index-dir ~/.local/state/codeyard/index")]
    Syntactic(SyntacticArgs),
    /// Print completions for a shell.
    #[command(
        after_help = "Example:\n  codeyard completions bash > ~/.local/share/bash-completion/completions/codeyard"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page a command into a folder.
    #[command(after_help = "Examples:\n  codeyard man | man -l -\n  codeyard man --dir ~/.local/share/man/man1")]
    Man {
        /// Write `codeyard.1`, `codeyard-serve.1` and so on here.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Where state is kept.
#[derive(Debug, Clone, Default, Args)]
pub struct StateArgs {
    /// Where tokens, caches and installed language servers are kept.
    #[arg(long, value_name = "DIR", env = "CODEYARD_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

/// Flags of `codeyard syntactic`.
#[derive(Debug, Clone, Default, Args)]
pub struct SyntacticArgs {
    /// Where indexes are kept; without it, `index` in the state directory.
    #[arg(long, value_name = "DIR")]
    pub index_dir: Option<PathBuf>,
    /// Where state is kept.
    #[command(flatten)]
    pub state: StateArgs,
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
    /// Don't read code indexes into memory at the start.
    #[arg(long)]
    pub no_prewarm: bool,
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
    /// Don't read code indexes into memory at the start.
    #[arg(long)]
    pub no_prewarm: bool,
}

/// Flags of `quickstart`.
#[derive(Debug, Clone, Args)]
pub struct QuickstartArgs {
    /// End after the answers; exit code 0 only if all seven were right.
    #[arg(long)]
    pub once: bool,
    /// Address to listen on [default: 127.0.0.1:3939, or a free port if that is taken].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// State.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Flags of `call`.
#[derive(Debug, Clone, Args)]
pub struct CallArgs {
    /// The tool: `hover`, `diagnostics.workspace`, or the full name; or an operation of the tool `lsp`, such as `incomingCalls`.
    pub tool: String,
    /// Its arguments, a JSON object; `-` reads them from standard input.
    #[arg(default_value = "{}", value_name = "JSON")]
    pub arguments: String,
    /// Endpoint of a server to ask, such as http://127.0.0.1:3939/mcp.
    #[arg(long, value_name = "URL", conflicts_with_all = ["root", "config", "server"])]
    pub url: Option<String>,
    /// Bearer token for --url.
    #[arg(long, env = "CODEYARD_TOKEN", hide_env_values = true, requires = "url")]
    pub token: Option<String>,
    /// The workspace to ask [default: the one that holds the file or the present folder, else the default one].
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// Workspaces and state, where no running server is asked.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Print the answer's JSON.
    #[arg(long)]
    pub json: bool,
    /// Ask again this many seconds long while the language server is starting.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub wait: u64,
}

/// What `servers` can do.
#[derive(Debug, Subcommand)]
pub enum ServersCommand {
    /// List all kinds: what they serve, and whether they are there.
    #[command(
        after_help = "Examples:\n  codeyard servers list\n  codeyard servers list --json | jq '.[] | select(.available)'"
    )]
    List {
        /// Which registry.
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
        /// The kinds.
        #[arg(value_name = "KIND", required_unless_present = "for_path")]
        kinds: Vec<String>,
        /// Install what the files below this path call for.
        #[arg(long = "for", value_name = "PATH")]
        for_path: Option<PathBuf>,
        /// Which registry.
        #[command(flatten)]
        registry: RegistryArgs,
        /// Print JSON of what is installed.
        #[arg(long)]
        json: bool,
    },
    /// Remove all installed versions of language servers.
    Uninstall {
        /// The kinds.
        #[arg(value_name = "KIND", required = true)]
        kinds: Vec<String>,
        /// State.
        #[command(flatten)]
        state: StateArgs,
    },
    /// List those of the running server: state, process, memory, restarts.
    Running {
        /// State.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Start language servers of the running server anew.
    #[command(after_help = "Example:\n  codeyard servers restart redis clangd")]
    Restart(PickArgs),
    /// Stop language servers of the running server; the next question starts them.
    Stop(PickArgs),
    /// Print where a language server's program is, or where servers are installed.
    Path {
        /// The kind.
        kind: Option<String>,
        /// Which registry.
        #[command(flatten)]
        registry: RegistryArgs,
    },
}

/// Which registry of language servers, and where they are installed.
#[derive(Debug, Clone, Default, Args)]
pub struct RegistryArgs {
    /// Configuration file whose entries add to the registry.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// State.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Flags of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// A folder or a file.
    #[arg(default_value = ".", value_name = "PATH|FILE")]
    pub path: PathBuf,
    /// Which registry.
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Choose this kind of language server where several could serve a language; may be given more than once.
    #[arg(long, value_name = "KIND")]
    pub server: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `config` can do.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a configuration file, and print what would be served.
    #[command(after_help = "Example:\n  codeyard config check codeyard.toml && kill -HUP $(pidof codeyard)")]
    Check {
        /// The file.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a configuration with every default filled in and secrets hidden; without a file, the commented defaults.
    #[command(after_help = "Example:\n  codeyard config show > codeyard.toml")]
    Show {
        /// The file.
        file: Option<PathBuf>,
    },
    /// Print the JSON schema of configuration files.
    Schema,
}
