//! What a README claims: what the product is, and what it can do.

use super::ClaimLedger;
use crate::artifacts::facts::Fact;
use crate::limits::MAX_FEATURES;
use crate::product::doc_comment::one_sentence;
use crate::product::readme::{PartKind, Readme, ReadmePart};
use crate::repository::product_sources::ParsedSource;
use crate::request::run_config::RunConfig;

/// Length of one claim of a README, in bytes; longer ones are left out.
const MAX_README_CLAIM_BYTES: usize = 600;

/// Words in the titles of sections that list what a product can do.
const FEATURE_TITLES: [&str; 9] = [
    "feature", "highlight", "why ", "capabilit", "advantage", "benefit", "what it does", "what can it do",
    "at a glance",
];
/// How paragraphs begin that don't say what a product is.
const NOT_DESCRIPTIONS: [&str; 21] = [
    "see ", "if you", "note", "docs", "documentation", "this repository", "looking for", "warning", "read ",
    "check out", "sponsor", "table of", "download", "english", "you can", "please", ":", "sponsor", "join ", "follow ",
    "visit ",
];
/// Titles of sections above which a description stands.
const LATER_TITLES: [&str; 10] = [
    "install", "usage", "license", "licence", "contribut", "getting started", "quick", "example", "changelog",
    "requirement",
];
/// The shortest text that says anything.
const MIN_CHARS: usize = 16;

/// The first real paragraph, as one sentence.
pub(super) fn description(readme: &Readme, ledger: &mut ClaimLedger) -> Option<Fact> {
    let ends = |part: &ReadmePart| matches!(part.kind, PartKind::Heading(_)) && is_later(&part.text);
    let above = readme.parts.iter().take_while(|part| !ends(part));
    let part = above
        .filter(|part| matches!(part.kind, PartKind::Paragraph | PartKind::Html))
        .find(|part| says_what_it_is(part))?;
    let sentence = one_sentence(&part.text);
    let text = if sentence.chars().count() < MIN_CHARS { part.text.clone() } else { sentence };
    let evidence = readme.source.evidence(part.first_line, part.last_line)?;
    ledger.fact(&text, &text, vec![evidence])
}

/// Whether a section of this title is about the use of the product.
fn is_later(title: &str) -> bool {
    let title = title.to_lowercase();
    LATER_TITLES.iter().any(|word| title.starts_with(word))
}

fn says_what_it_is(part: &ReadmePart) -> bool {
    let text = part.text.trim_start_matches(['*', '_', '`', '"']);
    let lower = text.to_lowercase();
    let words =
        text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic) && !word.contains("](")).count();
    let is_alert = text.starts_with("[!");
    let is_other = NOT_DESCRIPTIONS.iter().any(|start| lower.starts_with(start));
    let is_usable = text.chars().count() >= MIN_CHARS && part.text.len() <= 4 * MAX_README_CLAIM_BYTES;
    // A row of links, a table, a question or the introduction of a list isn't a description.
    let is_row =
        text.contains(" | ") || text.contains('|') && text.contains("--") || text.matches("](").count() * 3 > words;
    let sentence = one_sentence(text);
    let is_introduction = sentence.ends_with([':', '?', ',']);
    words >= 3 && is_usable && !is_alert && !is_other && !is_row && !is_introduction && is_fit(text)
}

/// Whether a text can stand on a page: no template of a site, no part of a tag that was cut.
fn is_fit(text: &str) -> bool {
    !text.contains("{{")
        && !text.contains("{ {")
        && !text.contains("\\<!--")
        && !text.contains("-->")
        && !text.contains('\u{fffd}')
}

/// The items of the lists of features.
///
/// In a README of Rust, lists of code under such a title are the package's compile-time features.
pub(super) fn features(readme: &Readme, platform: &str, ledger: &mut ClaimLedger) -> Vec<Fact> {
    let mut features = Vec::new();
    let mut inside: Option<u8> = None;
    for part in &readme.parts {
        match part.kind {
            PartKind::Heading(level) => {
                let title = format!("{} ", part.text.to_lowercase());
                if FEATURE_TITLES.iter().any(|word| title.contains(word)) {
                    inside = Some(level);
                } else if inside.is_some_and(|outer| level <= outer) || is_later(&part.text) {
                    inside = None;
                }
            }
            PartKind::Item(1) if inside.is_some() && features.len() < MAX_FEATURES => {
                let text = part.text.strip_prefix("[x]").or(part.text.strip_prefix("[X]")).unwrap_or(&part.text).trim();
                let is_flag = platform == "rust" && text.starts_with(['`', '['].as_slice()) && text.contains('`');
                let is_planned = text.starts_with("[ ]") || text.starts_with("~~");
                let raw = readme.source.line(part.first_line).trim().trim_start_matches(['-', '*', '+', ' ']);
                let is_link = raw.starts_with('[') && raw.ends_with(')') && raw.matches("](").count() == 1;
                let is_claim = text.chars().count() >= 4 && text.len() <= MAX_README_CLAIM_BYTES && is_fit(text);
                if is_planned || is_flag || is_link || !is_claim || text.ends_with(':') {
                    continue;
                }
                let evidence = readme.source.evidence(part.first_line, part.last_line);
                features.extend(evidence.and_then(|evidence| ledger.fact(text, text, vec![evidence])));
            }
            _ => {}
        }
    }
    features
}

/// With `allow_inference`: what the comment at the top of the API's first file says.
pub(super) fn inferred_description(
    config: &RunConfig,
    files: &[ParsedSource],
    ledger: &mut ClaimLedger,
) -> Option<Fact> {
    if !config.allow_inference {
        return None;
    }
    let depth = |file: &&ParsedSource| (file.path().matches('/').count(), file.path().to_owned());
    let is_main = |file: &&ParsedSource| {
        let name = file.path().rsplit('/').next().unwrap_or_default();
        matches!(name.split('.').next(), Some("lib" | "__init__" | "index" | "mod" | "main" | "doc"))
    };
    let file = files.iter().filter(is_main).min_by_key(depth)?;
    let comment = crate::product::doc_comment::leading_comment(&file.source, file.language)?;
    let text = one_sentence(&crate::product::doc_comment::to_markdown(file.language, &comment.text));
    let evidence = file.source.evidence(comment.first_line, comment.last_line)?;
    let is_usable = text.chars().count() >= MIN_CHARS && text.len() <= MAX_README_CLAIM_BYTES && is_fit(&text);
    let claim = is_usable.then(|| ledger.add_inferred(&text, vec![evidence])).flatten()?;
    Some(Fact { text, claim })
}
