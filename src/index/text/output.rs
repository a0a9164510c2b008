//! Writes a segment file. The file gets its name when it is complete, so a segment is either whole or absent.

use super::checksum::checksum;
use super::content_parts::CoveredContents;
use super::dictionary::{DictionaryBuilder, DictionaryEntry};
use super::footer::{Footer, MAGIC};
use super::grams::{Gram, UNINDEXED};
use super::posting_lists::{self, PartRank};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use codeyard_base::atomic_file::{self, Durability};

/// The counts and the size of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentInfo {
    pub contents: u32,
    pub parts: u32,
    /// The number of different grams.
    pub grams: u32,
    /// The number of postings: pairs of a gram and a part that contains it.
    pub pairs: u64,
    /// The file's size in bytes.
    pub bytes: u64,
}

/// A segment that is being written.
pub(super) struct SegmentOutput {
    path: PathBuf,
    partial: PathBuf,
    /// `None` once the segment is finished.
    file: Option<BufWriter<File>>,
    at: u64,
    universe: u32,
    /// The number of contents, and the encoded contents section.
    count: u32,
    contents: Vec<u8>,
    dictionary: DictionaryBuilder,
    list: Vec<u8>,
    grams: u32,
    pairs: u64,
    has_unindexed: bool,
}

/// `path` with `ending` appended to its name.
pub(super) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl SegmentOutput {
    /// Starts a segment of these contents.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn create(path: &Path, covered: &CoveredContents) -> io::Result<Self> {
        let partial = with_suffix(path, ".partial");
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&partial)?);
        file.write_all(&MAGIC)?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: Some(file),
            at: MAGIC.len() as u64,
            universe: covered.parts(),
            count: covered.contents.len() as u32,
            contents: covered.encode(),
            dictionary: DictionaryBuilder::default(),
            list: Vec::new(),
            grams: 0,
            pairs: 0,
            has_unindexed: false,
        })
    }

    /// Adds a gram with the ranks of its parts. Grams ascend, and so do ranks. A gram without parts is skipped.
    pub(super) fn add(&mut self, gram: Gram, ranks: &[PartRank]) -> io::Result<()> {
        if ranks.is_empty() {
            return Ok(());
        }
        self.list.clear();
        posting_lists::encode(ranks, self.universe, &mut self.list);
        let entry = DictionaryEntry::new(gram, ranks.len() as u32, self.at, &self.list);
        if entry.stored_length() > 0
            && let Some(file) = &mut self.file
        {
            file.write_all(&self.list)?;
        }
        self.at += entry.stored_length();
        self.dictionary.add(entry);
        self.grams += 1;
        self.pairs += ranks.len() as u64;
        self.has_unindexed |= gram == UNINDEXED;
        Ok(())
    }

    /// The bytes of the lists and of the dictionary so far.
    pub(super) fn bytes(&self) -> u64 {
        self.at + self.dictionary.bytes.len() as u64
    }

    /// Writes the remaining sections and gives the file its name. When this returns, the segment is on disk.
    pub(super) fn finish(mut self) -> io::Result<SegmentInfo> {
        let table = self.dictionary.table(self.at);
        let table_at = self.at + self.dictionary.bytes.len() as u64;
        let contents_at = table_at + table.len() as u64;
        let footer = Footer {
            dictionary_at: self.at,
            table_at,
            contents_at,
            contents: self.count,
            parts: self.universe,
            table_checksum: checksum(&table),
            contents_checksum: checksum(&self.contents),
            grams: self.grams,
            pairs: self.pairs,
            has_unindexed: self.has_unindexed,
        };
        let footer_bytes = footer.to_bytes();
        let Some(mut file) = self.file.take() else { return Err(io::ErrorKind::Other.into()) };
        for section in [&self.dictionary.bytes, &table, &self.contents, &footer_bytes] {
            file.write_all(section)?;
        }
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        atomic_file::publish(&self.partial, file, &self.path, Durability::Power)?;
        let bytes = contents_at + self.contents.len() as u64 + footer_bytes.len() as u64;
        Ok(SegmentInfo { contents: self.count, parts: self.universe, grams: self.grams, pairs: self.pairs, bytes })
    }
}

impl Drop for SegmentOutput {
    /// Removes an unfinished file.
    fn drop(&mut self) {
        if self.file.take().is_some() || self.partial.exists() {
            drop(std::fs::remove_file(&self.partial));
        }
    }
}
