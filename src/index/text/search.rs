//! Searches files for matching lines with the crates of ripgrep, on several threads.
//!
//! All matching lines are counted; only the requested window of lines is kept. Invariants: unless it was stopped, the result is the
//! same for any number of threads. Memory is bounded by the requested lines, however many lines match.

use super::candidate_set::FilePiece;
use super::file_search::{HasMatches, SearchWorker};
use super::pattern::Pattern;
use crate::ManifestEntry;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Files that a thread takes at a time.
const CHUNK_FILES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileReadOutcome {
    /// Its bytes were read.
    Done,
    Failed(UnreadReason),
}

/// Why a file wasn't searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum UnreadReason {
    /// The file no longer exists.
    Gone,
    /// It has changed since it was indexed.
    Changed,
    Unreadable,
    /// It is larger than the limit.
    TooLarge,
    /// It contains a NUL byte.
    Binary,
}

/// The window of lines to return, and the resources of a search.
#[derive(Clone, Copy)]
pub(crate) struct SearchOptions<'a> {
    /// Lines of context before and after each line.
    pub context: usize,
    /// Matching lines to skip at the beginning.
    pub offset: usize,
    /// The most lines to return.
    pub limit: usize,
    /// Threads that search, including the calling one; at least one.
    pub threads: usize,
    /// Called between files; `true` stops the search.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineMatch {
    /// The index of its file in the searched files.
    pub entry: usize,
    /// From 1.
    pub line: u64,
    /// The line without its line break. Invalid UTF-8 is replaced.
    pub text: String,
    /// Bytes of the line before `text`: 0 unless the line is so long that its first match would be cut off.
    pub skipped: usize,
    /// `text` or a line of context isn't the whole line.
    pub is_cut: bool,
    /// The matches inside `text`, as byte offsets of begin and end.
    pub matches: Vec<(usize, usize)>,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
    /// Lines of its file may have other numbers elsewhere ([`super::line_ends`]).
    pub is_numbered_otherwise: bool,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextMatches {
    /// The requested lines, sorted by file and line.
    pub lines: Vec<LineMatch>,
    /// The number of all matching lines.
    pub total: u64,
    /// The number of files with a matching line.
    pub files: u64,
    /// Files that weren't searched, in order, with the reason.
    pub unread: Vec<(usize, UnreadReason)>,
    /// The search wasn't stopped: all files but those in `unread` were searched.
    pub is_complete: bool,
}

/// The results of files, by the file's index.
type FileResults<T> = Vec<(usize, Result<T, UnreadReason>)>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchedFile<'a> {
    pub entry: &'a ManifestEntry,
    /// The piece that contains all its matches; `None` for the whole file.
    pub piece: Option<FilePiece>,
}

/// Reads the bytes of files. Called from all threads.
pub(crate) trait ContentSource: Sync {
    /// Reads a file without decoding it into the buffer, which is empty.
    fn read(&self, entry: &ManifestEntry, into: &mut Vec<u8>) -> FileReadOutcome;

    /// Replaces the buffer's contents with up to `length` bytes of a file from offset `from`. `None` if only whole files can be read.
    fn read_piece(
        &self,
        _entry: &ManifestEntry,
        _from: u64,
        _length: u64,
        _into: &mut Vec<u8>,
    ) -> Option<FileReadOutcome> {
        None
    }
}

impl<F: Fn(&ManifestEntry, &mut Vec<u8>) -> FileReadOutcome + Sync> ContentSource for F {
    fn read(&self, entry: &ManifestEntry, into: &mut Vec<u8>) -> FileReadOutcome {
        self(entry, into)
    }
}

/// Searches `files`. Lines are returned in the order of `files`.
pub(crate) fn search(
    pattern: &Pattern,
    files: &[SearchedFile<'_>],
    source: &dyn ContentSource,
    options: &SearchOptions<'_>,
) -> TextMatches {
    let hits = AtomicU64::new(0);
    let offset = options.offset as u64;
    let limit = options.limit as u64;
    // A file's lines are kept while they may be in the requested window. After that, lines are only counted.
    let first = |at: usize, worker: &mut SearchWorker<'_>| {
        let wanted = if offset == 0 && hits.load(Ordering::Relaxed) < limit { options.limit } else { 0 };
        let result = worker.search_file(files[at], at, 0, wanted, options.context);
        if let Ok(matches) = &result {
            hits.fetch_add(matches.count, Ordering::Relaxed);
        }
        let has_kept = wanted > 0;
        result.map(|matches| (matches, has_kept))
    };
    let (results, is_complete) = on_threads(pattern, source, options, files.len(), first);
    let mut found = TextMatches { is_complete, ..TextMatches::default() };
    // The requested lines of each file, and whether they were kept already.
    let mut wanted = Vec::new();
    for (at, result) in results {
        match result {
            Err(reason) => found.unread.push((at, reason)),
            Ok((matches, has_kept)) => {
                let skip = offset.saturating_sub(found.total).min(matches.count);
                let kept = wanted.iter().map(|want: &WantedLines| want.take).sum::<u64>();
                let take = (matches.count - skip).min(limit - kept);
                found.total += matches.count;
                found.files += 1;
                if take > 0 {
                    wanted.push(WantedLines {
                        at,
                        skip,
                        take,
                        count: matches.count,
                        lines: has_kept.then_some(matches.lines),
                    });
                }
            }
        }
    }
    found.collect_lines(pattern, files, source, options, wanted);
    found
}

/// The requested lines of one file.
struct WantedLines {
    at: usize,
    skip: u64,
    take: u64,
    /// The number of matching lines in the first pass.
    count: u64,
    /// The file's first matching lines, if they were kept.
    lines: Option<Vec<LineMatch>>,
}

impl TextMatches {
    /// Adds the requested lines. Files whose lines weren't kept are searched again.
    fn collect_lines(
        &mut self,
        pattern: &Pattern,
        files: &[SearchedFile<'_>],
        source: &dyn ContentSource,
        options: &SearchOptions<'_>,
        wants: Vec<WantedLines>,
    ) {
        let missing: Vec<&WantedLines> = wants.iter().filter(|want| want.lines.is_none()).collect();
        let again = |at: usize, worker: &mut SearchWorker<'_>| {
            let want = missing[at];
            worker.search_file(files[want.at], want.at, want.skip, want.take as usize, options.context)
        };
        let (results, is_complete) = on_threads(pattern, source, options, missing.len(), again);
        self.is_complete &= is_complete;
        let positions: Vec<usize> = missing.iter().map(|want| want.at).collect();
        let mut results = results.into_iter().map(|(at, result)| (positions[at], result)).peekable();
        for want in wants {
            let take = want.take as usize;
            if let Some(lines) = want.lines {
                self.lines.extend(lines.into_iter().take(take));
                continue;
            }
            // A file that wasn't reached before the stop has no result.
            let Some((_, result)) = results.next_if(|(at, _)| *at == want.at) else { continue };
            match result {
                Ok(matches) if matches.count == want.count => self.lines.extend(matches.lines),
                // The file has changed between the passes.
                other => {
                    self.total -= want.count;
                    self.files -= 1;
                    self.unread.push((want.at, other.err().unwrap_or(UnreadReason::Changed)));
                }
            }
        }
        self.unread.sort_unstable();
    }
}

/// Runs `task` for `count` files on several threads. Returns the results with matches or errors, in order, and whether all files were
/// processed.
fn on_threads<T: HasMatches + Send>(
    pattern: &Pattern,
    source: &dyn ContentSource,
    options: &SearchOptions<'_>,
    count: usize,
    task: impl Fn(usize, &mut SearchWorker<'_>) -> Result<T, UnreadReason> + Sync,
) -> (FileResults<T>, bool) {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let work = || {
        let mut worker = SearchWorker::new(pattern, source);
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(CHUNK_FILES, Ordering::Relaxed);
            for at in from..count.min(from.saturating_add(CHUNK_FILES)) {
                if stopped.load(Ordering::Relaxed) || (options.stop)() {
                    stopped.store(true, Ordering::Relaxed);
                    return done;
                }
                let result = task(at, &mut worker);
                if result.as_ref().map_or(true, HasMatches::has_any) {
                    done.push((at, result));
                }
            }
            if from >= count {
                return done;
            }
        }
    };
    let threads = options.threads.clamp(1, count.div_ceil(CHUNK_FILES).max(1));
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    (done, !stopped.into_inner())
}
