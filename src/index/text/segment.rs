//! A segment, opened: which contents it covers, and which of them may hold what a plan asks for.
//!
//! In memory are the numbers of its contents and a line for every 256 grams; all else is read when it is asked for. Invariants:
//! nothing is believed whose sum isn't right; whatever the file holds, the answer is right or an error.

use super::check::{damaged, sum};
use super::dictionary::{self, Block, Item};
use super::evaluate::Evaluation;
use super::footer::{Footer, LENGTH};
use super::grams::Gram;
use super::lists::{self, Rank};
use super::narrowed::Candidates;
use super::output::SegmentInfo;
use super::parts::Covered;
use super::plan::Plan;
use crate::ContentNo;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// See the module. Threads may share it.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    info: SegmentInfo,
    blocks: Vec<Block>,
    covered: Covered,
    lists_end: u64,
}

impl Segment {
    /// Opens the segment at `path`.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` for what isn't a whole segment of this format: its text says what to do.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let at = length.checked_sub(LENGTH as u64).ok_or_else(|| damaged("its end is missing"))?;
        let footer = Footer::from_bytes(&read(&file, at, LENGTH as u64)?, length)?;
        let table = read(&file, footer.table_at, footer.contents_at - footer.table_at)?;
        let contents = read(&file, footer.contents_at, at - footer.contents_at)?;
        if sum(&table) != footer.table_sum || sum(&contents) != footer.contents_sum {
            return Err(damaged("its tables"));
        }
        let blocks = dictionary::blocks(&table).ok_or_else(|| damaged("its tables"))?;
        let covered = Covered::decode(&contents, footer.contents).filter(|covered| covered.parts() == footer.parts);
        let covered = covered.ok_or_else(|| damaged("its tables"))?;
        let Footer { contents, parts, grams, pairs, .. } = footer;
        let info = SegmentInfo { contents, parts, grams, pairs, bytes: length };
        Ok(Self { file, info, blocks, covered, lists_end: footer.dictionary_at })
    }

    /// What it holds.
    #[cfg(test)]
    pub(crate) fn info(&self) -> SegmentInfo {
        self.info
    }

    /// The contents that it covers, ascending.
    pub(crate) fn contents(&self) -> &[ContentNo] {
        &self.covered.contents
    }

    /// Each part's content and its number there, by rank.
    pub(super) fn parts(&self) -> impl Iterator<Item = (ContentNo, u32)> {
        let of_one = |(at, content): (usize, &ContentNo)| {
            let (content, ranks) = (*content, self.covered.ranks(at));
            (0..ranks.end - ranks.start).map(move |part| (content, part))
        };
        self.covered.contents.iter().enumerate().flat_map(of_one)
    }

    /// Which of its contents may match.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` where the segment is damaged.
    pub(crate) fn candidates(&self, plan: &Plan) -> io::Result<Candidates> {
        let ranks = Evaluation::of(self).candidates(plan)?;
        Ok(ranks.map_or(Candidates::All, |ranks| Candidates::Some(self.covered.spans(&ranks))))
    }

    /// Reads everything and checks its sums.
    ///
    /// # Errors
    /// As [`Self::candidates`].
    pub(crate) fn verify(&self) -> io::Result<()> {
        let (mut ranks, mut grams, mut pairs) = (Vec::new(), 0, 0);
        for block in 0..self.blocks.len() {
            for item in self.block(block)? {
                ranks.clear();
                self.list(&item, &mut ranks)?;
                grams += 1;
                pairs += u64::from(item.count);
            }
        }
        let is_whole = grams == self.info.grams && pairs == self.info.pairs;
        if is_whole { Ok(()) } else { Err(damaged("its dictionary")) }
    }

    /// How many parts there are.
    pub(super) fn universe(&self) -> u32 {
        self.info.parts
    }

    /// How many blocks the dictionary has.
    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block that a gram would stand in.
    pub(super) fn block_of(&self, gram: Gram) -> Option<usize> {
        self.blocks.partition_point(|block| block.first <= gram).checked_sub(1)
    }

    /// What stands in this block.
    pub(super) fn block(&self, at: usize) -> io::Result<Vec<Item>> {
        let Some(block) = self.blocks.get(at) else { return Ok(Vec::new()) };
        block.items(&read(&self.file, block.at, u64::from(block.length))?)
    }

    /// Appends the ranks of the parts that have a gram.
    pub(super) fn list(&self, item: &Item, ranks: &mut Vec<Rank>) -> io::Result<()> {
        self.with_list(item, |bytes| lists::decode(bytes, item.count, self.universe(), ranks))
    }

    /// Keeps those of `ranks` that have a gram.
    pub(super) fn intersect(&self, item: &Item, ranks: &mut Vec<Rank>) -> io::Result<()> {
        self.with_list(item, |bytes| lists::intersect(bytes, item.count, self.universe(), ranks))
    }

    fn with_list(&self, item: &Item, take: impl FnOnce(&[u8]) -> Option<()>) -> io::Result<()> {
        let is_inside = item.at.checked_add(item.apart()).is_some_and(|end| end <= self.lists_end);
        if !is_inside || item.count > self.universe() {
            return Err(damaged("its dictionary"));
        }
        let taken = match item.short() {
            Some((bytes, length)) => take(&bytes[..length]),
            None => {
                let bytes = read(&self.file, item.at, u64::from(item.length))?;
                if sum(&bytes) == item.word { take(&bytes) } else { None }
            }
        };
        taken.ok_or_else(|| damaged("a list"))
    }
}

fn read(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged("its size"))?];
    match file.read_exact_at(&mut bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(damaged("it is cut short")),
        other => other.map(|()| bytes),
    }
}
