//! Quick starts of launch runs with the real binary: from the address of a product page, by both names of the tool, and from a repository.
//!
//! GitHub is a folder of this machine, by a rewrite of the operator, and the table of sites has complete defaults.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use codeyard_test_support::git;

use crate::e2e::launch::{Client, Sample, copy, run_of};
use crate::running_server::Yard;

const FROM_URL: &str = "launch_start_run_from_product_url";
const FROM_REPOSITORY: &str = "launch_start_run_from_github_repo_url";
/// The deprecated name of [`FROM_URL`].
const ALIAS: &str = "launch_start_run_from_url";
/// The product's repository, and the page of the product.
const REPOSITORY: &str = "https://github.com/acme/Acme.Cells-for-Python";
const PAGE: &str = "https://products.aspose.org/cells/en/python/";

/// The sample with repositories that GitHub would have, and a server that knows them.
struct Hub {
    sample: Sample,
    yard: Yard,
}

impl Hub {
    fn new() -> Self {
        let sample = Sample::new();
        let top = sample.top();
        let owner = top.join("hub/acme");
        fs::create_dir_all(&owner).unwrap();
        copy(&top.join("library"), &owner.join("Acme.Cells-for-Python"));
        commit(&owner.join("Acme.Cells-for-Python"), "README.md", |text| {
            text.replacen("small tables", "small tables of cells", 1)
        });
        // The name says one family, the README another one; the manifests are of two platforms.
        for (name, manifests) in
            [("Acme.Slides", &["setup.py", "pom.xml"][..]), ("Acme.Slides-for-Python", &["setup.py"])]
        {
            let path = owner.join(name);
            fs::create_dir(&path).unwrap();
            git::git(&path, &["init", "--quiet", "--initial-branch=main"]);
            for manifest in manifests {
                commit(&path, manifest, |_| "\n".to_owned());
            }
            let platform = if manifests.len() == 2 { "Java" } else { "all" };
            commit(&path, "README.md", |_| format!("# Cells for {platform}\n"));
        }
        let table = top.join("sites.toml");
        fs::write(&table, sites(&sample)).unwrap();
        let configuration = format!(
            "{}rewrites = [{{ from = \"https://github.com/\", to = \"{}/\" }}]\nsites = {table:?}\n",
            sample.configuration(),
            top.join("hub").display()
        );
        let yard = Yard::serve(&configuration);
        Self { sample, yard }
    }

    fn repository(&self) -> PathBuf {
        self.sample.top().join("hub/acme/Acme.Cells-for-Python")
    }

    fn head(&self) -> String {
        git::git(&self.repository(), &["rev-parse", "HEAD"])
    }
}

/// Changes a file of a repository, or makes it.
fn commit(repository: &std::path::Path, file: &str, change: impl FnOnce(String) -> String) {
    let path = repository.join(file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let after = change(before.clone());
    assert_ne!(before, after, "{file} doesn't change");
    fs::write(&path, after).unwrap();
    git::git(repository, &["add", "--all"]);
    git::git(repository, &["commit", "--quiet", "--date=2026-01-21T10:00:00Z", "-m", "change"]);
}

/// The built-in table, whose last table is that of the defaults, with everything that a run needs.
fn sites(sample: &Sample) -> String {
    let builtin = include_str!("../../../config/sites.toml");
    let content = if sample.kind == "hugo" { "content/" } else { "" };
    let allowed =
        ["products", "docs", "reference", "kb", "blog"].map(|section| format!("{content}{section}/{{product}}/**"));
    format!(
        "{builtin}product_slug = \"{{product}}\"\nproduct_name = \"tabtidy\"\ngithub_repo_url = \"{REPOSITORY}\"\n\
         required_sections = [\"products\", \"docs\", \"reference\", \"kb\", \"blog\"]\nallowed_paths = {allowed:?}\n\
         site = {{ repo_url = {:?}, ref = \"main\", kind = {:?} }}\n",
        sample.top().join("site"),
        sample.kind
    )
}

/// A start's arguments with a key.
fn keyed(name: &str, value: &str, key: &str) -> Value {
    json!({name: value, "idempotency_key": key})
}

/// Waits until the run is ready, and checks that its pages are those of the product.
fn assert_ready(client: &mut Client, run: &Value, commit: &str) {
    client.wait(run, "READY_FOR_PR");
    let artifact = |client: &mut Client, name: &str| -> Value {
        let wanted = json!({"run_id": run["run_id"], "artifact_name": name});
        let artifact = client.ok("launch_get_artifact", &wanted)["artifact"].clone();
        serde_json::from_str(artifact["content"].as_str().unwrap()).unwrap()
    };
    let config = artifact(client, "run_config.json");
    assert_eq!(
        [&config["family"], &config["target_platform"], &config["product_slug"], &config["github_repo_url"]],
        [&json!("cells"), &json!("python"), &json!("cells"), &json!(REPOSITORY)]
    );
    let plan = artifact(client, "page_plan.json");
    assert_eq!(plan["commit"], commit);
    let pages = plan["pages"].as_array().unwrap();
    let is_own = |page: &Value| page["path"].as_str().unwrap().contains("/cells/en/python");
    assert!(pages.len() >= 5 && pages.iter().all(is_own), "{plan}");
}

#[test]
fn a_product_page_starts_one_run_by_both_names_of_the_tool() {
    let hub = Hub::new();
    let mut client = Client::of(&hub.yard);
    let started = client.ok(FROM_URL, &keyed("url", PAGE, "k"));
    let derived = json!({"site": "products.aspose.org", "product_slug": "cells", "platform": "python", "locale": "en"});
    let run = run_of(&started);
    assert_eq!(started, json!({"ok": true, "run_id": run["run_id"], "state": "CREATED", "derived_config": derived}));
    for tool in [ALIAS, FROM_URL] {
        let again = client.ok(tool, &keyed("url", PAGE, "k"));
        assert_eq!((&again["run_id"], &again["replayed"]), (&run["run_id"], &json!(true)), "{tool}");
        assert_eq!(again["derived_config"], derived, "{tool}");
    }
    // Another page with the same key is another configuration.
    for tool in [ALIAS, FROM_URL] {
        let other = client.refused(tool, &keyed("url", "https://products.aspose.org/cells/de/python", "k"));
        assert_eq!(other["details"]["reason"], "idempotency_key_reused", "{other}");
    }
    assert_eq!(client.ok("launch_list_runs", &json!({}))["runs"].as_array().unwrap().len(), 1);
    assert_ready(&mut client, &run, &hub.head());
    // The alias can be called first, and isn't needed with a key.
    let by_alias = client.ok(ALIAS, &json!({"url": "https://docs.aspose.org/cells/en/python/any-page"}));
    assert_eq!(by_alias["derived_config"]["site"], "docs.aspose.org", "{by_alias}");
    let by_alias = run_of(&by_alias);
    assert_ne!(by_alias, run);
    client.wait(&by_alias, "READY_FOR_PR");
    hub.yard.stop();
}

#[test]
fn a_repository_starts_one_run_though_its_head_moves() {
    let hub = Hub::new();
    let mut client = Client::of(&hub.yard);
    let first = hub.head();
    let derived = |head: &str| {
        json!({
            "family": "cells", "target_platform": "python", "locales": ["en"], "layout_mode": "auto",
            "allow_inference": false, "github_repo_url": REPOSITORY, "github_ref": head,
        })
    };
    let started = client.ok(FROM_REPOSITORY, &keyed("github_repo_url", &format!("{REPOSITORY}.git"), "k"));
    let run = run_of(&started);
    assert_eq!(
        started,
        json!({"ok": true, "run_id": run["run_id"], "state": "CREATED", "derived_config": derived(&first)})
    );
    commit(&hub.repository(), "NEWS.md", |_| "# News\n".to_owned());
    let second = hub.head();
    assert_ne!(first, second);
    let again = client.ok(FROM_REPOSITORY, &keyed("github_repo_url", &format!("{REPOSITORY}/"), "k"));
    assert_eq!((&again["run_id"], &again["replayed"]), (&run["run_id"], &json!(true)));
    assert_eq!(again["derived_config"], derived(&first), "what is shown is the run that exists");
    assert_ready(&mut client, &run, &first);
    let other = client.ok(FROM_REPOSITORY, &json!({"github_repo_url": REPOSITORY}));
    assert_eq!((&other["replayed"], &other["derived_config"]), (&Value::Null, &derived(&second)));
    assert_ne!(other["run_id"], run["run_id"]);
    assert_ready(&mut client, &run_of(&other), &second);
    // What the inference has read is gone.
    let scratch = hub.yard.state.path().join("run/launch");
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    hub.yard.stop();
}

#[test]
fn unclear_and_wrong_addresses_are_refused_and_start_nothing() {
    let hub = Hub::new();
    let mut client = Client::of(&hub.yard);
    let unclear = client.refused(FROM_REPOSITORY, &json!({"github_repo_url": "https://github.com/acme/Acme.Slides"}));
    assert_eq!((&unclear["code"], &unclear["retryable"]), (&json!("INVALID_INPUT"), &json!(false)));
    assert_eq!(
        unclear["details"],
        json!({
            "reason": "ambiguous",
            "missing_fields": ["family", "target_platform"],
            "suggested_values": {"family": ["slides", "cells"], "target_platform": ["java", "python"]},
            "confidence": {"family": 0.6, "target_platform": 0.55},
        })
    );
    let half =
        client.refused(FROM_REPOSITORY, &json!({"github_repo_url": "https://github.com/acme/Acme.Slides-for-Python"}));
    assert_eq!(
        (&half["details"]["missing_fields"], &half["details"]["suggested_values"]),
        (&json!(["family"]), &json!({"family": ["slides", "cells"]})),
        "{half}"
    );

    for url in [
        "https://products.aspose.org/cells/en/cobol/",
        "https://products.aspose.org/cells/en/python/more",
        "https://products.aspose.org/cells/en/python/?x=1",
        "https://products.aspose.org/cells/en/python/#x",
        "https://user@products.aspose.org/cells/en/python/",
        "https://products.aspose.org:8443/cells/en/python/",
        "https://products.aspose.org/cells/en/%2e%2e/python/",
        "http://products.aspose.org/cells/en/python/",
        "products.aspose.org/cells/en/python/",
    ] {
        for tool in [FROM_URL, ALIAS] {
            let error = client.refused(tool, &json!({ "url": url }));
            assert_eq!((&error["code"], &error["retryable"]), (&json!("INVALID_URL"), &json!(false)), "{url}: {error}");
        }
    }
    for url in [
        "https://gitlab.com/acme/Acme.Cells",
        "https://github.com/acme",
        "https://github.com/a/b/c",
        "acme/cells",
        "/etc",
    ] {
        let error = client.refused(FROM_REPOSITORY, &json!({ "github_repo_url": url }));
        assert_eq!(error["code"], "INVALID_URL", "{url}: {error}");
    }
    let error = client.refused(FROM_URL, &json!({"url": "https://www.example.org/cells/en/python/"}));
    assert_eq!(error["code"], "UNSUPPORTED_SITE", "{error}");
    let hosts = ["products", "docs", "kb", "blog", "reference"].map(|name| format!("{name}.aspose.org"));
    assert_eq!(error["details"]["supported_sites"], json!(hosts));
    let error = client.refused(FROM_REPOSITORY, &json!({"github_repo_url": "https://github.com/acme/Nowhere"}));
    assert_eq!((&error["code"], &error["retryable"]), (&json!("REPO_NOT_FOUND"), &json!(false)), "{error}");
    let top = hub.sample.top().display().to_string();
    assert!(!error.to_string().contains(&top), "the folder behind the address isn't shown: {error}");
    for tool in [FROM_URL, ALIAS, FROM_REPOSITORY] {
        let error = client.refused(tool, &json!({}));
        assert_eq!(error["code"], "INVALID_INPUT", "{tool}: {error}");
    }
    assert_eq!(client.ok("launch_list_runs", &json!({}))["runs"], json!([]));
    hub.yard.stop();
}

#[test]
fn what_the_defaults_do_not_say_is_named() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let error = client.refused(FROM_URL, &json!({ "url": PAGE }));
    assert_eq!(error["code"], "INVALID_INPUT", "{error}");
    assert_eq!(
        error["details"]["missing_fields"],
        json!(["product_name", "github_repo_url", "required_sections", "allowed_paths", "site"])
    );
    assert!(error["message"].as_str().unwrap().contains("runs.sites"), "{error}");
    yard.stop();
}
