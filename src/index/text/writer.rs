//! Makes a segment from texts, in bounded memory, on as many threads as call it.

use super::decode::{decode, is_as_it_lies};
use super::grams::{Collector, Gram};
use super::lists::put_in_order;
use super::output::{Output, SegmentInfo, beside};
use super::parts::{Covered, split};
use super::runs::{Pair, Runs};
use crate::ContentNo;
use crate::limits::TEXT_PAIRS_IN_MEMORY;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};

/// See the module. Each calling thread has room for its share of [`TEXT_PAIRS_IN_MEMORY`] pairs of 16 bytes, and 3 MiB.
pub(crate) struct SegmentWriter {
    path: PathBuf,
    runs: Runs,
    pairs_each: usize,
    /// In the order in which they were added: each part's content and its number there. Their place here is a part's position.
    parts: Mutex<Vec<(ContentNo, u32)>>,
    idle: Mutex<Vec<Gatherer>>,
}

/// Grams that are added before it is looked whether there is room.
const AT_ONCE: usize = 1 << 16;

/// What one thread gathers with.
struct Gatherer {
    collector: Collector,
    grams: Vec<Gram>,
    pairs: Vec<Pair>,
    spare: Vec<Pair>,
}

impl SegmentWriter {
    /// Begins a segment that will lie at `path`; up to `threads` threads will add to it at a time. Temporary files lie beside it and
    /// are named like it, with `.runs` or `.partial` at the end; they are taken away when the writer is dropped, and after a crash
    /// may be removed by anybody.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn create(path: &Path, threads: usize) -> io::Result<Self> {
        Self::with_room(path, (TEXT_PAIRS_IN_MEMORY / threads.max(1)).max(1 << 16))
    }

    /// The same, with room for so many pairs in each thread.
    pub(super) fn with_room(path: &Path, pairs_each: usize) -> io::Result<Self> {
        let runs = Runs::create(beside(path, ".runs"))?;
        let (parts, idle) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        Ok(Self { path: path.to_owned(), runs, pairs_each, parts, idle })
    }

    /// Adds a content with its bytes, as a file holds them. Adding it again with the same bytes changes nothing.
    ///
    /// # Errors
    /// Those of the file system; the segment can't be finished then.
    pub(crate) fn add(&self, content: ContentNo, bytes: &[u8]) -> io::Result<()> {
        let idle = self.idle.lock().pop();
        let mut gatherer = idle.unwrap_or_else(|| Gatherer {
            collector: Collector::new(),
            grams: Vec::new(),
            pairs: Vec::new(),
            spare: Vec::new(),
        });
        let text = decode(bytes);
        // What isn't read as it lies there can't be read in parts.
        let parts = if is_as_it_lies(bytes) { split(&text) } else { vec![&*text] };
        for (part, text) in (0..).zip(parts) {
            gatherer.grams.clear();
            gatherer.collector.collect(text, &mut gatherer.grams);
            let position = {
                let mut parts = self.parts.lock();
                parts.push((content, part));
                parts.len() as u64 - 1
            };
            for grams in gatherer.grams.chunks(AT_ONCE) {
                if gatherer.pairs.len() + grams.len() > self.pairs_each {
                    self.runs.put_aside(&mut gatherer.pairs, &mut gatherer.spare)?;
                }
                gatherer.pairs.extend(grams.iter().map(|gram| (u64::from(*gram) << 32) | position));
            }
        }
        self.idle.lock().push(gatherer);
        Ok(())
    }

    /// Writes the segment; when this returns, it is on the disk under its name.
    ///
    /// # Errors
    /// Those of the file system; nothing is left behind then.
    pub(crate) fn finish(self) -> io::Result<SegmentInfo> {
        for mut gatherer in self.idle.lock().drain(..) {
            self.runs.put_aside(&mut gatherer.pairs, &mut gatherer.spare)?;
        }
        let by_position = self.parts.into_inner();
        let mut parts = by_position.clone();
        parts.sort_unstable();
        parts.dedup();
        let rank = |part: &(ContentNo, u32)| parts.partition_point(|other| other < part) as u32;
        let ranks: Vec<u32> = by_position.iter().map(rank).collect();
        let mut output = Output::create(&self.path, &Covered::of(&parts))?;
        let mut runs = self.runs.merged()?;
        let mut found = Vec::new();
        while let Some(gram) = runs.next(|position| found.extend(ranks.get(position as usize)))? {
            put_in_order(&mut found, parts.len() as u32);
            output.add(gram, &found)?;
            found.clear();
        }
        output.finish()
    }
}
