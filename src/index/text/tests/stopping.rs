//! A search that is stopped says so, and files that can't be searched are named.

use super::super::Why;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn files() -> Vec<File> {
    (0..100).map(|number| (format!("{number:03}"), b"a foo\nand foo\n".to_vec())).collect()
}

#[test]
fn a_stopped_search_is_not_complete() {
    let files = files();
    let entries = entries(&files);
    let entries = anywhere(&entries);
    let pattern = Pattern::new(&ask("foo", "F")).unwrap();
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 40;
    let read = |_: &Entry, bytes: &mut Vec<u8>| {
        bytes.extend(b"a foo\nand foo\n");
        Read::Done
    };
    let found = search(&pattern, &entries, &read, &Options { threads: 1, stop: &stop, ..ALL });
    assert_eq!((found.is_complete, found.total, found.lines.len()), (false, 80, 80));
    let found = search(&pattern, &entries, &read, &Options { threads: 3, stop: &|| true, ..ALL });
    assert_eq!((found.is_complete, found.total, found.unread.len()), (false, 0, 0));
    // Stopped between counting and showing.
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 100;
    let found = search(&pattern, &entries, &read, &Options { threads: 1, offset: 5, limit: 10, stop: &stop, ..ALL });
    assert_eq!((found.is_complete, found.total, found.lines.len()), (false, 200, 0));
}

#[test]
fn files_that_cannot_be_searched_are_named_in_order() {
    let files = files();
    let entries = entries(&files);
    let entries = anywhere(&entries);
    let pattern = Pattern::new(&ask("foo", "F")).unwrap();
    let read = |entry: &Entry, bytes: &mut Vec<u8>| match entry.content {
        7 => Read::Not(Why::Gone),
        50 => Read::Not(Why::TooLarge),
        // It became binary after it was indexed.
        60 => {
            bytes.extend(b"foo\n\0\n");
            Read::Done
        }
        content => {
            bytes.extend(&files[content as usize].1);
            Read::Done
        }
    };
    for threads in [1, 4] {
        let found = search(&pattern, &entries, &read, &Options { threads, ..ALL });
        assert_eq!(found.unread, [(7, Why::Gone), (50, Why::TooLarge), (60, Why::Binary)]);
        assert_eq!((found.total, found.files, found.is_complete), (194, 97, true));
    }
}

#[test]
fn a_file_that_changes_between_counting_and_showing_is_named_and_not_counted() {
    let files = files();
    let entries = entries(&files);
    let entries = anywhere(&entries);
    let pattern = Pattern::new(&ask("foo", "F")).unwrap();
    let reads = AtomicUsize::new(0);
    let read = |entry: &Entry, bytes: &mut Vec<u8>| {
        bytes.extend(b"foo\n");
        if entry.content == 3 && reads.fetch_add(1, Ordering::Relaxed) > 0 {
            bytes.extend(b"foo\n");
        }
        Read::Done
    };
    // With an offset, lines are shown in a second step.
    let found = search(&pattern, &entries, &read, &Options { offset: 1, limit: 5, threads: 1, ..ALL });
    assert_eq!(found.unread, [(3, Why::Changed)]);
    assert_eq!((found.total, found.files, found.is_complete), (99, 99, true));
    let places: Vec<_> = found.lines.iter().map(|line| line.entry).collect();
    assert_eq!(places, [1, 2, 4, 5]);
}
