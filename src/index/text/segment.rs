//! A segment, opened: which contents it covers, and which of them may hold what a plan asks for.
//!
//! In memory are the numbers of its contents and a line for every 256 trigrams; all else is read when it is asked for. Invariants:
//! nothing is believed whose sum isn't right; whatever the file holds, the answer is right or an error.

use super::check::{damaged, sum};
use super::dictionary::{self, Block, Item};
use super::evaluate::Evaluation;
use super::footer::{Footer, LENGTH};
use super::grams::Gram;
use super::lists::{self, Rank};
use super::output::SegmentInfo;
use super::plan::Plan;
use crate::index::ContentNo;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// See the module. Threads may share it.
#[derive(Debug)]
pub struct Segment {
    file: File,
    info: SegmentInfo,
    blocks: Vec<Block>,
    contents: Vec<ContentNo>,
    lists_end: u64,
}

/// Which contents of a segment may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidates {
    /// All that it covers.
    All,
    /// These, ascending.
    Some(Vec<ContentNo>),
}

impl Segment {
    /// Opens the segment at `path`.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` for what isn't a whole segment of this format: its text says what to do.
    pub fn open(path: &Path) -> io::Result<Self> {
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
        let contents = numbers(&contents, footer.contents).ok_or_else(|| damaged("its tables"))?;
        let info = SegmentInfo { contents: footer.contents, grams: footer.grams, pairs: footer.pairs, bytes: length };
        Ok(Self { file, info, blocks, contents, lists_end: footer.dictionary_at })
    }

    /// What it holds.
    pub fn info(&self) -> SegmentInfo {
        self.info
    }

    /// The contents that it covers, ascending.
    pub fn contents(&self) -> &[ContentNo] {
        &self.contents
    }

    /// Which of its contents may match.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` where the segment is damaged.
    pub fn candidates(&self, plan: &Plan) -> io::Result<Candidates> {
        let ranks = Evaluation::of(self).candidates(plan)?;
        Ok(match ranks {
            None => Candidates::All,
            Some(ranks) => {
                let numbers = ranks.iter().filter_map(|rank| self.contents.get(*rank as usize).copied());
                Candidates::Some(numbers.collect())
            }
        })
    }

    /// Reads everything and checks its sums.
    ///
    /// # Errors
    /// As [`Self::candidates`].
    pub fn verify(&self) -> io::Result<()> {
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

    /// How many contents there are.
    pub(super) fn universe(&self) -> u32 {
        self.info.contents
    }

    /// How many blocks the dictionary has.
    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block that a trigram would stand in.
    pub(super) fn block_of(&self, gram: Gram) -> Option<usize> {
        self.blocks.partition_point(|block| block.first <= gram).checked_sub(1)
    }

    /// What stands in this block.
    pub(super) fn block(&self, at: usize) -> io::Result<Vec<Item>> {
        let Some(block) = self.blocks.get(at) else { return Ok(Vec::new()) };
        block.items(&read(&self.file, block.at, u64::from(block.length))?)
    }

    /// Appends the ranks of the contents that have a trigram.
    pub(super) fn list(&self, item: &Item, ranks: &mut Vec<Rank>) -> io::Result<()> {
        let bytes = self.list_bytes(item)?;
        lists::decode(&bytes, item.count, self.universe(), ranks).ok_or_else(|| damaged("a list"))
    }

    /// Keeps those of `ranks` that have a trigram.
    pub(super) fn intersect(&self, item: &Item, ranks: &mut Vec<Rank>) -> io::Result<()> {
        let bytes = self.list_bytes(item)?;
        lists::intersect(&bytes, item.count, self.universe(), ranks).ok_or_else(|| damaged("a list"))
    }

    fn list_bytes(&self, item: &Item) -> io::Result<Vec<u8>> {
        let is_inside = item.at.checked_add(u64::from(item.length)).is_some_and(|end| end <= self.lists_end);
        if !is_inside || item.count > self.universe() {
            return Err(damaged("its dictionary"));
        }
        let bytes = read(&self.file, item.at, u64::from(item.length))?;
        if sum(&bytes) == item.sum { Ok(bytes) } else { Err(damaged("a list")) }
    }
}

fn read(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged("its size"))?];
    match file.read_exact_at(&mut bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(damaged("it is cut short")),
        other => other.map(|()| bytes),
    }
}

/// So many ascending numbers.
fn numbers(mut bytes: &[u8], count: u32) -> Option<Vec<ContentNo>> {
    let mut numbers = Vec::with_capacity(bytes.len().min(count as usize));
    let mut next = 0_u64;
    for _ in 0..count {
        let number = next.checked_add(lists::take(&mut bytes)?)?;
        numbers.push(u32::try_from(number).ok()?);
        next = number + 1;
    }
    bytes.is_empty().then_some(numbers)
}

/// Which contents need not be looked at, by all segments together.
#[derive(Debug, Clone, Default)]
pub struct Narrowed {
    /// One bit for each content that certainly has no match.
    excluded: Vec<u64>,
}

impl Narrowed {
    /// Asks all segments.
    ///
    /// # Errors
    /// As [`Segment::candidates`].
    pub fn by<'a>(segments: impl IntoIterator<Item = &'a Segment>, plan: &Plan) -> io::Result<Self> {
        let mut narrowed = Self::default();
        for segment in segments {
            if let Candidates::Some(candidates) = segment.candidates(plan)? {
                narrowed.exclude(segment.contents(), &candidates);
            }
        }
        Ok(narrowed)
    }

    fn exclude(&mut self, covered: &[ContentNo], candidates: &[ContentNo]) {
        let words = covered.last().map_or(0, |last| *last as usize / 64 + 1);
        if self.excluded.len() < words {
            self.excluded.resize(words, 0);
        }
        let mut candidates = candidates.iter().peekable();
        for content in covered {
            if candidates.next_if_eq(&content).is_none() {
                self.excluded[*content as usize / 64] |= 1 << (content % 64);
            }
        }
    }

    /// Whether a content may match: it isn't in any segment, or no segment excludes it.
    pub fn may_match(&self, content: ContentNo) -> bool {
        self.excluded.get(content as usize / 64).is_none_or(|word| word & (1 << (content % 64)) == 0)
    }
}
