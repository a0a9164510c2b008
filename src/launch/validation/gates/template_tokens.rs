//! The gate `TemplateTokens`: no token of a template and no placeholder is left in the text of a page.

use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::page_blocks::{BlockKind, PageBlock};

/// What is left of a template, and where it ends.
const TOKENS: [(&str, &str); 4] = [("{{", "}}"), ("{%", "%}"), ("[[claim:", "]]"), ("<%", "%>")];
/// Words that stand for text that is missing.
const PLACEHOLDERS: [&str; 7] = ["TODO", "TBD", "FIXME", "XXX", "PLACEHOLDER", "Lorem ipsum", "lorem ipsum"];

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let blocks = scene.pages().flat_map(|page| page.blocks.iter().map(move |block| (page, block)));
    scene.in_time(blocks).filter_map(|(page, block)| of_block(scene, page, block)).collect()
}

/// The first token of a block.
pub(super) fn of_block(scene: &Scene<'_>, page: &LoadedPage<'_>, block: &PageBlock) -> Option<Finding> {
    if block.kind == BlockKind::Code {
        return None;
    }
    let source = &page.body()[block.range.clone()];
    // Code spans show tokens; only prose must not have them.
    let (at, token) = token(&without_code(source))?;
    let subject = format!("{token}:{}", &block.sha256[..12]);
    let issue = Issue::new(GateName::TemplateTokens, Severity::Error, "LEFTOVER_TOKEN", Some(&page.path), &subject);
    let line = block.line + u32::try_from(source[..at].matches('\n').count()).unwrap_or_default();
    let message = format!("the text has {token:?}, which is left of a template or stands for missing text");
    let issue = issue.at_line(line).with_text("A token is left in the text", message);
    let start = block.range.start + at;
    let value = value(scene, &token).map(|value| {
        let range = page.in_file(&(start..start + token.len()));
        (format!("write {value:?} instead"), Edit::Replace(range, value))
    });
    let (what, edit) = value.unwrap_or_else(|| ("remove the block".to_owned(), Edit::Cut(page.in_file(&block.range))));
    Some(Finding::fixable(issue, what, edit))
}

/// Whether a text without code has such a token.
pub(crate) fn has_token(prose: &str) -> bool {
    token(prose).is_some()
}

/// The text with its code spans blanked out.
fn without_code(source: &str) -> String {
    let mut blanked = source.to_owned();
    for (event, range) in
        pulldown_cmark::Parser::new_ext(source, crate::markdown::page_blocks::options()).into_offset_iter()
    {
        if matches!(event, pulldown_cmark::Event::Code(_)) {
            blanked.replace_range(range.clone(), &" ".repeat(range.len()));
        }
    }
    blanked
}

/// The first token of a text, and where it begins.
fn token(text: &str) -> Option<(usize, String)> {
    let templates = TOKENS.iter().filter_map(|(open, close)| {
        let at = text.find(open)?;
        let end = text[at..].find(close).map_or(at + open.len(), |end| at + end + close.len());
        Some((at, text[at..end].to_owned()))
    });
    let words = PLACEHOLDERS.iter().filter_map(|word| {
        let at = text.match_indices(word).map(|(at, _)| at).find(|at| is_word(text, *at, word.len()))?;
        Some((at, (*word).to_owned()))
    });
    templates.chain(words).min_by_key(|(at, token)| (*at, token.len()))
}

fn is_word(text: &str, at: usize, length: usize) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + length..].chars().next())
}

fn value(scene: &Scene<'_>, token: &str) -> Option<String> {
    let inner = token.strip_prefix("{{")?.strip_suffix("}}")?.trim().trim_start_matches('.');
    let facts = scene.input.facts;
    match inner {
        "product_name" | "name" => Some(facts.product_name.clone()),
        "platform" | "target_platform" => Some(facts.target_platform.clone()),
        "version" => facts.version.as_ref().map(|version| format!("`{}`", version.text)),
        "package" => facts.package.as_ref().map(|package| format!("`{}`", package.text)),
        _ => None,
    }
}
