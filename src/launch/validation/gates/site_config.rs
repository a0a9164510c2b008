//! The gate `SiteConfig`: pages lie where the site has their language and section, and nothing else was changed.

use super::{Finding, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::request::allowed_paths::AllowedPaths;

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let input = scene.input;
    let mut findings = Vec::new();
    let allowed = AllowedPaths::parse(&input.config.allowed_paths).ok();
    for file in &scene.diff.files {
        let is_allowed = allowed.as_ref().is_some_and(|allowed| allowed.resolve(input.site, &file.path).is_ok());
        if !is_allowed {
            let issue = issue(Severity::Blocker, "ALLOWED_PATHS_VIOLATION", &file.path);
            let message = format!(
                "{} was {}, but allowed_paths doesn't allow it; take the change back in the working copy",
                file.path, file.change
            );
            findings.push(Finding::of(issue.with_text("A file was changed that may not be", message)));
        } else if !input.plan.pages.iter().any(|page| page.path == file.path) {
            let issue = issue(Severity::Warn, "UNPLANNED_FILE", &file.path);
            let message = format!("{} was {}, but the plan doesn't have it", file.path, file.change);
            findings.push(Finding::of(issue.with_text("A file isn't in the plan", message)));
        }
    }
    let site = input.site_context;
    for page in &input.plan.pages {
        let is_known = site.content_dirs.contains_key(&page.locale) || site.has_locale_folders;
        if !is_known {
            let issue = issue(Severity::Error, "UNKNOWN_LANGUAGE", &page.path);
            let known: Vec<&str> = site.content_dirs.keys().map(String::as_str).collect();
            let message = format!("the site's languages are {}, not {}", known.join(", "), page.locale);
            findings.push(Finding::of(issue.with_text("The site doesn't have the language", message)));
        }
    }
    findings
}

fn issue(severity: Severity, code: &str, path: &str) -> Issue {
    Issue::new(GateName::SiteConfig, severity, code, Some(path), "")
}
