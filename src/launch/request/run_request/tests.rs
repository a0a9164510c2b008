//! Tests of starts: what is derived, what is missing, and which starts are the same.

use serde_json::{Value, json};

use super::*;

fn with_defaults(more: &str) -> Sites {
    let text = include_str!("../../../../config/sites.toml");
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
    assert_eq!(request.config.github_ref, "HEAD");
    let silent = include_str!("../../../../config/sites.toml").replace("github_ref = \"HEAD\"\n", "");
    let missing = from_product_url(&Sites::parse(&silent).unwrap(), "https://products.aspose.org/3d/en/python/");
    assert_eq!(missing.unwrap_err().details["missing_fields"][2], "github_ref");
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

#[test]
fn each_unclear_repository_gets_exactly_its_candidates_the_best_first() {
    type Row = (&'static str, &'static [&'static str], &'static str, Value, Value, Value);
    let both = || json!(["family", "target_platform"]);
    let family = || json!(["family"]);
    let platform = || json!(["target_platform"]);
    let of = |family: f64, platform: f64| json!({"family": family, "target_platform": platform});
    let title = "# Example Cells for Python\n";
    let rows: [Row; 16] = [
        // Nothing at all.
        ("tools", &[], "", both(), json!({"family": [], "target_platform": []}), of(0.0, 0.0)),
        // The name alone isn't enough for either.
        (
            "Example.Cells-for-Python",
            &[],
            "",
            both(),
            json!({"family": ["cells"], "target_platform": ["python"]}),
            of(0.6, 0.6),
        ),
        // With a manifest the platform is clear, the family isn't, and only the family is asked for.
        ("Example.Cells-for-Python", &["setup.py"], "", family(), json!({"family": ["cells"]}), of(0.6, 1.0)),
        // 0.8 isn't above 0.8.
        (
            "tools",
            &["setup.py"],
            title,
            both(),
            json!({"family": ["cells"], "target_platform": ["python"]}),
            of(0.3, 0.8),
        ),
        // A name with two families says none; the README names one of them.
        ("Example.Cells-PDF-for-Python", &["setup.py"], title, family(), json!({"family": ["cells"]}), of(0.3, 1.0)),
        // A name with two platforms says none.
        (
            "Example.Cells-for-Python-Java",
            &["setup.py", "pom.xml"],
            "# Cells\n",
            platform(),
            json!({"target_platform": ["java", "python"]}),
            of(0.9, 0.25),
        ),
        // The name says one platform, manifest and README another: 0.6 to 0.8.
        (
            "Example.Cells-for-Python",
            &["pom.xml"],
            "# Cells for Java\n",
            platform(),
            json!({"target_platform": ["java", "python"]}),
            of(0.9, 0.8),
        ),
        // The best is above 0.8, but the next one is too near: 0.9 to 0.8.
        (
            "Example.Cells-for-Python",
            &["pom.xml"],
            "# Cells for Java and Python\n",
            platform(),
            json!({"target_platform": ["python", "java"]}),
            of(0.9, 0.9),
        ),
        // Equal scores are in the order of the alphabet.
        (
            "tools",
            &["go.mod", "Cargo.toml", "setup.py"],
            "# Words, cells and slides\n",
            both(),
            json!({"family": ["cells", "slides", "words"], "target_platform": ["go", "python", "rust"]}),
            of(0.3, 0.25),
        ),
        // What a product is made with says nothing.
        (
            "Example.Cells-via-Java",
            &["pom.xml"],
            "# Cells\n",
            platform(),
            json!({"target_platform": ["java"]}),
            of(0.9, 0.5),
        ),
        // Other words for a platform suggest its name.
        (
            "example-words-golang",
            &[],
            "",
            both(),
            json!({"family": ["words"], "target_platform": ["go"]}),
            of(0.6, 0.6),
        ),
        (
            "example-words",
            &["package.json", "tsconfig.json"],
            "# Words for Node\n",
            platform(),
            json!({"target_platform": ["typescript", "javascript"]}),
            of(0.9, 0.5),
        ),
        // Words that contain a name are others; a second paragraph counts for nothing.
        (
            "Example.Cellsx-for-Pythonic",
            &["setup.py"],
            "# Tool\n\nA library.\n\nCells for Python.\n",
            both(),
            json!({"family": [], "target_platform": ["python"]}),
            of(0.0, 0.5),
        ),
        // Manifests below the top, and files that only end like one.
        (
            "Example.PDF",
            &["my-setup.py", "Gemfile.lock", ".csproj"],
            "# PDF\n",
            platform(),
            json!({"target_platform": []}),
            of(0.9, 0.0),
        ),
        // The name's family and another one in the README: the name wins, the platform is asked for.
        (
            "Example.Cells",
            &["a.csproj", "CMakeLists.txt"],
            "# Cells and PDF for .NET\n",
            platform(),
            json!({"target_platform": ["dotnet", "cpp"]}),
            of(0.9, 0.55),
        ),
        // A README that names very many.
        (
            "3d-php",
            &["composer.json"],
            "# PDF, HTML, SVG and TeX in PHP\n",
            family(),
            json!({"family": ["3d", "html", "pdf", "svg", "tex"]}),
            of(0.6, 1.0),
        ),
    ];
    for (name, files, readme, missing, suggested, confidence) in rows {
        let repository = GithubRepository::parse(&format!("https://github.com/example/{name}")).unwrap();
        let refused = from_repository(&full(), &repository, &facts(name, files, readme), &"a".repeat(40)).unwrap_err();
        assert_eq!(
            (refused.code, &refused.details["reason"]),
            ("INVALID_INPUT", &json!("ambiguous")),
            "{name} {files:?}"
        );
        assert_eq!(refused.details["missing_fields"], missing, "{name} {files:?}");
        assert_eq!(refused.details["suggested_values"], suggested, "{name} {files:?}");
        assert_eq!(refused.details["confidence"], confidence, "{name} {files:?}");
        for field in missing.as_array().unwrap() {
            assert!(refused.message.contains(field.as_str().unwrap()), "{}", refused.message);
        }
    }
}
