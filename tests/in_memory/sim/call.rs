//! Calls: queries as tool arguments, and their results.

use std::sync::Arc;

use codeyard_gateway::service::{ToolCall, ToolReply};
use codeyard_model::error::ErrorCode;
use codeyard_model::operation::{Operation, OperationInput};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::engine::harness::tool_call;
use crate::sim::language::{Asked, Lsp, describe_call, describe_function};
use crate::sim::profile::Profile;
use crate::sim::site::Site;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Page {
    First,
    Next(Chain),
    /// A cursor with the keys of a chain and another offset.
    Moved(Chain, usize),
    /// A cursor of another query.
    Foreign(String),
    /// A text that is no cursor.
    Forged(String),
}

/// Pages received one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chain {
    pub workspace: usize,
    pub asked: Asked,
    pub so_far: Vec<String>,
    pub cursor: String,
}

/// Intentional error of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bad {
    Arguments,
    Outside,
    Link,
    Uri,
    Beyond,
}

pub(crate) struct Call {
    pub number: usize,
    pub client: usize,
    pub workspace: usize,
    pub tool: &'static str,
    pub asked: Asked,
    pub size: usize,
    pub page: Page,
    pub bad: Option<Bad>,
    /// Version of the files when the call started.
    pub from: usize,
    pub began: Instant,
    pub limits: Profile,
    /// Key that is equal for equal queries.
    pub key: String,
    pub places: Option<Arc<Semaphore>>,
    pub task: JoinHandle<()>,
}

/// An answered call.
pub(crate) struct Done {
    pub number: usize,
    pub reply: ToolReply,
    pub at: Instant,
    /// Version of the files when the answer arrived.
    pub until: usize,
}

/// Tool of a query; for the tool `lsp` followed by a colon and the operation.
pub(crate) fn tool_of(asked: &Asked) -> &'static str {
    match asked {
        Asked::Definition { .. } => "vscode.lsp.definition",
        Asked::References { .. } => "vscode.lsp.references",
        Asked::Hover { .. } => "vscode.lsp.hover",
        Asked::Symbols { .. } => "vscode.lsp.documentSymbols",
        Asked::WorkspaceSymbols { .. } => "vscode.lsp.workspaceSymbols",
        Asked::Diagnostics { .. } => "vscode.lsp.diagnostics.document",
        Asked::WorkspaceDiagnostics => "vscode.lsp.diagnostics.workspace",
        Asked::Lsp(asked) => match asked.operation {
            Operation::GoToDefinition => "lsp:goToDefinition",
            Operation::FindReferences => "lsp:findReferences",
            Operation::Hover => "lsp:hover",
            Operation::DocumentSymbol => "lsp:documentSymbol",
            Operation::WorkspaceSymbol => "lsp:workspaceSymbol",
            Operation::GoToImplementation => "lsp:goToImplementation",
            Operation::PrepareCallHierarchy => "lsp:prepareCallHierarchy",
            Operation::IncomingCalls => "lsp:incomingCalls",
            Operation::OutgoingCalls => "lsp:outgoingCalls",
        },
    }
}

pub(crate) fn is_paged(asked: &Asked) -> bool {
    matches!(
        asked,
        Asked::References { .. } | Asked::WorkspaceSymbols { .. } | Asked::WorkspaceDiagnostics | Asked::Lsp(_)
    )
}

pub(crate) fn arguments(site: &Site, asked: &Asked, size: usize, page: &Page, bad: Option<Bad>) -> Value {
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
        Asked::Lsp(Lsp { operation, file, line, query }) => {
            let mut arguments = json!({"operation": operation.as_str()});
            match operation.input() {
                OperationInput::Name => arguments["query"] = query.as_str().into(),
                OperationInput::File => arguments["filePath"] = file.as_str().into(),
                OperationInput::Position => {
                    arguments["filePath"] = file.as_str().into();
                    arguments["line"] = (line + 1).into();
                    arguments["character"] = 1.into();
                }
            }
            arguments
        }
    };
    let is_lsp = matches!(asked, Asked::Lsp(_));
    if is_paged(asked) {
        let cursor = match page {
            Page::First => None,
            Page::Next(chain) => Some(chain.cursor.clone()),
            Page::Moved(chain, offset) => Some(moved(&chain.cursor, *offset)),
            Page::Foreign(cursor) | Page::Forged(cursor) => Some(cursor.clone()),
        };
        if !is_lsp {
            arguments["pageSize"] = size.into();
        }
        arguments["cursor"] = cursor.into();
    }
    match bad {
        Some(Bad::Arguments) => arguments["surprise"] = true.into(),
        Some(Bad::Outside) if is_lsp => arguments["filePath"] = "/etc/passwd".into(),
        Some(Bad::Link) if is_lsp => arguments["filePath"] = "leak.fake".into(),
        Some(Bad::Beyond) if is_lsp => arguments["line"] = 9_999.into(),
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
    let bytes = codeyard_base::base64url::decode(cursor).unwrap();
    let mut payload: Value = serde_json::from_slice(&bytes).unwrap();
    payload["o"] = offset.into();
    codeyard_base::base64url::encode(payload.to_string())
}

pub(crate) fn offset_of(cursor: &str) -> usize {
    let bytes = codeyard_base::base64url::decode(cursor).unwrap();
    let payload: Value = serde_json::from_slice(&bytes).unwrap();
    payload["o"].as_u64().unwrap() as usize
}

/// The call as the gateway accepts it.
pub(crate) fn to_tool_call(workspace: usize, tool: &str, arguments: &Value, number: usize) -> ToolCall {
    let (tool, catalog) = match tool.split_once(':') {
        Some((tool, _)) => (tool, "agent"),
        None => (tool, "lsp-v1"),
    };
    let call = tool_call(&format!("w{workspace}"), catalog, tool, arguments.clone());
    ToolCall { request_id_text: number.to_string(), ..call }
}

/// Code and details of a failed call.
pub(crate) fn error_of(data: &[u8]) -> (ErrorCode, Value) {
    let data: Value = serde_json::from_slice(data).unwrap();
    let text = data["code"].as_str().unwrap().strip_prefix("MCP_LSP_GATEWAY/").unwrap().to_owned();
    let code = ErrorCode::ALL.into_iter().find(|code| code.as_str() == text).expect("a documented code");
    (code, data["details"].clone())
}

/// The error in a result of the tool `lsp`.
pub(crate) fn error_in(whole: &Value) -> Option<(ErrorCode, Value)> {
    let error = &whole["structuredContent"]["metadata"]["error"];
    let text = error["code"].as_str().filter(|_| whole["isError"] == true)?;
    Some((ErrorCode::ALL.into_iter().find(|code| code.as_str() == text).expect("a documented code"), error.clone()))
}

/// Entries of an answer as comparable lines. `Err`: it names a file outside the workspace.
pub(crate) fn entries(site: &Site, asked: &Asked, payload: &Value) -> Result<Vec<String>, String> {
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
                let at = &one["location"];
                let symbol = one["name"].as_str().unwrap();
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
        Asked::Lsp(asked) => {
            let result = &payload["metadata"]["result"];
            let list = || result.as_array().cloned().unwrap_or_default().into_iter();
            let text = |one: &Value| one.as_str().unwrap().to_owned();
            let function =
                |one: &Value| Ok::<_, String>((name(&one["uri"])?, line(&one["range"]) as usize, text(&one["name"])));
            let calls = |member: &'static str| {
                let describe = move |one: Value| {
                    let lines = one["fromRanges"].as_array().unwrap().iter().map(|range| line(range) as usize);
                    Ok(describe_call(&function(&one[member])?, lines))
                };
                list().map(describe).collect()
            };
            match asked.operation {
                Operation::GoToDefinition | Operation::FindReferences | Operation::GoToImplementation => {
                    list().map(place).collect()
                }
                Operation::Hover if result.is_null() => Ok(vec![]),
                Operation::Hover => Ok(vec![text(&result["contents"]["value"])]),
                Operation::DocumentSymbol => {
                    Ok(list().map(|one| format!("{} {}", line(&one["range"]), text(&one["name"]))).collect())
                }
                Operation::WorkspaceSymbol => list()
                    .map(|one| {
                        let at = &one["location"];
                        let symbol = text(&one["name"]);
                        Ok(describe_function(&(name(&at["uri"])?, line(&at["range"]) as usize, symbol)))
                    })
                    .collect(),
                Operation::PrepareCallHierarchy => list().map(|one| Ok(describe_function(&function(&one)?))).collect(),
                Operation::IncomingCalls => calls("from"),
                Operation::OutgoingCalls => calls("to"),
            }
        }
    }
}
