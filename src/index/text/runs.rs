//! Sorted pairs of a gram and a part of a content, put aside in a file until all are there.
//!
//! A run is what one thread had gathered when its memory was full. Invariant: in a run grams ascend, and so do the parts of
//! each.

use super::check::damaged;
use super::grams::{GRAM_BITS, Gram};
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

/// A gram in the upper half, a part's position in the lower.
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

    /// Sorts `pairs`, in which the parts ascend, by their grams and puts them aside; `pairs` is empty then. `spare` is room.
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

    /// All runs as one.
    pub(super) fn merged(&self) -> io::Result<Merged<'_>> {
        let written = self.written.lock().clone();
        let readers = written.into_iter().map(|(at, length)| {
            let mut reader =
                RunReader { file: &self.file, next: at, end: at + length, bytes: Vec::new(), at: 0, gram: 0 };
            reader.advance()?;
            Ok(reader)
        });
        let readers = readers.collect::<io::Result<Vec<_>>>()?;
        let grams = readers.iter().map(|reader| reader.gram).collect();
        Ok(Merged { readers, grams })
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

/// Times that all pairs are put in order.
const ROUNDS: u32 = 3;
/// Bits that are looked at in one round: with more the places are too many to be written to quickly.
const DIGIT: u32 = GRAM_BITS.div_ceil(ROUNDS);

/// Sorts by the upper half, without changing the order of what is equal there.
fn sort(pairs: &mut Vec<Pair>, spare: &mut Vec<Pair>) {
    spare.clear();
    spare.resize(pairs.len(), 0);
    for round in 0..ROUNDS {
        let shift = 32 + round * DIGIT;
        let digit = |pair: Pair| (pair >> shift) as usize & ((1 << DIGIT) - 1);
        let mut places = vec![0_usize; 1 << DIGIT];
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

/// Behind the last gram of a run.
const END: Gram = Gram::MAX;

/// Reads all runs at once, gram by gram.
pub(super) struct Merged<'a> {
    readers: Vec<RunReader<'a>>,
    /// Which gram each of them stands at: apart, because the smallest is looked for so often.
    grams: Vec<Gram>,
}

impl Merged<'_> {
    /// The next gram; hands out the positions of the parts that have it, run by run.
    pub(super) fn next(&mut self, mut each: impl FnMut(u32)) -> io::Result<Option<Gram>> {
        let gram = self.grams.iter().copied().min().unwrap_or(END);
        if gram == END {
            return Ok(None);
        }
        for (reader, at) in self.readers.iter_mut().zip(&mut self.grams) {
            if *at == gram {
                reader.parts(&mut each)?;
                *at = reader.gram;
            }
        }
        Ok(Some(gram))
    }
}

/// Reads one run from its beginning.
struct RunReader<'a> {
    file: &'a File,
    next: u64,
    end: u64,
    bytes: Vec<u8>,
    at: usize,
    /// The gram it stands at, or [`END`].
    gram: Gram,
}

impl RunReader<'_> {
    /// Hands out the parts of the gram it stands at, and goes on to the next one.
    fn parts(&mut self, mut each: impl FnMut(u32)) -> io::Result<()> {
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
        self.gram = if is_at_end { END } else { self.gram.wrapping_add(self.number()?) };
        Ok(())
    }

    fn number(&mut self) -> io::Result<u32> {
        // Nearly all numbers fit in one byte.
        match self.bytes.get(self.at) {
            Some(byte) if *byte < 0x80 => {
                self.at += 1;
                Ok(u32::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> io::Result<u32> {
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
