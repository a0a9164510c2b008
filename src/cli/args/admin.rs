//! Flags of the commands for operators: workspaces, running language servers, `top`, tokens, permissions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StateArgs;

/// The longest time after which a rotated token is removed by itself, in seconds: ten years.
const MAX_REMOVAL_DELAY_S: u64 = 3_650 * 86_400;

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
    #[command(
        after_help = "Examples:\n  export CODEYARD_TOKEN=$(codeyard token add ci)\n  codeyard token add bot --tenant team-a --workspace 'web*' --operation lsp,search --expires 90d"
    )]
    Add {
        /// Name of the principal.
        name: String,
        /// Tenant of the principal. Default: `default`.
        #[arg(long, value_name = "NAME")]
        tenant: Option<String>,
        /// Open only the workspaces that match, by their names in the tenant: names, `*` and `?`; one with `!` in front leaves out. May be
        /// repeated. Default: all.
        #[arg(long = "workspace", value_name = "PATTERN", value_delimiter = ',')]
        workspaces: Vec<String>,
        /// Allow only these operations: lsp, search, index, launch, edit; with --admin: admin:read, admin:write. Default: all.
        #[arg(long = "operation", value_name = "OPERATION", value_delimiter = ',')]
        operations: Vec<String>,
        /// Refuse the token after this time, such as 12h or 90d. Default: never.
        #[arg(long, value_name = "DURATION", value_parser = seconds)]
        expires: Option<u64>,
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
    /// Say what a token may do.
    #[command(after_help = "Example:\n  codeyard token show 2d711642b7")]
    Show {
        /// Id of the token.
        id: String,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
    /// List the tokens: id, name, kind, what they open if that isn't all, creation, last use, end.
    #[command(after_help = "Example:\n  codeyard token list --json | jq -r '.[] | select(.last_used == null) | .id'")]
    List {
        /// List only the tokens of the admin API.
        #[arg(long)]
        admin: bool,
        /// List only the tokens of the probes.
        #[arg(long, conflicts_with = "admin")]
        probes: bool,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove one token.
    #[command(after_help = "Examples:\n  codeyard token remove 2d711642b7\n  codeyard token remove ci")]
    Remove {
        /// Id of the token, or the name of its principal if it is the only token of that name.
        #[arg(value_name = "ID|NAME")]
        token: String,
        /// Look only among the tokens of the admin API.
        #[arg(long)]
        admin: bool,
        /// Look only among the tokens of the probes.
        #[arg(long, conflicts_with = "admin")]
        probes: bool,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
    /// Create a token for the same principal and of the same kind as another one, and print it; it cannot be shown again.
    #[command(
        after_help = "The old token stays valid until it is removed.\n\nExample:\n  export CODEYARD_TOKEN=$(codeyard token rotate 2d711642b7 --remove-after 1d)"
    )]
    Rotate {
        /// Id of the old token.
        id: String,
        /// Refuse the old token after this time, such as 90s, 30m, 12h or 7d.
        #[arg(long, value_name = "DURATION", value_parser = seconds)]
        remove_after: Option<u64>,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
}

/// The seconds of a duration: a whole number with one of the units s, m, h and d.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let unit = |letter| match letter {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        'd' => Some(86_400),
        _ => None,
    };
    let number =
        text.char_indices().next_back().and_then(|(at, letter)| Some((text[..at].parse::<u64>().ok()?, unit(letter)?)));
    let seconds =
        number.and_then(|(number, unit)| number.checked_mul(unit)).filter(|seconds| *seconds <= MAX_REMOVAL_DELAY_S);
    seconds.ok_or_else(|| "write a whole number and a unit, such as 90s, 30m, 12h or 7d; at most 3650d".to_owned())
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
