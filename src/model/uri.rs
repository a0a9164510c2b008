//! Canonical file URIs and their spelling.
//!
//! The type [`CanonicalUri`] means that the file's *real* path is inside the allowed roots. Only the path gate may make one;
//! a tidy test checks that. This module only defines the spelling: RFC 3986 path segments. Unreserved characters, sub-delims,
//! `:`, `@` and `/` stay; every other byte is percent-encoded in upper-case hex.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::{Serialize, Serializer};

/// The ASCII bytes that are percent-encoded. Bytes above ASCII always are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// The canonical `file:` URI of a file inside the allowed roots. Ordered by code point.
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

    /// The URI as shared text.
    pub fn text(&self) -> Arc<str> {
        self.0.clone()
    }

    /// The file's real path.
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
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
}

/// `text` with every well-formed `%XX` replaced by its byte. Other bytes stay.
pub fn percent_decode(text: &[u8]) -> Vec<u8> {
    percent_encoding::percent_decode(text).collect()
}

/// `text` with every `%XX` replaced by its byte; `None` if a `%` begins no such escape, or the result isn't UTF-8.
pub fn percent_decode_strictly(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let escapes = text.split('%').skip(1).all(is_escape);
    escapes.then(|| String::from_utf8(percent_decode(text.as_bytes())).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_encoded_by_its_class_and_decoded() {
        let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte);
        for byte in 1..=u8::MAX {
            let encoded = encode_path(Path::new(std::ffi::OsStr::from_bytes(&[byte])));
            let expected = if stays(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
            assert_eq!(encoded.strip_prefix("file://"), Some(expected.as_str()));
            assert_eq!(percent_decode(expected.as_bytes()), [byte]);
        }
    }

    #[test]
    fn a_path_round_trips() {
        let path = Path::new("/a b/[slug]/ä#%3A?/x:@=+,;.~_-!$&'()*.ts");
        let uri = CanonicalUri::of_gated_path(path);
        assert_eq!(uri.as_str(), "file:///a%20b/%5Bslug%5D/%C3%A4%23%253A%3F/x:@=+,;.~_-!$&'()*.ts");
        assert_eq!(uri.to_path(), path);
    }

    #[test]
    fn malformed_escapes_are_not_decoded() {
        assert_eq!(percent_decode(b"%4x%"), b"%4x%");
        assert_eq!(percent_decode(b"%41%62"), b"Ab");
        assert_eq!(percent_decode_strictly("%41%62%c3%a4").as_deref(), Some("Abä"));
        for wrong in ["%4x", "a%", "%4", "%+1", "%%41", "%ff"] {
            assert_eq!(percent_decode_strictly(wrong), None, "{wrong}");
        }
    }
}
