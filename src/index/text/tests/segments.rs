//! Segments: reproducible bytes for any order and number of threads, detection of damage, and merging.

use super::super::content_parts::split;
use super::super::{GramPlan, PartSpan, SegmentCandidates, SegmentInfo, checksum, footer, merge};
use super::*;
use crate::ContentNo;
use std::sync::atomic::{AtomicUsize, Ordering};

type NumberedText = (ContentNo, Vec<u8>);

/// Texts with common and rare trigrams, long and short ones, under numbers with gaps.
fn texts(count: u32) -> Vec<NumberedText> {
    let text = |number: u32| {
        let words =
            (0..number % 37).map(|word| format!("word{} number{:x} common\n", word * number, number * 2_654_435));
        (number * 3 + number % 2, words.collect::<String>().into_bytes())
    };
    (0..count).map(text).collect()
}

fn write(texts: &[NumberedText], path: &Path, pairs_each: usize, threads: usize) -> SegmentInfo {
    let writer = SegmentWriter::with_capacity(path, pairs_each).unwrap();
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
fn parts_satisfying(plan: &GramPlan, text: &[u8]) -> Vec<u32> {
    let parts = split(text).into_iter().zip(0..);
    parts.filter(|(part, _)| plan.is_satisfied(&super::plans::grams(part))).map(|(_, number)| number).collect()
}

fn plans() -> Vec<Pattern> {
    let queries = [
        ("common", "F"),
        ("word1", "F"),
        ("(word1|word22).*number[a-f]", ""),
        ("nowhere", "F"),
        ("rd", "F"),
        ("2 ", "F"),
        ("x", "F"),
        ("WORD3\\d", "i"),
    ];
    queries.map(|(pattern, flags)| Pattern::new(&query(pattern, flags)).unwrap()).into()
}

#[test]
fn equal_texts_give_equal_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let mut texts = texts(300);
    let info = write(&texts, &path, 1 << 20, 1);
    let expected = std::fs::read(&path).unwrap();
    assert_eq!((info.contents, info.bytes), (300, expected.len() as u64));
    texts.reverse();
    // Little memory gives many runs; some texts are added twice.
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

/// A line with more grams than one chunk, and more than fit in memory.
#[test]
fn a_part_with_many_grams_is_spilled_in_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one");
    let other = folder.path().join("other");
    let line: String = (0..60_000_u32).map(|number| format!("{:x},", number.wrapping_mul(2_654_435_761))).collect();
    let texts = [(3, b"a line\n".to_vec()), (4, line.into_bytes()), (9, b"a line\n".to_vec())];
    let info = write(&texts, &one, 1 << 22, 1);
    assert!(info.grams > 200_000, "{info:?}");
    assert_eq!(write(&texts, &other, 1_000, 1), info);
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&other).unwrap());
    Segment::open(&one).unwrap().verify().unwrap();
}

#[test]
fn a_dropped_writer_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let writer = SegmentWriter::with_capacity(&path, 10).unwrap();
    writer.add(1, b"some text that is spilled").unwrap();
    writer.add(2, b"and another one").unwrap();
    drop(writer);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn candidates_include_all_parts_that_satisfy_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let texts = texts(300);
    write(&texts, &path, 5_000, 2);
    let segment = Segment::open(&path).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.contents(), texts.iter().map(|(content, _)| *content).collect::<Vec<_>>());
    let mut fewer = 0;
    let mut none = 0;
    for pattern in plans() {
        let whole = |(content, text): &NumberedText| {
            let of = split(text).len() as u32;
            PartSpan { content: *content, parts: 0..of, of }
        };
        let spans = match segment.candidates(pattern.plan()).unwrap() {
            SegmentCandidates::All => texts.iter().map(whole).collect(),
            SegmentCandidates::Some(some) => some,
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
        let candidate_set = CandidateSet::from_segments([&segment], pattern.plan()).unwrap();
        let may: Vec<_> =
            segment.contents().iter().copied().filter(|content| candidate_set.may_match(*content)).collect();
        assert_eq!(may, candidates);
        // A content that no segment covers may always match.
        assert!(candidate_set.may_match(2) && candidate_set.may_match(1_000_000));
    }
    assert!(fewer >= 4 && none >= 1, "{fewer} {none}");
}

#[test]
fn empty_segments_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    write(&[], &path, 100, 1);
    let segment = Segment::open(&path).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.info().contents, 0);
    for pattern in plans() {
        assert!(matches!(
            segment.candidates(pattern.plan()).unwrap(),
            SegmentCandidates::All | SegmentCandidates::Some(_)
        ));
    }
    write(&[(7, Vec::new())], &path, 100, 1);
    let segment = Segment::open(&path).unwrap();
    assert_eq!(segment.contents(), [7]);
    assert_eq!(segment.candidates(plans()[0].plan()).unwrap(), SegmentCandidates::Some(Vec::new()));
}

/// Checks that a damaged file gives an error or the right candidates; returns whether it gave an error.
fn assert_rejected_or_right(path: &Path, plans: &[Pattern], expected: &[SegmentCandidates]) -> bool {
    let Ok(segment) = Segment::open(path) else { return true };
    let verified = segment.verify();
    let mut is_rejected = verified.is_err();
    for (pattern, expected) in plans.iter().zip(expected) {
        match segment.candidates(pattern.plan()) {
            Ok(candidates) => assert_eq!(&candidates, expected),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
                assert!(error.to_string().contains("codeyard index --force"), "{error}");
                is_rejected = true;
            }
        }
    }
    is_rejected
}

#[test]
fn damage_is_detected_in_every_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    write(&texts(13), &path, 5_000, 1);
    let plans = plans();
    let segment = Segment::open(&path).unwrap();
    let expected: Vec<_> = plans.iter().map(|pattern| segment.candidates(pattern.plan()).unwrap()).collect();
    let whole = std::fs::read(&path).unwrap();
    // All bytes of the footer and tables, and some of the lists.
    let places = (0..whole.len()).filter(|at| at % 11 == 0 || *at + 250 > whole.len());
    for at in places {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        // Nothing reads the magic bytes at the beginning.
        assert!(assert_rejected_or_right(&path, &plans, &expected) || at < 8, "a change at {at} wasn't found");
    }
    for length in (0..whole.len()).step_by(31) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Segment::open(&path).is_err(), "cut at {length}");
    }
    for at in (0..whole.len()).step_by(101) {
        let mut bytes = whole.clone();
        bytes.drain(at..(at + 13).min(whole.len()));
        std::fs::write(&path, &bytes).unwrap();
        assert!(assert_rejected_or_right(&path, &plans, &expected), "bytes left out at {at}");
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
    let footer = bytes.len() - footer::FOOTER_BYTES;
    // The checksum and the magic bytes follow the version.
    let version = bytes.len() - 16;
    for number in [1_u32, 4] {
        bytes[version..version + 4].copy_from_slice(&number.to_le_bytes());
        let sum = checksum::checksum(&bytes[footer..version + 4]);
        bytes[version + 4..version + 8].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let error = Segment::open(&path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("another version") && error.to_string().contains("--force"), "{error}");
    }
}

/// A block that claims to be larger than the dictionary, or to lie elsewhere, with checksums that fit. Its length alone would reserve memory.
#[test]
fn a_block_outside_the_dictionary_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    write(&texts(13), &path, 5_000, 1);
    let whole = std::fs::read(&path).unwrap();
    let footer = whole.len() - footer::FOOTER_BYTES;
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let table = number(footer + 8) as usize;
    let contents = number(footer + 16) as usize;
    // The offset of the first block, and its length.
    for (at, value) in [(12, 0_u64), (12, u64::MAX), (12, table as u64), (20, u64::from(u32::MAX))] {
        let mut bytes = whole.clone();
        let length = if at == 20 { 4 } else { 8 };
        bytes[table + at..table + at + length].copy_from_slice(&value.to_le_bytes()[..length]);
        let sum = checksum::checksum(&bytes[table..contents]);
        bytes[footer + 36..footer + 40].copy_from_slice(&sum.to_le_bytes());
        let sum = checksum::checksum(&bytes[footer..footer + 60]);
        bytes[footer + 60..footer + 64].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let error = Segment::open(&path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{at} {value}");
    }
}

#[test]
fn merged_segments_equal_rewritten_ones() {
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
        let kept: Vec<NumberedText> = texts.iter().filter(|(content, _)| keep(*content)).cloned().collect();
        assert_eq!(merged, write(&kept, &place("rewritten"), 1 << 20, 1));
        assert_eq!(std::fs::read(place("merged")).unwrap(), std::fs::read(place("rewritten")).unwrap());
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

/// Lines that no two of have a gram in common, as recorded bytes in text form.
fn recorded(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let digit = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(*state >> 58) as usize]
    };
    (0..bytes).map(|at| if at % 61 == 60 { b'\n' } else { digit(&mut state) }).collect()
}

#[test]
fn a_segment_is_no_larger_than_its_texts_and_still_finds_every_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts: Vec<NumberedText> = (0..40).map(|number| (number, recorded(4_096, u64::from(number)))).collect();
    let prose = "fn common_word(harbour: usize) -> usize { harbour + 1 }\n".repeat(200);
    texts.extend((40..60).map(|number| (number, format!("{prose}needle {number}\n").into_bytes())));
    let bytes: u64 = texts.iter().map(|(_, text)| text.len() as u64).sum();
    let built = |name: &str, percent: u64, reversed: bool| {
        let path = folder.path().join(name);
        let writer = SegmentWriter::create(&path, 1, percent).unwrap();
        let mut order: Vec<&NumberedText> = texts.iter().collect();
        if reversed {
            order.reverse();
        }
        order.into_iter().for_each(|(content, text)| writer.add(*content, text).unwrap());
        let info = writer.finish().unwrap();
        (info, Segment::open(&path).unwrap(), std::fs::read(&path).unwrap())
    };
    let (whole, unbounded, _) = built("whole", u64::MAX, false);
    assert!(whole.bytes > bytes, "{} bytes of index for {bytes}", whole.bytes);
    let (info, segment, written) = built("bounded", 100, false);
    assert!(info.bytes <= bytes, "{} bytes of index for {bytes}", info.bytes);
    assert_eq!(built("reversed", 100, true).2, written, "the order doesn't matter");
    segment.verify().unwrap();
    let contents = |segment: &Segment, text: &str| {
        let pattern = Pattern::new(&query(text, "F")).unwrap();
        match segment.candidates(pattern.plan()).unwrap() {
            SegmentCandidates::All => panic!("all"),
            SegmentCandidates::Some(spans) => spans.into_iter().map(|span| span.content).collect::<Vec<_>>(),
        }
    };
    // What people write is still found without reading it all.
    let found = contents(&segment, "needle 47");
    assert!(found.contains(&47) && !found.contains(&46), "{found:?}");
    for (content, text) in &texts[..40] {
        let line = std::str::from_utf8(&text[61..81]).unwrap();
        assert_eq!(contents(&unbounded, line), [*content]);
        assert!(contents(&segment, line).contains(content), "{line}");
    }
    // Merging keeps what isn't indexed.
    let path = folder.path().join("merged");
    merge(&[&segment], &|content| content != 3, &path).unwrap();
    let merged = Segment::open(&path).unwrap();
    let line = std::str::from_utf8(&texts[7].1[61..81]).unwrap();
    assert!(contents(&merged, line).contains(&7) && !contents(&merged, line).contains(&3));
}
