//! Finds the comment or docstring of a definition in the lines of its file, and takes its markers away but not its indentation.
//!
//! It doesn't read what the comment says. Invariant: the lines that it names hold the text that it returns.

use codeyard_index::{Language, Symbol};

use crate::repository::product_sources::{ParsedSource, SourceText};

/// A comment without its markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawComment {
    pub(crate) text: String,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

/// Lines of one comment.
const MAX_COMMENT_LINES: usize = 2_000;
/// Lines of a definition in which its docstring begins.
const MAX_HEAD_LINES: usize = 120;

/// The comment that the index found for a symbol. `None` if it isn't where comments usually are.
pub(super) fn of_symbol(source: &ParsedSource, symbol: &Symbol) -> Option<RawComment> {
    let found = match source.language {
        Language::PYTHON => {
            let last = (symbol.name_line as usize + MAX_HEAD_LINES).min(symbol.line_end as usize);
            let begins = |line: &usize| quotes_of(source.source.line(*line)).is_some();
            let docstring =
                (symbol.name_line as usize..=last).find(begins).and_then(|line| docstring_at(&source.source, line));
            let is_it = |raw: &RawComment| is_same(&raw.text, &symbol.doc);
            docstring.filter(is_it).or_else(|| above(&source.source, symbol.line_start as usize, source.language))
        }
        _ => above(&source.source, symbol.line_start as usize, source.language),
    };
    found.filter(|raw| is_same(&raw.text, &symbol.doc))
}

/// Whether a comment is for users, in languages that distinguish such comments from others.
pub(super) fn is_for_users(source: &ParsedSource, raw: &RawComment) -> bool {
    let last = source.source.line(raw.last_line).trim();
    let first = source.source.line(raw.first_line).trim();
    let is_block = last.ends_with("*/") && (first.contains("/**") || first.contains("/*!"));
    match source.language {
        Language::RUST | Language::CSHARP | Language::SWIFT => is_block || last.starts_with("///"),
        Language::TYPESCRIPT
        | Language::TSX
        | Language::JAVASCRIPT
        | Language::JAVA
        | Language::KOTLIN
        | Language::PHP => is_block,
        Language::PYTHON => !last.starts_with('#') || last.starts_with("#:"),
        _ => true,
    }
}

/// Whether the beginning of a comment is in the text that the index found, which may have other comments before it.
fn is_same(raw: &str, found: &str) -> bool {
    let letters = |text: &str, most: usize| text.chars().filter(|c| c.is_alphanumeric()).take(most).collect::<String>();
    letters(found, usize::MAX).contains(&letters(raw, 40))
}

/// The comment that ends directly above a line, over attributes and annotations.
fn above(source: &SourceText, line: usize, language: Language) -> Option<RawComment> {
    let mut last = line.checked_sub(1)?;
    let is_attribute = |text: &str| {
        let text = text.trim();
        text.starts_with("#[")
            || text.starts_with('@')
            || text.starts_with('[') && text.ends_with(']')
            || text.starts_with("template")
    };
    for _ in 0..MAX_HEAD_LINES {
        if last == 0 || !is_attribute(source.line(last)) {
            break;
        }
        last -= 1;
    }
    if last == 0 {
        return None;
    }
    let text = source.line(last).trim();
    if text.ends_with("*/") {
        let least = last.saturating_sub(MAX_COMMENT_LINES).max(1);
        // Its text can mention the sign with which comments begin.
        let begins = |number: &usize| source.line(*number).trim_start().starts_with("/*");
        let within = || (least..=last).rev().find(|number| source.line(*number).contains("/*"));
        let first = (least..=last).rev().find(begins).or_else(within)?;
        return Some(block_comment(source, first, last));
    }
    let marker = line_marker(text, language)?;
    let mut first = last;
    while first > 1
        && last - first < MAX_COMMENT_LINES
        && line_marker(source.line(first - 1).trim(), language) == Some(marker)
    {
        first -= 1;
    }
    Some(line_comments(source, first, last, marker))
}

/// The marker of a line that is a comment.
fn line_marker(text: &str, language: Language) -> Option<&'static str> {
    let markers: &[&'static str] = match language {
        Language::PYTHON | Language::RUBY | Language::BASH => &["#"],
        _ => &["///", "//!", "//"],
    };
    markers
        .iter()
        .copied()
        .find(|marker| text.starts_with(marker) && !text.starts_with("#[") && !text.starts_with("#!"))
}

fn line_comments(source: &SourceText, first: usize, last: usize, marker: &str) -> RawComment {
    let lines = (first..=last).map(|number| {
        let text = source.line(number).trim();
        let rest = text.strip_prefix(marker).unwrap_or(text);
        let signs: &[char] = if marker == "#" { &[':'] } else { &['<', '!'] };
        // A rule divides comments.
        let is_rule = rest.len() > 6 && !rest.contains(char::is_alphanumeric) && !rest.contains(char::is_whitespace);
        let rest = if is_rule { "" } else { rest };
        rest.strip_prefix(signs).filter(|_| marker != "//!").unwrap_or(rest).to_owned()
    });
    RawComment { text: dedented(&lines.collect::<Vec<_>>()), first_line: first, last_line: last }
}

fn block_comment(source: &SourceText, first: usize, last: usize) -> RawComment {
    let text = source.raw_lines(first, last);
    let inner = text.find("/*").map_or(text, |at| &text[at + 2..]);
    let inner = inner.rfind("*/").map_or(inner, |at| &inner[..at]);
    let mut lines: Vec<&str> = inner.lines().collect();
    let opening = lines.first_mut().map(std::mem::take).unwrap_or_default();
    let opening = opening.trim_start_matches(['*', '!']).trim();
    let has_stars = lines.iter().filter(|line| !line.trim().is_empty()).all(|line| line.trim_start().starts_with('*'));
    let rest: Vec<String> = lines
        .iter()
        .copied()
        .skip(1)
        .map(|line| match line.trim_start().strip_prefix('*') {
            Some(rest) if has_stars => rest.to_owned(),
            _ => line.to_owned(),
        })
        .collect();
    RawComment { text: joined(opening, &rest), first_line: first, last_line: last }
}

/// The comment at the top of a file, below a `#!` line and above everything else. A licence text isn't one.
pub(crate) fn leading_comment(source: &SourceText, language: Language) -> Option<RawComment> {
    read_head(source, language).0
}

/// The last line of the comments at the top of a file, licence texts included; 0 without any.
pub(crate) fn head_end(source: &SourceText, language: Language) -> usize {
    read_head(source, language).1
}

fn read_head(source: &SourceText, language: Language) -> (Option<RawComment>, usize) {
    let mut line = 1;
    let mut end = 0;
    while line <= source.len().min(MAX_HEAD_LINES) {
        let text = source.line(line).trim();
        let is_skipped = text.is_empty() || text.starts_with("#!") || text.starts_with("# -*-") || text == "<?php";
        if is_skipped {
            line += 1;
            continue;
        }
        let found = if language == Language::PYTHON && quotes_of(source.line(line)).is_some() {
            docstring_at(source, line)
        } else {
            comment_from(source, line, language)
        };
        let Some(comment) = found else { break };
        (line, end) = (comment.last_line + 1, comment.last_line);
        let plain = comment.text.to_lowercase();
        let is_licence =
            ["copyright", "spdx", "licensed under", "license", "©", "eslint", "noinspection", "clang-format"];
        if !plain.trim().is_empty() && !is_licence.iter().any(|word| plain.contains(word)) {
            return (Some(comment), end);
        }
    }
    (None, end)
}

/// The comment that begins on a line.
fn comment_from(source: &SourceText, line: usize, language: Language) -> Option<RawComment> {
    let text = source.line(line).trim();
    let most = source.len().min(line + MAX_COMMENT_LINES);
    if text.starts_with("/*") {
        let last = (line..=most).find(|number| source.line(*number).contains("*/"))?;
        return Some(block_comment(source, line, last));
    }
    let marker = line_marker(text, language)?;
    let mut last = line;
    while last < most && line_marker(source.line(last + 1).trim(), language) == Some(marker) {
        last += 1;
    }
    Some(line_comments(source, line, last, marker))
}

/// The quotes that a line's docstring begins with, and what is in front of them.
fn quotes_of(line: &str) -> Option<&'static str> {
    let text = line.trim_start().trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']);
    ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| text.starts_with(quotes))
}

/// The docstring that begins on a line.
pub(super) fn docstring_at(source: &SourceText, line: usize) -> Option<RawComment> {
    let quotes = quotes_of(source.line(line))?;
    let raw = source.raw_lines(line, source.len().min(line + MAX_COMMENT_LINES));
    let start = raw.find(quotes)? + quotes.len();
    let inner = &raw[start..];
    let end = inner.find(quotes)?;
    let inner = &inner[..end];
    let last_line = line + inner.matches('\n').count();
    let (opening, rest) = inner.split_once('\n').unwrap_or((inner, ""));
    let rest: Vec<String> = rest.lines().map(str::to_owned).collect();
    Some(RawComment { text: joined(opening.trim(), &rest), first_line: line, last_line })
}

/// The text behind the sign that opens a comment, and the lines below. Whether an empty line divides them stays as it is.
fn joined(opening: &str, rest: &[String]) -> String {
    let below = dedented(rest);
    let gap = match rest.first() {
        _ if opening.is_empty() || below.is_empty() => "",
        Some(first) if first.trim().is_empty() => "\n\n",
        _ => "\n",
    };
    format!("{opening}{gap}{below}")
}

/// Lines without the indentation that all of them have, and without empty ones at the ends.
fn dedented(lines: &[String]) -> String {
    let expanded: Vec<String> = lines.iter().map(|line| line.trim_end().replace('\t', "    ")).collect();
    let indent = |line: &&String| line.len() - line.trim_start_matches(' ').len();
    let least = expanded.iter().filter(|line| !line.is_empty()).map(|line| indent(&line)).min().unwrap_or(0);
    let lines: Vec<&str> = expanded.iter().map(|line| line.get(least..).unwrap_or_default()).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |at| at + 1);
    lines[first..last.max(first)].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_of_a_comment_stay_apart() {
        for (text, language, expected) in [
            (
                "\"\"\"Sum.\n\n    More of\n    it.\n\n    End.\n    \"\"\"",
                Language::PYTHON,
                "Sum.\n\nMore of\nit.\n\nEnd.",
            ),
            ("\"\"\"Sum\n    of it.\n    \"\"\"", Language::PYTHON, "Sum\nof it."),
            ("\"\"\"\n\n    Sum.\n\n    End.\n    \"\"\"", Language::PYTHON, "Sum.\n\nEnd."),
            ("/** Sum.\n *\n * End.\n */", Language::TYPESCRIPT, "Sum.\n\nEnd."),
            ("/** Sum\n * of it. */", Language::TYPESCRIPT, "Sum\nof it."),
            ("/**\n * Sum.\n *\n * End.\n */", Language::JAVA, "Sum.\n\nEnd."),
        ] {
            let source = SourceText::new("f", text.to_owned());
            assert_eq!(leading_comment(&source, language).unwrap().text.trim_end(), expected, "{text}");
        }
    }
}
