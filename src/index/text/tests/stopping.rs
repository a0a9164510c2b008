//! Stopped searches are incomplete, and files that cannot be searched are listed.

use super::super::UnreadReason;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn files() -> Vec<File> {
    (0..100).map(|number| (format!("{number:03}"), b"a foo\nand foo\n".to_vec())).collect()
}

#[test]
fn stopped_searches_are_incomplete() {
    let files = files();
    let entries = entries(&files);
    let entries = whole_files(&entries);
    let pattern = Pattern::new(&query("foo", "F")).unwrap();
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 40;
    let read = |_: &ManifestEntry, bytes: &mut Vec<u8>| {
        bytes.extend(b"a foo\nand foo\n");
        FileReadOutcome::Done
    };
    let found = search(&pattern, &entries, &read, &SearchOptions { threads: 1, stop: &stop, ..ALL });
    assert_eq!((found.is_complete, found.total, found.lines.len()), (false, 80, 80));
    let found = search(&pattern, &entries, &read, &SearchOptions { threads: 3, stop: &|| true, ..ALL });
    assert_eq!((found.is_complete, found.total, found.unread.len()), (false, 0, 0));
    // Stopped between the counting pass and the second pass.
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 100;
    let found =
        search(&pattern, &entries, &read, &SearchOptions { threads: 1, offset: 5, limit: 10, stop: &stop, ..ALL });
    assert_eq!((found.is_complete, found.total, found.lines.len()), (false, 200, 0));
}

#[test]
fn files_that_cannot_be_searched_are_listed_in_order() {
    let files = files();
    let entries = entries(&files);
    let entries = whole_files(&entries);
    let pattern = Pattern::new(&query("foo", "F")).unwrap();
    let read = |entry: &ManifestEntry, bytes: &mut Vec<u8>| match entry.content {
        7 => FileReadOutcome::Failed(UnreadReason::Gone),
        50 => FileReadOutcome::Failed(UnreadReason::TooLarge),
        // It became binary after it was indexed.
        60 => {
            bytes.extend(b"foo\n\0\n");
            FileReadOutcome::Done
        }
        content => {
            bytes.extend(&files[content as usize].1);
            FileReadOutcome::Done
        }
    };
    for threads in [1, 4] {
        let found = search(&pattern, &entries, &read, &SearchOptions { threads, ..ALL });
        assert_eq!(found.unread, [(7, UnreadReason::Gone), (50, UnreadReason::TooLarge), (60, UnreadReason::Binary)]);
        assert_eq!((found.total, found.files, found.is_complete), (194, 97, true));
    }
}

#[test]
fn files_that_change_between_the_passes_are_listed_and_not_counted() {
    let files = files();
    let entries = entries(&files);
    let entries = whole_files(&entries);
    let pattern = Pattern::new(&query("foo", "F")).unwrap();
    let reads = AtomicUsize::new(0);
    let read = |entry: &ManifestEntry, bytes: &mut Vec<u8>| {
        bytes.extend(b"foo\n");
        if entry.content == 3 && reads.fetch_add(1, Ordering::Relaxed) > 0 {
            bytes.extend(b"foo\n");
        }
        FileReadOutcome::Done
    };
    // With an offset, lines are read in a second pass.
    let found = search(&pattern, &entries, &read, &SearchOptions { offset: 1, limit: 5, threads: 1, ..ALL });
    assert_eq!(found.unread, [(3, UnreadReason::Changed)]);
    assert_eq!((found.total, found.files, found.is_complete), (99, 99, true));
    let places: Vec<_> = found.lines.iter().map(|line| line.entry).collect();
    assert_eq!(places, [1, 2, 4, 5]);
}
