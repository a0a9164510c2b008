//! Parts of contents: the unit of the text index. A part is [`PART_BYTES`] long, so that a search reads only a piece of a large file.
//!
//! A part consists of the whole lines that begin in its range of bytes. Invariants: a line belongs to exactly one part. A content has
//! at least one part. Ranks number all parts of a segment, by ascending content and by position in the content.

use super::posting_lists::{PartRank, put_varint, take_varint};
use crate::ContentNo;
use std::ops::Range;

/// Bytes of a part. Smaller parts make posting lists longer; larger parts make searches read more. Tests and fuzz targets use small
/// parts to have many of them.
pub(super) const PART_BYTES: usize = if cfg!(any(test, fuzzing)) { 64 } else { 16 * 1024 };

/// The parts of one content from the first to the last candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartSpan {
    pub content: ContentNo,
    pub parts: Range<u32>,
    /// The number of parts of the content.
    pub of: u32,
}

/// Splits a text into parts.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    let count = text.len().div_ceil(PART_BYTES).max(1);
    let begins = |part: usize| line_from(text, part * PART_BYTES);
    (0..count).map(|part| text.get(begins(part)..begins(part + 1)).unwrap_or_default()).collect()
}

/// The offset of the first line that begins at or after `at`.
pub(super) fn line_from(text: &[u8], at: usize) -> usize {
    let Some(before) = at.checked_sub(1) else { return 0 };
    let rest = text.get(before..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |length| before + length + 1)
}

/// The contents of a segment and the ranks of their parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CoveredContents {
    /// Ascending.
    pub(super) contents: Vec<ContentNo>,
    /// For each content, the rank after its last part.
    ends: Vec<PartRank>,
}

impl CoveredContents {
    /// The contents of these parts, which are pairs of a content and a part number, ascending.
    pub(super) fn of(parts: &[(ContentNo, u32)]) -> Self {
        let mut covered = Self::default();
        let mut end = 0;
        for of_one in parts.chunk_by(|(one, _), (other, _)| one == other) {
            end += of_one.len() as u32;
            covered.contents.extend(of_one.first().map(|(content, _)| content));
            covered.ends.push(end);
        }
        covered
    }

    pub(super) fn parts(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The ranks of the parts of the content at this index.
    pub(super) fn ranks(&self, at: usize) -> Range<PartRank> {
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        begin..self.ends.get(at).copied().unwrap_or(begin)
    }

    /// Groups ascending ranks by content.
    pub(super) fn spans(&self, mut ranks: &[PartRank]) -> Vec<PartSpan> {
        let mut spans = Vec::new();
        let mut at = 0;
        while let Some(first) = ranks.first().copied() {
            at += self.ends.get(at..).unwrap_or_default().partition_point(|end| *end <= first);
            let (Some(content), Range { start, end }) = (self.contents.get(at), self.ranks(at)) else { break };
            let (ours, others) = ranks.split_at(ranks.partition_point(|rank| *rank < end));
            let last = ours.last().map_or(first, |last| *last);
            spans.push(PartSpan { content: *content, parts: first - start..last + 1 - start, of: end - start });
            ranks = others;
        }
        spans
    }

    /// Encodes the contents section.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut next = 0;
        for (at, content) in self.contents.iter().enumerate() {
            let ranks = self.ranks(at);
            put_varint(&mut bytes, u64::from(*content) - next);
            put_varint(&mut bytes, u64::from(ranks.end - ranks.start));
            next = u64::from(*content) + 1;
        }
        bytes
    }

    /// Decodes a contents section with `count` contents.
    pub(super) fn decode(mut bytes: &[u8], count: u32) -> Option<Self> {
        let mut covered = Self::default();
        let mut next = 0_u64;
        let mut end = 0_u64;
        for _ in 0..count {
            let content = next.checked_add(take_varint(&mut bytes)?)?;
            let parts = take_varint(&mut bytes).filter(|parts| *parts > 0)?;
            end = end.checked_add(parts)?;
            covered.contents.push(u32::try_from(content).ok()?);
            covered.ends.push(u32::try_from(end).ok()?);
            next = content + 1;
        }
        bytes.is_empty().then_some(covered)
    }
}
