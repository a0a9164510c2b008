//! The parts of a README that claims and snippets are taken from: headings, paragraphs, list items and code, each with its lines.
//!
//! It reads Markdown, a simple subset of reStructuredText, and plain text as Markdown. It judges nothing. Invariants: the text of a part has
//! no HTML, no images and no links into nowhere; the lines of a part hold its text.

mod rst;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::product::doc_comment::inline_markdown;
use crate::repository::product_sources::SourceText;

/// Longest paragraph that is read, in bytes; the text of a longer one is empty.
const MAX_PARAGRAPH_BYTES: usize = 8 * 1024;

pub(crate) struct Readme {
    pub(crate) source: SourceText,
    pub(crate) parts: Vec<ReadmePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadmePart {
    pub(crate) kind: PartKind,
    /// Its text in one line of Markdown; of code, the code.
    pub(crate) text: String,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// A heading of this level.
    Heading(u8),
    Paragraph,
    /// A paragraph in HTML.
    Html,
    /// An item of a list, in this many lists.
    Item(usize),
    /// A code block whose fence names this language; its lines are those of the code alone.
    Code(String),
}

impl Readme {
    pub(crate) fn read(source: SourceText) -> Self {
        let is_rst = source.path.to_lowercase().ends_with(".rst");
        let parts = if is_rst { rst::parts(&source) } else { markdown_parts(&source) };
        Self { source, parts }
    }

    /// The title of the section that a part is in; empty above the first heading.
    pub(crate) fn heading_of(&self, part: usize) -> &str {
        let above = self.parts[..part].iter().rev();
        above.into_iter().find(|part| matches!(part.kind, PartKind::Heading(_))).map_or("", |part| part.text.as_str())
    }
}

/// The parts of a Markdown file, of any file of the repository.
pub(crate) fn markdown_parts(source: &SourceText) -> Vec<ReadmePart> {
    let mut reader = MarkdownReader { source, parts: Vec::new(), lists: 0, item: None };
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let mut code: Option<(String, std::ops::Range<usize>, Option<std::ops::Range<usize>>)> = None;
    for (event, range) in Parser::new_ext(&source.text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => reader.push_text(PartKind::Heading(level as u8), range),
            Event::Start(Tag::Paragraph) => reader.paragraph(range),
            Event::Start(Tag::HtmlBlock) => reader.push_text(PartKind::Html, range),
            Event::Start(Tag::List(_)) => {
                reader.finish_item(Some(range.start));
                reader.lists += 1;
            }
            Event::End(TagEnd::List(_)) => reader.lists = reader.lists.saturating_sub(1),
            Event::Start(Tag::Item) => reader.item = Some((range, false)),
            Event::End(TagEnd::Item) => reader.finish_item(None),
            Event::Start(Tag::CodeBlock(kind)) => {
                reader.finish_item(Some(range.start));
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info.trim(),
                    CodeBlockKind::Indented => "",
                };
                let word = info.split([' ', ',', '{', '\t', '}']).find(|word| !word.is_empty()).unwrap_or_default();
                code = Some((word.trim_start_matches('.').to_lowercase(), range, None));
            }
            Event::Text(_) => {
                if let Some((_, _, inner)) = &mut code {
                    let start = inner.as_ref().map_or(range.start, |inner| inner.start);
                    *inner = Some(start..range.end);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, _, Some(inner))) = code.take() {
                    reader.push_code(language, inner);
                }
            }
            _ => {}
        }
    }
    reader.parts
}

struct MarkdownReader<'a> {
    source: &'a SourceText,
    parts: Vec<ReadmePart>,
    lists: usize,
    /// The item that is open, and whether it has a paragraph that was read.
    item: Option<(std::ops::Range<usize>, bool)>,
}

impl MarkdownReader<'_> {
    fn paragraph(&mut self, range: std::ops::Range<usize>) {
        match &mut self.item {
            Some((item, is_read)) if !*is_read => {
                *is_read = true;
                let range = item.start..range.end;
                self.push_text(PartKind::Item(self.lists), range);
            }
            Some(_) => {}
            None if self.lists == 0 => self.push_text(PartKind::Paragraph, range),
            None => {}
        }
    }

    /// Adds the open item, whose text ends at `end` or at its own end.
    fn finish_item(&mut self, end: Option<usize>) {
        let Some((range, is_read)) = self.item.take() else { return };
        let end = end.unwrap_or(range.end).clamp(range.start, range.end);
        if !is_read {
            self.push_text(PartKind::Item(self.lists), range.start..end);
        }
    }

    fn push_text(&mut self, kind: PartKind, range: std::ops::Range<usize>) {
        let raw = self.source.text.get(range.clone()).unwrap_or_default();
        // No paragraph that people write is as long.
        let raw = if raw.len() > MAX_PARAGRAPH_BYTES { "" } else { raw };
        let lines = raw.lines().map(|line| line.trim().trim_start_matches(['>', ' ']));
        let joined = lines.collect::<Vec<_>>().join(" ");
        let plain = match kind {
            PartKind::Item(_) => without_marker(&joined),
            PartKind::Heading(_) => joined.trim_start_matches('#').trim_end_matches(['#', '=', '-', ' ']),
            _ => &joined,
        };
        let text = inline_markdown(plain).split_whitespace().collect::<Vec<_>>().join(" ");
        self.push(kind, text, range);
    }

    fn push_code(&mut self, language: String, range: std::ops::Range<usize>) {
        let code = self.source.text.get(range.clone()).unwrap_or_default();
        let column = range.start - self.source.text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        // Code in a list or a quotation is indented as that is.
        let prefix: String = self.source.text[range.start - column..range.start].to_owned();
        let lines = code.lines().enumerate().map(|(at, line)| match line.strip_prefix(prefix.as_str()) {
            Some(inner) if at > 0 => inner,
            _ if at > 0 && line.trim() == prefix.trim() => "",
            _ => line,
        });
        let text = lines.collect::<Vec<_>>().join("\n").trim_end().to_owned();
        self.push(PartKind::Code(language), text, range);
    }

    fn push(&mut self, kind: PartKind, text: String, range: std::ops::Range<usize>) {
        let raw = self.source.text.get(range.clone()).unwrap_or_default();
        let end = range.start + raw.trim_end().len();
        let first_line = self.source.line_of(range.start);
        let last_line = self.source.line_of(end.saturating_sub(1).max(range.start));
        self.parts.push(ReadmePart { kind, text, first_line, last_line });
    }
}

/// The text of an item without its marker.
fn without_marker(text: &str) -> &str {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+']),
        _ => text[digits..].strip_prefix(['.', ')']),
    };
    rest.filter(|rest| rest.starts_with(' ') || rest.is_empty()).unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<(String, usize, usize, String)> {
        let readme = Readme::read(SourceText::new(path, text.to_owned()));
        let show = |part: ReadmePart| (format!("{:?}", part.kind), part.first_line, part.last_line, part.text);
        readme.parts.into_iter().map(show).collect()
    }

    fn part(kind: &str, first: usize, last: usize, text: &str) -> (String, usize, usize, String) {
        (kind.to_owned(), first, last, text.to_owned())
    }

    #[test]
    fn parts_of_markdown_have_their_lines() {
        let text = "# Name *x* #\n\n[![b](c.svg)](d)\n\nA [library](docs/a.md) for\n**all**.\n\n## Features\n\n- One\n  more.\n- Two\n  - Inner\n\n    ```py\n    x\n    ```\n\n1. First\n\n   Second.\n";
        assert_eq!(
            of("README.md", text),
            [
                part("Heading(1)", 1, 1, "Name *x*"),
                part("Paragraph", 3, 3, ""),
                part("Paragraph", 5, 6, "A library for **all**."),
                part("Heading(2)", 8, 8, "Features"),
                part("Item(1)", 10, 11, "One more."),
                part("Item(1)", 12, 12, "Two"),
                part("Item(2)", 13, 13, "Inner"),
                part("Code(\"py\")", 16, 16, "x"),
                part("Item(1)", 19, 19, "First"),
            ]
        );
    }

    #[test]
    fn parts_of_restructured_text_have_their_lines() {
        let text = ".. image:: x.svg\n   :alt: y\n\nName\n====\n\nA :class:`Library` for\n`all <https://x.org>`_.\n\nFeatures\n--------\n\n* One\n  more.\n* Two\n\nUse it::\n\n    import x\n\n    x.y()\n\n.. code-block:: sh\n\n    $ run\n\n.. |b| image:: z\n";
        assert_eq!(
            of("README.rst", text),
            [
                part("Heading(1)", 4, 4, "Name"),
                part("Paragraph", 7, 8, "A `Library` for [all](https://x.org)."),
                part("Heading(2)", 10, 10, "Features"),
                part("Item(1)", 13, 14, "One more."),
                part("Item(1)", 15, 15, "Two"),
                part("Paragraph", 17, 17, "Use it:"),
                part("Code(\"\")", 19, 21, "import x\n\nx.y()"),
                part("Code(\"sh\")", 25, 25, "$ run"),
            ]
        );
    }

    #[test]
    fn ugly_texts_are_read() {
        for text in [
            "", "#", "- ", "```", "- ```\n  x", "> ```\n> a\n> b\n> ```", "::", "====\n", "* \n*", "\u{feff}# x",
            "- a\n\n  - b",
        ] {
            of("README", text);
            of("README.rst", text);
        }
        assert_eq!(of("README.md", "> ```\n> a\n> b\n> ```\n")[0].3, "a\nb");
    }
}
