//! Addresses of other sites: what is wrong with one, and where one stands in a text.
//!
//! It contacts nobody.

use std::ops::Range;

/// Characters that end an address in a text, besides white space.
const ENDS: [char; 12] = ['<', '>', '"', '`', '{', '}', '|', '\\', '^', '[', ']', '\u{FFFD}'];

/// Why no reader can follow an address; `None` if one can.
pub(crate) fn fault(target: &str) -> Option<String> {
    if let Some(address) = target.strip_prefix("mailto:") {
        return (!address.contains('@')).then(|| "it has no address of a person".into());
    }
    let Some((scheme, rest)) = target.split_once("://") else {
        return Some(if target.starts_with("//") {
            "it names no scheme; write https://".into()
        } else {
            "its scheme isn't one of web pages".into()
        });
    };
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return Some("its scheme isn't one of web pages".into());
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Some("it has a user name".into());
    }
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name);
    let is_name = !name.is_empty() && name.contains('.') && !name.starts_with('.') && !name.contains("..");
    if is_name { None } else { Some(format!("{name:?} is no name of a host")) }
}

/// The address without what a server doesn't see.
pub(crate) fn without_fragment(address: &str) -> &str {
    address.split('#').next().unwrap_or_default()
}

/// The first address of a web page in a text: one that has a name with a domain, so no address of the reader's own machine. What ends a sentence, or
/// closes a bracket that is open before, is no part of it.
pub(crate) fn first_in(text: &str) -> Option<Range<usize>> {
    let mut from = 0;
    while let Some(at) = text[from..].find("http").map(|at| from + at) {
        let rest = &text[at..];
        from = at + "http".len();
        let is_begin = !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '/'));
        if !is_begin || !(rest.starts_with("http://") || rest.starts_with("https://")) {
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c.is_control() || ENDS.contains(&c)).unwrap_or(rest.len());
        let address = without_last_marks(&rest[..end]);
        let host = address.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#', ':']).next();
        let domain = host.and_then(|host| host.rsplit('.').next()).unwrap_or_default();
        if fault(address).is_none() && domain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Some(at..at + address.len());
        }
    }
    None
}

fn without_last_marks(mut address: &str) -> &str {
    loop {
        let shorter = address.trim_end_matches(['.', ',', ':', ';', '!', '?', '\'', '*', '_', '~']);
        let is_open = |address: &str| address.matches('(').count() >= address.matches(')').count();
        let shorter = if shorter.ends_with(')') && !is_open(shorter) { &shorter[..shorter.len() - 1] } else { shorter };
        if shorter.len() == address.len() {
            return address;
        }
        address = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_end_where_a_reader_sees_their_end() {
        for (text, expected) in [
            ("see https://example.org/a_b.", Some("https://example.org/a_b")),
            ("(https://example.org/x(1))", Some("https://example.org/x(1)")),
            ("(see https://example.org/x).", Some("https://example.org/x")),
            ("'http://example.org'?", Some("http://example.org")),
            ("http://localhost:8000 or https://example.org", Some("https://example.org")),
            ("http://127.0.0.1/", None),
            ("git+https://example.org/x and xhttps://example.org", None),
            ("https://", None),
            ("https://{{ host }}.example.org/", None),
            ("https://example.org/{{< x >}}", Some("https://example.org/")),
            ("the http module", None),
            ("\u{e9}https://example.org", None),
            ("https://user@example.org/", None),
        ] {
            assert_eq!(first_in(text).map(|range| &text[range]), expected, "{text}");
        }
    }
}
