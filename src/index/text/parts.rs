//! Parts: what is indexed of a content are pieces of [`PART_BYTES`], so that of a large file only a piece has to be read.
//!
//! A part holds whole lines: those that begin in its piece. Invariants: a line belongs to exactly one part; a content has at least one
//! part; ranks number the parts of all contents of a segment, the contents ascending, and within each from its beginning.

use super::lists::{Rank, put, take};
use crate::ContentNo;
use std::ops::Range;

/// Bytes of a piece. With fewer there are more parts that have the same gram; with more, more is read. Tests are to have many parts.
pub(super) const PART_BYTES: usize = if cfg!(test) { 64 } else { 16 * 1024 };

/// Parts of one content that are left to look at, and those between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// The content.
    pub content: ContentNo,
    /// From the first of them to behind the last.
    pub parts: Range<u32>,
    /// How many it has.
    pub of: u32,
}

/// The parts of a text.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    let count = text.len().div_ceil(PART_BYTES).max(1);
    let begins = |part: usize| line_from(text, part * PART_BYTES);
    (0..count).map(|part| text.get(begins(part)..begins(part + 1)).unwrap_or_default()).collect()
}

/// Where the first line begins that doesn't begin before `at`.
pub(super) fn line_from(text: &[u8], at: usize) -> usize {
    let Some(before) = at.checked_sub(1) else { return 0 };
    let rest = text.get(before..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |length| before + length + 1)
}

/// The contents of a segment, and their parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Covered {
    /// Ascending.
    pub(super) contents: Vec<ContentNo>,
    /// Behind the last part of each.
    ends: Vec<Rank>,
}

impl Covered {
    /// Those of these parts, each with its content and its number there, ascending.
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

    /// How many parts there are.
    pub(super) fn parts(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The ranks of the parts of the content at this place.
    pub(super) fn ranks(&self, at: usize) -> Range<Rank> {
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        begin..self.ends.get(at).copied().unwrap_or(begin)
    }

    /// Which contents these ascending ranks belong to.
    pub(super) fn spans(&self, mut ranks: &[Rank]) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut at = 0;
        while let Some(first) = ranks.first().copied() {
            at += self.ends.get(at..).unwrap_or_default().partition_point(|end| *end <= first);
            let (Some(content), Range { start, end }) = (self.contents.get(at), self.ranks(at)) else { break };
            let (ours, others) = ranks.split_at(ranks.partition_point(|rank| *rank < end));
            let last = ours.last().map_or(first, |last| *last);
            spans.push(Span { content: *content, parts: first - start..last + 1 - start, of: end - start });
            ranks = others;
        }
        spans
    }

    /// As bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut next = 0;
        for (at, content) in self.contents.iter().enumerate() {
            let ranks = self.ranks(at);
            put(&mut bytes, u64::from(*content) - next);
            put(&mut bytes, u64::from(ranks.end - ranks.start));
            next = u64::from(*content) + 1;
        }
        bytes
    }

    /// So many contents, read back.
    pub(super) fn decode(mut bytes: &[u8], count: u32) -> Option<Self> {
        let mut covered = Self::default();
        let (mut next, mut end) = (0_u64, 0_u64);
        for _ in 0..count {
            let content = next.checked_add(take(&mut bytes)?)?;
            let parts = take(&mut bytes).filter(|parts| *parts > 0)?;
            end = end.checked_add(parts)?;
            covered.contents.push(u32::try_from(content).ok()?);
            covered.ends.push(u32::try_from(end).ok()?);
            next = content + 1;
        }
        bytes.is_empty().then_some(covered)
    }
}
