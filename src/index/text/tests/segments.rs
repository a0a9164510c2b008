//! Segments: the same bytes whatever the order and the threads, whole or refused, merged as if made anew.

use super::super::parts::split;
use super::super::{Candidates, Plan, SegmentInfo, Span, check, footer, merge};
use super::*;
use crate::ContentNo;
use std::sync::atomic::{AtomicUsize, Ordering};

type Text = (ContentNo, Vec<u8>);

/// Texts with common and rare trigrams, long and short ones, under numbers with gaps.
fn texts(count: u32) -> Vec<Text> {
    let text = |number: u32| {
        let words =
            (0..number % 37).map(|word| format!("word{} number{:x} common\n", word * number, number * 2_654_435));
        (number * 3 + number % 2, words.collect::<String>().into_bytes())
    };
    (0..count).map(text).collect()
}

fn write(texts: &[Text], path: &Path, pairs_each: usize, threads: usize) -> SegmentInfo {
    let writer = SegmentWriter::with_room(path, pairs_each).unwrap();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((content, text)) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    writer.add(*content, text).unwrap();
                }
            });
        }
    });
    writer.finish().unwrap()
}

/// The numbers of the parts that satisfy the plan.
fn parts_satisfying(plan: &Plan, text: &[u8]) -> Vec<u32> {
    let parts = split(text).into_iter().zip(0..);
    parts.filter(|(part, _)| plan.is_satisfied(&super::plans::grams(part))).map(|(_, number)| number).collect()
}

fn plans() -> Vec<Pattern> {
    let asks = [
        ("common", "F"),
        ("word1", "F"),
        ("(word1|word22).*number[a-f]", ""),
        ("nowhere", "F"),
        ("rd", "F"),
        ("2 ", "F"),
        ("x", "F"),
        ("WORD3\\d", "i"),
    ];
    asks.map(|(pattern, flags)| Pattern::new(&ask(pattern, flags)).unwrap()).into()
}

#[test]
fn the_same_texts_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let mut texts = texts(300);
    let info = write(&texts, &path, 1 << 20, 1);
    let expected = std::fs::read(&path).unwrap();
    assert_eq!((info.contents, info.bytes), (300, expected.len() as u64));
    texts.reverse();
    // Little room, so that there are many runs; and some texts twice.
    for (pairs_each, threads) in [(1 << 20, 1), (500, 1), (2_000, 4), (1, 3)] {
        assert_eq!(write(&texts, &path, pairs_each, threads), info);
        assert_eq!(std::fs::read(&path).unwrap(), expected, "{pairs_each} {threads}");
        texts.rotate_left(97);
    }
    texts.extend_from_within(20..90);
    write(&texts, &path, 700, 2);
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    let left: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["segment"], "temporary files are left behind");
}

/// One line with more grams than are added at once, and more than there is room for.
#[test]
fn a_part_with_many_grams_is_put_aside_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let line: String = (0..60_000_u32).map(|number| format!("{:x},", number.wrapping_mul(2_654_435_761))).collect();
    let texts = [(3, b"a line\n".to_vec()), (4, line.into_bytes()), (9, b"a line\n".to_vec())];
    let info = write(&texts, &one, 1 << 22, 1);
    assert!(info.grams > 200_000, "{info:?}");
    assert_eq!(write(&texts, &other, 1_000, 1), info);
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&other).unwrap());
    Segment::open(&one).unwrap().verify().unwrap();
}

#[test]
fn a_writer_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let writer = SegmentWriter::with_room(&path, 10).unwrap();
    writer.add(1, b"some text that is put aside").unwrap();
    writer.add(2, b"and another one").unwrap();
    drop(writer);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn candidates_are_those_that_satisfy_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let texts = texts(300);
    write(&texts, &path, 5_000, 2);
    let segment = Segment::open(&path).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.contents(), texts.iter().map(|(content, _)| *content).collect::<Vec<_>>());
    let (mut fewer, mut none) = (0, 0);
    for pattern in plans() {
        let whole = |(content, text): &Text| {
            let of = split(text).len() as u32;
            Span { content: *content, parts: 0..of, of }
        };
        let spans = match segment.candidates(pattern.plan()).unwrap() {
            Candidates::All => texts.iter().map(whole).collect(),
            Candidates::Some(some) => some,
        };
        for (content, text) in &texts {
            let span = spans.iter().find(|span| span.content == *content);
            for part in parts_satisfying(pattern.plan(), text) {
                assert!(span.is_some_and(|span| span.parts.contains(&part)), "{pattern:?} lacks {content} {part}");
            }
            assert!(span.is_none_or(|span| span.of as usize == split(text).len() && span.parts.end <= span.of));
        }
        let candidates: Vec<ContentNo> = spans.iter().map(|span| span.content).collect();
        fewer += usize::from(candidates.len() < texts.len());
        none += usize::from(candidates.is_empty());
        let narrowed = Narrowed::by([&segment], pattern.plan()).unwrap();
        let may: Vec<_> = segment.contents().iter().copied().filter(|content| narrowed.may_match(*content)).collect();
        assert_eq!(may, candidates);
        // What no segment covers may always match.
        assert!(narrowed.may_match(2) && narrowed.may_match(1_000_000));
    }
    assert!(fewer >= 4 && none >= 1, "{fewer} {none}");
}

#[test]
fn an_empty_segment_is_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    write(&[], &path, 100, 1);
    let segment = Segment::open(&path).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.info().contents, 0);
    for pattern in plans() {
        assert!(matches!(segment.candidates(pattern.plan()).unwrap(), Candidates::All | Candidates::Some(_)));
    }
    write(&[(7, Vec::new())], &path, 100, 1);
    let segment = Segment::open(&path).unwrap();
    assert_eq!(segment.contents(), [7]);
    assert_eq!(segment.candidates(plans()[0].plan()).unwrap(), Candidates::Some(Vec::new()));
}

/// A damaged file gives an error, or it gives what the whole file gave.
fn assert_refused_or_right(path: &Path, plans: &[Pattern], expected: &[Candidates]) -> bool {
    let Ok(segment) = Segment::open(path) else { return true };
    let verified = segment.verify();
    let mut is_refused = verified.is_err();
    for (pattern, expected) in plans.iter().zip(expected) {
        match segment.candidates(pattern.plan()) {
            Ok(candidates) => assert_eq!(&candidates, expected),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
                assert!(error.to_string().contains("codeyard index --force"), "{error}");
                is_refused = true;
            }
        }
    }
    is_refused
}

#[test]
fn damage_is_found_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    write(&texts(13), &path, 5_000, 1);
    let plans = plans();
    let segment = Segment::open(&path).unwrap();
    let expected: Vec<_> = plans.iter().map(|pattern| segment.candidates(pattern.plan()).unwrap()).collect();
    let whole = std::fs::read(&path).unwrap();
    // All of what leads to the lists, and some of the lists.
    let places = (0..whole.len()).filter(|at| at % 11 == 0 || *at + 250 > whole.len());
    for at in places {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        // The first bytes only say to people what the file is.
        assert!(assert_refused_or_right(&path, &plans, &expected) || at < 8, "a change at {at} wasn't found");
    }
    for length in (0..whole.len()).step_by(31) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Segment::open(&path).is_err(), "cut at {length}");
    }
    for at in (0..whole.len()).step_by(101) {
        let mut bytes = whole.clone();
        bytes.drain(at..(at + 13).min(whole.len()));
        std::fs::write(&path, &bytes).unwrap();
        assert!(assert_refused_or_right(&path, &plans, &expected), "bytes left out at {at}");
    }
    for nonsense in [vec![0; 72], vec![255; 200], b"cytext\r\n".repeat(9), Vec::new()] {
        std::fs::write(&path, nonsense).unwrap();
        assert!(Segment::open(&path).is_err());
    }
}

#[test]
fn a_segment_of_another_format_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    write(&texts(13), &path, 5_000, 1);
    let mut bytes = std::fs::read(&path).unwrap();
    let footer = bytes.len() - footer::LENGTH;
    // Behind the number stand the sum and the last word.
    let version = bytes.len() - 16;
    for number in [1_u32, 3] {
        bytes[version..version + 4].copy_from_slice(&number.to_le_bytes());
        let sum = check::sum(&bytes[footer..version + 4]);
        bytes[version + 4..version + 8].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let error = Segment::open(&path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("another version") && error.to_string().contains("--force"), "{error}");
    }
}

#[test]
fn merged_is_as_if_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let texts = texts(240);
    // Three segments that overlap.
    for (name, range) in [("a", 0..100), ("b", 80..170), ("c", 60..240)] {
        write(&texts[range], &place(name), 3_000, 2);
    }
    let segments: Vec<Segment> = ["c", "a", "b"].map(|name| Segment::open(&place(name)).unwrap()).into();
    let segments: Vec<&Segment> = segments.iter().collect();
    let keeps: [&dyn Fn(ContentNo) -> bool; 4] =
        [&|_| true, &|content| content % 5 != 0, &|content| content > 650, &|_| false];
    for keep in keeps {
        let merged = merge(&segments, keep, &place("merged")).unwrap();
        let kept: Vec<Text> = texts.iter().filter(|(content, _)| keep(*content)).cloned().collect();
        assert_eq!(merged, write(&kept, &place("anew"), 1 << 20, 1));
        assert_eq!(std::fs::read(place("merged")).unwrap(), std::fs::read(place("anew")).unwrap());
    }
    let bytes = std::fs::read(place("a")).unwrap();
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    std::fs::write(place("a"), damaged).unwrap();
    let one = Segment::open(&place("a")).unwrap();
    std::fs::remove_file(place("merged")).unwrap();
    assert!(merge(&[&one], &|_| true, &place("merged")).is_err());
    assert!(!place("merged").exists() && !place("merged.partial").exists());
}
