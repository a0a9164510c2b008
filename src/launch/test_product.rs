//! A small product and its site for tests: the configuration of a run, the context of the site, the facts.

use serde_json::{Value, json};

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::ProductFacts;
use crate::artifacts::site::SiteContext;
use crate::request::run_config::RunConfig;

/// A configuration with all sections after `change`.
pub(crate) fn config(change: impl FnOnce(&mut Value)) -> RunConfig {
    let mut value = json!({
        "schema_version": "1.0", "product_slug": "tidy", "product_name": "Tidy", "family": "words", "target_platform": "python",
        "github_repo_url": "https://github.com/example/tidy", "github_ref": "main",
        "required_sections": ["products", "docs", "reference", "kb", "blog"], "allowed_paths": ["content/**"],
        "site": {"repo_url": "file:///srv/site.git"},
    });
    change(&mut value);
    RunConfig::parse(&value).unwrap()
}

/// A site that Hugo builds, without pages.
pub(crate) fn site() -> SiteContext {
    let dirs = ["products", "docs", "reference", "kb", "blog"].map(|name| (name.to_owned(), name.to_owned()));
    SiteContext {
        schema_version: SCHEMA_VERSION.into(),
        commit: "a".repeat(40),
        commit_date: "2026-01-20T10:00:00Z".into(),
        branch: Some("main".into()),
        kind: "hugo".into(),
        config_files: Vec::new(),
        title: String::new(),
        base_url: "https://example.org/".into(),
        default_language: "en".into(),
        content_dirs: [("en".to_owned(), "content".to_owned())].into(),
        layout: "v2".into(),
        has_locale_folders: true,
        default_language_in_subdir: false,
        section_dirs: dirs.into(),
        front_matter: Default::default(),
        pages: Vec::new(),
        static_files: Vec::new(),
        bullet: '-',
    }
}

/// The facts that every product has, and no others.
pub(crate) fn facts() -> ProductFacts {
    ProductFacts {
        schema_version: SCHEMA_VERSION.into(),
        commit: "b".repeat(40),
        commit_date: "2026-01-19T10:00:00Z".into(),
        product_name: "Tidy".into(),
        product_slug: "tidy".into(),
        family: "words".into(),
        target_platform: "python".into(),
        package: None,
        version: None,
        license: None,
        description: None,
        requires: None,
        repository: "https://github.com/example/tidy".into(),
        install: None,
        features: Vec::new(),
        api: Vec::new(),
        api_omitted: 0,
        examples: Vec::new(),
    }
}
