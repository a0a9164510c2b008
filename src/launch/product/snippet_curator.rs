//! Collects the code that pages may show: of the README, of example programs, of doc comments.
//!
//! It runs none of it. Invariants: what is in the catalog parses and holds nothing that looks like a secret; each snippet's claim names the
//! lines that it stands on; the same code occurs once; equal inputs give equal bytes.

mod secrets;
mod sources;
mod syntax;

use std::collections::BTreeSet;
use std::path::Path;

use codeyard_base::digest::sha256hex;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{Claim, Evidence, EvidenceMap, ProductFacts};
use crate::artifacts::repository::RepoInventory;
use crate::artifacts::snippets::{RejectedSnippet, Snippet, SnippetCatalog};
use crate::limits::{MAX_SNIPPET_LINES, MAX_SNIPPETS};
use crate::repository::product_sources::{ProductReader, has_hidden_signs};

pub use syntax::parses;

/// Rejected snippets that are listed.
const MAX_REJECTED_SNIPPETS: usize = 1_000;
/// Length of one snippet, in bytes.
const MAX_SNIPPET_BYTES: usize = 16 * 1024;

/// Code that may become a snippet.
struct CandidateSnippet {
    title: String,
    /// The word of the fence; empty if the source doesn't say.
    language: String,
    code: String,
    path: String,
    first_line: usize,
    last_line: usize,
    evidence: Evidence,
}

/// The snippets of the product whose working copy is at `repo`. Their claims are added to `evidence`.
///
/// # Errors
/// `CANCELLED` if the work has to stop; `INTERNAL` if the working copy is missing.
pub fn curate(
    repo: &Path,
    inventory: &RepoInventory,
    facts: &ProductFacts,
    evidence: &mut EvidenceMap,
    stop: &StopFlag,
) -> Result<SnippetCatalog, StageError> {
    let reader = ProductReader::open(repo)?;
    let mut candidates = sources::of_readme(inventory, &reader);
    sources::add_examples(inventory, facts, &reader, &mut candidates, stop)?;
    sources::add_doc_comments(facts, evidence, &reader, &mut candidates, stop)?;
    let mut catalog = SnippetCatalog {
        schema_version: SCHEMA_VERSION.to_owned(),
        commit: inventory.commit.clone(),
        snippets: Vec::new(),
        rejected: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    for candidate in candidates {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        match judge(&candidate, &facts.target_platform) {
            Ok((language, code)) => {
                if seen.insert(code.split_whitespace().collect::<Vec<_>>().join(" "))
                    && catalog.snippets.len() < MAX_SNIPPETS
                {
                    catalog.snippets.push(snippet(candidate, language, code, evidence));
                }
            }
            Err(reason) if catalog.rejected.len() < MAX_REJECTED_SNIPPETS => {
                let line = u32::try_from(candidate.first_line).unwrap_or(u32::MAX);
                catalog.rejected.push(RejectedSnippet { path: candidate.path, line, reason });
            }
            Err(_) => {}
        }
    }
    catalog.snippets.sort_by(|a, b| (&a.path, a.line_start, &a.id).cmp(&(&b.path, b.line_start, &b.id)));
    catalog.rejected.sort_by(|a, b| (&a.path, a.line, &a.reason).cmp(&(&b.path, b.line, &b.reason)));
    catalog.rejected.dedup();
    Ok(catalog)
}

/// The language and the code that pages show, or why they don't.
fn judge(candidate: &CandidateSnippet, platform: &str) -> Result<(String, String), String> {
    let lines = candidate.code.lines().count();
    if candidate.code.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if lines > MAX_SNIPPET_LINES || candidate.code.len() > MAX_SNIPPET_BYTES {
        return Err(format!(
            "it has {lines} lines; a snippet has at most {MAX_SNIPPET_LINES} lines of {MAX_SNIPPET_BYTES} bytes in all"
        ));
    }
    if has_hidden_signs(&candidate.code.replace("\r\n", "\n")) {
        return Err("it holds characters that can't be seen".to_owned());
    }
    if let Some(kind) = secrets::found_in(&candidate.code) {
        return Err(format!("it holds what looks like {kind}"));
    }
    let (language, code) = syntax::shown(&candidate.language, &candidate.code, platform)?;
    syntax::check(&language, &code).map_err(|fault| format!("it doesn't parse: {}", fault.message(&language)))?;
    Ok((language, code))
}

fn snippet(candidate: CandidateSnippet, language: String, code: String, evidence: &mut EvidenceMap) -> Snippet {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let CandidateSnippet { title, path, first_line, last_line, evidence: place, .. } = candidate;
    let first = code.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    let claim = Claim {
        text: format!("`{path}` has the {language} code that begins with `{first}`"),
        is_inferred: false,
        evidence: vec![place],
    };
    let claim_id = claim.id();
    evidence.claims.entry(claim_id.clone()).or_insert(claim);
    let id = format!("snp_{}", &sha256hex(format!("{path}:{first_line}-{last_line}\n{language}\n{code}"))[..12]);
    let line_start = number(first_line);
    Snippet { id, title, language, code, path, line_start, line_end: number(last_line), claim: claim_id }
}

#[cfg(test)]
mod tests;
