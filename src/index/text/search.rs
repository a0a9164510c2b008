//! Which lines match: every candidate is read and searched with ripgrep's own code, on several threads.
//!
//! All matching lines are counted, but only those that are wanted are kept. Invariants: the answer is the same for any number of
//! threads, unless it was stopped; what is kept is bounded by the lines wanted, however many match.

use super::decode::{decode, is_as_it_lies, is_binary};
use super::narrowed::Piece;
use super::parts::line_from;
use super::pattern::Pattern;
use super::show;
use crate::Entry;
use crate::limits::KEPT_READ_BUFFER_BYTES;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Files that a thread takes at a time.
const CHUNK: usize = 16;

/// Bytes that are read behind a piece: its last line ends there, nearly always.
const OVERRUN: u64 = 512;

/// What became of an attempt to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// Its bytes are there.
    Done,
    /// They aren't.
    Not(Why),
}

/// Why a file wasn't searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Why {
    /// There is no such file any more.
    Gone,
    /// It isn't what was indexed any more.
    Changed,
    /// The system doesn't let it be read.
    Unreadable,
    /// It is larger than the limit.
    TooLarge,
    /// It holds a NUL byte.
    Binary,
}

/// What is wanted of a search.
#[derive(Clone, Copy)]
pub(crate) struct Options<'a> {
    /// Lines shown before and after each line.
    pub context: usize,
    /// Lines left out at the beginning.
    pub offset: usize,
    /// Lines kept.
    pub limit: usize,
    /// Threads that search, this one among them; at least one.
    pub threads: usize,
    /// Asked between files: is it time to stop?
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundLine {
    /// Its file: the position in what was searched.
    pub entry: usize,
    /// From 1.
    pub line: u64,
    /// The line without its break; what isn't UTF-8 is replaced.
    pub text: String,
    /// Bytes of the line that stand before `text`: 0 unless it is so long that the first match would not be seen.
    pub skipped: usize,
    /// `text` isn't the whole line, or a line before or after it isn't whole.
    pub is_cut: bool,
    /// What matched: byte ranges of `text`, begin and end, as far as they can be seen in it.
    pub matches: Vec<(usize, usize)>,
    /// Lines before it.
    pub before: Vec<String>,
    /// Lines after it.
    pub after: Vec<String>,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Ordered by file and line.
    pub lines: Vec<FoundLine>,
    /// All matching lines, kept or not.
    pub total: u64,
    /// Files that have one.
    pub files: u64,
    /// Files that weren't searched, in order.
    pub unread: Vec<(usize, Why)>,
    /// It wasn't stopped: all files were searched but those in `unread`.
    pub is_complete: bool,
}

/// What was said of which file.
type Looks<T> = Vec<(usize, Result<T, Why>)>;

/// A file that is searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Searched<'a> {
    /// The file.
    pub entry: &'a Entry,
    /// Where all its matches are; `None`: anywhere.
    pub piece: Option<Piece>,
}

/// Where the files' bytes come from. It is asked from all threads.
pub(crate) trait Source: Sync {
    /// Reads a file, as it is on the disk, into the buffer, which is empty.
    fn read(&self, entry: &Entry, into: &mut Vec<u8>) -> Read;

    /// Reads so many bytes of a file from there on, or as many as there are, in place of what is in the buffer; `None`: only whole files
    /// are read.
    fn read_piece(&self, _entry: &Entry, _from: u64, _length: u64, _into: &mut Vec<u8>) -> Option<Read> {
        None
    }
}

impl<F: Fn(&Entry, &mut Vec<u8>) -> Read + Sync> Source for F {
    fn read(&self, entry: &Entry, into: &mut Vec<u8>) -> Read {
        self(entry, into)
    }
}

/// Searches `files`, which are in the order in which lines are wanted.
pub(crate) fn search(pattern: &Pattern, files: &[Searched<'_>], source: &dyn Source, options: &Options<'_>) -> Found {
    let hits = AtomicU64::new(0);
    let (offset, limit) = (options.offset as u64, options.limit as u64);
    // Lines are kept at once while it may be that they are wanted; what has more before it is only counted.
    let first = |at: usize, worker: &mut Worker<'_>| {
        let wanted = if offset == 0 && hits.load(Ordering::Relaxed) < limit { options.limit } else { 0 };
        let looked = worker.look(files[at], at, 0, wanted, options.context);
        if let Ok(look) = &looked {
            hits.fetch_add(look.count, Ordering::Relaxed);
        }
        let has_kept = wanted > 0;
        looked.map(|look| (look, has_kept))
    };
    let (looked, is_complete) = on_threads(pattern, source, options, files.len(), first);
    let mut found = Found { is_complete, ..Found::default() };
    // Which lines of which file are wanted, and whether they are there already.
    let mut wanted = Vec::new();
    for (at, looked) in looked {
        match looked {
            Err(why) => found.unread.push((at, why)),
            Ok((look, has_kept)) => {
                let skip = offset.saturating_sub(found.total).min(look.count);
                let kept = wanted.iter().map(|want: &Want| want.take).sum::<u64>();
                let take = (look.count - skip).min(limit - kept);
                found.total += look.count;
                found.files += 1;
                if take > 0 {
                    wanted.push(Want { at, skip, take, count: look.count, lines: has_kept.then_some(look.lines) });
                }
            }
        }
    }
    found.keep(pattern, files, source, options, wanted);
    found
}

/// Lines of one file that are wanted.
struct Want {
    at: usize,
    skip: u64,
    take: u64,
    /// How many there were when they were counted.
    count: u64,
    lines: Option<Vec<FoundLine>>,
}

impl Found {
    fn keep(
        &mut self,
        pattern: &Pattern,
        files: &[Searched<'_>],
        source: &dyn Source,
        options: &Options<'_>,
        wants: Vec<Want>,
    ) {
        let missing: Vec<&Want> = wants.iter().filter(|want| want.lines.is_none()).collect();
        let again = |at: usize, worker: &mut Worker<'_>| {
            let want = missing[at];
            worker.look(files[want.at], want.at, want.skip, want.take as usize, options.context)
        };
        let (looked, is_complete) = on_threads(pattern, source, options, missing.len(), again);
        self.is_complete &= is_complete;
        let places: Vec<usize> = missing.iter().map(|want| want.at).collect();
        let mut looked = looked.into_iter().map(|(at, looked)| (places[at], looked)).peekable();
        for want in wants {
            let take = want.take as usize;
            if let Some(lines) = want.lines {
                self.lines.extend(lines.into_iter().take(take));
                continue;
            }
            // Those that weren't reached before it was stopped have no answer.
            let Some((_, looked)) = looked.next_if(|(at, _)| *at == want.at) else { continue };
            match looked {
                Ok(look) if look.count == want.count => self.lines.extend(look.lines),
                // It has changed since it was counted.
                other => {
                    self.total -= want.count;
                    self.files -= 1;
                    self.unread.push((want.at, other.err().unwrap_or(Why::Changed)));
                }
            }
        }
        self.unread.sort_unstable();
    }
}

/// What `task` says of each of so many files that says anything, in order; and whether all were asked.
fn on_threads<T: Looked + Send>(
    pattern: &Pattern,
    source: &dyn Source,
    options: &Options<'_>,
    count: usize,
    task: impl Fn(usize, &mut Worker<'_>) -> Result<T, Why> + Sync,
) -> (Looks<T>, bool) {
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut worker = Worker::new(pattern, source);
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            for at in from..count.min(from.saturating_add(CHUNK)) {
                if stopped.load(Ordering::Relaxed) || (options.stop)() {
                    stopped.store(true, Ordering::Relaxed);
                    return done;
                }
                let looked = task(at, &mut worker);
                if looked.as_ref().map_or(true, Looked::has_any) {
                    done.push((at, looked));
                }
            }
            if from >= count {
                return done;
            }
        }
    };
    let threads = options.threads.clamp(1, count.div_ceil(CHUNK).max(1));
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

/// What a thread searches with.
struct Worker<'a> {
    matcher: RegexMatcher,
    counting: Searcher,
    numbering: Searcher,
    source: &'a dyn Source,
    /// Whether lines can be told to match without the file around them.
    by_line: bool,
    bytes: Vec<u8>,
}

/// What was found in one file.
struct Look {
    /// All matching lines.
    count: u64,
    lines: Vec<FoundLine>,
}

/// Whether there is anything worth remembering.
trait Looked {
    fn has_any(&self) -> bool;
}

impl Looked for Look {
    fn has_any(&self) -> bool {
        self.count > 0
    }
}

impl Looked for (Look, bool) {
    fn has_any(&self) -> bool {
        self.0.has_any()
    }
}

impl<'a> Worker<'a> {
    fn new(pattern: &Pattern, source: &'a dyn Source) -> Self {
        let searcher = |with_numbers| {
            let mut builder = SearcherBuilder::new();
            builder.line_number(with_numbers).binary_detection(BinaryDetection::none());
            // The text was decoded before.
            builder.bom_sniffing(false).multi_line(false).build()
        };
        let (counting, numbering) = (searcher(false), searcher(true));
        // A clone has caches of its own, so that threads don't wait for each other.
        let (matcher, by_line) = (pattern.matcher.clone(), pattern.by_line);
        Self { matcher, counting, numbering, source, by_line, bytes: Vec::new() }
    }

    /// Reads a file, counts its matching lines and keeps `take` of them after the first `skip`.
    fn look(&mut self, file: Searched<'_>, at: usize, skip: u64, take: usize, context: usize) -> Result<Look, Why> {
        self.bytes.truncate(KEPT_READ_BUFFER_BYTES);
        self.bytes.shrink_to(KEPT_READ_BUFFER_BYTES);
        let mut tally = Tally { count: 0, skip, take, places: Vec::new() };
        // To count lines the piece is enough; their numbers are known only from the beginning on.
        let piece = file.piece.filter(|_| take == 0 && self.by_line);
        if let Some(piece) = piece
            && let Some(lines) = self.read_piece(file.entry, piece)?
        {
            let text = self.bytes.get(lines).unwrap_or_default();
            self.counting.search_slice(&self.matcher, text, &mut tally).map_err(|_| Why::Unreadable)?;
            return counted(tally.count, text).map(|count| Look { count, lines: Vec::new() });
        }
        self.bytes.clear();
        if let Read::Not(why) = self.source.read(file.entry, &mut self.bytes) {
            return Err(why);
        }
        let text = decode(&self.bytes);
        let searcher = if take > 0 { &mut self.numbering } else { &mut self.counting };
        searcher.search_slice(&self.matcher, &text, &mut tally).map_err(|_| Why::Unreadable)?;
        let count = counted(tally.count, &text)?;
        let shown = tally.places.iter().map(|place| show::line(&self.matcher, &text, at, *place, context));
        Ok(Look { count, lines: shown.collect() })
    }

    /// Where in the buffer the lines of a piece are then; `None`: the whole file is to be read.
    fn read_piece(&mut self, entry: &Entry, piece: Piece) -> Result<Option<Range<usize>>, Why> {
        // The byte before it says whether a line begins with it.
        let from = piece.from.saturating_sub(1);
        let length = piece.to - from + OVERRUN;
        match self.source.read_piece(entry, from, length, &mut self.bytes) {
            Some(Read::Done) => {}
            Some(Read::Not(why)) => return Err(why),
            None => return Ok(None),
        }
        let bytes = self.bytes.as_slice();
        let begin = line_from(bytes, (piece.from - from) as usize);
        let end = line_from(bytes, (piece.to - from) as usize);
        let is_whole = (bytes.len() as u64) < length || end < bytes.len() || bytes.ends_with(b"\n");
        let is_plain = from > 0 || is_as_it_lies(bytes);
        Ok((is_whole && is_plain).then_some(begin..end.max(begin)))
    }
}

/// So many lines, if what they stand in is a text.
fn counted(lines: u64, text: &[u8]) -> Result<u64, Why> {
    if lines > 0 && is_binary(text) { Err(Why::Binary) } else { Ok(lines) }
}

/// Where a line stands in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// From 1.
    pub(super) number: u64,
    /// Its first byte.
    pub(super) start: usize,
    /// Behind its last byte, its break among them.
    pub(super) end: usize,
}

/// Counts lines, and remembers some.
struct Tally {
    count: u64,
    skip: u64,
    take: usize,
    places: Vec<Place>,
}

impl Sink for Tally {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.count >= self.skip && self.places.len() < self.take {
            let start = found.absolute_byte_offset() as usize;
            let end = start + found.bytes().len();
            self.places.push(Place { number: found.line_number().unwrap_or(0), start, end });
        }
        self.count += 1;
        Ok(true)
    }
}
