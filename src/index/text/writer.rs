//! Builds a segment from texts in bounded memory, on the threads that call it.
//!
//! The size of the segment is bounded, too: if it would be larger than a share of the texts, the parts that take the most of it for their size
//! aren't indexed, and every search reads them. The index of recorded bytes in text form (base64) takes more than anything that people write.
//! Invariant: which parts that are depends only on the texts.

use super::content_parts::{CoveredContents, split};
use super::decode::{decode, is_stored_verbatim};
use super::grams::{Gram, GramCollector, UNINDEXED};
use super::output::{SegmentInfo, SegmentOutput, with_suffix};
use super::posting_lists::sort_and_dedup;
use super::sorted_runs::{Pair, SortedRuns};
use crate::ContentNo;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};

/// Pairs of a gram and a part, 16 bytes each, held in memory while the text index is built; further ones are spilled to disk.
const TEXT_PAIRS_IN_MEMORY: usize = 8 * 1024 * 1024;

/// A segment of at most this many bytes isn't bounded by the size of its texts: much of a small one is its dictionary.
const UNBOUNDED_SEGMENT_BYTES: u64 = if cfg!(test) { 16 * 1024 } else { 1024 * 1024 };

/// Builds a segment. Each calling thread uses memory for its share of [`TEXT_PAIRS_IN_MEMORY`] pairs of 16 bytes, plus 3 MiB.
pub(crate) struct SegmentWriter {
    path: PathBuf,
    runs: SortedRuns,
    pairs_each: usize,
    /// The largest segment, in percent of the bytes of the texts.
    max_percent: u64,
    /// The parts in insertion order. A part's index here is its position in pairs.
    parts: Mutex<Vec<WrittenPart>>,
    idle: Mutex<Vec<GramBuffer>>,
}

/// A part of a content. Ordered by content and part number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WrittenPart {
    content: ContentNo,
    number: u32,
    bytes: u32,
}

impl WrittenPart {
    fn key(&self) -> (ContentNo, u32) {
        (self.content, self.number)
    }
}

/// Grams that are added between two checks for free space.
const CHUNK_GRAMS: usize = 1 << 16;

/// The buffers of one thread.
struct GramBuffer {
    collector: GramCollector,
    grams: Vec<Gram>,
    pairs: Vec<Pair>,
    spare: Vec<Pair>,
}

impl SegmentWriter {
    /// Starts a segment at `path` that up to `threads` threads add to at a time, of at most `max_percent` percent of the texts. Temporary
    /// files lie next to it, with `.runs` or `.partial` appended to its name. They are removed when the writer is dropped; files left by a crash
    /// may be deleted.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn create(path: &Path, threads: usize, max_percent: u64) -> io::Result<Self> {
        let pairs_each = (TEXT_PAIRS_IN_MEMORY / threads.max(1)).max(1 << 16);
        Ok(Self { max_percent, ..Self::with_capacity(path, pairs_each)? })
    }

    /// Starts a segment of any size with memory for `pairs_each` pairs in each thread.
    pub(super) fn with_capacity(path: &Path, pairs_each: usize) -> io::Result<Self> {
        let runs = SortedRuns::create(with_suffix(path, ".runs"))?;
        let parts = Mutex::new(Vec::new());
        let idle = Mutex::new(Vec::new());
        Ok(Self { path: path.to_owned(), runs, pairs_each, max_percent: u64::MAX, parts, idle })
    }

    /// Adds a content with the bytes of its file. Adding it again with the same bytes has no effect.
    ///
    /// # Errors
    /// Those of the file system. The segment cannot be finished then.
    pub(crate) fn add(&self, content: ContentNo, bytes: &[u8]) -> io::Result<()> {
        let idle = self.idle.lock().pop();
        let mut buffer = idle.unwrap_or_else(|| GramBuffer {
            collector: GramCollector::new(),
            grams: Vec::new(),
            pairs: Vec::new(),
            spare: Vec::new(),
        });
        let text = decode(bytes);
        // A text that must be decoded cannot be read in parts.
        let parts = if is_stored_verbatim(bytes) { split(&text) } else { vec![&*text] };
        for (part, text) in (0..).zip(parts) {
            buffer.grams.clear();
            buffer.collector.collect(text, &mut buffer.grams);
            let position = {
                let mut parts = self.parts.lock();
                let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
                parts.push(WrittenPart { content, number: part, bytes });
                parts.len() as u64 - 1
            };
            for grams in buffer.grams.chunks(CHUNK_GRAMS) {
                if buffer.pairs.len() + grams.len() > self.pairs_each {
                    self.runs.spill(&mut buffer.pairs, &mut buffer.spare)?;
                }
                buffer.pairs.extend(grams.iter().map(|gram| (u64::from(*gram) << 32) | position));
            }
        }
        self.idle.lock().push(buffer);
        Ok(())
    }

    /// Writes the segment. When this returns, it is on disk under its name.
    ///
    /// # Errors
    /// Those of the file system. No file is left behind then.
    pub(crate) fn finish(self) -> io::Result<SegmentInfo> {
        for mut buffer in self.idle.lock().drain(..) {
            self.runs.spill(&mut buffer.pairs, &mut buffer.spare)?;
        }
        let by_position = std::mem::take(&mut *self.parts.lock());
        let mut parts = by_position.clone();
        parts.sort_unstable();
        parts.dedup_by_key(|part| part.key());
        let rank = |part: &WrittenPart| parts.partition_point(|other| other.key() < part.key()) as u32;
        let ranks: Vec<u32> = by_position.iter().map(rank).collect();
        let bytes: u64 = parts.iter().map(|part| u64::from(part.bytes)).sum();
        let most = bytes.saturating_mul(self.max_percent).div_ceil(100).max(UNBOUNDED_SEGMENT_BYTES);
        let mut is_unindexed = vec![false; parts.len()];
        loop {
            let info = self.write(&parts, &ranks, &is_unindexed, |_, _| ())?;
            if info.bytes <= most || !is_unindexed.contains(&false) {
                return Ok(info);
            }
            // Only a segment that is too large is written once more, to find out which parts take how much of it.
            let mut costs = vec![0; parts.len()];
            self.write(&parts, &ranks, &is_unindexed, |found, bytes| {
                let each = bytes * COST_UNITS / found.len().max(1) as u64;
                found.iter().for_each(|rank| costs[*rank as usize] += each);
            })?;
            leave_out(&parts, &costs, (info.bytes - most) * COST_UNITS, &mut is_unindexed);
        }
    }

    /// Writes the segment. `ranks` are those of the positions in pairs. Calls `each` with the parts of each gram and the bytes that they take.
    fn write(
        &self,
        parts: &[WrittenPart],
        ranks: &[u32],
        is_unindexed: &[bool],
        mut each: impl FnMut(&[u32], u64),
    ) -> io::Result<SegmentInfo> {
        let keys: Vec<(ContentNo, u32)> = parts.iter().map(WrittenPart::key).collect();
        let mut output = SegmentOutput::create(&self.path, &CoveredContents::of(&keys))?;
        let all = 0..parts.len() as u32;
        let mut unindexed = Some(all.filter(|rank| is_unindexed[*rank as usize]).collect::<Vec<u32>>());
        let mut runs = self.runs.merged()?;
        let mut found = Vec::new();
        let rank_of = |position: u32| ranks.get(position as usize).filter(|rank| !is_unindexed[**rank as usize]);
        while let Some(gram) = runs.next(|position| found.extend(rank_of(position)))? {
            if let Some(unindexed) = unindexed.take_if(|_| gram > UNINDEXED) {
                output.add(UNINDEXED, &unindexed)?;
            }
            sort_and_dedup(&mut found, parts.len() as u32);
            let before = output.bytes();
            output.add(gram, &found)?;
            each(&found, output.bytes() - before);
            found.clear();
        }
        output.add(UNINDEXED, &unindexed.unwrap_or_default())?;
        output.finish()
    }
}

/// Fractions of a byte in which the costs of parts are counted.
const COST_UNITS: u64 = 64;

/// Leaves out the parts that cost the most for their size, until `excess` is saved.
fn leave_out(parts: &[WrittenPart], costs: &[u64], excess: u64, is_unindexed: &mut [bool]) {
    let mut indexed: Vec<usize> = (0..parts.len()).filter(|rank| !is_unindexed[*rank]).collect();
    let cost_of_byte = |rank: usize| costs[rank] / u64::from(parts[rank].bytes.max(1));
    indexed.sort_by_key(|rank| (std::cmp::Reverse(cost_of_byte(*rank)), *rank));
    let mut saved = 0;
    for rank in indexed {
        if saved >= excess {
            break;
        }
        saved += costs[rank].max(1);
        is_unindexed[rank] = true;
    }
}
