//! C and C++ as their parsers like them: what only the preprocessor understands is blanked out.
//!
//! A parser that sees `FORCE_INLINE static int f(void)` or braces that only one branch of an `#if` closes gets lost, and with it the
//! functions around. Here such places are found by what they look like, never by name, and overwritten with blanks, byte for byte, so
//! that every place stays where it is. Signatures and comments are taken from the source as it was.
//!
//! - [`branches`]: of an `#if` whose branches aren't whole declarations or statements one branch stays.
//! - [`words`]: of a declaration with more words than a type and a name the others go.

mod branches;
mod tokens;
mod words;

use std::borrow::Cow;

use tokens::Token;

/// A source that is being overwritten.
struct Page<'a> {
    source: &'a str,
    /// Only once something is overwritten.
    copy: Option<Vec<u8>>,
}

impl Page<'_> {
    /// Overwrites a part; line breaks stay.
    fn blank(&mut self, start: usize, end: usize) {
        let copy = self.copy.get_or_insert_with(|| self.source.as_bytes().to_vec());
        for byte in copy.get_mut(start..end).into_iter().flatten() {
            if *byte != b'\n' && *byte != b'\r' {
                *byte = b' ';
            }
        }
    }

    fn word(&self, token: Token) -> &str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }
}

/// The source with blanks in place of what the parser can't understand.
pub(super) fn smooth(source: &str, is_cpp: bool) -> Cow<'_, str> {
    let mut page = Page { source, copy: None };
    let mut tokens = tokens::tokens(source);
    branches::straighten(&mut page, &mut tokens, is_cpp);
    words::thin_out(&mut page, &tokens);
    match page.copy.map(String::from_utf8) {
        Some(Ok(copy)) => Cow::Owned(copy),
        _ => Cow::Borrowed(source),
    }
}

/// Whether a header is one of C++: a line of it declares a class, a namespace, a template, or the visibility of members.
pub(super) fn is_cpp(source: &str) -> bool {
    let mut lines = source.lines().map(str::trim_start);
    lines.any(|line| {
        let Some(first) = line.bytes().next() else { return false };
        if !matches!(first, b'c' | b'n' | b't' | b'p' | b'u') {
            return false;
        }
        let named = |keyword: &str| {
            let rest = line.strip_prefix(keyword)?.strip_prefix(' ')?.trim_start();
            rest.starts_with(|letter: char| letter.is_alphabetic() || letter == '_').then_some(rest)
        };
        let opens = |rest: &str| rest.ends_with(['{', ';']) || rest.contains(':') || !rest.contains(' ');
        named("class").is_some_and(|rest| opens(rest.trim_end()) && !rest.contains(['.', ',', '(']))
            || named("namespace").is_some_and(|rest| opens(rest.trim_end()))
            || line.starts_with("template <")
            || line.starts_with("template<")
            || named("using").is_some_and(|rest| rest.starts_with("namespace ") || rest.contains(" = "))
            || matches!(line.trim_end(), "public:" | "protected:" | "private:")
    })
}
