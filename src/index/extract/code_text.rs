//! A source without its strings and comments, for the checks that count what follows each other in code.
//!
//! It only knows how a language writes strings and comments, and it is linear in the source. A grammar may see other strings in a source
//! with errors, so a check may miss some of them; a string or comment that never ends hides nothing.

use std::borrow::Cow;

use crate::language::Language;

/// How a language writes strings and comments.
struct Rules {
    line_comment: &'static str,
    /// What opens and what closes a comment that nests.
    block_comment: Option<(&'static str, &'static str)>,
    /// What begins and ends a string that may contain line breaks.
    long_quotes: &'static [&'static str],
    /// What begins and ends a string that ends with its line at the latest.
    short_quotes: &'static [&'static str],
    /// What begins code inside a string; `}` ends it.
    code_in_strings: &'static [&'static str],
    /// `'` encloses one character, and may be a part of a name.
    has_characters: bool,
}

const ZIG: Rules = Rules {
    line_comment: "//",
    block_comment: None,
    long_quotes: &[],
    short_quotes: &["\"", "'"],
    code_in_strings: &[],
    has_characters: false,
};
const DART: Rules =
    Rules { block_comment: Some(("/*", "*/")), long_quotes: &["\"\"\"", "'''"], code_in_strings: &["${"], ..ZIG };
const HCL: Rules = Rules { short_quotes: &["\""], code_in_strings: &["${", "%{"], ..ZIG };
const HASKELL: Rules =
    Rules { line_comment: "--", block_comment: Some(("{-", "-}")), short_quotes: &["\""], has_characters: true, ..ZIG };
const OCAML: Rules = Rules {
    // OCaml has none; this can't occur in it.
    line_comment: "\0",
    block_comment: Some(("(*", "*)")),
    long_quotes: &["\""],
    short_quotes: &[],
    has_characters: true,
    ..ZIG
};

/// What encloses the current position.
enum Outer {
    /// A string, which ends with this. The flag says whether a backslash has no meaning in it.
    Quote(&'static str, bool),
    /// Code inside a string, with so many open braces.
    Code(usize),
}

/// The code of `source`, with `"` instead of each string. All of `source` if a string or comment never ends.
pub(super) fn of(language: Language, source: &str) -> Cow<'_, [u8]> {
    let rules = match language {
        Language::DART => DART,
        Language::ZIG => ZIG,
        Language::HCL => HCL,
        Language::HASKELL => HASKELL,
        Language::OCAML | Language::OCAML_INTERFACE => OCAML,
        _ => return Cow::Borrowed(source.as_bytes()),
    };
    strip(&rules, source.as_bytes()).map_or(Cow::Borrowed(source.as_bytes()), Cow::Owned)
}

/// `None`: a string or comment never ends.
fn strip(rules: &Rules, source: &[u8]) -> Option<Vec<u8>> {
    let mut code = Vec::with_capacity(source.len());
    let mut outer: Vec<Outer> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = source.get(at) {
        let rest = &source[at..];
        let begins = |text: &&&str| rest.starts_with(text.as_bytes());
        if let Some(Outer::Quote(close, is_raw)) = outer.last() {
            if rest.starts_with(close.as_bytes()) {
                at += close.len();
                outer.pop();
            } else if byte == b'\\' && !is_raw {
                at += 2;
            } else if let Some(open) = rules.code_in_strings.iter().find(begins).filter(|_| !is_raw) {
                at += open.len();
                code.push(b'{');
                outer.push(Outer::Code(0));
            } else {
                if byte == b'\n' && rules.short_quotes.contains(close) {
                    outer.pop();
                    code.push(b'\n');
                }
                at += 1;
            }
            continue;
        }
        if rest.starts_with(rules.line_comment.as_bytes()) {
            at += end_of_line(rest);
        } else if let Some((open, close)) = rules.block_comment.filter(|(open, _)| rest.starts_with(open.as_bytes())) {
            at += end_of_comment(rest, open.as_bytes(), close.as_bytes())?;
        } else if byte == b'\\' && rest.starts_with(br"\\") && !rules.has_characters {
            // A line of a string in Zig.
            at += end_of_line(rest);
            code.push(b'"');
        } else if let Some(length) = character(rest).filter(|_| rules.has_characters && !is_in_name(source, at)) {
            at += length;
            code.push(b'"');
        } else if let Some(quote) = rules.long_quotes.iter().chain(rules.short_quotes).find(begins) {
            let is_raw = at > 0 && source[at - 1] == b'r' && !rules.has_characters;
            at += quote.len();
            code.push(b'"');
            outer.push(Outer::Quote(quote, is_raw));
        } else {
            match (outer.last_mut(), byte) {
                (Some(Outer::Code(depth)), b'{') => *depth += 1,
                (Some(Outer::Code(0)), b'}') => drop(outer.pop()),
                (Some(Outer::Code(depth)), b'}') => *depth -= 1,
                _ => {}
            }
            code.push(byte);
            at += 1;
        }
    }
    let never_ends = |outer: &Outer| matches!(outer, Outer::Quote(close, _) if rules.long_quotes.contains(close));
    (!outer.iter().any(never_ends)).then_some(code)
}

/// Whether a `'` at this place belongs to a name before it.
fn is_in_name(source: &[u8], at: usize) -> bool {
    at > 0 && (source[at - 1].is_ascii_alphanumeric() || matches!(source[at - 1], b'_' | b'\''))
}

/// The length of the line's rest.
fn end_of_line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// The length of the nested comment at the start of `text`.
fn end_of_comment(text: &[u8], open: &[u8], close: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(close) {
            at += close.len();
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        } else if text[at..].starts_with(open) {
            at += open.len();
            depth += 1;
        } else {
            at += 1;
        }
    }
    None
}

/// The length of the character at the start of `text`: `'a'`, `'"'` or `'\n'`.
fn character(text: &[u8]) -> Option<usize> {
    match text {
        [b'\'', b'\\', _, rest @ ..] => rest.iter().take(8).position(|byte| *byte == b'\'').map(|end| end + 4),
        [b'\'', inner, b'\'', ..] if *inner != b'\'' => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_not_code() {
        for (language, source, code) in [
            (Language::DART, "a('<', r'\\', \"\"\"\n<\n\"\"\") // <\n/* < /* */ < */ b", "a(\", r\", \") \n b"),
            (Language::DART, "'a${b < {c: '<'}}<' < d", "\"{b < {c: \"}} < d"),
            (Language::DART, "'a < b\n< c", "\"\n< c"),
            (Language::DART, "a /* <", "a /* <"),
            (Language::DART, "''' ' <", "''' ' <"),
            (Language::ZIG, "a = \"==\\\"==\" // ==\n'=' \\\\ ==\n+", "a = \" \n\" \"\n+"),
            (Language::HCL, "a = \"..${b.c}..%{if d.e}\" f.g", "a = \"{b.c}{if d.e} f.g"),
            (Language::HASKELL, "f' '\"' {- \n+ {- -} -} \"+\" -- +\n+ x", "f' \"  \" \n+ x"),
            (Language::OCAML, "'[' '\\'' \"[\n\" (* [ (* *) [ *) ['a]", "\" \" \"  ['a]"),
        ] {
            let found = of(language, source);
            assert_eq!(String::from_utf8_lossy(&found), code, "{source}");
        }
    }
}
