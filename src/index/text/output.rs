//! Writes a segment: under another name first, so that a segment is whole or isn't there.

use super::check::sum;
use super::dictionary::{Dictionary, Item};
use super::footer::{Footer, MAGIC};
use super::grams::Gram;
use super::lists::{self, Rank};
use super::parts::Covered;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentInfo {
    /// How many contents it covers.
    pub contents: u32,
    /// How many parts they have.
    pub parts: u32,
    /// How many different grams they have.
    pub grams: u32,
    /// How many parts have each of them, added up.
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
    /// How many contents there are, and they as bytes.
    count: u32,
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
    /// Begins a segment of these contents.
    pub(super) fn create(path: &Path, covered: &Covered) -> io::Result<Self> {
        let partial = beside(path, ".partial");
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
            dictionary: Dictionary::default(),
            list: Vec::new(),
            grams: 0,
            pairs: 0,
        })
    }

    /// Adds a gram, larger than all before, and the ranks of the parts that have it, strictly ascending; with none of them it
    /// is left out.
    pub(super) fn add(&mut self, gram: Gram, ranks: &[Rank]) -> io::Result<()> {
        if ranks.is_empty() {
            return Ok(());
        }
        self.list.clear();
        lists::encode(ranks, self.universe, &mut self.list);
        let item = Item::new(gram, ranks.len() as u32, self.at, &self.list);
        if item.apart() > 0
            && let Some(file) = &mut self.file
        {
            file.write_all(&self.list)?;
        }
        self.at += item.apart();
        self.dictionary.add(item);
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
            contents: self.count,
            parts: self.universe,
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
        Ok(SegmentInfo { contents: self.count, parts: self.universe, grams: self.grams, pairs: self.pairs, bytes })
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
