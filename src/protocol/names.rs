//! Names and numbers of the protocol, each in this one place.
//!
//! Only constants and the two functions that recognise a method. Invariant: nothing else in the crate spells these.

/// The one MCP revision spoken.
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
/// The JSON is not a JSON-RPC message of ours.
pub const INVALID_REQUEST: i32 = -32_600;
/// No such method.
pub const METHOD_NOT_FOUND: i32 = -32_601;
/// The parameters don't fit the method.
pub const INVALID_PARAMS: i32 = -32_602;
/// The server couldn't.
pub const INTERNAL_ERROR: i32 = -32_603;
/// The client cancelled the request: the number that LSP uses; MCP has none.
pub const REQUEST_CANCELLED: i32 = -32_800;

/// The progress notification of servers and clients.
pub const PROGRESS: &str = "notifications/progress";
/// The notification, of either side, that a request's answer isn't waited for any more.
pub const CANCELLED: &str = "notifications/cancelled";
/// Our request for the answer of a person.
pub const ELICITATION: &str = "elicitation/create";

/// Requests that are served.
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

/// Notifications that a client may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// [`CANCELLED`].
    Cancelled,
    /// One that is part of MCP and asks for nothing here.
    Heard,
    /// One that MCP doesn't have; taken and ignored.
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

impl Notice {
    /// What the notification of this name is.
    pub fn of(name: &str) -> Self {
        match name {
            CANCELLED => Self::Cancelled,
            "notifications/initialized" | PROGRESS | "notifications/roots/list_changed" => Self::Heard,
            _ => Self::Unknown,
        }
    }
}
