//! The gate `Snippets`: code on pages parses in the language that its fence names.
//!
//! A definition of the API is shown without its body, so it doesn't have to parse.

use std::collections::BTreeSet;

use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::page_blocks::{BlockKind, PageBlock};
use crate::markdown::safe_markdown;
use crate::product::snippet_curator::parses;

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let facts = scene.input.facts;
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let known: BTreeSet<String> = facts
        .api
        .iter()
        .map(|item| plain(&item.signature))
        .chain(facts.install.iter().map(|install| plain(&install.text)))
        .collect();
    let mut findings = Vec::new();
    for page in scene.pages() {
        for block in scene.in_time(&page.blocks).filter(|block| block.kind == BlockKind::Code) {
            let language = block.info.split([' ', ',', '{']).next().unwrap_or_default();
            // What shortcodes are written as isn't part of the code.
            let code = block
                .text
                .replace("{{</*", "{{<")
                .replace("*/>}}", ">}}")
                .replace("{{%/*", "{{%")
                .replace("*/%}}", "%}}");
            if known.contains(&plain(&code)) {
                continue;
            }
            let Err(fault) = parses(language, &code) else { continue };
            let issue = Issue::new(
                GateName::Snippets,
                Severity::Error,
                "SNIPPET_SYNTAX",
                Some(&page.path),
                &block.sha256[..12],
            );
            let message = format!("the code block doesn't parse: {fault}");
            let issue = issue.at_line(block.line).with_text("A code block doesn't parse", message);
            findings.push(repair(scene, page, block, issue));
        }
    }
    findings
}

/// The block is replaced by the snippet that it was made from, or cut.
fn repair(scene: &Scene<'_>, page: &LoadedPage<'_>, block: &PageBlock, issue: Issue) -> Finding {
    let (what, edit) = original(scene, page, block)
        .unwrap_or_else(|| ("remove the code block".to_owned(), Edit::Cut(page.in_file(&block.range))));
    Finding::fixable(issue, what, edit)
}

/// The snippet of the plan that a changed code block was made from, in its place.
pub(super) fn original(scene: &Scene<'_>, page: &LoadedPage<'_>, block: &PageBlock) -> Option<(String, Edit)> {
    let wanted = page.plan.map_or(&[][..], |plan| &plan.snippets);
    let candidates = scene.input.snippets.snippets.iter().filter(|snippet| wanted.contains(&snippet.id));
    let is_shown =
        |code: &str| page.blocks.iter().any(|other| other.kind == BlockKind::Code && other.text.trim() == code.trim());
    let likeness = |code: &str| {
        let lines: BTreeSet<&str> = block.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        code.lines().filter(|line| lines.contains(line.trim())).count()
    };
    let (_, snippet) = candidates
        .filter(|snippet| !is_shown(&snippet.code))
        .map(|snippet| (likeness(&snippet.code), snippet))
        .filter(|(likeness, _)| *likeness > 0)
        .max_by_key(|(likeness, snippet)| (*likeness, std::cmp::Reverse(&snippet.id)))?;
    let text = safe_markdown::code_block(&snippet.language, &snippet.code);
    let end = page.body()[block.range.clone()].trim_end().len();
    let range = block.range.start..block.range.start + end;
    let what = format!("show the snippet {} of {} again", snippet.id, snippet.path);
    Some((what, Edit::Replace(page.in_file(&range), text)))
}
