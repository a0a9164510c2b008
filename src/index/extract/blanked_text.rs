//! A source with blanks in the places that a grammar can't read.
//!
//! Invariants: lengths and line breaks stay, so positions in the text are those of the source; nothing is copied until something is blanked.
//! Callers blank whole characters.

use std::borrow::Cow;
use std::ops::Range;

/// A source and its blanked copy.
pub(super) struct BlankedText<'a> {
    pub(super) source: &'a str,
    /// `None` until something is blanked.
    copy: Option<Vec<u8>>,
}

impl<'a> BlankedText<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, copy: None }
    }

    /// Overwrites a range with blanks and keeps line breaks.
    pub(super) fn blank(&mut self, range: Range<usize>) {
        for byte in self.bytes(range) {
            if !matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }

    /// Writes over the bytes at this place.
    pub(super) fn put(&mut self, at: usize, text: &str) {
        for (byte, new) in self.bytes(at..at + text.len()).iter_mut().zip(text.bytes()) {
            *byte = new;
        }
    }

    fn bytes(&mut self, range: Range<usize>) -> &mut [u8] {
        let copy = self.copy.get_or_insert_with(|| self.source.as_bytes().to_vec());
        copy.get_mut(range).unwrap_or_default()
    }

    /// The blanked text; the source if nothing was blanked.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self.copy.map(String::from_utf8) {
            Some(Ok(copy)) => Cow::Owned(copy),
            _ => Cow::Borrowed(self.source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_line_breaks_stay() {
        let mut text = BlankedText::new("é a\r\nb c\n");
        text.blank(0..7);
        text.put(3, "x");
        text.blank(90..99);
        assert_eq!(text.into_text(), "   x\r\n  c\n");
        assert!(matches!(BlankedText::new("a").into_text(), Cow::Borrowed("a")));
    }
}
