//! The word at a position, its qualifier, and the symbol that encloses it.
//!
//! This module doesn't resolve the word. Lines count from 0 and columns in UTF-16 units, as in positions; facts count lines from 1.

use codeyard_index::ReferenceRole;
use codeyard_index::project::navigator::FileFacts;
use codeyard_lsp::text::Document;
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Position;

/// A word and what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CursorContext {
    pub word: String,
    /// The line of the word.
    pub line: u32,
    /// The column at which the word begins.
    pub column: u32,
    /// The name before the `.`, `::`, `->` or `#` in front of the word.
    pub qualifier: Option<String>,
    /// Whether anything precedes such a separator, a name or not: `f().word`.
    pub is_member: bool,
    /// The index of the innermost symbol that encloses the word.
    pub enclosing: Option<usize>,
    /// The index of the symbol that the word declares.
    pub declared: Option<usize>,
    /// The role of the reference at this place, if the facts have one.
    pub role: Option<ReferenceRole>,
}

/// Qualifiers that refer to the enclosing type.
const SELF_NAMES: [&str; 7] = ["self", "Self", "this", "cls", "super", "base", "@"];

/// The context of the word at `position`; `None`: there is no word.
pub(crate) fn cursor_context(file: &FileFacts, document: &Document, position: Position) -> Option<CursorContext> {
    let facts = &file.facts;
    let line = document.line(position.line)?;
    let covers = |at: (u32, u32), name: &str| {
        at.0 == position.line + 1 && at.1 <= position.character && position.character < at.1 + utf16_length(name)
    };
    // Names in the facts aren't always identifiers: headings, keys, operators.
    let declared = facts.symbols.iter().position(|symbol| {
        symbol.kind != SymbolKind::Use
            && covers((symbol.name_line, symbol.name_column), &symbol.name)
            && has_name_at(line, symbol.name_column, &symbol.name)
    });
    let reference = facts.references.iter().find(|reference| {
        covers((reference.line, reference.column), &reference.name)
            && has_name_at(line, reference.column, &reference.name)
    });
    let (word, column) = match (declared, reference) {
        (Some(symbol), _) => (facts.symbols[symbol].name.clone(), facts.symbols[symbol].name_column),
        (None, Some(reference)) => (reference.name.clone(), reference.column),
        (None, None) => word_at(line, position.character)?,
    };
    let (qualifier, is_member) = qualifier(line_before(line, column));
    let enclosing = match (declared, reference.and_then(|reference| reference.within)) {
        (Some(symbol), _) => facts.symbols[symbol].parent.map(|parent| parent as usize),
        (None, Some(within)) => Some(within as usize),
        (None, None) => facts.innermost(position.line + 1),
    };
    let role = reference.map(|reference| reference.role);
    Some(CursorContext { word, line: position.line, column, qualifier, is_member, enclosing, declared, role })
}

/// The length of a name in UTF-16 units.
pub(crate) fn utf16_length(name: &str) -> u32 {
    u32::try_from(name.encode_utf16().count()).unwrap_or(u32::MAX)
}

/// Whether the line has `name` at this column. It may not, because the text may be newer than the facts.
fn has_name_at(line: &str, column: u32, name: &str) -> bool {
    line[line_before(line, column).len()..].starts_with(name)
}

/// The line up to a column.
fn line_before(line: &str, column: u32) -> &str {
    let mut units = 0;
    for (at, character) in line.char_indices() {
        if units >= column {
            return &line[..at];
        }
        units += character.len_utf16() as u32;
    }
    line
}

fn is_word_char(character: char) -> bool {
    unicode_ident::is_xid_continue(character) || character == '$'
}

/// The word around a column, or right before it, and the column at which it begins.
fn word_at(line: &str, column: u32) -> Option<(String, u32)> {
    let at = line_before(line, column).len();
    let begin = line[..at]
        .rfind(|character| !is_word_char(character))
        .map_or(0, |found| found + line[found..].chars().next().map_or(1, char::len_utf8));
    let end = line[at..].find(|character| !is_word_char(character)).map_or(line.len(), |found| at + found);
    let word = &line[begin..end];
    let is_word = word.starts_with(|first: char| unicode_ident::is_xid_start(first) || matches!(first, '_' | '$'));
    is_word.then(|| (word.to_owned(), utf16_length(&line[..begin])))
}

/// The qualifier at the end of the text before a word, and whether the word is a member of anything.
fn qualifier(before: &str) -> (Option<String>, bool) {
    let trimmed = before.trim_end();
    let rest = ["::", "->", "?.", "!!.", "#", "."].iter().find_map(|separator| trimmed.strip_suffix(separator));
    let Some(rest) = rest else { return (None, false) };
    let begin = rest.rfind(|character: char| !is_word_char(character) && character != '@');
    let name = begin.map_or(rest, |found| &rest[found + rest[found..].chars().next().map_or(1, char::len_utf8)..]);
    if SELF_NAMES.contains(&name) {
        return (None, false);
    }
    ((!name.is_empty()).then(|| name.to_owned()), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{file, reference, symbol};

    fn at(text: &str, line: u32, character: u32) -> Option<CursorContext> {
        let class = symbol(SymbolKind::Class, "Catalog", None, [1, 3], [1, 6]);
        let method = symbol(SymbolKind::Method, "größe", Some(0), [2, 3], [2, 8]);
        let file = file("a.py", vec![class, method], vec![reference("put", ReferenceRole::Call, [3, 13], Some(1))]);
        cursor_context(&file, &Document::new(text), Position { line, character })
    }

    const TEXT: &str = "class Catalog:\n    def größe(x):\n        self.put(other.put)\n";

    #[test]
    fn symbols_references_and_other_words_are_found() {
        let declared = at(TEXT, 0, 8).unwrap();
        assert_eq!((declared.word.as_str(), declared.declared, declared.enclosing), ("Catalog", Some(0), None));
        let declared = at(TEXT, 1, 12).unwrap();
        assert_eq!((declared.word.as_str(), declared.declared, declared.enclosing), ("größe", Some(1), Some(0)));
        let call = at(TEXT, 2, 14).unwrap();
        assert_eq!((call.word.as_str(), call.enclosing, call.role), ("put", Some(1), Some(ReferenceRole::Call)));
        assert_eq!((call.qualifier, call.is_member), (None, false), "`self` is no qualifier");
        let plain = at(TEXT, 2, 24).unwrap();
        assert_eq!((plain.word.as_str(), plain.column, plain.role), ("put", 23, None));
        assert_eq!((plain.qualifier.as_deref(), plain.is_member, plain.enclosing), (Some("other"), true, Some(1)));
        assert_eq!(at(TEXT, 1, 16), None);
        assert_eq!(at(TEXT, 9, 0), None);
    }

    #[test]
    fn facts_older_than_the_text_are_ignored() {
        let moved = at("\n\nclass Catalog:\n", 0, 0);
        assert_eq!(moved, None);
        let other = at("other = Thing\n", 0, 9).unwrap();
        assert_eq!((other.word.as_str(), other.declared), ("Thing", None));
    }

    #[test]
    fn the_qualifier_precedes_a_separator() {
        for (before, expected) in [
            ("x = a.", (Some("a"), true)),
            ("Box::", (Some("Box"), true)),
            ("p->", (Some("p"), true)),
            ("f().", (None, true)),
            ("this.", (None, false)),
            ("", (None, false)),
            ("let ", (None, false)),
        ] {
            assert_eq!(qualifier(before), (expected.0.map(str::to_owned), expected.1), "{before}");
        }
    }
}
