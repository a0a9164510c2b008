//! The text of a file's bytes, read as ripgrep reads them: UTF-16 by its byte order mark, all else as it is.
//!
//! Both the index and the search take texts from here, so that they speak of the same bytes.

use std::borrow::Cow;

/// The bytes that are indexed and searched: UTF-16 that begins with a byte order mark as UTF-8, a byte order mark of UTF-8 left
/// out, anything else unchanged. Never fails: what isn't a letter becomes U+FFFD.
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
    let letters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let mut text: String = letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    // Half a unit at the end. It is swallowed by a first half of a pair before it, which then is the one thing that isn't a letter.
    let is_open = pairs.last().is_some_and(|pair| (0xd800..0xdc00).contains(&unit(*pair)));
    if !rest.is_empty() && !is_open {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text.into_bytes()
}

/// Whether the text of these bytes is they themselves: nothing left out, nothing translated.
pub(super) fn is_as_it_lies(bytes: &[u8]) -> bool {
    !matches!(bytes, [0xef, 0xbb, 0xbf, ..] | [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// Whether a decoded text holds a NUL byte. Such files aren't searched.
pub(crate) fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, text).is_some()
}
