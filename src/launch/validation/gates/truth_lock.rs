//! The gate `TruthLock`: every block of a page is one that was written with its claims, and every claim is proven by lines that are in the source.
//!
//! Invariant: a text that nobody has claimed with proof is a blocker, whoever wrote it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Edit, Finding, LoadedPage, Scene, consistency, snippets, template_tokens};
use crate::artifacts::facts::Evidence;
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::artifacts::page_claims::ClaimedBlock;
use crate::markdown::page_blocks::{BlockKind, PageBlock};

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let mut source = Source::default();
    let listed: BTreeMap<&str, &[ClaimedBlock]> =
        scene.input.claims.pages.iter().map(|page| (page.path.as_str(), page.blocks.as_slice())).collect();
    let mut findings = Vec::new();
    for page in scene.pages() {
        let claimed: BTreeMap<&str, &ClaimedBlock> = listed
            .get(page.path.as_str())
            .into_iter()
            .flat_map(|blocks| blocks.iter())
            .map(|b| (b.sha256.as_str(), b))
            .collect();
        for block in scene.in_time(&page.blocks) {
            let fault = match claimed.get(block.sha256.as_str()) {
                None => Some(("UNPROVEN_CLAIM", "no claim with proof stands behind this text".to_owned())),
                Some(claimed) => fault(scene, &mut source, block, claimed),
            };
            let Some((code, reason)) = fault else { continue };
            let known: BTreeSet<&str> = claimed.keys().copied().collect();
            let original =
                if known.contains(block.sha256.as_str()) { None } else { original(scene, page, block, &known) };
            findings.push(finding(page, block, code, &reason, original));
        }
    }
    findings
}

/// The edit by which a changed block becomes one with proof again, if another gate has one.
fn original(
    scene: &Scene<'_>,
    page: &LoadedPage<'_>,
    block: &PageBlock,
    known: &BTreeSet<&str>,
) -> Option<(String, Edit)> {
    let snippet = if block.kind == BlockKind::Code { snippets::original(scene, page, block) } else { None };
    let range = page.in_file(&block.range);
    let others =
        consistency::of_block(scene, page, block).into_iter().chain(template_tokens::of_block(scene, page, block));
    let others = others.filter_map(|finding| Some((finding.issue.suggested_fix?, finding.edit?)));
    snippet.into_iter().chain(others).find(|(_, edit)| {
        let Edit::Replace(bytes, text) = edit else { return false };
        let mut changed = page.text.clone();
        if bytes.start < range.start || bytes.end > range.end || changed.get(bytes.clone()).is_none() {
            return false;
        }
        changed.replace_range(bytes.clone(), text);
        let changed = LoadedPage::of(None, &page.path, changed);
        changed.blocks.iter().any(|new| new.range.start == block.range.start && known.contains(new.sha256.as_str()))
    })
}

fn finding(
    page: &LoadedPage<'_>,
    block: &PageBlock,
    code: &str,
    reason: &str,
    original: Option<(String, Edit)>,
) -> Finding {
    let shown: String = block.text.chars().take(80).collect();
    let issue = Issue::new(GateName::TruthLock, Severity::Blocker, code, Some(&page.path), &block.sha256[..12]);
    let issue = issue.at_line(block.line).with_text("Unproven claim", format!("{shown:?}: {reason}"));
    let (what, edit) =
        original.unwrap_or_else(|| ("remove the text".to_owned(), Edit::Cut(page.in_file(&block.range))));
    Finding::fixable(issue, what, edit)
}

/// What is wrong with the claims of a block.
fn fault(
    scene: &Scene<'_>,
    source: &mut Source,
    block: &PageBlock,
    claimed: &ClaimedBlock,
) -> Option<(&'static str, String)> {
    let evidence = &scene.input.evidence.claims;
    let mut proofs = String::new();
    for id in &claimed.claims {
        let Some(claim) = evidence.get(id) else {
            return Some(("UNKNOWN_CLAIM", format!("the claim {id} isn't in the evidence")));
        };
        if claim.is_inferred && !scene.input.config.allow_inference {
            return Some(("INFERRED_CLAIM", format!("the claim {id} is inferred, and allow_inference is false")));
        }
        if claim.evidence.is_empty() {
            return Some(("UNPROVEN_CLAIM", format!("the claim {id} has no evidence")));
        }
        proofs.push_str(&claim.text);
        for place in &claim.evidence {
            let Some(lines) = source.lines(scene, place) else {
                let reason =
                    format!("{} lines {} to {} aren't what was recorded", place.path, place.line_start, place.line_end);
                return Some(("EVIDENCE_CHANGED", reason));
            };
            proofs.push('\n');
            proofs.push_str(&lines);
        }
    }
    if claimed.claims.is_empty() || block.kind == BlockKind::Code {
        return None;
    }
    let missing = numbers(&block.text)
        .into_iter()
        .find(|number| !numbers(&proofs).contains(number) && !is_place(block, claimed, scene, number));
    if let Some(number) = missing {
        return Some(("UNPROVEN_CLAIM", format!("the number {number} isn't in the lines that prove it")));
    }
    // How lines are broken, and what marks them as comments, is no part of what they say.
    let bare = |line: &str| line.trim_start_matches([' ', '\t', '*', '/', '#', '!']).to_owned();
    proofs.push_str(&proofs.lines().map(bare).collect::<String>());
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let proofs = solid(&proofs);
    let is_named = |span: &str| {
        let facts = scene.input.facts;
        let names = [&facts.product_name, &facts.product_slug, &facts.repository];
        names.into_iter().any(|name| name == span) || is_path(claimed, scene, span)
    };
    let missing = block.code_spans.iter().find(|span| !proofs.contains(&solid(span)) && !is_named(span));
    missing.map(|span| ("UNPROVEN_CLAIM", format!("the code {span:?} isn't in the lines that prove it")))
}

/// Whether a text is the path of a source of the block, or a part of it.
fn is_path(claimed: &ClaimedBlock, scene: &Scene<'_>, text: &str) -> bool {
    let claims = claimed.claims.iter().filter_map(|id| scene.input.evidence.claims.get(id));
    claims.flat_map(|claim| &claim.evidence).any(|place| place.path.contains(text))
}

/// Whether a number is that of a line in a file that the block names as its source.
fn is_place(block: &PageBlock, claimed: &ClaimedBlock, scene: &Scene<'_>, number: &str) -> bool {
    let claims = claimed.claims.iter().filter_map(|id| scene.input.evidence.claims.get(id));
    let lines = claims.flat_map(|claim| &claim.evidence).any(|place| {
        (block.text.contains(&place.path)
            && number.parse().is_ok_and(|line: u32| (place.line_start..=place.line_end).contains(&line)))
            || numbers(&place.path).contains(number)
    });
    lines || numbers(&scene.input.config.product_name).contains(number)
}

fn numbers(text: &str) -> BTreeSet<String> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    digits.map(str::to_owned).collect()
}

/// The files of the source, each read once.
#[derive(Default)]
struct Source {
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl Source {
    /// The lines of a place, if they are what was recorded.
    fn lines(&mut self, scene: &Scene<'_>, place: &Evidence) -> Option<String> {
        let read = || {
            let is_inside = !place.path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"));
            let file = scene.input.repo.join(&place.path);
            let is_file = is_inside && std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
            if is_file { std::fs::read(file).ok() } else { None }
        };
        let content = self.files.entry(place.path.clone()).or_insert_with(read).as_ref()?;
        if !place.is_in(content) {
            return None;
        }
        let lines = Evidence::lines(content, place.line_start, place.line_end)?;
        Some(String::from_utf8_lossy(lines).into_owned())
    }
}
