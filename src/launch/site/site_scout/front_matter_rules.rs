//! Which front matter the pages of a section have: the keys of all of them, their types, and the values that never change.
//!
//! Invariants: a value that belongs to one page, such as its title or its author, is never a constant; a draft is never copied.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::artifacts::site::FrontMatterRules;
use crate::markdown::front_matter::{FrontMatterForm, split};

/// The front matter of one page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageKeys {
    pub(crate) form: FrontMatterForm,
    pub(crate) keys: Map<String, Value>,
}

/// Keys whose values are those of one page, even if all pages of a small site have the same.
const OWN_KEYS: [&str; 26] = [
    "title", "linktitle", "seotitle", "description", "summary", "keywords", "date", "lastmod", "publishdate",
    "expirydate", "weight", "slug", "url", "aliases", "author", "authors", "tags", "categories", "id", "uuid", "image",
    "images", "translationkey", "menu", "parent", "draft",
];
/// Keys that say how a page is shown: the only constants of a section with one page.
const SHAPE_KEYS: [&str; 5] = ["layout", "type", "toc", "theme", "markup"];
/// Keys whose values are dates, however they are written.
const DATE_KEYS: [&str; 4] = ["date", "lastmod", "publishdate", "expirydate"];

/// The rules that `pages` keep; `None` if there is none with front matter.
pub(crate) fn rules_of(pages: &[&PageKeys]) -> Option<FrontMatterRules> {
    let (first, others) = pages.split_first()?;
    let in_toml = pages.iter().filter(|page| page.form == FrontMatterForm::Toml).count();
    let form = if in_toml * 2 > pages.len() { "toml" } else { "yaml" };
    let mut required = BTreeMap::new();
    let mut constants = BTreeMap::new();
    for (key, value) in &first.keys {
        let Some(rest) = others.iter().map(|page| page.keys.get(key)).collect::<Option<Vec<&Value>>>() else {
            continue;
        };
        let values = || std::iter::once(value).chain(rest.iter().copied());
        required.insert(key.clone(), common_type(key, values()));
        let lower = key.to_lowercase();
        let may_be_constant = match others {
            [] => SHAPE_KEYS.contains(&lower.as_str()),
            _ => !OWN_KEYS.contains(&lower.as_str()) || lower == "draft" && *value == Value::Bool(false),
        };
        if may_be_constant && rest.iter().all(|other| *other == value) {
            constants.insert(key.clone(), value.clone());
        }
    }
    Some(FrontMatterRules { form: form.into(), required, constants })
}

/// The rules that an archetype means: Hugo's template of a new page.
pub(crate) fn rules_of_archetype(text: &str) -> Option<FrontMatterRules> {
    let plain = without_actions(text);
    let page = split(&plain).ok()?;
    rules_of(&[&PageKeys { form: page.form?, keys: page.keys }])
}

/// The text with a word in place of each action of a template, in quotation marks unless it stands in some.
fn without_actions(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some((before, action)) = rest.split_once("{{") {
            let Some((_, after)) = action.split_once("}}") else { break };
            made.push_str(before);
            let is_quoted = before.trim_end().ends_with(['"', '\'']) || before.matches(['"', '\'']).count() % 2 == 1;
            made.push_str(if is_quoted { "value" } else { "\"value\"" });
            rest = after;
        }
        made.push_str(rest);
    }
    made
}

/// The type that most values have; of equally many, the first by name.
fn common_type<'v>(key: &str, values: impl Iterator<Item = &'v Value>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(type_of(key, value)).or_default() += 1;
    }
    let most = counts.iter().max_by(|(one, count), (other, more)| count.cmp(more).then(other.cmp(one)));
    most.map_or_else(|| "string".to_owned(), |(name, _)| (*name).to_owned())
}

fn type_of(key: &str, value: &Value) -> &'static str {
    match value {
        Value::String(text) if DATE_KEYS.contains(&key.to_lowercase().as_str()) || is_date(text) => "date",
        Value::String(_) => "string",
        Value::Null if DATE_KEYS.contains(&key.to_lowercase().as_str()) => "date",
        Value::Null => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "list",
        Value::Object(_) => "table",
    }
}

/// `2026-01-21`, perhaps with a time.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_day = bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_day && matches!(bytes.get(10), None | Some(b'T' | b't' | b' '))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(text: &str) -> PageKeys {
        let page = split(text).unwrap();
        PageKeys { form: page.form.unwrap(), keys: page.keys }
    }

    #[test]
    fn what_all_pages_have_is_required_and_what_never_changes_is_constant() {
        let one =
            page("---\ntitle: A\nlayout: docs\ndate: 2026-01-21\nweight: 1\nauthor: Ann\ntoc: true\nmore: x\n---\n");
        let two = page(
            "---\ntitle: B\nlayout: docs\ndate: 2026-01-22\nweight: two\nauthor: Ann\ntoc: true\ndraft: true\n---\n",
        );
        let three = page(
            "+++\ntitle = \"C\"\nlayout = \"docs\"\ndate = 2026-01-22T10:00:00Z\nweight = 3\nauthor = \"Ann\"\ntoc = true\n+++\n",
        );
        let rules = rules_of(&[&one, &two, &three]).unwrap();
        assert_eq!(rules.form, "yaml");
        let required: Vec<_> = rules.required.iter().map(|(key, kind)| (key.as_str(), kind.as_str())).collect();
        let expected = [
            ("author", "string"),
            ("date", "date"),
            ("layout", "string"),
            ("title", "string"),
            ("toc", "boolean"),
            ("weight", "number"),
        ];
        assert_eq!(required, expected);
        assert_eq!(
            rules.constants,
            BTreeMap::from([("layout".to_owned(), json!("docs")), ("toc".to_owned(), json!(true))])
        );
        assert_eq!(rules_of(&[]), None);
    }

    #[test]
    fn a_single_page_has_only_constants_of_its_shape() {
        let only = page("---\ntitle: A\nlayout: post\nproduct: cells\ndraft: false\n---\n");
        let rules = rules_of(&[&only]).unwrap();
        assert_eq!(rules.constants, BTreeMap::from([("layout".to_owned(), json!("post"))]));
        assert_eq!(rules.required.len(), 4);
    }

    #[test]
    fn archetypes_are_read_without_running_them() {
        let yaml = "---\ntitle: \"{{ replace .Name \"-\" \" \" | title }}\"\ndate: {{ .Date }}\nlayout: docs\ndraft: true\n---\n{{ .x }}\n";
        let toml = "+++\ntitle = '{{ .Name }}'\ndate = {{ .Date }}\nlayout = 'docs'\ndraft = true\n+++\n";
        for (text, form) in [(yaml, "yaml"), (toml, "toml")] {
            let rules = rules_of_archetype(text).unwrap();
            assert_eq!(
                (rules.form.as_str(), rules.required["date"].as_str(), rules.required["title"].as_str()),
                (form, "date", "string")
            );
            assert_eq!(rules.constants, BTreeMap::from([("layout".to_owned(), json!("docs"))]), "never a draft");
        }
        for broken in ["", "no front matter", "---\n{{ if .x }}\ntitle: [\n---\n", "---\n{{ open\n"] {
            assert_eq!(rules_of_archetype(broken), None, "{broken:?}");
        }
    }
}
