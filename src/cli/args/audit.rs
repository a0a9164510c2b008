//! Flags of `audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use codeyard_audit::{Anchor, EventKind};
use codeyard_base::clock;

use super::StateArgs;
use super::admin::seconds;

/// The subcommands of `audit`.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check that no line was changed, left out or added.
    #[command(
        after_help = "Whoever can write the files can also write a whole new log. Against that, keep the number and hash of a line elsewhere: this \
                      command prints those of the last line, and the service logs those of each file that it closes.\n\nExamples:\n  codeyard audit verify\n  \
                      codeyard audit verify --line 4711:HASH\n  codeyard audit verify november.jsonl\n\nExit codes: 0 intact; 1 not."
    )]
    Verify {
        /// Files to check, the oldest first. Default: the log of the state directory.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Number and hash that a line must have.
        #[arg(long, value_name = "NUMBER:HASH", value_parser = anchor)]
        line: Option<Anchor>,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the newest lines.
    #[command(after_help = "Examples:\n  codeyard audit tail\n  codeyard audit tail -n 100 --tenant team-a --follow")]
    Tail {
        /// How many lines.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
        /// Then show lines as they come.
        #[arg(short, long)]
        follow: bool,
        /// Which lines.
        #[command(flatten)]
        filter: AuditFilterArgs,
    },
    /// Show all lines that match.
    #[command(
        after_help = "Examples:\n  codeyard audit search --principal ann --since 7d\n  codeyard audit search --event token\n  codeyard audit search src/billing \
                      --workspace 'team-a/*' --since 2026-11-01T00:00:00Z\n  codeyard audit search --verdict WORKSPACE_DENIED --json | jq -r .from"
    )]
    Search {
        /// A text in the arguments of the call, such as a path or a name. Where a log has digests, it is compared with them as a whole.
        text: Option<String>,
        /// Which lines.
        #[command(flatten)]
        filter: AuditFilterArgs,
    },
    /// Write the lines of a period as they are, so that `codeyard audit verify FILE` can check them elsewhere.
    #[command(
        after_help = "Example:\n  codeyard audit export --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z > november.jsonl"
    )]
    Export {
        /// From this time on: 12h, 7d, or a time such as 2026-11-01T00:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = time)]
        since: Option<u64>,
        /// Before this time.
        #[arg(long, value_name = "TIME", value_parser = time)]
        until: Option<u64>,
        /// The state directory.
        #[command(flatten)]
        state: StateArgs,
    },
}

/// Which lines of an audit log.
#[derive(Debug, Clone, Default, Args)]
pub struct AuditFilterArgs {
    /// Only lines of this event: call, refused, session, token, permission, admin, configuration, publication, service, lost.
    #[arg(long, value_name = "EVENT", value_parser = event)]
    pub event: Option<EventKind>,
    /// Only lines of this tenant.
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Only lines of this principal, by its name in its tenant.
    #[arg(long, value_name = "NAME")]
    pub principal: Option<String>,
    /// Only lines of the workspaces that match: names, `*` and `?`, with the tenant in front.
    #[arg(long, value_name = "PATTERN")]
    pub workspace: Option<String>,
    /// Only lines with this verdict: ok, CANCELLED, the code of an error, or a status of HTTP.
    #[arg(long, value_name = "VERDICT")]
    pub verdict: Option<String>,
    /// Only lines from this time on: 12h, 7d, or a time such as 2026-11-01T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<u64>,
    /// Only lines before this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<u64>,
    /// The state directory.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print the lines as they are in the log.
    #[arg(long)]
    pub json: bool,
}

fn event(word: &str) -> Result<EventKind, String> {
    EventKind::parse(word).ok_or_else(|| {
        let all = EventKind::ALL.map(EventKind::as_str).join(", ");
        format!("events are {all}")
    })
}

/// Seconds since 1970 of a time, or of a duration before now.
fn time(text: &str) -> Result<u64, String> {
    let ago = |before: u64| clock::wall_s().saturating_sub(before);
    clock::seconds(text)
        .or_else(|| seconds(text).ok().map(ago))
        .ok_or_else(|| "write a time such as 2026-11-01T00:00:00Z, or a duration such as 12h or 7d".to_owned())
}

fn anchor(text: &str) -> Result<Anchor, String> {
    let parts = text.split_once(':');
    let parsed = parts.and_then(|(seq, hash)| Some(Anchor { seq: seq.parse().ok()?, hash: hash.to_owned() }));
    let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    parsed
        .filter(|anchor| is_hash(&anchor.hash))
        .ok_or_else(|| "write the number of a line, a colon and the 64 digits of its hash".to_owned())
}
