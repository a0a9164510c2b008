//! Plans for small products: paths of each layout, splits, budgets, refusals.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::artifacts::facts::Fact;
use crate::artifacts::site::SitePage;
use crate::test_product::{self, site};

fn config(change: impl FnOnce(&mut Value)) -> RunConfig {
    test_product::config(|value| {
        value["required_sections"] = json!(["blog", "kb", "reference", "docs", "products"]);
        change(value);
    })
}

fn item(module: &str, name: &str, parent: Option<&str>, doc_lines: usize) -> ApiItem {
    ApiItem {
        kind: "fn".into(),
        name: name.into(),
        qualified_name: name.into(),
        module: module.into(),
        parent: parent.map(str::to_owned),
        signature: format!("def {name}()"),
        doc: "line\n".repeat(doc_lines),
        language: "python".into(),
        path: "tidy/core.py".into(),
        line: 1,
        claim: "clm_000000000000".into(),
    }
}

fn facts(api: Vec<ApiItem>) -> ProductFacts {
    let example = |path: &str| ExampleProgram {
        path: path.into(),
        title: format!("Example {path}"),
        doc: String::new(),
        claim: "clm_000000000000".into(),
    };
    ProductFacts {
        commit_date: "2026-01-20T10:00:00Z".into(),
        version: Some(Fact { text: "1.2.0".into(), claim: "clm_000000000000".into() }),
        api,
        examples: vec![example("examples/sort.py"), example("examples/Sort.py"), example("examples/no_code.py")],
        ..test_product::facts()
    }
}

fn catalog() -> SnippetCatalog {
    let snippet = |id: &str, path: &str, language: &str| Snippet {
        id: id.into(),
        title: String::new(),
        language: language.into(),
        code: "x = 1".into(),
        path: path.into(),
        line_start: 1,
        line_end: 1,
        claim: "clm_000000000000".into(),
    };
    let snippets = vec![
        snippet("snp_0", "README.md", "sh"),
        snippet("snp_5", "README.md", "toml"),
        snippet("snp_1", "README.md", "python"),
        snippet("snp_2", "README.md", "python"),
        snippet("snp_3", "examples/sort.py", "python"),
        snippet("snp_4", "examples/Sort.py", "python"),
    ];
    SnippetCatalog { schema_version: SCHEMA_VERSION.into(), commit: "b".repeat(40), snippets, rejected: Vec::new() }
}

fn paths(plan: &PagePlan) -> Vec<&str> {
    plan.pages.iter().map(|page| page.path.as_str()).collect()
}

#[test]
fn all_sections_are_planned_in_their_order() {
    let facts = facts(vec![item("", "open", None, 1), item("tidy.core", "sort", None, 1)]);
    let plan = plan(&config(|_| ()), &site(), &facts, &catalog()).unwrap();
    assert_eq!(
        paths(&plan),
        [
            "content/products/tidy/en/python/_index.md",
            "content/docs/tidy/en/python/getting-started.md",
            "content/reference/tidy/en/python/_index.md",
            "content/reference/tidy/en/python/tidy.md",
            "content/reference/tidy/en/python/tidy-core.md",
            "content/kb/tidy/en/python/_index.md",
            "content/kb/tidy/en/python/sort.md",
            "content/kb/tidy/en/python/sort-2.md",
            "content/blog/tidy/en/python/release-1-2-0.md",
        ]
    );
    let urls: Vec<&str> = plan.pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!((urls[0], urls[4]), ("/products/tidy/en/python/", "/reference/tidy/en/python/tidy-core/"));
    assert_eq!(plan.pages[0].snippets, ["snp_1"], "settings are no example");
    assert_eq!(plan.pages[1].snippets, ["snp_5", "snp_1", "snp_2"]);
    assert_eq!(
        (plan.pages[6].subject.as_str(), plan.pages[6].snippets.as_slice()),
        ("examples/sort.py", &["snp_3".to_owned()][..])
    );
    assert_eq!(plan.pages[2].links.len(), 6, "the modules and the other main pages: {:?}", plan.pages[2].links);
    let ids: BTreeSet<&str> = plan.pages.iter().map(|page| page.id.as_str()).collect();
    assert_eq!(ids.len(), plan.pages.len());
    assert!(plan.pages.iter().flat_map(|page| &page.links).all(|id| ids.contains(id.as_str())));
}

#[test]
fn each_layout_has_its_paths() {
    let first = |site: &SiteContext, locales: &[&str]| {
        let config = config(|value| {
            value["required_sections"] = json!(["docs"]);
            value["locales"] = json!(locales);
        });
        let plan = plan(&config, site, &facts(Vec::new()), &catalog()).unwrap();
        let places: Vec<String> = plan.pages.iter().map(|page| format!("{} {}", page.path, page.url)).collect();
        places.join("; ")
    };
    let mut v1 = site();
    v1.layout = "v1".into();
    assert_eq!(
        first(&v1, &["en"]),
        "content/docs/en/tidy/python/getting-started.md /docs/en/tidy/python/getting-started/"
    );
    let mut own = v1.clone();
    own.has_locale_folders = false;
    own.content_dirs = [("en".to_owned(), "content/en".to_owned()), ("de".to_owned(), "content/de".to_owned())].into();
    assert_eq!(
        first(&own, &["en", "de"]),
        "content/en/docs/tidy/python/getting-started.md /docs/tidy/python/getting-started/; \
         content/de/docs/tidy/python/getting-started.md /de/docs/tidy/python/getting-started/"
    );
    let mut suffix = own.clone();
    suffix.content_dirs = [("en".to_owned(), "content".to_owned()), ("de".to_owned(), "content".to_owned())].into();
    assert_eq!(
        first(&suffix, &["en", "de"]),
        "content/docs/tidy/python/getting-started.md /docs/tidy/python/getting-started/; \
         content/docs/tidy/python/getting-started.de.md /de/docs/tidy/python/getting-started/"
    );
    let mut plain = site();
    (plain.kind, plain.has_locale_folders) = ("markdown".into(), false);
    assert_eq!(
        first(&plain, &["en"]),
        "content/docs/tidy/python/getting-started.md /docs/tidy/python/getting-started/"
    );
}

#[test]
fn sections_of_one_folder_do_not_collide() {
    let mut site = site();
    site.section_dirs = site.section_dirs.into_keys().map(|name| (name, String::new())).collect();
    let plan = plan(&config(|_| ()), &site, &facts(vec![item("m", "f", None, 1)]), &catalog()).unwrap();
    let unique: BTreeSet<String> = paths(&plan).iter().map(|path| path.to_lowercase()).collect();
    assert_eq!(unique.len(), plan.pages.len());
    assert!(paths(&plan).contains(&"content/tidy/en/python/reference/_index.md"), "{:?}", paths(&plan));
}

#[test]
fn an_earlier_page_under_the_same_address_is_kept_where_it_is() {
    let mut site = site();
    let path = "content/docs/tidy/en/python/getting-started/index.md";
    let url = "/docs/tidy/en/python/getting-started/";
    site.pages = vec![SitePage { path: path.into(), url: url.into(), title: "Old".into() }];
    let config = config(|value| value["required_sections"] = json!(["docs"]));
    let plan = plan(&config, &site, &facts(Vec::new()), &catalog()).unwrap();
    assert_eq!((plan.pages[0].path.as_str(), plan.pages[0].url.as_str()), (path, url));
    assert_eq!((plan.pages[0].id.as_str(), plan.pages[0].has_own_url), ("docs/en/index", false));
}

#[test]
fn an_earlier_page_keeps_the_address_that_its_front_matter_names() {
    let config = config(|value| value["required_sections"] = json!(["docs"]));
    let natural = ("content/docs/tidy/en/python/getting-started.md", "/docs/tidy/en/python/getting-started/");
    for (path, url) in [(natural.0, "/old/start/"), ("content/old.md", natural.1)] {
        let mut site = site();
        site.pages = vec![SitePage { path: path.into(), url: url.into(), title: "Old".into() }];
        let plan = plan(&config, &site, &facts(Vec::new()), &catalog()).unwrap();
        let page = &plan.pages[0];
        assert_eq!((page.path.as_str(), page.url.as_str(), page.has_own_url), (path, url, true));
        let (_, keys) = crate::site::page_front_matter::of(page, &site, &facts(Vec::new()), "d").unwrap();
        assert_eq!(keys["url"], url);
        // Where files aren't built, the path is the address.
        site.kind = "markdown".into();
        assert!(
            !crate::writing::planner::plan(&config, &site, &facts(Vec::new()), &catalog()).unwrap().pages[0]
                .has_own_url
        );
    }
}

#[test]
fn a_large_module_is_split_between_items_and_nothing_is_lost() {
    let mut api = vec![item("big", "Class", None, 30)];
    api.extend((0..10).map(|number| item("big", &format!("m{number}"), Some("Class"), 2)));
    api.extend((0..60).map(|number| item("big", &format!("f{number}"), None, 5)));
    api.push(item("small", "g", None, 1));
    let facts = facts(api);
    let config = config(|value| value["required_sections"] = json!(["reference"]));
    let plan = plan(&config, &site(), &facts, &catalog()).unwrap();
    let modules: Vec<&PlannedPage> =
        plan.pages.iter().filter(|page| page.template == PageTemplate::ApiModule).collect();
    assert!(modules.len() > 3, "{}", modules.len());
    assert!(modules.iter().all(|page| module_of(page) == "big" || page.subject == "small"));
    let shown: Vec<&str> =
        modules.iter().flat_map(|page| items_of(page, &facts)).map(|item| item.name.as_str()).collect();
    let all: Vec<&str> = facts.api.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(shown, all);
    assert!(items_of(modules[1], &facts)[0].parent.is_none(), "members stay with their class");
    // A class that is too long for one page is divided between its members.
    let mut long = vec![item("big", "Class", None, 3)];
    long.extend((0..80).map(|number| item("big", &format!("m{number}"), Some("Class"), 4)));
    let long = self::facts(long);
    let plan_of_long = super::plan(&config, &site(), &long, &catalog()).unwrap();
    let parts: Vec<usize> = plan_of_long
        .pages
        .iter()
        .filter(|page| page.template == PageTemplate::ApiModule)
        .map(|page| items_of(page, &long).iter().map(|item| lines_of(item)).sum())
        .collect();
    assert!(parts.len() > 2 && parts.iter().all(|lines| *lines <= 500 - API_PAGE_FRAME_LINES), "{parts:?}");
    assert!(modules[0].title.ends_with(&format!("(1 of {})", modules.len() - 1)), "{}", modules[0].title);
}

#[test]
fn what_may_not_be_written_is_refused_with_the_entry_to_add() {
    let config_of = |paths: Value| config(|value| value["allowed_paths"] = paths);
    let refused = plan(&config_of(json!(["content/docs/**"])), &site(), &facts(Vec::new()), &catalog()).unwrap_err();
    assert_eq!(refused.code, "ALLOWED_PATHS_VIOLATION");
    assert!(refused.message.contains("\"content/products/tidy/en/python/**\""), "{}", refused.message);
    let few = config(|value| value["budgets"] = json!({"max_files_changed": 2}));
    let refused = plan(&few, &site(), &facts(Vec::new()), &catalog()).unwrap_err();
    assert_eq!((refused.code, &refused.details["budget"]), ("INVALID_INPUT", &json!("max_files_changed")));
}
