//! Canonical file URIs and how they are spelt.
//!
//! A [`CanonicalUri`] says: this file's *real* path lies inside the allowed roots. The one place that may say so is the
//! path gate (`gate`); a tidy test holds every other module to that. This module only knows the spelling: RFC 3986 path
//! segments, unreserved characters, sub-delims, `:` and `@` as they are, the rest percent-encoded in upper-case hex.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The canonical `file:` URI of a file inside the allowed roots; ordered by code point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUri(Arc<str>);

impl CanonicalUri {
    /// The URI of a real path inside the allowed roots. Only the gate may call this.
    pub fn of_gated_path(real: &Path) -> Self {
        Self(encode_path(real).into())
    }

    /// The URI as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shared text.
    pub fn text(&self) -> Arc<str> {
        self.0.clone()
    }

    /// The real path it names.
    pub fn to_path(&self) -> PathBuf {
        let bytes = percent_decode(self.0.trim_start_matches("file://").as_bytes());
        PathBuf::from(OsString::from_vec(bytes))
    }
}

/// The path gate's decision on a URI that a language server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UriAdmission {
    /// A regular file inside the allowed roots.
    Inside(CanonicalUri),
    /// Not inside the roots, or not a file URI. The entry is left out and counted.
    Outside,
    /// Inside a root, but the file doesn't exist or is not a regular file. The entry is left out and not counted.
    Missing,
}

impl std::borrow::Borrow<str> for CanonicalUri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CanonicalUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for CanonicalUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for CanonicalUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// `path` as a `file:` URI in canonical spelling. The path itself isn't checked.
pub fn encode_path(path: &Path) -> String {
    let mut text = String::with_capacity("file://".len() + path.as_os_str().len());
    text.push_str("file://");
    for &byte in path.as_os_str().as_bytes() {
        if byte == b'/' || is_pchar(byte) {
            text.push(byte as char);
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// `text` with every well-formed `%XX` replaced by its byte; other bytes stay.
pub fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push(hex_value(*high) * 16 + hex_value(*low));
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    bytes
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

fn is_pchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~')
        || matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
        || matches!(byte, b':' | b'@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_and_back() {
        let path = Path::new("/a b/[slug]/ä#%3A?/x:@=+,;.~_-!$&'()*.ts");
        let uri = CanonicalUri::of_gated_path(path);
        assert_eq!(uri.as_str(), "file:///a%20b/%5Bslug%5D/%C3%A4%23%253A%3F/x:@=+,;.~_-!$&'()*.ts");
        assert_eq!(uri.to_path(), path);
    }

    #[test]
    fn malformed_escapes_stay() {
        assert_eq!(percent_decode(b"%4x%"), b"%4x%");
        assert_eq!(percent_decode(b"%41%62"), b"Ab");
    }
}
