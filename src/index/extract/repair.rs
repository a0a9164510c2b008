//! Finds the braces that hold what a grammar can't read, so that it costs what is in them and not the symbols around them.
//!
//! After an error that it can't get over, a parser loses the rest of the file, with all declarations in it. Syntax that is newer than the
//! grammar is mostly inside of a body. So the bodies are emptied, and those whose content brings the error back stay empty, the innermost
//! ones. Invariants: the text keeps its length and its line breaks; all attempts share one work budget of the source's size; if they
//! don't help, the tree stays as it was.

use tree_sitter::{Node, Parser, Tree};

use super::blanked_text::BlankedText;
use super::parsing;
use super::work_budget::WorkBudget;
use crate::language::Language;

/// Larger sources aren't repaired, in bytes.
const MAX_REPAIRED_BYTES: usize = 256 * 1024;
/// Pairs of braces that are known of one source.
const MAX_BLOCKS: usize = 8_192;
/// Levels of braces that are emptied.
const MAX_LEVELS: usize = 32;
/// Errors of fewer lines lose little.
const MIN_ERROR_ROWS: usize = 2;

/// A pair of braces.
struct Block {
    open: usize,
    close: usize,
    parent: Option<usize>,
}

/// The text with empty bodies in place of what the grammar can't read, and its tree. `None`: nothing is lost, or it doesn't help.
pub(super) fn repaired(parser: &mut Parser, language: Language, text: &str, tree: &Tree) -> Option<(String, Tree)> {
    if !has_braces(language) || text.len() > MAX_REPAIRED_BYTES || !loses_much(tree.root_node()) {
        return None;
    }
    let blocks = blocks(language, text);
    let mut children: Vec<Vec<usize>> = blocks.iter().map(|_| Vec::new()).collect();
    let mut top = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        match block.parent {
            Some(parent) => children[parent].push(at),
            None => top.push(at),
        }
    }
    let budget = WorkBudget::of_source(text.len()).for_language(language);
    let mut search = GuiltySearch { parser, text, blocks: &blocks, children: &children, budget };
    let before = cost(tree.root_node());
    let guilty = search.innermost(&top, &[], before.saturating_sub(1), 0)?;
    let (text, tree, after) = search.without(&guilty)?;
    (after < before).then_some((text, tree))
}

/// Looks for the blocks that must be empty.
struct GuiltySearch<'a> {
    parser: &'a mut Parser,
    text: &'a str,
    blocks: &'a [Block],
    children: &'a [Vec<usize>],
    budget: WorkBudget,
}

impl GuiltySearch<'_> {
    /// The innermost blocks among `level` and below that must be empty, so that at most `most` is lost. `others` are empty already. `None`:
    /// these blocks aren't what loses it, or the budget is spent.
    fn innermost(&mut self, level: &[usize], others: &[usize], most: u64, depth: usize) -> Option<Vec<usize>> {
        if level.is_empty() || depth > MAX_LEVELS {
            return None;
        }
        let (_, _, least) = self.without(&[others, level].concat())?;
        if least > most {
            return None;
        }
        let mut empty = level.to_vec();
        self.release(level, others, &mut empty, least)?;
        let mut found: Vec<usize> = Vec::new();
        for (nth, block) in empty.iter().enumerate() {
            let rest = [others, &found, &empty[nth + 1..]].concat();
            let inner = self.children;
            match self.innermost(&inner[*block], &rest, least, depth + 1) {
                Some(deeper) => found.extend(deeper),
                None => found.push(*block),
            }
        }
        Some(found)
    }

    /// Removes from `empty` those of `group`, which is sorted, that lose nothing.
    fn release(&mut self, group: &[usize], others: &[usize], empty: &mut Vec<usize>, least: u64) -> Option<()> {
        let kept: Vec<usize> = empty.iter().copied().filter(|block| group.binary_search(block).is_err()).collect();
        let (_, _, now) = self.without(&[others, &kept].concat())?;
        if now <= least {
            *empty = kept;
        } else if group.len() > 1 {
            let (one, other) = group.split_at(group.len() / 2);
            self.release(one, others, empty, least)?;
            self.release(other, others, empty, least)?;
        }
        Some(())
    }

    /// The text with these blocks empty, its tree, and what is lost. `None`: the budget is spent.
    fn without(&mut self, empty: &[usize]) -> Option<(String, Tree, u64)> {
        let mut text = BlankedText::new(self.text);
        for block in empty {
            text.blank(self.blocks[*block].open + 1..self.blocks[*block].close);
        }
        let text = text.into_text().into_owned();
        let tree = parsing::parse(self.parser, text.as_bytes(), &self.budget)?;
        let lost = cost(tree.root_node());
        Some((text, tree, lost))
    }
}

/// Whether an error covers several lines.
fn loses_much(root: Node<'_>) -> bool {
    let mut found = false;
    each_error(root, |node| found |= node.end_position().row - node.start_position().row >= MIN_ERROR_ROWS);
    found
}

/// The bytes in errors, and one for each missing token.
fn cost(root: Node<'_>) -> u64 {
    let mut bytes = 0;
    each_error(root, |node| bytes += 1 + node.byte_range().len() as u64);
    bytes
}

/// Calls `each` with the outermost errors and the missing tokens.
fn each_error(root: Node<'_>, mut each: impl FnMut(Node<'_>)) {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            each(node);
        } else if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// Whether bodies stand in braces. C and C++ have rules of their own for what macros hide.
fn has_braces(language: Language) -> bool {
    matches!(
        language,
        Language::RUST
            | Language::TYPESCRIPT
            | Language::TSX
            | Language::JAVASCRIPT
            | Language::GO
            | Language::JAVA
            | Language::CSHARP
            | Language::PHP
            | Language::KOTLIN
            | Language::SWIFT
            | Language::SCALA
            | Language::ZIG
            | Language::DART
            | Language::SOLIDITY
            | Language::PROTO
            | Language::GRAPHQL
            | Language::VUE
            | Language::SVELTE
    )
}

/// The closed pairs of braces outside of strings and comments, each after the one around it.
fn blocks(language: Language, text: &str) -> Vec<Block> {
    let bytes = text.as_bytes();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut skipper = Skipper { language, bytes, unclosed_until: [0; 2] };
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' if blocks.len() < MAX_BLOCKS => {
                blocks.push(Block { open: at, close: at, parent: open.last().copied() });
                open.push(blocks.len() - 1);
            }
            b'}' => {
                if let Some(block) = open.pop() {
                    blocks[block].close = at;
                }
            }
            _ => {}
        }
        at += skipper.skipped(at).max(1);
    }
    // What is never closed can't be emptied.
    for block in &mut blocks {
        block.close = block.close.max(block.open + 1);
    }
    blocks
}

/// Skips strings and comments. Linear in the text, whatever isn't closed.
struct Skipper<'t> {
    language: Language,
    bytes: &'t [u8],
    /// Up to here no `'` closes a string in its line; then the same for `"`.
    unclosed_until: [usize; 2],
}

impl Skipper<'_> {
    /// The length of the string or comment at this place; 0 if there is none.
    fn skipped(&mut self, at: usize) -> usize {
        let bytes = self.bytes;
        let text = bytes.get(at..).unwrap_or_default();
        let until = |from: usize, end: &[u8]| {
            memchr::memmem::find(text.get(from..).unwrap_or_default(), end).map(|found| from + found + end.len())
        };
        match text {
            [b'/', b'/', ..] => memchr::memchr(b'\n', text).unwrap_or(text.len()),
            [b'/', b'*', ..] => until(2, b"*/").unwrap_or(text.len()),
            [b'"', b'"', b'"', ..] => until(3, b"\"\"\"").unwrap_or(3),
            [b'"', ..] => self.quoted(at, b'"'),
            // A character; a lifetime of Rust isn't one.
            [b'\'', b'\\', ..] | [b'\'', _, b'\'', ..] => self.quoted(at, b'\''),
            [b'\'', ..] if !matches!(self.language, Language::RUST | Language::SCALA) => self.quoted(at, b'\''),
            [b'`', ..] => until(1, b"`").unwrap_or(1),
            _ => 0,
        }
    }

    /// The length of the string at this place; 0 if it doesn't end in its line.
    fn quoted(&mut self, start: usize, quote: u8) -> usize {
        let unclosed_until = &mut self.unclosed_until[usize::from(quote == b'"')];
        // An earlier quote of the line found none that closes. So this one is behind a backslash, and what follows it was read then.
        if start < *unclosed_until {
            return 0;
        }
        let mut at = start + 1;
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'\\' if self.bytes.get(at + 1) != Some(&b'\n') => at += 2,
                b'\\' | b'\n' => break,
                byte if *byte == quote => return at + 1 - start,
                _ => at += 1,
            }
        }
        *unclosed_until = at;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::extract;
    use super::*;

    fn names(language: Language, source: &str) -> (Vec<String>, bool) {
        let facts = extract(language, source);
        ((0..facts.symbols.len()).map(|at| facts.qualified_name(at)).collect(), facts.has_errors)
    }

    #[test]
    fn syntax_that_a_grammar_cannot_read_costs_the_body_that_holds_it() {
        // Each `@@` and the like is unreadable; the declarations around it must stay.
        for (language, source, expected) in [
            (
                Language::KOTLIN,
                "class A {\n  fun one(x: Any) {\n    when (x) {\n      is B if x.ok -> go() ??? @@ <<\n      else -> {}\n    }\n  }\n  fun two() {}\n  companion object {\n    val c = 1\n  }\n}\nfun three() {}\n",
                &["A", "A::one", "A::two", "three"][..],
            ),
            (
                Language::JAVA,
                "class A {\n  void one() {\n    x = ??? << @@ ;\n    } ;\n  void two() { }\n}\nclass B { void three() {} }\n",
                &["A", "A::one", "B", "B::three"],
            ),
            (
                Language::TYPESCRIPT,
                "export class A {\n  one() {\n    match (x) { when @@ => 1, ??? }\n  }\n  two() {}\n}\nfunction three() {}\n",
                &["A", "A::one", "A::two", "three"],
            ),
        ] {
            let (found, has_errors) = names(language, source);
            assert!(has_errors, "{source}");
            for name in expected {
                assert!(found.iter().any(|one| one == name), "{name}: {found:?}");
            }
        }
    }

    #[test]
    fn braces_in_strings_and_comments_do_not_count() {
        let source = "a { '}' \"}\" /* } */ // }\n `}` { } 'x }\n }";
        let found = blocks(Language::TYPESCRIPT, source);
        assert_eq!(found.iter().map(|block| (block.open, block.close)).collect::<Vec<_>>(), [(2, 37), (30, 32)]);
        assert_eq!(blocks(Language::RUST, "fn f<'a>() { '{' }").len(), 1);
        assert_eq!(blocks(Language::RUST, "{ {").len(), 2);
    }

    #[test]
    fn long_lines_of_quotes_take_linear_time() {
        let lines = [("\"", "\\\""), ("'", "\\'"), ("", "\"\" "), ("", "'a' "), ("", "\\"), ("`\"\"\"", "a")];
        for (start, repeated) in lines {
            let source = format!("{start}{}\n{{ }}", repeated.repeat(200_000));
            let found = blocks(Language::TYPESCRIPT, &source);
            assert_eq!(found.len(), 1, "{start} {repeated}");
            assert_eq!((found[0].open, found[0].close), (source.len() - 3, source.len() - 1), "{start} {repeated}");
        }
        // What isn't closed ends with its line, and hides no string of the next.
        assert_eq!(blocks(Language::TYPESCRIPT, "\" { \\\" {\n\"{\" }").len(), 2);
    }
}
