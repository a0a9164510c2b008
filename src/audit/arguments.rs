//! What a call was asked about, as its line has it.
//!
//! Invariant: it is bounded, whatever the caller sends. Secrets are taken out of the whole line.

use std::borrow::Cow;

use serde_json::{Map, Value};

use codeyard_base::{digest, secrets};
use codeyard_config::AuditArguments;

/// Longest JSON text that is written into a line, in bytes. A longer one is there by its digest.
const MAX_ARGUMENTS_BYTES: usize = 2 * 1024;
/// Longest part of a path of HTTP that a line has, in characters.
const MAX_PATH_CHARS: usize = 256;
/// Hexadecimal digits of a digest: enough to compare, and half as long as the whole.
const DIGEST_DIGITS: usize = 32;

/// The digest that stands for a text.
pub fn digest_of(text: &str) -> String {
    let whole = digest::sha256hex(text);
    format!("sha256:{}", &whole[..DIGEST_DIGITS])
}

/// The arguments of a call with this JSON text.
pub(crate) fn audited(json: &str, form: AuditArguments) -> Value {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return digested(json) };
    // What a sender adds between values hides nothing.
    let compact = value.to_string();
    if compact.len() > MAX_ARGUMENTS_BYTES { digested(&compact) } else { with_texts(value, form) }
}

/// What stands for arguments that are too long.
pub(crate) fn digested(json: &str) -> Value {
    Value::Object(Map::from_iter([
        ("bytes".to_owned(), Value::from(json.len())),
        ("digest".to_owned(), Value::from(digest_of(json))),
    ]))
}

/// A text that was asked about, as a line has it.
fn text(text: &str, form: AuditArguments) -> String {
    match form {
        AuditArguments::Digests => digest_of(text),
        AuditArguments::Names => without_encoded_secrets(text),
    }
}

/// A path of HTTP that was asked for, as a line has it. Secrets are taken out before it is cut.
pub(crate) fn path(path: &str, form: AuditArguments) -> String {
    secrets::redact(&text(path, form)).chars().take(MAX_PATH_CHARS).collect()
}

/// The text, decoded if a secret hides behind percent-encoding. Others are found in the whole line.
fn without_encoded_secrets(text: &str) -> String {
    if text.contains('%') {
        let decoded = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
        if let Cow::Owned(redacted) = secrets::redact(&decoded) {
            return redacted;
        }
    }
    text.to_owned()
}

/// A JSON value of which each text is there as a line has it.
pub(crate) fn with_texts(value: Value, form: AuditArguments) -> Value {
    match value {
        Value::String(found) => Value::String(text(&found, form)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| with_texts(item, form)).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, with_texts(value, form))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_kept_without_encoded_secrets_and_digests_can_be_compared() {
        let json = r#"{"filePath":"src/a.rs","line":3,"query":["/cyd%5F0123456789abcdefghij"]}"#;
        let named = audited(json, AuditArguments::Names);
        assert_eq!(named, json!({"filePath": "src/a.rs", "line": 3, "query": ["/cyd_[redacted]"]}));
        let digests = audited(json, AuditArguments::Digests);
        assert_eq!(digests["filePath"], digest_of("src/a.rs"));
        assert_eq!((digest_of("src/a.rs").len(), &digests["line"]), (39, &json!(3)));
    }

    #[test]
    fn what_is_too_long_or_no_json_is_there_by_its_digest() {
        let padded = format!("{{{}\"query\":\"alpha\"}}", " ".repeat(MAX_ARGUMENTS_BYTES));
        assert_eq!(audited(&padded, AuditArguments::Names), json!({"query": "alpha"}));
        for json in [format!("{{\"query\":\"{}\"}}", "a".repeat(MAX_ARGUMENTS_BYTES)), "{".to_owned()] {
            let audited = audited(&json, AuditArguments::Names);
            assert_eq!(audited, json!({"bytes": json.len(), "digest": digest_of(&json)}));
        }
    }
}
