//! From the text of a `file:` URI, or of a path, to an absolute path without dot segments. Pure: the disk isn't asked.
//!
//! Readings where RFC 8089 leaves room: the scheme is case-insensitive; the host is empty or `localhost`; `file:/a` is
//! accepted; letters that should have been escaped are taken as they are (`[slug]`, spaces, non-ASCII), except control
//! characters and the backslash; empty segments are dropped; a last segment that is empty or a dot names a directory.
//! `%2F`, `%5C` and `%00`, a query and a fragment are refused before anything is decoded (decisions §3).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::limits::{MAX_PATH_BYTES, MAX_URI_BYTES};
use codeyard_model::uri::percent_decode;

/// A path as it was named: absolute, clean, not yet looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// Absolute, without `.`, `..` and empty segments.
    pub path: PathBuf,
    /// Whether the spelling asks for a directory (`a/`, `a/.`).
    pub directory: bool,
}

/// Why a text can't name a file; the word goes into `details.reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub &'static str);

/// The path that a URI names.
pub(super) fn parse_uri(uri: &str) -> Result<Named, Malformed> {
    if uri.len() > MAX_URI_BYTES {
        return Err(Malformed("too_long"));
    }
    let rest = strip_scheme(uri).ok_or(Malformed("scheme"))?;
    let path = match rest.strip_prefix("//") {
        Some(after) => strip_host(after)?,
        None => rest,
    };
    check_raw(path.as_bytes())?;
    check_path(&percent_decode(path.as_bytes()))
}

/// The path that a path's text names; it must be absolute.
pub(super) fn parse_path(path: &Path) -> Result<Named, Malformed> {
    check_path(path.as_os_str().as_bytes())
}

/// Whether a real path can be named by a URI that comes back through this door.
pub(super) fn nameable(path: &Path) -> bool {
    check_letters(path.as_os_str().as_bytes()).is_ok()
}

fn strip_scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_at_checked(5)?;
    scheme.eq_ignore_ascii_case("file:").then_some(rest)
}

fn strip_host(after: &str) -> Result<&str, Malformed> {
    let slash = after.find('/').ok_or(Malformed("no_path"))?;
    let (host, path) = after.split_at(slash);
    let ours = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    if ours { Ok(path) } else { Err(Malformed("host")) }
}

fn check_raw(path: &[u8]) -> Result<(), Malformed> {
    for (at, &byte) in path.iter().enumerate() {
        match byte {
            b'?' => return Err(Malformed("query")),
            b'#' => return Err(Malformed("fragment")),
            b'%' => check_escape(path.get(at + 1..at + 3))?,
            _ => {}
        }
    }
    Ok(())
}

fn check_escape(digits: Option<&[u8]>) -> Result<(), Malformed> {
    match digits {
        Some([high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            let forbidden = [b"2f", b"5c", b"00"].iter().any(|code| code.eq_ignore_ascii_case(&[*high, *low]));
            if forbidden { Err(Malformed("forbidden_escape")) } else { Ok(()) }
        }
        _ => Err(Malformed("malformed_escape")),
    }
}

fn check_path(path: &[u8]) -> Result<Named, Malformed> {
    check_letters(path).map(|()| clean(path))
}

fn check_letters(path: &[u8]) -> Result<(), Malformed> {
    if path.first() != Some(&b'/') {
        return Err(Malformed("not_absolute"));
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(Malformed("too_long"));
    }
    if path.iter().any(|byte| byte.is_ascii_control() || *byte == b'\\') {
        return Err(Malformed("forbidden_character"));
    }
    if std::str::from_utf8(path).is_err() {
        return Err(Malformed("not_utf8"));
    }
    Ok(())
}

fn clean(path: &[u8]) -> Named {
    let mut kept: Vec<&[u8]> = Vec::with_capacity(16);
    let mut directory = true;
    for segment in path.split(|byte| *byte == b'/') {
        directory = matches!(segment, b"" | b"." | b"..");
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
    Named { path: PathBuf::from(OsString::from_vec(bytes)), directory }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path() {
        for uri in [
            "file:///w/a.py",
            "FILE:///w/a.py",
            "file://localhost/w/a.py",
            "file://LocalHost/w/a.py",
            "file:/w/a.py",
            "file:////w//a.py",
            "file:///w/%61.py",
            "file:///w/x/../a.py",
            "file:///w/%2e%2E/w/./a.py",
            "file:///../../w/a.py",
        ] {
            let named = Named { path: "/w/a.py".into(), directory: false };
            assert_eq!(parse_uri(uri), Ok(named), "{uri}");
        }
    }

    #[test]
    fn hard_names_are_decoded_once() {
        for (uri, path) in [
            ("file:///w/%5Bslug%5D/[id].ts", "/w/[slug]/[id].ts"),
            ("file:///w/%23x%3F%3a%3A", "/w/#x?::"),
            ("file:///w/%252F%2541", "/w/%2F%41"),
            ("file:///w/a b/%C3%A4ä.py", "/w/a b/ää.py"),
            ("file:///C:/x", "/C:/x"),
        ] {
            assert_eq!(parse_uri(uri).map(|named| named.path), Ok(PathBuf::from(path)), "{uri}");
        }
    }

    #[test]
    fn directories_are_noticed() {
        for (uri, directory) in
            [("file:///w/", true), ("file:///w/.", true), ("file:///w/a/..", true), ("file:///", true)]
        {
            assert_eq!(parse_uri(uri).map(|named| named.directory), Ok(directory), "{uri}");
        }
    }

    #[test]
    fn refusals() {
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
            assert_eq!(parse_uri(uri), Err(Malformed(reason)), "{uri}");
        }
        assert_eq!(parse_uri(&format!("file:///{}", "%41".repeat(MAX_URI_BYTES))), Err(Malformed("too_long")));
        assert!(parse_uri(&format!("file:///{}", "a".repeat(MAX_PATH_BYTES - 1))).is_ok());
    }
}
