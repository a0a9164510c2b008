//! Where names stand in the code of a source, as its grammar sees it: not in comments and not in the text of strings.
//!
//! The facts of a source hold definitions, calls, types and imports. This module also sees plain uses and local names. It resolves nothing:
//! it only says which places bind a name. Invariants: places are in order; a source that is too costly to parse has none.

use std::cell::RefCell;

use tree_sitter::{Node, Parser, Tree};

use super::grammar::CompiledGrammar;
use super::source_text::Utf16Columns;
use super::work_budget::WorkBudget;
use super::{captures, depth, grammar, parsing, readable};
use crate::language::Language;
use crate::limits::MAX_PARSED_BYTES;

/// One place of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeName {
    /// The line, from 1.
    pub line: u32,
    /// The column in UTF-16 units, from 0.
    pub column: u32,
    /// The place declares or assigns the name: a parameter, a variable, the left side of an assignment.
    pub binds: bool,
    /// It follows a `.`, `->`, `::` or `?.`.
    pub is_member: bool,
    /// It names an argument or a field to which a value is given there: `f(name=1)`, `{name: 1}`.
    pub is_label: bool,
}

/// A name in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeWord {
    /// The name.
    pub word: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in UTF-16 units, from 0.
    pub column: u32,
}

/// The places of `name` in the code of `source`.
pub fn names_in_code(language: Language, source: &str, name: &str) -> Vec<CodeName> {
    if name.is_empty() || memchr::memmem::find(source.as_bytes(), name.as_bytes()).is_none() {
        return Vec::new();
    }
    let found = with_tree(language, source, |compiled, tree, text| {
        let mut found = Vec::new();
        let columns = Utf16Columns::new(source);
        compiled.name_context.each_leaf(tree, |leaf| {
            if text.get(leaf.node.byte_range()) != Some(name) || !leaf.is_code(language) {
                return;
            }
            let (line, column) = place(leaf.node, &columns);
            found.push(CodeName {
                line,
                column,
                binds: leaf.binds(language),
                is_member: is_member(&source[..leaf.node.start_byte()]),
                is_label: leaf.is_label(),
            });
        });
        found
    });
    found.unwrap_or_default()
}

/// All names in the code of `source`, in order. `None`: it can't be parsed, or costs too much.
pub fn code_words(language: Language, source: &str) -> Option<Vec<CodeWord>> {
    with_tree(language, source, |compiled, tree, text| {
        let columns = Utf16Columns::new(source);
        let mut found = Vec::new();
        compiled.name_context.each_leaf(tree, |leaf| {
            let word = text.get(leaf.node.byte_range()).filter(|word| is_word(word) && leaf.is_code(language));
            if let Some(word) = word {
                let (line, column) = place(leaf.node, &columns);
                found.push(CodeWord { word: word.to_owned(), line, column });
            }
        });
        found
    })
}

/// The line of a leaf, from 1, and its column.
fn place(leaf: Node<'_>, columns: &Utf16Columns<'_>) -> (u32, u32) {
    let (row, column) = captures::position(leaf);
    (row.saturating_add(1), columns.of(captures::span(leaf).start, column))
}

/// Whether a text can be a name.
fn is_word(text: &str) -> bool {
    let begins = text.starts_with(|first: char| unicode_ident::is_xid_start(first) || matches!(first, '_' | '$'));
    begins && text.chars().all(|c| unicode_ident::is_xid_continue(c) || c == '$')
}

/// Whether the word at this byte is a keyword, a sign or a number for the grammar, so that nothing has it as a name. False if the grammar
/// can't read what is around it.
pub fn is_no_name(language: Language, source: &str, at: usize) -> bool {
    let found = with_tree(language, source, |_, tree, text| {
        let leaf = tree.root_node().descendant_for_byte_range(at, (at + 1).min(text.len()))?;
        let is_readable = !leaf.is_error() && leaf.parent().is_some_and(|parent| !parent.is_error());
        let is_number = || text.as_bytes().get(leaf.start_byte()).is_some_and(u8::is_ascii_digit);
        let is_sign = || !leaf.is_named() || leaf.kind().ends_with("keyword") || is_number();
        (is_readable && leaf.child_count() == 0).then(is_sign)
    });
    found.flatten().unwrap_or(false)
}

/// Calls `each` with the grammar and the tree of a source, and the text that was parsed. `None`: the source can't be parsed, or costs too much.
fn with_tree<T>(language: Language, source: &str, each: impl FnOnce(&CompiledGrammar, &Tree, &str) -> T) -> Option<T> {
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    if source.len() > MAX_PARSED_BYTES || depth::exceeds_scanner(language, source) {
        return None;
    }
    let compiled = grammar::compiled(language)?;
    // What is blanked in C has names, too, so only what another language is in the file is left out.
    let text = match language {
        Language::VUE | Language::SVELTE => readable(language, source),
        _ => source.into(),
    };
    let budget = WorkBudget::of_source(source.len()).for_language(language);
    let tree = PARSER.with_borrow_mut(|parser| {
        parser.set_language(&compiled.grammar).ok()?;
        parsing::parse(parser, text.as_bytes(), &budget)
    })?;
    Some(each(compiled, &tree, &text))
}

/// Whether what stands before a name says that it is a member of something.
pub(super) fn is_member(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with('.') && !before.ends_with("..") || before.ends_with("->") || before.ends_with("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(language: Language, source: &str, name: &str) -> Vec<(u32, u32, bool)> {
        names_in_code(language, source, name).iter().map(|place| (place.line, place.column, place.binds)).collect()
    }

    #[test]
    fn names_are_found_in_code_only() {
        for (language, source, expected) in [
            (Language::PYTHON, "x = 1 # x\nprint('x', f'{x}')\n", &[(1, 0, true), (2, 14, false)][..]),
            (Language::PYTHON, "def f(x=1, *y):\n  return y.x\n", &[(1, 6, true), (2, 11, false)]),
            (Language::PYTHON, "a, x = 1, 2\n", &[(1, 3, true)]),
            (Language::RUBY, "ä = 1; x = \"#{x} x\" # x\n", &[(1, 7, true), (1, 14, false)]),
            (Language::JAVASCRIPT, "const x = () => x; // x\n`x ${x}`", &[(1, 6, true), (1, 16, false), (2, 5, false)]),
            (Language::TYPESCRIPT, "function f(x: T) { return x; }", &[(1, 11, true), (1, 26, false)]),
            (
                Language::GO,
                "package m\nfunc f(x int) { y, x := 1, x; _ = \"x\" }",
                &[(2, 7, true), (2, 19, true), (2, 27, false)],
            ),
            (
                Language::RUST,
                "fn f(x: u8) { let x = x; m!(x, \"x\"); }",
                &[(1, 5, true), (1, 18, true), (1, 22, false), (1, 28, false)],
            ),
            (
                Language::C,
                "int f(int x) { int y = x; /* x */ return g(\"x\", x); }",
                &[(1, 10, true), (1, 23, false), (1, 48, false)],
            ),
            (Language::JAVA, "class A { int f(int x) { int y = x; return y; } }", &[(1, 20, true), (1, 33, false)]),
            (Language::KOTLIN, "fun f(x: Int) { val y = x }", &[(1, 6, true), (1, 24, false)]),
            (Language::PHP, "<?php function f($x) { return $x; } // x", &[(1, 18, true), (1, 31, false)]),
            (Language::BASH, "local x=1\nx=2; echo \"$x\" # x\n", &[(1, 6, true), (2, 0, false), (2, 12, false)]),
            (Language::VUE, "<p>x</p>\n<script>let x = 1; x++</script>", &[(2, 12, true), (2, 19, false)]),
        ] {
            assert_eq!(places(language, source, "x"), expected, "{source}");
        }
        assert!(names_in_code(Language::GO, "a.x; b->x", "x").iter().all(|place| place.is_member));
        for (language, source) in [
            (Language::PYTHON, "f(x=y, z=x); {x: 1}"),
            (Language::JAVASCRIPT, "f({x: y, z: x}, x)"),
            (Language::RUBY, "f(x: y, z: x); x"),
            (Language::RUST, "fn f() { A { x: y, z: x }; x }"),
            (Language::PHP, "<?php f(x: $y, z: $x, x(1));"),
        ] {
            let labels: Vec<bool> = names_in_code(language, source, "x").iter().map(|place| place.is_label).collect();
            assert_eq!(labels, [true, false, false], "{source}");
        }
        assert!(places(Language::PYTHON, "", "x").is_empty() && places(Language::PYTHON, "x", "").is_empty());
    }

    #[test]
    fn all_names_in_code_are_words() {
        for (language, source, expected) in [
            (Language::PYTHON, "# a\n'b'\nc = f'd {e}'\n", "c e"),
            (Language::TYPESCRIPT, "// a\nlet b = `c ${d.e}`; /f/; g<h>('i')", "b d e g h"),
            (Language::C, "/* a */\nint d(char *e) { return b + e->f; } // g\n", "int d char e b e f"),
            (Language::RUST, "/// a\nfn b(c: D) { e!(\"f\", c) }", "b c D e c"),
            (Language::GO, "package a\nvar b = \"c\" + d.e // f\n", "a b d e"),
            (Language::RUBY, "# a\nb = \"c #{d}\" + e.f\n", "b d e f"),
            (Language::JAVA, "class A { String b = \"c\"; /* d */ }", "A String b"),
        ] {
            let words = code_words(language, source).unwrap();
            let words: Vec<&str> = words.iter().map(|word| word.word.as_str()).collect();
            assert_eq!(words.join(" "), expected, "{source}");
        }
        let words = code_words(Language::PYTHON, "\n'𝄞', ab\n").unwrap();
        assert_eq!(words, [CodeWord { word: "ab".into(), line: 2, column: 6 }]);
    }

    #[test]
    fn keywords_are_no_names() {
        for (language, source, at, expected) in [
            (Language::PYTHON, "def f():\n  return x\n", 1, true),
            (Language::PYTHON, "def f():\n  return x\n", 4, false),
            (Language::PYTHON, "def f():\n  return x\n", 12, true),
            (Language::PYTHON, "ä = 1; match = 2\n", 8, false),
            (Language::RUST, "pub fn f() { let a = 1; }", 4, true),
            (Language::RUST, "pub fn f() { let a = 1; }", 17, false),
            (Language::GO, "package m\nfunc f() { return }\n", 22, true),
            (Language::TYPESCRIPT, "export const of = 1", 8, true),
            (Language::TYPESCRIPT, "export const of = 1", 13, false),
            (Language::C, "static int f(void) { return 0; }", 2, true),
            (Language::C, "static int f(void) { return 0; }", 11, false),
            (Language::RUBY, "def f; end", 8, true),
            (Language::RUBY, "x = ", 4, false),
            (Language::PYTHON, "x = 12", 4, true),
        ] {
            assert_eq!(is_no_name(language, source, at), expected, "{source} {at}");
        }
    }
}
