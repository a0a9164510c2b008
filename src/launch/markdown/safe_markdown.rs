//! Text of a repository as a part of a page: what would do something else than show text is shown as text.
//!
//! Invariants: the result opens no shortcode and no template of the site, has no HTML, no heading and no link into the repository; what was code
//! stays code, byte for byte. Every block of the result carries the mark that it is given.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd, TextMergeStream};

use crate::markdown::cited_markdown::without_marks;
use crate::markdown::outer_address;
use crate::markdown::page_blocks::options;

/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 120;
/// Longest doc comment on a page, in lines of the result.
const MAX_DOC_LINES: usize = 120;

/// `text` as one line of prose.
pub(crate) fn prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    let line = without_marks(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut is_first = true;
    for c in line.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => escaped.extend(['\\', c]),
            '#' | '-' | '+' | '=' | ':' if is_first => escaped.extend(['\\', c]),
            '.' | ')' if escaped.bytes().all(|byte| byte.is_ascii_digit()) && !escaped.is_empty() => {
                escaped.extend(['\\', c])
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // Shortcodes, templates, and attributes of headings begin with it.
            '{' => escaped.push_str("&#123;"),
            // Characters that reorder the line would let a text look like another one.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{0}'..='\u{1f}' | '\u{7f}' => {
                escaped.push('\u{FFFD}')
            }
            c => escaped.push(c),
        }
        is_first = false;
    }
    escaped
}

/// `text` as a title, which templates of the site show as they like: one short line without markup, HTML or braces that mean something.
pub(crate) fn title(text: &str) -> String {
    let is_shown =
        |c: &char| !c.is_control() && !matches!(c, '<' | '>' | '`' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line: String =
        without_marks(text).chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(is_shown).collect();
    let line = line.replace("{{", "{ {").replace("}}", "} }").replace("[[", "[ [");
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_TITLE_CHARS).collect()
}

pub(crate) fn code_span(text: &str) -> String {
    let line = without_marks(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = defused(&line);
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    match line.is_empty() {
        true => String::new(),
        false => format!("{fence}{space}{}{space}{fence}", line.replace('|', "\\|")),
    }
}

/// `code` as a code block in `language`.
pub(crate) fn code_block(language: &str, code: &str) -> String {
    let code = without_marks(code).replace("\r\n", "\n");
    let code = defused(code.trim_end_matches(['\n', '\r']));
    let longest = code.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let word: String = language.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '#')).collect();
    format!("{fence}{word}\n{code}\n{fence}")
}

/// Code whose shortcodes are shown and not run.
fn defused(code: &str) -> String {
    if !code.contains("{{<") && !code.contains("{{%") {
        return code.to_owned();
    }
    let mut shown = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("{{<").into_iter().chain(rest.find("{{%")).min() {
        let kind = &rest[at + 2..at + 3];
        let closing = if kind == "<" { ">}}" } else { "%}}" };
        shown.push_str(&rest[..at]);
        rest = &rest[at + 3..];
        match rest.find(closing) {
            Some(end) => {
                shown.push_str(&format!("{{{{{kind}/*{}*/{closing}", rest[..end].replace("*/", "* /")));
                rest = &rest[end + 3..];
            }
            // What never closes would swallow the rest of the page.
            None => shown.push_str(&format!("{{ {{{kind}")),
        }
    }
    shown + rest
}

/// Markdown of a repository as blocks of a page, each followed by `mark`. At most [`MAX_DOC_LINES`] lines, cut after a block.
pub(crate) fn document(text: &str, language: &str, mark: &str, bullet: char) -> String {
    let source = without_marks(text);
    let mut writer = DocumentWriter {
        bullet,
        language,
        mark,
        blocks: Vec::new(),
        inline: String::new(),
        lists: Vec::new(),
        code: None,
        skip: 0,
        bold: false,
        strong: 0,
        has_plain: false,
    };
    for event in TextMergeStream::new(Parser::new_ext(&source, options())) {
        writer.event(event);
    }
    writer.finish_text();
    let mut lines = 0;
    let kept = writer.blocks.into_iter().take_while(|block| {
        lines += block.lines().count() + 1;
        lines <= MAX_DOC_LINES
    });
    kept.collect::<Vec<_>>().join("\n\n")
}

/// Writes the blocks of a document.
struct DocumentWriter<'d> {
    bullet: char,
    language: &'d str,
    mark: &'d str,
    blocks: Vec<String>,
    inline: String,
    /// The open lists; a number counts.
    lists: Vec<Option<u64>>,
    code: Option<(String, String)>,
    /// How many tags are open whose text isn't shown.
    skip: usize,
    bold: bool,
    /// How many strong passages are open.
    strong: usize,
    /// Whether the paragraph has text that isn't strong.
    has_plain: bool,
}

impl DocumentWriter<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Text(text) | Event::Code(text) = &event {
            self.has_plain |= self.strong == 0 && !text.trim().is_empty();
        }
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None if self.skip == 0 => self.inline.push_str(&joined(&self.inline, &text)),
                None => {}
            },
            Event::Code(text) if self.skip == 0 => self.inline.push_str(&code_span(&text)),
            Event::SoftBreak | Event::HardBreak => self.inline.push(' '),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(kind) => {
                self.finish_text();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.split([',', ' ', '{']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                // A fence without a language, or with words of a test runner, is in the language of the source.
                let is_own = info.is_empty()
                    || matches!(info.as_str(), "no_run" | "ignore" | "should_panic" | "compile_fail" | "edition2021");
                self.code = Some((if is_own { self.language.to_owned() } else { info }, String::new()));
            }
            Tag::List(number) => {
                self.finish_text();
                self.lists.push(*number);
            }
            Tag::Item | Tag::Paragraph | Tag::TableHead | Tag::TableRow => self.finish_text(),
            Tag::Heading { .. } => {
                self.finish_text();
                self.bold = true;
            }
            Tag::Strong => self.strong += 1,
            Tag::HtmlBlock | Tag::Image { .. } | Tag::FootnoteDefinition(_) => self.skip += 1,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take()
                    && !code.trim().is_empty()
                {
                    // Output and fragments aren't code of the language.
                    let parses = crate::product::snippet_curator::parses(&language, &code).is_ok();
                    let language = if parses { language.as_str() } else { "text" };
                    self.blocks.push(format!("{}\n{}", code_block(language, &code), self.mark));
                }
            }
            TagEnd::List(_) => {
                self.finish_text();
                self.lists.pop();
            }
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::TableCell => self.inline.push(' '),
            TagEnd::Item | TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableHead | TagEnd::TableRow => {
                self.finish_text()
            }
            TagEnd::HtmlBlock | TagEnd::Image | TagEnd::FootnoteDefinition => self.skip = self.skip.saturating_sub(1),
            _ => {}
        }
    }

    fn finish_text(&mut self) {
        let text = std::mem::take(&mut self.inline);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // A paragraph that is strong as a whole is a title.
        let is_title = !std::mem::take(&mut self.has_plain) && self.lists.is_empty();
        let is_bold = std::mem::take(&mut self.bold) || is_title;
        if text.is_empty() {
            return;
        }
        let text = if is_bold { format!("**{text}**") } else { text };
        let mark = if self.mark.is_empty() { String::new() } else { format!(" {}", self.mark) };
        match self.lists.last() {
            // Nested lists are shown flat: their items stay in their order.
            Some(_) => {
                let begin = format!("{} ", self.bullet);
                match self.blocks.last_mut().filter(|block| block.starts_with(&begin)) {
                    Some(list) => list.push_str(&format!("\n{begin}{text}{mark}")),
                    None => self.blocks.push(format!("{begin}{text}{mark}")),
                }
            }
            None => self.blocks.push(format!("{text}{mark}")),
        }
    }
}

/// `text` as prose that follows `before`. White space at its ends is kept. Addresses become links as they are: the site's own search for addresses would
/// find them with the marks that keep characters from meaning something.
fn joined(before: &str, text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(range) = outer_address::first_in(rest) {
        shown.push_str(&plain(before.is_empty() && shown.is_empty(), &rest[..range.start]));
        shown.push_str(&format!("<{}>", &rest[range.clone()]));
        rest = &rest[range.end..];
    }
    let is_first = before.is_empty() && shown.is_empty();
    shown + &plain(is_first, rest)
}

/// `text` as prose without links; `is_first` at the beginning of a block.
fn plain(is_first: bool, text: &str) -> String {
    let escaped = prose(text);
    // Only the beginning of a block means a list or a heading.
    let escaped = match (is_first, escaped.strip_prefix('\\')) {
        (false, Some(rest)) if rest.starts_with(['#', '-', '+', '=', ':']) => rest.to_owned(),
        _ => escaped,
    };
    let start = text.starts_with(char::is_whitespace);
    let end = text.ends_with(char::is_whitespace);
    format!("{}{escaped}{}", if start { " " } else { "" }, if end && !escaped.is_empty() { " " } else { "" })
}

/// One line of Markdown of a repository, as one line of a page.
pub(crate) fn line(text: &str) -> String {
    let whole = document(text, "", "", '-');
    whole
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("```"))
        .map(|line| line.trim_start_matches("- ").to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_shows_its_characters() {
        for (text, expected) in [
            ("a *b* `c` [d](e)", "a \\*b\\* \\`c\\` \\[d\\](e)"),
            ("<script>alert(1)</script> & co", "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co"),
            (
                "{{< x >}} {{% y %}} {{ .Z }} {{{a",
                "&#123;&#123;&lt; x &gt;}} &#123;&#123;% y %}} &#123;&#123; .Z }} &#123;&#123;&#123;a",
            ),
            ("# no heading", "\\# no heading"),
            ("- no list", "\\- no list"),
            ("1. no list", "1\\. no list"),
            ("a\u{202e}b\u{0}c", "a\u{FFFD}b\u{FFFD}c"),
            ("two\n  lines", "two lines"),
        ] {
            assert_eq!(prose(text), expected, "{text}");
        }
    }

    #[test]
    fn code_stays_code_and_runs_no_shortcode() {
        assert_eq!(code_block("py thon", "a\n```\nb\n"), "````python\na\n```\nb\n````");
        assert_eq!(code_block("", "{{< ref \"x\" >}} {{% y %}}"), "```\n{{</* ref \"x\" */>}} {{%/* y */%}}\n```");
        assert_eq!(code_block("", "{{< open"), "```\n{ {< open\n```");
        assert_eq!(code_span("a`b|c"), "``a`b\\|c``");
        assert_eq!(code_span("  "), "");
    }

    #[test]
    fn a_document_keeps_its_blocks_and_loses_what_is_no_text() {
        let text = "# Title\n\nSee [the guide](docs/guide.md) and ![logo](x.png) <b>bold</b>.\n\n- one\n  - two\n\n```\nx = 1\n```\n\n<div>html</div>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        assert_eq!(
            document(text, "python", "M", '-'),
            "**Title** M\n\nSee the guide and bold. M\n\n- one M\n- two M\n\n```python\nx = 1\n```\nM\n\na b M\n\n1 2 M"
        );
        assert_eq!(
            document("**Parameters**\n\n**Note:** careful.\n\n- **one**", "", "", '-'),
            "**Parameters**\n\nNote: careful.\n\n- one"
        );
        assert_eq!(line("**Fast** and `small`\nmore"), "Fast and `small` more");
    }

    #[test]
    fn addresses_are_links_with_all_their_characters() {
        for (text, expected) in [
            ("See https://example.org/a_b*c.", "See <https://example.org/a_b*c>."),
            (
                "<https://example.org/x>, *or* `https://example.org`",
                "<https://example.org/x>, or `https://example.org`",
            ),
            ("https://example.org/?a=1&b=2 is_it", "<https://example.org/?a=1&b=2> is\\_it"),
            ("[https://example.org/x](https://example.net)", "<https://example.org/x>"),
            ("http://localhost:80/a_b", "http://localhost:80/a\\_b"),
            ("https://example.org/{{<x>}}", "<https://example.org/>&#123;&#123;}}"),
            ("- https://example.org - one", "- <https://example.org> - one"),
        ] {
            assert_eq!(document(text, "", "", '-'), expected, "{text}");
        }
    }

    #[test]
    fn a_long_document_is_cut_after_a_block() {
        let text = "word word\n\n".repeat(500);
        let lines = document(&text, "", "", '-').lines().count();
        assert!(lines > 100 && lines <= MAX_DOC_LINES, "{lines}");
    }
}
