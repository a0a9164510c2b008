//! Plain texts in programs: `name = "cells"`.
//!
//! It doesn't parse a language; it knows strings in quotation marks and comments to the end of a line. What isn't a plain text is not found.

use crate::values::{ManifestValue, line_at, value, window};

/// How a program writes its comments and assignments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Syntax {
    /// What begins a comment.
    pub(super) comment: &'static str,
    /// What stands between a key and its value.
    pub(super) separators: &'static [char],
}

/// `name="cells"`.
pub(super) const PYTHON: Syntax = Syntax { comment: "#", separators: &['='] };
/// `spec.name = "cells"`.
pub(super) const RUBY: Syntax = Syntax { comment: "#", separators: &['='] };
/// `name: "cells"`.
pub(super) const SWIFT: Syntax = Syntax { comment: "//", separators: &[':'] };
/// `version = "1"`, and in Groovy `version "1"`.
pub(super) const GRADLE: Syntax = Syntax { comment: "//", separators: &['=', ' '] };

/// Places at which a key is looked at; a program that is meant for people has fewer.
const MAX_PLACES: usize = 1_000;
/// Bytes that are looked at before a key on its line, and after it.
const MAX_NEAR_BYTES: usize = 8 * 1024;

/// The first plain text that `text` gives to `key`, from the byte `from` on.
pub(super) fn find(text: &str, key: &str, syntax: Syntax, from: usize) -> Option<ManifestValue> {
    let rest = text.get(from..)?;
    rest.match_indices(key).take(MAX_PLACES).find_map(|(at, _)| {
        let at = from + at;
        let near = at.saturating_sub(MAX_NEAR_BYTES);
        let before = text.as_bytes()[near..at].iter().rposition(|byte| *byte == b'\n').map(|end| near + end + 1);
        // A line that is longer is no line of a program.
        let line_start = before.or_else(|| (near == 0).then_some(0))?;
        let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '"' | '\'');
        // A key that begins with a dot is a member of whatever stands before it.
        let is_part = !key.starts_with('.') && text[line_start..at].chars().next_back().is_some_and(is_inner);
        if is_part || is_comment(&text[line_start..at], syntax.comment) {
            return None;
        }
        let literal = after_separator(window(&text[at + key.len()..], MAX_NEAR_BYTES), syntax.separators)?;
        value(&plain_text(literal)?, line_at(text, at))
    })
}

/// Whether a comment has begun in the part of a line; strings may hold its mark.
fn is_comment(part: &str, mark: &str) -> bool {
    let mut quote = None;
    for (at, c) in part.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, _) if part[at..].starts_with(mark) => return true,
            _ => {}
        }
    }
    false
}

fn after_separator<'t>(text: &'t str, separators: &[char]) -> Option<&'t str> {
    let trimmed = text.trim_start_matches([' ', '\t']);
    let by_sign = separators.iter().filter(|sign| **sign != ' ').find_map(|sign| trimmed.strip_prefix(*sign));
    let rest = match by_sign {
        Some(rest) => rest,
        None if separators.contains(&' ') && trimmed.len() < text.len() => trimmed,
        None => return None,
    };
    // `==` compares.
    (!rest.starts_with('=')).then(|| rest.trim_start())
}

/// The text of the literal at the beginning; `None` if it isn't one, or is a part of an expression.
fn plain_text(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let triple: String = [quote; 3].iter().collect();
    let (inner, rest) = match text.strip_prefix(&triple) {
        Some(inner) => inner.split_once(&triple)?,
        None => {
            let inner = &text[1..];
            let mut is_escaped = false;
            let (end, last) = inner.char_indices().find(|(_, c)| {
                let ends = *c == quote && !is_escaped;
                is_escaped = *c == '\\' && !is_escaped;
                ends || *c == '\n'
            })?;
            if last != quote {
                return None;
            }
            (&inner[..end], &inner[end + 1..])
        }
    };
    let after = rest.trim_start_matches([' ', '\t']);
    let ends_here =
        after.is_empty() || after.starts_with([',', ')', '\n', '\r', ';', '#', ']', '}']) || after.starts_with("//");
    // `#{…}`, `$x` and `\(…)` are computed.
    let is_computed = inner.contains("#{") || inner.contains('$') || inner.contains("\\(");
    (ends_here && !is_computed).then(|| unescaped(inner))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('n' | 't' | 'r' | '\n') | None => plain.push(' '),
                Some(other) => plain.push(other),
            },
            other => plain.push(other),
        }
    }
    plain
}
