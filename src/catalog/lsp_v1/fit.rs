//! Fitting answers to the byte cap: truncated hovers, and the hinted page size of a page that is too large.
//!
//! The form of a cursor is part of the contract (`docs/internals/reference/contract-lsp-v1.md#paging`), so its length is computed here;
//! `paging` makes the cursors. Invariants: a page of the hinted size from the same offset fits, and a page with one more entry doesn't; a
//! hover is truncated between code points, and no more than necessary.

use std::io;

use serde::Serialize;

use codeyard_base::base64url;
use codeyard_model::answer::{AnswerNotes, Page};
use codeyard_model::hover::{Hover, HoverFragment};

use super::payload::{Envelope, HoverPayload, Paged};
use super::summary::{self, Noun};

/// Bytes of a cursor's JSON besides the digits of its offset: braces, members' names, two keys of 64 digits, the version.
const CURSOR_FIXED_BYTES: usize = 154;

/// The largest number of entries from this page's start that fits into `cap` bytes; 0 if none does.
pub(super) fn page_size_that_fits<T: Serialize>(page: &Page<T>, noun: Noun, cap: usize) -> usize {
    let start = start_of(page);
    let mut items = 0;
    let mut fits = 0;
    for (index, item) in page.items.iter().enumerate() {
        items += json_bytes(item) + usize::from(index > 0);
        let size = index + 1;
        let end = start + size;
        let cursor = (end < page.total).then(|| "A".repeat(cursor_bytes(end)));
        let summary = summary::page(noun, size, page.total, cursor.is_some(), &page.notes);
        let empty = Paged::<()> { items: &[], next_cursor: cursor.as_deref(), summary };
        if items + json_bytes(&Envelope::of(&empty)) <= cap {
            fits = size;
        }
    }
    fits
}

/// `hover` with its last fragments truncated so that the payload fits into `cap` bytes; `None` if no text fits.
pub(super) fn hover_that_fits(hover: &Hover, notes: &AnswerNotes, cap: usize) -> Option<Hover> {
    let mut hover = hover.clone();
    while let Some(fragment) = hover.contents.pop() {
        hover.contents.push(HoverFragment { kind: fragment.kind, value: String::new() });
        let room = cap.checked_sub(hover_bytes(&hover, notes));
        hover.contents.pop();
        let value = room.map_or("", |room| prefix(&fragment.value, room));
        if !value.is_empty() {
            hover.contents.push(HoverFragment { kind: fragment.kind, value: value.into() });
            return Some(hover);
        }
        if !hover.contents.is_empty() && hover_bytes(&hover, notes) <= cap {
            return Some(hover);
        }
    }
    None
}

fn hover_bytes(hover: &Hover, notes: &AnswerNotes) -> usize {
    let summary = summary::hover(false, notes);
    json_bytes(&Envelope::of(&HoverPayload { contents: &hover.contents, range: hover.range, summary }))
}

/// The longest prefix of `text` that takes at most `room` bytes inside a JSON string.
fn prefix(text: &str, room: usize) -> &str {
    let mut left = room;
    let mut encoded = [0; 4];
    for (at, character) in text.char_indices() {
        // The two quotes don't count.
        let bytes = json_bytes(character.encode_utf8(&mut encoded)) - 2;
        if bytes > left {
            return &text[..at];
        }
        left -= bytes;
    }
    text
}

/// The offset of the page in the whole list: from the end of the list for a last page, from the cursor for others.
fn start_of<T>(page: &Page<T>) -> usize {
    #[derive(serde::Deserialize)]
    struct Offset {
        o: usize,
    }
    let cursor = page.next_cursor.as_deref().and_then(base64url::decode);
    let offset = cursor.and_then(|bytes| serde_json::from_slice(&bytes).ok()).map(|Offset { o }| o);
    offset.unwrap_or(page.total).saturating_sub(page.items.len())
}

fn cursor_bytes(offset: usize) -> usize {
    ((CURSOR_FIXED_BYTES + offset.to_string().len()) * 4).div_ceil(3)
}

/// The length of `value` as JSON, in bytes.
fn json_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut counter = Counter(0);
    // Counting never fails, and every value here serialises.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
