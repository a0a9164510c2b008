//! The signature of a symbol: its declaration on one line, without comments, attributes and body.
//!
//! Pure. It reads a bounded part of the source and cuts at character boundaries.

use std::ops::Range;

use super::captures::{ByteSpan, SymbolCapture};
use super::source_text::{SIGNATURE_SOURCE_BYTES, cut, one_line, without_attributes};
use crate::facts::MAX_SIGNATURE;
use codeyard_model::code::SymbolKind;

/// What a signature is made of.
struct Declaration<'s> {
    /// The source of the symbol, from its first byte.
    text: &'s str,
    /// Where its body begins.
    body: Option<usize>,
    /// Where its name is.
    name: Range<usize>,
    kind: SymbolKind,
}

/// A part in brackets that is longer than this is left out of a value or an alias.
const MAX_BRACKETED_BYTES: usize = 60;
/// What stands for it.
const LEFT_OUT: &str = " … ";

/// The signature of a symbol whose source begins at `start`. `comments` are all comments and attributes of the source, sorted.
pub(super) fn of_symbol(
    text: &str,
    found: &SymbolCapture,
    start: u32,
    kind: SymbolKind,
    comments: &[(ByteSpan, bool)],
) -> String {
    let inside = |at: u32| at.saturating_sub(start) as usize;
    let name = inside(found.name.start)..inside(found.name.end);
    let declaration = Declaration { text, body: found.body.map(inside), name, kind };
    let first = comments.partition_point(|(span, _)| span.start < start);
    // Only a bounded part of the source is read, however many attributes follow it.
    let read = comments[first..].iter().take_while(|(span, _)| inside(span.start) < SIGNATURE_SOURCE_BYTES);
    let comments = read.filter(|(_, is_attribute)| !is_attribute);
    signature(&declaration, comments.map(|(span, _)| inside(span.start)..inside(span.end)))
}

/// The signature of a declaration. `comments` are the ranges of the comments in its text, in order.
fn signature(of: &Declaration<'_>, comments: impl Iterator<Item = Range<usize>>) -> String {
    use SymbolKind::{Const, Field, Macro, Module, Static, Type, Variable};
    let end = of.body.unwrap_or(of.text.len()).min(of.text.len());
    let head = without_comments(cut(of.text.get(..end).unwrap_or(of.text), SIGNATURE_SOURCE_BYTES), comments);
    // In TOML, `[name]` is a table and not an attribute.
    let bare = if of.kind == Module { head.as_str() } else { without_attributes(&head) };
    // In Lua, `["name"] =` is a field and not an attribute.
    let has_name = of.text.get(of.name.clone()).is_some_and(|name| bare.contains(name));
    let head = if has_name { bare } else { &head };
    let shown = match of.kind {
        Macro => macro_head(head).to_owned(),
        _ if of.body.is_some() => head.to_owned(),
        Const | Field | Static | Variable => without_body(without_long_brackets(head, &['{', '[', '('])),
        Type => without_long_brackets(head, &['{']),
        Module => first_line(head).to_owned(),
        _ => head.to_owned(),
    };
    let mut line = one_line(&shown, MAX_SIGNATURE);
    // In Ruby, an empty class or method has no body.
    let is_empty = of.body.is_none() && ["class ", "module ", "def "].iter().any(|word| line.starts_with(word));
    let shown = line.strip_suffix(" end").filter(|_| is_empty).unwrap_or(&line);
    let kept = without_body_separator(shown).len();
    line.truncate(kept);
    // `typedef struct { ... } name;`
    if let Some(name) = of.text.get(of.name.clone()).filter(|_| of.body.is_some_and(|body| of.name.start > body)) {
        line = one_line(&format!("{line} {name}"), MAX_SIGNATURE);
    }
    line
}

/// `head` with a blank instead of each comment. A line comment ends before its line break.
fn without_comments(head: &str, comments: impl Iterator<Item = Range<usize>>) -> String {
    let mut kept = String::with_capacity(head.len());
    let mut at = 0;
    for comment in comments {
        if comment.start >= head.len() {
            break;
        }
        if let Some(before) = head.get(at..comment.start) {
            kept.push_str(before);
            kept.push(' ');
            at = comment.end.min(head.len());
            // A comment that the grammar gives with its line break.
            if head.get(..at).is_some_and(|text| text.ends_with('\n')) {
                kept.push('\n');
            }
        }
    }
    kept.push_str(head.get(at..).unwrap_or_default());
    kept
}

/// The first line of a C macro, the name of a Rust one.
fn macro_head(head: &str) -> &str {
    if let Some(rest) = head.strip_prefix("macro_rules!") {
        let end = rest.find(['{', '(', '[']).unwrap_or(rest.len());
        return &head[..head.len() - rest.len() + end];
    }
    let line = first_line(head);
    let mut quote = None;
    let mut before = ' ';
    for (at, character) in line.char_indices() {
        match quote {
            Some(open) if character == open && before != '\\' => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if character == '/' && line[at + 1..].starts_with(['/', '*']) => return &line[..at],
            None => {}
        }
        before = character;
    }
    line
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

/// `text` with ` … ` instead of the contents of brackets that span lines or are long. If a bracket isn't closed, the text
/// ends there. Without brackets, it ends with the line.
fn without_long_brackets(text: &str, openers: &[char]) -> String {
    let mut shown = String::new();
    let mut rest = text.trim_end();
    loop {
        let stop = rest.find(|c: char| openers.contains(&c) || c == '\n' || is_quote(c));
        let Some(at) = stop else { break };
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let first = rest.chars().next().unwrap_or_default();
        if first == '\n' {
            // A value may go on in the next line, after an operator or before one.
            let next = rest.trim_start();
            let goes_on = shown.trim_end().ends_with(['=', '|', '&', ',', '+', '?', '<', '\\'])
                || next.starts_with(['=', '|', '&', '?', '>', '.']);
            if !goes_on {
                return shown;
            }
            shown.push(' ');
            rest = next;
        } else if is_quote(first) {
            let Some(end) = quoted_end(rest) else { break };
            if rest[..end].contains('\n') {
                shown.push_str(first_line(rest));
                return shown;
            }
            shown.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            let Some(end) = closing(rest) else {
                shown.truncate(shown.trim_end().len());
                return shown;
            };
            let inner = &rest[first.len_utf8()..end];
            shown.push(first);
            shown.push_str(if inner.contains('\n') || inner.len() > MAX_BRACKETED_BYTES { LEFT_OUT } else { inner });
            rest = &rest[end..];
            let close = rest.chars().next().map_or(0, char::len_utf8);
            shown.push_str(&rest[..close]);
            rest = &rest[close..];
        }
    }
    shown.push_str(first_line(rest));
    shown
}

/// `shown` without a body that is left out, for grammars that don't name it. A value isn't a body.
fn without_body(mut shown: String) -> String {
    if let Some(head) = shown.strip_suffix("{ … }")
        && !head.contains(['=', ':'])
    {
        shown.truncate(head.len());
    }
    shown
}

fn is_quote(character: char) -> bool {
    matches!(character, '"' | '\'' | '`')
}

/// The end of the quotation that `text` begins with. A `'` that no other one follows in its line is no quotation: a
/// lifetime in Rust, a suffix in Scala.
fn quoted_end(text: &str) -> Option<usize> {
    let triple = ["\"\"\"", "'''"].into_iter().find(|quotes| text.starts_with(quotes));
    if let Some(quotes) = triple {
        return Some(text[3..].find(quotes).map_or(text.len(), |end| end + 6));
    }
    let quote = text.chars().next()?;
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' if quote == '\'' => return Some(1),
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(if quote == '\'' { 1 } else { text.len() })
}

/// The position of the bracket that closes the one that `text` begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut skip_until = 0;
    for (at, character) in text.char_indices() {
        if at < skip_until {
            continue;
        }
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            quote if is_quote(quote) => skip_until = at + quoted_end(&text[at..]).unwrap_or(1),
            _ => {}
        }
    }
    None
}

/// `line` without the punctuation that separates a signature from its body.
fn without_body_separator(line: &str) -> &str {
    let mut line = line.trim_end();
    // Names such as `operator=` end with punctuation.
    if line.contains("operator") && !line.ends_with(['{', ';']) {
        return line;
    }
    while let Some(shorter) = ["=>", "{", "=", ";", ":", ",", "\\"].iter().find_map(|sign| line.strip_suffix(sign)) {
        line = shorter.trim_end();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, body: Option<&str>, kind: SymbolKind) -> String {
        let body = body.and_then(|body| text.find(body));
        signature(&Declaration { text, body, name: 0..0, kind }, std::iter::empty())
    }

    #[test]
    fn signatures_are_one_line_without_the_body() {
        use SymbolKind::{Const, Field, Fn, Macro, Method, Type, Variable};
        for (text, body, kind, expected) in [
            ("pub fn a(\n    b: u8,\n) -> u8 {\n}", Some("{"), Fn, "pub fn a( b: u8, ) -> u8"),
            ("@dec(1)\n@other\ndef f(x):\n  pass", Some("pass"), Fn, "def f(x)"),
            ("const X: &str = \"\n\";", None, Const, "const X: &str = \""),
            ("bool operator==(const A&) const = default;", None, Method, "bool operator==(const A&) const = default"),
            ("const A: [u8; 3] = [1, 2, 3];", None, Const, "const A: [u8; 3] = [1, 2, 3]"),
            ("const A = [\n  1,\n  2,\n];", None, Const, "const A = [ … ]"),
            ("A = {\n  'x]': f(\n  1),\n}\n", None, Const, "A = { … }"),
            ("A = {\n  'never closed': 1", None, Const, "A"),
            ("x = '''one\ntwo'''", None, Variable, "x = '''one"),
            ("x = 'it' +\n  'goes on'", None, Variable, "x = 'it' + 'goes on'"),
            ("int x;\nint y;", None, Field, "int x"),
            ("type A =\n  | { a: 1;\n b: 2 }\n  | B;", None, Type, "type A = | { … } | B"),
            ("type A<'a> = Vec<&'a [u8]>;", None, Type, "type A<'a> = Vec<&'a [u8]>"),
            ("#define F(x) \\\n  g(x)", None, Macro, "#define F(x)"),
            ("#define N 10 /* ten */", None, Macro, "#define N 10"),
            ("#define S \"a // b\" // c", None, Macro, "#define S \"a // b\""),
            ("macro_rules! m {\n () => {} }", None, Macro, "macro_rules! m"),
        ] {
            assert_eq!(of(text, body, kind), expected, "{text}");
        }
        assert_eq!(of(&"é".repeat(900), None, Type).len(), MAX_SIGNATURE);
    }

    #[test]
    fn names_behind_the_body_and_comments_are_handled() {
        let text = "typedef struct { int a; } thing_t;";
        let name = text.find("thing_t").unwrap();
        let found = Declaration { text, body: text.find('{'), name: name..name + 7, kind: SymbolKind::Struct };
        assert_eq!(signature(&found, std::iter::empty()), "typedef struct thing_t");
        let text = "fn f(/* one */ a: u8, // two\n b: u8) /* three */ {}";
        let comments = [("/* one */", 9), ("// two", 6), ("/* three */", 11)];
        let ranges = comments.map(|(start, length)| text.find(start).map(|at| at..at + length).unwrap());
        let found = Declaration { text, body: text.find('{'), name: 3..4, kind: SymbolKind::Fn };
        assert_eq!(signature(&found, ranges.into_iter()), "fn f( a: u8, b: u8)");
    }
}
