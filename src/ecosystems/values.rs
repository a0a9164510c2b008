//! Values of manifests, each with its line.
//!
//! Invariant: a value is one line of bounded length without control characters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of one value of a manifest, in characters; longer ones are left out.
const MAX_MANIFEST_VALUE_CHARS: usize = 1_000;

/// A value and the line that says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestValue {
    /// The value.
    pub text: String,
    /// The line of the manifest, from 1.
    pub line: u32,
    /// The file whose line it is, if it is another one: of a workspace, a parent or a build that the package inherits from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManifestValues {
    pub(crate) name: Option<ManifestValue>,
    pub(crate) version: Option<ManifestValue>,
    pub(crate) description: Option<ManifestValue>,
    pub(crate) license: Option<ManifestValue>,
    pub(crate) requires: Option<ManifestValue>,
}

/// `License :: OSI Approved :: MIT License` is `MIT License`.
pub(crate) fn license_of_classifier(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix("License ::")?;
    let last = rest.rsplit("::").next()?.trim();
    (!last.is_empty() && last != "OSI Approved").then(|| last.to_owned())
}

/// A value in one line; `None` if nothing is left, or it is longer than any such value.
pub(crate) fn value(text: &str, line: u32) -> Option<ManifestValue> {
    cleaned(text).map(|text| ManifestValue { text, line, path: None })
}

/// The text of a value in one line.
pub(crate) fn cleaned(text: &str) -> Option<String> {
    if text.len() > MAX_MANIFEST_VALUE_CHARS * 8 {
        return None;
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits =
        !text.is_empty() && text.chars().count() <= MAX_MANIFEST_VALUE_CHARS && !text.chars().any(char::is_control);
    fits.then_some(text)
}

/// The beginning of `text`, at most `max` bytes.
pub(crate) fn window(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The line of a byte, from 1.
pub(crate) fn line_at(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count()).map_or(u32::MAX, |count| count + 1)
}
