//! Publications into real repositories.

mod services;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::artifacts::SCHEMA_VERSION;
use crate::request::run_config::ValidationProfile;
use crate::testing::TestRepository;

/// Nothing is waited for.
const NO_WAITS: Waits = Waits { first: Duration::from_millis(1), longest_asked: Duration::from_millis(1) };

fn config(site: &str, change: impl FnOnce(&mut Value)) -> RunConfig {
    let mut value = json!({
        "schema_version": "1.0", "product_slug": "tidy", "product_name": "Tidy|*Pro*", "family": "words", "target_platform": "python",
        "github_repo_url": "https://github.com/example/tidy", "github_ref": "main", "required_sections": ["docs"],
        "allowed_paths": ["content/**"], "site": {"repo_url": site},
    });
    change(&mut value);
    RunConfig::parse(&value).unwrap()
}

fn settings() -> PublicationSettings {
    let service =
        |url: &str, name: Option<&str>| AllowedService { base_url: url.into(), token_env: name.map(str::to_owned) };
    PublicationSettings {
        services: vec![service("https://api.github.com", Some("GITHUB_TOKEN")), service("http://127.0.0.1:9/x/", None)],
        request_limit: Duration::from_secs(5),
    }
}

/// A site, a run's working copy of it with one new page, and all that a publication reads.
struct Scene {
    dir: tempfile::TempDir,
    origin: TestRepository,
    checkout: CheckedOut,
    config: RunConfig,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let origin = TestRepository::new(&top.join("origin"));
        origin.commit(&[("content/a.md", b"old\n")], "2026-01-10T10:00:00Z");
        origin.commit(&[("content/b.md", b"b\n")], "2026-01-20T10:00:00Z");
        let config = config(origin.path().to_str().unwrap(), |_| ());
        let site = top.join("site");
        let url = &config.site.as_ref().unwrap().repo_url;
        let checkout =
            crate::repository::checkout::check_out(&Self::sources(&top), url, "main", &site, &StopFlag::default())
                .unwrap();
        fs::create_dir_all(site.join("content/docs")).unwrap();
        fs::write(site.join("content/docs/new.md"), "new\n").unwrap();
        Self { dir, origin, checkout, config }
    }

    fn sources(top: &Path) -> CheckoutSettings {
        CheckoutSettings {
            rewrites: Vec::new(),
            sources: vec![top.to_str().unwrap().to_owned()],
            max_bytes: 1 << 30,
            limit: Duration::from_secs(60),
        }
    }

    fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn site(&self) -> PathBuf {
        self.top().join("site")
    }

    fn publish_as(&self, run: &RunId) -> Result<PullRequest, StageError> {
        self.publish_with(run, &settings(), &StopFlag::default())
    }

    fn publish_with(
        &self,
        run: &RunId,
        settings: &PublicationSettings,
        stop: &StopFlag,
    ) -> Result<PullRequest, StageError> {
        let facts: ProductFacts = serde_json::from_value(json!({
            "schema_version": "1.0", "commit": "c".repeat(40), "commit_date": "2026-01-01T00:00:00Z", "product_name": "Tidy",
            "product_slug": "tidy", "family": "words", "target_platform": "python", "repository": "r", "features": [], "api": [],
            "api_omitted": 0, "examples": [], "version": {"text": "1.2.0", "claim": "clm_000000000000"},
        }))
        .unwrap();
        let product_checkout = CheckedOut {
            commit: "c".repeat(40),
            commit_date: "2026-01-01T00:00:00Z".into(),
            branch: None,
            tags: Vec::new(),
        };
        let request = PublishRequest {
            config: &self.config,
            run,
            site: &self.site(),
            checkout: &self.checkout,
            product_checkout: &product_checkout,
            allowed: &AllowedPaths::parse(&self.config.allowed_paths).unwrap(),
            checkout_settings: &Self::sources(&self.top()),
            settings,
            plan: &PagePlan { schema_version: SCHEMA_VERSION.into(), commit: "c".repeat(40), pages: Vec::new() },
            report: &ValidationReport::new(ValidationProfile::Local, Vec::new(), Vec::new()),
            evidence: &EvidenceMap {
                schema_version: SCHEMA_VERSION.into(),
                commit: String::new(),
                claims: Default::default(),
            },
            claims: &PageClaims { schema_version: SCHEMA_VERSION.into(), commit: String::new(), pages: Vec::new() },
            facts: &facts,
        };
        super::publish_with(&request, NO_WAITS, stop)
    }
}

#[test]
fn a_branch_is_pushed_once_and_nothing_else_of_the_repository_changes() {
    let scene = Scene::new();
    // A hook that would change something, and an uncommitted change of a person.
    let hook = scene.origin.path().join(".git/hooks/post-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(scene.origin.path().join("content/a.md"), "mine\n").unwrap();
    let before = scene.origin.run(&["status", "--short", "--branch"]);

    let run = RunId::new(0, 1);
    let first = scene.publish_as(&run).unwrap();
    assert_eq!(first.branch, format!("launch/{run}/tidy"));
    assert_eq!(first.pr_url, format!("file://{}#{}", scene.origin.path().display(), first.branch));
    assert_eq!((first.base.as_str(), first.title.as_str()), ("main", "Add the pages of Tidy|*Pro* 1.2.0"));
    assert!(first.body.contains("**Tidy\\|\\*Pro\\***"), "{}", first.body);
    assert_eq!((&first.head, first.is_cut), (&first.branch, false));
    assert_eq!(scene.origin.run(&["diff", "main", &first.head]), first.diff.trim_end());
    assert!(first.diff.ends_with("@@ -0,0 +1 @@\n+new\n"), "{}", first.diff);
    assert_eq!(scene.origin.run(&["rev-parse", &first.branch]), first.commit_sha);
    assert_eq!(scene.origin.run(&["diff", "--name-status", "main", &first.branch]), "A\tcontent/docs/new.md");
    assert_eq!(scene.origin.run(&["show", "-s", "--format=%an %cI", &first.branch]), "codeyard 2026-01-20T10:00:00Z");
    assert_eq!(scene.origin.run(&["status", "--short", "--branch"]), before);
    assert!(!scene.origin.path().join("hooked").exists() && !scene.origin.path().join(".git/hooked").exists());

    assert_eq!(scene.publish_as(&run).unwrap(), first, "again: the same branch");
    let second = scene.publish_as(&RunId::new(0, 2)).unwrap();
    assert_eq!(second.commit_sha, first.commit_sha, "equal working copies make equal commits");

    fs::write(scene.site().join("content/docs/new.md"), "changed\n").unwrap();
    let refused = scene.publish_as(&run).unwrap_err();
    assert_eq!((refused.code, &refused.details["reason"]), ("COMMIT_SERVICE_ERROR", &json!("branch_exists")));
}

#[test]
fn programs_that_the_configuration_of_the_site_names_do_not_run() {
    let scene = Scene::new();
    let ran = scene.top().join("ran");
    let other = TestRepository::new(&scene.top().join("other"));
    other.commit(&[("f", b"f\n")], "2026-01-10T10:00:00Z");
    let alternates = scene.origin.path().join(".git/objects/info/alternates");
    fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    fs::write(&alternates, format!("{}\n", other.path().join(".git/objects").display())).unwrap();
    let program = format!("touch '{}'; true", ran.display());
    for name in ["core.alternateRefsCommand", "core.fsmonitor", "core.sshCommand", "gc.recentObjectsHook"] {
        scene.origin.run(&["config", name, &program]);
    }
    assert!(scene.publish_as(&RunId::new(0, 1)).is_ok());
    assert!(!ran.exists());
}

#[test]
fn what_is_not_allowed_is_not_published() {
    let scene = Scene::new();
    fs::write(scene.site().join("hugo.toml"), "evil = 1\n").unwrap();
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!((refused.code, &refused.details["paths"]), ("ALLOWED_PATHS_VIOLATION", &json!(["hugo.toml"])));
    assert_eq!(scene.origin.run(&["branch", "--list", "launch/*"]), "");
    fs::remove_file(scene.site().join("hugo.toml")).unwrap();
    fs::remove_dir_all(scene.site().join("content/docs")).unwrap();
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!(refused.details["reason"], "nothing_to_publish");
}

#[test]
fn a_repository_that_can_not_be_written_is_a_retryable_error_without_its_path() {
    let mut scene = Scene::new();
    // A branch that leaves no place for the run's.
    scene.origin.run(&["branch", "launch"]);
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!((refused.code, &refused.details["reason"]), ("COMMIT_SERVICE_ERROR", &json!("push_failed")));
    assert!(!refused.message.contains("receive-pack"), "{refused:?}");
    scene.origin.run(&["branch", "-D", "launch"]);
    let hidden = scene.top().join("moved");
    fs::rename(scene.origin.path(), &hidden).unwrap();
    fs::create_dir(scene.origin.path()).unwrap();
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!((refused.code, refused.retryable), ("COMMIT_SERVICE_ERROR", true), "{refused:?}");
    fs::remove_dir(scene.origin.path()).unwrap();
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!((refused.code, &refused.details["reason"]), ("COMMIT_SERVICE_ERROR", &json!("repository_not_found")));
    scene.config = config("https://github.com/example/site", |_| ());
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!((refused.code, &refused.details["reason"]), ("COMMIT_SERVICE_ERROR", &json!("source_not_allowed")));
}

#[test]
fn only_services_that_the_operator_lists_may_be_used() {
    let with = |service: Value| config("file:///srv/site.git", |value| value["commit_service"] = service);
    let settings = settings();
    for (url, name) in [
        ("https://api.github.com", None),
        ("https://api.github.com", Some("GITHUB_TOKEN")),
        ("http://127.0.0.1:9/x/y", None),
    ] {
        assert!(settings.allowed(url, name, "COMMIT_SERVICE_ERROR").is_ok(), "{url}");
    }
    assert_eq!(settings.check(&with(json!({"kind": "github"}))), Ok(()));
    for service in [
        json!({"kind": "github", "token_env": "AWS_SECRET_ACCESS_KEY"}),
        json!({"kind": "http", "base_url": "http://127.0.0.1:9/xy"}),
        json!({"kind": "http", "base_url": "http://127.0.0.1:9/x", "token_env": "GITHUB_TOKEN"}),
        json!({"kind": "http", "base_url": "https://api.github.com.evil.example"}),
        json!({"kind": "http", "base_url": "https://api.github.com@evil.example"}),
        json!({"kind": "http", "base_url": "http://127.0.0.1:9/x/../y"}),
        json!({"kind": "http", "base_url": "http://127.0.0.1:9/x/%2e%2E/y"}),
        json!({"kind": "http", "base_url": "http://127.0.0.1:9/x/.%2e/y"}),
    ] {
        let refused = settings.check(&with(service.clone())).unwrap_err();
        assert_eq!(
            (refused.code, &refused.details["reason"]),
            ("COMMIT_SERVICE_ERROR", &json!("service_not_allowed")),
            "{service}"
        );
    }
    let writer = config("file:///srv/site.git", |value| {
        value["writer"] = json!({"kind": "openai", "base_url": "https://evil.example/v1", "model": "m", "api_key_env": "GITHUB_TOKEN"});
    });
    assert_eq!(settings.check(&writer).unwrap_err().details["reason"], "service_not_allowed");
}
