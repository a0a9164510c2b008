//! Tests of starts: what is derived, what is missing, and which starts are the same.

use serde_json::{Value, json};

use super::*;

fn with_defaults(more: &str) -> Sites {
    let text = include_str!("../../../config/sites.toml");
    Sites::parse(&format!("{text}\n{more}")).unwrap()
}

fn full() -> Sites {
    with_defaults(
        r#"product_slug = "{product}-{platform}"
product_name = "Example {product} for {platform}"
github_repo_url = "https://github.com/example/{product}-{platform}"
required_sections = ["products", "docs"]
allowed_paths = ["content/{product}/**"]
site = { repo_url = "file:///srv/site.git" }"#,
    )
}

fn config() -> Value {
    json!({
        "schema_version": "1.0", "product_slug": "tidy", "product_name": "Tidy", "family": "words", "target_platform": "python",
        "github_repo_url": "https://github.com/example/tidy", "github_ref": "main", "required_sections": ["docs"],
        "allowed_paths": ["content/**"], "site": {"repo_url": "file:///srv/site.git"},
    })
}

fn facts(name: &str, files: &[&str], readme: &str) -> RepositoryFacts {
    let files = files.iter().map(|&file| file.to_owned()).collect();
    RepositoryFacts { name: name.into(), files, readme: readme.into() }
}

#[test]
fn equal_configurations_are_the_same_start_however_they_are_written() {
    let sites = Sites::builtin();
    let short = from_config(&sites, &config()).unwrap();
    let mut long = config();
    long["locales"] = json!(["en"]);
    long["advance"] = json!("auto");
    assert_eq!(from_config(&sites, &long).unwrap(), short);
    long["advance"] = json!("step");
    assert_ne!(from_config(&sites, &long).unwrap().digest, short.digest);
}

#[test]
fn a_configuration_without_a_site_takes_the_default_one_or_is_refused() {
    let mut without = config();
    without.as_object_mut().unwrap().remove("site");
    let refused = from_config(&Sites::builtin(), &without).unwrap_err();
    assert_eq!((refused.code, &refused.details["missing_fields"]), ("INVALID_INPUT", &json!(["site"])));
    let request = from_config(&full(), &without).unwrap();
    assert_eq!(request.config.site.unwrap().repo_url, "file:///srv/site.git");
}

#[test]
fn every_fault_of_a_configuration_is_named() {
    let mut wrong = config();
    wrong["colour"] = json!("red");
    wrong["locales"] = json!(7);
    wrong.as_object_mut().unwrap().remove("family");
    let refused = from_config(&Sites::builtin(), &wrong).unwrap_err();
    assert_eq!(refused.code, "SCHEMA_VALIDATION_FAILED");
    assert_eq!(refused.details["faults"].as_array().unwrap().len(), 3, "{refused:?}");
    let refused = from_config(&Sites::builtin(), &json!("text")).unwrap_err();
    assert_eq!(refused.code, "SCHEMA_VALIDATION_FAILED");
}

#[test]
fn a_url_says_product_platform_and_language_and_the_defaults_say_the_rest() {
    let request = from_product_url(&full(), "https://products.aspose.org/3d/de/python/").unwrap();
    assert_eq!(
        request.derived,
        Some(json!({"site": "products.aspose.org", "product_slug": "3d", "platform": "python", "locale": "de"}))
    );
    assert_eq!(request.config.product_slug, "3d-python");
    assert_eq!(request.config.github_repo_url, "https://github.com/example/3d-python");
    assert_eq!(request.config.allowed_paths, ["content/3d/**"]);
    assert_eq!(request.config.locales, ["de"]);
    let code = |url: &str| from_product_url(&full(), url).unwrap_err().code;
    assert_eq!(code("https://products.aspose.org/3d/"), "INVALID_URL");
    assert_eq!(code("https://example.org/3d/en/python/"), "UNSUPPORTED_SITE");
    let missing = from_product_url(&Sites::builtin(), "https://products.aspose.org/3d/en/python/").unwrap_err();
    assert_eq!(
        missing.details["missing_fields"],
        json!(["product_name", "github_repo_url", "required_sections", "allowed_paths", "site"])
    );
}

#[test]
fn a_repository_is_the_same_start_after_its_head_has_moved() {
    let repository = GithubRepository::parse("https://github.com/example/Example.3D-for-Python").unwrap();
    let facts = facts("Example.3D-for-Python", &["setup.py"], "# Example 3D for Python\n");
    let first = from_repository(&full(), &repository, &facts, &"a".repeat(40)).unwrap();
    let second = from_repository(&full(), &repository, &facts, &"b".repeat(40)).unwrap();
    assert_eq!(first.digest, second.digest);
    assert_eq!(first.derived.as_ref().unwrap()["github_ref"], "a".repeat(40));
    assert_eq!(second.config.github_ref, "b".repeat(40));
    assert_eq!(first.derived.unwrap().as_object().unwrap().len(), 7);
}

#[test]
fn an_unclear_repository_is_refused_with_its_candidates() {
    let repository = GithubRepository::parse("https://github.com/example/tools").unwrap();
    let facts = facts("tools", &["setup.py", "pom.xml"], "# Words and cells for Python\n");
    let refused = from_repository(&full(), &repository, &facts, &"a".repeat(40)).unwrap_err();
    assert_eq!(refused.code, "INVALID_INPUT");
    assert_eq!(refused.details["missing_fields"], json!(["family", "target_platform"]));
    assert_eq!(refused.details["suggested_values"]["target_platform"], json!(["python", "java"]));
    assert_eq!(refused.details["confidence"]["target_platform"], json!(0.55));
}
