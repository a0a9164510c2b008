//! The texts of a pull request: title, commit message, description.
//!
//! Invariant: they depend on the inputs of the run alone: no clock, no folder of this machine, no token.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::PublishRequest;
use crate::artifacts::patch::DiffReport;

/// Pages that the text of a pull request lists.
const MAX_LISTED_PAGES: usize = 100;
/// Places of the source that the text of a pull request lists.
const MAX_LISTED_PROOFS: usize = 50;

pub(super) fn title(request: &PublishRequest<'_>) -> String {
    let name = &request.config.product_name;
    match &request.facts.version {
        Some(version) => format!("Add the pages of {name} {}", version.text),
        None => format!("Add the pages of {name}"),
    }
}

pub(super) fn commit_message(request: &PublishRequest<'_>) -> String {
    let url = &request.config.github_repo_url;
    let commit = &request.product_checkout.commit;
    format!("{}\n\nSource: {url} at {commit}", title(request))
}

/// The description, in Markdown.
pub(super) fn body(request: &PublishRequest<'_>, diff: &DiffReport) -> String {
    let mut text = String::new();
    // Writing to a text doesn't fail.
    let _ = write_body(request, diff, &mut text);
    text
}

fn write_body(request: &PublishRequest<'_>, diff: &DiffReport, text: &mut String) -> std::fmt::Result {
    let config = request.config;
    let commit = &request.product_checkout.commit;
    writeln!(
        text,
        "Pages of **{}**, made from [{}]({}) at `{commit}`.",
        plain(&config.product_name),
        config.github_repo_url,
        config.github_repo_url
    )?;
    writeln!(text)?;
    writeln!(text, "{} files, {} lines added, {} removed.", diff.files.len(), diff.lines_added, diff.lines_removed)?;
    writeln!(text, "\n## Pages\n\n| section | language | page | file |\n|---|---|---|---|")?;
    for page in request.plan.pages.iter().take(MAX_LISTED_PAGES) {
        writeln!(
            text,
            "| {} | {} | {} | `{}` |",
            page.section,
            page.locale,
            plain(&page.title),
            page.path.replace('|', "\\|")
        )?;
    }
    more(text, request.plan.pages.len(), MAX_LISTED_PAGES, "pages")?;
    writeln!(text, "\n## Validation\n\n| gate | result |\n|---|---|")?;
    for gate in &request.report.gates {
        let result = match (&gate.skipped, gate.ok) {
            (Some(why), _) => format!("skipped: {}", plain(why)),
            (None, true) => "ok".to_owned(),
            (None, false) => "not ok".to_owned(),
        };
        writeln!(text, "| {:?} | {result} |", gate.name)?;
    }
    let open = request.report.issues.len();
    if open > 0 {
        writeln!(text, "\n{open} remarks are open; none of them is an error.")?;
    }
    writeln!(text, "\n## Evidence\n")?;
    let mut proofs: BTreeMap<(&str, u32, u32), usize> = BTreeMap::new();
    let mut claims = 0;
    for id in request.claims.pages.iter().flat_map(|page| &page.blocks).flat_map(|block| &block.claims) {
        claims += 1;
        for place in request.evidence.claims.get(id).iter().flat_map(|claim| &claim.evidence) {
            *proofs.entry((&place.path, place.line_start, place.line_end)).or_default() += 1;
        }
    }
    writeln!(text, "The pages make {claims} claims, proven by {} places of the source:\n", proofs.len())?;
    for (path, first, last) in proofs.keys().take(MAX_LISTED_PROOFS) {
        writeln!(text, "- `{path}` lines {first} to {last}")?;
    }
    more(text, proofs.len(), MAX_LISTED_PROOFS, "places")
}

fn more(text: &mut String, all: usize, shown: usize, what: &str) -> std::fmt::Result {
    if all > shown { writeln!(text, "\nand {} more {what}", all - shown) } else { Ok(()) }
}

/// A text in a cell of a table: no markup, one line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '@' => {
                plain.push('\\');
                plain.push(c);
            }
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}
