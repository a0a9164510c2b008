//! A document in JSON with the places of its keys.

use serde_json::Value;

use crate::values::{ManifestValue, line_at, value};

/// A document and its text.
pub(crate) struct JsonText<'t> {
    text: &'t str,
    value: Value,
}

impl<'t> JsonText<'t> {
    /// `None` if it isn't strict JSON, or no object.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let value = serde_json::from_str(text).ok().filter(Value::is_object)?;
        Some(Self { text, value })
    }

    /// The text of a key at the top.
    pub(crate) fn text(&self, key: &str) -> Option<ManifestValue> {
        self.named(key, self.value.get(key)?.as_str()?)
    }

    /// The first text of a list at the top.
    pub(crate) fn first(&self, key: &str) -> Option<ManifestValue> {
        self.named(key, self.value.get(key)?.get(0)?.as_str()?)
    }

    /// A text that belongs to the key at the top.
    fn named(&self, key: &str, text: &str) -> Option<ManifestValue> {
        value(text, line_at(self.text, key_at(self.text, key, 1)?))
    }

    /// A text inside the key at the top, on the line of its own key.
    pub(crate) fn inner(&self, key: &str, inner: &str) -> Option<ManifestValue> {
        let text = self.value.get(key)?.get(inner)?.as_str()?;
        let outer = key_at(self.text, key, 1)?;
        let at = outer + key_at(&self.text[outer..], inner, 1)?;
        value(text, line_at(self.text, at))
    }
}

/// The byte at which the last key `key` of the object at `depth` begins; `text` is valid JSON up to there.
fn key_at(text: &str, key: &str, depth: u32) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut level = 0_u32;
    let mut found = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                let is_key = text[end..].trim_start().starts_with(':');
                let is_named = || serde_json::from_str::<String>(&text[at..end]).is_ok_and(|name| name == key);
                // Of a repeated key, the last one counts.
                if level == depth && is_key && is_named() {
                    found = Some(at);
                }
                at = end;
                continue;
            }
            b'{' | b'[' => level += 1,
            b'}' | b']' => {
                level = level.checked_sub(1)?;
                if level == 0 {
                    return found;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The byte after the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}
