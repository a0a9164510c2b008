//! Several segments become one, without the texts.

use super::dictionary::Item;
use super::grams::Gram;
use super::lists::put_in_order;
use super::output::{Output, SegmentInfo};
use super::parts::Covered;
use super::segment::Segment;
use crate::ContentNo;
use std::io;
use std::path::Path;

/// Writes a segment at `path` that covers what `segments` cover and `keep` wants kept. It is the same, byte for byte, as one that was
/// made anew from the texts of these contents.
///
/// # Errors
/// Those of the file system; `InvalidData` where a segment is damaged. Nothing is left behind then.
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
        cursors.push(Cursor::new(segment, &parts)?);
    }
    let mut output = Output::create(path, &Covered::of(&parts))?;
    let (mut theirs, mut ranks) = (Vec::new(), Vec::new());
    while let Some(gram) = cursors.iter().filter_map(Cursor::gram).min() {
        ranks.clear();
        for cursor in cursors.iter_mut().filter(|cursor| cursor.gram() == Some(gram)) {
            theirs.clear();
            cursor.take(&mut theirs)?;
            ranks.extend(theirs.iter().filter_map(|rank| cursor.ranks.get(*rank as usize).copied().flatten()));
        }
        put_in_order(&mut ranks, parts.len() as u32);
        output.add(gram, &ranks)?;
    }
    output.finish()
}

/// Walks through one segment's dictionary.
struct Cursor<'a> {
    segment: &'a Segment,
    /// The new rank of each of its parts that is kept.
    ranks: Vec<Option<u32>>,
    /// Of the block at hand, the last first.
    items: Vec<Item>,
    next_block: usize,
}

impl<'a> Cursor<'a> {
    fn new(segment: &'a Segment, parts: &[(ContentNo, u32)]) -> io::Result<Self> {
        let rank = |part| parts.binary_search(&part).ok().map(|rank| rank as u32);
        let ranks = segment.parts().map(rank).collect();
        let mut cursor = Self { segment, ranks, items: Vec::new(), next_block: 0 };
        cursor.fill()?;
        Ok(cursor)
    }

    fn gram(&self) -> Option<Gram> {
        self.items.last().map(|item| item.gram)
    }

    fn take(&mut self, ranks: &mut Vec<u32>) -> io::Result<()> {
        if let Some(item) = self.items.pop() {
            self.segment.list(&item, ranks)?;
        }
        self.fill()
    }

    fn fill(&mut self) -> io::Result<()> {
        while self.items.is_empty() && self.next_block < self.segment.block_count() {
            self.items = self.segment.block(self.next_block)?;
            self.items.reverse();
            self.next_block += 1;
        }
        Ok(())
    }
}
