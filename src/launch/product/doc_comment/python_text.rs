//! Docstrings of Python as Markdown: reStructuredText with fields, the style of Google, and that of NumPy.
//!
//! It knows what docstrings use of these; other directives become text. Invariant: doctests and literal blocks become code and stay as they
//! are.

use super::markup::dedent;

/// Names of sections in the styles of Google and NumPy, and the titles that pages show.
const SECTIONS: [(&str, &str); 22] = [
    ("args", "Parameters"),
    ("arguments", "Parameters"),
    ("parameters", "Parameters"),
    ("other parameters", "Other parameters"),
    ("keyword args", "Parameters"),
    ("keyword arguments", "Parameters"),
    ("returns", "Returns"),
    ("return", "Returns"),
    ("yields", "Yields"),
    ("raises", "Errors"),
    ("attributes", "Attributes"),
    ("example", "Example"),
    ("examples", "Examples"),
    ("note", "Notes"),
    ("notes", "Notes"),
    ("usage", "Usage"),
    ("warning", "Warning"),
    ("warnings", "Warnings"),
    ("see also", "See also"),
    ("references", "References"),
    ("methods", "Methods"),
    ("todo", "Notes"),
];

pub(crate) fn to_markdown(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut fields: Vec<(&'static str, String)> = Vec::new();
    let mut items = Items::None;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if trimmed.starts_with(">>>") {
            let end = doctest_end(&lines, at);
            push_code(&mut out, "python", &lines[at..end]);
            at = end;
        } else if let Some((title, taken)) = section(&lines, at) {
            out.extend([String::new(), format!("**{title}**"), String::new()]);
            let is_list = matches!(
                title,
                "Parameters" | "Errors" | "Attributes" | "Other parameters" | "Methods" | "Returns" | "Yields"
            );
            items = if !is_list {
                Items::None
            } else if taken == 2 {
                Items::Numpy
            } else {
                Items::Google(indent)
            };
            at += taken;
        } else if let Some((kind, text)) = field(trimmed) {
            let mut whole = text;
            let is_more = |next: &&&str| {
                let inner = next.len() - next.trim_start().len();
                !next.trim().is_empty() && inner > indent
            };
            let more = lines[at + 1..].iter().take_while(is_more).count();
            for next in &lines[at + 1..at + 1 + more] {
                whole.push(' ');
                whole.push_str(next.trim());
            }
            if !kind.is_empty() {
                fields.push((kind, roles(&whole)));
            }
            at += 1 + more;
        } else if let Some((word, argument)) = directive(trimmed) {
            let end = block_end(&lines, at + 1, indent);
            push_directive(&mut out, word, argument, &lines[at + 1..end]);
            at = end;
        } else if trimmed.ends_with("::") && trimmed.len() > 2 && block_end(&lines, at + 1, indent) > at + 1 {
            let end = block_end(&lines, at + 1, indent);
            out.push(roles(&line[..line.trim_end().len() - 1]));
            push_code(&mut out, "", &lines[at + 1..end]);
            at = end;
        } else {
            out.push(items.line(line, trimmed, indent));
            at += 1;
        }
    }
    push_fields(&mut out, &fields);
    out.join("\n").trim().to_owned()
}

/// Whether lines of a section are items of a list.
#[derive(Clone, Copy, PartialEq)]
enum Items {
    None,
    /// `name (type): text`, more indented than the title.
    Google(usize),
    /// `name : type`, and the text more indented below it.
    Numpy,
}

impl Items {
    fn line(&mut self, line: &str, trimmed: &str, indent: usize) -> String {
        let text = roles(trimmed);
        match *self {
            _ if trimmed.is_empty() => String::new(),
            Self::Google(title) if indent <= title => {
                *self = Self::None;
                text
            }
            Self::Google(title) => {
                let name = trimmed.split_once(':').map(|(name, _)| name).filter(|_| indent <= title + 4);
                let is_name = |name: &str| {
                    name.split('(').next().is_some_and(|word| !word.trim().contains(' ') && !word.is_empty())
                };
                match name.filter(|name| is_name(name)) {
                    Some(name) => {
                        let shown = name.split('(').next().unwrap_or(name).trim().trim_matches('`');
                        format!("- `{}`: {}", shown, roles(trimmed[name.len() + 1..].trim()))
                    }
                    None => format!("  {text}"),
                }
            }
            Self::Numpy if indent == 0 => {
                let name = trimmed.split(" :").next().unwrap_or(trimmed).trim_matches('`');
                format!("- `{name}`:")
            }
            Self::Numpy => format!("  {text}"),
            Self::None => format!("{}{text}", &line[..indent.min(line.len())]),
        }
    }
}

/// A section's title and the number of lines that it takes.
fn section(lines: &[&str], at: usize) -> Option<(&'static str, usize)> {
    let trimmed = lines[at].trim();
    let known = |name: &str| SECTIONS.iter().find(|(known, _)| *known == name.to_lowercase()).map(|(_, title)| *title);
    let below = lines.get(at + 1).map_or("", |line| line.trim());
    let is_ruled =
        below.len() >= 3 && (below.bytes().all(|byte| byte == b'-') || below.bytes().all(|byte| byte == b'='));
    if is_ruled {
        return known(trimmed).map(|title| (title, 2));
    }
    let name = trimmed.strip_suffix(':').filter(|name| !name.ends_with(':'))?;
    known(name).filter(|_| !below.is_empty() || lines.get(at + 2).is_some()).map(|title| (title, 1))
}

/// `:param x: text` and the like: the title that it belongs to, and the item.
fn field(line: &str) -> Option<(&'static str, String)> {
    let (head, text) = line.strip_prefix(':')?.split_once(':')?;
    let mut words = head.split_whitespace();
    let name = words.next()?;
    let argument = words.next_back().unwrap_or_default().trim_matches('`').trim_start_matches('\\');
    let text = text.trim();
    let item = |name: &str| if text.is_empty() { format!("`{name}`") } else { format!("`{name}`: {text}") };
    match name {
        "param" | "parameter" | "arg" | "argument" | "key" | "keyword" => Some(("Parameters", item(argument))),
        "ivar" | "cvar" | "var" => Some(("Attributes", item(argument))),
        "raises" | "raise" | "except" | "exception" => Some(("Errors", item(argument))),
        "return" | "returns" => Some(("Returns", text.to_owned())),
        "type" | "rtype" | "vartype" | "meta" | "noindex" => Some(("", String::new())),
        _ => None,
    }
}

fn push_fields(out: &mut Vec<String>, fields: &[(&'static str, String)]) {
    for title in ["Parameters", "Attributes", "Returns", "Errors"] {
        let items: Vec<&String> =
            fields.iter().filter(|(of, text)| *of == title && !text.is_empty()).map(|(_, text)| text).collect();
        if !items.is_empty() {
            out.extend([String::new(), format!("**{title}**"), String::new()]);
            out.extend(items.into_iter().map(|item| format!("- {item}")));
        }
    }
}

/// `.. name:: argument`.
fn directive(line: &str) -> Option<(&str, &str)> {
    let (word, argument) = line.strip_prefix(".. ")?.split_once("::")?;
    (!word.contains(' ')).then(|| (word, argument.trim()))
}

fn push_directive(out: &mut Vec<String>, word: &str, argument: &str, block: &[&str]) {
    let option = |line: &&&str| !line.trim().starts_with(':') || line.trim().matches(':').count() < 2;
    let text = || block.iter().map(|line| roles(line.trim())).collect::<Vec<_>>().join(" ").trim().to_owned();
    let sentence = |title: &str| match (roles(argument), text()) {
        (argument, text) if argument.is_empty() || text.is_empty() => {
            format!("{title} {argument}{text}").trim().to_owned()
        }
        (argument, text) if title.is_empty() => format!("{argument} {text}"),
        (argument, text) => format!("{title} {argument}: {text}"),
    };
    match word {
        "code-block" | "code" | "sourcecode" | "ipython" => {
            let lines: Vec<&str> = block.iter().filter(option).copied().collect();
            push_code(out, if argument.is_empty() { "python" } else { argument }, &lines);
        }
        "versionadded" => out.push(sentence("New in version")),
        "versionchanged" => out.push(sentence("Changed in version")),
        "deprecated" => out.push(sentence("Deprecated since version")),
        "note" | "warning" | "tip" | "important" | "caution" | "hint" | "seealso" => {
            let title = match word {
                "seealso" => "See also".to_owned(),
                word => word[..1].to_uppercase() + &word[1..],
            };
            out.extend([String::new(), format!("**{title}:** {}", sentence("")), String::new()]);
        }
        _ => {}
    }
}

/// The end of a doctest: what follows its prompts up to an empty line is its output.
fn doctest_end(lines: &[&str], start: usize) -> usize {
    lines[start..].iter().position(|line| line.trim().is_empty()).map_or(lines.len(), |end| start + end)
}

/// The end of the lines that are more indented than `indent`.
fn block_end(lines: &[&str], start: usize, indent: usize) -> usize {
    let is_inside = |line: &str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
    let end = lines[start..].iter().position(|line| !is_inside(line)).map_or(lines.len(), |end| start + end);
    let last = lines[start..end].iter().rposition(|line| !line.trim().is_empty());
    last.map_or(start, |last| start + last + 1)
}

fn push_code(out: &mut Vec<String>, language: &str, lines: &[&str]) {
    let code = dedent(&lines.join("\n"));
    let code = code.trim_matches('\n').trim_end();
    if !code.is_empty() {
        out.extend([String::new(), format!("```{language}"), code.to_owned(), "```".to_owned(), String::new()]);
    }
}

/// Roles and double backquotes of reStructuredText as code, links as links.
pub(crate) fn roles(text: &str) -> String {
    let text = text.replace("``", "\u{0}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['`', '\u{0}']) {
        let is_literal = rest[at..].starts_with('\u{0}');
        let quote = if is_literal { '\u{0}' } else { '`' };
        let head = &rest[..at];
        let Some(end) = rest[at + 1..].find(quote) else { break };
        let inner = &rest[at + 1..at + 1 + end];
        let mut after = &rest[at + 1 + end + 1..];
        let (head, has_role) = without_role(head);
        out.push_str(head);
        if is_literal {
            out.push_str(&format!("`{inner}`"));
        } else if let Some(next) = after.strip_prefix("__").or_else(|| after.strip_prefix('_')) {
            after = next;
            match inner.split_once('<') {
                Some((label, address)) => {
                    out.push_str(&format!("[{}]({})", label.trim(), address.trim_end_matches('>').trim()))
                }
                None => out.push_str(inner),
            }
        } else {
            let name = inner.split_once('<').map_or(inner, |(label, _)| label.trim());
            let name = match name.strip_prefix('~') {
                Some(path) if has_role => path.rsplit('.').next().unwrap_or(path),
                _ => name.trim_start_matches('!'),
            };
            out.push_str(&format!("`{name}`"));
        }
        // `Name`\s
        rest = after.strip_prefix('\\').map_or(after, |after| after.strip_prefix(' ').unwrap_or(after));
    }
    out.push_str(rest);
    out.replace('\u{0}', "``")
}

/// `text` without the role at its end, such as `:class:`.
fn without_role(text: &str) -> (&str, bool) {
    let Some(inner) = text.strip_suffix(':') else { return (text, false) };
    let is_role = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | ':' | '.');
    let start = inner.rfind(|c| !is_role(c)).map_or(0, |at| at + inner[at..].chars().next().map_or(1, char::len_utf8));
    if inner[start..].starts_with(':') && inner.len() > start + 1 { (&inner[..start], true) } else { (text, false) }
}
