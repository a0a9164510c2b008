//! What a position points at: a word, what stands before it, and the symbol that it stands in.
//!
//! It says nothing of what the word means. Lines count from 0 and columns in UTF-16 units, as positions do; facts count lines from 1.

use codeyard_index::project::navigate::Known;
use codeyard_index::{Facts, Role, Symbol};
use codeyard_lsp::text::Document;
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Position;

/// A word that is pointed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The word.
    pub word: String,
    /// Its line.
    pub line: u32,
    /// The column it begins at.
    pub column: u32,
    /// The name that it is said to belong to: what stands before a `.`, `::`, `->` or `#`.
    pub owner: Option<String>,
    /// Something stands before it, be it a name or not: `f().word`.
    pub is_member: bool,
    /// The innermost symbol around it.
    pub within: Option<usize>,
    /// The symbol whose name it is.
    pub own: Option<usize>,
    /// What it does there, where the facts say.
    pub role: Option<Role>,
}

/// Names that stand for what the word's own scope is a part of.
const SELVES: [&str; 7] = ["self", "Self", "this", "cls", "super", "base", "@"];

/// What stands at `position`, if it is a word.
pub(crate) fn spot(known: &Known, document: &Document, position: Position) -> Option<Spot> {
    let facts = &known.facts;
    let line = document.line(position.line)?;
    let covers = |at: (u32, u32), name: &str| {
        at.0 == position.line + 1 && at.1 <= position.character && position.character < at.1 + length(name)
    };
    // Names of the facts may hold more than letters: headings, keys, operators.
    let own = facts.symbols.iter().position(|symbol| {
        symbol.kind != SymbolKind::Use
            && covers((symbol.name_line, symbol.name_column), &symbol.name)
            && is_there(line, symbol.name_column, &symbol.name)
    });
    let named = facts.references.iter().find(|reference| {
        covers((reference.line, reference.column), &reference.name) && is_there(line, reference.column, &reference.name)
    });
    let (word, column) = match (own, named) {
        (Some(own), _) => (facts.symbols[own].name.clone(), facts.symbols[own].name_column),
        (None, Some(reference)) => (reference.name.clone(), reference.column),
        (None, None) => word_at(line, position.character)?,
    };
    let before = before(line, column);
    let (owner, is_member) = owner(before);
    let within = match (own, named.and_then(|reference| reference.within)) {
        (Some(own), _) => facts.symbols[own].parent.map(|parent| parent as usize),
        (None, Some(within)) => Some(within as usize),
        (None, None) => innermost(facts, position.line + 1),
    };
    let role = named.map(|reference| reference.role);
    Some(Spot { word, line: position.line, column, owner, is_member, within, own, role })
}

/// The length of a name in UTF-16 units.
pub(crate) fn length(name: &str) -> u32 {
    u32::try_from(name.encode_utf16().count()).unwrap_or(u32::MAX)
}

/// Whether the symbol at `index` is a function of some kind.
pub(crate) fn is_callable(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Fn | SymbolKind::Method | SymbolKind::Macro)
}

/// `index` and all that it stands in, from the inside out.
pub(crate) fn outwards(facts: &Facts, index: Option<usize>) -> impl Iterator<Item = usize> {
    // A parent stands before its children, so this ends.
    std::iter::successors(index.filter(|index| *index < facts.symbols.len()), |now| {
        facts.symbols.get(*now)?.parent.map(|parent| parent as usize).filter(|parent| parent < now)
    })
}

/// The innermost symbol around a line, counted from 1.
pub(crate) fn innermost(facts: &Facts, line: u32) -> Option<usize> {
    let around =
        |symbol: &Symbol| symbol.line_start <= line && line <= symbol.line_end && symbol.kind != SymbolKind::Use;
    (0..facts.symbols.len())
        .filter(|at| around(&facts.symbols[*at]))
        .max_by_key(|at| (facts.symbols[*at].line_start, std::cmp::Reverse(facts.symbols[*at].line_end), *at))
}

/// Whether `name` stands on the line at this column: the text may be newer than the facts.
fn is_there(line: &str, column: u32, name: &str) -> bool {
    line[before(line, column).len()..].starts_with(name)
}

/// The line up to a column.
fn before(line: &str, column: u32) -> &str {
    let mut units = 0;
    for (at, letter) in line.char_indices() {
        if units >= column {
            return &line[..at];
        }
        units += letter.len_utf16() as u32;
    }
    line
}

fn is_part(letter: char) -> bool {
    unicode_ident::is_xid_continue(letter) || letter == '$'
}

/// The run of letters around a column, or right before it, and where it begins.
fn word_at(line: &str, column: u32) -> Option<(String, u32)> {
    let at = before(line, column).len();
    let begin = line[..at]
        .rfind(|letter| !is_part(letter))
        .map_or(0, |found| found + line[found..].chars().next().map_or(1, char::len_utf8));
    let end = line[at..].find(|letter| !is_part(letter)).map_or(line.len(), |found| at + found);
    let word = &line[begin..end];
    let begins_well = word.starts_with(|first: char| unicode_ident::is_xid_start(first) || matches!(first, '_' | '$'));
    begins_well.then(|| (word.to_owned(), length(&line[..begin])))
}

/// What a word belongs to by what stands before it, and whether anything does.
fn owner(before: &str) -> (Option<String>, bool) {
    let trimmed = before.trim_end();
    let rest = ["::", "->", "?.", "!!.", "#", "."].iter().find_map(|joint| trimmed.strip_suffix(joint));
    let Some(rest) = rest else {
        // Ruby's own variables.
        return (None, false);
    };
    let begin = rest.rfind(|letter: char| !is_part(letter) && letter != '@');
    let name = begin.map_or(rest, |found| &rest[found + rest[found..].chars().next().map_or(1, char::len_utf8)..]);
    if SELVES.contains(&name) {
        return (None, false);
    }
    ((!name.is_empty()).then(|| name.to_owned()), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{file, reference, symbol};

    fn at(text: &str, line: u32, character: u32) -> Option<Spot> {
        let class = symbol(SymbolKind::Class, "Shelf", None, (1, 3), (1, 6));
        let method = symbol(SymbolKind::Method, "größe", Some(0), (2, 3), (2, 8));
        let known = file("a.py", vec![class, method], vec![reference("put", Role::Call, (3, 13), Some(1))]);
        spot(&known, &Document::new(text), Position { line, character })
    }

    const TEXT: &str = "class Shelf:\n    def größe(x):\n        self.put(other.put)\n";

    #[test]
    fn names_of_symbols_references_and_other_words_are_found() {
        let own = at(TEXT, 0, 8).unwrap();
        assert_eq!((own.word.as_str(), own.own, own.within), ("Shelf", Some(0), None));
        let own = at(TEXT, 1, 12).unwrap();
        assert_eq!((own.word.as_str(), own.own, own.within), ("größe", Some(1), Some(0)));
        let call = at(TEXT, 2, 14).unwrap();
        assert_eq!((call.word.as_str(), call.within, call.role), ("put", Some(1), Some(Role::Call)));
        assert_eq!((call.owner, call.is_member), (None, false), "`self` is no owner");
        let plain = at(TEXT, 2, 24).unwrap();
        assert_eq!((plain.word.as_str(), plain.column, plain.role), ("put", 23, None));
        assert_eq!((plain.owner.as_deref(), plain.is_member, plain.within), (Some("other"), true, Some(1)));
        assert_eq!(at(TEXT, 1, 16), None);
        assert_eq!(at(TEXT, 9, 0), None);
    }

    #[test]
    fn facts_that_the_text_has_left_behind_are_not_believed() {
        let moved = at("\n\nclass Shelf:\n", 0, 0);
        assert_eq!(moved, None);
        let other = at("shelf = Thing\n", 0, 9).unwrap();
        assert_eq!((other.word.as_str(), other.own), ("Thing", None));
    }

    #[test]
    fn owners_are_what_stands_before_a_joint() {
        for (before, expected) in [
            ("x = a.", (Some("a"), true)),
            ("Box::", (Some("Box"), true)),
            ("p->", (Some("p"), true)),
            ("f().", (None, true)),
            ("this.", (None, false)),
            ("", (None, false)),
            ("let ", (None, false)),
        ] {
            assert_eq!(owner(before), (expected.0.map(str::to_owned), expected.1), "{before}");
        }
    }
}
