//! The parts of a README in a simple subset of reStructuredText.
//!
//! It knows titles, paragraphs, bullet lists, literal blocks and code; other directives are left out. Invariant: any text gives some list.

use super::{PartKind, ReadmePart};
use crate::product::doc_comment::{inline_markdown, rst_inline};
use crate::repository::product_sources::SourceText;

pub(super) fn parts(source: &SourceText) -> Vec<ReadmePart> {
    let mut parts = Vec::new();
    let mut rules: Vec<char> = Vec::new();
    let mut line = 1;
    while line <= source.len() {
        let text = source.line(line);
        let trimmed = text.trim();
        let indent = text.len() - text.trim_start().len();
        if trimmed.is_empty() || rule(trimmed).is_some() && is_overline(source, line) {
            line += 1;
        } else if let Some(sign) = rule(source.line(line + 1)).filter(|_| indent == 0 && rule(trimmed).is_none()) {
            let level = rules.iter().position(|known| *known == sign).unwrap_or_else(|| {
                rules.push(sign);
                rules.len() - 1
            });
            let level = u8::try_from(level + 1).unwrap_or(6).min(6);
            parts.push(part(PartKind::Heading(level), prose(trimmed), line, line));
            line += 2;
        } else if trimmed.starts_with("..") {
            line = directive(source, line, &mut parts);
        } else if is_item(trimmed) {
            line = item(source, line, indent, &mut parts);
        } else {
            line = paragraph(source, line, &mut parts);
        }
    }
    parts
}

fn part(kind: PartKind, text: String, first_line: usize, last_line: usize) -> ReadmePart {
    ReadmePart { kind, text, first_line, last_line }
}

fn prose(text: &str) -> String {
    // Substitutions, which badges use, stand for something else.
    let words =
        text.split_whitespace().filter(|word| !(word.len() > 2 && word.starts_with('|') && word.ends_with('|')));
    inline_markdown(&rst_inline(&words.collect::<Vec<_>>().join(" ")))
}

/// The sign of a line that consists of it.
fn rule(text: &str) -> Option<char> {
    let text = text.trim_end();
    let sign = text.chars().next().filter(char::is_ascii_punctuation)?;
    (text.len() >= 3 && text.chars().all(|c| c == sign)).then_some(sign)
}

/// Whether a rule belongs to the title below it, or is one by itself.
fn is_overline(source: &SourceText, line: usize) -> bool {
    let below = rule(source.line(line + 2));
    below == rule(source.line(line)) || source.line(line + 1).trim().is_empty()
}

fn is_item(text: &str) -> bool {
    ["- ", "* ", "+ ", "• "].iter().any(|marker| text.starts_with(marker))
}

fn indent_of(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The last line of the block below `line` that is more indented than `indent`.
fn block_end(source: &SourceText, line: usize, indent: usize) -> usize {
    let mut last = line;
    for number in line + 1..=source.len() {
        let text = source.line(number);
        if text.trim().is_empty() {
            continue;
        }
        if indent_of(text) <= indent {
            break;
        }
        last = number;
    }
    last
}

/// A directive; only code is taken. Returns the line after it.
fn directive(source: &SourceText, line: usize, parts: &mut Vec<ReadmePart>) -> usize {
    let text = source.line(line);
    let last = block_end(source, line, indent_of(text));
    let word = text.trim().trim_start_matches("..").trim();
    let code = word.split_once("::").filter(|(word, _)| matches!(*word, "code-block" | "code" | "sourcecode"));
    if let Some((_, language)) = code {
        let is_option = |number: &usize| {
            let text = source.line(*number).trim();
            text.is_empty() || text.starts_with(':') && text[1..].contains(':')
        };
        if let Some(first) = (line + 1..=last).find(|number| !is_option(number)) {
            push_code(source, language.trim().to_lowercase(), first, last, parts);
        }
    }
    last + 1
}

fn push_code(source: &SourceText, language: String, first: usize, last: usize, parts: &mut Vec<ReadmePart>) {
    let lines: Vec<&str> = (first..=last).map(|number| source.line(number)).collect();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
    let code: Vec<&str> = lines.iter().map(|line| line.get(least..).unwrap_or_default().trim_end()).collect();
    parts.push(part(PartKind::Code(language), code.join("\n"), first, last));
}

fn item(source: &SourceText, line: usize, indent: usize, parts: &mut Vec<ReadmePart>) -> usize {
    let mut text = source.line(line).trim().trim_start_matches(['-', '*', '+', '•']).trim().to_owned();
    let mut last = line;
    while last < source.len() {
        let next = source.line(last + 1);
        if next.trim().is_empty() || indent_of(next) <= indent || is_item(next.trim()) {
            break;
        }
        text.push(' ');
        text.push_str(next.trim());
        last += 1;
    }
    if text.len() <= super::MAX_PARAGRAPH_BYTES {
        parts.push(part(PartKind::Item(1 + indent / 2), prose(&text), line, last));
    }
    last + 1
}

/// A paragraph, and the literal block that it may introduce.
fn paragraph(source: &SourceText, line: usize, parts: &mut Vec<ReadmePart>) -> usize {
    let mut last = line;
    while last < source.len() && !source.line(last + 1).trim().is_empty() {
        last += 1;
    }
    let lines: Vec<&str> = (line..=last).map(|number| source.line(number).trim()).collect();
    let text = lines.join(" ");
    if text.len() > super::MAX_PARAGRAPH_BYTES {
        return last + 1;
    }
    let introduces = text.ends_with("::");
    let text = if introduces { &text[..text.len() - 1] } else { &text };
    if text != ":" {
        parts.push(part(PartKind::Paragraph, prose(text), line, last));
    }
    if !introduces {
        return last + 1;
    }
    let end = block_end(source, last, indent_of(source.line(line)));
    match (last + 1..=end).find(|number| !source.line(*number).trim().is_empty()) {
        Some(first) => {
            push_code(source, String::new(), first, end, parts);
            end + 1
        }
        None => last + 1,
    }
}
