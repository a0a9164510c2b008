//! Merging of segments, and the candidates of all segments together. A merged segment has the bytes of one that was written from the texts
//! that are kept; a search looks at every line that has the text, whichever segments there are.

#![no_main]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use codeyard_fuzz::Values;
use codeyard_index::fuzzing::{OpenSegments, written};
use codeyard_model::code::CaseRule;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// Most bytes of a text. A part has 64 in these builds.
const MAX_TEXT_BYTES: usize = 512;
/// Most texts.
const MAX_TEXTS: usize = 12;

/// The text of a content, and the segments that have it as bits.
type Texts = BTreeMap<u32, (Vec<u8>, u8)>;

fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    // In memory, where there is such a folder.
    let memory = || Some(Path::new("/dev/shm")).filter(|folder| folder.is_dir());
    FOLDER.get_or_init(|| memory().map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap()).path()
}

/// Texts with their numbers. A text with a byte order mark is stored decoded, which the target `merges` leaves to others.
fn texts(values: &mut Values<'_>) -> Texts {
    let mut texts = Texts::new();
    while !values.0.is_empty() && texts.len() < MAX_TEXTS {
        let gap = values.byte();
        let segments = values.byte();
        let length = values.byte();
        let times = values.byte();
        let content = texts.last_key_value().map_or(0, |(last, _)| last + 1) + u32::from(gap % 80);
        let bytes = values.bytes(usize::from(length % 96)).repeat(usize::from(times % 8) + 1);
        let bytes = bytes[..bytes.len().min(MAX_TEXT_BYTES)].to_vec();
        if !matches!(bytes[..], [0xef, 0xbb, 0xbf, ..] | [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            texts.insert(content, (bytes, segments % 8));
        }
    }
    texts
}

fn segment_of(texts: &Texts, is_in: impl Fn(u32, u8) -> bool) -> Vec<u8> {
    let chosen = texts.iter().filter(|(content, (_, segments))| is_in(**content, *segments));
    written(folder(), chosen.map(|(content, (text, _))| (*content, text.as_slice()))).unwrap()
}

fn has(line: &[u8], text: &str, case: CaseRule) -> bool {
    let mut windows = line.windows(text.len());
    match case {
        CaseRule::Sensitive => windows.any(|window| window == text.as_bytes()),
        // Of letters outside ASCII only those that are spelt the same.
        _ => windows.any(|window| window.eq_ignore_ascii_case(text.as_bytes())),
    }
}

/// Looks for a text in all contents, without an index.
fn check_search(segments: &OpenSegments, texts: &Texts, text: &str, case: CaseRule) {
    let files = texts.iter().map(|(content, (text, _))| (*content, text.len() as u64));
    let Some(searched) = segments.searched(text, case, files).unwrap() else { return };
    for ((content, (bytes, _)), range) in texts.iter().zip(searched) {
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_searched = range.as_ref().is_some_and(|range| range.contains(&at));
            let line_text = line.strip_suffix(b"\n").unwrap_or(line);
            assert!(is_searched || !has(line_text, text, case), "{text:?} in {content} at {at}: {range:?}");
            at += line.len() as u64;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut values = Values(data);
    let dropped = values.byte();
    let length = values.byte();
    let searched = String::from_utf8_lossy(values.bytes(usize::from(length % 16))).into_owned();
    let texts = texts(&mut values);
    let bytes: Vec<Vec<u8>> = (0..3).map(|number| segment_of(&texts, |_, of| of >> number & 1 == 1)).collect();
    let segments = OpenSegments::of(&bytes).unwrap();
    let keep = |content: u32| dropped == 0 || content % 8 != u32::from(dropped % 8);
    let merged = segments.merged(&keep, folder()).unwrap();
    assert!(
        merged == segment_of(&texts, |content, of| of != 0 && keep(content)),
        "other bytes than if written at once"
    );
    if !searched.is_empty() {
        for case in [CaseRule::Sensitive, CaseRule::Insensitive] {
            check_search(&segments, &texts, &searched, case);
            // Contents that were dropped are in no segment, and so are searched.
            check_search(&OpenSegments::of(std::slice::from_ref(&merged)).unwrap(), &texts, &searched, case);
        }
    }
});
