//! The HTML of Javadoc and PHPDoc and the XML of C# as Markdown.
//!
//! It knows the tags that doc comments use; other tags are left out and their text stays. Invariant: any text gives some text, in time that
//! grows with its length.

use super::markup::{dedent, within};

/// Javadoc as Markdown. Block tags stay.
pub(super) fn from_html(text: &str) -> String {
    let text = convert(text, |tag, _, out| match tag {
        "p" | "/p" | "/ul" | "/ol" | "br" | "/dl" => out.push_str("\n\n"),
        "li" | "dd" => out.push_str("\n- "),
        "b" | "/b" | "strong" | "/strong" => out.push_str("**"),
        "code" | "/code" | "tt" | "/tt" => out.push('`'),
        "h1" | "h2" | "h3" | "h4" => out.push_str("\n\n**"),
        "/h1" | "/h2" | "/h3" | "/h4" => out.push_str("**\n\n"),
        _ => {}
    });
    // HTML has no indentation.
    let mut in_fence = false;
    let lines = text.lines().map(|line| {
        in_fence ^= line.starts_with("```");
        if in_fence { line } else { line.trim() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The doc comment of C# as text with block tags.
pub(super) fn from_xml_doc(text: &str) -> String {
    convert(text, |tag, attributes, out| {
        let value = |name: &str| attribute(attributes, name);
        match tag {
            "param" | "typeparam" => out.push_str(&format!("\n@param {} ", value("name").unwrap_or_default())),
            "returns" | "value" => out.push_str("\n@returns "),
            "exception" => out.push_str(&format!("\n@throws {} ", short(value("cref").unwrap_or_default()))),
            "remarks" => out.push_str("\n@remarks "),
            "summary" => out.push_str("\n@summary "),
            "example" => out.push_str("\n@summary "),
            "para" | "/para" | "/summary" | "/remarks" => out.push('\n'),
            "see" | "seealso" | "paramref" | "typeparamref" | "see/" | "seealso/" | "paramref/" | "typeparamref/" => {
                let name = ["cref", "name", "langword"].into_iter().find_map(value);
                match (name, value("href")) {
                    (Some(name), _) => out.push_str(&format!("`{}`", short(name))),
                    (None, Some(address)) if attributes.trim_end().ends_with('/') => {
                        out.push_str(&format!("<{address}>"))
                    }
                    _ => {}
                }
            }
            "c" | "/c" => out.push('`'),
            "item" => out.push_str("\n- "),
            _ => {}
        }
    })
}

/// `text` with each tag replaced by what `replace` writes; code blocks become fences, and entities characters.
fn convert(text: &str, replace: impl Fn(&str, &str, &mut String)) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&entities(&rest[..at]));
        rest = &rest[at..];
        let begins_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        let Some(end) = within(rest).find('>').filter(|_| begins_tag) else {
            out.push('<');
            rest = &rest[1..];
            continue;
        };
        let inner = &rest[1..end];
        let (name, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let name = name.to_ascii_lowercase();
        rest = &rest[end + 1..];
        let closing = match name.as_str() {
            "pre" => Some("</pre>"),
            "code" if within(rest).split("</code>").next().is_some_and(|code| code.contains('\n')) => Some("</code>"),
            _ => None,
        };
        match closing.and_then(|closing| rest.find(closing).map(|end| (end, closing.len()))) {
            Some((end, length)) => {
                out.push_str(&fenced(&rest[..end]));
                rest = &rest[end + length..];
            }
            None => replace(&name, attributes, &mut out),
        }
    }
    out.push_str(&entities(rest));
    tidy_spans(&out)
}

fn fenced(code: &str) -> String {
    let code = code.trim_start_matches("<code>").trim_end().trim_end_matches("</code>");
    let code = code.trim_start().strip_prefix("{@code").map_or(code, |inner| inner.trim_end().trim_end_matches('}'));
    let plain = entities(&without_tags(code));
    format!("\n\n```\n{}\n```\n\n", dedent(plain.trim_matches('\n')).trim_end())
}

fn without_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_tag = ["<b>", "</b>", "<i>", "</i>", "<code>", "</code>", "<span", "</span>", "<em>", "</em>"];
        match within(rest).find('>').filter(|_| is_tag.iter().any(|tag| rest.starts_with(tag))) {
            Some(end) => rest = &rest[end + 1..],
            None => {
                out.push('<');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Empty code spans and bold texts say nothing.
fn tidy_spans(text: &str) -> String {
    text.replace("****", "").replace("- \n", "- ")
}

fn entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut out = text.to_owned();
    let known = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#64;", "@"),
        ("&nbsp;", " "),
        ("&#42;", "*"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    for (entity, character) in known {
        out = out.replace(entity, character);
    }
    out
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = attributes.split_once(&format!("{name}="))?;
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split(quote).next()
}

/// `T:System.Text.Encoding` is shown as `Encoding`, `M:A.B(System.Int32)` as `B`.
fn short(name: &str) -> &str {
    let name = name.split_once(':').filter(|(kind, _)| kind.len() == 1).map_or(name, |(_, name)| name);
    let plain = name.split('(').next().unwrap_or(name);
    let plain = plain.split(['{', '`']).next().unwrap_or(plain);
    plain.rsplit('.').next().unwrap_or(plain)
}
