//! Names and specifiers in one file of JavaScript or TypeScript: at its top, of namespaces, of what a package is as a whole.
//!
//! It reads one file and resolves nothing. Invariant: any text gives some names.

use std::collections::BTreeMap;

use codeyard_index::Symbol;
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Range;

use crate::repository::product_sources::ParsedSource;

/// The namespaces in a text: `export * as name from 'specifier'` and the same with `import`; by that word and the name, the specifiers.
pub(super) fn namespaces(text: &str) -> BTreeMap<(&'static str, &str), &str> {
    let of_line = |line| {
        let line: &str = line;
        let word = ["export", "import"].into_iter().find(|word| line.starts_with(word))?;
        let (name, rest) = line[word.len()..].strip_prefix(" * as ")?.split_once(" from ")?;
        let quoted = rest.trim_start().strip_prefix(['"', '\''])?;
        Some(((word, name.trim()), quoted.split(['"', '\'']).next()?))
    };
    text.lines().filter_map(of_line).collect()
}

/// The symbol whose name is where an export's key is, or else in its line.
pub(super) fn symbol_at(file: &ParsedSource, key: &Range) -> Option<usize> {
    let line = key.start.line + 1;
    let symbols = file.symbols.iter().enumerate();
    let on_line: Vec<(usize, &Symbol)> =
        symbols.filter(|(_, symbol)| symbol.kind != SymbolKind::Use && symbol.name_line == line).collect();
    let is_at_key = |(_, symbol): &&(usize, &Symbol)| symbol.name_column == key.start.character;
    // `const app = module.exports = {…}` has its name elsewhere in the line.
    let is_value = |(_, symbol): &&(usize, &Symbol)| symbol.parent.is_none();
    let found = on_line.iter().find(is_at_key).or_else(|| on_line.iter().find(is_value));
    found.map(|(at, _)| *at)
}

/// The text in quotes that begins at a column of a line, counted in units of UTF-16.
pub(super) fn quoted_at(line: &str, column: u32) -> Option<&str> {
    let mut left = column as usize;
    let (at, _) = line.char_indices().find(|(_, c)| {
        let is_there = left == 0;
        left = left.saturating_sub(c.len_utf16());
        is_there
    })?;
    let rest = line[at..].trim_start_matches(['"', '\'', '`']);
    rest.split(['"', '\'', '`']).next().filter(|text| !text.is_empty())
}

/// The name of what a package exports as a whole: that of a class; a function is called as the package is.
pub(super) fn whole_name(symbol: &Symbol, module: &str) -> String {
    let last = module.rsplit('/').next().unwrap_or(module).trim_end_matches(".js");
    let mut name = String::new();
    let mut is_next_upper = false;
    for character in last.chars() {
        if matches!(character, '-' | '.' | '_') {
            is_next_upper = !name.is_empty();
        } else {
            name.extend(character.to_uppercase().filter(|_| is_next_upper));
            name.extend(Some(character).filter(|_| !is_next_upper));
            is_next_upper = false;
        }
    }
    let is_type = symbol.name.starts_with(char::is_uppercase);
    if is_type || name.is_empty() { symbol.name.clone() } else { name }
}

/// By the name of an object, the symbols that are assigned to its members or to those of its prototype.
pub(super) fn assigned_names(file: &ParsedSource) -> BTreeMap<&str, Vec<usize>> {
    let mut assigned: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, symbol) in file.children(None) {
        if let Some(scope) = &symbol.scope {
            assigned.entry(scope).or_default().push(at);
        }
    }
    assigned
}

/// By name, the symbols at the top of a file.
pub(super) fn top_names(file: &ParsedSource) -> BTreeMap<&str, Vec<usize>> {
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, symbol) in file.children(None).filter(|(_, symbol)| symbol.kind != SymbolKind::Use) {
        names.entry(&symbol.name).or_default().push(at);
    }
    names
}

/// Whether users may use a member. The index doesn't see a class as public that is exported further below.
pub(super) fn is_public_member(symbol: &Symbol) -> bool {
    let is_closed = symbol.marker.split(' ').any(|word| matches!(word, "private" | "protected"));
    let is_api = !symbol.doc.contains("@internal") && !symbol.doc.contains("@private");
    !is_closed && is_api && !symbol.name.starts_with(['#', '_', '[']) && symbol.kind != SymbolKind::Use
}
