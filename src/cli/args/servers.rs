//! Flags of the commands about kinds of language servers and about the configuration: `servers`, `doctor`, `config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ServerSelectorArgs, StateArgs};

/// Flags of `servers install`.
#[derive(Debug, Args)]
pub struct InstallServersArgs {
    /// Kinds to install; `codeyard servers list` shows them.
    #[arg(value_name = "KIND", required_unless_present_any = ["for_path", "config"])]
    pub kinds: Vec<String>,
    /// Install the kinds that the files below this path need, those with most files first. Says first which can't be installed here, shows the
    /// others with their sizes, and asks first if it runs in a terminal. Without KIND and --for, but with --config, the files of all
    /// workspaces of the configuration count.
    #[arg(long = "for", value_name = "PATH")]
    pub for_path: Option<PathBuf>,
    /// Don't ask, also before something is compiled. Without it a script compiles only the kinds that it names.
    #[arg(long)]
    pub yes: bool,
    /// Only show what would be installed.
    #[arg(long)]
    pub dry_run: bool,
    /// The registry of language servers.
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Print the installed kinds as JSON.
    #[arg(long)]
    pub json: bool,
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
        after_help = "Examples:\n  codeyard servers install ty clangd\n  codeyard servers install --for ~/src/redis\n  codeyard servers install --config codeyard.toml"
    )]
    Install(InstallServersArgs),
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
        #[arg(required_unless_present = "config")]
        file: Option<PathBuf>,
        /// The same, as other commands name it.
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        config: Option<PathBuf>,
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
