//! File URIs. A parsed path is absolute, without dot segments and control characters, and its canonical URI parses to the same path.

#![no_main]

use std::os::unix::ffi::OsStrExt;

use codeyard_files::gate::fuzzing::{parse_path, parse_uri};
use codeyard_files::limits::{MAX_PATH_BYTES, MAX_URI_BYTES};
use codeyard_fuzz::Values;
use codeyard_model::uri::encode_path;
use libfuzzer_sys::fuzz_target;

/// A text of this many bytes is longer than any path.
const MAX_TEXT_BYTES: usize = MAX_PATH_BYTES + 128;

const REASONS: [&str; 11] = [
    "too_long",
    "scheme",
    "no_path",
    "host",
    "query",
    "fragment",
    "forbidden_escape",
    "malformed_escape",
    "not_absolute",
    "forbidden_character",
    "not_utf8",
];

fn check(parsed: Result<(std::path::PathBuf, bool), &'static str>, text: &str) {
    let (path, is_directory) = match parsed {
        Ok(parsed) => parsed,
        Err(reason) => return assert!(REASONS.contains(&reason), "{reason}"),
    };
    let bytes = path.as_os_str().as_bytes();
    assert!(bytes.len() <= MAX_PATH_BYTES && bytes.len() <= text.len().max(1), "{text:?}");
    assert!(bytes.starts_with(b"/") && (bytes == b"/" || !bytes.ends_with(b"/")), "{path:?}");
    let mut segments = bytes[1..].split(|byte| *byte == b'/');
    assert!(bytes == b"/" || segments.all(|segment| !matches!(segment, b"" | b"." | b"..")), "{path:?}");
    assert!(!bytes.iter().any(|byte| byte.is_ascii_control() || *byte == b'\\'), "{path:?}");
    assert!(bytes != b"/" || is_directory);
    let uri = encode_path(&path);
    assert!(uri.len() <= MAX_URI_BYTES);
    assert_eq!(parse_uri(&uri), Ok((path.clone(), bytes == b"/")), "{text:?}");
    assert_eq!(parse_path(&path), Ok((path.clone(), bytes == b"/")), "{text:?}");
    // A slash at the end names the same path as a directory.
    if bytes.len() < MAX_PATH_BYTES {
        assert_eq!(parse_uri(&format!("{uri}/")), Ok((path, true)), "{text:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let mut values = Values(data);
    let kind = values.byte();
    let text = values.expanded(MAX_TEXT_BYTES).text();
    match kind % 3 {
        0 => check(parse_uri(&text), &text),
        1 => {
            let uri = format!("file://{text}");
            check(parse_uri(&uri), &uri);
        }
        _ => check(parse_path(text.as_ref()), &text),
    }
});
