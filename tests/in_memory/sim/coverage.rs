//! Events that 200 seeds must cover, so that the simulation can't silently stop testing something.

use std::collections::BTreeMap;

use codeyard_model::error::ErrorCode;
use codeyard_model::operation::Operation;

use crate::sim::call::tool_of;
use crate::sim::faults::{FAULTS, START_FAULTS};
use crate::sim::language::{Asked, Lsp};

/// Required events besides faults, tools and codes.
const OTHERS: [&str; 43] = [
    "answer: first page",
    "answer: names a path outside",
    "answer: retained",
    "answer: shared",
    "call: cancelled",
    "cancel: sent",
    "checked: quiet",
    "checked: quiet for so long that no question goes on",
    "edit: clear",
    "edit: edit",
    "edit: remove",
    "edit: rename",
    "edit: write",
    "error: CAP_EXCEEDED overloaded",
    "error: CAP_EXCEEDED response_too_large",
    "error: CAP_EXCEEDED timeout",
    "error: CURSOR_INVALID request_key",
    "error: CURSOR_INVALID undecodable",
    "error: NOT_FOUND no_identifier",
    "error: PROVIDER_UNAVAILABLE crashed",
    "error: PROVIDER_UNAVAILABLE quarantined",
    "error: PROVIDER_UNAVAILABLE server_error",
    "error: PROVIDER_UNAVAILABLE unsupported",
    "lsp: declaration first",
    "lsp: nothing found",
    "lsp: somebody named",
    "page: foreign",
    "page: forged",
    "page: moved",
    "page: next",
    "pages: to the end",
    "program: comes or goes",
    "push: of an older version",
    "push: sent",
    "reconfigure: add",
    "reconfigure: change",
    "reconfigure: remove",
    "reconfigure: retune",
    "restart: crashed",
    "restart: hung",
    "restart: start_failed",
    "start: Fine",
    "workspace: panicked",
];

/// Required events that were not covered.
pub(crate) fn missing(seen: &BTreeMap<String, u64>) -> Vec<String> {
    let faults = FAULTS.iter().map(|(_, fault)| format!("fault: {fault:?}"));
    let starts = START_FAULTS.iter().map(|(_, fault)| format!("start: {fault:?}"));
    let codes = ErrorCode::ALL.iter().map(|code| format!("code: {}", code.as_str()));
    let file = String::new();
    let line = 0;
    let tools = [
        Asked::Definition { file: file.clone(), line },
        Asked::References { file: file.clone(), line, declaration: false },
        Asked::Hover { file: file.clone(), line },
        Asked::Symbols { file: file.clone() },
        Asked::WorkspaceSymbols { query: String::new() },
        Asked::Diagnostics { file: file.clone() },
        Asked::WorkspaceDiagnostics,
    ];
    let lsp = |operation| Asked::Lsp(Lsp { operation, file: file.clone(), line, query: String::new() });
    let tools: Vec<Asked> = tools.into_iter().chain(Operation::ALL.map(lsp)).collect();
    let tools = tools.iter().map(|asked| format!("ok: {}", tool_of(asked)));
    let others = OTHERS.iter().map(|what| (*what).to_owned());
    let all = faults.chain(starts).chain(codes).chain(tools).chain(others);
    all.filter(|what| !seen.contains_key(what)).collect()
}
