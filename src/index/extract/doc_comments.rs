//! The comments directly above a symbol.

use super::captures::ByteSpan;
use super::names::slice;
use super::source_text;

/// The most consecutive comments that document one symbol.
const MAX_COMMENTS: usize = 200;

/// Finds the comments above symbols.
pub(super) struct DocComments<'a> {
    source: &'a str,
    /// The text that was parsed: the source with some bytes blanked.
    parsed_text: &'a str,
    /// All comments, and attributes where the flag is `true`, sorted.
    comments: &'a [(ByteSpan, bool)],
    /// Where the last symbol begins, and its comment. `int a, b, c;` are many symbols that begin at one place.
    last: Option<(u32, String)>,
}

impl<'a> DocComments<'a> {
    pub(super) fn new(source: &'a str, parsed_text: &'a str, comments: &'a [(ByteSpan, bool)]) -> Self {
        Self { source, parsed_text, comments, last: None }
    }

    /// The text of the comments directly above `start`.
    pub(super) fn before(&mut self, start: u32) -> String {
        if let Some((at, text)) = &self.last
            && *at == start
        {
            return text.clone();
        }
        let text = self.read_before(start);
        self.last = Some((start, text.clone()));
        text
    }

    fn read_before(&self, start: u32) -> String {
        let comments = self.comments;
        let bytes = self.source.as_bytes();
        let mut at = comments.partition_point(|(span, _)| span.start < start);
        let mut edge = start as usize;
        let mut texts = Vec::new();
        while at > 0 && texts.len() < MAX_COMMENTS {
            at -= 1;
            let (span, is_attribute) = comments[at];
            let text = slice(self.source, span).trim_end();
            let end = span.start as usize + text.len();
            // Blanked macros belong to the declaration, so they don't separate it from its comment.
            let (Some(gap), Some(blanked)) = (self.source.get(end..edge), self.parsed_text.get(end..edge)) else {
                break;
            };
            // Stops at the first character that isn't blank: the gap to the comment may be very long.
            if !blanked.chars().all(char::is_whitespace) {
                break;
            }
            // The whole lines of the gap lie between its first and its last line break.
            let within = gap.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n'));
            let has_empty_line = within.is_some_and(|(lines, _)| lines.split('\n').any(|line| line.trim().is_empty()));
            let line = bytes[..span.start as usize].iter().rev().take_while(|byte| **byte != b'\n');
            // A comment after code on the same line belongs to that code.
            if has_empty_line || !line.clone().all(u8::is_ascii_whitespace) {
                break;
            }
            if !is_attribute && !text.starts_with("//!") && !text.starts_with("#!") {
                texts.push(text);
            }
            edge = span.start as usize;
        }
        source_text::comments(texts.into_iter().rev())
    }
}
