//! Whether a source parses, and where it first doesn't.
//!
//! It extracts nothing. Invariant: as in the rest of extraction, it never panics, and a source that a scanner could abort on isn't parsed.

use tree_sitter::{Node, Parser};

use super::{depth, grammar, parsing, readable};
use crate::extract::work_budget::WorkBudget;
use crate::language::Language;
use crate::limits::MAX_PARSED_BYTES;

/// Nodes that are visited in search of the first error.
const MAX_VISITED_NODES: usize = 100_000;

/// The line, from 1, of the first syntax error of `source`. `None` if it parses. A source that is too large, too deeply nested or in a
/// language without a grammar has its error in line 1.
pub fn first_syntax_error(language: Language, source: &str) -> Option<u32> {
    if source.len() > MAX_PARSED_BYTES || depth::exceeds_scanner(language, source) {
        return Some(1);
    }
    let Some(compiled) = grammar::compiled(language) else { return Some(1) };
    let text = readable(language, source);
    let mut parser = Parser::new();
    if parser.set_language(&compiled.grammar).is_err() {
        return Some(1);
    }
    let budget = WorkBudget::of_source(source.len()).for_language(language);
    let Some(tree) = parsing::parse(&mut parser, text.as_bytes(), &budget) else { return Some(1) };
    let root = tree.root_node();
    root.has_error().then(|| line_of_error(root))
}

/// The line of the first node that is an error or is missing.
fn line_of_error(root: Node<'_>) -> u32 {
    let mut cursor = root.walk();
    let mut line = 1;
    for _ in 0..MAX_VISITED_NODES {
        let node = cursor.node();
        if node.has_error() {
            line = u32::try_from(node.start_position().row).map_or(u32::MAX, |row| row.saturating_add(1));
            if node.is_error() || node.is_missing() || !cursor.goto_first_child() {
                break;
            }
        } else if !cursor.goto_next_sibling() {
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_has_its_line() {
        for (language, source, expected) in [
            (Language::RUST, "fn a() {}\n\nfn b( {\n", Some(3)),
            (Language::RUST, "fn a() {}\n", None),
            (Language::PYTHON, "x = 1\nprint(x\n", Some(2)),
            (Language::PYTHON, "x = 1\nprint(x)\n", None),
            (Language::JSON, "{\"a\": 1}", None),
            (Language::JAVA, "class A { void f() { int x = ; } }", Some(1)),
            (Language::CPP, "#include <x>\nint main() { return 0; }\n", None),
            (Language::VUE, "<p>{{ a }}</p>\n<script>let a = ;</script>", Some(2)),
            (Language::VUE, "<p>{{ a }}</p>\n<script>let a = 1;</script>", None),
            (Language::PYTHON, "", None),
        ] {
            assert_eq!(first_syntax_error(language, source), expected, "{source}");
        }
        let deep: String = (0..600).map(|depth| format!("{}if a:\n", " ".repeat(depth))).collect();
        assert_eq!(first_syntax_error(Language::PYTHON, &deep), Some(1));
        assert_eq!(first_syntax_error(Language::RUST, &" ".repeat(MAX_PARSED_BYTES + 1)), Some(1));
    }
}
