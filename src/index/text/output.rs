//! Writes a segment: under another name first, so that a segment is whole or isn't there.

use super::check::sum;
use super::dictionary::{Dictionary, Item};
use super::footer::{Footer, MAGIC};
use super::grams::Gram;
use super::lists::{self, Rank};
use crate::index::ContentNo;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentInfo {
    /// How many contents it covers.
    pub contents: u32,
    /// How many different trigrams they have.
    pub grams: u32,
    /// How many contents have each of them, added up.
    pub pairs: u64,
    /// The file's size in bytes.
    pub bytes: u64,
}

/// A segment while it is written.
pub(super) struct Output {
    path: PathBuf,
    partial: PathBuf,
    /// Taken at the end.
    file: Option<BufWriter<File>>,
    at: u64,
    universe: u32,
    contents: Vec<u8>,
    dictionary: Dictionary,
    list: Vec<u8>,
    grams: u32,
    pairs: u64,
}

/// `path` with more at its end.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl Output {
    /// Begins a segment that covers `contents`, strictly ascending.
    pub(super) fn create(path: &Path, contents: &[ContentNo]) -> io::Result<Self> {
        let universe = u32::try_from(contents.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let partial = beside(path, ".partial");
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&partial)?);
        file.write_all(&MAGIC)?;
        let mut encoded = Vec::new();
        let mut next = 0;
        for content in contents {
            lists::put(&mut encoded, u64::from(*content) - next);
            next = u64::from(*content) + 1;
        }
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: Some(file),
            at: MAGIC.len() as u64,
            universe,
            contents: encoded,
            dictionary: Dictionary::default(),
            list: Vec::new(),
            grams: 0,
            pairs: 0,
        })
    }

    /// Adds a trigram, larger than all before, and the ranks of the contents that have it, strictly ascending; with none of them it
    /// is left out.
    pub(super) fn add(&mut self, gram: Gram, ranks: &[Rank]) -> io::Result<()> {
        if ranks.is_empty() {
            return Ok(());
        }
        self.list.clear();
        lists::encode(ranks, self.universe, &mut self.list);
        let length = self.list.len() as u32;
        self.dictionary.add(Item { gram, count: ranks.len() as u32, at: self.at, length, sum: sum(&self.list) });
        if let Some(file) = &mut self.file {
            file.write_all(&self.list)?;
        }
        self.at += u64::from(length);
        self.grams += 1;
        self.pairs += ranks.len() as u64;
        Ok(())
    }

    /// Writes what is left and gives the file its name; when this returns, it is on the disk.
    pub(super) fn finish(mut self) -> io::Result<SegmentInfo> {
        let table = self.dictionary.table(self.at);
        let table_at = self.at + self.dictionary.bytes.len() as u64;
        let contents_at = table_at + table.len() as u64;
        let footer = Footer {
            dictionary_at: self.at,
            table_at,
            contents_at,
            contents: self.universe,
            table_sum: sum(&table),
            contents_sum: sum(&self.contents),
            grams: self.grams,
            pairs: self.pairs,
        };
        let end = footer.to_bytes();
        let Some(mut file) = self.file.take() else { return Err(io::ErrorKind::Other.into()) };
        for part in [&self.dictionary.bytes, &table, &self.contents, &end] {
            file.write_all(part)?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&self.partial, &self.path)?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            File::open(folder)?.sync_all()?;
        }
        let bytes = contents_at + self.contents.len() as u64 + end.len() as u64;
        Ok(SegmentInfo { contents: self.universe, grams: self.grams, pairs: self.pairs, bytes })
    }
}

impl Drop for Output {
    /// Takes away what wasn't finished.
    fn drop(&mut self) {
        if self.file.take().is_some() || self.partial.exists() {
            drop(std::fs::remove_file(&self.partial));
        }
    }
}
