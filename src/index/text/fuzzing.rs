//! Entries for the fuzz targets `segments` and `merges` in `tests/fuzz`: the reader of segments over bytes in memory, merging, and the
//! candidates of all segments together.
//!
//! Compiled with `--cfg fuzzing` only, which cargo-fuzz sets; no build of codeyard contains it. Checksums keep random bytes away from the
//! code behind them, so [`sealed`] corrects the checksums of a damaged segment, as a forger would.

use super::candidate_set::{CandidateSet, SegmentCandidates};
use super::checksum::checksum;
use super::footer::{FOOTER_BYTES, MAGIC, VERSION};
use super::merge::merge;
use super::pattern::{Pattern, TextQuery};
use super::posting_lists::take_varint;
use super::segment::Segment;
use super::writer::SegmentWriter;
use crate::{ContentNo, FileClass, ManifestEntry};
use codeyard_model::code::CaseRule;
use rustix::fs::MemfdFlags;
use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A content that may match, its parts that may match, and the number of its parts.
pub type Candidate = (ContentNo, Range<u32>, u32);

/// What a segment answers.
#[derive(Debug)]
pub struct SegmentAnswers {
    pub contents: Vec<ContentNo>,
    /// Whether all its sections are whole.
    pub verified: io::Result<()>,
    /// The candidates of each pattern; `None` for all contents.
    pub candidates: Vec<io::Result<Option<Vec<Candidate>>>>,
}

/// Opens the segment with these bytes and asks it everything.
///
/// # Errors
/// As [`Segment::open`].
pub fn answers(bytes: &[u8]) -> io::Result<SegmentAnswers> {
    thread_local! {
        static FILE: File = rustix::fs::memfd_create("segment", MemfdFlags::CLOEXEC).unwrap().into();
        static PATTERNS: OnceCell<Vec<Pattern>> = const { OnceCell::new() };
    }
    let file = FILE.with(|file| {
        file.set_len(0)?;
        file.write_all_at(bytes, 0)?;
        file.try_clone()
    })?;
    let segment = Segment::of_file(file)?;
    let of_pattern = |pattern: &Pattern| {
        Ok(match segment.candidates(pattern.plan())? {
            SegmentCandidates::All => None,
            SegmentCandidates::Some(spans) => {
                Some(spans.into_iter().map(|span| (span.content, span.parts, span.of)).collect())
            }
        })
    };
    let candidates = PATTERNS.with(|patterns| patterns.get_or_init(patterns_asked).iter().map(of_pattern).collect());
    Ok(SegmentAnswers { contents: segment.contents().to_vec(), verified: segment.verify(), candidates })
}

/// Patterns whose plans have trigrams, long grams, pairs, conjunctions and disjunctions.
fn patterns_asked() -> Vec<Pattern> {
    let queries = [("word", false), ("common text", false), ("2 ", false), ("(word1|nowhere).*number[ab]", true)];
    let pattern = |(pattern, is_regex): (&str, bool)| {
        Pattern::new(&TextQuery { pattern: pattern.to_owned(), is_regex, case: CaseRule::Insensitive, word: false })
    };
    queries.map(|query| pattern(query).unwrap()).into()
}

/// The bytes of a segment of these texts. `folder` is for temporary files.
///
/// # Errors
/// Those of the file system.
pub fn written<'t>(folder: &Path, texts: impl IntoIterator<Item = (ContentNo, &'t [u8])>) -> io::Result<Vec<u8>> {
    let path = folder.join("segment");
    let writer = SegmentWriter::create(&path, 1, u64::MAX)?;
    for (content, text) in texts {
        writer.add(content, text)?;
    }
    writer.finish()?;
    std::fs::read(&path)
}

/// Segments, as a search opens them.
pub struct OpenSegments(Vec<Segment>);

impl OpenSegments {
    /// Opens the segments with these bytes.
    ///
    /// # Errors
    /// As [`Segment::open`].
    pub fn of(segments: &[Vec<u8>]) -> io::Result<Self> {
        let open = |bytes: &Vec<u8>| {
            let file = File::from(rustix::fs::memfd_create("segment", MemfdFlags::CLOEXEC)?);
            file.write_all_at(bytes, 0)?;
            Segment::of_file(file)
        };
        segments.iter().map(open).collect::<io::Result<_>>().map(Self)
    }

    /// The bytes of the segment into which they are merged.
    ///
    /// # Errors
    /// As [`merge`].
    pub fn merged(&self, keep: &dyn Fn(ContentNo) -> bool, folder: &Path) -> io::Result<Vec<u8>> {
        let path = folder.join("merged");
        merge(&self.0.iter().collect::<Vec<_>>(), keep, &path)?;
        std::fs::read(&path)
    }

    /// The range of a file's bytes in which the lines begin that a search for `text` looks at, for each content and the size of its file;
    /// `None` if it doesn't look at the content; nothing if the text can't be searched for.
    ///
    /// # Errors
    /// As [`Segment::candidates`].
    pub fn searched(
        &self,
        text: &str,
        case: CaseRule,
        files: impl IntoIterator<Item = (ContentNo, u64)>,
    ) -> io::Result<Option<Vec<Option<Range<u64>>>>> {
        let query = TextQuery { pattern: text.to_owned(), is_regex: false, case, word: false };
        let Ok(pattern) = Pattern::new(&query) else { return Ok(None) };
        let candidates = CandidateSet::from_segments(&self.0, pattern.plan())?;
        let of_one = |(content, size)| {
            let path = Box::default();
            let entry = ManifestEntry { path, content, language: None, size, class: FileClass::default() };
            let piece = candidates.piece(&entry).map_or(0..size, |piece| piece.from..piece.to);
            candidates.may_match(content).then_some(piece)
        };
        Ok(Some(files.into_iter().map(of_one).collect()))
    }
}

/// Makes the checksums, the magic bytes and the version of a segment right, as far as its offsets lead anywhere.
pub fn sealed(bytes: &mut [u8]) {
    let Some(footer_at) = bytes.len().checked_sub(FOOTER_BYTES) else { return };
    let sections: Vec<usize> = (0..3).map(|number| number_at::<8>(bytes, footer_at + 8 * number)).collect();
    let table = sections[1]..sections[2];
    let contents = sections[2]..footer_at;
    if let Some(rows) = bytes.get(table.clone()).map(|table| table.len() / ROW_BYTES) {
        for row in 0..rows {
            seal_block(bytes, table.start + row * ROW_BYTES);
        }
        seal(bytes, table, footer_at + 36);
    }
    seal(bytes, contents, footer_at + 40);
    bytes[footer_at + 56..footer_at + 60].copy_from_slice(&VERSION.to_le_bytes());
    bytes[footer_at + 64..].copy_from_slice(&MAGIC);
    seal(bytes, footer_at..footer_at + 60, footer_at + 60);
}

/// Bytes of a row in the table of blocks.
const ROW_BYTES: usize = 28;

/// Corrects the checksums of the lists of one block, and of the block.
fn seal_block(bytes: &mut [u8], row: usize) {
    let mut list = number_at::<8>(bytes, row + 4);
    let at = number_at::<8>(bytes, row + 12);
    let end = at.saturating_add(number_at::<4>(bytes, row + 20));
    let mut place = at;
    while place < end && end <= bytes.len() {
        let mut rest = &bytes[place..end];
        let (Some(_), Some(packed)) = (take_varint(&mut rest), take_varint(&mut rest)) else { break };
        if packed & 7 < 7 {
            place = end - rest.len() + (packed & 7) as usize;
            continue;
        }
        let Some(stored) = take_varint(&mut rest) else { break };
        let word = end - rest.len();
        let list_end = list.saturating_add(stored as usize);
        seal(bytes, list..list_end, word);
        (list, place) = (list_end, word + 4);
    }
    seal(bytes, at..end, row + 24);
}

/// Writes the checksum of a range to `at`, if both exist.
fn seal(bytes: &mut [u8], range: Range<usize>, at: usize) {
    if let Some(sum) = bytes.get(range).map(checksum)
        && let Some(place) = bytes.get_mut(at..at + 4)
    {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// The little-endian number of `N` bytes at `at`; 0 if it isn't there.
fn number_at<const N: usize>(bytes: &[u8], at: usize) -> usize {
    let mut number = [0; 8];
    if let Some(found) = bytes.get(at..at.saturating_add(N)) {
        number[..N].copy_from_slice(found);
    }
    u64::from_le_bytes(number) as usize
}
