//! Text that a language server prints to its standard output between messages: where it ends.
//!
//! Only lines that begin with the name of a header of the base protocol begin a header block. The last line of a text may lack
//! its end; then a block is recognised that is nothing but a `Content-Length`, as nearly all servers write it.

use std::sync::atomic::Ordering::Relaxed;

use super::HEADER_ROOM;
use crate::client::counters::LiveCounters;

const LENGTH: &[u8] = b"content-length:";
const TYPE: &[u8] = b"content-type:";
const MAX_DIGITS: usize = "18446744073709551615".len();

/// A header block is recognised by so many bytes at most. Of text without one, the last ones may be the beginning of one.
pub(super) const UNDECIDED_BYTES: usize = HEADER_ROOM - 1;

/// Where the first header block of `text` begins. `is_line_start`: the text begins a line.
pub(super) fn find_header(text: &[u8], is_line_start: bool) -> Option<usize> {
    (0..text.len()).find(|&at| {
        let rest = &text[at..];
        matches!(rest[0], b'c' | b'C')
            && match begins_line(text, at, is_line_start) {
                true => after_name(rest, LENGTH).or_else(|| after_name(rest, TYPE)).is_some(),
                false => is_whole_block(rest),
            }
    })
}

/// Whether `text`, after which nothing comes, ends inside the name that begins a header block.
pub(super) fn ends_in_header(text: &[u8], is_line_start: bool) -> bool {
    let at = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let line = &text[at..];
    let is_cut = |name: &[u8]| name.get(..line.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(line));
    begins_line(text, at, is_line_start) && !line.is_empty() && (is_cut(LENGTH) || is_cut(TYPE))
}

fn begins_line(text: &[u8], at: usize, is_line_start: bool) -> bool {
    if at == 0 { is_line_start } else { text[at - 1] == b'\n' }
}

/// What follows the name and its colon.
fn after_name<'t>(text: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let (begin, rest) = text.split_at_checked(name.len())?;
    begin.eq_ignore_ascii_case(name).then_some(rest)
}

/// Whether `text` begins with `Content-Length`, a number and an empty line.
fn is_whole_block(text: &[u8]) -> bool {
    let Some(value) = after_name(text, LENGTH) else { return false };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=MAX_DIGITS).contains(&digits) && value[digits..].starts_with(b"\r\n\r\n")
}

/// Returns how much text was skipped since `before` was counted, and logs it if it is the first of the connection. The text itself
/// isn't logged: it may contain paths and lines of files.
pub(in crate::client) fn report(counters: &LiveCounters, before: u64, server: &str) -> usize {
    let bytes = counters.stray_bytes.load(Relaxed) - before;
    if before == 0 && bytes > 0 {
        tracing::warn!(server, bytes, "the language server prints text between its messages, which is skipped");
    }
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
