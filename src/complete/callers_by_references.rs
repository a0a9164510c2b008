//! Callers that a server leaves out although it knows every reference: clangd has one function for each name with external linkage, so of the
//! `main` of several programs it lists one; the servers of Vue and Astro list no code that is in no function.
//!
//! For clangd the calls among the references count whose function, which the grammar of the file gives, has the name of a listed caller: references
//! of a virtual function have more calls than its callers. For the others, calls in components that the server lists at no caller count as the
//! component's. No document is opened for it. Invariant: nothing is added that the server doesn't list as a reference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::asked_server::AskedServer;
use crate::commonjs::stamped_text;
use crate::limits::MAX_CALLER_FILES;
use codeyard_files::gate::{Gate, spelt_path};
use codeyard_index::extract::extract;
use codeyard_index::{Language, ReferenceRole, Symbol};
use codeyard_lsp::convert::{RawCall, RawCallItem};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::registry::UnlistedCallers;
use codeyard_lsp::text::Document;
use codeyard_model::code::SymbolKind;
use codeyard_model::coverage::UndecidedName;
use codeyard_model::position::{Position, Range};

/// Characters of type arguments and arguments whose end is looked for.
const MAX_BRACKETED_CHARS: usize = 2_000;
/// Words before the name of a method.
const MODIFIERS: [&str; 8] = ["async", "get", "set", "static", "public", "private", "protected", "override"];
/// LSP `SymbolKind` of a module.
const MODULE: u32 = 2;
/// LSP `SymbolKind` of a method.
const METHOD: u32 = 6;
/// LSP `SymbolKind` of a function.
const FUNCTION: u32 = 12;

/// Callers with those that the server didn't list.
pub struct CompletedCalls {
    /// All of them.
    pub calls: Vec<RawCall>,
    /// Says that some references weren't looked at, because they are in too many files.
    pub undecided: Option<UndecidedName>,
}

/// `own` are the server's callers of the function at a position.
///
/// # Errors
/// As of any request to the server.
pub async fn complete<S: AskedServer>(
    server: S,
    which: UnlistedCallers,
    document: &DocumentInput,
    position: Position,
    mut own: Vec<RawCall>,
) -> Result<CompletedCalls, S::Failure> {
    let names = match which {
        UnlistedCallers::SameName => Some(own.iter().map(|call| call.item.name.clone()).collect::<BTreeSet<_>>()),
        UnlistedCallers::TopLevel => None,
    };
    // Of a function of the same name in another program.
    own.retain(|call| names.is_none() || !call.from_ranges.is_empty());
    let references = server.references(document, position, false).await?;
    let mut listed: BTreeSet<(&str, Range)> = BTreeSet::new();
    for call in &own {
        listed.extend(call.from_ranges.iter().map(|range| (&*call.calls_in, *range)));
    }
    let mut unlisted: BTreeMap<Arc<str>, Vec<Range>> = BTreeMap::new();
    let is_meant = |uri: &str| match which {
        UnlistedCallers::SameName => true,
        // The file name decides the language, and it is the end of a URI as of a path.
        UnlistedCallers::TopLevel => server.serves(Path::new(uri)),
    };
    for reference in references.into_iter().filter(|reference| is_meant(&reference.uri)) {
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
        let calls = files.flat_map(|(uri, ranges)| match &names {
            Some(names) => calls_in(gate, uri, ranges, names),
            None => top_level_calls(gate, uri, ranges).into_iter().collect(),
        });
        calls.collect::<Vec<_>>()
    };
    let more = server.gate().run(find).await?;
    own.extend(more);
    Ok(CompletedCalls { calls: own, undecided })
}

/// The path of a file and its text.
fn read(gate: &Gate, uri: &str) -> Option<(PathBuf, String)> {
    let path = spelt_path(uri)?;
    let ((_, text), _) = stamped_text(gate, &path)?;
    Some((path, text))
}

/// The calls at these places of a component, as calls of the component, whose item is that of a module.
fn top_level_calls(gate: &Gate, uri: &Arc<str>, ranges: &[Range]) -> Option<RawCall> {
    let (path, text) = read(gate, uri)?;
    let document = Document::new(text);
    let is_call = |range: &&Range| {
        let start = document.offset(range.start);
        let end = document.offset(range.end);
        let before = &document.text()[..start];
        let after = &document.text()[end..];
        is_called(after) && !is_declared(before, after)
    };
    let from_ranges: Vec<Range> = ranges.iter().filter(is_call).copied().collect();
    let start = Position { line: 0, character: 0 };
    let last_line = u32::try_from(document.line_count()).unwrap_or(u32::MAX).saturating_sub(1);
    let length = document.line(last_line).map_or(0, |line| line.encode_utf16().count());
    let end = Position { line: last_line, character: u32::try_from(length).unwrap_or(u32::MAX) };
    let item = RawCallItem {
        name: path.file_name()?.to_string_lossy().into_owned(),
        kind: MODULE,
        uri: uri.clone(),
        range: Range { start, end },
        selection_range: Range { start, end: start },
        json: Arc::from("null"),
    };
    (!from_ranges.is_empty()).then(|| RawCall { item, calls_in: uri.clone(), from_ranges })
}

/// Whether the name between these texts is declared there, as a function or a method.
fn is_declared(before: &str, after: &str) -> bool {
    let before_name = before.trim_end().trim_end_matches('*').trim_end();
    let behind = behind_pair(behind_pair(after.trim_start(), '<', '>').unwrap_or(after.trim_start()), '(', ')');
    // From the start of the line or of the member of an object.
    let start = before.rsplit(['\n', '{', ',', '}', ';']).next().unwrap_or_default();
    let line_before = before[..before.len() - start.len()].trim_end();
    let is_first = start.trim().trim_start_matches('*').split_whitespace().all(|word| MODIFIERS.contains(&word))
        && !line_before.ends_with(['?', ':', '=', '|', '&']);
    let body = behind.map(str::trim_start);
    before_name.ends_with("function") || is_first && body.is_some_and(|body| body.starts_with(['{', ':']))
}

/// Whether the name before this text is called: `name(`, `name?.(`, ``name` ``, `name<T>(`.
fn is_called(after: &str) -> bool {
    let after = after.trim_start();
    let after = after.strip_prefix("?.").unwrap_or(after).trim_start();
    after.starts_with(['(', '`']) || behind_pair(after, '<', '>').is_some_and(|rest| rest.starts_with('('))
}

/// What follows the part between a pair of brackets at the start of a text.
fn behind_pair(text: &str, open: char, close: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices().take(MAX_BRACKETED_CHARS) {
        match letter {
            letter if letter == open => depth += 1,
            // The end of an arrow.
            '>' if text[..at].ends_with('=') => {}
            letter if letter == close => depth = depth.checked_sub(1)?,
            ';' if open == '<' => return None,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then(|| text[at + 1..].trim_start());
        }
    }
    None
}

/// The calls at these places of a file, by the function around them, if it has one of the names.
fn calls_in(gate: &Gate, uri: &Arc<str>, ranges: &[Range], names: &BTreeSet<String>) -> Vec<RawCall> {
    let Some((path, text)) = read(gate, uri) else { return Vec::new() };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_around_a_name_shows_whether_it_is_called() {
        for called in ["(1)", " (1)", "\n  (1)", "?.(1)", "`x`", "<T>(1)", "<A, B<C>>(1)", "<(a: A) => B>(1)"] {
            assert!(is_called(called), "{called}");
        }
        for other in ["", " }", ")", ".x(1)", " < 3 && (x)", "<T>;", "<a", ", (1)", "?.x()"] {
            assert!(!is_called(other), "{other}");
        }
        let declared = [
            ("export function ", "() {}"),
            ("async function* ", "<T>(a: T) {}"),
            ("methods: {\n  go() {},\n  async ", "(a = (1)) { }"),
            ("methods: { ", "(): number { }"),
            ("  ", "(a: T): T\n {"),
        ];
        for (before, after) in declared {
            assert!(is_called(after) && is_declared(before, after), "{before}|{after}");
        }
        let used = [
            ("class A extends ", "(B) {"),
            ("a ?\n  ", "(1) :\n  b()"),
            ("return ", "(1);"),
            ("a ? ", "(1) : {}"),
            ("if (", "(1)) {"),
            ("  ", "(1)\n  other()"),
            ("{{ ", "(1) }}"),
        ];
        for (before, after) in used {
            assert!(is_called(after) && !is_declared(before, after), "{before}|{after}");
        }
    }
}
