//! Callers that a server leaves out although it knows every reference: clangd has one function for each name with external linkage, so of the
//! `main` of several programs it lists one.
//!
//! The calls among the references count whose function, which the grammar of the file gives, has the name of a listed caller. No document is opened for
//! it. Invariant: nothing is added that the server doesn't list as a reference, and no caller of another name: references of a virtual function
//! have more calls than its callers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::limits::MAX_CALLER_FILES;
use crate::query::commonjs::stamped_text;
use crate::query::operations::references;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::server::document::DocumentInput;
use codeyard_files::gate::{Gate, spelt_path};
use codeyard_index::extract::extract;
use codeyard_index::{Language, ReferenceRole, Symbol};
use codeyard_lsp::convert::{RawCall, RawCallItem};
use codeyard_lsp::text::Document;
use codeyard_model::code::SymbolKind;
use codeyard_model::coverage::UndecidedName;
use codeyard_model::position::{Position, Range};

/// LSP `SymbolKind` of a method.
const METHOD: u32 = 6;
/// LSP `SymbolKind` of a function.
const FUNCTION: u32 = 12;

/// Callers with those that the server didn't list.
pub(super) struct CompletedCalls {
    /// All of them.
    pub(super) calls: Vec<RawCall>,
    /// Says that some references weren't looked at, because they are in too many files.
    pub(super) undecided: Option<UndecidedName>,
}

/// `own` are the server's callers of the function at a position.
///
/// # Errors
/// As of any request to the server.
pub(super) async fn complete(
    provider: &Provider,
    (document, position): (&DocumentInput, Position),
    mut own: Vec<RawCall>,
    context: RequestContext<'_>,
) -> Result<CompletedCalls, ProviderFailure> {
    let names: BTreeSet<String> = own.iter().map(|call| call.item.name.clone()).collect();
    // Of a function of the same name in another program.
    own.retain(|call| !call.from_ranges.is_empty());
    let request = references::at(document.clone(), position, false, provider.answers_opened_only);
    let references = provider_call::ask(provider, &request, context).await?;
    let mut listed: BTreeSet<(&str, Range)> = BTreeSet::new();
    for call in &own {
        listed.extend(call.from_ranges.iter().map(|range| (&*call.calls_in, *range)));
    }
    let mut unlisted: BTreeMap<Arc<str>, Vec<Range>> = BTreeMap::new();
    for reference in references {
        if !listed.contains(&(&*reference.uri, reference.range)) {
            unlisted.entry(reference.uri).or_default().push(reference.range);
        }
    }
    let undecided = (unlisted.len() > MAX_CALLER_FILES).then(|| {
        let name = name_at(&document.source.document, position);
        UndecidedName { name, places: 0, is_cut: true }
    });
    let find = move |gate: &Gate| {
        let files = unlisted.iter().take(MAX_CALLER_FILES);
        files.flat_map(|(uri, ranges)| calls_in(gate, (uri, ranges), &names)).collect::<Vec<_>>()
    };
    let more = context.gate.run(find).await.map_err(ProviderFailure::Failed)?;
    own.extend(more);
    Ok(CompletedCalls { calls: own, undecided })
}

/// The calls at these places of a file, by the function around them, if it has one of the names.
fn calls_in(gate: &Gate, (uri, ranges): (&Arc<str>, &[Range]), names: &BTreeSet<String>) -> Vec<RawCall> {
    let Some((path, ((_, text), _))) =
        spelt_path(uri).and_then(|path| Some((path.clone(), stamped_text(gate, &path)?)))
    else {
        return Vec::new();
    };
    let first_line = text.lines().next().unwrap_or_default();
    let Some(language) = Language::of_file(&path.to_string_lossy(), first_line.as_bytes()) else { return Vec::new() };
    let facts = extract(language, &text);
    let mut by_caller: BTreeMap<usize, Vec<Range>> = BTreeMap::new();
    for range in ranges {
        // They are sorted by their places.
        let place = (range.start.line + 1, range.start.character);
        let from = facts.references.partition_point(|one| (one.line, one.column) < place);
        let mut here = facts.references[from..].iter().take_while(|one| (one.line, one.column) == place);
        let call = here.find(|one| one.role == ReferenceRole::Call);
        let is_function = |at: &usize| matches!(facts.symbols[*at].kind, SymbolKind::Fn | SymbolKind::Method);
        let caller = call.and_then(|call| facts.around(call.within.map(|within| within as usize)).find(is_function));
        if let Some(caller) = caller.filter(|caller| names.contains(&facts.symbols[*caller].name)) {
            by_caller.entry(caller).or_default().push(*range);
        }
    }
    let call = |(caller, from_ranges): (usize, Vec<Range>)| {
        let item = item(&facts.symbols[caller], uri);
        RawCall { item, calls_in: uri.clone(), from_ranges }
    };
    by_caller.into_iter().map(call).collect()
}

/// The caller as the server names its functions.
fn item(symbol: &Symbol, uri: &Arc<str>) -> RawCallItem {
    let length = u32::try_from(symbol.name.encode_utf16().count()).unwrap_or(u32::MAX);
    let start = Position { line: symbol.name_line.saturating_sub(1), character: symbol.name_column };
    let range = Range { start, end: Position { character: start.character.saturating_add(length), ..start } };
    let kind = if symbol.kind == SymbolKind::Method { METHOD } else { FUNCTION };
    let json = Arc::from("null");
    RawCallItem { name: symbol.name.clone(), kind, uri: uri.clone(), range, selection_range: range, json }
}

/// The name at a position.
fn name_at(document: &Document, position: Position) -> String {
    let (before, after) = document.text().split_at(document.offset(position));
    let is_outside = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let start = before.rsplit(is_outside).next().unwrap_or_default();
    format!("{start}{}", after.split(is_outside).next().unwrap_or_default())
}
