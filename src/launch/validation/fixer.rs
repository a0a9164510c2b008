//! Repairs one issue: the edit of the gate that found it, applied to one file of the working copy, and undone if it doesn't help.
//!
//! Invariants: a fix changes the file of its issue alone; what a file was before is durable before the file changes, so a fix that nobody recorded is
//! undone, also after a crash; a block keeps its claims only if it had them before. Source:
//! `docs/internals/reference/contract-launch.md#gates-and-fixes`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use codeyard_base::atomic_file::{self, Durability};
use codeyard_base::digest::sha256hex;
use codeyard_runs::stage::{StageError, StopFlag};
use serde::{Deserialize, Serialize};

use crate::artifacts::issue::{Issue, Severity, ValidationReport};
use crate::artifacts::page_claims::{ClaimedBlock, PageClaims};
use crate::artifacts::patch::PatchedFile;
use crate::artifacts::{SCHEMA_VERSION, patch::PatchBundle};
use crate::markdown::front_matter;
use crate::markdown::page_blocks::{BlockKind, PageBlock, blocks};
use crate::repository::git_errors::of_io;
use crate::request::allowed_paths::AllowedPaths;
use crate::site::linker;
use crate::validation::gates::{Edit, LoadedPage};
use crate::validation::validator::{self, GateInput, MORE_ISSUES};

/// What a fix would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixProposal {
    /// The file; empty if nothing would change.
    pub files: Vec<PatchedFile>,
    /// The claims of the pages afterwards, if they change.
    pub claims: Option<PageClaims>,
    pub summary: String,
}

/// Whether a fix has helped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It has.
    Fixed,
    /// It hasn't.
    Failed {
        /// Why, in a word.
        reason: &'static str,
        message: String,
    },
}

/// The content of a file before a fix.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UndoRecord {
    path: String,
    /// `None` if it didn't exist.
    content: Option<String>,
}

/// The fix of an issue, from the working copy as it is now.
///
/// # Errors
/// `NOT_FOUND` if the issue isn't there any more, `NO_FIX` if it has no fix; what stops a comparison of the working copy.
pub fn fix(issue: &Issue, input: &GateInput<'_>, stop: &StopFlag) -> Result<FixProposal, StageError> {
    let diff = linker::diff_report(input.site, &input.site_context.commit, stop)?;
    let found = validator::findings(issue.gate, input, &diff, stop);
    if stop.is_set() {
        // A gate that was stopped hasn't looked at every page.
        return Err(StageError::cancelled());
    }
    let mut equal = found.into_iter().filter(|finding| finding.issue.issue_id == issue.issue_id);
    let finding = equal
        .next()
        .ok_or_else(|| StageError::new("NOT_FOUND", "the issue isn't in the working copy any more; validate again"))?;
    let (Some(edit), Some(location)) = (finding.edit, finding.issue.location) else {
        return Err(StageError::new("NO_FIX", "the issue has no fix"));
    };
    let path = location.path;
    let before = fs::read_to_string(input.site.join(&path)).map_err(|error| of_io("reading a page", &error))?;
    // Equal faults are one issue, so one fix removes them all: from the last to the first, which leaves the others where they are.
    let mut edits: Vec<Edit> = std::iter::once(edit).chain(equal.filter_map(|finding| finding.edit)).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(start_of(edit)));
    edits.dedup();
    let after = edits.iter().fold(before.clone(), |text, edit| edited(&text, edit));
    let summary = finding.issue.suggested_fix.unwrap_or_default();
    if after == before {
        return Ok(FixProposal { files: Vec::new(), claims: None, summary });
    }
    let claims = reclaimed(input.claims, &path, &before, &after);
    let file = PatchedFile { path, sha256_before: Some(sha256hex(&before)), content: Some(after) };
    Ok(FixProposal { files: vec![file], claims, summary })
}

/// The byte at which an edit begins.
fn start_of(edit: &Edit) -> usize {
    match edit {
        Edit::Replace(range, _) | Edit::Cut(range) => range.start,
        Edit::FrontMatter(..) => 0,
    }
}

/// The text after an edit.
fn edited(text: &str, edit: &Edit) -> String {
    match edit {
        Edit::Replace(range, new) => {
            let mut text = text.to_owned();
            if text.get(range.clone()).is_some() {
                text.replace_range(range.clone(), new);
            }
            text
        }
        Edit::FrontMatter(form, keys) => {
            let page = LoadedPage::of(None, "", text.to_owned());
            let body = if page.head.is_ok() { page.body() } else { after_fence(text) };
            format!("{}\n{}", front_matter::write(*form, keys), body.trim_start_matches('\n'))
        }
        Edit::Cut(range) => cut(text, range),
    }
}

/// What follows a front matter that can't be read: after its second fence, if it has one.
fn after_fence(text: &str) -> &str {
    let first = text.lines().next().unwrap_or_default().trim_end();
    let second = text
        .match_indices('\n')
        .find(|(at, _)| text[at + 1..].lines().next().is_some_and(|line| line.trim_end() == first));
    let Some((at, _)) = second else { return text };
    text[at + 1..].split_once('\n').map_or("", |(_, body)| body)
}

/// The text without a block and without the headings that have nothing left below them.
fn cut(text: &str, range: &Range<usize>) -> String {
    let page = LoadedPage::of(None, "", text.to_owned());
    let at = page.body_at;
    // An equal block inside of it may be gone already, so only its beginning is the same.
    let found = page.blocks.iter().find(|block| page.in_file(&block.range).start == range.start);
    let Some(cut) = found else { return text.to_owned() };
    let removed = whole_table(&page, cut).unwrap_or_else(|| cut.range.clone());
    let mut ranges = if cut.kind == BlockKind::Heading { Vec::new() } else { empty_headings(&page, &removed) };
    ranges.push(removed);
    ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
    let mut body = page.body().to_owned();
    for range in ranges {
        remove_lines(&mut body, &range);
    }
    format!("{}{body}", &text[..at])
}

/// The table of a first row: without it, the others are no rows.
fn whole_table(page: &LoadedPage<'_>, cut: &PageBlock) -> Option<Range<usize>> {
    let below = page.body()[cut.range.end..].trim_start_matches('\n').lines().next()?;
    let is_head = cut.kind == BlockKind::TableRow
        && below.contains('-')
        && below.chars().all(|c| matches!(c, '|' | ':' | '-' | ' '));
    let rows = page.blocks.iter().skip_while(|block| block.range != cut.range);
    let last = rows.take_while(|block| block.kind == BlockKind::TableRow).last()?;
    is_head.then_some(cut.range.start..last.range.end)
}

/// The headings above a range, the innermost first, that lead to nothing without it.
fn empty_headings(page: &LoadedPage<'_>, removed: &Range<usize>) -> Vec<Range<usize>> {
    let is_left = |block: &&PageBlock| block.range.start < removed.start || block.range.end > removed.end;
    let left: Vec<&PageBlock> = page.blocks.iter().filter(is_left).collect();
    let level = |block: &PageBlock| page.body()[block.range.clone()].chars().take_while(|c| *c == '#').count().max(1);
    let mut empty: Vec<Range<usize>> = Vec::new();
    for (index, heading) in left.iter().enumerate().rev() {
        if heading.kind != BlockKind::Heading || heading.range.start > removed.start {
            continue;
        }
        let next = left[index + 1..].iter().find(|block| !empty.contains(&block.range));
        if next.is_some_and(|next| next.kind != BlockKind::Heading || level(next) > level(heading)) {
            break;
        }
        empty.push(heading.range.clone());
    }
    empty
}

/// Removes a range with the line that it stands on. One empty line stays between what was around it, if there was one.
fn remove_lines(body: &mut String, range: &Range<usize>) {
    let line = body[..range.start].rfind('\n').map_or(0, |line| line + 1);
    let is_alone = body[line..range.start].chars().all(|c| matches!(c, ' ' | '>'));
    let start = if is_alone { line } else { range.start };
    let before = body[..start].trim_end_matches('\n').len();
    let after = range.end + body[range.end..].len() - body[range.end..].trim_start_matches('\n').len();
    let gap_after = after - range.end + usize::from(body[..range.end].ends_with('\n'));
    let gap = match (before, after == body.len()) {
        (0, _) => 0,
        (_, true) => 1,
        _ => (start - before).max(gap_after).min(2),
    };
    body.replace_range(before..after, &"\n".repeat(gap));
}

/// The claims after a change of one page: blocks that stay keep theirs, and a block that is changed in its place keeps them if it had some.
fn reclaimed(claims: &PageClaims, path: &str, before: &str, after: &str) -> Option<PageClaims> {
    let at = claims.pages.iter().position(|page| page.path == path)?;
    let listed: BTreeMap<&str, &ClaimedBlock> =
        claims.pages[at].blocks.iter().map(|block| (block.sha256.as_str(), block)).collect();
    let of = |text: &str| {
        let page = LoadedPage::of(None, path, text.to_owned());
        blocks(page.body(), 1).into_iter().map(|block| block.sha256).collect::<Vec<String>>()
    };
    let old = of(before);
    let new = of(after);
    let stays: BTreeSet<&str> = new.iter().map(String::as_str).collect();
    let replaced = |index: usize| {
        // Only a change in place: the same number of blocks, and the old one is gone.
        let old = old.get(index).filter(|_| old.len() == new.len())?;
        listed.get(old.as_str()).filter(|_| !stays.contains(old.as_str())).copied()
    };
    let kept = new.iter().enumerate().filter_map(|(index, sha256)| {
        let block = listed.get(sha256.as_str()).copied().or_else(|| replaced(index))?;
        Some(ClaimedBlock { sha256: sha256.clone(), claims: block.claims.clone() })
    });
    let kept: Vec<ClaimedBlock> = kept.collect();
    if kept == claims.pages[at].blocks {
        return None;
    }
    let mut claims = claims.clone();
    claims.pages[at].blocks = kept;
    Some(claims)
}

/// Changes the working copy. What it was before is in `journal` until [`commit`] or [`roll_back`].
///
/// # Errors
/// `ALLOWED_PATHS_VIOLATION` if the file may not be written, `INTERNAL` if it or the journal can't be.
pub fn apply(site: &Path, allowed: &AllowedPaths, proposal: &FixProposal, journal: &Path) -> Result<(), StageError> {
    let mut records = Vec::new();
    let targets = linker::targets(site, allowed, proposal.files.iter().map(|file| file.path.as_str()))?;
    for (file, target) in proposal.files.iter().zip(targets) {
        let content = match fs::read_to_string(target) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(of_io("reading a page", &error)),
        };
        records.push(UndoRecord { path: file.path.clone(), content });
    }
    let text = serde_json::to_vec(&records).map_err(|error| of_io("recording a fix", &io::Error::other(error)))?;
    atomic_file::replace_with(journal, Durability::Power, &text).map_err(|error| of_io("recording a fix", &error))?;
    let bundle = PatchBundle {
        schema_version: SCHEMA_VERSION.into(),
        patch_id: String::new(),
        base_commit: String::new(),
        files: proposal.files.clone(),
    };
    linker::apply(site, allowed, &bundle)
}

/// Undoes a fix that wasn't recorded. Does nothing without a journal.
///
/// # Errors
/// `ALLOWED_PATHS_VIOLATION` if a file may not be written any more, because a link leads elsewhere; `INTERNAL` if it can't be. The journal stays.
pub fn roll_back(site: &Path, allowed: &AllowedPaths, journal: &Path) -> Result<(), StageError> {
    let text = match fs::read(journal) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(of_io("reading the record of a fix", &error)),
    };
    let records: Vec<UndoRecord> = serde_json::from_slice(&text)
        .map_err(|error| of_io("reading the record of a fix", &io::Error::other(error)))?;
    // A link may have come into the working copy since the fix.
    let targets = linker::targets(site, allowed, records.iter().map(|record| record.path.as_str()))?;
    for (record, target) in records.iter().zip(targets) {
        let undone = match &record.content {
            Some(content) => linker::write(site, &target, content.as_bytes()),
            None => linker::remove(&target),
        };
        undone.map_err(|error| of_io("undoing a fix", &error))?;
    }
    commit(journal)
}

/// Forgets what the working copy was before a fix.
///
/// # Errors
/// If the journal can't be removed.
pub fn commit(journal: &Path) -> Result<(), StageError> {
    match fs::remove_file(journal) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(of_io("closing the record of a fix", &error)),
        _ => Ok(()),
    }
}

/// Whether a fix has helped: its issue is gone, and no blocker is new.
pub fn judge(before: &ValidationReport, after: &ValidationReport, issue_id: &str) -> Verdict {
    if after
        .issues
        .iter()
        .any(|issue| issue.issue_id == issue_id && issue.status != crate::artifacts::issue::IssueStatus::Resolved)
    {
        let message = "the issue is still there after the fix".to_owned();
        return Verdict::Failed { reason: "ISSUE_REMAINS", message };
    }
    // Where a gate has found very many issues, the next ones appear when some are gone: these are not new.
    let was_cut = |gate| before.issues.iter().any(|issue| issue.gate == gate && issue.error_code == MORE_ISSUES);
    let blockers = |report: &ValidationReport| -> BTreeSet<String> {
        let open = report.issues.iter().filter(|issue| issue.severity == Severity::Blocker && issue.is_serious());
        open.filter(|issue| !was_cut(issue.gate)).map(|issue| issue.issue_id.clone()).collect()
    };
    match blockers(after).difference(&blockers(before)).next() {
        Some(id) => Verdict::Failed { reason: "NEW_BLOCKER", message: format!("the fix would open the blocker {id}") },
        None => Verdict::Fixed,
    }
}
