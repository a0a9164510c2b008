//! Names and numbers of the protocol.
//!
//! Invariant: no other module of this crate repeats these literals.

/// The MCP revision that this server speaks.
pub const REVISION: &str = "2025-11-25";
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
/// The client cancelled the request. LSP's number, because MCP has none.
pub const REQUEST_CANCELLED: i32 = -32_800;

/// The progress notification of servers and clients.
pub const PROGRESS: &str = "notifications/progress";
/// The notification of either side that cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// Our request for a person's answer.
pub const ELICITATION: &str = "elicitation/create";

/// The methods that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `initialize`.
    Initialize,
    /// `ping`.
    Ping,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall,
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
    /// Every served method.
    pub const ALL: [Self; 4] = [Self::Initialize, Self::Ping, Self::ToolsList, Self::ToolsCall];

    /// The method's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::ToolsList => "tools/list",
            Self::ToolsCall => "tools/call",
        }
    }

    /// The method of this name, if it is served.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
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
