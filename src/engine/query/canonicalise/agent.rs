//! Row 9 for the tool `lsp`: raw answers of all servers become what was found.

use crate::query::canonicalise::raw_answers::{document_symbols, hovers, locations, workspace_symbols};
use crate::query::operation;
use codeyard_canon::{RawCallItem, UriGate};
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{RawAnswer, RawCallItem};
use codeyard_model::answer::AnswerNotes;
use codeyard_model::error::ToolError;
use codeyard_model::limits;
use codeyard_model::limits::Limits;
use codeyard_model::lsp_items::{IncomingCall, LspItems, OutgoingCall};
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::LspResult;

/// What `answers` come to, in the servers' order.
///
/// # Errors
/// CAP_EXCEEDED.
pub(crate) fn canonical(
    asked: &LspQuery<CanonicalUri>,
    gate: &Gate,
    recorder: &mut dyn UriGate,
    limits: &Limits,
    answers: Vec<RawAnswer>,
    mut notes: AnswerNotes,
) -> Result<LspResult, ToolError> {
    let found = match asked.operation {
        Operation::GoToDefinition | Operation::FindReferences | Operation::GoToImplementation => {
            let cap = limits.max_references_items_total;
            let list = codeyard_canon::locations(locations(answers), recorder, limits::MAX_RAW_ITEMS_PAGED, cap)?;
            notes.outside = list.outside();
            LspItems::Locations(list.into_items())
        }
        Operation::Hover => {
            let (hover, truncated) = codeyard_canon::markup(hovers(answers));
            notes.truncated = truncated;
            LspItems::Hover(hover)
        }
        Operation::DocumentSymbol => {
            LspItems::Outline(codeyard_canon::outline(document_symbols(answers), limits::MAX_RAW_ITEMS)?)
        }
        Operation::WorkspaceSymbol => {
            let all = limits::MAX_RAW_ITEMS_PAGED;
            let list = codeyard_canon::workspace_symbols(workspace_symbols(answers), recorder, all, all)?;
            notes.outside = list.outside();
            let name = match &asked.subject {
                QuerySubject::Name(name) => name.as_str(),
                _ => "",
            };
            let max = limits.max_workspace_symbols_items_total;
            let (symbols, is_cut) = codeyard_canon::ranked(list.into_items(), name, max);
            notes.truncated |= is_cut;
            LspItems::Symbols(symbols)
        }
        Operation::PrepareCallHierarchy => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::CallItems(items) => items,
                _ => vec![],
            });
            let list = codeyard_canon::call_items(raw.map(item).collect(), recorder, limits::MAX_RAW_ITEMS)?;
            notes.outside = list.outside();
            LspItems::CallItems(list.into_items())
        }
        Operation::IncomingCalls | Operation::OutgoingCalls => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::Calls(calls) => calls,
                _ => vec![],
            });
            let raw = raw.map(|call| (item(call.item), call.from_ranges));
            let list = codeyard_canon::calls(raw.collect(), recorder, limits::MAX_RAW_ITEMS)?;
            notes.outside = list.outside();
            let calls = list.into_items().into_iter();
            if asked.operation == Operation::IncomingCalls {
                LspItems::Incoming(calls.map(|(from, from_ranges)| IncomingCall { from, from_ranges }).collect())
            } else {
                LspItems::Outgoing(calls.map(|(to, from_ranges)| OutgoingCall { to, from_ranges }).collect())
            }
        }
    };
    Ok(LspResult { operation: asked.operation, title: operation::title(asked, gate), found, notes })
}

fn item(raw: RawCallItem) -> RawCallItem {
    let RawCallItem { name, kind, uri, range, selection_range, .. } = raw;
    RawCallItem { uri, name, kind, range, selection_range }
}
