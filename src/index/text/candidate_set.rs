//! The candidates of a search: contents that no segment excludes, and the pieces of large files that may have matches.
//!
//! Invariant: every matching line lies in a candidate's piece, as long as the contents are those that were indexed.

use super::content_parts::{PART_BYTES, PartSpan};
use super::plan::GramPlan;
use super::segment::Segment;
use crate::{ContentNo, ManifestEntry};
use std::io;

/// The contents of one segment that may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentCandidates {
    /// All its contents.
    All,
    /// These, ascending.
    Some(Vec<PartSpan>),
}

/// The candidates of all segments together.
#[derive(Debug, Clone, Default)]
pub(crate) struct CandidateSet {
    /// One bit for each content that has no match.
    excluded: Vec<u64>,
    /// The parts of other contents that may match, sorted by content; at most one span for each content.
    spans: Vec<PartSpan>,
}

/// A piece of a file: the lines that begin in a range of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePiece {
    /// The first byte at which a line of the piece may begin.
    pub from: u64,
    /// The end of the range, excluded.
    pub to: u64,
}

impl CandidateSet {
    /// Evaluates the plan on all segments.
    ///
    /// # Errors
    /// As [`Segment::candidates`].
    pub(crate) fn from_segments<'a>(
        segments: impl IntoIterator<Item = &'a Segment>,
        plan: &GramPlan,
    ) -> io::Result<Self> {
        let mut candidates = Self::default();
        for segment in segments {
            if let SegmentCandidates::Some(spans) = segment.candidates(plan)? {
                candidates.exclude(segment.contents(), &spans);
                candidates.spans.extend(spans);
            }
        }
        candidates.spans.sort_by_key(|span| span.content);
        candidates.spans.dedup_by_key(|span| span.content);
        Ok(candidates)
    }

    fn exclude(&mut self, covered: &[ContentNo], candidates: &[PartSpan]) {
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

    /// Whether a content may match: it is in no segment, or no segment excludes it.
    pub(crate) fn may_match(&self, content: ContentNo) -> bool {
        self.excluded.get(content as usize / 64).is_none_or(|word| word & (1 << (content % 64)) == 0)
    }

    /// The piece of a file that contains all its matches, if it is at most three quarters of the file.
    pub(crate) fn piece(&self, entry: &ManifestEntry) -> Option<FilePiece> {
        let span = &self.spans[self.spans.binary_search_by_key(&entry.content, |span| span.content).ok()?];
        let place = |part: u32| u64::from(part) * PART_BYTES as u64;
        // A file that isn't larger than its parts was indexed without decoding.
        let is_stored_verbatim = place(span.of) >= entry.size;
        let piece = FilePiece { from: place(span.parts.start), to: place(span.parts.end).min(entry.size) };
        let is_worth_it = (piece.to - piece.from.min(piece.to)) * 4 <= entry.size * 3;
        (is_stored_verbatim && is_worth_it).then_some(piece)
    }
}
