//! The blocks of a page: headings, paragraphs, list items, rows of tables, code. Claims belong to blocks.
//!
//! A block is known by the digest of its text without markup. Invariants: every visible text of a page is in exactly one block; a changed list marker
//! or link target leaves a block the same, a changed word doesn't. Source: `docs/internals/reference/contract-launch.md#claims`.

use std::ops::Range;

use codeyard_base::digest::sha256hex;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::markdown::markdown_page::Lines;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    Heading,
    /// A paragraph outside a list.
    Paragraph,
    /// An item of a list, without the lists in it.
    ListItem,
    TableRow,
    Code,
    Html,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBlock {
    pub kind: BlockKind,
    /// Its text without markup. White space is one space, except in code.
    pub text: String,
    /// The texts of its code spans, in their order.
    pub code_spans: Vec<String>,
    /// The words after the fence of a code block.
    pub info: String,
    /// The digest of its kind and text.
    pub sha256: String,
    /// The line on which it begins.
    pub line: u32,
    /// Its bytes in the text that was read.
    pub range: Range<usize>,
}

/// The options with which pages are read, as Hugo reads them.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
}

/// The blocks of `body`, whose first line is the line `first_line` of its page, in their order.
pub fn blocks(body: &str, first_line: u32) -> Vec<PageBlock> {
    let mut open: Vec<PageBlock> = Vec::new();
    let mut done: Vec<PageBlock> = Vec::new();
    for (event, range) in Parser::new_ext(body, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let is_in_item = open.last().is_some_and(|block| block.kind == BlockKind::ListItem);
                if let Some((kind, info)) = kind_of(&tag, is_in_item) {
                    let block = PageBlock {
                        kind,
                        text: String::new(),
                        code_spans: Vec::new(),
                        info,
                        sha256: String::new(),
                        line: 0,
                        range,
                    };
                    open.push(block);
                }
            }
            Event::End(end) => {
                // Cells of a row and paragraphs of an item don't run into each other.
                if let (TagEnd::TableCell | TagEnd::Paragraph, Some(block)) = (end, open.last_mut()) {
                    block.text.push(' ');
                }
                let is_end = open.last().is_some_and(|block| ends(block.kind, end));
                if let Some(block) = open.pop_if(|_| is_end) {
                    done.push(block);
                }
            }
            Event::Code(text) => {
                if let Some(block) = open.last_mut() {
                    block.code_spans.push(text.to_string());
                }
                add(&mut open, &mut done, &text, range);
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                add(&mut open, &mut done, &text, range);
            }
            Event::SoftBreak | Event::HardBreak => add(&mut open, &mut done, " ", range),
            _ => {}
        }
    }
    done.append(&mut open);
    done.sort_by_key(|block| (block.range.start, block.range.end));
    let lines = Lines::of(body, first_line);
    for block in &mut done {
        if block.kind != BlockKind::Code {
            block.text = block.text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        block.line = lines.at(block.range.start);
        block.sha256 = digest(block.kind, &block.text);
    }
    // What shows nothing claims nothing.
    done.retain(|block| !block.text.trim().is_empty());
    done
}

/// The digest of a block with this text. A list marker and the level of a heading don't count.
fn digest(kind: BlockKind, text: &str) -> String {
    let form = if kind == BlockKind::Code { "code" } else { "text" };
    sha256hex(format!("{form}\n{}", text.trim_end_matches('\n')))
}

fn add(open: &mut [PageBlock], done: &mut Vec<PageBlock>, text: &str, range: Range<usize>) {
    match open.last_mut() {
        Some(block) => block.text.push_str(text),
        // Text that no block surrounds stands for itself, so that nothing visible is without a block.
        None if text.trim().is_empty() => {}
        None => done.push(PageBlock {
            kind: BlockKind::Html,
            text: text.to_owned(),
            code_spans: Vec::new(),
            info: String::new(),
            sha256: String::new(),
            line: 0,
            range,
        }),
    }
}

/// The kind of the block that a tag begins. Paragraphs in an item belong to the item.
fn kind_of(tag: &Tag<'_>, is_in_item: bool) -> Option<(BlockKind, String)> {
    let kind = match tag {
        Tag::Heading { .. } => BlockKind::Heading,
        Tag::Paragraph if !is_in_item => BlockKind::Paragraph,
        Tag::Item => BlockKind::ListItem,
        Tag::TableHead | Tag::TableRow => BlockKind::TableRow,
        Tag::HtmlBlock => BlockKind::Html,
        Tag::CodeBlock(pulldown_cmark::CodeBlockKind::Fenced(info)) => {
            return Some((BlockKind::Code, info.to_string()));
        }
        Tag::CodeBlock(_) => BlockKind::Code,
        _ => return None,
    };
    Some((kind, String::new()))
}

fn ends(kind: BlockKind, end: TagEnd) -> bool {
    matches!(
        (kind, end),
        (BlockKind::Heading, TagEnd::Heading(_))
            | (BlockKind::Paragraph, TagEnd::Paragraph)
            | (BlockKind::ListItem, TagEnd::Item)
            | (BlockKind::TableRow, TagEnd::TableHead | TagEnd::TableRow)
            | (BlockKind::Html, TagEnd::HtmlBlock)
            | (BlockKind::Code, TagEnd::CodeBlock)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> Vec<(BlockKind, String, u32)> {
        blocks(body, 10).into_iter().map(|block| (block.kind, block.text, block.line)).collect()
    }

    #[test]
    fn each_kind_of_block_is_found_with_its_line() {
        let body = "## A *heading*\n\nFirst\nline [link](/x).\n\n- one\n  - two `code`\n- three\n\n  more\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py t\nx = 1\n\ny\n```\n\n<div>hi</div>\n";
        use BlockKind::{Code, Heading, Html, ListItem, Paragraph, TableRow};
        let expected = [
            (Heading, "A heading", 10),
            (Paragraph, "First line link.", 12),
            (ListItem, "one", 15),
            (ListItem, "two code", 16),
            (ListItem, "three more", 17),
            (TableRow, "a b", 21),
            (TableRow, "1 2", 23),
            (Code, "x = 1\n\ny\n", 25),
            (Html, "<div>hi</div>", 31),
        ];
        let expected: Vec<_> = expected.into_iter().map(|(kind, text, line)| (kind, text.to_owned(), line)).collect();
        assert_eq!(shown(body), expected);
        assert_eq!(blocks(body, 1)[7].info, "py t");
    }

    #[test]
    fn markup_does_not_count_and_words_do() {
        let of = |body: &str| blocks(body, 1).into_iter().map(|block| block.sha256).collect::<Vec<_>>();
        assert_eq!(of("- a [b](/x)\n"), of("* a **b**\n"));
        assert_eq!(of("## a\n"), of("### a\n"));
        assert_ne!(of("a b\n"), of("a c\n"));
        assert_ne!(of("```\na\n```\n"), of("a\n"));
        assert_eq!(of("```py\na\n```\n"), of("```\na\n```\n"));
    }

    #[test]
    fn any_bytes_have_blocks_and_all_visible_text_is_in_one() {
        for body in [
            "", "\n\n", "> quote\n> - x\n", "[^1]: note\n\na[^1]\n", "***\n", "- \n- a\n", "\u{202e}abc\n",
            "| a\n|-\n|", "<!-- c -->\n",
        ] {
            let found = blocks(body, 1);
            assert!(found.iter().all(|block| body.get(block.range.clone()).is_some()), "{body:?}");
        }
        let quote: Vec<String> = blocks("> quote\n>\n> - x\n", 1).into_iter().map(|block| block.text).collect();
        assert_eq!(quote, ["quote", "x"]);
        assert_eq!(blocks("[^1]: note\n\na[^1]\n", 1).len(), 2);
    }
}
