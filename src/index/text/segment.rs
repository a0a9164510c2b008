//! An open segment: its contents, and the evaluation of plans on it.
//!
//! Memory holds the content numbers and one row for every 256 grams. Dictionary blocks and posting lists are read from the file when
//! they are needed, without a memory map. Invariants: no section is used before its checksum was verified. Whatever the file contains,
//! the result is right or an error.

use super::candidate_set::SegmentCandidates;
use super::checksum::{checksum, damaged};
use super::content_parts::CoveredContents;
use super::dictionary::{self, DictionaryBlock, DictionaryEntry};
use super::evaluation::Evaluation;
use super::footer::{FOOTER_BYTES, Footer};
use super::grams::Gram;
use super::output::SegmentInfo;
use super::plan::GramPlan;
use super::posting_lists::{self, PartRank};
use crate::ContentNo;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open segment file. Threads may share it.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    info: SegmentInfo,
    blocks: Vec<DictionaryBlock>,
    covered: CoveredContents,
    lists_end: u64,
}

impl Segment {
    /// Opens the segment at `path`.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` if the file isn't a whole segment of this format. Its text names the command to run.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::of_file(File::open(path)?)
    }

    /// Opens the segment that `file` contains.
    pub(super) fn of_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let at = length.checked_sub(FOOTER_BYTES as u64).ok_or_else(|| damaged("its end is missing"))?;
        let footer = Footer::from_bytes(&read(&file, at, FOOTER_BYTES as u64)?, length)?;
        let table = read(&file, footer.table_at, footer.contents_at - footer.table_at)?;
        let contents = read(&file, footer.contents_at, at - footer.contents_at)?;
        if checksum(&table) != footer.table_checksum || checksum(&contents) != footer.contents_checksum {
            return Err(damaged("its tables"));
        }
        let blocks = dictionary::blocks(&table, footer.dictionary_at..footer.table_at);
        let blocks = blocks.ok_or_else(|| damaged("its tables"))?;
        let covered =
            CoveredContents::decode(&contents, footer.contents).filter(|covered| covered.parts() == footer.parts);
        let covered = covered.ok_or_else(|| damaged("its tables"))?;
        let Footer { contents, parts, grams, pairs, .. } = footer;
        let info = SegmentInfo { contents, parts, grams, pairs, bytes: length };
        Ok(Self { file, info, blocks, covered, lists_end: footer.dictionary_at })
    }

    /// Its counts and size.
    #[cfg(test)]
    pub(crate) fn info(&self) -> SegmentInfo {
        self.info
    }

    /// Its contents, ascending.
    pub(crate) fn contents(&self) -> &[ContentNo] {
        &self.covered.contents
    }

    /// The content and the part number of each part, by rank.
    pub(super) fn parts(&self) -> impl Iterator<Item = (ContentNo, u32)> {
        let of_one = |(at, content): (usize, &ContentNo)| {
            let content = *content;
            let ranks = self.covered.ranks(at);
            (0..ranks.end - ranks.start).map(move |part| (content, part))
        };
        self.covered.contents.iter().enumerate().flat_map(of_one)
    }

    /// Its contents that may match.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` if the segment is damaged.
    pub(crate) fn candidates(&self, plan: &GramPlan) -> io::Result<SegmentCandidates> {
        let ranks = Evaluation::of(self).candidates(plan)?;
        Ok(ranks.map_or(SegmentCandidates::All, |ranks| SegmentCandidates::Some(self.covered.spans(&ranks))))
    }

    /// Reads all sections and verifies their checksums.
    ///
    /// # Errors
    /// As [`Self::candidates`].
    pub(crate) fn verify(&self) -> io::Result<()> {
        let mut ranks = Vec::new();
        let mut grams = 0;
        let mut pairs = 0;
        for block in 0..self.blocks.len() {
            for entry in self.block(block)? {
                ranks.clear();
                self.list(&entry, &mut ranks)?;
                grams += 1;
                pairs += u64::from(entry.count);
            }
        }
        let is_whole = grams == self.info.grams && pairs == self.info.pairs;
        if is_whole { Ok(()) } else { Err(damaged("its dictionary")) }
    }

    /// The number of parts.
    pub(super) fn universe(&self) -> u32 {
        self.info.parts
    }

    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The index of the block that contains a gram if the segment has it.
    pub(super) fn block_of(&self, gram: Gram) -> Option<usize> {
        self.blocks.partition_point(|block| block.first <= gram).checked_sub(1)
    }

    pub(super) fn block(&self, at: usize) -> io::Result<Vec<DictionaryEntry>> {
        let Some(block) = self.blocks.get(at) else { return Ok(Vec::new()) };
        block.entries(&read(&self.file, block.at, u64::from(block.length))?)
    }

    /// Appends the ranks of a posting list.
    pub(super) fn list(&self, item: &DictionaryEntry, ranks: &mut Vec<PartRank>) -> io::Result<()> {
        self.with_list(item, |bytes| posting_lists::decode(bytes, item.count, self.universe(), ranks))
    }

    /// Keeps the ranks that are in a posting list.
    pub(super) fn intersect(&self, item: &DictionaryEntry, ranks: &mut Vec<PartRank>) -> io::Result<()> {
        self.with_list(item, |bytes| posting_lists::intersect(bytes, item.count, self.universe(), ranks))
    }

    fn with_list(&self, item: &DictionaryEntry, take: impl FnOnce(&[u8]) -> Option<()>) -> io::Result<()> {
        let is_inside = item.at.checked_add(item.stored_length()).is_some_and(|end| end <= self.lists_end);
        if !is_inside || item.count > self.universe() {
            return Err(damaged("its dictionary"));
        }
        let decoded = match item.inline_list() {
            Some((bytes, length)) => take(&bytes[..length]),
            None => {
                let bytes = read(&self.file, item.at, u64::from(item.length))?;
                if checksum(&bytes) == item.word { take(&bytes) } else { None }
            }
        };
        decoded.ok_or_else(|| damaged("a list"))
    }
}

fn read(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged("its size"))?];
    match file.read_exact_at(&mut bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(damaged("it is cut short")),
        other => other.map(|()| bytes),
    }
}
