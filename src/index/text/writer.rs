//! Makes a segment from texts, in bounded memory, on as many threads as call it.

use super::grams::{Collector, Gram};
use super::lists::put_in_order;
use super::output::{Output, SegmentInfo, beside};
use super::runs::{Pair, Runs};
use crate::base::limits::TEXT_PAIRS_IN_MEMORY;
use crate::index::ContentNo;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};

/// See the module. Each calling thread has room for its share of [`TEXT_PAIRS_IN_MEMORY`] pairs of 16 bytes, and 3 MiB.
pub struct SegmentWriter {
    path: PathBuf,
    runs: Runs,
    pairs_each: usize,
    /// In the order in which they were added: a content's position.
    contents: Mutex<Vec<ContentNo>>,
    idle: Mutex<Vec<Gatherer>>,
}

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
    pub fn create(path: &Path, threads: usize) -> io::Result<Self> {
        Self::with_room(path, (TEXT_PAIRS_IN_MEMORY / threads.max(1)).max(1 << 16))
    }

    /// The same, with room for so many pairs in each thread.
    pub(super) fn with_room(path: &Path, pairs_each: usize) -> io::Result<Self> {
        let runs = Runs::create(beside(path, ".runs"))?;
        let (contents, idle) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        Ok(Self { path: path.to_owned(), runs, pairs_each, contents, idle })
    }

    /// Adds a content with its text, as [`decode`](super::decode) gives it. Adding it again with the same text changes nothing.
    ///
    /// # Errors
    /// Those of the file system; the segment can't be finished then.
    pub fn add(&self, content: ContentNo, text: &[u8]) -> io::Result<()> {
        let idle = self.idle.lock().pop();
        let mut gatherer = idle.unwrap_or_else(|| Gatherer {
            collector: Collector::new(),
            grams: Vec::new(),
            pairs: Vec::new(),
            spare: Vec::new(),
        });
        gatherer.grams.clear();
        gatherer.collector.collect(text, &mut gatherer.grams);
        if gatherer.pairs.len() + gatherer.grams.len() > self.pairs_each {
            self.runs.put_aside(&mut gatherer.pairs, &mut gatherer.spare)?;
        }
        let position = {
            let mut contents = self.contents.lock();
            contents.push(content);
            contents.len() as u64 - 1
        };
        gatherer.pairs.extend(gatherer.grams.iter().map(|gram| (u64::from(*gram) << 32) | position));
        self.idle.lock().push(gatherer);
        Ok(())
    }

    /// Writes the segment; when this returns, it is on the disk under its name.
    ///
    /// # Errors
    /// Those of the file system; nothing is left behind then.
    pub fn finish(self) -> io::Result<SegmentInfo> {
        for mut gatherer in self.idle.lock().drain(..) {
            self.runs.put_aside(&mut gatherer.pairs, &mut gatherer.spare)?;
        }
        let by_position = self.contents.into_inner();
        let mut contents = by_position.clone();
        contents.sort_unstable();
        contents.dedup();
        let ranks: Vec<u32> =
            by_position.iter().map(|content| contents.partition_point(|other| other < content) as u32).collect();
        let mut output = Output::create(&self.path, &contents)?;
        let mut readers = self.runs.readers()?;
        let mut found = Vec::new();
        while let Some(gram) = readers.iter().filter_map(|reader| reader.gram()).min() {
            found.clear();
            for reader in readers.iter_mut().filter(|reader| reader.gram() == Some(gram)) {
                reader.contents(|position| found.extend(ranks.get(position as usize)))?;
            }
            put_in_order(&mut found, contents.len() as u32);
            output.add(gram, &found)?;
        }
        output.finish()
    }
}
