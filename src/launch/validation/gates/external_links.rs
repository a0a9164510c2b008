//! The gate `ExternalLinks`: links out of the site have the form of addresses that readers can follow, and lead somewhere.
//!
//! It makes no request itself: it gets the answers of the servers. A server that can't be asked is no fault of the page.

use std::collections::BTreeMap;
use std::ops::Range;

use codeyard_runs::stage::StopFlag;

use super::internal_links::{is_outer, subject};
use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::markdown_page::Link;
use crate::markdown::outer_address::{fault, without_fragment};
use crate::validation::link_checker::LinkAnswer;

/// What is known of the links.
pub(crate) enum Answers<'a> {
    /// The answers of servers, by address without its fragment. What has none wasn't asked.
    Given(&'a BTreeMap<String, LinkAnswer>),
    /// All lead nowhere: the repair of one of them is looked for.
    AllGone,
}

/// Asks the servers of the pages' links, if the operator allows it.
pub(crate) fn ask(scene: &Scene<'_>, stop: &StopFlag) -> BTreeMap<String, LinkAnswer> {
    let tools = scene.input.tools;
    let Some(checker) = &tools.links else { return BTreeMap::new() };
    let links = scene.pages.iter().flat_map(|page| &page.parts.links);
    let asked: Vec<&str> = links.map(|link| link.target.as_str()).filter(|target| is_asked(target)).collect();
    // The rest of the gate's time is for its own work.
    checker.ask(&tools.run, &asked, tools.gate_limit.mul_f64(0.75), stop)
}

/// Whether a link has a server, and the form of an address.
fn is_asked(target: &str) -> bool {
    is_outer(target) && target.contains("://") && fault(target).is_none()
}

pub(crate) fn run(scene: &Scene<'_>, answers: &Answers<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in scene.pages() {
        let links = scene.in_time(page.parts.links.iter().enumerate());
        for (at, link) in links.filter(|(_, link)| is_outer(&link.target)) {
            let issue = |severity: Severity, code: &str, title: &str, message: String| {
                let subject = subject(&page.parts.links, at);
                let issue = Issue::new(GateName::ExternalLinks, severity, code, Some(&page.path), &subject);
                issue.at_line(link.line).with_text(title, message)
            };
            let target = &link.target;
            if let Some(reason) = fault(target) {
                let message = format!("the link to {target:?} can't be followed: {reason}");
                let issue = issue(Severity::Error, "BAD_ADDRESS", "An address has a wrong form", message);
                findings.push(without_link(page, link, issue));
                continue;
            }
            let answer = match answers {
                _ if !is_asked(target) => continue,
                Answers::Given(answers) => answers.get(without_fragment(target)).unwrap_or(&LinkAnswer::Alive),
                Answers::AllGone => &LinkAnswer::Gone(404),
            };
            findings.extend(match answer {
                LinkAnswer::Alive => None,
                LinkAnswer::Gone(status) => {
                    let message =
                        format!("the link to {target:?} leads nowhere: its server answers with the status {status}");
                    let issue = issue(Severity::Error, "DEAD_LINK", "A link leads nowhere", message);
                    Some(without_link(page, link, issue))
                }
                LinkAnswer::Unreachable(why) => {
                    let message = format!("the link to {target:?} couldn't be checked: {why}; look at it in a browser");
                    Some(Finding::of(issue(Severity::Warn, "LINK_UNREACHABLE", "A link can't be reached", message)))
                }
                LinkAnswer::Unknown(why) => {
                    let message = format!("the link to {target:?} wasn't checked: {why}");
                    Some(Finding::of(issue(Severity::Info, "LINK_NOT_CHECKED", "A link wasn't checked", message)))
                }
            });
        }
    }
    findings
}

/// The repair of a link: its text stays.
fn without_link(page: &LoadedPage<'_>, link: &Link, issue: Issue) -> Finding {
    let range: Range<usize> = link.range.clone();
    let source = &page.body()[range.clone()];
    let text = match source.rfind("](") {
        Some(at) => source[..at].trim_start_matches(['!', '[']).to_owned(),
        // An address that is its own text: in code it is no link.
        None if link.text == link.target => format!("`{}`", link.text),
        None => link.text.clone(),
    };
    Finding::fixable(issue, "keep the text without the link", Edit::Replace(page.in_file(&range), text))
}
