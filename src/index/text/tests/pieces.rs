//! Of a large file only a piece is read where that is enough, and nothing is lost by that.

use super::super::parts::{PART_BYTES, split};
use super::super::{Candidates, Plan};
use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_in_the_part_that_it_begins_in(
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
struct Counting<'a>(Memory<'a>, AtomicU64);

impl Source for Counting<'_> {
    fn read(&self, entry: &Entry, into: &mut Vec<u8>) -> Read {
        let read = self.0.read(entry, into);
        self.1.fetch_add(into.len() as u64, Ordering::Relaxed);
        read
    }

    fn read_piece(&self, entry: &Entry, from: u64, length: u64, into: &mut Vec<u8>) -> Option<Read> {
        let read = self.0.read_piece(entry, from, length, into);
        self.1.fetch_add(into.len() as u64, Ordering::Relaxed);
        read
    }
}

/// How many lines match, of how many files, and how many bytes were read for it.
fn count(files: &[File], pattern: &str, flags: &str, options: &Options<'_>) -> (u64, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(files, &folder.path().join("segment"));
    let (entries, pattern) = (entries(files), Pattern::new(&ask(pattern, flags)).unwrap());
    let narrowed = Narrowed::by([&segment], pattern.plan()).unwrap();
    let left = entries.iter().filter(|entry| narrowed.may_match(entry.content));
    let left: Vec<_> = left.map(|entry| Searched { entry, piece: narrowed.piece(entry) }).collect();
    let source = Counting(Memory(files), AtomicU64::new(0));
    let found = search(&pattern, &left, &source, options);
    (found.total, found.files, source.1.into_inner())
}

const COUNTED: Options<'static> = Options { limit: 0, ..ALL };

/// Many lines, one of them with a needle.
fn hay(line: usize) -> Vec<u8> {
    let lines =
        (0..1_000).map(|number| if number == line { "a needle\n".to_owned() } else { format!("line {number}\n") });
    lines.collect::<String>().into_bytes()
}

#[test]
fn only_a_piece_of_a_large_file_is_read_to_count_its_lines() {
    for line in [0, 1, 500, 998, 999] {
        let files = [("hay".to_owned(), hay(line))];
        let (total, with, read) = count(&files, "needle", "F", &COUNTED);
        assert_eq!((total, with), (1, 1), "{line}");
        assert!(read < 1_000 && files[0].1.len() > 8_000, "{read}");
        // The lines' numbers need all that is before them.
        assert!(count(&files, "needle", "F", &ALL).2 > 8_000);
    }
}

#[test]
fn what_hangs_on_the_whole_file_is_looked_for_in_all_of_it() {
    let files = [("hay".to_owned(), hay(500))];
    for pattern in ["\\Aa needle", "needle\\z", "(?:\\A|a )needle"] {
        assert_eq!(count(&files, pattern, "", &COUNTED).2, files[0].1.len() as u64);
    }
    let (total, _, read) = count(&files, "^a needle$", "", &COUNTED);
    assert!(total == 1 && read < 1_000);
    // A line that is longer than what is read behind a piece.
    let long =
        [b"a\n".repeat(300), b"a needle".to_vec(), b"-".repeat(5_000), b"\n".to_vec(), b"b\n".repeat(9_000)].concat();
    let long = [("long".to_owned(), long)];
    let (total, with, read) = count(&long, "needle.*-$", "", &COUNTED);
    assert_eq!((total, with), (1, 1));
    assert!(read >= long[0].1.len() as u64);
}

#[test]
fn what_is_not_searched_as_it_lies_there_is_read_whole() {
    let text = String::from_utf8(hay(700)).unwrap();
    let files = [
        ("bom".to_owned(), ["\u{feff}", &text].concat().into_bytes()),
        ("le".to_owned(), utf16(&text, u16::to_le_bytes)),
        ("be".to_owned(), utf16(&text, u16::to_be_bytes)),
        ("wide".to_owned(), utf16(&text.replace("line", "漢字漢字漢字"), u16::to_be_bytes)),
    ];
    let all: u64 = files.iter().map(|file| file.1.len() as u64).sum();
    assert_eq!(count(&files, "needle", "F", &COUNTED), (4, 4, all));
}

#[test]
fn what_has_changed_since_is_still_counted_in_whole_lines() {
    let indexed = [("hay".to_owned(), hay(500))];
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&indexed, &folder.path().join("segment"));
    let pattern = Pattern::new(&ask("needle", "F")).unwrap();
    let narrowed = Narrowed::by([&segment], pattern.plan()).unwrap();
    let entries = entries(&indexed);
    let left = [Searched { entry: &entries[0], piece: narrowed.piece(&entries[0]) }];
    assert!(left[0].piece.is_some());
    for (now, total) in [(Vec::new(), 0), (b"needle".to_vec(), 0), (b"needle ".repeat(900), 1), (hay(2), 0)] {
        let now = [("hay".to_owned(), now)];
        let found = search(&pattern, &left, &Memory(&now), &COUNTED);
        assert_eq!((found.total, found.unread.len()), (total, 0));
    }
    // It has become what is read otherwise.
    let now = [("hay".to_owned(), utf16("a needle\n", u16::to_le_bytes))];
    let left = [Searched { piece: Some(Piece { from: 0, to: 64 }), ..left[0] }];
    assert_eq!(search(&pattern, &left, &Memory(&now), &COUNTED).total, 1);
}

/// The plan without its long grams.
fn by_trigrams(plan: &Plan) -> Plan {
    match plan {
        Plan::Long(_) => Plan::All,
        Plan::And(parts) => Plan::and(parts.iter().map(by_trigrams)),
        Plan::Or(parts) => Plan::or(parts.iter().map(by_trigrams)),
        other => other.clone(),
    }
}

#[test]
fn long_grams_leave_fewer_files_than_trigrams_alone() {
    // Names made of the same syllables: their trigrams are everywhere.
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
    let left = |plan: &Plan| match segment.candidates(plan).unwrap() {
        Candidates::All => files.len(),
        Candidates::Some(some) => some.len(),
    };
    let mut sums = (0, 0);
    for pattern in ["selec", "timed", "Timed", "Timec", "imele", "lector", "toret", "electo"] {
        let plan = Pattern::new(&ask(pattern, "F")).unwrap().plan().clone();
        let holds = |file: &&File| String::from_utf8_lossy(&file.1).contains(pattern);
        let (with, long, short) = (files.iter().filter(holds).count(), left(&plan), left(&by_trigrams(&plan)));
        assert!(with <= long && long <= short, "{pattern}: {with} {long} {short}");
        sums = (sums.0 + long - with, sums.1 + short - with);
    }
    assert!(sums.0 * 10 < sums.1, "{sums:?}");
}
