//! Decodes a file's bytes as ripgrep does: UTF-16 by its byte order mark, everything else unchanged.
//!
//! The index and the search both use this module, so they see the same bytes.

use std::borrow::Cow;

/// The bytes that are indexed and searched: UTF-16 with a byte order mark is converted to UTF-8, a UTF-8 byte order mark is removed,
/// and anything else is unchanged. Never fails: invalid UTF-16 becomes U+FFFD.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        [0xff, 0xfe, rest @ ..] => Cow::Owned(from_utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(from_utf16(rest, u16::from_be_bytes)),
        _ => Cow::Borrowed(bytes),
    }
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let chars = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let mut text: String = chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    // A single byte at the end is invalid. A high surrogate before it is invalid too; both together give one U+FFFD.
    let is_open = pairs.last().is_some_and(|pair| (0xd800..0xdc00).contains(&unit(*pair)));
    if !rest.is_empty() && !is_open {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text.into_bytes()
}

/// Whether [`decode`] returns these bytes unchanged.
pub(super) fn is_stored_verbatim(bytes: &[u8]) -> bool {
    !matches!(bytes, [0xef, 0xbb, 0xbf, ..] | [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// Whether a decoded text contains a NUL byte. Such files aren't searched.
pub(crate) fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, text).is_some()
}
