//! Detects sources that are nested too deeply for the parser, or for a grammar's external scanner.
//!
//! A scanner serializes its open constructs (indentation, heredocs) into a buffer of 1,024 bytes. Some scanners write past its end,
//! and tree-sitter then aborts the process. Real sources stay far below this depth; a source above it is not parsed.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::code_text;
use crate::language::Language;

/// Columns of indentation in YAML. Each level takes at least one column, and 253 levels fit.
const YAML_COLUMNS: usize = 240;
/// Columns of indentation in Python, where 383 levels fit.
const PYTHON_COLUMNS: usize = 360;
/// The most columns that a tab counts as.
const TAB: usize = 8;
/// Bytes of the names of all heredocs that one line of Ruby opens, plus four for each heredoc.
const RUBY_HEREDOCS: usize = 400;

/// Heredocs of Bash that are open at a time. Its scanner copies all of them at each token, and forgets them where they don't fit.
const BASH_HEREDOCS: usize = 250;

/// Brackets that are open at a time. The parser merges the stacks of ambiguous syntax recursively, a level for each, so a source with very
/// many overflows the thread's stack.
const OPEN_BRACKETS: usize = 10_000;

/// `<` that are open at a time in one statement of Dart. After a syntax error the parser tries to end each of them, once for each token: time
/// and memory are quadratic.
const DART_ANGLES: usize = 1_000;
/// Lines of Haskell that begin with an operator. Each is an error of its own at the top level, and the parser looks at all errors before it
/// again.
const HASKELL_OPERATOR_LINES: usize = 2_000;
/// Lines of HCL with a string that doesn't end in them, with the same cost.
const HCL_OPEN_STRINGS: usize = 3_000;
/// Operators of Zig in a row. Each may be the type of a pointer inside the one before it, with the same cost.
const ZIG_OPERATORS: usize = 500;

/// Statements of a sequence and parts of a tuple's type in OCaml, and attributes and labels in a row in HCL. Each is nested in the one before
/// it by a rule without a node of its own, and the query's cursor walks over all of these rules at every step.
const HIDDEN_LEVELS: usize = 5_000;

/// Whether so many brackets are open at a time that the parser may overflow its stack.
fn opens_many_brackets(source: &str) -> bool {
    let mut open = 0_usize;
    source.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > OPEN_BRACKETS
    })
}

/// Whether `source` may have more open constructs than its language's scanner can serialize.
pub(super) fn exceeds_scanner(language: Language, source: &str) -> bool {
    if opens_many_brackets(source) {
        return true;
    }
    match language {
        Language::YAML => source.lines().any(|line| columns(line, "-?: \t") > YAML_COLUMNS),
        Language::PYTHON => source.lines().any(|line| columns(line, " \t\u{c}") > PYTHON_COLUMNS),
        Language::RUBY => source.lines().any(|line| heredocs(line) > RUBY_HEREDOCS),
        Language::BASH => opens_many_heredocs(source),
        Language::DART => opens_many_angles(source),
        Language::ZIG => has_many_operators(source),
        Language::HASKELL => has_many_operator_lines(source),
        Language::HCL => {
            has_long_row(&code_text::of(language, source), b".\"", b"\n{}[](),=") || has_many_open_strings(source)
        }
        Language::OCAML | Language::OCAML_INTERFACE => {
            has_long_row(&without_lists(&code_text::of(language, source)), b";*", b"={}")
        }
        _ => false,
    }
}

/// Whether more than [`DART_ANGLES`] `<` are open at a time. Shifts and comparisons with `=` aren't brackets.
fn opens_many_angles(source: &str) -> bool {
    let code = code_text::of(Language::DART, source);
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(byte) = code.get(at) {
        let is_operator = matches!((byte, code.get(at + 1)), (b'<', Some(b'<' | b'=')) | (b'=', Some(b'>')));
        match byte {
            _ if is_operator => at += 1,
            b'<' => open += 1,
            b'>' => open = open.saturating_sub(1),
            b';' | b'{' | b'}' => open = 0,
            _ => {}
        }
        if open > DART_ANGLES {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether more than [`HIDDEN_LEVELS`] of the bytes `counted` lie between two of the bytes `ends`.
fn has_long_row(code: &[u8], counted: &[u8], ends: &[u8]) -> bool {
    let mut row = 0_usize;
    code.iter().any(|byte| {
        if counted.contains(byte) {
            row += 1;
        } else if ends.contains(byte) {
            row = 0;
        }
        row > HIDDEN_LEVELS
    })
}

/// The code outside of `[]`: what separates the elements of a list doesn't nest. All of it if a list never ends.
fn without_lists(code: &[u8]) -> Cow<'_, [u8]> {
    let mut depth = 0_usize;
    let mut kept = Vec::new();
    for byte in code {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(*byte),
            _ => {}
        }
    }
    if depth == 0 { Cow::Owned(kept) } else { Cow::Borrowed(code) }
}

/// Whether more than [`HASKELL_OPERATOR_LINES`] lines begin with an operator.
fn has_many_operator_lines(source: &str) -> bool {
    let code = code_text::of(Language::HASKELL, source);
    let begins = |line: &&[u8]| line.first().is_some_and(|first| b"!#$%&*+./<=>?@\\^|-~:".contains(first));
    code.split(|byte| *byte == b'\n').filter(begins).nth(HASKELL_OPERATOR_LINES).is_some()
}

/// Whether more than [`HCL_OPEN_STRINGS`] lines have an odd number of quotes.
fn has_many_open_strings(source: &str) -> bool {
    let is_open = |line: &&str| {
        let escaped = line.matches("\\\"").count();
        line.bytes().filter(|byte| *byte == b'"').count() % 2 != escaped % 2
    };
    source.lines().filter(is_open).nth(HCL_OPEN_STRINGS).is_some()
}

/// Whether more than [`ZIG_OPERATORS`] operators follow each other.
fn has_many_operators(source: &str) -> bool {
    let code = code_text::of(Language::ZIG, source);
    let mut row = 0_usize;
    code.iter().any(|byte| {
        match byte {
            b'!' | b'%' | b'&' | b'*' | b'+' | b'-' | b'/' | b'<' | b'=' | b'>' | b'?' | b'^' | b'|' | b'~' => row += 1,
            b' ' | b'\t' | b'\r' => {}
            _ => row = 0,
        }
        row > ZIG_OPERATORS
    })
}

/// Whether more than [`BASH_HEREDOCS`] heredocs are open at a time.
fn opens_many_heredocs(source: &str) -> bool {
    let mut open: VecDeque<&str> = VecDeque::new();
    for line in source.lines() {
        if open.front().is_some_and(|first| line.trim_start_matches('\t') == *first) {
            open.pop_front();
            continue;
        }
        for (at, _) in line.match_indices("<<") {
            let name = line[at + 2..].trim_start_matches(['-', '"', '\'', '\\', ' ']);
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            if end > 0 {
                open.push_back(&name[..end]);
            }
        }
        if open.len() > BASH_HEREDOCS {
            return true;
        }
    }
    false
}

/// The width of a line's leading characters that may open a level.
fn columns(line: &str, opening: &str) -> usize {
    let first = line.chars().take_while(|c| opening.contains(*c));
    first.map(|c| if c == '\t' { TAB } else { 1 }).sum()
}

/// The size of the heredocs that a line opens, in bytes of scanner state.
fn heredocs(line: &str) -> usize {
    let starts = line.match_indices("<<").map(|(at, _)| &line[at + 2..]);
    let words = starts.map(|rest| {
        let name = rest.trim_start_matches(['-', '~', '"', '\'', '`']);
        4 + name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum::<usize>()
    });
    words.sum()
}
