//! Extensions of a schema in GraphQL, as its grammar can read them.
//!
//! The grammar knows `extend schema` only with exactly one operation in braces, and loses the rest of the file otherwise. Without braces it
//! becomes the scalar `schema`, which the query doesn't capture; with braces `extend` becomes blank. Lengths and line breaks stay. Linear in
//! the source.

use std::borrow::Cow;

use super::blanked_text::BlankedText;

const EXTEND: &str = "extend";

/// `source` with its extensions of the schema in a form that the grammar can read.
pub(super) fn readable(source: &str) -> Cow<'_, str> {
    let mut text = BlankedText::new(source);
    for (at, has_braces) in extensions(source) {
        text.put(at, if has_braces { "      " } else { "scalar" });
    }
    text.into_text()
}

/// Where extensions of the schema begin, and whether they have braces.
fn extensions(source: &str) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    // Where the last token `extend` begins, and where the extension begins whose directives follow.
    let mut extend = None;
    let mut open = None;
    let mut before = "";
    for (at, token) in tokens(source) {
        if depth == 0 {
            let is_end = token == "{" || before != "@" && !matches!(token, "@" | "(" | ")");
            if let Some(start) = open.take_if(|_| is_end) {
                found.push((start, token == "{"));
            }
            match token {
                "schema" if extend.is_some() => (open, extend) = (extend, None),
                _ => extend = (token == EXTEND).then_some(at),
            }
        }
        match token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = token;
    }
    found.extend(open.map(|start| (start, false)));
    found
}

/// The tokens with their places: a name, a string, or a single character. Comments aren't tokens.
fn tokens(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &source[at..];
            let first = rest.chars().next()?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = match first {
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '"' => string_length(rest),
                _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            let start = at;
            at += length;
            if !first.is_whitespace() && !matches!(first, '#' | ',' | '\u{feff}') {
                return Some((start, &source[start..at]));
            }
        }
    })
}

/// The length of the string at the start of `text`.
fn string_length(text: &str) -> usize {
    if let Some(block) = text.strip_prefix("\"\"\"") {
        return block.find("\"\"\"").map_or(text.len(), |end| end + 6);
    }
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            b'\n' => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_become_readable() {
        for (source, expected) in [
            ("extend schema @link(url: \"{\")\ntype A { b: C }", "scalar schema @link(url: \"{\")\ntype A { b: C }"),
            ("extend schema @a @b { query: Q mutation: M }", "       schema @a @b { query: Q mutation: M }"),
            ("extend schema\n  @a(b: [\"c\"]) # {\n  @d", "scalar schema\n  @a(b: [\"c\"]) # {\n  @d"),
            ("extend schema @a extend schema @b { c: D }", "scalar schema @a        schema @b { c: D }"),
            ("extend schema @a \"\"\"é {\"\"\" type B { c: D }", "scalar schema @a \"\"\"é {\"\"\" type B { c: D }"),
            ("# extend schema @a\ntype extend { schema: A }", "# extend schema @a\ntype extend { schema: A }"),
            ("\"extend schema\" extend type schema { a: B }", "\"extend schema\" extend type schema { a: B }"),
            ("extend schema", "scalar schema"),
            ("\"", "\""),
        ] {
            assert_eq!(readable(source), expected, "{source}");
        }
    }
}
