//! Merges segments without reading the texts again.

use super::content_parts::CoveredContents;
use super::dictionary::DictionaryEntry;
use super::grams::Gram;
use super::output::{SegmentInfo, SegmentOutput};
use super::posting_lists::sort_and_dedup;
use super::segment::Segment;
use crate::ContentNo;
use std::io;
use std::path::Path;

/// Writes a segment at `path` with the contents of `segments` for which `keep` is true. Its bytes equal those of a segment written
/// from the texts of these contents.
///
/// # Errors
/// Those of the file system; `InvalidData` if a segment is damaged. No file is left behind then.
pub(crate) fn merge(segments: &[&Segment], keep: &dyn Fn(ContentNo) -> bool, path: &Path) -> io::Result<SegmentInfo> {
    let kept = |segment: &&Segment| -> Vec<(ContentNo, u32)> {
        let parts = segment.parts();
        parts.filter(|(content, _)| keep(*content)).collect()
    };
    let mut parts: Vec<(ContentNo, u32)> = segments.iter().flat_map(kept).collect();
    parts.sort_unstable();
    parts.dedup();
    let mut cursors = Vec::with_capacity(segments.len());
    for segment in segments {
        cursors.push(SegmentCursor::new(segment, &parts)?);
    }
    let mut output = SegmentOutput::create(path, &CoveredContents::of(&parts))?;
    let mut old_ranks = Vec::new();
    let mut ranks = Vec::new();
    while let Some(gram) = cursors.iter().filter_map(SegmentCursor::gram).min() {
        ranks.clear();
        for cursor in cursors.iter_mut().filter(|cursor| cursor.gram() == Some(gram)) {
            old_ranks.clear();
            cursor.take_varint(&mut old_ranks)?;
            ranks.extend(old_ranks.iter().filter_map(|rank| cursor.ranks.get(*rank as usize).copied().flatten()));
        }
        sort_and_dedup(&mut ranks, parts.len() as u32);
        output.add(gram, &ranks)?;
    }
    output.finish()
}

/// Iterates over one segment's dictionary.
struct SegmentCursor<'a> {
    segment: &'a Segment,
    /// The new rank of each part; `None` for a dropped part.
    ranks: Vec<Option<u32>>,
    /// The remaining entries of the current block in reverse order.
    entries: Vec<DictionaryEntry>,
    next_block: usize,
}

impl<'a> SegmentCursor<'a> {
    fn new(segment: &'a Segment, parts: &[(ContentNo, u32)]) -> io::Result<Self> {
        let rank = |part| parts.binary_search(&part).ok().map(|rank| rank as u32);
        let ranks = segment.parts().map(rank).collect();
        let mut cursor = Self { segment, ranks, entries: Vec::new(), next_block: 0 };
        cursor.fill()?;
        Ok(cursor)
    }

    fn gram(&self) -> Option<Gram> {
        self.entries.last().map(|entry| entry.gram)
    }

    fn take_varint(&mut self, ranks: &mut Vec<u32>) -> io::Result<()> {
        if let Some(entry) = self.entries.pop() {
            self.segment.list(&entry, ranks)?;
        }
        self.fill()
    }

    fn fill(&mut self) -> io::Result<()> {
        while self.entries.is_empty() && self.next_block < self.segment.block_count() {
            self.entries = self.segment.block(self.next_block)?;
            self.entries.reverse();
            self.next_block += 1;
        }
        Ok(())
    }
}
