//! The display of lines: texts, ranges, context, and the requested window of many lines.

use super::super::LineMatch;
use super::*;
use crate::limits::MAX_SHOWN_LINE_BYTES;

fn lines(text: &[u8], pattern: &str, context: usize) -> Vec<LineMatch> {
    let files = [("a".to_owned(), text.to_vec())];
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&files, &folder.path().join("segment"));
    let pattern = Pattern::new(&query(pattern, "")).unwrap();
    find(&files, &segment, &pattern, &SearchOptions { context, ..ALL }).lines
}

#[test]
fn lines_have_their_matches_and_context() {
    let found = lines(b"one\r\ntwo foo foo\nthree\n\nfoo five", "fo+", 2);
    let [second, fifth] = &found[..] else { panic!("{found:?}") };
    assert_eq!((second.line, second.text.as_str(), second.is_cut), (2, "two foo foo", false));
    assert_eq!(second.matches, [(4, 7), (8, 11)]);
    assert_eq!(
        (&second.before[..], &second.after[..]),
        (&["one".to_owned()][..], &["three".to_owned(), String::new()][..])
    );
    assert_eq!((fifth.line, fifth.text.as_str()), (5, "foo five"));
    assert_eq!((fifth.before.as_slice(), fifth.after.len()), (&["three".to_owned(), String::new()][..], 0));
    assert!(lines(b"a\nb\n", "b", 0)[0].before.is_empty());
}

#[test]
fn invalid_utf8_is_replaced_and_ranges_stay_at_character_boundaries() {
    let found = lines(b"caf\xe9 \xc3\xa9t\xc3\xa9 foo\xff\xffbar", "foo(?-u:.)", 0);
    assert_eq!(found[0].text, "caf\u{fffd} été foo\u{fffd}\u{fffd}bar");
    let (start, end) = found[0].matches[0];
    assert_eq!(&found[0].text[start..end], "foo\u{fffd}");
    // A match of half a character is shown as the whole character.
    let found = lines("xéy".as_bytes(), "(?-u:\\xc3)", 0);
    assert_eq!(found[0].matches, [(1, 3)]);
}

#[test]
fn long_lines_are_cut_at_a_boundary_around_the_first_match() {
    let found = lines(format!("{}needle{}", "é".repeat(3_000), "ü".repeat(3_000)).as_bytes(), "needle", 0);
    let line = &found[0];
    assert!(line.is_cut && line.skipped > 5_000 && line.text.len() <= MAX_SHOWN_LINE_BYTES);
    let (start, end) = line.matches[0];
    assert_eq!(&line.text[start..end], "needle");
    assert!(line.text.starts_with('é') && line.text.ends_with('ü'));
    // A match longer than the shown text.
    let line = &lines("a".repeat(5_000).as_bytes(), "a{2000,}", 0)[0];
    assert_eq!((line.skipped, line.text.len(), &line.matches[..]), (0, MAX_SHOWN_LINE_BYTES, &[(0, 1_000)][..]));
    // Only the context line is too long.
    let line = &lines(format!("{}\nfoo\n", "b".repeat(2_000)).as_bytes(), "foo", 1)[0];
    assert!(line.is_cut && line.before[0].len() == MAX_SHOWN_LINE_BYTES && line.text == "foo");
    let invalid = [&[0xff; 2_000][..], b"foo"].concat();
    assert!(lines(&invalid, "foo", 0)[0].text.len() <= MAX_SHOWN_LINE_BYTES);
}

#[test]
fn windows_are_the_same_on_any_number_of_threads() {
    let file = |number: usize| (format!("{number:03}"), "x foo\nnothing\nfoo y\n".repeat(number % 7).into_bytes());
    let files: Vec<File> = (0..200).map(file).collect();
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&files, &folder.path().join("segment"));
    let pattern = Pattern::new(&query("foo", "")).unwrap();
    let all = find(&files, &segment, &pattern, &SearchOptions { context: 1, threads: 1, ..ALL });
    assert!(all.lines.len() > 1_000 && all.is_complete);
    for threads in [1, 2, 7] {
        for (offset, limit) in [(0, 0), (0, 1), (0, 50), (3, 5), (500, 100), (1_100, 10_000), (99_999, 5)] {
            let options = SearchOptions { context: 1, offset, limit, threads, stop: &|| false };
            let found = find(&files, &segment, &pattern, &options);
            let expected: Vec<_> = all.lines.iter().skip(offset).take(limit).cloned().collect();
            assert_eq!(found.lines, expected, "{offset} {limit} {threads}");
            assert_eq!((found.total, found.files, found.is_complete), (all.total, all.files, true));
        }
    }
}
