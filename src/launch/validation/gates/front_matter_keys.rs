//! The gate `Frontmatter`: pages have the keys that the site's pages of their section have.

use serde_json::{Map, Value};

use super::{Edit, Finding, LoadedPage, Scene};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::markdown::front_matter::FrontMatterForm;
use crate::site::page_front_matter;

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in scene.pages() {
        let Some(plan) = page.plan else { continue };
        let description = format!("{}: {}", plan.title, scene.input.config.product_name);
        let Some((form, wanted)) =
            page_front_matter::of(plan, scene.input.site_context, scene.input.facts, &description)
        else {
            continue;
        };
        check(scene, page, form, &wanted, &mut findings);
    }
    findings
}

fn issue(page: &LoadedPage<'_>, code: &str, subject: &str, line: u32) -> Issue {
    let severity = if code == "FRONT_MATTER_INVALID" { Severity::Blocker } else { Severity::Error };
    Issue::new(GateName::Frontmatter, severity, code, Some(&page.path), subject).at_line(line)
}

fn check(
    scene: &Scene<'_>,
    page: &LoadedPage<'_>,
    form: FrontMatterForm,
    wanted: &Map<String, Value>,
    findings: &mut Vec<Finding>,
) {
    let whole = || Edit::FrontMatter(form, wanted.clone());
    let head = match &page.head {
        Ok(head) => head,
        Err(error) => {
            let issue = issue(page, "FRONT_MATTER_INVALID", "", error.line);
            let issue = issue.with_text("The front matter can't be read", error.to_string());
            return findings.push(Finding::fixable(issue, "write it anew from the plan", whole()));
        }
    };
    let Some(found_form) = head.form else {
        let issue = issue(page, "FRONT_MATTER_MISSING", "", 1);
        let issue =
            issue.with_text("The front matter is missing", "the page has no front matter, but the site needs one");
        return findings.push(Finding::fixable(issue, "write it from the plan", whole()));
    };
    let rules = page.plan.and_then(|plan| scene.input.site_context.front_matter.get(&plan.section));
    let with = |key: &str, value: &Value| {
        let mut keys = head.keys.clone();
        keys.insert(key.to_owned(), value.clone());
        Edit::FrontMatter(found_form, keys)
    };
    for (key, value) in wanted {
        let constant = rules.and_then(|rules| rules.constants.get(key));
        let kind = rules.and_then(|rules| rules.required.get(key)).map_or_else(|| kind_of(value), String::as_str);
        let (code, title, message) = match head.keys.get(key) {
            None => ("KEY_MISSING", "A key is missing", format!("the front matter has no key `{key}`")),
            Some(found) if constant.is_some_and(|constant| constant != found) => {
                let message = format!("the key `{key}` is {found}, but it is {value} on the site's other pages");
                ("KEY_VALUE", "A key has another value", message)
            }
            Some(found) if !is_of(found, kind) => {
                ("KEY_TYPE", "A key has another type", format!("the key `{key}` is {found}, but it must be a {kind}"))
            }
            Some(Value::String(found)) if key == "title" && found.trim().is_empty() => {
                ("KEY_VALUE", "The title is empty", "the key `title` is empty".to_owned())
            }
            Some(_) => continue,
        };
        let issue = issue(page, code, key, 1).with_text(title, message);
        findings.push(Finding::fixable(issue, format!("set `{key}` to {value}"), with(key, value)));
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "list",
        _ => "table",
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "date" => value.as_str().is_some_and(is_date),
        kind => kind_of(value) == kind,
    }
}

/// Whether a text begins like a date of RFC 3339.
fn is_date(text: &str) -> bool {
    let form: String = text.chars().take(10).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    form == "0000-00-00" && codeyard_base::clock::seconds(&format!("{}T00:00:00Z", &text[..10])).is_some()
}
