//! The gate `Consistency`: the pages are those of the plan, and agree with each other about names, versions and commands.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::page_blocks::{BlockKind, PageBlock};

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for plan in &scene.input.plan.pages {
        let is_there = std::fs::symlink_metadata(scene.input.site.join(&plan.path)).is_ok_and(|found| found.is_file());
        if !is_there {
            let issue = Issue::new(GateName::Consistency, Severity::Blocker, "PAGE_MISSING", Some(&plan.path), "");
            let message = format!("the plan has the page {}, but the working copy doesn't; restore it", plan.path);
            findings.push(Finding::of(issue.with_text("A planned page is missing", message)));
        }
    }
    for page in scene.pages() {
        title(page, &mut findings);
        findings.extend(scene.in_time(&page.blocks).flat_map(|block| of_block(scene, page, block)));
    }
    equal_titles(scene, &mut findings);
    findings
}

/// The findings about the text of one block.
pub(super) fn of_block(scene: &Scene<'_>, page: &LoadedPage<'_>, block: &PageBlock) -> Vec<Finding> {
    let mut findings = Vec::new();
    if block.kind == BlockKind::Code {
        install(scene, page, block, &mut findings);
    } else {
        version(scene, page, block, &mut findings);
    }
    findings
}

fn issue(page: &LoadedPage<'_>, severity: Severity, code: &str, subject: &str, line: u32) -> Issue {
    Issue::new(GateName::Consistency, severity, code, Some(&page.path), subject).at_line(line)
}

/// A page has the title of the plan.
fn title(page: &LoadedPage<'_>, findings: &mut Vec<Finding>) {
    let (Some(plan), Ok(head)) = (page.plan, &page.head) else { return };
    let Some(found) = head.keys.get("title").and_then(Value::as_str).filter(|found| *found != plan.title) else {
        return;
    };
    let issue = issue(page, Severity::Error, "TITLE_MISMATCH", "", 1);
    let message = format!("the title is {found:?}, but other pages link to it as {:?}", plan.title);
    let issue = issue.with_text("A title differs from the plan", message);
    let mut keys = head.keys.clone();
    keys.insert("title".into(), plan.title.clone().into());
    let Some(form) = head.form else { return findings.push(Finding::of(issue)) };
    findings.push(Finding::fixable(issue, format!("write {:?}", plan.title), Edit::FrontMatter(form, keys)));
}

/// After the product's name stands no other version than the product's.
fn version(scene: &Scene<'_>, page: &LoadedPage<'_>, block: &PageBlock, findings: &mut Vec<Finding>) {
    let Some(version) = &scene.input.facts.version else { return };
    let name = &scene.input.facts.product_name;
    let source = &page.body()[block.range.clone()];
    for (at, _) in source.match_indices(name.as_str()) {
        let rest = &source[at + name.len()..];
        let skipped = rest.len() - rest.trim_start_matches([' ', '`', 'v']).len();
        let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let found: String = rest[skipped..].chars().take_while(is_part).collect();
        let found = found.trim_end_matches(['.', '-']);
        let is_version = found.starts_with(|c: char| c.is_ascii_digit()) && found.contains('.');
        if !is_version || found == version.text || skipped == 0 {
            continue;
        }
        let subject = format!("{found}:{}", &block.sha256[..12]);
        let issue = issue(page, Severity::Error, "VERSION_MISMATCH", &subject, block.line);
        let message = format!("the text names the version {found}, but the source says {}", version.text);
        let start = block.range.start + at + name.len() + skipped;
        let edit = Edit::Replace(page.in_file(&(start..start + found.len())), version.text.clone());
        let issue = issue.with_text("A version differs", message);
        findings.push(Finding::fixable(issue, format!("write {}", version.text), edit));
    }
}

/// Commands that install the package are the one that is known.
fn install(scene: &Scene<'_>, page: &LoadedPage<'_>, block: &PageBlock, findings: &mut Vec<Finding>) {
    let Some(install) = &scene.input.facts.install else { return };
    let wanted = install.text.trim();
    let Some((program, _)) = wanted.rsplit_once(' ').filter(|_| wanted.lines().count() == 1) else { return };
    let found = block.text.trim();
    let is_command = block.info == install.language
        && found.lines().count() == 1
        && found.strip_prefix(program).is_some_and(|rest| rest.starts_with(' '));
    if !is_command || found == wanted {
        return;
    }
    let issue = issue(page, Severity::Error, "INSTALL_MISMATCH", &block.sha256[..12], block.line);
    let message = format!("the page installs with {found:?}, but the source says {wanted:?}");
    let issue = issue.with_text("An installation command differs", message);
    let source = &page.body()[block.range.clone()];
    findings.push(match source.find(found) {
        Some(at) => {
            let range = block.range.start + at..block.range.start + at + found.len();
            let edit = Edit::Replace(page.in_file(&range), wanted.to_owned());
            Finding::fixable(issue, format!("write {wanted:?}"), edit)
        }
        None => Finding::of(issue),
    });
}

/// Pages of one section and language have different titles.
fn equal_titles(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<(&str, &str, String), &str> = BTreeMap::new();
    for page in scene.pages() {
        let (Some(plan), Some(title)) = (page.plan, page.title()) else { continue };
        let place = (plan.section.as_str(), plan.locale.as_str(), title.to_lowercase());
        match first.get(&place) {
            Some(other) => {
                let issue = issue(page, Severity::Warn, "EQUAL_TITLES", title, 1);
                let message = format!("{other} has the same title, {title:?}");
                findings.push(Finding::of(issue.with_text("Two pages have one title", message)));
            }
            None => drop(first.insert(place, &page.path)),
        }
    }
}
