//! Sources that a grammar's scanner could not survive.
//!
//! Scanners of grammars write down what is open (indentation, heredocs) in a kilobyte. Some write more than that when more is open,
//! and the parser then ends the whole process. No real source comes near; those that do aren't parsed.

use crate::language::Language;

/// Columns of indentation in YAML: each level of it takes at least one, and 253 levels fit.
const YAML_COLUMNS: usize = 240;
/// The same in Python, where 383 levels fit.
const PYTHON_COLUMNS: usize = 360;
/// Columns that a tab may come to.
const TAB: usize = 8;
/// Bytes of the names of all heredocs that one line of Ruby opens, with four for each.
const RUBY_HEREDOCS: usize = 400;

/// Whether more may be open in `source` than its language's scanner can write down.
pub(super) fn is_too_deep(language: Language, source: &str) -> bool {
    match language {
        Language::YAML => source.lines().any(|line| columns(line, "-?: \t") > YAML_COLUMNS),
        Language::PYTHON => source.lines().any(|line| columns(line, " \t\u{c}") > PYTHON_COLUMNS),
        Language::RUBY => source.lines().any(|line| heredocs(line) > RUBY_HEREDOCS),
        _ => false,
    }
}

/// How far a line's first signs reach that may open something.
fn columns(line: &str, opening: &str) -> usize {
    let first = line.chars().take_while(|letter| opening.contains(*letter));
    first.map(|letter| if letter == '\t' { TAB } else { 1 }).sum()
}

fn heredocs(line: &str) -> usize {
    let starts = line.match_indices("<<").map(|(at, _)| &line[at + 2..]);
    let words = starts.map(|rest| {
        let name = rest.trim_start_matches(['-', '~', '"', '\'', '`']);
        4 + name
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .map(char::len_utf8)
            .sum::<usize>()
    });
    words.sum()
}
