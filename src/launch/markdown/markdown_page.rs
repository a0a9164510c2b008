//! What a page in Markdown consists of: its headings, links, code blocks and list items, each with its line.
//!
//! It reads CommonMark with tables, footnotes and heading attributes, as Hugo does. It doesn't judge. Invariants: a line is one of the whole page, front
//! matter included; nothing inside a code block or a code span is a link, a heading or a token.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Parser, Tag, TagEnd};

use crate::markdown::page_blocks;

/// The parts of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkdownPage {
    /// The headings, in their order.
    pub headings: Vec<Heading>,
    /// The links and images, in their order.
    pub links: Vec<Link>,
    /// The code blocks, in their order.
    pub code_blocks: Vec<CodeBlock>,
    /// The markers of unordered list items, in their order.
    pub bullets: Vec<Bullet>,
    /// Prose: text outside code, in pieces.
    pub prose: Vec<Prose>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// From 1 to 6.
    pub level: u8,
    /// Its text without markup.
    pub text: String,
    /// What a link to it names after `#`.
    pub anchor: String,
    pub line: u32,
}

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as it is written.
    pub target: String,
    /// Its text without markup.
    pub text: String,
    pub is_image: bool,
    pub line: u32,
    /// Its bytes in the text that was read.
    pub range: Range<usize>,
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// The first word after the fence, in lower case; empty if there is none, or the block is indented.
    pub language: String,
    pub code: String,
    /// The line of the fence.
    pub line: u32,
    /// Its bytes in the text that was read.
    pub range: Range<usize>,
}

/// An item of an unordered list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bullet {
    /// `-`, `*` or `+`.
    pub marker: char,
    pub line: u32,
    /// The byte of its marker in the text that was read.
    pub at: usize,
}

/// A piece of text outside code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prose {
    pub text: String,
    /// The line on which it begins.
    pub line: u32,
}

/// The byte offsets at which lines begin.
pub(crate) struct Lines {
    starts: Vec<usize>,
    first: u32,
}

impl Lines {
    /// Those of `text`, whose first line has the number `first`.
    pub(crate) fn of(text: &str, first: u32) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { starts, first }
    }

    /// The line of a byte.
    pub(crate) fn at(&self, byte: usize) -> u32 {
        let index = self.starts.partition_point(|start| *start <= byte).saturating_sub(1);
        self.first + u32::try_from(index).unwrap_or(u32::MAX - self.first)
    }
}

/// The parts of `text`, whose first line is the line `first_line` of its page.
pub fn read(text: &str, first_line: u32) -> MarkdownPage {
    let lines = Lines::of(text, first_line);
    let mut page = MarkdownPage::default();
    let mut anchors = Anchors::default();
    // What is open: the text of each goes into all that surround it.
    let mut heading: Option<(Heading, Option<String>)> = None;
    let mut links: Vec<Link> = Vec::new();
    let mut code: Option<CodeBlock> = None;
    let mut ordered: Vec<bool> = Vec::new();
    for (event, range) in Parser::new_ext(text, page_blocks::options()).into_offset_iter() {
        let line = lines.at(range.start);
        match event {
            Event::Start(Tag::Heading { level, id, .. }) => {
                let open = Heading { level: level as u8, text: String::new(), anchor: String::new(), line };
                heading = Some((open, id.map(|id| id.to_string())));
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((mut done, id)) = heading.take() {
                    done.text = done.text.trim().to_owned();
                    done.anchor = id.unwrap_or_else(|| anchors.of(&done.text));
                    page.headings.push(done);
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let target = match link_type {
                    LinkType::Email => format!("mailto:{dest_url}"),
                    _ => dest_url.to_string(),
                };
                links.push(Link { target, text: String::new(), is_image: false, line, range });
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                links.push(Link { target: dest_url.to_string(), text: String::new(), is_image: true, line, range });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => page.links.extend(links.pop()),
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                let language = info.split([' ', ',', '{', '\t']).next().unwrap_or_default().to_lowercase();
                code = Some(CodeBlock { language, code: String::new(), line, range });
            }
            Event::End(TagEnd::CodeBlock) => page.code_blocks.extend(code.take()),
            Event::Start(Tag::List(first)) => ordered.push(first.is_some()),
            Event::End(TagEnd::List(_)) => {
                ordered.pop();
            }
            Event::Start(Tag::Item) if ordered.last() == Some(&false) => {
                let marker = text[range.clone()].char_indices().find(|(_, c)| matches!(c, '-' | '*' | '+'));
                page.bullets.extend(marker.map(|(at, marker)| Bullet { marker, line, at: range.start + at }));
            }
            Event::Text(piece) => match &mut code {
                Some(block) => block.code.push_str(&piece),
                None => {
                    add_text(&piece, &mut heading, &mut links);
                    page.prose.push(Prose { text: piece.to_string(), line });
                }
            },
            Event::Code(piece) => add_text(&piece, &mut heading, &mut links),
            Event::SoftBreak | Event::HardBreak => add_text(" ", &mut heading, &mut links),
            Event::Html(piece) | Event::InlineHtml(piece) => {
                page.prose.push(Prose { text: piece.to_string(), line });
            }
            _ => {}
        }
    }
    // A link around an image ends after it, and stands before it.
    page.links.sort_by_key(|link| (link.range.start, std::cmp::Reverse(link.range.end)));
    page
}

fn add_text(piece: &str, heading: &mut Option<(Heading, Option<String>)>, links: &mut [Link]) {
    if let Some((heading, _)) = heading {
        heading.text.push_str(piece);
    }
    links.iter_mut().for_each(|link| link.text.push_str(piece));
}

/// The anchors of one page, of which each is given once.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    given: BTreeMap<String, u32>,
}

impl Anchors {
    /// The anchor of a heading as Hugo makes it for GitHub's style: lower case, spaces to hyphens, letters, digits, `-` and `_` only; a
    /// repeated one gets a number.
    pub(crate) fn of(&mut self, text: &str) -> String {
        let kept = text.trim().chars().filter_map(|c| match c {
            ' ' | '\t' => Some('-'),
            c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
            _ => None,
        });
        let plain: String = kept.flat_map(char::to_lowercase).collect();
        let count = self.given.entry(plain.clone()).or_default();
        *count += 1;
        if *count == 1 { plain } else { format!("{plain}-{}", *count - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_with_their_lines() {
        let page = read(
            "# Title *one*\n\nText with [a `link`](docs/a.md \"t\") and ![logo](/img/x.png).\n\n- one\n- two\n  * inner\n\n1. first\n\n\
             ```Python title=x\nprint(1)\n# not a heading [x](y)\n```\n\n    indented\n\n<https://example.org>\n\nTwo\n---\n",
            5,
        );
        let headings: Vec<_> =
            page.headings.iter().map(|h| (h.level, h.text.as_str(), h.anchor.as_str(), h.line)).collect();
        assert_eq!(headings, [(1, "Title one", "title-one", 5), (2, "Two", "two", 24)]);
        let links: Vec<_> =
            page.links.iter().map(|l| (l.target.as_str(), l.text.as_str(), l.is_image, l.line)).collect();
        assert_eq!(
            links,
            [
                ("docs/a.md", "a link", false, 7),
                ("/img/x.png", "logo", true, 7),
                ("https://example.org", "https://example.org", false, 22)
            ]
        );
        let bullets: Vec<_> = page.bullets.iter().map(|b| (b.marker, b.line)).collect();
        assert_eq!(bullets, [('-', 9), ('-', 10), ('*', 11)]);
        let code: Vec<_> = page.code_blocks.iter().map(|c| (c.language.as_str(), c.code.as_str(), c.line)).collect();
        assert_eq!(code, [("python", "print(1)\n# not a heading [x](y)\n", 15), ("", "indented\n", 20)]);
        assert!(page.prose.iter().all(|piece| !piece.text.contains("not a heading")));
    }

    #[test]
    fn links_by_reference_nested_images_and_shortcodes() {
        let text = "[ref][r] [![badge](b.svg)](ci) [undefined][u] {{< ref \"x\" >}}\n\n[r]: target.md\n";
        let targets: Vec<String> = read(text, 1).links.into_iter().map(|link| link.target).collect();
        assert_eq!(targets, ["target.md", "ci", "b.svg"]);
    }

    #[test]
    fn repeated_headings_get_different_anchors() {
        let page = read("# Usage\n# Usage\n# usage\n## A/B: c++ & `x_y`\n## Ähm 你好\n## Own {#my-id}\n", 1);
        let anchors: Vec<&str> = page.headings.iter().map(|heading| heading.anchor.as_str()).collect();
        assert_eq!(anchors, ["usage", "usage-1", "usage-2", "ab-c--x_y", "ähm-你好", "my-id"]);
    }

    #[test]
    fn ranges_are_those_of_the_text() {
        let text = "a [b](c) d\n\n* e\n";
        let page = read(text, 1);
        assert_eq!(&text[page.links[0].range.clone()], "[b](c)");
        assert_eq!(&text[page.bullets[0].at..=page.bullets[0].at], "*");
    }

    #[test]
    fn ugly_texts_are_read_in_bounded_time() {
        for text in
            ["[".repeat(50_000), "> ".repeat(5_000), "*a_ ".repeat(20_000), "`".repeat(50_000), "- ".repeat(5_000)]
        {
            read(&text, 1);
        }
        assert_eq!(read("", 1), MarkdownPage::default());
    }
}
