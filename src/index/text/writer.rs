//! Builds a segment from texts in bounded memory, on the threads that call it.

use super::content_parts::{CoveredContents, split};
use super::decode::{decode, is_stored_verbatim};
use super::grams::{Gram, GramCollector};
use super::output::{SegmentInfo, SegmentOutput, with_suffix};
use super::posting_lists::sort_and_dedup;
use super::sorted_runs::{Pair, SortedRuns};
use crate::ContentNo;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};

/// Pairs of a gram and a part, 16 bytes each, held in memory while the text index is built; further ones are spilled to disk.
const TEXT_PAIRS_IN_MEMORY: usize = 8 * 1024 * 1024;

/// Builds a segment. Each calling thread uses memory for its share of [`TEXT_PAIRS_IN_MEMORY`] pairs of 16 bytes, plus 3 MiB.
pub(crate) struct SegmentWriter {
    path: PathBuf,
    runs: SortedRuns,
    pairs_each: usize,
    /// The content and the part number of each part in insertion order. A part's index here is its position in pairs.
    parts: Mutex<Vec<(ContentNo, u32)>>,
    idle: Mutex<Vec<GramBuffer>>,
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
    /// Starts a segment at `path` that up to `threads` threads add to at a time. Temporary files lie next to it, with `.runs` or
    /// `.partial` appended to its name. They are removed when the writer is dropped; files left by a crash may be deleted.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn create(path: &Path, threads: usize) -> io::Result<Self> {
        Self::with_capacity(path, (TEXT_PAIRS_IN_MEMORY / threads.max(1)).max(1 << 16))
    }

    /// Starts a segment with memory for `pairs_each` pairs in each thread.
    pub(super) fn with_capacity(path: &Path, pairs_each: usize) -> io::Result<Self> {
        let runs = SortedRuns::create(with_suffix(path, ".runs"))?;
        let parts = Mutex::new(Vec::new());
        let idle = Mutex::new(Vec::new());
        Ok(Self { path: path.to_owned(), runs, pairs_each, parts, idle })
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
                parts.push((content, part));
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
        let by_position = self.parts.into_inner();
        let mut parts = by_position.clone();
        parts.sort_unstable();
        parts.dedup();
        let rank = |part: &(ContentNo, u32)| parts.partition_point(|other| other < part) as u32;
        let ranks: Vec<u32> = by_position.iter().map(rank).collect();
        let mut output = SegmentOutput::create(&self.path, &CoveredContents::of(&parts))?;
        let mut runs = self.runs.merged()?;
        let mut found = Vec::new();
        while let Some(gram) = runs.next(|position| found.extend(ranks.get(position as usize)))? {
            sort_and_dedup(&mut found, parts.len() as u32);
            output.add(gram, &found)?;
            found.clear();
        }
        output.finish()
    }
}
