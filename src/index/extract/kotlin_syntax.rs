//! Syntax of Kotlin that is newer than its grammar, as the grammar can read it.
//!
//! A guard of a branch (`is A if a.isOk ->`) and the context parameters of a declaration (`context(log: Log) fun f()`) become blank. Neither
//! declares anything. Lengths and line breaks stay. Linear in the source.

use std::borrow::Cow;

use super::blanked_text::BlankedText;

/// Words that may stand between context parameters and the name of what they belong to.
const DECLARATIONS: [&str; 22] = [
    "fun", "val", "var", "class", "interface", "object", "public", "private", "internal", "protected", "override",
    "inline", "suspend", "operator", "infix", "tailrec", "abstract", "open", "final", "sealed", "data", "external",
];

/// Bytes of context parameters that are read.
const MAX_CONTEXT_BYTES: usize = 2_000;
/// Levels of parentheses in context parameters. Each unclosed `context(` is a level of those before it, so no byte is read more often.
const MAX_CONTEXT_LEVELS: usize = 16;

/// `source` with blanks instead of guards and context parameters.
pub(super) fn readable(source: &str) -> Cow<'_, str> {
    let mut text = BlankedText::new(source);
    if source.contains("when") {
        blank_guards(source, &mut text);
    }
    blank_contexts(source, &mut text);
    text.into_text()
}

/// A line has one branch at most in front of its first arrow.
fn blank_guards(source: &str, text: &mut BlankedText<'_>) {
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(arrow) = line.find("->") else { continue };
        let begin = line[..arrow].rfind(['{', ';']).map_or(0, |before| before + 1);
        let condition = &line[begin..arrow];
        let guard = [" if ", " if("].iter().filter_map(|word| condition.find(word)).min();
        // A value: `a = if (b) c else d`.
        let is_guard = |guard: &usize| {
            let before = condition[..*guard].trim();
            !before.is_empty() && !before.ends_with(['=', '(', ',']) && !before.ends_with("return")
        };
        let guard = guard.filter(is_guard).map(|guard| begin + guard);
        if let Some(guard) = guard {
            text.blank(start + guard..start + arrow);
        }
    }
}

fn blank_contexts(source: &str, text: &mut BlankedText<'_>) {
    for (at, word) in source.match_indices("context(") {
        // Not the whole line: it may be long, and have many of these words.
        let before = source[..at].trim_end_matches(|c: char| c != '\n' && c.is_whitespace());
        if !before.is_empty() && !before.ends_with(['{', ';', '}', '\n']) {
            continue;
        }
        let Some(length) = closed(&source[at + word.len()..]) else { continue };
        let end = at + word.len() + length;
        let after = source[end..].trim_start();
        let next: &str = after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if DECLARATIONS.contains(&next) || after.starts_with('@') || after.starts_with("context(") {
            text.blank(at..end);
        }
    }
}

/// The length up to the parenthesis that closes an open one. `None`: it is too far away, or too many others are open.
fn closed(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, byte) in text.bytes().enumerate().take(MAX_CONTEXT_BYTES) {
        match byte {
            b'(' if depth == MAX_CONTEXT_LEVELS => return None,
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_and_context_parameters_become_blank() {
        for (source, expected) in [
            (
                "when (x) {\n  is A if x.ok -> 1\n  else if y -> 2\n}",
                "when (x) {\n  is A         -> 1\n  else      -> 2\n}",
            ),
            ("when {\n  A if (a == b) -> if (c) 1 else 2\n}", "when {\n  A             -> if (c) 1 else 2\n}"),
            ("when { a -> if (b) c else d }", "when { a -> if (b) c else d }"),
            ("f(if (a) b else c, { x -> x }); when", "f(if (a) b else c, { x -> x }); when"),
            (
                "fun f(a: Int = if (b) 1 else 2, c: () -> Unit) = when",
                "fun f(a: Int = if (b) 1 else 2, c: () -> Unit) = when",
            ),
            ("context(l: Log, (A) -> B)\nfun f() {}", "                         \nfun f() {}"),
            ("context(l: Log) private val x", "                private val x"),
            ("val a = context(b)\nfun f()", "val a = context(b)\nfun f()"),
            ("context(a", "context(a"),
            ("", ""),
        ] {
            assert_eq!(readable(source), expected, "{source}");
        }
    }

    #[test]
    fn many_unclosed_contexts_take_linear_time() {
        for word in ["context(", "context(\n", "context( "] {
            let many = word.repeat(100_000);
            let found = readable(&format!("{many}\ncontext(a) fun f()")).into_owned();
            assert!(found == format!("{many}\n           fun f()"), "{word}");
        }
    }
}
