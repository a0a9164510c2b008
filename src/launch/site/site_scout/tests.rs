//! Contexts of small sites that real git has made.

use serde_json::{Value, json};

use super::*;
use crate::artifacts::to_bytes;
use crate::testing::TestRepository;

fn config(more: &Value) -> RunConfig {
    let mut value = json!({
        "schema_version": "1.0", "product_slug": "cells", "product_name": "Cells", "family": "cells", "target_platform": "python",
        "github_repo_url": "https://github.com/a/b", "github_ref": "main", "required_sections": ["docs", "blog"],
        "allowed_paths": ["**"], "site": {"repo_url": "https://github.com/a/site"},
    });
    for (key, member) in more.as_object().unwrap() {
        value[key] = member.clone();
    }
    RunConfig::parse(&value).unwrap()
}

/// The context of a site with these files.
fn context(files: &[(&str, &str)], more: &Value) -> Result<SiteContext, StageError> {
    let dir = tempfile::tempdir().unwrap();
    let repository = TestRepository::new(&dir.path().join("site"));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let commit = repository.commit(&files, "2026-01-21T10:00:00Z");
    let commit_date = "2026-01-21T10:00:00Z".to_owned();
    let checkout = CheckedOut { commit, commit_date, branch: Some("main".into()), tags: Vec::new() };
    let context = site_context(repository.path(), &checkout, &config(more), &StopFlag::default());
    if let Ok(context) = &context {
        let again = site_context(repository.path(), &checkout, &config(more), &StopFlag::default()).unwrap();
        assert_eq!(to_bytes(context), to_bytes(&again));
    }
    context
}

fn pairs(map: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    map.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

fn urls(context: &SiteContext) -> Vec<(&str, &str)> {
    context.pages.iter().map(|page| (page.url.as_str(), page.title.as_str())).collect()
}

const PAGE: &str = "---\ntitle: Page\nlayout: docs\n---\n\n* one\n* two\n";

#[test]
fn a_site_of_one_language_is_read() {
    let found = context(
        &[
            ("hugo.toml", "baseURL = \"https://x.example/\"\ntitle = \"Site\"\n"),
            ("content/_index.md", "---\ntitle: Home\n---\n"),
            ("content/docs/_index.md", "---\ntitle: Docs\n---\n"),
            ("content/docs/words/start.md", PAGE),
            ("content/docs/words/install.md", "---\ntitle: Install\nlayout: docs\nslug: setup\n---\n- one\n"),
            ("content/docs/words/img.png", "png"),
            ("content/posts/a.md", "+++\ntitle = \"Post\"\ndate = 2026-01-01\n+++\n"),
            ("archetypes/kb.md", "---\ntitle: x\nlayout: article\n---\n"),
            ("static/logo.svg", "<svg/>"),
            ("layouts/index.html", "{{ readFile \"/etc/passwd\" }}"),
        ],
        &json!({}),
    )
    .unwrap();
    assert_eq!(
        (found.kind.as_str(), found.title.as_str(), found.base_url.as_str()),
        ("hugo", "Site", "https://x.example/")
    );
    assert_eq!(pairs(&found.content_dirs), [("en", "content")]);
    let sections =
        [("blog", "posts"), ("docs", "docs"), ("kb", "kb"), ("products", "products"), ("reference", "reference")];
    assert_eq!(pairs(&found.section_dirs), sections);
    assert_eq!((found.layout.as_str(), found.has_locale_folders, found.bullet), ("v2", false, '*'));
    assert_eq!(
        urls(&found),
        [
            ("/", "Home"),
            ("/docs/", "Docs"),
            ("/docs/words/setup/", "Install"),
            ("/docs/words/start/", "Page"),
            ("/posts/a/", "Post")
        ]
    );
    assert_eq!(found.static_files, ["docs/words/img.png", "logo.svg"]);
    assert_eq!(found.front_matter["docs"].constants, BTreeMap::from([("layout".to_owned(), json!("docs"))]));
    assert_eq!(
        (found.front_matter["blog"].form.as_str(), pairs(&found.front_matter["blog"].required)),
        ("toml", vec![("date", "date"), ("title", "string")])
    );
    assert_eq!(found.front_matter["kb"].constants["layout"], json!("article"), "of the archetype");
    assert_eq!(found.front_matter["products"].required, BTreeMap::new());
}

#[test]
fn the_order_of_folders_is_that_of_the_existing_pages() {
    let site = |paths: &[&str], more: Value| {
        let mut files = vec![("hugo.toml", "title = \"x\"")];
        files.extend(paths.iter().map(|path| (*path, PAGE)));
        let found = context(&files, &more).unwrap();
        (
            found.layout.clone(),
            found.has_locale_folders,
            pairs(&found.content_dirs).iter().map(|(l, d)| format!("{l}={d}")).collect::<Vec<_>>(),
        )
    };
    let shared =
        |languages: &[&str]| languages.iter().map(|language| format!("{language}=content")).collect::<Vec<_>>();
    assert_eq!(
        site(&["content/docs/en/words/a.md", "content/docs/de/words/a.md"], json!({})),
        ("v1".into(), true, shared(&["de", "en"]))
    );
    assert_eq!(
        site(&["content/docs/words/en/net/a.md", "content/docs/words/en/java/a.md"], json!({})),
        ("v2".into(), true, shared(&["en"]))
    );
    assert_eq!(site(&["content/docs/words/a.md"], json!({})), ("v2".into(), false, shared(&["en"])));
    assert_eq!(
        site(&["content/docs/words/a.md"], json!({"layout_mode": "v1"})),
        ("v1".into(), true, shared(&["en"])),
        "an order wins"
    );
    let many = [
        "content/docs.x.example/words/en/net/a.md",
        "content/kb.x.example/words/en/net/a.md",
        "content/blog.x.example/words/a.md",
        "content/blog.x.example/words/b.md",
        "content/blog.x.example/words/c.md",
    ];
    assert_eq!(site(&many, json!({})), ("v2".into(), true, shared(&["en"])), "sections count, not pages");
    let own = vec!["de=content/de".to_owned(), "en=content/en".to_owned()];
    assert_eq!(
        site(&["content/en/docs/words/a.md", "content/de/docs/words/a.md"], json!({})),
        ("v1".into(), false, own)
    );
    assert_eq!(site(&[], json!({})), ("v2".into(), false, shared(&["en"])));
    assert_eq!(
        site(&[], json!({"locales": ["de"]})),
        ("v2".into(), false, shared(&["de"])),
        "the only language is the run's"
    );
    assert_eq!(site(&["content/docs.x.example/words/en/a.md"], json!({})), ("v2".into(), true, shared(&["en"])));
}

#[test]
fn languages_of_the_configuration_have_their_addresses() {
    let toml = "defaultContentLanguage = \"en\"\ndefaultContentLanguageInSubdir = true\n[languages.en]\ncontentDir = \"content/en\"\n[languages.de]\ncontentDir = \"content/de\"\n";
    let found =
        context(&[("hugo.toml", toml), ("content/en/docs/a.md", PAGE), ("content/de/docs/a.md", PAGE)], &json!({}))
            .unwrap();
    assert_eq!(urls(&found), [("/de/docs/a/", "Page"), ("/en/docs/a/", "Page")]);
    assert!(found.default_language_in_subdir && !found.has_locale_folders);
    let by_name = context(
        &[
            ("hugo.toml", "[languages.en]\n[languages.de]\n"),
            ("content/docs/a.md", PAGE),
            ("content/docs/a.de.md", PAGE),
        ],
        &json!({}),
    )
    .unwrap();
    assert_eq!(urls(&by_name), [("/de/docs/a/", "Page"), ("/docs/a/", "Page")]);
    assert_eq!(
        (pairs(&by_name.content_dirs), by_name.has_locale_folders),
        (vec![("de", "content"), ("en", "content")], false)
    );
}

#[test]
fn a_site_of_plain_files_has_their_paths_as_addresses() {
    let found = context(
        &[
            ("README.md", "# Welcome\n"),
            ("docs/Words/Start.md", "# Start here\n+ one\n"),
            ("docs/Words/plain.md", "no heading\n"),
            ("docs/Words/a.png", "png"),
            (".github/x.yml", ""),
        ],
        &json!({"site": {"repo_url": "https://github.com/a/site", "kind": "markdown"}}),
    )
    .unwrap();
    assert_eq!(
        urls(&found),
        [("/README.md", "Welcome"), ("/docs/Words/Start.md", "Start here"), ("/docs/Words/plain.md", "plain")]
    );
    assert_eq!((pairs(&found.content_dirs), found.bullet, found.has_locale_folders), (vec![("en", "")], '+', false));
    assert_eq!(found.front_matter, BTreeMap::new(), "no page has one");
    assert_eq!(
        (found.static_files.as_slice(), found.section_dirs["docs"].as_str()),
        (&["docs/Words/a.png".to_owned()][..], "docs")
    );
}

#[test]
fn a_site_for_one_section_has_it_at_its_top() {
    let files = [("hugo.toml", ""), ("content/words/net/a.md", PAGE), ("content/words/_index.md", PAGE)];
    let one = context(&files, &json!({"required_sections": ["docs"]})).unwrap();
    assert_eq!(one.section_dirs["docs"], "");
    assert_eq!(one.front_matter["docs"].constants["layout"], json!("docs"));
    let two = context(&files, &json!({})).unwrap();
    assert_eq!(two.section_dirs["docs"], "docs");
}

#[test]
fn pages_say_their_address_where_the_site_makes_others() {
    let requires = |toml: &str, section: &str| {
        let found = context(&[("hugo.toml", toml), ("content/docs/words/a.md", PAGE)], &json!({})).unwrap();
        found.front_matter[section].required.contains_key("url")
    };
    assert!(requires("[permalinks]\nblog = \"/:year/:slug/\"\n", "blog"));
    assert!(!requires("[permalinks]\nblog = \"/:year/:slug/\"\n", "docs"));
    assert!(requires("uglyURLs = true", "docs"));
    assert!(!requires("disablePathToLower = true", "docs"), "its path is in lower case");
}

#[test]
fn odd_and_broken_pages_do_not_stop_a_run() {
    let large = format!("---\ntitle: Large\n---\n{}", "x ".repeat(600_000));
    let found = context(
        &[
            ("hugo.toml", ""),
            ("content/docs/broken.md", "---\ntitle: [\n---\n"),
            ("content/docs/open.md", "---\ntitle: x\n"),
            ("content/docs/list.md", "---\n- a\n---\n"),
            ("content/docs/large.md", &large),
            ("content/docs/empty.md", ""),
            ("content/docs/a\nb.md", PAGE),
        ],
        &json!({}),
    )
    .unwrap();
    assert_eq!(found.pages.len(), 6);
    let error = context(&[("README.md", "")], &json!({})).unwrap_err();
    assert_eq!((error.code, &error.details["reason"]), ("INVALID_INPUT", &json!("site_configuration")));
}

#[test]
fn links_are_never_followed_and_a_stop_ends_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let repository = TestRepository::new(&dir.path().join("site"));
    let secret = dir.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("page.md"), "---\ntitle: Secret\n---\n").unwrap();
    let commit =
        repository.commit(&[("hugo.toml", b""), ("content/docs/page.md", PAGE.as_bytes())], "2026-01-21T10:00:00Z");
    // Someone replaces a folder of the working copy.
    std::fs::remove_dir_all(repository.path().join("content/docs")).unwrap();
    std::os::unix::fs::symlink(&secret, repository.path().join("content/docs")).unwrap();
    let checkout = CheckedOut { commit, commit_date: String::new(), branch: None, tags: Vec::new() };
    let config = config(&json!({}));
    let stop = StopFlag::default();
    let found = site_context(repository.path(), &checkout, &config, &stop).unwrap();
    assert_eq!(urls(&found), [("/docs/page/", "page")]);
    stop.set();
    let stopped = site_context(repository.path(), &checkout, &config, &stop).unwrap_err();
    assert_eq!(stopped.code, "CANCELLED");
}
