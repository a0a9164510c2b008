//! Where snippets are from: the README's code blocks, the example programs, the examples in doc comments.
//!
//! It judges none of them. Invariant: a candidate's evidence are its lines in the file.

use codeyard_model::code::SymbolKind;
use codeyard_runs::stage::{StageError, StopFlag};

use super::CandidateSnippet;
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::repository::RepoInventory;
use crate::limits::{MAX_API_FILE_BYTES, MAX_EXAMPLE_BYTES, MAX_README_BYTES, MAX_SNIPPET_LINES};
use crate::product::doc_comment::head_end;
use crate::product::facts_builder::{example_files, title_of};
use crate::product::readme::{PartKind, Readme};
use crate::repository::product_sources::{ProductReader, SourceText};

/// The code blocks of the README.
pub(super) fn of_readme(inventory: &RepoInventory, reader: &ProductReader) -> Vec<CandidateSnippet> {
    let Some(path) = inventory.readme.as_deref() else { return Vec::new() };
    let Some(source) = reader.beginning(path, MAX_README_BYTES) else { return Vec::new() };
    let readme = Readme::read(source);
    let blocks = readme.parts.iter().enumerate().filter_map(|(at, part)| match &part.kind {
        PartKind::Code(language) => Some((at, part, language)),
        _ => None,
    });
    let candidates = blocks.filter_map(|(at, part, language)| {
        Some(CandidateSnippet {
            title: readme.heading_of(at).to_owned(),
            language: language.clone(),
            code: part.text.clone(),
            path: path.to_owned(),
            first_line: part.first_line,
            last_line: part.last_line,
            evidence: readme.source.evidence(part.first_line, part.last_line)?,
        })
    });
    candidates.collect()
}

/// The example programs: whole without their first comment, or the main function of a long one.
pub(super) fn add_examples(
    inventory: &RepoInventory,
    facts: &ProductFacts,
    reader: &ProductReader,
    to: &mut Vec<CandidateSnippet>,
    stop: &StopFlag,
) -> Result<(), StageError> {
    for (file, language) in example_files(inventory, &facts.target_platform) {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        let Some(source) = reader.text(&file.path, MAX_EXAMPLE_BYTES) else { continue };
        let (first_line, last_line) = shown_lines(&source, language);
        let Some(evidence) = source.evidence(first_line, last_line) else { continue };
        let known = facts.examples.iter().find(|example| example.path == file.path);
        to.push(CandidateSnippet {
            title: known.map_or_else(|| title_of(&file.path), |example| example.title.clone()),
            language: language.name().to_owned(),
            // A mark of the encoding isn't code.
            code: source.raw_lines(first_line, last_line).trim_start_matches('\u{feff}').to_owned(),
            path: file.path.clone(),
            first_line,
            last_line,
            evidence,
        });
    }
    Ok(())
}

fn shown_lines(source: &SourceText, language: codeyard_index::Language) -> (usize, usize) {
    let is_text = |line: &usize| !source.line(*line).trim().is_empty();
    let starts_at = |line: usize| (line..=source.len()).find(is_text).unwrap_or(line);
    let after = starts_at(head_end(source, language) + 1);
    // A PHP file needs its first line, and a `#!` line isn't part of the example.
    let first = if source.line(1).starts_with("<?") {
        1
    } else if source.line(after).starts_with("#!") {
        starts_at(after + 1)
    } else {
        after
    };
    let last = (first..=source.len()).rev().find(is_text).unwrap_or(first);
    if last + 1 - first.min(last) <= MAX_SNIPPET_LINES {
        return (first, last);
    }
    let symbols = codeyard_index::extract::extract(language, &source.text).symbols;
    let is_main = |symbol: &&codeyard_index::Symbol| {
        matches!(symbol.kind, SymbolKind::Fn | SymbolKind::Method) && matches!(symbol.name.as_str(), "main" | "Main")
    };
    symbols.iter().find(is_main).map_or((first, last), |main| (main.line_start as usize, main.line_end as usize))
}

/// The code in the doc comments of the API.
pub(super) fn add_doc_comments(
    facts: &ProductFacts,
    evidence: &EvidenceMap,
    reader: &ProductReader,
    to: &mut Vec<CandidateSnippet>,
    stop: &StopFlag,
) -> Result<(), StageError> {
    let mut open: Option<SourceText> = None;
    for item in facts.api.iter().filter(|item| item.doc.contains("```")) {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        if open.as_ref().is_none_or(|source| source.path != item.path) {
            open = reader.text(&item.path, MAX_API_FILE_BYTES);
        }
        let place = evidence.claims.get(&item.claim).and_then(|claim| claim.evidence.first());
        let (Some(source), Some(place)) = (&open, place) else { continue };
        let mut from = place.line_start as usize;
        for (language, code) in fences(&item.doc) {
            let Some((first_line, last_line)) = found_in(source, from, place.line_end as usize, &code) else {
                continue;
            };
            from = last_line + 1;
            let Some(evidence) = source.evidence(first_line, last_line) else { continue };
            let language = if language.is_empty() { item.language.clone() } else { language };
            let title = format!("`{}`", item.qualified_name);
            let path = item.path.clone();
            to.push(CandidateSnippet { title, language, code, path, first_line, last_line, evidence });
        }
    }
    Ok(())
}

/// The code blocks of Markdown that this crate made: language and code.
fn fences(doc: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String, Vec<&str>)> = None;
    for line in doc.lines() {
        let trimmed = line.trim_start();
        match &mut open {
            None if trimmed.starts_with("```") || trimmed.starts_with("~~~") => {
                let fence: String = trimmed.chars().take_while(|c| matches!(c, '`' | '~')).collect();
                let language = trimmed[fence.len()..].trim().to_owned();
                open = Some((fence, language, Vec::new()));
            }
            None => {}
            Some((fence, language, lines)) if trimmed.trim_end() == fence.as_str() => {
                found.push((std::mem::take(language), lines.join("\n")));
                open = None;
            }
            Some((_, _, lines)) => lines.push(line),
        }
    }
    found
}

/// The lines of a file that hold the code: its first and its last line stand there.
fn found_in(source: &SourceText, from: usize, to: usize, code: &str) -> Option<(usize, usize)> {
    let mut texts = code.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = texts.next()?;
    let last = texts.next_back().unwrap_or(first);
    let start = (from..=to).find(|line| source.line(*line).trim_end().ends_with(first))?;
    let least = start + code.lines().count().saturating_sub(1);
    let end = (least.min(to)..=to)
        .find(|line| source.line(*line).trim_end().ends_with(last))
        .or(Some(start).filter(|_| first == last))?;
    Some((start, end))
}
