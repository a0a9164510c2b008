//! Request ids and progress tokens: a JSON string or integer, kept as it was written.
//!
//! Invariants: the text is one JSON token of at most `MAX_REQUEST_ID_BYTES` bytes and is echoed byte for byte; two ids are equal if
//! they are the same string after unescaping, or the same digits.

use std::hash::{Hash, Hasher};

use serde_json::value::RawValue;

use super::error::Fault;
use crate::limits::MAX_REQUEST_ID_BYTES;

/// The id of a request, or a progress token, which has the same form.
#[derive(Debug, Clone)]
pub struct RequestId {
    /// The JSON token.
    raw: Box<str>,
    /// The unescaped text of a string with escapes.
    decoded: Option<Box<str>>,
}

impl RequestId {
    /// Parses an id.
    ///
    /// # Errors
    /// [`Fault::LongId`] past the limit, [`Fault::BadId`] for anything but a string or an integer.
    pub fn parse(raw: &RawValue) -> Result<Self, Fault> {
        let text = raw.get();
        if text.len() > MAX_REQUEST_ID_BYTES {
            return Err(Fault::LongId);
        }
        if is_integer(text) || (text.starts_with('"') && !text.contains('\\')) {
            return Ok(Self { raw: text.into(), decoded: None });
        }
        if !text.starts_with('"') {
            return Err(Fault::BadId);
        }
        let decoded: String = serde_json::from_str(text).map_err(|_| Fault::BadId)?;
        Ok(Self { raw: text.into(), decoded: Some(decoded.into()) })
    }

    /// The id of our own request. `text` consists of letters, digits, `-` and `_`.
    pub fn of_text(text: &str) -> Self {
        Self { raw: format!("\"{text}\"").into(), decoded: None }
    }

    /// The JSON token as it was written.
    pub fn as_json(&self) -> &str {
        &self.raw
    }

    /// The key of equality: whether the id is a string, and its unescaped text.
    fn equality_key(&self) -> (bool, &str) {
        match (&self.decoded, self.raw.strip_prefix('"')) {
            (Some(decoded), _) => (true, decoded),
            (None, Some(rest)) => (true, rest.strip_suffix('"').unwrap_or(rest)),
            (None, None) => (false, &self.raw),
        }
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.equality_key() == other.equality_key()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.equality_key().hash(state);
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RequestId, Fault> {
        RequestId::parse(&RawValue::from_string(text.into()).unwrap())
    }

    #[test]
    fn strings_and_integers_are_kept_as_written() {
        for text in ["0", "-7", "18446744073709551616", "\"\"", "\"a b\"", "\"\\u0061\"", "\"é\""] {
            assert_eq!(parse(text).unwrap().as_json(), text);
        }
        let longest = format!("\"{}\"", "x".repeat(MAX_REQUEST_ID_BYTES - 2));
        assert_eq!(parse(&longest).unwrap().as_json(), longest);
    }

    #[test]
    fn other_values_are_rejected() {
        for text in ["null", "1.0", "1e3", "1.5", "true", "[]", "{}", "\"\\ud800\""] {
            assert_eq!(parse(text), Err(Fault::BadId), "{text}");
        }
        let long = format!("\"{}\"", "x".repeat(MAX_REQUEST_ID_BYTES - 1));
        assert_eq!(parse(&long), Err(Fault::LongId));
    }

    #[test]
    fn escapes_make_no_difference_to_equality() {
        assert_eq!(parse("\"a\""), parse("\"\\u0061\""));
        assert_ne!(parse("\"1\""), parse("1"));
    }
}
