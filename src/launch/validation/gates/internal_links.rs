//! The gate `InternalLinks`: links, images and anchors inside the site lead somewhere.
//!
//! It knows the pages of the plan, the site's existing pages and its static files. Where the site was built, it also knows what was built.

use std::collections::{BTreeMap, BTreeSet};

use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::markdown_page::Link;
use codeyard_model::uri::percent_decode;

/// The findings. `built` are the files of the built site, relative to its top.
pub(crate) fn run(scene: &Scene<'_>, built: Option<&BTreeSet<String>>) -> Vec<Finding> {
    let known = Known::of(scene, built);
    let mut findings = Vec::new();
    for page in scene.pages() {
        for (at, link) in scene.in_time(page.parts.links.iter().enumerate()) {
            let Some(fault) = known.fault(page, &link.target) else { continue };
            let subject = subject(&page.parts.links, at);
            let code = if fault.is_anchor { "DEAD_ANCHOR" } else { "DEAD_LINK" };
            let issue = Issue::new(GateName::InternalLinks, Severity::Error, code, Some(&page.path), &subject);
            let what = if link.is_image { "image" } else { "link" };
            let message = format!("the {what} to {:?} leads nowhere: {}", link.target, fault.reason);
            let issue = issue.at_line(link.line).with_text("A link leads nowhere", message);
            findings.push(repair(scene, page, link, issue));
        }
    }
    findings
}

/// What tells a link from others of the page: its target, and how many with the same target follow. What the repair of the first one leaves keeps its
/// identifiers.
pub(super) fn subject(links: &[Link], at: usize) -> String {
    let following = links[at + 1..].iter().filter(|other| other.target == links[at].target).count();
    format!("{following}:{}", links[at].target)
}

struct Fault {
    is_anchor: bool,
    reason: String,
}

/// What links can lead to.
struct Known<'k> {
    is_hugo: bool,
    /// Addresses of pages, with their paths.
    addresses: BTreeMap<&'k str, &'k str>,
    files: BTreeSet<&'k str>,
    built: Option<&'k BTreeSet<String>>,
    base: String,
    scene: &'k Scene<'k>,
}

impl<'k> Known<'k> {
    fn of(scene: &'k Scene<'k>, built: Option<&'k BTreeSet<String>>) -> Self {
        let site = scene.input.site_context;
        let plan = scene.input.plan;
        let existing = site.pages.iter().map(|page| (page.url.as_str(), page.path.as_str()));
        let planned = plan.pages.iter().map(|page| (page.url.as_str(), page.path.as_str()));
        let static_files = site.static_files.iter().map(String::as_str);
        let files = existing.clone().chain(planned.clone()).map(|(_, path)| path).chain(static_files).collect();
        let rest = site.base_url.split_once("://").map_or("", |(_, rest)| rest);
        let base = rest.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        Self { is_hugo: site.kind == "hugo", addresses: existing.chain(planned).collect(), files, built, base, scene }
    }

    /// Why a target leads nowhere; `None` if it leads somewhere or out of the site.
    fn fault(&self, page: &LoadedPage<'_>, target: &str) -> Option<Fault> {
        let target = target.trim();
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let path = path.split('?').next().unwrap_or_default();
        if is_outer(target) {
            return None;
        }
        let nowhere = |reason: String| Some(Fault { is_anchor: false, reason });
        if target.is_empty() {
            return nowhere("it is empty".into());
        }
        if path.is_empty() {
            return self.anchor_fault(&page.path, anchor);
        }
        let own = page.plan.map_or("", |plan| plan.url.as_str());
        let from = if self.is_hugo { own } else { page.path.as_str() };
        if self.is_hugo && own.is_empty() && !path.starts_with('/') {
            // The address of the page isn't known, so that of the link isn't either.
            return None;
        }
        let Some(resolved) = resolved(from, &decoded(path)) else { return nowhere("it leads out of the site".into()) };
        let below = resolved.strip_prefix(self.base.as_str()).filter(|rest| rest.starts_with('/')).unwrap_or(&resolved);
        let with_slash = if below.ends_with('/') { below.to_owned() } else { format!("{below}/") };
        let file = below.trim_start_matches('/');
        let found = self.addresses.get(with_slash.as_str()).or_else(|| self.addresses.get(below)).copied();
        let found = found.or_else(|| self.files.get(file).copied());
        if let Some(path) = found {
            return self.anchor_fault(path, anchor);
        }
        let index = format!("{}index.html", with_slash.trim_start_matches('/'));
        let is_built = self.built.is_some_and(|built| built.contains(file) || built.contains(&index));
        if is_built { None } else { nowhere("the site has no such page or file".into()) }
    }

    /// Why an anchor of the page at `path` leads nowhere. The anchors of pages that weren't changed aren't known.
    fn anchor_fault(&self, path: &str, anchor: Option<&str>) -> Option<Fault> {
        let anchor = decoded(anchor.filter(|anchor| !anchor.is_empty())?);
        let page = self.scene.page(path)?;
        if page.parts.headings.iter().any(|heading| heading.anchor == anchor) {
            return None;
        }
        let reason = format!("the page has no heading with the anchor {anchor:?}");
        Some(Fault { is_anchor: true, reason })
    }
}

/// Whether a target isn't one of this site.
pub(super) fn is_outer(target: &str) -> bool {
    let scheme: String =
        target.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')).collect();
    target.starts_with("//") || (!scheme.is_empty() && target[scheme.len()..].starts_with(':'))
}

/// The path that `path` means on the page with the path `from`.
fn resolved(from: &str, path: &str) -> Option<String> {
    let whole = match path.strip_prefix('/') {
        Some(_) => path.to_owned(),
        None => format!("{}/{path}", from.rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.trim_start_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

fn decoded(text: &str) -> String {
    String::from_utf8(percent_decode(text.as_bytes())).unwrap_or_else(|_| text.to_owned())
}

/// The link leads to the planned page that its text names, or becomes its text.
fn repair(scene: &Scene<'_>, page: &LoadedPage<'_>, link: &Link, issue: Issue) -> Finding {
    let source = &page.body()[link.range.clone()];
    let range = page.in_file(&link.range);
    if link.is_image || !source.starts_with('[') {
        return Finding::fixable(issue, "remove it", Edit::Replace(range, String::new()));
    }
    let is_named = |title: &str| title.eq_ignore_ascii_case(link.text.trim());
    let locale = page.plan.map(|plan| plan.locale.as_str());
    let named = scene
        .input
        .plan
        .pages
        .iter()
        .find(|other| is_named(&other.title) && Some(other.locale.as_str()) == locale && other.path != page.path);
    // A link by its reference has no target after its text.
    let text = source.rfind("](").map_or(link.text.as_str(), |at| source[..at].trim_start_matches('['));
    match named.filter(|_| scene.input.site_context.kind == "hugo") {
        Some(other) => {
            let edit = Edit::Replace(range, format!("[{text}]({})", other.url));
            Finding::fixable(issue, format!("link to {}", other.url), edit)
        }
        None => Finding::fixable(issue, "keep the text without the link", Edit::Replace(range, text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_resolved_like_a_browser_does() {
        for (from, path, expected) in [
            ("/a/b/", "c/", Some("/a/b/c/")),
            ("/a/b/", "../c/d", Some("/a/c/d")),
            ("/a/b/", "/x/./y/", Some("/x/y/")),
            ("a/b.md", "../c.md", Some("/c.md")),
            ("/a/", "../../x", None),
        ] {
            assert_eq!(resolved(from, path).as_deref(), expected, "{from} {path}");
        }
        assert!(is_outer("https://x") && is_outer("//x") && is_outer("mailto:a@b") && is_outer("javascript:x"));
        assert!(!is_outer("/a:b") && !is_outer("#a:b") && !is_outer("a/b:c"));
        assert_eq!((decoded("a%20b%"), decoded("%zz")), ("a b%".into(), "%zz".into()));
    }
}
