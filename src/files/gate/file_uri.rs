//! Parses a `file:` URI or the text of a path into an absolute path without dot segments. Pure: no access to the disk.
//!
//! Choices where RFC 8089 allows several: the scheme is case-insensitive; the host is empty or `localhost`; `file:/a` is
//! accepted; unescaped characters that a URI should escape are accepted (`[slug]`, spaces, non-ASCII), except control
//! characters and the backslash; empty segments are dropped; a last segment that is empty or a dot names a directory.
//! `%2F`, `%5C` and `%00`, a query and a fragment are refused before anything is decoded.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::limits::{MAX_PATH_BYTES, MAX_URI_BYTES};
use codeyard_base::seeded_faults;
use codeyard_model::uri::percent_decode;

/// A parsed path. Nothing is known yet about the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedPath {
    /// Absolute, without `.`, `..` and empty segments.
    pub path: PathBuf,
    /// Whether the text names a directory (`a/`, `a/.`).
    pub is_directory: bool,
}

/// Why a text can't name a file. The word goes into `details.reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MalformedPath(pub &'static str);

/// The path that a URI names.
pub(super) fn parse_uri(uri: &str) -> Result<ParsedPath, MalformedPath> {
    if uri.len() > MAX_URI_BYTES {
        return Err(MalformedPath("too_long"));
    }
    let rest = strip_scheme(uri).ok_or(MalformedPath("scheme"))?;
    let path = match rest.strip_prefix("//") {
        Some(after) => strip_host(after)?,
        None => rest,
    };
    check_raw(path.as_bytes())?;
    let mut decoded = percent_decode(path.as_bytes()).to_vec();
    if seeded_faults::is_on("uri_decoded_twice") {
        decoded = percent_decode(&decoded).to_vec();
    }
    check_path(&decoded)
}

/// The path that a `file:` URI spells, whether or not a file is there or may be read. `None`: it is no such URI.
pub fn spelt_path(uri: &str) -> Option<PathBuf> {
    parse_uri(uri).ok().map(|parsed| parsed.path)
}

/// The path that a path's text names. It must be absolute.
pub(super) fn parse_path(path: &Path) -> Result<ParsedPath, MalformedPath> {
    check_path(path.as_os_str().as_bytes())
}

/// Whether a real path has a canonical URI that [`parse_uri`] accepts.
pub(super) fn is_representable(path: &Path) -> bool {
    check_bytes(path.as_os_str().as_bytes()).is_ok()
}

fn strip_scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_at_checked(5)?;
    scheme.eq_ignore_ascii_case("file:").then_some(rest)
}

fn strip_host(after: &str) -> Result<&str, MalformedPath> {
    let slash = after.find('/').ok_or(MalformedPath("no_path"))?;
    let (host, path) = after.split_at(slash);
    let is_local = host.is_empty() || host.eq_ignore_ascii_case("localhost") || seeded_faults::is_on("uri_of_any_host");
    if is_local { Ok(path) } else { Err(MalformedPath("host")) }
}

fn check_raw(path: &[u8]) -> Result<(), MalformedPath> {
    for (at, &byte) in path.iter().enumerate() {
        match byte {
            b'?' => return Err(MalformedPath("query")),
            b'#' => return Err(MalformedPath("fragment")),
            b'%' => check_escape(path.get(at + 1..at + 3))?,
            _ => {}
        }
    }
    Ok(())
}

fn check_escape(digits: Option<&[u8]>) -> Result<(), MalformedPath> {
    match digits {
        Some([high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            let forbidden = [b"2f", b"5c", b"00"].iter().any(|code| code.eq_ignore_ascii_case(&[*high, *low]));
            if forbidden { Err(MalformedPath("forbidden_escape")) } else { Ok(()) }
        }
        _ => Err(MalformedPath("malformed_escape")),
    }
}

fn check_path(path: &[u8]) -> Result<ParsedPath, MalformedPath> {
    check_bytes(path).map(|()| remove_dot_segments(path))
}

fn check_bytes(path: &[u8]) -> Result<(), MalformedPath> {
    if path.first() != Some(&b'/') {
        return Err(MalformedPath("not_absolute"));
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(MalformedPath("too_long"));
    }
    if path.iter().any(|byte| byte.is_ascii_control() || *byte == b'\\') {
        return Err(MalformedPath("forbidden_character"));
    }
    if std::str::from_utf8(path).is_err() {
        return Err(MalformedPath("not_utf8"));
    }
    Ok(())
}

fn remove_dot_segments(path: &[u8]) -> ParsedPath {
    let mut kept: Vec<&[u8]> = Vec::with_capacity(16);
    let mut is_directory = true;
    for segment in path.split(|byte| *byte == b'/') {
        is_directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let mut bytes = Vec::with_capacity(path.len() + 1);
    for name in &kept {
        bytes.push(b'/');
        bytes.extend_from_slice(name);
    }
    if kept.is_empty() {
        bytes.push(b'/');
    }
    ParsedPath { path: PathBuf::from(OsString::from_vec(bytes)), is_directory }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_path_parse_to_it() {
        for uri in [
            "file:///w/a.py", "FILE:///w/a.py", "file://localhost/w/a.py", "file://LocalHost/w/a.py", "file:/w/a.py",
            "file:////w//a.py", "file:///w/%61.py", "file:///w/x/../a.py", "file:///w/%2e%2E/w/./a.py",
            "file:///../../w/a.py",
        ] {
            let parsed = ParsedPath { path: "/w/a.py".into(), is_directory: false };
            assert_eq!(parse_uri(uri), Ok(parsed), "{uri}");
        }
    }

    #[test]
    fn escapes_are_decoded_once() {
        for (uri, path) in [
            ("file:///w/%5Bslug%5D/[id].ts", "/w/[slug]/[id].ts"),
            ("file:///w/%23x%3F%3a%3A", "/w/#x?::"),
            ("file:///w/%252F%2541", "/w/%2F%41"),
            ("file:///w/a b/%C3%A4ä.py", "/w/a b/ää.py"),
            ("file:///C:/x", "/C:/x"),
        ] {
            assert_eq!(parse_uri(uri).map(|parsed| parsed.path), Ok(PathBuf::from(path)), "{uri}");
        }
    }

    #[test]
    fn a_trailing_slash_or_dot_names_a_directory() {
        for (uri, is_directory) in
            [("file:///w/", true), ("file:///w/.", true), ("file:///w/a/..", true), ("file:///", true)]
        {
            assert_eq!(parse_uri(uri).map(|parsed| parsed.is_directory), Ok(is_directory), "{uri}");
        }
    }

    #[test]
    fn invalid_texts_are_refused_with_a_reason() {
        let long = format!("file:///{}", "a".repeat(MAX_PATH_BYTES));
        for (uri, reason) in [
            ("", "scheme"),
            ("http://localhost/a", "scheme"),
            ("untitled:Untitled-1", "scheme"),
            (" file:///a", "scheme"),
            ("/w/a.py", "scheme"),
            ("ﬁle:///a", "scheme"),
            ("file:", "not_absolute"),
            ("file:a.py", "not_absolute"),
            ("file:///a?x", "query"),
            ("file:///a#L1", "fragment"),
            ("file://", "no_path"),
            ("file://host", "no_path"),
            ("file://host/a", "host"),
            ("file://127.0.0.1/a", "host"),
            ("file://me@localhost/a", "host"),
            ("file://localhost:80/a", "host"),
            ("file://localhost%2Fw/a", "host"),
            ("file:///a%2Fb", "forbidden_escape"),
            ("file:///a%2fb", "forbidden_escape"),
            ("file:///a%5Cb", "forbidden_escape"),
            ("file:///a%5cb", "forbidden_escape"),
            ("file:///a%00b", "forbidden_escape"),
            ("file:///a%", "malformed_escape"),
            ("file:///a%4", "malformed_escape"),
            ("file:///a%zz", "malformed_escape"),
            ("file:///a%4g", "malformed_escape"),
            ("file:///a%g4", "malformed_escape"),
            ("file:///a%é1", "malformed_escape"),
            ("file:///a\\b", "forbidden_character"),
            ("file:///a\nb", "forbidden_character"),
            ("file:///a%0Ab", "forbidden_character"),
            ("file:///a\0b", "forbidden_character"),
            ("file:///a%7F", "forbidden_character"),
            ("file:///%FF", "not_utf8"),
            ("file:///%C3", "not_utf8"),
            (long.as_str(), "too_long"),
        ] {
            assert_eq!(parse_uri(uri), Err(MalformedPath(reason)), "{uri}");
        }
        assert_eq!(parse_uri(&format!("file:///{}", "%41".repeat(MAX_URI_BYTES))), Err(MalformedPath("too_long")));
        // A URI that is too long isn't looked at.
        assert_eq!(parse_uri(&"x".repeat(MAX_URI_BYTES)), Err(MalformedPath("scheme")));
        assert_eq!(parse_uri(&"x".repeat(MAX_URI_BYTES + 1)), Err(MalformedPath("too_long")));
        assert!(parse_uri(&format!("file:///{}", "a".repeat(MAX_PATH_BYTES - 1))).is_ok());
    }
}
