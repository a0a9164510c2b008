//! Pages of a small product: complete, claimed, safe.

use std::collections::BTreeSet;

use super::*;
use crate::artifacts::facts::{ExampleProgram, Fact, InstallCommand};
use crate::artifacts::site::FrontMatterRules;
use crate::artifacts::{SCHEMA_VERSION, page_plan::PagePlan};
use crate::markdown::page_blocks::blocks;
use crate::test_product;

const CLAIM: &str = "clm_0123456789ab";

fn fact(text: &str) -> Fact {
    Fact { text: text.into(), claim: CLAIM.into() }
}

fn site() -> SiteContext {
    let rules = FrontMatterRules {
        form: "toml".into(),
        required: [("layout", "string"), ("keywords", "list"), ("index", "boolean")]
            .map(|(key, kind)| (key.to_owned(), kind.to_owned()))
            .into(),
        constants: [("layout".to_owned(), json!("product"))].into(),
    };
    SiteContext { front_matter: [("products".to_owned(), rules)].into(), bullet: '*', ..test_product::site() }
}

fn facts(text: &str) -> ProductFacts {
    let item = |name: &str, parent: Option<&str>| ApiItem {
        kind: "class".into(),
        name: name.into(),
        qualified_name: parent.map_or(name.to_owned(), |parent| format!("{parent}.{name}")),
        module: "tidy".into(),
        parent: parent.map(str::to_owned),
        signature: format!("class {name}:"),
        doc: format!("What it is.\n\n# Heading\n\n{text}\n\n- one\n- two\n\n```\n>>> {name}()\n```\n"),
        language: "python".into(),
        path: "tidy/table.py".into(),
        line: 7,
        claim: CLAIM.into(),
    };
    ProductFacts {
        package: Some(fact("tidy")),
        version: Some(fact("1.2.0")),
        license: Some(fact("MIT")),
        description: Some(fact(&format!("Sorts tables. {text}"))),
        requires: Some(fact("Python `>=3.9`")),
        install: Some(InstallCommand { text: "pip install tidy".into(), language: "sh".into(), claim: CLAIM.into() }),
        features: vec![fact("Fast"), fact(&format!("Safe {text}"))],
        api: vec![item("Table", None), item("sort", Some("Table")), item("open_table", None)],
        examples: vec![ExampleProgram {
            path: "examples/sort.py".into(),
            title: format!("Sort a table {}", text.lines().next().unwrap_or_default()),
            doc: format!("It sorts.\n\n{text}"),
            claim: CLAIM.into(),
        }],
        ..test_product::facts()
    }
}

fn catalog() -> SnippetCatalog {
    let snippet = |id: &str, path: &str| Snippet {
        id: id.into(),
        title: "Sort".into(),
        language: "python".into(),
        code: "import tidy\n\n\ntidy.sort()  ".into(),
        path: path.into(),
        line_start: 1,
        line_end: 2,
        claim: CLAIM.into(),
    };
    let snippets = vec![snippet("snp_1", "README.md"), snippet("snp_2", "examples/sort.py")];
    SnippetCatalog { schema_version: SCHEMA_VERSION.into(), commit: "b".repeat(40), snippets, rejected: Vec::new() }
}

/// All pages of a product whose texts hold `text`.
fn drafts(text: &str, site: &SiteContext) -> (PagePlan, Vec<PageDraft>) {
    let config = test_product::config(|_| ());
    let facts = facts(text);
    let snippets = catalog();
    let evidence =
        EvidenceMap { schema_version: SCHEMA_VERSION.into(), commit: "b".repeat(40), claims: Default::default() };
    let plan = planner::plan(&config, site, &facts, &snippets).unwrap();
    let input =
        WriterInput { config: &config, site, facts: &facts, evidence: &evidence, snippets: &snippets, plan: &plan };
    let drafts = plan.pages.iter().map(|page| write(page, &input, &StopFlag::default()).unwrap()).collect();
    (plan, drafts)
}

#[test]
fn every_language_has_every_text_and_every_template_is_read() {
    let keys: BTreeSet<Vec<&String>> = TEXTS.values().map(|texts| texts.keys().collect()).collect();
    assert_eq!(keys.len(), 1, "languages with other keys");
    assert!(locales().contains(&"en"));
    for (name, source) in TEMPLATES {
        assert!(ENVIRONMENT.get_template(name).is_ok());
        for word in source.split("t.").skip(1) {
            let key: String = word.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let is_member = key.is_empty() || TEXTS["en"].contains_key(&key) || !source.contains(&format!(" t.{key}"));
            assert!(is_member, "{name}: t.{key}");
        }
    }
}

#[test]
fn a_product_page_says_what_is_known_in_the_sites_style() {
    let (_, drafts) = drafts("", &site());
    let expected = r#"+++
date = "2026-01-19T10:00:00Z"
description = "Tidy: What it does, how to install it, and a first example."
index = false
keywords = ["Tidy", "python"]
layout = "product"
title = "Tidy"
weight = 1
+++

Sorts tables.

## Installation

```sh
pip install tidy
```

## Features

* Fast
* Safe

## Example

```python
import tidy


tidy.sort()
```

## Requirements

* Version: `1.2.0`
* Requires: Python `>=3.9`
* Licence: `MIT`

## Learn more

* [Getting started](/docs/tidy/en/python/getting-started/)
* [Tidy API reference](/reference/tidy/en/python/)
* [Tidy examples](/kb/tidy/en/python/)
* [Tidy 1.2.0](/blog/tidy/en/python/release-1-2-0/)
"#;
    assert_eq!(drafts[0].text.replace("tidy.sort()  \n", "tidy.sort()\n"), expected);
}

#[test]
fn every_block_of_every_page_is_listed_with_its_claims() {
    for text in ["", "hostile {{< x >}} | *b* <i>"] {
        let (_, drafts) = drafts(text, &site());
        for draft in drafts {
            let page = front_matter::split(&draft.text).unwrap();
            let found: Vec<String> = blocks(page.body, 1).into_iter().map(|block| block.sha256).collect();
            let listed: Vec<String> = draft.claims.blocks.iter().map(|block| block.sha256.clone()).collect();
            assert_eq!(found, listed, "{}\n{}", draft.path, draft.text);
            let claimed = draft.claims.blocks.iter().filter(|block| block.claims == [CLAIM]).count();
            let is_list = draft.path.ends_with("reference/tidy/en/python/_index.md");
            assert!(claimed > 0 || is_list, "{}", draft.path);
        }
    }
}

#[test]
fn hostile_text_is_shown_and_does_nothing() {
    let hostile = "Usage {style=\"position:fixed\"} {{< readfile \"/etc/passwd\" >}} {{% x %}} <script>x</script> | `a|b` \u{E000}clm_ffffffffffff\u{E001} [[claim:x]] [l](javascript:x)\n\n```\n{{< y >}}\n````\n\n# H\n";
    let (_, drafts) = drafts(hostile, &site());
    for draft in drafts {
        let text = &draft.text;
        assert!(!text.contains("{{< ") && !text.contains("{{% ") && !text.contains("<script"), "{text}");
        assert!(!text.contains(['\u{E000}', '\u{E001}']), "{text}");
        assert!(draft.claims.blocks.iter().all(|block| block.claims.iter().all(|claim| claim == CLAIM)));
        let parts = crate::markdown::markdown_page::read(front_matter::split(text).unwrap().body, 1);
        assert!(parts.headings.iter().all(|heading| heading.level >= 2 && heading.text != "H"), "{text}");
        assert!(parts.links.iter().all(|link| !link.target.contains("javascript:")), "{text}");
        for line in text.lines() {
            assert_eq!(line.contains("## "), line.starts_with('#'), "{line}");
            assert!(!line.starts_with('#') || !line.contains('{'), "an attribute of a heading: {line}");
        }
        assert!(parts.bullets.iter().all(|bullet| bullet.marker == '*'), "{text}");
    }
}

#[test]
fn a_page_of_the_api_links_its_items() {
    let (plan, drafts) = drafts("", &site());
    let at = plan.pages.iter().position(|page| page.template == PageTemplate::ApiModule).unwrap();
    let text = &drafts[at].text;
    let parts = crate::markdown::markdown_page::read(front_matter::split(text).unwrap().body, 1);
    let anchors: BTreeSet<String> = parts.headings.iter().map(|heading| format!("#{}", heading.anchor)).collect();
    let inner: Vec<&str> =
        parts.links.iter().map(|link| link.target.as_str()).filter(|link| link.starts_with('#')).collect();
    assert_eq!(inner, ["#table", "#open_table"]);
    assert!(inner.iter().all(|target| anchors.contains(*target)), "{anchors:?}");
    assert!(text.contains("### Table.sort\n\n```python\nclass sort:\n```\n\nWhat it is.\n\n**Heading**\n\n"), "{text}");
    assert!(text.contains("Source: `tidy/table.py`, line 7\n"), "{text}");
}

#[test]
fn plain_files_have_titles_and_links_to_files() {
    let mut site = site();
    (site.kind, site.has_locale_folders) = ("markdown".into(), false);
    site.front_matter.clear();
    let (_, drafts) = drafts("", &site);
    assert!(drafts[0].text.starts_with("# Tidy\n\nSorts tables.\n"), "{}", drafts[0].text);
    assert!(drafts[0].text.contains("(../../../docs/tidy/python/getting-started.md)"), "{}", drafts[0].text);
    let mut below = self::site();
    below.base_url = "https://example.org/sub/".into();
    assert!(self::drafts("", &below).1[0].text.contains("(../../../../docs/tidy/en/python/getting-started/)"));
}

#[test]
fn a_language_without_texts_is_refused_and_a_stop_ends_the_work() {
    let config = test_product::config(|_| ());
    let facts = facts("");
    let snippets = catalog();
    let site = site();
    let evidence =
        EvidenceMap { schema_version: SCHEMA_VERSION.into(), commit: String::new(), claims: Default::default() };
    let plan = planner::plan(&config, &site, &facts, &snippets).unwrap();
    let mut page = plan.pages[0].clone();
    let input = WriterInput {
        config: &config,
        site: &site,
        facts: &facts,
        evidence: &evidence,
        snippets: &snippets,
        plan: &plan,
    };
    let stopped = StopFlag::default();
    stopped.set();
    assert_eq!(write(&page, &input, &stopped).unwrap_err().code, "CANCELLED");
    page.locale = "xx".into();
    let refused = write(&page, &input, &StopFlag::default()).unwrap_err();
    assert_eq!(
        (refused.code, refused.details["locales"].as_array().unwrap().len()),
        ("INVALID_INPUT", locales().len())
    );
}
