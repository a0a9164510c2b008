//! Decides whether a language server's symbols confirm a row of the code index: by the symbol's name and the name's line.
//!
//! Pure. Invariants: a symbol with another name never confirms a row, nor does one of the same name on another line: a
//! constructor doesn't confirm its class. Text that a server adds to a name (a receiver, parameters, the enclosing symbols)
//! isn't part of it.

use codeyard_model::code::{ResultRow, SymbolKind};
use codeyard_model::lsp_items::OutlineEntry;

/// Whether one of `symbols` is the symbol of `row`.
pub fn declares(symbols: &[OutlineEntry], row: &ResultRow) -> bool {
    let Some(line) = row.name_line else { return false };
    let at = DeclarationLines { first: row.line_start, name: line };
    symbols.iter().any(|symbol| at.is_of(symbol) && is_called(&symbol.name, row))
}

/// The first line of a declaration and the line of its name, from 1.
struct DeclarationLines {
    first: u32,
    name: u32,
}

impl DeclarationLines {
    /// If the server gives the name's range, its line must be the row's. Otherwise the symbol must begin between the first
    /// line of the row and the line of its name.
    fn is_of(&self, symbol: &OutlineEntry) -> bool {
        let line = symbol.selection_range.start.line.saturating_add(1);
        let has_name_range = symbol.selection_range != symbol.range;
        line == self.name || !has_name_range && (self.first..self.name).contains(&line)
    }
}

/// Whether `listed`, a server's name of a symbol, means the row's name.
fn is_called(listed: &str, row: &ResultRow) -> bool {
    let name = unquoted(&row.name);
    let of_impl = (row.kind == Some(SymbolKind::Impl)).then(|| implementor(listed)).flatten();
    let listed = of_impl.unwrap_or(listed);
    let own = behind_receiver(listed);
    [listed, own, without_parameters(own)].into_iter().any(|form| {
        let form = unquoted(form);
        form == name || ["::", ".", "#"].iter().any(|joint| form.rsplit(joint).next() == Some(name))
    })
}

/// `Berth` of `impl<T> Mooring for Berth<T>`.
fn implementor(listed: &str) -> Option<&str> {
    let rest = listed.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<']))?;
    let of = rest.rsplit_once(" for ").map_or_else(|| behind_generics(rest), |(_, of)| of);
    Some(without_parameters(of.trim().trim_start_matches('&')))
}

/// ` Berth<T>` of `<T: Into<U>> Berth<T>`.
fn behind_generics(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(_, character)| {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    end.map_or("", |(at, character)| if character == '>' { &text[at + 1..] } else { text })
}

/// `Unlock` of `(*Vault).Unlock`.
fn behind_receiver(listed: &str) -> &str {
    match listed.strip_prefix('(').and_then(|rest| rest.split_once(").")) {
        Some((_, name)) => name,
        None => listed,
    }
}

/// `put` of `put(int, int) : void`, `Shelf` of `Shelf<T>`.
fn without_parameters(listed: &str) -> &str {
    match listed.find(['(', '<']) {
        None | Some(0) => listed,
        Some(end) => listed[..end].trim_end(),
    }
}

fn unquoted(name: &str) -> &str {
    let inner = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::position::Range;

    fn row(name: &str, lines: [u32; 2], name_line: u32) -> ResultRow {
        let [line_start, line_end] = lines;
        ResultRow { name: name.into(), line_start, line_end, name_line: Some(name_line), ..ResultRow::default() }
    }

    /// A symbol whose lines and whose name's line count from 1.
    fn symbol(name: &str, lines: [u32; 2], name_line: u32) -> OutlineEntry {
        let range = Range::new(lines[0] - 1, 0, lines[1] - 1, 1);
        let selection_range = Range::new(name_line - 1, 3, name_line - 1, 9);
        OutlineEntry { depth: 0, name: name.into(), kind: 12, range, selection_range }
    }

    /// A symbol of a server that gives no range of the name.
    fn flat(name: &str, lines: [u32; 2]) -> OutlineEntry {
        let whole = symbol(name, lines, lines[0]);
        OutlineEntry { selection_range: whole.range, ..whole }
    }

    #[test]
    fn the_name_must_be_on_the_same_line_also_below_decorators() {
        let decorated = row("unlock", [4, 9], 6);
        assert!(declares(&[symbol("unlock", [4, 9], 6)], &decorated));
        assert!(declares(&[symbol("unlock", [6, 9], 6)], &decorated), "a server may leave decorators out");
        assert!(declares(&[symbol("lock", [1, 3], 1), symbol("unlock", [1, 30], 6)], &decorated));
        for (what, other) in [
            ("another line", symbol("unlock", [4, 9], 5)),
            ("another line behind", symbol("unlock", [4, 9], 7)),
            ("another name", symbol("unlocked", [4, 9], 6)),
            ("another case", symbol("Unlock", [4, 9], 6)),
        ] {
            assert!(!declares(&[other], &decorated), "{what}");
        }
        assert!(!declares(&[], &decorated));
        assert!(
            !declares(&[symbol("a.py", [1, 9], 1)], &ResultRow { name: "a.py".into(), ..ResultRow::default() }),
            "no symbol"
        );
    }

    #[test]
    fn a_symbol_of_the_same_name_inside_or_around_it_does_not_confirm() {
        let class = symbol("Vault", [1, 9], 1);
        let constructor = symbol("Vault", [3, 4], 3);
        assert!(!declares(std::slice::from_ref(&constructor), &row("Vault", [1, 9], 1)));
        assert!(!declares(&[class], &row("Vault", [3, 4], 3)));
        assert!(declares(&[constructor], &row("Vault", [3, 4], 3)));
        assert!(!declares(&[flat("Vault", [3, 4])], &row("Vault", [1, 9], 1)));
        assert!(!declares(&[flat("Vault", [1, 9])], &row("Vault", [3, 4], 3)));
    }

    #[test]
    fn without_a_name_range_the_first_line_counts() {
        let decorated = row("unlock", [4, 9], 6);
        for (first, expected) in [(3, false), (4, true), (5, true), (6, true), (7, false)] {
            assert_eq!(declares(&[flat("unlock", [first, 9])], &decorated), expected, "{first}");
        }
        // A name range on another line doesn't confirm.
        assert!(!declares(&[symbol("Vault", [1, 3], 1)], &row("Vault", [1, 3], 3)));
    }

    #[test]
    fn text_that_servers_add_to_a_name_is_ignored() {
        for (listed, name) in [
            ("(*Vault).Unlock", "Unlock"),
            ("(Vault[K]).Unlock", "Unlock"),
            ("bank::Vault::unlock", "unlock"),
            ("bank::Vault::unlock(int)", "unlock"),
            ("Vault#unlock", "unlock"),
            ("Vault.unlock", "unlock"),
            ("unlock(int, java.util.List<String>) : void", "unlock"),
            ("Shelf<T>", "Shelf"),
            ("Vault::operator()", "operator()"),
            ("operator<", "operator<"),
            ("\"a module\"", "a module"),
            ("release-notes", "release-notes"),
            ("1. Intro", "1. Intro"),
        ] {
            assert!(declares(&[symbol(listed, [2, 2], 2)], &row(name, [2, 2], 2)), "{listed}");
        }
        for (listed, name) in [("(anonymous struct)", "struct"), ("map() callback", "callback"), ("", "unlock")] {
            assert!(!declares(&[symbol(listed, [2, 2], 2)], &row(name, [2, 2], 2)), "{listed}");
        }
    }

    #[test]
    fn an_implementation_has_the_name_of_its_type() {
        for listed in [
            "impl Berth",
            "impl<T> Berth<T>",
            "impl<T> Mooring<T> for &Berth<A, B>",
            "impl<T: Into<U>, U> bay::Berth<T, U>",
        ] {
            let of = ResultRow { kind: Some(SymbolKind::Impl), ..row("Berth", [2, 5], 2) };
            assert!(declares(&[symbol(listed, [2, 5], 2)], &of), "{listed}");
            assert!(!declares(&[symbol(listed, [2, 5], 2)], &ResultRow { name: "Mooring".into(), ..of }), "{listed}");
        }
        let other = ResultRow { kind: Some(SymbolKind::Struct), ..row("Berth", [2, 5], 2) };
        assert!(!declares(&[symbol("impl Berth", [2, 5], 2)], &other));
    }
}
