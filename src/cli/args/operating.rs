//! Flags of the commands for operators: workspaces, running language servers, `top`, tokens, permissions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StateArgs;

/// Which language servers of the running server.
#[derive(Debug, Clone, Args)]
pub struct PickArgs {
    /// The workspace.
    pub workspace: String,
    /// The kind, or the id of one server.
    #[arg(value_name = "KIND|ID")]
    pub server: String,
    /// State.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `workspaces`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WorkspacesArgs {
    /// What to do; without it, list.
    #[command(subcommand)]
    pub command: Option<WorkspacesCommand>,
    /// State.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `workspaces` can do.
#[derive(Debug, Clone, Subcommand)]
pub enum WorkspacesCommand {
    /// List all: how they are, what they hold.
    List {
        /// State.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Create a workspace, or put another in its place.
    Put(PutArgs),
    /// Remove a workspace: its calls end, its language servers stop.
    Delete {
        /// Its name.
        name: String,
        /// State.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Flags of `workspaces put`.
#[derive(Debug, Clone, Args)]
pub struct PutArgs {
    /// Its name.
    pub name: String,
    /// A folder that servers are started in; may be given more than once.
    #[arg(long, value_name = "PATH", required_unless_present = "file")]
    pub root: Vec<PathBuf>,
    /// A further folder that may be read; may be given more than once.
    #[arg(long, value_name = "PATH")]
    pub extra_root: Vec<PathBuf>,
    /// Start its language servers now.
    #[arg(long)]
    pub prewarm: bool,
    /// All keys of a [[workspace]] as JSON; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// State.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `top`.
#[derive(Debug, Clone, Args)]
pub struct TopArgs {
    /// Print one frame as text and end.
    #[arg(long)]
    pub once: bool,
    /// State.
    #[command(flatten)]
    pub state: StateArgs,
}

/// What `token` can do.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; it can't be read again.
    #[command(after_help = "Example:\n  export CODEYARD_TOKEN=$(codeyard token add ci)")]
    Add {
        /// Whom it names.
        name: String,
        /// For operators, at the address of `[admin]`, and not for /mcp.
        #[arg(long)]
        admin: bool,
        /// State.
        #[command(flatten)]
        state: StateArgs,
    },
    /// List whom the tokens name.
    List {
        /// Those of operators.
        #[arg(long)]
        admin: bool,
        /// State.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove all tokens of a name.
    Remove {
        /// Whom they name.
        name: String,
        /// Those of operators.
        #[arg(long)]
        admin: bool,
        /// State.
        #[command(flatten)]
        state: StateArgs,
    },
}

/// What `permissions` can do.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// List what is remembered: who, in which workspace, what, since when.
    #[command(after_help = "Example:\n  codeyard permissions list --json | jq -r '.[].principal'")]
    List {
        /// State.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take permissions back; who had them is asked again.
    #[command(
        after_help = "Examples:\n  codeyard permissions revoke --principal ci --workspace shop\n  codeyard permissions revoke --all"
    )]
    Revoke {
        /// Those of this principal.
        #[arg(long, value_name = "NAME", required_unless_present_any = ["workspace", "all"])]
        principal: Option<String>,
        /// Those for this workspace.
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
        /// All.
        #[arg(long, conflicts_with_all = ["principal", "workspace"])]
        all: bool,
        /// State.
        #[command(flatten)]
        state: StateArgs,
    },
}
