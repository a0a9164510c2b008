//! Cursors and their two keys.
//!
//! A cursor is base64url without padding of `{"k":…,"o":…,"s":…,"v":2}`. Invariants: the same offset and keys give the same
//! text; a payload is valid only with exactly these four members, once each, and with numbers written as digits. White space
//! and the order of members don't matter.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::MAX_CURSOR_BYTES;
use codeyard_base::{base64url, digest::sha256hex, seeded_faults};
use codeyard_model::epoch::{EpochMask, Epochs};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::query::GatedQuery;

/// The version of the cursor format.
const VERSION: &str = "2";

/// A decoded cursor of the current request. Its snapshot key isn't compared yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorToken {
    /// Index of the page's first entry in the canonical list.
    pub offset: u64,
    /// The snapshot key the cursor was made with.
    pub snapshot: String,
}

/// Decodes the cursor `text` for the request key `k`. CURSOR_INVALID with `details.reason` of the first failed check:
/// `undecodable`, `version`, `offset` or `request_key`.
pub fn decode(text: &str, k: &str) -> Result<CursorToken, ToolError> {
    let bytes = if text.len() <= MAX_CURSOR_BYTES { base64url::decode(text) } else { None };
    let bytes = bytes.ok_or_else(|| invalid("undecodable"))?;
    let payload: CursorPayload = serde_json::from_slice(&bytes).map_err(|_| invalid("undecodable"))?;
    if payload.v.get() != VERSION {
        return Err(invalid("version"));
    }
    let offset = whole_number(payload.o.get()).ok_or_else(|| invalid("offset"))?;
    if payload.k != k && !seeded_faults::is_on("cursor_of_another_question") {
        return Err(invalid("request_key"));
    }
    Ok(CursorToken { offset, snapshot: payload.s })
}

/// The cursor of the page that starts at `offset`.
pub fn mint(offset: u64, k: &str, s: &str) -> String {
    // Members in canonical order. Both keys are hexadecimal text, but this code doesn't rely on it.
    let k = serde_json::Value::from(k);
    let s = serde_json::Value::from(s);
    base64url::encode(format!("{{\"k\":{k},\"o\":{offset},\"s\":{s},\"v\":{VERSION}}}"))
}

/// The request key `k`: identifies a query without its page.
pub fn request_key(query: &GatedQuery) -> String {
    sha256hex(query.request_key_text())
}

/// The snapshot key `s`: the request key with the roots and the relevant epochs.
pub fn snapshot_key(k: &str, roots_key: &str, epochs: &Epochs, mask: EpochMask) -> String {
    let epochs = &if seeded_faults::is_on("epochs_not_in_key") { Epochs::default() } else { *epochs };
    sha256hex(format!("v1|snapshot|{k}|roots:{roots_key}|epochs:{}", epochs.tuple(mask)))
}

/// CURSOR_STALE: the cursor's snapshot key isn't the current one.
pub fn stale() -> ToolError {
    ToolError::new(
        ErrorCode::CursorStale,
        "the workspace changed since this cursor was made; start again without a cursor",
    )
}

/// CURSOR_EXPIRED: the cursor is valid, but its result is no longer stored.
pub fn expired() -> ToolError {
    ToolError::new(
        ErrorCode::CursorExpired,
        "the result behind this cursor is no longer kept; start again without a cursor",
    )
}

fn invalid(reason: &'static str) -> ToolError {
    ToolError::new(
        ErrorCode::CursorInvalid,
        "the cursor is not one that this request was given; start again without a cursor",
    )
    .with("reason", reason)
}

/// Numbers stay text, so that `1.0`, `1e1` and overflows are detected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CursorPayload<'a> {
    #[serde(borrow)]
    v: &'a RawValue,
    #[serde(borrow)]
    o: &'a RawValue,
    k: String,
    s: String,
}

fn whole_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const K: &str = "0f";
    const S: &str = "5e";

    fn reason(payload: &str) -> String {
        let error = decode(&base64url::encode(payload), K).unwrap_err();
        assert_eq!(error.code, ErrorCode::CursorInvalid);
        error.details["reason"].as_str().unwrap().into()
    }

    #[test]
    fn minted_text_is_canonical_and_comes_back() {
        let text = mint(50, K, S);
        assert_eq!(base64url::decode(&text).unwrap(), br#"{"k":"0f","o":50,"s":"5e","v":2}"#);
        assert_eq!(decode(&text, K), Ok(CursorToken { offset: 50, snapshot: S.into() }));
    }

    #[test]
    fn each_check_has_its_reason_in_the_decided_order() {
        let cases = [
            ("", "undecodable"),
            ("[]", "undecodable"),
            (r#"{"k":"0f","o":1,"s":"5e"}"#, "undecodable"),
            (r#"{"k":"0f","o":1,"s":"5e","v":2,"x":1}"#, "undecodable"),
            (r#"{"k":"0f","o":1,"o":1,"s":"5e","v":2}"#, "undecodable"),
            (r#"{"k":"0f","o":1,"s":5,"v":2}"#, "undecodable"),
            (r#"{"k":"0f","o":1,"s":"5e","v":2}x"#, "undecodable"),
            (r#"{"k":"bad","o":-1,"s":"5e","v":1}"#, "version"),
            (r#"{"k":"0f","o":1,"s":"5e","v":2.0}"#, "version"),
            (r#"{"k":"0f","o":1,"s":"5e","v":"2"}"#, "version"),
            (r#"{"k":"bad","o":-1,"s":"5e","v":2}"#, "offset"),
            (r#"{"k":"0f","o":1.0,"s":"5e","v":2}"#, "offset"),
            (r#"{"k":"0f","o":1e1,"s":"5e","v":2}"#, "offset"),
            (r#"{"k":"0f","o":"1","s":"5e","v":2}"#, "offset"),
            (r#"{"k":"0f","o":null,"s":"5e","v":2}"#, "offset"),
            (r#"{"k":"0f","o":18446744073709551616,"s":"5e","v":2}"#, "offset"),
            (r#"{"k":"bad","o":1,"s":"5e","v":2}"#, "request_key"),
        ];
        for (payload, expected) in cases {
            assert_eq!(reason(payload), expected, "{payload}");
        }
    }

    #[test]
    fn order_of_members_and_white_space_change_no_meaning() {
        let token = decode(&base64url::encode(r#"{ "v": 2, "o": 7, "k": "0f", "s": "5e" }"#), K).unwrap();
        assert_eq!(token, CursorToken { offset: 7, snapshot: S.into() });
    }

    #[test]
    fn over_long_and_padded_texts_are_undecodable() {
        let long = mint(1, K, &"s".repeat(MAX_CURSOR_BYTES));
        for text in [long.as_str(), "YQ==", "!", "é"] {
            assert_eq!(decode(text, K).unwrap_err().details["reason"], "undecodable");
        }
    }

    #[test]
    fn snapshot_keys_are_the_contracts_text() {
        let epochs = Epochs { roots: 1, text: 2, fs: 3, diagnostics: 4 };
        let key = |mask| snapshot_key("K", "R", &epochs, mask);
        assert_eq!(key(EpochMask::NAVIGATION), sha256hex("v1|snapshot|K|roots:R|epochs:1,2,3"));
        assert_eq!(key(EpochMask::WORKSPACE_DIAGNOSTICS), sha256hex("v1|snapshot|K|roots:R|epochs:1,3,4"));
    }

    #[test]
    fn every_flipped_or_dropped_byte_fails_or_is_another_offset() {
        let k = sha256hex("k");
        let text = mint(123, &k, &sha256hex("s"));
        let whole = decode(&text, &k).unwrap();
        for at in 0..text.len() {
            let mut dropped = text.clone();
            dropped.remove(at);
            assert!(decode(&dropped, &k).is_err(), "dropped {at}");
            for byte in (0..128u8).filter(|byte| *byte != text.as_bytes()[at]) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = byte;
                // A text that still decodes has another offset or snapshot key.
                if let Ok(token) = decode(&String::from_utf8(bytes).unwrap(), &k) {
                    assert_ne!(token, whole, "flipped {at}");
                }
            }
        }
    }

    #[test]
    fn a_cursor_of_another_question_is_refused() {
        use codeyard_canon::testing::file;
        use codeyard_model::position::Position;
        use codeyard_model::query::{PageRequest, Query};
        let page = || PageRequest { size: 1, cursor: None };
        let references = |path, line, include_declaration| Query::References {
            uri: file(path),
            position: Position { line, character: 0 },
            include_declaration,
            page: page(),
        };
        let questions = [
            references("/w/a", 0, false),
            references("/w/a", 0, true),
            references("/w/a", 1, false),
            references("/w/b", 0, false),
            Query::WorkspaceSymbols { query: "a".into(), page: page() },
            Query::WorkspaceSymbols { query: "b".into(), page: page() },
            Query::WorkspaceDiagnostics { page: page() },
        ];
        let keys: Vec<String> = questions.iter().map(request_key).collect();
        for (mine, k) in keys.iter().enumerate() {
            for (theirs, other) in keys.iter().enumerate() {
                let token = decode(&mint(1, k, S), other);
                assert_eq!(token.is_ok(), mine == theirs, "{mine} {theirs}");
            }
        }
        let sized = Query::WorkspaceDiagnostics { page: PageRequest { size: 9, cursor: Some("c".into()) } };
        assert_eq!(request_key(&sized), keys[6], "the page is no part of the question");
    }

    proptest! {
        #[test]
        fn any_offset_comes_back_and_any_text_is_survived(offset in any::<u64>(), text in ".{0,300}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(&mint(offset, K, S), K).unwrap().offset, offset);
            prop_assert!(decode(&text, K).is_err());
            prop_assert!(decode(&base64url::encode(bytes), K).is_err());
        }
    }
}
