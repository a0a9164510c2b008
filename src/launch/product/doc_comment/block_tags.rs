//! Comments with block tags, as JSDoc, Javadoc, KDoc, PHPDoc, Doxygen and YARD have them, as Markdown.
//!
//! Parameters, results and exceptions become lists, examples become code. Tags for tools are left out. Invariant: text outside of tags stays.

use super::markup::dedent;

/// The sections of a comment, in the order in which they are shown.
#[derive(Default)]
struct TaggedText {
    description: Vec<String>,
    parameters: Vec<String>,
    results: Vec<String>,
    errors: Vec<String>,
    notes: Vec<String>,
    examples: Vec<String>,
}

/// Where the lines after a tag go.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Description,
    Parameters,
    Results,
    Errors,
    Notes,
    Example,
    Skipped,
}

pub(super) fn to_markdown(text: &str) -> String {
    let mut tagged = TaggedText::default();
    let mut section = Section::Description;
    let mut in_fence = false;
    for line in text.lines() {
        let trimmed = line.trim();
        in_fence ^= trimmed.starts_with("```");
        let tag = if in_fence { None } else { split_tag(trimmed) };
        let Some((tag, rest)) = tag else {
            tagged.continue_with(section, line, in_fence);
            continue;
        };
        section = section_of(tag);
        match section {
            Section::Description
                if matches!(tag, "brief" | "summary" | "short" | "details" | "desc" | "description") =>
            {
                tagged.description.push(rest.to_owned());
            }
            Section::Description => tagged.description.push(trimmed.to_owned()),
            Section::Parameters => tagged.parameters.push(parameter(rest)),
            Section::Results => tagged.results.push(without_type(rest).0.to_owned()),
            Section::Errors => tagged.errors.push(error(rest)),
            Section::Notes if tag == "deprecated" => tagged.notes.push(format!("Deprecated. {rest}")),
            Section::Notes => tagged.notes.push(rest.to_owned()),
            Section::Example => tagged.examples.push(rest.to_owned()),
            Section::Skipped => {}
        }
    }
    tagged.to_markdown()
}

/// The tag that a line begins with, and the rest.
fn split_tag(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(['@', '\\'])?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
    let (tag, rest) = rest.split_at(end);
    // `\param[in]` has a direction.
    let rest = match rest.strip_prefix('[') {
        Some(inner) if tag == "param" && line.starts_with(['@', '\\']) && inner.starts_with(['i', 'o']) => {
            inner.split_once(']').map_or(rest, |(_, rest)| rest)
        }
        _ => rest,
    };
    (!tag.is_empty()).then(|| (tag, rest.trim()))
}

fn section_of(tag: &str) -> Section {
    match tag {
        "param" | "arg" | "argument" | "tparam" | "template" | "typeParam" | "typeparam" | "option" | "property" => {
            Section::Parameters
        }
        "return" | "returns" | "result" | "yield" | "yields" => Section::Results,
        "throws" | "throw" | "exception" | "raise" | "raises" => Section::Errors,
        "deprecated" | "note" | "remarks" | "remark" | "warning" | "attention" => Section::Notes,
        "example" | "code" => Section::Example,
        "brief" | "summary" | "short" | "details" | "desc" | "description" => Section::Description,
        _ => Section::Skipped,
    }
}

/// `{type} name - text`, `name text`, `name [type] text`, `type $name text` as the item of a list.
fn parameter(rest: &str) -> String {
    let (rest, shown_type) = without_type(rest);
    // PHP writes the type in front of the variable.
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (name, text) = match after.trim_start() {
        after if after.starts_with('$') => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        after => (first, after),
    };
    // `[name=default]` is optional in JSDoc.
    let name = name.trim_start_matches('[').trim_end_matches(']').split('=').next().unwrap_or(name);
    let (text, yard_type) = without_type(text.trim_start_matches(['-', ':', '–']).trim());
    let text = text.trim_start_matches(['-', ':', '–']).trim();
    let _ = (shown_type, yard_type);
    if text.is_empty() { format!("`{name}`") } else { format!("`{name}`: {text}") }
}

fn error(rest: &str) -> String {
    let (text, shown_type) = without_type(rest);
    match shown_type {
        Some(name) => format!("`{name}`: {}", text.trim_start_matches('-').trim()),
        None => match text.split_once(char::is_whitespace) {
            Some((name, text)) if name.starts_with(char::is_uppercase) || name.contains("::") => {
                format!("`{name}`: {}", text.trim())
            }
            _ => text.to_owned(),
        },
    }
}

/// The text behind a type in `{…}` or `[…]`, and the type.
fn without_type(text: &str) -> (&str, Option<&str>) {
    for (open, close) in [('{', '}'), ('[', ']')] {
        let Some(inner) = text.strip_prefix(open) else { continue };
        let mut depth = 1_usize;
        for (at, character) in inner.char_indices() {
            if character == open {
                depth += 1;
            } else if character == close {
                depth -= 1;
            }
            // `[name]` of an optional parameter is no type.
            let is_type = open == '{' || inner[..at].starts_with(char::is_uppercase);
            if depth == 0 && is_type {
                return (inner[at + 1..].trim(), Some(inner[..at].trim()));
            }
        }
    }
    (text, None)
}

impl TaggedText {
    /// Adds a line without a tag to the section before it.
    fn continue_with(&mut self, section: Section, line: &str, in_fence: bool) {
        let joined = |items: &mut Vec<String>| {
            let text = line.trim();
            match items.last_mut() {
                Some(last) if !text.is_empty() || in_fence => {
                    if in_fence || text.starts_with("```") {
                        last.push('\n');
                        last.push_str(line);
                    } else {
                        // Behind code, a new paragraph begins.
                        last.push_str(if last.ends_with("```") { "\n\n" } else { " " });
                        last.push_str(text);
                    }
                }
                _ => {}
            }
        };
        match section {
            Section::Description => self.description.push(line.to_owned()),
            Section::Parameters => joined(&mut self.parameters),
            Section::Results => joined(&mut self.results),
            Section::Errors => joined(&mut self.errors),
            Section::Notes => joined(&mut self.notes),
            Section::Example => {
                if let Some(last) = self.examples.last_mut() {
                    last.push('\n');
                    last.push_str(line);
                }
            }
            Section::Skipped => {}
        }
    }

    fn to_markdown(&self) -> String {
        let mut out = inline_tags(&self.description.join("\n")).trim().to_owned();
        for (title, items) in [
            ("Parameters", &self.parameters),
            ("Returns", &self.results),
            ("Errors", &self.errors),
            ("Notes", &self.notes),
        ] {
            let items: Vec<String> =
                items.iter().map(|item| inline_tags(item.trim())).filter(|item| !item.is_empty()).collect();
            if items.is_empty() {
                continue;
            }
            out.push_str(&format!("\n\n**{title}**\n"));
            for item in items {
                out.push_str(&format!("\n- {}", item.replace('\n', "\n  ")));
            }
        }
        for example in &self.examples {
            let code = example.trim_matches('\n');
            let (title, code) =
                match code.trim_start().strip_prefix("<caption>").and_then(|rest| rest.split_once("</caption>")) {
                    Some((title, code)) => (title, code),
                    None => ("Example", code),
                };
            let is_fenced = code.contains("```");
            let code = dedent(code.trim_matches('\n')).trim_end().to_owned();
            if !code.trim().is_empty() {
                out.push_str(&format!("\n\n**{title}**\n\n"));
                out.push_str(&if is_fenced { code } else { format!("```\n{code}\n```") });
            }
        }
        out.trim_start().to_owned()
    }
}

/// The target and the label of a link; blanks in the parentheses of a method don't end the target.
fn split_label(value: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    let end = value.find(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == '|')
    });
    end.map_or((value, ""), |end| (&value[..end], value[end + 1..].trim()))
}

/// `{@link Name text}`, `{@code x}` and `\c x` as Markdown.
fn inline_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{@") {
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('}') else { break };
        let inner = &rest[at + 2..at + end];
        let (tag, value) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let value = value.trim();
        match tag {
            "link" | "linkplain" | "linkcode" => {
                let (target, label) = split_label(value);
                let label =
                    if label.is_empty() { target.trim_start_matches('#').replace('#', ".") } else { label.to_owned() };
                let is_address = target.starts_with("http://") || target.starts_with("https://");
                out.push_str(&if is_address {
                    format!("[{label}]({target})")
                } else {
                    format!("`{}`", label.split_whitespace().collect::<Vec<_>>().join(" "))
                });
            }
            "code" | "literal" | "value" | "see" if !value.is_empty() => out.push_str(&format!("`{value}`")),
            _ => {}
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    let mut text = out;
    for command in ["\\c ", "\\p ", "@c ", "@p ", "\\a ", "\\ref ", "@ref "] {
        while let Some(at) = text.find(command) {
            let after = &text[at + command.len()..];
            let end = after.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).unwrap_or(after.len());
            let word = after[..end].trim_end_matches('.');
            let quoted = format!("`{word}`");
            text.replace_range(at..at + command.len() + word.len(), if word.is_empty() { "" } else { &quoted });
        }
    }
    text
}
