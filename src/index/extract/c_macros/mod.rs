//! Blanks C and C++ preprocessor constructs that the parser cannot read.
//!
//! The parser fails on `FORCE_INLINE static int f(void)`, or on braces that only one branch of an `#if` closes, and then loses the
//! functions around them. This module recognizes such constructs by their shape, never by name, and overwrites them with blanks. The
//! result has the same length, so all offsets stay valid. Comments are read from the original source.
//!
//! - [`branches`]: keeps one branch of an `#if` whose branches aren't whole declarations or statements.
//! - [`attribute_macros`]: blanks the words of a declaration that are neither its type nor its name.

mod attribute_macros;
mod branches;
mod tokens;
mod words;

use std::borrow::Cow;

use super::blanked_text::BlankedText;
use tokens::{CToken, TokenKind};

impl BlankedText<'_> {
    fn word(&self, token: CToken) -> &str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }
}

/// The source with blanks in place of constructs that the parser cannot read.
pub(super) fn blank_macros(source: &str, is_cpp: bool) -> Cow<'_, str> {
    let mut buffer = BlankedText::new(source);
    let mut tokens = tokens::tokens(source);
    branches::blank_partial_branches(&mut buffer, &mut tokens, is_cpp);
    attribute_macros::blank_attribute_macros(&mut buffer, &tokens);
    buffer.into_text()
}

/// The words of code that `text`, made by [`blank_macros`], has blanks for: each with its line, from 1.
pub(super) fn blanked_words<'s>(source: &'s str, text: &'s str) -> impl Iterator<Item = (u32, &'s str)> {
    let is_blanked = text.len() == source.len() && !std::ptr::eq(text, source);
    let tokens = if is_blanked { tokens::tokens(source) } else { Vec::new() };
    let words = tokens.into_iter().filter(|token| {
        token.kind == TokenKind::Word && text.as_bytes().get(token.start as usize).is_some_and(u8::is_ascii_whitespace)
    });
    let mut at = 0;
    let mut line = 1_u32;
    words.filter_map(move |token| {
        let start = token.start as usize;
        let breaks = source.get(at..start)?.bytes().filter(|byte| *byte == b'\n').count();
        line = line.saturating_add(u32::try_from(breaks).ok()?);
        at = start;
        Some((line, source.get(start..token.end as usize)?))
    })
}

/// Whether a header is C++: it has a line that declares a class, a namespace, a template, or the visibility of members.
pub(super) fn is_cpp(source: &str) -> bool {
    let mut lines = source.lines().map(str::trim_start);
    lines.any(|line| {
        let Some(first) = line.bytes().next() else { return false };
        if !matches!(first, b'c' | b'n' | b't' | b'p' | b'u') {
            return false;
        }
        let after_keyword = |keyword: &str| {
            let rest = line.strip_prefix(keyword)?.strip_prefix(' ')?.trim_start();
            rest.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(rest)
        };
        let opens = |rest: &str| rest.ends_with(['{', ';']) || rest.contains(':') || !rest.contains(' ');
        after_keyword("class").is_some_and(|rest| opens(rest.trim_end()) && !rest.contains(['.', ',', '(']))
            || after_keyword("namespace").is_some_and(|rest| opens(rest.trim_end()))
            || line.starts_with("template <")
            || line.starts_with("template<")
            || after_keyword("using").is_some_and(|rest| rest.starts_with("namespace ") || rest.contains(" = "))
            || matches!(line.trim_end(), "public:" | "protected:" | "private:")
    })
}
