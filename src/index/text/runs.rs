//! Sorted pairs of a trigram and a content, put aside in a file until all are there.
//!
//! A run is what one thread had gathered when its memory was full. Invariant: in a run trigrams ascend, and so do the contents of
//! each.

use super::check::damaged;
use super::grams::Gram;
use super::lists::{put, take_u32};
use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a run that are read at once.
const READ_BYTES: usize = 1 << 16;
/// More than the longest number takes.
const LONGEST_NUMBER: usize = 10;

/// A trigram in the upper half, a content's position in the lower.
pub(super) type Pair = u64;

/// The file of all runs; taken away at the end.
pub(super) struct Runs {
    path: PathBuf,
    file: File,
    written: Mutex<Vec<(u64, u64)>>,
}

impl Runs {
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Self { path, file, written: Mutex::new(Vec::new()) })
    }

    /// Sorts `pairs`, in which the contents ascend, by their trigrams and puts them aside; `pairs` is empty then. `spare` is room.
    pub(super) fn put_aside(&self, pairs: &mut Vec<Pair>, spare: &mut Vec<Pair>) -> io::Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        sort(pairs, spare);
        let mut bytes = Vec::with_capacity(pairs.len() + pairs.len() / 2);
        let mut before = 0;
        for same in pairs.chunk_by(|one, other| one >> 32 == other >> 32) {
            let gram = same[0] >> 32;
            put(&mut bytes, gram - before);
            put(&mut bytes, same.len() as u64);
            before = gram;
            let mut last = 0;
            for pair in same {
                let position = pair & 0xffff_ffff;
                put(&mut bytes, position - last);
                last = position;
            }
        }
        pairs.clear();
        let length = bytes.len() as u64;
        let at = {
            let mut written = self.written.lock();
            let at = written.last().map_or(0, |(at, length)| at + length);
            written.push((at, length));
            at
        };
        self.file.write_all_at(&bytes, at)
    }

    /// Readers of all runs.
    pub(super) fn readers(&self) -> io::Result<Vec<RunReader<'_>>> {
        let written = self.written.lock().clone();
        let readers = written.into_iter().map(|(at, length)| {
            let mut reader =
                RunReader { file: &self.file, next: at, end: at + length, bytes: Vec::new(), at: 0, gram: Some(0) };
            reader.advance()?;
            Ok(reader)
        });
        readers.collect()
    }

    /// Where the file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        drop(std::fs::remove_file(self.path()));
    }
}

/// Sorts by the upper half, without changing the order of what is equal there: twelve bits at a time.
fn sort(pairs: &mut Vec<Pair>, spare: &mut Vec<Pair>) {
    spare.clear();
    spare.resize(pairs.len(), 0);
    for shift in [32, 44] {
        let digit = |pair: Pair| (pair >> shift) as usize & 4_095;
        let mut places = vec![0_usize; 4_096];
        for pair in pairs.iter() {
            places[digit(*pair)] += 1;
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for pair in pairs.iter() {
            let place = &mut places[digit(*pair)];
            spare[*place] = *pair;
            *place += 1;
        }
        std::mem::swap(pairs, spare);
    }
}

/// Reads one run from its beginning.
pub(super) struct RunReader<'a> {
    file: &'a File,
    next: u64,
    end: u64,
    bytes: Vec<u8>,
    at: usize,
    gram: Option<Gram>,
}

impl RunReader<'_> {
    /// The trigram it stands at; `None` at the end.
    pub(super) fn gram(&self) -> Option<Gram> {
        self.gram
    }

    /// Hands out the contents of the trigram it stands at, and goes on to the next one.
    pub(super) fn contents(&mut self, mut each: impl FnMut(u32)) -> io::Result<()> {
        let count = self.number()?;
        let mut position = 0_u32;
        for _ in 0..count {
            position = position.wrapping_add(self.number()?);
            each(position);
        }
        self.advance()
    }

    fn advance(&mut self) -> io::Result<()> {
        let is_at_end = self.at == self.bytes.len() && self.next == self.end;
        self.gram = match self.gram {
            Some(before) if !is_at_end => Some(before.wrapping_add(self.number()?)),
            _ => None,
        };
        Ok(())
    }

    fn number(&mut self) -> io::Result<u32> {
        if self.bytes.len() - self.at < LONGEST_NUMBER && self.next < self.end {
            self.bytes.drain(..self.at);
            self.at = 0;
            let have = self.bytes.len();
            let more = (self.end - self.next).min(READ_BYTES as u64) as usize;
            self.bytes.resize(have + more, 0);
            self.file.read_exact_at(&mut self.bytes[have..], self.next)?;
            self.next += more as u64;
        }
        let mut rest = &self.bytes[self.at..];
        let number = take_u32(&mut rest).ok_or_else(|| damaged("its temporary file"))?;
        self.at = self.bytes.len() - rest.len();
        Ok(number)
    }
}
