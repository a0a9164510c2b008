//! Cursors. Every cursor that was made decodes to what it was made of; what decodes can be made again; another question is refused.

#![no_main]

use codeyard_base::base64url;
use codeyard_fuzz::Values;
use codeyard_model::error::ErrorCode;
use codeyard_paging::limits::MAX_CURSOR_BYTES;
use codeyard_paging::{CursorToken, decode, mint};
use libfuzzer_sys::fuzz_target;

/// A text of this many bytes is longer than any cursor.
const MAX_TEXT_BYTES: usize = MAX_CURSOR_BYTES + 128;

const REASONS: [&str; 4] = ["undecodable", "version", "offset", "request_key"];

/// Decodes any text, and makes again what was decoded.
fn decoded(text: &str, key: &str) {
    match decode(text, key) {
        Ok(token) => {
            assert!(text.len() <= MAX_CURSOR_BYTES);
            let again = mint(token.offset, key, &token.snapshot);
            // A payload may leave out escapes that the made one has.
            if again.len() <= MAX_CURSOR_BYTES {
                assert_eq!(decode(&again, key), Ok(token));
            }
            assert!(decode(text, &format!("{key}x")).is_err(), "a cursor serves another question");
        }
        Err(error) => {
            assert_eq!(error.code, ErrorCode::CursorInvalid);
            let reason = error.details["reason"].as_str();
            assert!(reason.is_some_and(|reason| REASONS.contains(&reason)), "{reason:?}");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut values = Values(data);
    match values.byte() % 3 {
        0 => decoded(&values.expanded(MAX_TEXT_BYTES).text(), "0f"),
        1 => decoded(&base64url::encode(values.expanded(MAX_TEXT_BYTES).bytes), "0f"),
        _ => {
            let offset = values.long();
            let length = usize::from(values.byte());
            let key = String::from_utf8_lossy(values.bytes(length)).into_owned();
            let snapshot = values.expanded(MAX_TEXT_BYTES).text();
            let text = mint(offset, &key, &snapshot);
            let expected = CursorToken { offset, snapshot };
            if text.len() <= MAX_CURSOR_BYTES {
                assert_eq!(decode(&text, &key), Ok(expected));
            } else {
                assert!(decode(&text, &key).is_err());
            }
        }
    }
});
