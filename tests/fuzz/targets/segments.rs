//! Segments of the text index. Whatever the bytes, the reader answers or gives an error that names the command to run, with little memory; a
//! damaged segment never answers otherwise than the whole one.

#![no_main]

use std::io;
use std::sync::OnceLock;

use codeyard_fuzz::Values;
use codeyard_index::fuzzing::{Candidate, SegmentAnswers, answers, sealed, written};
use libfuzzer_sys::fuzz_target;

/// The most bytes that are changed in a whole segment. Fewer than a checksum has, so that no input can correct one.
const MAX_CHANGES: usize = 3;

fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let text = |number: u32| format!("word{number} common text {}\n", number * 37).repeat(1 + number as usize % 9);
        let texts: Vec<String> = (0..40).map(text).collect();
        written(folder.path(), (0..).zip(texts.iter().map(String::as_bytes))).unwrap()
    })
}

fn is_error_of_damage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData && error.to_string().contains("codeyard index --force")
}

/// Contents ascend, and candidates are some of them with some of their parts.
fn check_candidates(found: &[Candidate], contents: &[u32]) {
    assert!(found.is_sorted_by(|one, other| one.0 < other.0), "{found:?}");
    for (content, parts, of) in found {
        assert!(contents.binary_search(content).is_ok(), "{content}");
        assert!(parts.start < parts.end && parts.end <= *of, "{parts:?} of {of}");
    }
}

/// The answers of any bytes.
fn checked(bytes: &[u8]) -> Option<SegmentAnswers> {
    let found = answers(bytes).map_err(|error| assert!(is_error_of_damage(&error), "{error}")).ok()?;
    assert!(found.contents.is_sorted_by(|one, other| one < other));
    assert!(found.verified.as_ref().err().is_none_or(is_error_of_damage));
    for candidates in &found.candidates {
        match candidates {
            Ok(Some(candidates)) => check_candidates(candidates, &found.contents),
            Ok(None) => {}
            Err(error) => assert!(is_error_of_damage(error), "{error}"),
        }
    }
    Some(found)
}

fuzz_target!(|data: &[u8]| {
    let mut values = Values(data);
    match values.byte() % 4 {
        0 => drop(checked(values.0)),
        1 => {
            let mut bytes = values.0.to_vec();
            sealed(&mut bytes);
            checked(&bytes);
        }
        // Any changes, behind checksums that fit. The last bytes have the offsets of all others.
        2 => {
            let mut bytes = whole().to_vec();
            while !values.0.is_empty() {
                let at = values.short() as usize % bytes.len();
                let at = if values.byte() & 1 == 0 { at } else { bytes.len() - 1 - at % bytes.len().min(256) };
                bytes[at] = values.byte();
            }
            sealed(&mut bytes);
            checked(&bytes);
        }
        _ => {
            let mut bytes = whole().to_vec();
            for _ in 0..MAX_CHANGES {
                let at = (values.short() as usize) % bytes.len();
                bytes[at] ^= values.byte();
            }
            static RIGHT: OnceLock<SegmentAnswers> = OnceLock::new();
            let right = RIGHT.get_or_init(|| checked(whole()).unwrap());
            let Some(found) = checked(&bytes) else { return };
            assert_eq!(found.contents, right.contents);
            for (found, right) in found.candidates.iter().zip(&right.candidates) {
                let Ok(found) = found else { continue };
                assert_eq!(found, right.as_ref().unwrap());
            }
        }
    }
});
