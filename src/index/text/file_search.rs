//! The search of one file: reads it or a piece of it, counts its matching lines, and formats the requested ones.
//!
//! Invariant: the result depends only on the file's bytes and the pattern.

use super::candidate_set::FilePiece;
use super::content_parts::line_from;
use super::decode::{decode, is_binary, is_stored_verbatim};
use super::line_display;
use super::line_ends::has_other_line_ends;
use super::pattern::Pattern;
use super::search::{ContentSource, FileReadOutcome, LineMatch, SearchedFile, UnreadReason};
use crate::ManifestEntry;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Read buffer that a searching thread keeps from one file to the next, in bytes.
const KEPT_READ_BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that are read after a piece, because its last line may end there.
const PIECE_OVERRUN_BYTES: u64 = 512;

/// The searchers and the buffer of one thread.
pub(super) struct SearchWorker<'a> {
    matcher: RegexMatcher,
    conditions: Arc<[(RegexMatcher, bool)]>,
    counting: Searcher,
    numbering: Searcher,
    source: &'a dyn ContentSource,
    /// See [`Pattern::is_line_local`].
    is_line_local: bool,
    bytes: Vec<u8>,
}

pub(super) struct FileMatches {
    /// The number of matching lines.
    pub(super) count: u64,
    /// The requested lines.
    pub(super) lines: Vec<LineMatch>,
}

/// Results that can be empty.
pub(super) trait HasMatches {
    /// Whether there is a match.
    fn has_any(&self) -> bool;
}

impl HasMatches for FileMatches {
    fn has_any(&self) -> bool {
        self.count > 0
    }
}

impl HasMatches for (FileMatches, bool) {
    fn has_any(&self) -> bool {
        self.0.has_any()
    }
}

impl<'a> SearchWorker<'a> {
    /// A worker for one thread.
    pub(super) fn new(pattern: &Pattern, source: &'a dyn ContentSource) -> Self {
        let searcher = |with_numbers| {
            let mut builder = SearcherBuilder::new();
            builder.line_number(with_numbers).binary_detection(BinaryDetection::none());
            // The text is decoded already.
            builder.bom_sniffing(false).multi_line(false).build()
        };
        let counting = searcher(false);
        let numbering = searcher(true);
        // Each clone of the matcher has its own caches, so threads don't contend for them.
        let matcher = pattern.matcher.clone();
        let is_line_local = pattern.is_line_local;
        let conditions = pattern.conditions.clone().into();
        Self { matcher, conditions, counting, numbering, source, is_line_local, bytes: Vec::new() }
    }

    /// Reads a file, counts its matching lines, and keeps `take` of them after the first `skip`.
    pub(super) fn search_file(
        &mut self,
        file: SearchedFile<'_>,
        at: usize,
        skip: u64,
        take: usize,
        context: usize,
    ) -> Result<FileMatches, UnreadReason> {
        self.bytes.truncate(KEPT_READ_BUFFER_BYTES);
        self.bytes.shrink_to(KEPT_READ_BUFFER_BYTES);
        let conditions = Arc::clone(&self.conditions);
        let mut collector = LineCollector { count: 0, skip, take, lines: Vec::new(), conditions };
        // Counting needs only the piece. Line numbers need the whole file.
        let piece = file.piece.filter(|_| take == 0 && self.is_line_local);
        if let Some(piece) = piece
            && let Some(lines) = self.read_piece(file.entry, piece)?
        {
            let text = self.bytes.get(lines).unwrap_or_default();
            self.counting.search_slice(&self.matcher, text, &mut collector).map_err(|_| UnreadReason::Unreadable)?;
            return count_in_text(collector.count, text).map(|count| FileMatches { count, lines: Vec::new() });
        }
        self.bytes.clear();
        if let FileReadOutcome::Failed(reason) = self.source.read(file.entry, &mut self.bytes) {
            return Err(reason);
        }
        let text = decode(&self.bytes);
        let searcher = if take > 0 { &mut self.numbering } else { &mut self.counting };
        searcher.search_slice(&self.matcher, &text, &mut collector).map_err(|_| UnreadReason::Unreadable)?;
        let count = count_in_text(collector.count, &text)?;
        let is_numbered_otherwise = !collector.lines.is_empty() && has_other_line_ends(&text);
        let lines = collector.lines.iter().map(|line| {
            let shown = line_display::display_line(&self.matcher, &text, at, *line, context);
            LineMatch { is_numbered_otherwise, ..shown }
        });
        Ok(FileMatches { count, lines: lines.collect() })
    }

    /// Reads a piece. Returns the range of its lines in the buffer; `None` if the whole file must be read.
    fn read_piece(&mut self, entry: &ManifestEntry, piece: FilePiece) -> Result<Option<Range<usize>>, UnreadReason> {
        // The byte before the piece shows whether a line begins at the piece.
        let from = piece.from.saturating_sub(1);
        let length = piece.to - from + PIECE_OVERRUN_BYTES;
        match self.source.read_piece(entry, from, length, &mut self.bytes) {
            Some(FileReadOutcome::Done) => {}
            Some(FileReadOutcome::Failed(reason)) => return Err(reason),
            None => return Ok(None),
        }
        let bytes = self.bytes.as_slice();
        let begin = line_from(bytes, (piece.from - from) as usize);
        let end = line_from(bytes, (piece.to - from) as usize);
        let is_whole = (bytes.len() as u64) < length || end < bytes.len() || bytes.ends_with(b"\n");
        let is_verbatim = from > 0 || is_stored_verbatim(bytes);
        Ok((is_whole && is_verbatim).then_some(begin..end.max(begin)))
    }
}

/// The number of matching lines, unless the text is binary.
fn count_in_text(lines: u64, text: &[u8]) -> Result<u64, UnreadReason> {
    if lines > 0 && is_binary(text) { Err(UnreadReason::Binary) } else { Ok(lines) }
}

/// The position of a line in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineRange {
    /// The line's number, from 1.
    pub(super) number: u64,
    /// The offset of its first byte.
    pub(super) start: usize,
    /// The offset after its line break.
    pub(super) end: usize,
}

/// Counts matching lines, and collects the positions of some.
struct LineCollector {
    count: u64,
    skip: u64,
    take: usize,
    lines: Vec<LineRange>,
    conditions: Arc<[(RegexMatcher, bool)]>,
}

impl Sink for LineCollector {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let holds = |(matcher, is_excluded): &(RegexMatcher, bool)| {
            // The matcher has no errors.
            matcher.is_match(found.bytes()).unwrap_or(false) != *is_excluded
        };
        if !self.conditions.iter().all(holds) {
            return Ok(true);
        }
        if self.count >= self.skip && self.lines.len() < self.take {
            let start = found.absolute_byte_offset() as usize;
            let end = start + found.bytes().len();
            self.lines.push(LineRange { number: found.line_number().unwrap_or(0), start, end });
        }
        self.count += 1;
        Ok(true)
    }
}
