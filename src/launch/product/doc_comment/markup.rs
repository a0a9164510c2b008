//! Makes Markdown fit for a page: no headings, no HTML, no links into nowhere.
//!
//! It works line by line and knows fences. Invariant: code in fences stays as it is, but for lines that are hidden in examples of Rust.

use codeyard_index::Language;

use crate::repository::product_sources::without_hidden_signs;

/// Characters of a code span, a link or a tag.
const MAX_SPAN_CHARS: usize = 500;
/// Bytes in which the end of the first sentence is looked for.
const MAX_SENTENCE_BYTES: usize = 1_000;

/// Markdown for a page, of at most `max_bytes`, cut at the end of a line; a fence that is cut is closed.
pub(super) fn for_a_page(text: &str, language: Language, max_bytes: usize) -> String {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    let text = without_hidden_signs(text);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(open) = &fence {
            let closes =
                trimmed.trim_end().starts_with(open.as_str()) && trimmed.trim_end().trim_matches(['`', '~']).is_empty();
            if closes {
                fence = None;
                while out.ends_with("\n\n") {
                    out.pop();
                }
            } else if language == Language::RUST && is_hidden_line(trimmed) {
                continue;
            }
            push(&mut out, line.trim_end());
        } else if let Some(open) = fence_of(trimmed) {
            let word = &trimmed[open.len()..];
            push(&mut out, &format!("{}{open}{}", &line[..line.len() - trimmed.len()], fence_word(word, language)));
            fence = Some(open.to_owned());
        } else {
            push(&mut out, &prose_line(line));
        }
        if out.len() > max_bytes {
            out = cut(&out, max_bytes);
            // The cut may have removed the fence's opening.
            let opened = out.lines().filter(|line| fence_of(line.trim_start()).is_some()).count();
            fence = fence.or(Some("```".to_owned())).filter(|_| opened % 2 == 1);
            break;
        }
    }
    if let Some(open) = fence {
        push(&mut out, &open);
    }
    while out.ends_with('\n') {
        out.pop();
    }
    out
}

fn push(out: &mut String, line: &str) {
    let is_repeated = line.is_empty() && (out.is_empty() || out.ends_with("\n\n"));
    if !is_repeated {
        out.push_str(line);
        out.push('\n');
    }
}

fn cut(text: &str, max_bytes: usize) -> String {
    let head = cut_at_char(text, max_bytes);
    head[..head.rfind('\n').map_or(0, |at| at + 1)].to_owned()
}

/// At most the first `max_bytes` of a text.
pub(super) fn cut_at_char(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// Lines of an example that rustdoc doesn't show.
fn is_hidden_line(line: &str) -> bool {
    line == "#" || line.starts_with("# ") || line.starts_with("##") && !line.starts_with("##[")
}

/// The fence that a line opens.
fn fence_of(line: &str) -> Option<&str> {
    let first = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == first).count();
    (length >= 3).then(|| &line[..length])
}

/// The language of a code block in a doc comment; attributes such as `no_run` are no languages.
fn fence_word(info: &str, language: Language) -> String {
    let word = info.trim().split([',', ' ', '{']).next().unwrap_or_default().trim_start_matches('.').to_lowercase();
    match word.as_str() {
        "" | "ignore" | "no_run" | "should_panic" | "compile_fail" | "edition2018" | "edition2021" | "edition2024" => {
            if language == Language::RUST {
                "rust".to_owned()
            } else {
                String::new()
            }
        }
        word if language == Language::RUST && word.starts_with("ignore") => "rust".to_owned(),
        _ => word.chars().filter(|c| c.is_alphanumeric() || matches!(c, '+' | '-' | '#' | '_')).collect(),
    }
}

/// One line outside of code.
fn prose_line(line: &str) -> String {
    let trimmed = line.trim();
    let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
        let title = trimmed[level..].trim().trim_end_matches('#').trim();
        return if title.is_empty() {
            String::new()
        } else {
            format!("**{}**", inline_markdown(title).replace("**", ""))
        };
    }
    let is_rule = trimmed.len() >= 3 && ["-", "=", "*", "_"].iter().any(|sign| trimmed.replace(sign, "").is_empty());
    // A rule below a text would make it a heading.
    if is_rule || is_reference(trimmed) {
        return String::new();
    }
    let indent = line.len() - line.trim_start().len();
    // One marker for all lists.
    let item = ["- ", "* ", "+ "].iter().find_map(|marker| trimmed.strip_prefix(marker));
    let (marker, text) = item.map_or(("", trimmed), |text| ("- ", text.trim_start()));
    format!("{}{marker}{}", " ".repeat(indent.min(8)), inline_markdown(text))
}

/// `[name]: target` defines a link.
fn is_reference(line: &str) -> bool {
    line.starts_with('[') && line.split_once("]:").is_some_and(|(name, _)| !name[1..].contains('['))
}

/// A line of Markdown without HTML, images and links into nowhere; what these contain stays as text.
pub(crate) fn inline_markdown(line: &str) -> String {
    let line = without_hidden_signs(line);
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find(['`', '[', '<', '!', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.as_bytes()[0] {
            b'`' => code_span(rest, &mut out),
            b'!' if rest.starts_with("![") => link(&rest[1..]).map(|(_, _, length)| length + 1),
            b'[' => link(rest).map(|(text, target, length)| {
                push_link(text, target, &mut out);
                length
            }),
            b'<' => tag(rest, &mut out),
            // A shortcode of the site would be run.
            b'{' if rest.starts_with("{{") => {
                out.push_str("{ {");
                Some(2)
            }
            _ => None,
        };
        let taken = taken.unwrap_or_else(|| {
            out.push_str(if rest.starts_with('<') { "\\<" } else { &rest[..1] });
            1
        });
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// The beginning of a text, in which the end of a code span, a link or a tag is looked for.
pub(super) fn within(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).take(MAX_SPAN_CHARS + 1).nth(MAX_SPAN_CHARS);
    &text[..end.unwrap_or(text.len())]
}

/// Copies a code span. `None` if it isn't closed.
fn code_span(text: &str, out: &mut String) -> Option<usize> {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    let end = within(&text[ticks..]).find(&text[..ticks])? + 2 * ticks;
    out.push_str(&text[..end].replace("{{", "{ {"));
    Some(end)
}

/// The text and the target of a link, and its length: `[text](target)`, `[text][reference]`, `` [`name`] ``.
fn link(text: &str) -> Option<(&str, &str, usize)> {
    let text = within(text);
    let mut depth = 0_usize;
    let close = text.bytes().position(|byte| {
        depth = match byte {
            b'[' => depth + 1,
            b']' => depth - 1,
            _ => depth,
        };
        depth == 0
    })?;
    let inner = &text[1..close];
    let after = &text[close + 1..];
    if let Some(target) = after.strip_prefix('(') {
        let end = target.find(')')?;
        return Some((inner, target[..end].trim(), close + 1 + 1 + end + 1));
    }
    if let Some(reference) = after.strip_prefix('[') {
        let end = reference.find(']')?;
        return Some((inner, "", close + 1 + 1 + end + 1));
    }
    let is_name = inner.len() > 2 && inner.starts_with('`') && inner.ends_with('`');
    is_name.then_some((inner, "", close + 1))
}

fn push_link(text: &str, target: &str, out: &mut String) {
    let plain = inline_markdown(text);
    let address = target.split_whitespace().next().unwrap_or_default();
    if (address.starts_with("https://") || address.starts_with("http://")) && !plain.trim().is_empty() {
        out.push_str(&format!("[{plain}]({address})"));
    } else {
        out.push_str(&plain);
    }
}

/// Leaves a tag out, and keeps an address in angle brackets. `None` if it is neither.
fn tag(text: &str, out: &mut String) -> Option<usize> {
    let end = within(text).find('>')?;
    let inner = &text[1..end];
    if inner.starts_with("http://") || inner.starts_with("https://") {
        out.push_str(&text[..=end]);
        return Some(end + 1);
    }
    let name = inner.trim_start_matches('/');
    let is_tag = name.starts_with(|c: char| c.is_ascii_lowercase()) || name.starts_with("!--");
    let is_known = is_tag && (inner.contains(['=', '/', ' ']) || KNOWN_TAGS.contains(&name.trim_end_matches('/')));
    is_known.then_some(end + 1)
}

const KNOWN_TAGS: [&str; 30] = [
    "a", "b", "br", "code", "dd", "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "hr", "i", "img", "kbd",
    "li", "ol", "p", "pre", "span", "strong", "sub", "summary", "sup", "table", "td", "ul",
];

/// Names between these signs as code: `[Name]` of KDoc, `+name+` of RDoc.
pub(super) fn names_as_code(text: &str, open: char, close: char) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        let head = &rest[..at];
        let inner = &rest[at + 1..];
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '?' | '!' | '#');
        let end = inner.find(|c| !is_of_name(c)).filter(|end| *end > 0 && inner[*end..].starts_with(close));
        let is_alone = !head.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ']' | '`' | '@'));
        out.push_str(head);
        match end.filter(|end| is_alone && !inner[end + 1..].starts_with(['(', '[', ':'])) {
            Some(end) => {
                out.push_str(&format!("`{}`", &inner[..end]));
                rest = &inner[end + 1..];
            }
            None => {
                out.push(open);
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Text whose indented blocks are code, with fences around them.
pub(super) fn fence_indented(text: &str, language: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    let is_code = |line: &str| {
        line.starts_with("    ")
            || line.starts_with('\t')
            || line.starts_with("  ") && !line.trim_start().starts_with(['-', '*'])
    };
    while at < lines.len() {
        let begins = is_code(lines[at]) && (at == 0 || lines[at - 1].trim().is_empty());
        if !begins {
            out.push(lines[at].to_owned());
            at += 1;
            continue;
        }
        let end = lines[at..]
            .iter()
            .position(|line| !line.trim().is_empty() && !is_code(line))
            .map_or(lines.len(), |end| at + end);
        let block = lines[at..end].join("\n");
        out.push(format!("```{language}"));
        out.extend(dedent(block.trim_end()).lines().map(str::to_owned));
        out.extend(["```".to_owned(), String::new()]);
        at = end;
    }
    out.join("\n")
}

/// Text without the indentation that all of its lines have.
pub(super) fn dedent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = text.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    text.lines().map(|line| line.get(least..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The first sentence of a Markdown text, in one line; empty if it begins with code.
pub(crate) fn one_sentence(text: &str) -> String {
    let first = cut_at_char(text.split("\n\n").next().unwrap_or_default(), MAX_SENTENCE_BYTES);
    let line = first.lines().map(str::trim).take_while(|line| !line.starts_with("```")).collect::<Vec<_>>().join(" ");
    let abbreviations = ["e.g", "i.e", "etc", "vs", "cf"];
    let mut from = 0;
    while let Some(found) = line[from..].find(['.', '!', '?']) {
        let end = from + found;
        let is_end = line[end + 1..].chars().next().is_none_or(char::is_whitespace);
        let is_short = abbreviations.iter().any(|word| line[..end].ends_with(word));
        let in_code = line[..end].matches('`').count() % 2 == 1;
        if is_end && !is_short && !in_code {
            return line[..=end].trim().to_owned();
        }
        from = end + 1;
    }
    line.trim().to_owned()
}
