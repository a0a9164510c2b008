//! The front matter of a page: what the site's pages of its section have, filled in.
//!
//! Invariants: every key that the section needs is there with the type that it needs; dates are those of the product's commit; equal inputs give equal
//! keys. Source: `docs/internals/reference/contract-launch.md#front-matter`.

use serde_json::{Map, Value, json};

use crate::artifacts::facts::ProductFacts;
use crate::artifacts::page_plan::PlannedPage;
use crate::artifacts::site::{FrontMatterRules, SiteContext};
use crate::markdown::front_matter::FrontMatterForm;

/// The form and the keys of the front matter of a page; `None` if its section has none.
pub(crate) fn of(
    page: &PlannedPage,
    site: &SiteContext,
    facts: &ProductFacts,
    description: &str,
) -> Option<(FrontMatterForm, Map<String, Value>)> {
    let rules = site.front_matter.get(&page.section);
    if rules.is_none() && site.kind != "hugo" {
        return None;
    }
    let form = match rules.map(|rules| rules.form.as_str()) {
        Some("toml") => FrontMatterForm::Toml,
        _ => FrontMatterForm::Yaml,
    };
    let mut keys = Map::new();
    for key in ["title", "description", "date", "weight"] {
        keys.insert(key.into(), value(key, None, page, facts, description));
    }
    if let Some(FrontMatterRules { required, constants, .. }) = rules {
        for (key, kind) in required {
            keys.insert(key.clone(), value(key, Some(kind), page, facts, description));
        }
        keys.extend(constants.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    if page.has_own_url {
        keys.insert("url".into(), value("url", None, page, facts, description));
    }
    Some((form, keys))
}

/// A sensible value of a key. `kind` is the type that the section needs.
pub(crate) fn value(
    key: &str,
    kind: Option<&str>,
    page: &PlannedPage,
    facts: &ProductFacts,
    description: &str,
) -> Value {
    let known = match key.to_ascii_lowercase().as_str() {
        "title" | "linktitle" | "link_title" | "head_title" | "headtitle" | "seotitle" | "seo_title" => {
            json!(page.title)
        }
        "description" | "head_description" | "summary" | "headdescription" | "seo_description" => json!(description),
        "date" | "lastmod" | "publishdate" | "lastmodified" => json!(facts.commit_date),
        "weight" | "order" | "menu_weight" => json!(page.weight),
        "url" => json!(page.url),
        "slug" => json!(page.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()),
        "draft" => json!(false),
        "toc" => json!(true),
        "product" | "family" => json!(facts.product_slug),
        "platform" => json!(facts.target_platform),
        "version" => json!(facts.version.as_ref().map_or("", |version| version.text.as_str())),
        "lang" | "language" | "locale" => json!(page.locale),
        "author" | "authors" => json!("codeyard"),
        "keywords" | "tags" | "categories" => json!([facts.product_name, facts.target_platform]),
        _ => Value::Null,
    };
    let fits = |value: &Value, kind: &str| match kind {
        "string" | "date" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "list" => value.is_array(),
        _ => value.is_object(),
    };
    match kind {
        None => known,
        Some(kind) if fits(&known, kind) => known,
        Some("string") => match known {
            Value::Array(items) => {
                let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                json!(words.join(", "))
            }
            Value::Number(number) => json!(number.to_string()),
            _ => json!(page.title),
        },
        Some("date") => json!(facts.commit_date),
        Some("number") => json!(page.weight),
        Some("boolean") => json!(false),
        Some("list") => match known {
            Value::String(text) => json!([text]),
            _ => json!([facts.product_name]),
        },
        Some(_) => json!({}),
    }
}
