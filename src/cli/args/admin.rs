//! Flags of the commands for operators: workspaces, running language servers, `top`, tokens, permissions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StateArgs;

/// Selects language servers of the running codeyard server.
#[derive(Debug, Clone, Args)]
pub struct ServerSelectorArgs {
    /// Workspace of the language servers.
    pub workspace: String,
    /// Kind of language server, or the id of one server; `codeyard servers running` lists both.
    #[arg(value_name = "KIND|ID")]
    pub server: String,
    /// The state directory.
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
    /// The subcommand; without one, list the workspaces.
    #[command(subcommand)]
    pub command: Option<WorkspacesCommand>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The subcommands of `workspaces`.
#[derive(Debug, Clone, Subcommand)]
pub enum WorkspacesCommand {
    /// List all workspaces: state, language servers, calls in flight, roots.
    List {
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Create a workspace, or change an existing one.
    Put(PutWorkspaceArgs),
    /// Delete a workspace: calls in flight finish, its language servers stop.
    Delete {
        /// Name of the workspace.
        name: String,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Flags of `workspaces put`.
#[derive(Debug, Clone, Args)]
pub struct PutWorkspaceArgs {
    /// Name of the workspace.
    pub name: String,
    /// Root folder; language servers start in it. Can be repeated.
    #[arg(long, value_name = "PATH", required_unless_present = "file")]
    pub root: Vec<PathBuf>,
    /// Additional folder that may be read, without language servers of its own. Can be repeated.
    #[arg(long, value_name = "PATH")]
    pub extra_root: Vec<PathBuf>,
    /// Start its language servers immediately.
    #[arg(long)]
    pub prewarm: bool,
    /// JSON file with the keys of a [[workspace]]; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `top`.
#[derive(Debug, Clone, Args)]
pub struct TopArgs {
    /// Print one frame as text and exit.
    #[arg(long)]
    pub once: bool,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Flags of `health`.
#[derive(Debug, Clone, Args)]
pub struct HealthArgs {
    /// Only check that the server answers; ignore workspaces and language servers.
    #[arg(long)]
    pub live: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
}

/// The subcommands of `token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it; it cannot be shown again.
    #[command(after_help = "Example:\n  export CODEYARD_TOKEN=$(codeyard token add ci)")]
    Add {
        /// Name of the principal.
        name: String,
        /// Create a token for the admin API (`[admin] listen`) instead of /mcp.
        #[arg(long)]
        admin: bool,
        /// Create a token for /livez, /readyz and /metrics instead of /mcp.
        #[arg(long, conflicts_with = "admin")]
        probes: bool,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
    /// List the principals that have a token.
    List {
        /// Use the tokens of the admin API.
        #[arg(long)]
        admin: bool,
        /// Use the tokens of the probes.
        #[arg(long, conflicts_with = "admin")]
        probes: bool,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove all tokens of a principal.
    Remove {
        /// Name of the principal.
        name: String,
        /// Use the tokens of the admin API.
        #[arg(long)]
        admin: bool,
        /// Use the tokens of the probes.
        #[arg(long, conflicts_with = "admin")]
        probes: bool,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
}

/// The subcommands of `permissions`.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// List stored permissions: principal, workspace, permission, date.
    #[command(after_help = "Example:\n  codeyard permissions list --json | jq -r '.[].principal'")]
    List {
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke stored permissions; the next call asks again.
    #[command(
        after_help = "Examples:\n  codeyard permissions revoke --principal ci --workspace shop\n  codeyard permissions revoke --all"
    )]
    Revoke {
        /// Revoke only the permissions of this principal.
        #[arg(long, value_name = "NAME", required_unless_present_any = ["workspace", "all"])]
        principal: Option<String>,
        /// Revoke only the permissions for this workspace.
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
        /// Revoke all permissions.
        #[arg(long, conflicts_with_all = ["principal", "workspace"])]
        all: bool,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
}
