//! Counting reads only pieces of large files, and the counts are the same.

use super::super::content_parts::{PART_BYTES, split};
use super::super::{GramPlan, SegmentCandidates};
use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_belong_to_the_part_that_they_begin_in(
        lengths in prop::collection::vec(prop_oneof![6 => 0..30_usize, 1 => 50..200_usize], 0..40),
        has_last_break in any::<bool>(),
    ) {
        let mut text: Vec<u8> = lengths.iter().flat_map(|length| ["x".repeat(*length), "\n".to_owned()]).collect::<String>().into();
        if !has_last_break {
            text.pop();
        }
        let parts = split(&text);
        prop_assert_eq!(parts.len(), text.len().div_ceil(PART_BYTES).max(1));
        prop_assert_eq!(parts.concat(), text.clone());
        let mut begin = 0;
        for (part, lines) in parts.iter().enumerate() {
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                prop_assert_eq!(begin / PART_BYTES, part);
                begin += line.len();
                prop_assert!(line.ends_with(b"\n") || begin == text.len());
            }
        }
    }
}

/// Counts the bytes that are read.
struct CountingSource<'a>(Memory<'a>, AtomicU64);

impl ContentSource for CountingSource<'_> {
    fn read(&self, entry: &ManifestEntry, into: &mut Vec<u8>) -> FileReadOutcome {
        let read = self.0.read(entry, into);
        self.1.fetch_add(into.len() as u64, Ordering::Relaxed);
        read
    }

    fn read_piece(&self, entry: &ManifestEntry, from: u64, length: u64, into: &mut Vec<u8>) -> Option<FileReadOutcome> {
        let read = self.0.read_piece(entry, from, length, into);
        self.1.fetch_add(into.len() as u64, Ordering::Relaxed);
        read
    }
}

/// The number of matching lines, of files with matches, and of bytes read.
fn count(files: &[File], pattern: &str, flags: &str, options: &SearchOptions<'_>) -> (u64, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(files, &folder.path().join("segment"));
    let entries = entries(files);
    let pattern = Pattern::new(&query(pattern, flags)).unwrap();
    let candidates = CandidateSet::from_segments([&segment], pattern.plan()).unwrap();
    let left = entries.iter().filter(|entry| candidates.may_match(entry.content));
    let left: Vec<_> = left.map(|entry| SearchedFile { entry, piece: candidates.piece(entry) }).collect();
    let source = CountingSource(Memory(files), AtomicU64::new(0));
    let found = search(&pattern, &left, &source, options);
    (found.total, found.files, source.1.into_inner())
}

const COUNT_ONLY: SearchOptions<'static> = SearchOptions { limit: 0, ..ALL };

/// A thousand lines; line `line` contains `needle`.
fn lines_with_needle(line: usize) -> Vec<u8> {
    let lines =
        (0..1_000).map(|number| if number == line { "a needle\n".to_owned() } else { format!("line {number}\n") });
    lines.collect::<String>().into_bytes()
}

#[test]
fn counting_reads_only_a_piece_of_a_large_file() {
    for line in [0, 1, 500, 998, 999] {
        let files = [("hay".to_owned(), lines_with_needle(line))];
        let (total, with, read) = count(&files, "needle", "F", &COUNT_ONLY);
        assert_eq!((total, with), (1, 1), "{line}");
        assert!(read < 1_000 && files[0].1.len() > 8_000, "{read}");
        // Line numbers need everything before the lines.
        assert!(count(&files, "needle", "F", &ALL).2 > 8_000);
    }
}

#[test]
fn anchors_of_the_whole_text_read_the_whole_file() {
    let files = [("hay".to_owned(), lines_with_needle(500))];
    for pattern in ["\\Aa needle", "needle\\z", "(?:\\A|a )needle"] {
        assert_eq!(count(&files, pattern, "", &COUNT_ONLY).2, files[0].1.len() as u64);
    }
    let (total, _, read) = count(&files, "^a needle$", "", &COUNT_ONLY);
    assert!(total == 1 && read < 1_000);
    // A line longer than the bytes that are read after a piece.
    let long =
        [b"a\n".repeat(300), b"a needle".to_vec(), b"-".repeat(5_000), b"\n".to_vec(), b"b\n".repeat(9_000)].concat();
    let long = [("long".to_owned(), long)];
    let (total, with, read) = count(&long, "needle.*-$", "", &COUNT_ONLY);
    assert_eq!((total, with), (1, 1));
    assert!(read >= long[0].1.len() as u64);
}

#[test]
fn files_that_must_be_decoded_are_read_whole() {
    let text = String::from_utf8(lines_with_needle(700)).unwrap();
    let files = [
        ("bom".to_owned(), ["\u{feff}", &text].concat().into_bytes()),
        ("le".to_owned(), utf16(&text, u16::to_le_bytes)),
        ("be".to_owned(), utf16(&text, u16::to_be_bytes)),
        ("wide".to_owned(), utf16(&text.replace("line", "漢字漢字漢字"), u16::to_be_bytes)),
    ];
    let all: u64 = files.iter().map(|file| file.1.len() as u64).sum();
    assert_eq!(count(&files, "needle", "F", &COUNT_ONLY), (4, 4, all));
}

#[test]
fn changed_files_are_still_counted_by_whole_lines() {
    let indexed = [("hay".to_owned(), lines_with_needle(500))];
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&indexed, &folder.path().join("segment"));
    let pattern = Pattern::new(&query("needle", "F")).unwrap();
    let candidates = CandidateSet::from_segments([&segment], pattern.plan()).unwrap();
    let entries = entries(&indexed);
    let left = [SearchedFile { entry: &entries[0], piece: candidates.piece(&entries[0]) }];
    assert!(left[0].piece.is_some());
    for (now, total) in
        [(Vec::new(), 0), (b"needle".to_vec(), 0), (b"needle ".repeat(900), 1), (lines_with_needle(2), 0)]
    {
        let now = [("hay".to_owned(), now)];
        let found = search(&pattern, &left, &Memory(&now), &COUNT_ONLY);
        assert_eq!((found.total, found.unread.len()), (total, 0));
    }
    // The file now must be decoded.
    let now = [("hay".to_owned(), utf16("a needle\n", u16::to_le_bytes))];
    let left = [SearchedFile { piece: Some(FilePiece { from: 0, to: 64 }), ..left[0] }];
    assert_eq!(search(&pattern, &left, &Memory(&now), &COUNT_ONLY).total, 1);
}

/// The plan without its long grams.
fn by_trigrams(plan: &GramPlan) -> GramPlan {
    match plan {
        GramPlan::Long(_) => GramPlan::All,
        GramPlan::And(parts) => GramPlan::and(parts.iter().map(by_trigrams)),
        GramPlan::Or(parts) => GramPlan::or(parts.iter().map(by_trigrams)),
        other => other.clone(),
    }
}

#[test]
fn long_grams_exclude_more_files_than_trigrams() {
    // Names made of the same syllables, so all files have their trigrams.
    let syllables = ["sel", "lec", "ect", "cto", "tor", "ele", "tim", "ime", "med", "Tim"];
    let name = |seed: usize| -> String {
        (0..3).map(|place| syllables[(seed / 10_usize.pow(place)) % syllables.len()]).collect()
    };
    let line = |file: usize, line: usize| format!("{} {}\n", name(file * 37 + line * 101), name(file * 7 + line * 13));
    let files: Vec<File> = (0..200)
        .map(|file| (format!("{file:03}"), (0..40).map(|at| line(file, at)).collect::<String>().into()))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&files, &folder.path().join("segment"));
    let left = |plan: &GramPlan| match segment.candidates(plan).unwrap() {
        SegmentCandidates::All => files.len(),
        SegmentCandidates::Some(some) => some.len(),
    };
    let mut sums = (0, 0);
    for pattern in ["selec", "timed", "Timed", "Timec", "imele", "lector", "toret", "electo"] {
        let plan = Pattern::new(&query(pattern, "F")).unwrap().plan().clone();
        let holds = |file: &&File| String::from_utf8_lossy(&file.1).contains(pattern);
        let with = files.iter().filter(holds).count();
        let long = left(&plan);
        let short = left(&by_trigrams(&plan));
        assert!(with <= long && long <= short, "{pattern}: {with} {long} {short}");
        sums = (sums.0 + long - with, sums.1 + short - with);
    }
    assert!(sums.0 * 10 < sums.1, "{sums:?}");
}
