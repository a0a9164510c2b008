//! Names and numbers of the protocol.
//!
//! Invariant: no other module of this crate repeats these literals. Revisions are in `revision`.

use super::revision::Revision;
use codeyard_base::words;

/// The JSON-RPC version.
pub const JSONRPC: &str = "2.0";
/// The server's name in `serverInfo`.
pub const SERVER_NAME: &str = "codeyard";
/// The server's title in `serverInfo`.
pub const SERVER_TITLE: &str = "codeyard: code intelligence for agents";
/// The server's version in `serverInfo`.
pub const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The text is not JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The JSON is no valid JSON-RPC message.
pub const INVALID_REQUEST: i32 = -32_600;
/// The method is unknown.
pub const METHOD_NOT_FOUND: i32 = -32_601;
/// The parameters don't fit the method.
pub const INVALID_PARAMS: i32 = -32_602;
/// An error inside the server.
pub const INTERNAL_ERROR: i32 = -32_603;
/// A header differs from the request's body, or is missing.
pub const HEADER_MISMATCH: i32 = -32_020;
/// The request names a revision that the endpoint doesn't speak.
pub const UNSUPPORTED_VERSION: i32 = -32_022;

/// How long a client may keep a list of tools, or what an endpoint is, in milliseconds.
pub const CACHE_TTL_MS: u64 = 300_000;

/// The progress notification of servers and clients.
pub const PROGRESS: &str = "notifications/progress";
/// The notification of either side that cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// Our request for a person's answer.
pub const ELICITATION: &str = "elicitation/create";

words! {
    /// The methods that are served.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Method {
        Initialize => "initialize",
        Ping => "ping",
        /// `tools/list`.
        ToolsList => "tools/list",
        /// `tools/call`.
        ToolsCall => "tools/call",
        /// `server/discover`, of the stateless revision.
        Discover => "server/discover",
        /// `subscriptions/listen`, of the stateless revision.
        Listen => "subscriptions/listen",
    }
    /// The method's name.
    fn as_str;
    /// The method of this name, whatever the revision.
    fn parse;
}

/// The kinds of client notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationKind {
    /// [`CANCELLED`].
    Cancelled,
    /// A notification of MCP that needs no action.
    Accepted,
    /// A notification that MCP doesn't define. It is ignored.
    Unknown,
}

impl Method {
    /// The method of this name, if `revision` has it.
    pub fn of(name: &str, revision: Revision) -> Option<Self> {
        Self::parse(name).filter(|method| method.is_in(revision))
    }

    /// Whether `revision` has the method.
    pub fn is_in(self, revision: Revision) -> bool {
        match self {
            Self::ToolsList | Self::ToolsCall => true,
            Self::Initialize | Self::Ping => !revision.is_stateless(),
            Self::Discover | Self::Listen => revision.is_stateless(),
        }
    }
}

impl NotificationKind {
    /// The kind of the notification `name`.
    pub fn of(name: &str) -> Self {
        match name {
            CANCELLED => Self::Cancelled,
            "notifications/initialized" | PROGRESS | "notifications/roots/list_changed" => Self::Accepted,
            _ => Self::Unknown,
        }
    }
}
