//! The doc comment of a definition as Markdown for a page, with the lines that it stands on.
//!
//! The code index knows whether a definition has one; here its text is read again with its indentation, which code in it needs. Invariants:
//! the result has no headings, no HTML and no links but absolute ones; any text gives some Markdown; its length is bounded.

mod block_tags;
mod html_text;
mod markup;
mod python_text;
mod raw_comment;

use codeyard_index::{Language, Symbol};

use crate::repository::product_sources::ParsedSource;

pub(crate) use markup::{inline_markdown, one_sentence};
pub(crate) use python_text::roles as rst_inline;
pub(crate) use raw_comment::{head_end, leading_comment};

/// Length of one item's doc comment, in bytes; it is cut at the end of a line.
const MAX_API_DOC_BYTES: usize = 6 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DocComment {
    /// The text in Markdown; empty without one.
    pub(crate) text: String,
    /// The first line of the comment and of the definition.
    pub(crate) first_line: usize,
    /// The last line of the comment or of the first line of the definition.
    pub(crate) last_line: usize,
}

pub(crate) fn of_symbol(source: &ParsedSource, symbol: &Symbol) -> DocComment {
    let line = symbol.line_start as usize;
    let nothing = DocComment { text: String::new(), first_line: line, last_line: symbol.name_line as usize };
    if symbol.doc.trim().is_empty() {
        return nothing;
    }
    // A comment whose lines aren't known would be text without proof.
    let raw = raw_comment::of_symbol(source, symbol).filter(|raw| raw_comment::is_for_users(source, raw));
    let Some(raw) = raw else { return nothing };
    let text = markup::cut_at_char(&raw.text, 2 * MAX_API_DOC_BYTES);
    let first_line = raw.first_line.min(nothing.first_line);
    let last_line = raw.last_line.max(nothing.last_line);
    DocComment { text: to_markdown(source.language, text), first_line, last_line }
}

/// The text of a doc comment, without comment markers, as Markdown.
pub(crate) fn to_markdown(language: Language, text: &str) -> String {
    let text = match language {
        Language::PYTHON => python_text::to_markdown(text),
        Language::CSHARP => block_tags::to_markdown(&html_text::from_xml_doc(text)),
        Language::JAVA | Language::PHP => block_tags::to_markdown(&html_text::from_html(text)),
        Language::RUST | Language::SWIFT => text.to_owned(),
        Language::KOTLIN => block_tags::to_markdown(&markup::names_as_code(text, '[', ']')),
        Language::RUBY => {
            let text = block_tags::to_markdown(&markup::names_as_code(text, '+', '+'));
            markup::fence_indented(&text, "ruby")
        }
        Language::GO => markup::fence_indented(text, "go"),
        _ => block_tags::to_markdown(text),
    };
    markup::for_a_page(&text, language, MAX_API_DOC_BYTES)
}

#[cfg(test)]
mod tests;
