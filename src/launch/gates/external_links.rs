//! The gate `ExternalLinks`: links out of the site have the form of addresses that readers can follow.
//!
//! It asks no server: which addresses answer depends on the day, so equal working copies would have different reports.

use super::internal_links::{is_outer, subject};
use super::{Edit, Finding, Scene};
use crate::issue::{GateName, Issue, Severity};

/// The findings.
pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in &scene.pages {
        for (at, link) in page.parts.links.iter().enumerate().filter(|(_, link)| is_outer(&link.target)) {
            let Some(reason) = fault(&link.target) else { continue };
            let subject = subject(&page.parts.links, at);
            let issue = Issue::new(GateName::ExternalLinks, Severity::Error, "BAD_ADDRESS", Some(&page.path), &subject);
            let message = format!("the link to {:?} can't be followed: {reason}", link.target);
            let issue = issue.at_line(link.line).with_text("An address has a wrong form", message);
            let source = &page.body()[link.range.clone()];
            let text = source.rfind("](").map_or("", |at| &source[..at]).trim_start_matches(['!', '[']);
            let edit = Edit::Replace(page.in_file(&link.range), text.to_owned());
            findings.push(Finding::fixable(issue, "keep the text without the link", edit));
        }
    }
    findings
}

fn fault(target: &str) -> Option<String> {
    if let Some(address) = target.strip_prefix("mailto:") {
        return (!address.contains('@')).then(|| "it has no address of a person".into());
    }
    let Some((scheme, rest)) = target.split_once("://") else {
        return Some(if target.starts_with("//") {
            "it names no scheme; write https://".into()
        } else {
            "its scheme isn't one of web pages".into()
        });
    };
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return Some("its scheme isn't one of web pages".into());
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Some("it has a user name".into());
    }
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name);
    let is_name = !name.is_empty() && name.contains('.') && !name.starts_with('.') && !name.contains("..");
    if is_name { None } else { Some(format!("{name:?} is no name of a host")) }
}
