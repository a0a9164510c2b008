//! The gate `MarkdownLint`: pages are well-formed Markdown in the site's style.

use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::page_blocks::BlockKind;

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, reason) in &scene.unreadable {
        let issue = Issue::new(GateName::MarkdownLint, Severity::Blocker, "UNREADABLE_PAGE", Some(path), "");
        findings.push(Finding::of(issue.with_text("A page can't be read", format!("{path} can't be read: {reason}"))));
    }
    let is_hugo = scene.input.site_context.kind == "hugo";
    for page in scene.pages() {
        // The site's pages of this section have front matter, so this one has, or gets it.
        let rules = page.plan.and_then(|plan| scene.input.site_context.front_matter.get(&plan.section));
        let has_title = page.head.as_ref().is_ok_and(|head| head.keys.contains_key("title"));
        headings(page, is_hugo || has_title || rules.is_some(), &mut findings);
        bullets(page, scene.input.site_context.bullet, &mut findings);
        fences(page, &mut findings);
        lines(page, scene.input.config.budgets.max_lines_per_file, &mut findings);
        if is_hugo {
            html(page, &mut findings);
        }
    }
    findings
}

fn issue(page: &LoadedPage<'_>, severity: Severity, code: &str, subject: &str, line: u32) -> Issue {
    Issue::new(GateName::MarkdownLint, severity, code, Some(&page.path), subject).at_line(line)
}

/// A page whose title comes from its front matter begins at the second level, and no level is left out.
fn headings(page: &LoadedPage<'_>, has_title: bool, findings: &mut Vec<Finding>) {
    let first = if has_title { 2 } else { 1 };
    let mut before = first - 1;
    for (number, heading) in page.parts.headings.iter().enumerate() {
        let wanted = heading.level.clamp(first, before + 1);
        // The next level counts from what a repair would leave.
        before = wanted;
        if heading.level == wanted {
            continue;
        }
        let subject = format!("{number}:{}", heading.text);
        let issue = issue(page, Severity::Error, "HEADING_LEVEL", &subject, heading.line);
        let message = format!("the heading {:?} has the level {}, but {wanted} fits here", heading.text, heading.level);
        let issue = issue.with_text("A heading has a wrong level", message);
        let from = page.blocks.partition_point(|block| block.line < heading.line);
        let mut on_line = page.blocks[from..].iter().take_while(|block| block.line == heading.line);
        let block = on_line.find(|block| block.kind == BlockKind::Heading);
        let marker = block.map(|block| &page.body()[block.range.clone()]).filter(|text| text.starts_with('#'));
        findings.push(match (block, marker) {
            (Some(block), Some(text)) => {
                let old = text.len() - text.trim_start_matches('#').len();
                let range = block.range.start..block.range.start + old;
                let edit = Edit::Replace(page.in_file(&range), "#".repeat(wanted.into()));
                Finding::fixable(issue, format!("change the level to {wanted}"), edit)
            }
            _ => Finding::of(issue),
        });
    }
}

/// Lists have the marker of the site's other pages.
fn bullets(page: &LoadedPage<'_>, marker: char, findings: &mut Vec<Finding>) {
    for (number, bullet) in page.parts.bullets.iter().enumerate().filter(|(_, bullet)| bullet.marker != marker) {
        let issue = issue(page, Severity::Error, "LIST_STYLE", &number.to_string(), bullet.line);
        let message =
            format!("a list item begins with `{}`, but the site's lists begin with `{marker}`", bullet.marker);
        let range = bullet.at..bullet.at + bullet.marker.len_utf8();
        let edit = Edit::Replace(page.in_file(&range), marker.to_string());
        let issue = issue.with_text("A list has another marker", message);
        findings.push(Finding::fixable(issue, format!("begin the item with `{marker}`"), edit));
    }
}

/// Every fence that opens a code block closes it. It is a blocker, so it is repaired before the text that the block has taken in is judged.
fn fences(page: &LoadedPage<'_>, findings: &mut Vec<Finding>) {
    for block in page.blocks.iter().filter(|block| block.kind == BlockKind::Code) {
        let text = &page.body()[block.range.clone()];
        let fence: String = text.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        if fence.len() < 3 {
            continue;
        }
        let last = text.trim_end().lines().skip(1).last().unwrap_or_default().trim();
        let is_closed = last.starts_with(&fence) && last.chars().all(|c| fence.starts_with(c));
        // A fence with a language opens a block, so the one before it was meant to be closed.
        let next = opening_fence(text, &fence);
        if is_closed && next.is_none() {
            continue;
        }
        let issue = issue(page, Severity::Blocker, "UNCLOSED_FENCE", &block.sha256[..12], block.line);
        let issue = issue.with_text("A code block isn't closed", "the fence that opens the code block is never closed");
        // Prose after the first empty line was not meant as code.
        let end = text.find("\n\n").into_iter().chain(next).min().unwrap_or(text.trim_end().len());
        let at = block.range.start + end;
        let edit = Edit::Replace(page.in_file(&(at..at)), format!("\n{fence}"));
        findings.push(Finding::fixable(issue, "close the code block before the next empty line", edit));
    }
}

/// Where a line ends after which a fence with a language follows inside of a code block.
fn opening_fence(block: &str, fence: &str) -> Option<usize> {
    let ends = block.match_indices('\n').map(|(at, _)| at);
    ends.into_iter().find(|at| {
        let line = block[at + 1..].lines().next().unwrap_or_default().trim();
        let info = line.strip_prefix(fence).map(|rest| rest.trim_start_matches(|c| fence.starts_with(c)));
        info.is_some_and(|info| info.starts_with(|c: char| c.is_ascii_alphabetic()) && !info.contains('`'))
    })
}

/// No white space at ends of lines, no rows of empty lines, an end of the last line, not too many lines.
fn lines(page: &LoadedPage<'_>, max: usize, findings: &mut Vec<Finding>) {
    let count = page.text.lines().count();
    if count > max {
        let issue = issue(page, Severity::Error, "TOO_MANY_LINES", "", 1);
        let message = format!("the page has {count} lines, but budgets.max_lines_per_file is {max}; shorten it");
        findings.push(Finding::of(issue.with_text("A page is too long", message)));
    }
    let code: Vec<_> =
        page.blocks.iter().filter(|block| block.kind == BlockKind::Code).map(|block| &block.range).collect();
    let mut spaces = Vec::new();
    let mut runs = Vec::new();
    let mut at = 0;
    let mut line = page.body_line;
    let mut empty = 0..0;
    for text in page.body().split_inclusive('\n') {
        let content = text.trim_end_matches(['\n', '\r']);
        let next = code.partition_point(|range| range.end <= at);
        let is_code = code.get(next).is_some_and(|range| range.start < at + content.len().max(1));
        let kept = content.trim_end();
        if !is_code && kept.len() < content.len() {
            spaces.push((at + kept.len()..at + content.len(), line));
        }
        if kept.is_empty() && !is_code {
            // The first empty line stays.
            empty =
                if empty.end == at && !empty.is_empty() { empty.start..at + text.len() } else { at..at + text.len() };
        } else if page.body()[empty.clone()].matches('\n').count() > 1 && empty.end == at {
            runs.push((empty.clone(), line));
        }
        at += text.len();
        line += 1;
    }
    // Counted from the end: what the first repair leaves keeps its identifiers.
    for (number, (range, line)) in spaces.iter().rev().enumerate() {
        let issue = issue(page, Severity::Warn, "TRAILING_SPACE", &number.to_string(), *line);
        let issue = issue.with_text("A line ends with white space", "the line ends with white space");
        let edit = Edit::Replace(page.in_file(range), String::new());
        findings.push(Finding::fixable(issue, "remove the white space", edit));
    }
    for (number, (range, line)) in runs.iter().rev().enumerate() {
        let issue = issue(page, Severity::Warn, "EMPTY_LINES", &number.to_string(), line.saturating_sub(1));
        let issue = issue.with_text("Several empty lines", "more than one empty line follow each other");
        let edit = Edit::Replace(page.in_file(range), "\n".into());
        findings.push(Finding::fixable(issue, "keep one empty line", edit));
    }
    if !page.text.is_empty() && !page.text.ends_with('\n') {
        let end = page.text.len();
        let issue = issue(page, Severity::Warn, "NO_LAST_LINE_END", "", line.saturating_sub(1).max(1));
        let issue = issue.with_text("The last line has no end", "the last line of the page has no line end");
        findings.push(Finding::fixable(issue, "end the last line", Edit::Replace(end..end, "\n".into())));
    }
}

/// Hugo leaves HTML out unless the site allows it.
fn html(page: &LoadedPage<'_>, findings: &mut Vec<Finding>) {
    for block in page.blocks.iter().filter(|block| block.kind == BlockKind::Html && !block.text.starts_with("<!--")) {
        let issue = issue(page, Severity::Warn, "RAW_HTML", &block.sha256[..12], block.line);
        let message = "the page has HTML, which sites usually don't show; write Markdown";
        findings.push(Finding::of(issue.with_text("A page has HTML", message)));
    }
}
