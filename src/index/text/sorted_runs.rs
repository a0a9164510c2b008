//! External sort of pairs of a gram and a part: sorted runs in a temporary file, and their merge.
//!
//! A run is what one thread collected until its memory was full. Invariant: in a run grams ascend, and so do the parts of each gram.

use super::checksum::damaged;
use super::grams::{GRAM_BITS, Gram};
use super::posting_lists::{put_varint, take_varint_u32};
use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are read from a run at a time.
const READ_BYTES: usize = 1 << 16;
/// The most bytes of an encoded number.
const MAX_NUMBER_BYTES: usize = 10;

/// A gram in the upper half and a part's position in the lower half.
pub(super) type Pair = u64;

/// The temporary file of all runs, removed on drop.
pub(super) struct SortedRuns {
    path: PathBuf,
    file: File,
    /// The offset and the length of each run.
    written: Mutex<Vec<(u64, u64)>>,
}

impl SortedRuns {
    /// Creates the temporary file at `path`.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Self { path, file, written: Mutex::new(Vec::new()) })
    }

    /// Sorts `pairs` by gram, writes them as a run, and clears them. The parts in `pairs` ascend. `spare` is scratch space.
    pub(super) fn spill(&self, pairs: &mut Vec<Pair>, spare: &mut Vec<Pair>) -> io::Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        sort(pairs, spare);
        let mut bytes = Vec::with_capacity(pairs.len() + pairs.len() / 2);
        let mut previous = 0;
        for same in pairs.chunk_by(|one, other| one >> 32 == other >> 32) {
            let gram = same[0] >> 32;
            put_varint(&mut bytes, gram - previous);
            put_varint(&mut bytes, same.len() as u64);
            previous = gram;
            let mut last = 0;
            for pair in same {
                let position = pair & 0xffff_ffff;
                put_varint(&mut bytes, position - last);
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

    pub(super) fn merged(&self) -> io::Result<MergedRuns<'_>> {
        let written = self.written.lock().clone();
        let readers = written.into_iter().map(|(at, length)| {
            let mut reader =
                RunReader { file: &self.file, next: at, end: at + length, bytes: Vec::new(), at: 0, gram: 0 };
            reader.advance()?;
            Ok(reader)
        });
        let readers = readers.collect::<io::Result<Vec<_>>>()?;
        let grams = readers.iter().map(|reader| reader.gram).collect();
        Ok(MergedRuns { readers, grams })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SortedRuns {
    fn drop(&mut self) {
        drop(std::fs::remove_file(self.path()));
    }
}

/// Passes of the radix sort.
const PASSES: u32 = 3;
/// Bits of one pass. With more bits, the buckets don't fit in the processor's caches.
const DIGIT_BITS: u32 = GRAM_BITS.div_ceil(PASSES);

/// Sorts by the upper half with a stable radix sort.
fn sort(pairs: &mut Vec<Pair>, spare: &mut Vec<Pair>) {
    spare.clear();
    spare.resize(pairs.len(), 0);
    for pass in 0..PASSES {
        let shift = 32 + pass * DIGIT_BITS;
        let digit = |pair: Pair| (pair >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut buckets = vec![0_usize; 1 << DIGIT_BITS];
        for pair in pairs.iter() {
            buckets[digit(*pair)] += 1;
        }
        let mut sum = 0;
        for bucket in &mut buckets {
            sum += std::mem::replace(bucket, sum);
        }
        for pair in pairs.iter() {
            let bucket = &mut buckets[digit(*pair)];
            spare[*bucket] = *pair;
            *bucket += 1;
        }
        std::mem::swap(pairs, spare);
    }
}

/// The gram of a run that has ended.
const END: Gram = Gram::MAX;

/// Merges all runs, gram by gram.
pub(super) struct MergedRuns<'a> {
    readers: Vec<RunReader<'a>>,
    /// The current gram of each reader. A separate array makes the search for the smallest gram fast.
    grams: Vec<Gram>,
}

impl MergedRuns<'_> {
    /// The next gram. Calls `each` with the positions of its parts, run by run.
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
    /// The current gram, or [`END`].
    gram: Gram,
}

impl RunReader<'_> {
    /// Calls `each` with the parts of the current gram and advances to the next gram.
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
        if self.bytes.len() - self.at < MAX_NUMBER_BYTES && self.next < self.end {
            self.bytes.drain(..self.at);
            self.at = 0;
            let kept = self.bytes.len();
            let more = (self.end - self.next).min(READ_BYTES as u64) as usize;
            self.bytes.resize(kept + more, 0);
            self.file.read_exact_at(&mut self.bytes[kept..], self.next)?;
            self.next += more as u64;
        }
        let mut rest = &self.bytes[self.at..];
        let number = take_varint_u32(&mut rest).ok_or_else(|| damaged("its temporary file"))?;
        self.at = self.bytes.len() - rest.len();
        Ok(number)
    }
}
