//! Moves workspace symbols to their names, for servers whose symbols begin where the declaration does: at `def`, `export` or a decorator.
//! A question at the beginning of such a symbol would find nothing, or the decorator.
//!
//! Names are found by their text. Invariant: a symbol whose name isn't found in its range stays as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeyard_files::gate::Gate;
use codeyard_lsp::limits;
use codeyard_lsp::text::Document;
use codeyard_model::position::Range;
use codeyard_model::symbol::RawWorkspaceSymbol;
use codeyard_model::uri::UriAdmission;

/// Bytes of a declaration in which its name is looked for: decorators may come before it.
const MAX_SEARCHED_BYTES: usize = 16 * 1024;

/// Words directly before the name that they declare.
const DECLARING: [&str; 15] = [
    "class", "const", "def", "enum", "function", "get", "interface", "let", "module", "namespace", "readonly", "set",
    "static", "type", "var",
];

/// Moves the symbols to their names. Reads their files on the blocking pool.
pub(crate) async fn move_to_names(symbols: Vec<RawWorkspaceSymbol>, gate: &Gate) -> Vec<RawWorkspaceSymbol> {
    let kept = symbols.clone();
    let moving = gate.run(move |gate| {
        let mut symbols = symbols;
        let mut by_file: BTreeMap<Arc<str>, Vec<&mut RawWorkspaceSymbol>> = BTreeMap::new();
        symbols.iter_mut().for_each(|symbol| by_file.entry(symbol.uri.clone()).or_default().push(symbol));
        for (uri, symbols) in by_file {
            let Some(document) = document(gate, &uri) else { continue };
            for symbol in symbols {
                symbol.range = name_range(&document, symbol).unwrap_or(symbol.range);
            }
        }
        symbols
    });
    moving.await.unwrap_or(kept)
}

fn document(gate: &Gate, uri: &str) -> Option<Document> {
    let UriAdmission::Inside(inside) = gate.admit(uri) else { return None };
    let (bytes, _) = gate.read(&inside, limits::MAX_DOCUMENT_BYTES).ok()?;
    Some(Document::new(String::from_utf8(bytes).ok()?))
}

/// Where the name of a symbol is in its range.
fn name_range(document: &Document, symbol: &RawWorkspaceSymbol) -> Option<Range> {
    let begin = document.offset(symbol.range.start);
    let text = document.text();
    let mut end = document.offset(symbol.range.end).min(begin + MAX_SEARCHED_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let name = &*symbol.name;
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let is_whole = |at: usize| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part);
    let found = text.get(begin..end)?.match_indices(name).map(|(at, _)| begin + at);
    let found: Vec<usize> = found.filter(|at| is_whole(*at)).collect();
    let is_declared = |at: &&usize| {
        let before = text[begin..**at].trim_end();
        DECLARING.iter().any(|word| before.strip_suffix(word).is_some_and(|rest| !rest.ends_with(is_part)))
    };
    let is_used = |at: &&usize| text[begin..**at].trim_end().ends_with(['@', '.']);
    let at = match found.first()? {
        first if *first == begin => first,
        first => found.iter().find(is_declared).or_else(|| found.iter().find(|at| !is_used(at))).unwrap_or(first),
    };
    let position = |offset: usize| document.position_at(offset);
    Some(Range { start: position(*at), end: position(at + name.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::position::Position;

    #[test]
    fn names_are_found_behind_keywords_and_decorators() {
        for (text, name, at) in [
            ("def average(rows):\n    return average(rows)", "average", (0, 4)),
            ("@average\n@other.average(1)\nasync def average(rows): ...", "average", (2, 10)),
            ("@register(name='x', parser=x)\nclass x: ...", "x", (1, 6)),
            ("export default function run() {}", "run", (0, 24)),
            ("export const value = 1", "value", (0, 13)),
            ("value = value + 1", "value", (0, 0)),
            ("self.value: int = 3", "value", (0, 5)),
            ("@prop size(): number {}", "size", (0, 6)),
            ("/* é */ get é(): number {}", "é", (0, 12)),
        ] {
            let document = Document::new(text);
            let lines = text.lines().count() as u32;
            let symbol = RawWorkspaceSymbol {
                name: name.into(),
                kind: 12,
                uri: "file:///a".into(),
                range: Range::new(0, 0, lines, 0),
                container_name: None,
            };
            let found = name_range(&document, &symbol).unwrap();
            assert_eq!(found.start, Position { line: at.0, character: at.1 }, "{text}");
            assert_eq!(found.end.character - at.1, name.encode_utf16().count() as u32, "{text}");
            let other = RawWorkspaceSymbol { name: "absent".into(), ..symbol };
            assert_eq!(name_range(&document, &other), None);
        }
    }
}
