//! What is left of a question's contents: which need not be looked at, and of the others which piece.
//!
//! Invariant: no line that matches lies outside of what is left, as long as the contents are what was indexed.

use super::parts::{PART_BYTES, Span};
use super::plan::Plan;
use super::segment::Segment;
use crate::{ContentNo, Entry};
use std::io;

/// Which contents of a segment may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// All that it covers.
    All,
    /// These, ascending.
    Some(Vec<Span>),
}

/// Which contents need not be looked at, by all segments together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Narrowed {
    /// One bit for each content that certainly has no match.
    excluded: Vec<u64>,
    /// Where others may have one; by content, one for each.
    spans: Vec<Span>,
}

/// A piece of a file: the lines that begin from the one byte up to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first byte in which a line of it may begin.
    pub from: u64,
    /// Behind the last one.
    pub to: u64,
}

impl Narrowed {
    /// Asks all segments.
    ///
    /// # Errors
    /// As [`Segment::candidates`].
    pub(crate) fn by<'a>(segments: impl IntoIterator<Item = &'a Segment>, plan: &Plan) -> io::Result<Self> {
        let mut narrowed = Self::default();
        for segment in segments {
            if let Candidates::Some(candidates) = segment.candidates(plan)? {
                narrowed.exclude(segment.contents(), &candidates);
                narrowed.spans.extend(candidates);
            }
        }
        narrowed.spans.sort_by_key(|span| span.content);
        narrowed.spans.dedup_by_key(|span| span.content);
        Ok(narrowed)
    }

    fn exclude(&mut self, covered: &[ContentNo], candidates: &[Span]) {
        let words = covered.last().map_or(0, |last| *last as usize / 64 + 1);
        if self.excluded.len() < words {
            self.excluded.resize(words, 0);
        }
        let mut candidates = candidates.iter().peekable();
        for content in covered {
            if candidates.next_if(|span| span.content == *content).is_none() {
                self.excluded[*content as usize / 64] |= 1 << (content % 64);
            }
        }
    }

    /// Whether a content may match: it isn't in any segment, or no segment excludes it.
    pub(crate) fn may_match(&self, content: ContentNo) -> bool {
        self.excluded.get(content as usize / 64).is_none_or(|word| word & (1 << (content % 64)) == 0)
    }

    /// The piece of a file in which all its matches are, if that is much less than the file.
    pub(crate) fn piece(&self, entry: &Entry) -> Option<Piece> {
        let span = &self.spans[self.spans.binary_search_by_key(&entry.content, |span| span.content).ok()?];
        let place = |part: u32| u64::from(part) * PART_BYTES as u64;
        // One that is no longer than its parts was indexed as it lies there.
        let is_as_it_lies = place(span.of) >= entry.size;
        let piece = Piece { from: place(span.parts.start), to: place(span.parts.end).min(entry.size) };
        let is_worth_it = (piece.to - piece.from.min(piece.to)) * 4 <= entry.size * 3;
        (is_as_it_lies && is_worth_it).then_some(piece)
    }
}
