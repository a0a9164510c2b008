//! Row 9 for the tool `lsp`: raw answers of all servers become what was found.

use crate::canonicalise::{document_symbols, hovers, locations, workspace_symbols};
use crate::operation;
use codeyard_canon::{RawItem, UriGate};
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{RawAnswer, RawCallItem};
use codeyard_model::answer::Notes;
use codeyard_model::error::ToolError;
use codeyard_model::found::{Found, IncomingCall, OutgoingCall};
use codeyard_model::limits::{self, Limits};
use codeyard_model::operation::{LspQuery, Operation, Subject};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::LspResult;

/// What `answers` come to, in the servers' order.
///
/// # Errors
/// CAP_EXCEEDED.
pub(crate) fn canonical(
    asked: &LspQuery<CanonicalUri>,
    gate: &Gate,
    door: &mut dyn UriGate,
    limits: &Limits,
    answers: Vec<RawAnswer>,
    mut notes: Notes,
) -> Result<LspResult, ToolError> {
    let found = match asked.operation {
        Operation::GoToDefinition | Operation::FindReferences | Operation::GoToImplementation => {
            let cap = limits.max_references_items_total;
            let list = codeyard_canon::locations(locations(answers), door, limits::MAX_RAW_ITEMS_PAGED, cap)?;
            notes.outside = list.outside();
            Found::Locations(list.into_items())
        }
        Operation::Hover => {
            let (hover, truncated) = codeyard_canon::markup(hovers(answers));
            notes.truncated = truncated;
            Found::Hover(hover)
        }
        Operation::DocumentSymbol => {
            Found::Outline(codeyard_canon::outline(document_symbols(answers), limits::MAX_RAW_ITEMS)?)
        }
        Operation::WorkspaceSymbol => {
            let all = limits::MAX_RAW_ITEMS_PAGED;
            let list = codeyard_canon::workspace_symbols(workspace_symbols(answers), door, all, all)?;
            notes.outside = list.outside();
            let name = match &asked.subject {
                Subject::Name(name) => name.as_str(),
                _ => "",
            };
            let max = limits.max_workspace_symbols_items_total;
            let (symbols, is_cut) = codeyard_canon::ranked(list.into_items(), name, max);
            notes.truncated |= is_cut;
            Found::Symbols(symbols)
        }
        Operation::PrepareCallHierarchy => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::CallItems(items) => items,
                _ => vec![],
            });
            let list = codeyard_canon::call_items(raw.map(item).collect(), door, limits::MAX_RAW_ITEMS)?;
            notes.outside = list.outside();
            Found::Items(list.into_items())
        }
        Operation::IncomingCalls | Operation::OutgoingCalls => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::Calls(calls) => calls,
                _ => vec![],
            });
            let raw = raw.map(|call| (item(call.item), call.from_ranges));
            let list = codeyard_canon::calls(raw.collect(), door, limits::MAX_RAW_ITEMS)?;
            notes.outside = list.outside();
            let calls = list.into_items().into_iter();
            if asked.operation == Operation::IncomingCalls {
                Found::Incoming(calls.map(|(from, from_ranges)| IncomingCall { from, from_ranges }).collect())
            } else {
                Found::Outgoing(calls.map(|(to, from_ranges)| OutgoingCall { to, from_ranges }).collect())
            }
        }
    };
    Ok(LspResult { operation: asked.operation, title: operation::title(asked, gate), found, notes })
}

fn item(raw: RawCallItem) -> RawItem {
    let RawCallItem { name, kind, uri, range, selection_range, .. } = raw;
    RawItem { uri, name, kind, range, selection_range }
}
