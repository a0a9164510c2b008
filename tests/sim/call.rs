//! Calls: what is asked, in the tools' words, and what came of it.

use std::sync::Arc;

use codeyard::base::ids::WorkspaceName;
use codeyard::gateway::service::{Endpoint, Principal, Reply, ToolCall, TraceContext, TransportKind};
use codeyard::model::error::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::language::Asked;
use crate::profile::Profile;
use crate::site::Site;

/// Which page is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Page {
    First,
    /// The page behind those of a chain.
    Next(Chain),
    /// A cursor with the keys of a chain and another offset.
    Moved(Chain, usize),
    /// A cursor that was given for another question.
    Foreign(String),
    /// A text that was never a cursor.
    Forged(String),
}

/// Pages that were given one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    pub workspace: usize,
    pub asked: Asked,
    pub so_far: Vec<String>,
    pub cursor: String,
}

/// What is wrong with a call from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    Arguments,
    Outside,
    Link,
    Uri,
    Beyond,
}

/// A call under way.
pub struct Call {
    pub number: usize,
    pub client: usize,
    pub workspace: usize,
    pub tool: &'static str,
    pub asked: Asked,
    pub size: usize,
    pub page: Page,
    pub bad: Option<Bad>,
    /// The version of the files when it was asked.
    pub from: usize,
    pub began: Instant,
    pub limits: Profile,
    /// Equal for equal questions.
    pub key: String,
    pub places: Option<Arc<Semaphore>>,
    pub task: JoinHandle<()>,
}

/// A call that has been answered.
pub struct Done {
    pub number: usize,
    pub reply: Reply,
    pub at: Instant,
    /// The version of the files when the answer came.
    pub until: usize,
}

/// The tool that answers a question.
pub fn tool_of(asked: &Asked) -> &'static str {
    match asked {
        Asked::Definition { .. } => "vscode.lsp.definition",
        Asked::References { .. } => "vscode.lsp.references",
        Asked::Hover { .. } => "vscode.lsp.hover",
        Asked::Symbols { .. } => "vscode.lsp.documentSymbols",
        Asked::WorkspaceSymbols { .. } => "vscode.lsp.workspaceSymbols",
        Asked::Diagnostics { .. } => "vscode.lsp.diagnostics.document",
        Asked::WorkspaceDiagnostics => "vscode.lsp.diagnostics.workspace",
    }
}

/// Whether its answer has pages.
pub fn is_paged(asked: &Asked) -> bool {
    matches!(asked, Asked::References { .. } | Asked::WorkspaceSymbols { .. } | Asked::WorkspaceDiagnostics)
}

/// The arguments of a call.
pub fn arguments(site: &Site, asked: &Asked, size: usize, page: &Page, bad: Option<Bad>) -> Value {
    let at = |file: &str, line: usize| json!({"uri": site.uri(file), "position": {"line": line, "character": 0}});
    let mut arguments = match asked {
        Asked::Definition { file, line } | Asked::Hover { file, line } => at(file, *line),
        Asked::References { file, line, declaration } => {
            let mut arguments = at(file, *line);
            arguments["includeDeclaration"] = (*declaration).into();
            arguments
        }
        Asked::Symbols { file } | Asked::Diagnostics { file } => json!({"uri": site.uri(file)}),
        Asked::WorkspaceSymbols { query } => json!({"query": query}),
        Asked::WorkspaceDiagnostics => json!({}),
    };
    if is_paged(asked) {
        arguments["pageSize"] = size.into();
        let cursor = match page {
            Page::First => None,
            Page::Next(chain) => Some(chain.cursor.clone()),
            Page::Moved(chain, offset) => Some(moved(&chain.cursor, *offset)),
            Page::Foreign(cursor) | Page::Forged(cursor) => Some(cursor.clone()),
        };
        arguments["cursor"] = cursor.into();
    }
    match bad {
        Some(Bad::Arguments) => arguments["surprise"] = true.into(),
        Some(Bad::Outside) => arguments["uri"] = "file:///etc/passwd".into(),
        Some(Bad::Link) => arguments["uri"] = site.uri("leak.fake").into(),
        Some(Bad::Uri) => arguments["uri"] = "https://example.org/a.fake".into(),
        Some(Bad::Beyond) => arguments["position"]["line"] = 9_999.into(),
        None => {}
    }
    arguments
}

/// The same cursor with another offset.
fn moved(cursor: &str, offset: usize) -> String {
    let bytes = codeyard::base::base64url::decode(cursor).unwrap();
    let mut payload: Value = serde_json::from_slice(&bytes).unwrap();
    payload["o"] = offset.into();
    codeyard::base::base64url::encode(payload.to_string())
}

/// The offset in a cursor.
pub fn offset_of(cursor: &str) -> usize {
    let bytes = codeyard::base::base64url::decode(cursor).unwrap();
    let payload: Value = serde_json::from_slice(&bytes).unwrap();
    payload["o"].as_u64().unwrap() as usize
}

/// The call as the gateway takes it.
pub fn to_tool_call(workspace: usize, tool: &str, arguments: &Value, number: usize) -> ToolCall {
    ToolCall {
        endpoint: Endpoint {
            workspace: WorkspaceName::new(&format!("w{workspace}")),
            catalogs: Arc::from(["lsp-v1".to_owned()]),
        },
        principal: Principal::local(),
        tool: tool.to_owned(),
        arguments: Some(RawValue::from_string(arguments.to_string()).unwrap()),
        progress: None,
        line: None,
        trace: TraceContext::default(),
        request_id_text: number.to_string(),
        session: None,
        transport: TransportKind::Pipe,
    }
}

/// Code and details of a failed call.
pub fn error_of(data: &[u8]) -> (ErrorCode, Value) {
    let data: Value = serde_json::from_slice(data).unwrap();
    let text = data["code"].as_str().unwrap().strip_prefix("MCP_LSP_GATEWAY/").unwrap().to_owned();
    let code = ErrorCode::ALL.into_iter().find(|code| code.as_str() == text).expect("a documented code");
    (code, data["details"].clone())
}

/// The entries of an answer as comparable lines. `Err`: it names a file that isn't the workspace's.
pub fn entries(site: &Site, asked: &Asked, payload: &Value) -> Result<Vec<String>, String> {
    let name = |uri: &Value| {
        let uri = uri.as_str().unwrap_or_default();
        site.name_of(uri).ok_or_else(|| format!("an answer names {uri}"))
    };
    let line = |range: &Value| range["start"]["line"].as_u64().unwrap();
    let list = |key: &str| payload[key].as_array().cloned().unwrap_or_default().into_iter();
    let finding = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", line(&one["range"]), one["severity"], text("source"), text("message"))
    };
    let place = |one: Value| Ok(format!("{}:{}", name(&one["uri"])?, line(&one["range"])));
    match asked {
        Asked::Definition { .. } => list("locations").map(place).collect(),
        Asked::References { .. } => list("items").map(place).collect(),
        Asked::Hover { .. } => Ok(list("contents").map(|one| one["value"].as_str().unwrap().to_owned()).collect()),
        Asked::Symbols { .. } => Ok(list("symbols")
            .map(|one| format!("{} {}", line(&one["range"]), one["name"].as_str().unwrap()))
            .collect()),
        Asked::WorkspaceSymbols { .. } => list("items")
            .map(|one| {
                let (at, symbol) = (&one["location"], one["name"].as_str().unwrap());
                Ok(format!("{}:{} {symbol}", name(&at["uri"])?, line(&at["range"])))
            })
            .collect(),
        Asked::Diagnostics { .. } => Ok(list("diagnostics").map(|one| finding(&one)).collect()),
        Asked::WorkspaceDiagnostics => list("items")
            .map(|one| {
                let findings: Vec<String> = one["diagnostics"].as_array().unwrap().iter().map(finding).collect();
                Ok(format!("{}|{}", name(&one["uri"])?, findings.join("|")))
            })
            .collect(),
    }
}
