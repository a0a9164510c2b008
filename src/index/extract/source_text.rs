//! Texts taken from the source: markers, comments, and UTF-16 columns.
//!
//! Pure functions. For any input, they cut at character boundaries and read a bounded part of it.

use crate::facts::{MAX_DOC, MAX_SIGNATURE};

/// Bytes of the source that are read for one signature. [`MAX_SIGNATURE`] applies after blanks are joined.
pub(super) const SIGNATURE_SOURCE_BYTES: usize = 4 * MAX_SIGNATURE;

/// The last character boundary up to `bytes`.
pub(super) fn boundary(text: &str, bytes: usize) -> usize {
    let at = bytes.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first `bytes` of `text`, cut at a character boundary.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..boundary(text, bytes)]
}

/// `text` on one line, with runs of blanks joined, cut to `bytes`.
pub(super) fn one_line(text: &str, bytes: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > bytes {
            let end = boundary(&line, bytes);
            line.truncate(end);
            break;
        }
    }
    line
}

/// `text` without its leading attributes, annotations, decorators and comments.
pub(super) fn without_attributes(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(inner) = rest.strip_prefix("/*") {
            inner.split_once("*/").map(|(_, after)| after)
        } else if rest.starts_with("//") {
            rest.split_once('\n').map(|(_, after)| after)
        } else if let Some(inner) = rest.strip_prefix("#[").or_else(|| rest.strip_prefix('[')) {
            closed(inner, b'[', b']').filter(|after| after.starts_with(char::is_whitespace))
        } else if rest.starts_with('@') && rest[1..].starts_with(char::is_alphabetic) && !rest.starts_with("@interface")
        {
            let name = rest[1..].find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | ':'));
            let after = name.map(|name| &rest[1 + name..]);
            after.map(|after| after.strip_prefix('(').and_then(|inner| closed(inner, b'(', b')')).unwrap_or(after))
        } else {
            None
        };
        match after {
            Some(after) if !after.trim_start().is_empty() => rest = after.trim_start(),
            _ => return rest,
        }
    }
}

/// The text after the bracket that closes the one before `inner`.
fn closed(inner: &str, open: u8, close: u8) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, byte) in inner.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return inner.get(at + 1..);
            }
        }
    }
    None
}

/// The words of `known` (separated by blanks) that `head` begins with, each with the brackets that directly follow it.
pub(super) fn marker(head: &str, known: &str) -> String {
    let mut marker = String::new();
    let mut rest = without_attributes(cut(head, SIGNATURE_SOURCE_BYTES));
    loop {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 || !known.split(' ').any(|word| *word == rest[..end]) {
            return marker;
        }
        let mut word_end = end;
        for (open, close) in [('(', b')'), ('[', b']')] {
            if let Some(inner) = rest[end..].strip_prefix(open)
                && let Some(after) = closed(inner, open as u8, close)
            {
                word_end = rest.len() - after.len();
            }
        }
        if !marker.is_empty() {
            marker.push(' ');
        }
        marker.push_str(&one_line(&rest[..word_end], 100));
        rest = without_attributes(rest[word_end..].trim_start());
    }
}

/// The text of comments, one after the other, without comment markers.
pub(super) fn comments<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for text in texts {
        let text = text.trim();
        let block = block_text(text);
        for line in block.unwrap_or(text).lines() {
            let line = match block {
                Some(_) => line.trim_start().trim_start_matches('*'),
                None => without_comment_marker(line.trim()),
            };
            push_line(&mut out, line);
            if out.len() > MAX_DOC {
                return cut(out.trim_end(), MAX_DOC).to_owned();
            }
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// What delimits a comment of several lines. A string above a declaration is its documentation in Julia.
const BLOCKS: [(&str, &str); 7] =
    [("--[[", "]]"), ("#[[", "]]"), ("(*", "*)"), ("{-", "-}"), ("#=", "=#"), ("\"\"\"", "\"\"\""), ("\"", "\"")];

/// The text inside a comment or a string of several lines; `None` for comments of single lines.
fn block_text(text: &str) -> Option<&str> {
    if text.starts_with("/*") {
        let inner = text.trim_start_matches('/').trim_start_matches(['*', '!']);
        return Some(inner.trim_end_matches('/').trim_end_matches('*'));
    }
    // Documentation of Elixir.
    let text = ["@doc ", "@typedoc "].into_iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let text = text.strip_prefix("~S").unwrap_or(text);
    let (inner, close) = BLOCKS.into_iter().find_map(|(open, close)| Some((text.strip_prefix(open)?, close)))?;
    let inner = inner.strip_suffix(close).unwrap_or(inner);
    Some(inner.trim_start_matches('*').trim_start_matches('|').trim_end_matches('*'))
}

/// A line of a comment without what marks it as one. Haskell marks documentation with a `|`, R with a `'`.
fn without_comment_marker(line: &str) -> &str {
    if let Some(text) = line.strip_prefix("--") {
        let text = text.trim_start_matches('-');
        return text.strip_prefix(" |").or_else(|| text.strip_prefix(" ^")).unwrap_or(text);
    }
    if let Some(text) = line.strip_prefix("#'") {
        return text;
    }
    line.trim_start_matches(['/', '#', '%']).trim_start_matches('!')
}

/// The text of a docstring, without quotes and indentation.
pub(super) fn docstring(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| text.starts_with(quotes)).unwrap_or("");
    let inner = text.strip_prefix(quotes).unwrap_or(text);
    let inner = inner.strip_suffix(quotes).unwrap_or(inner);
    let mut out = String::new();
    for line in inner.lines() {
        push_line(&mut out, line);
        if out.len() > MAX_DOC {
            break;
        }
    }
    cut(out.trim_end(), MAX_DOC).trim_end().to_owned()
}

fn push_line(out: &mut String, line: &str) {
    let line = line.trim();
    // No empty line at the beginning, and no two in a row.
    if line.is_empty() && (out.is_empty() || out.ends_with("\n\n")) {
        return;
    }
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(if line.is_empty() { "\n" } else { line });
}

/// Converts byte columns to UTF-16 columns. Cheap in any order: it counts from the nearest checkpoint.
pub(super) struct Utf16Columns<'a> {
    source: &'a [u8],
    /// The UTF-16 units before every [`CHECKPOINT_BYTES`] bytes of the source; empty if it is ASCII.
    checkpoints: Vec<u32>,
}

/// Bytes between two checkpoints.
const CHECKPOINT_BYTES: usize = 256;

impl<'a> Utf16Columns<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        let is_ascii = source.is_ascii();
        let source = source.as_bytes();
        let parts = source.chunks(CHECKPOINT_BYTES).take_while(|_| !is_ascii);
        let checkpoints = parts.scan(0, |units, part| Some(std::mem::replace(units, *units + utf16_units(part))));
        Self { source, checkpoints: checkpoints.collect() }
    }

    /// The UTF-16 column of the byte at offset `at`, whose byte column is `column`.
    pub(super) fn of(&self, at: u32, column: u32) -> u32 {
        if self.checkpoints.is_empty() {
            return column;
        }
        let at = at as usize;
        let column = column as usize;
        let line = at.saturating_sub(column);
        if column <= CHECKPOINT_BYTES {
            return utf16_units(self.source.get(line..at).unwrap_or_default());
        }
        self.units_before(at) - self.units_before(line)
    }

    /// The UTF-16 units before this offset.
    fn units_before(&self, at: usize) -> u32 {
        let part = (at / CHECKPOINT_BYTES).min(self.checkpoints.len() - 1);
        self.checkpoints[part] + utf16_units(self.source.get(part * CHECKPOINT_BYTES..at).unwrap_or_default())
    }
}

/// The UTF-16 units of these bytes. Each character counts at its first byte, and twice beyond the basic multilingual plane.
fn utf16_units(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| u32::from(byte & 0xC0 != 0x80) + u32::from(*byte >= 0xF0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_the_leading_words() {
        let known = "pub public static private";
        assert_eq!(marker("pub(crate) fn x", known), "pub(crate)");
        assert_eq!(marker("@A(\"x\")\n@B public /* so */ static final int x", known), "public static");
        assert_eq!(marker("[Attr(1)] private[this] val x", known), "private[this]");
        assert_eq!(marker("publicity()", known), "");
        assert_eq!(marker("pub(", known), "pub");
    }

    #[test]
    fn comment_markers_are_removed() {
        let of = |texts: &[&str]| comments(texts.iter().copied());
        assert_eq!(of(&["/// One.\n", "///", "/// Two."]), "One.\n\nTwo.");
        assert_eq!(of(&["/**\n * One.\n *\n *\n * Two.\n */"]), "One.\n\nTwo.");
        assert_eq!(of(&["# One", "#"]), "One");
        assert_eq!(of(&["/***/", "//"]), "");
        assert!(of(&[&format!("// {}", "é".repeat(5_000))]).len() <= MAX_DOC);
        assert_eq!(docstring("r\"\"\"One.\n\n    Two.\n    \"\"\""), "One.\n\nTwo.");
        assert_eq!(docstring("'x'"), "x");
    }

    #[test]
    fn columns_count_utf16_units() {
        let source = "aä😀b c\näx";
        let columns = Utf16Columns::new(source);
        assert_eq!(columns.of(7, 7), 4);
        assert_eq!(columns.of(9, 9), 6);
        assert_eq!(columns.of(1, 1), 1);
        assert_eq!(columns.of(13, 2), 1);
        let long = format!("x\n{}", "ä😀b".repeat(1_000));
        let columns = Utf16Columns::new(&long);
        for count in [0, 1, 36, 37, 500, 999] {
            assert_eq!(columns.of(2 + 7 * count, 7 * count), 4 * count);
            assert_eq!(columns.of(4 + 7 * count, 7 * count + 2), 4 * count + 1);
        }
    }
}
