//! Callers through CommonJS: the function around each call.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::linker::Linker;
use crate::asked_server::AskedServer;
use codeyard_lsp::convert::{RawCall, RawCallItem};
use codeyard_model::position::{Position, Range};

/// LSP `SymbolKind` of a module.
const MODULE: u32 = 2;

/// The calls among the places that were found, without those that are `listed`, by the function around them. A call outside of any
/// function has the file as its caller, as at the servers.
pub(super) async fn of_places<S: AskedServer>(linker: &mut Linker<S>, listed: &[RawCall]) -> Vec<RawCall> {
    let mut by_caller: BTreeMap<(Arc<str>, Range, Range), RawCall> = BTreeMap::new();
    for (path, range) in linker.found(true) {
        let Some(file) = linker.file(&path).await else { continue };
        let uri: Arc<str> = file.document.source.uri.text();
        if !file.links.callees.contains(&range.start) || is_listed(listed, &uri, range) {
            continue;
        }
        let start = Position { line: 0, character: 0 };
        let (name, kind, all, selected) = match file.links.function_at(range.start) {
            Some(function) => (function.name.name.clone(), function.kind, function.range, function.name.range),
            None => {
                (path.display().to_string(), MODULE, Range { start, end: file.links.end }, Range { start, end: start })
            }
        };
        let call = by_caller.entry((uri.clone(), all, selected)).or_insert_with(|| {
            let json = Arc::from("null");
            let item = RawCallItem { name, kind, uri: uri.clone(), range: all, selection_range: selected, json };
            RawCall { item, calls_in: uri.clone(), from_ranges: Vec::new() }
        });
        call.from_ranges.push(range);
    }
    by_caller.into_values().collect()
}

fn is_listed(listed: &[RawCall], uri: &str, range: Range) -> bool {
    listed.iter().any(|call| &*call.calls_in == uri && call.from_ranges.contains(&range))
}
