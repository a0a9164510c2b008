//! Publications to services that work, fail, answer late, twice or not at all.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use codeyard_test_support::commit_service::{Fault, Forge};

/// A variable that cargo sets for every test, and the token that it stands for.
const TOKEN_VARIABLE: &str = "CARGO_PKG_NAME";
const TOKEN: &str = env!("CARGO_PKG_NAME");
const KINDS: [&str; 2] = ["github", "http"];

/// A scene whose site is published by a service.
struct Published {
    scene: Scene,
    forge: Forge,
    run: RunId,
}

impl Published {
    fn new(kind: &str) -> Self {
        let mut scene = Scene::new();
        fs::remove_file(scene.site().join("content/b.md")).unwrap();
        fs::write(scene.site().join("content/logo.bin"), [0, 159, 146, 150]).unwrap();
        let forge = Forge::of(scene.origin.path(), |_, _| None);
        scene.config = config("https://forge.example/acme/site.git", |value| {
            value["commit_service"] = json!({"kind": kind, "base_url": forge.base_url(), "token_env": TOKEN_VARIABLE});
        });
        Self { scene, forge, run: RunId::new(0, 1) }
    }

    fn publish_until(&self, stop: &StopFlag) -> Result<PullRequest, StageError> {
        self.publish_with(settings(), stop)
    }

    /// With this time for each request.
    fn publish_within(&self, limit: Duration) -> Result<PullRequest, StageError> {
        self.publish_with(PublicationSettings { request_limit: limit, ..settings() }, &StopFlag::default())
    }

    fn publish_with(&self, mut settings: PublicationSettings, stop: &StopFlag) -> Result<PullRequest, StageError> {
        let service = AllowedService { base_url: self.forge.base_url(), token_env: Some(TOKEN_VARIABLE.into()) };
        settings.services.push(service);
        self.scene.publish_with(&self.run, &settings, stop)
    }

    fn publish(&self) -> Result<PullRequest, StageError> {
        self.publish_until(&StopFlag::default())
    }

    /// Checks that there is exactly what was published.
    fn check(&self, published: &PullRequest, what: &str) {
        let origin = &self.scene.origin;
        assert_eq!(
            origin.run(&["branch", "--list", "--format=%(refname:short)", "launch/*"]),
            published.branch,
            "{what}"
        );
        assert_eq!(origin.run(&["rev-parse", &published.branch]), published.commit_sha, "{what}");
        let pulls = self.forge.pulls();
        assert_eq!((pulls.len(), &pulls[0]["html_url"]), (1, &json!(published.pr_url)), "{what}");
        let changes = origin.run(&["diff", "--name-status", "--no-renames", "main", &published.branch]);
        assert_eq!(changes, "D\tcontent/b.md\nA\tcontent/docs/new.md\nA\tcontent/logo.bin", "{what}");
    }

    fn clear(&self) {
        let branches = self.scene.origin.run(&["branch", "--list", "--format=%(refname:short)", "launch/*"]);
        for branch in branches.lines() {
            self.scene.origin.run(&["branch", "--quiet", "-D", branch]);
        }
        self.forge.forget();
    }
}

fn reason(error: &StageError) -> &str {
    assert_eq!(error.code, "COMMIT_SERVICE_ERROR", "{error:?}");
    assert!(!error.message.contains(TOKEN), "{error:?}");
    let reason = error.details["reason"].as_str().unwrap();
    let docs = include_str!("../../../../docs/internals/reference/commit-services.md");
    assert!(
        docs.contains(&format!("`{reason}`")),
        "docs/internals/reference/commit-services.md doesn't explain {reason}"
    );
    reason
}

#[test]
fn a_service_gets_one_commit_and_one_pull_request() {
    for kind in KINDS {
        let published = Published::new(kind);
        let first = published.publish().unwrap();
        published.check(&first, kind);
        assert_eq!((first.service.as_str(), first.base.as_str(), first.number), (kind, "main", Some(1)));
        let origin = &published.scene.origin;
        let shown = origin.run(&["show", "-s", "--format=%an %cI %s", &first.branch]);
        assert_eq!(shown, "codeyard 2026-01-20T10:00:00Z Add the pages of Tidy|*Pro* 1.2.0");
        assert_eq!(origin.run(&["show", &format!("{}:content/docs/new.md", first.branch)]), "new");
        assert_eq!(published.forge.pulls()[0]["body"], json!(first.body));
        let seen = published.forge.seen();
        assert!(seen.iter().all(|seen| seen.headers.contains(&format!("authorization: bearer {TOKEN}"))), "{seen:?}");
        published.forge.fails(|_, _| None);
        assert_eq!(published.publish().unwrap(), first, "{kind}: the same again");
        published.check(&first, kind);
    }
}

#[test]
fn a_fault_at_any_request_makes_no_second_commit_and_no_second_pull_request() {
    let busy = || Fault::Answer(503, "Retry-After: 3600\r\n", "<html>busy</html>".into());
    let passing: [fn() -> Fault; 4] = [|| Fault::LoseAnswer, || Fault::Close, || Fault::Twice, busy];
    for kind in KINDS {
        let published = Published::new(kind);
        let expected = published.publish().unwrap();
        let requests = published.forge.seen().len();
        assert!(requests >= 2);
        for (number, fault) in passing.iter().enumerate() {
            for at in 0..requests {
                let what = format!("{kind}: fault {number} at request {at}");
                published.clear();
                let fault = *fault;
                published.forge.fails(move |nth, _| (nth == at).then(fault));
                let again = published.publish().unwrap_or_else(|error| panic!("{what}: {error:?}"));
                let again = PullRequest { pr_url: expected.pr_url.clone(), ..again };
                assert_eq!(again, expected, "{what}");
                published.check(&again, &what);
            }
        }
        // All answers of a time are lost: what was begun is found the next time.
        for from in 0..requests {
            let what = format!("{kind}: nothing is answered from request {from} on");
            published.clear();
            published.forge.fails(move |nth, _| (nth >= from).then_some(Fault::LoseAnswer));
            let failed = published.publish().unwrap_err();
            assert_eq!((reason(&failed), failed.retryable), ("network", true), "{what}");
            published.forge.fails(|_, _| None);
            let again = published.publish().unwrap_or_else(|error| panic!("{what}: {error:?}"));
            published.check(&again, &what);
        }
    }
}

#[test]
fn a_service_that_refuses_is_named_with_its_reason_and_not_asked_again() {
    let said = |text: &str| json!({"message": format!("{text}\u{7} {TOKEN}")}).to_string();
    for kind in KINDS {
        let published = Published::new(kind);
        for (status, headers, body, expected, is_retryable) in [
            (500, "", said("oops"), "service_failed", true),
            (400, "", said("what?"), "refused", false),
            (401, "", said("no"), "unauthorized", false),
            (403, "", said("no"), "forbidden", false),
            (403, "X-RateLimit-Remaining: 0\r\n", said("slowly"), "rate_limited", true),
            (429, "", said("slowly"), "rate_limited", true),
            (409, "", said("busy"), "refused", false),
            (301, "Location: http://127.0.0.1:9/\r\n", String::new(), "redirected", false),
            (200, "", "<html>".into(), "unusable_answer", false),
            (200, "", format!("\"{}\"", "x".repeat(2 << 20)), "too_large", false),
        ] {
            let what = format!("{kind}: {status} {expected}");
            published.clear();
            let answer = Fault::Answer(status, headers, body);
            published.forge.fails(move |_, line| line.starts_with("POST").then(|| answer.clone()));
            let refused = published.publish().unwrap_err();
            assert_eq!((reason(&refused), refused.retryable), (expected, is_retryable), "{what}: {refused:?}");
            assert!(!refused.message.contains('\u{7}'), "{refused:?}");
            let posts = published.forge.seen().iter().filter(|seen| seen.line.starts_with("POST")).count();
            assert_eq!(posts, 1, "{what}");
        }
        published.clear();
        published.forge.fails(|_, _| Some(Fault::Answer(502, "", String::new())));
        let refused = published.publish().unwrap_err();
        assert_eq!((reason(&refused), published.forge.seen().len()), ("service_failed", 3), "{kind}: three tries");
    }
}

#[test]
fn answers_that_are_not_about_the_run_are_not_believed() {
    let commit = "a".repeat(40);
    for (line, body) in [
        ("POST /v1/commit", json!({"commit_sha": "main", "branch": "x"})),
        ("POST /v1/commit", json!({"commit_sha": commit, "branch": "main"})),
        ("POST /v1/open_pr", json!({"pr_url": "javascript:alert(1)"})),
        ("POST /v1/open_pr", json!({"pr_url": "https://me:secret@forge.example/1"})),
        ("POST /repos/acme/site/git/blobs", json!({"sha": commit})),
        ("POST /repos/acme/site/git/trees", json!({"sha": commit})),
        ("POST /repos/acme/site/pulls", json!({"html_url": "file:///etc/passwd"})),
        ("GET /repos/acme/site/pulls", json!({"no": "list"})),
    ] {
        let published = Published::new(if line.contains("/v1/") { "http" } else { "github" });
        let body = body.to_string();
        published.forge.fails(move |_, seen| seen.starts_with(line).then(|| Fault::Answer(200, "", body.clone())));
        assert_eq!(reason(&published.publish().unwrap_err()), "unusable_answer", "{line}");
    }
}

#[test]
fn a_branch_with_another_commit_is_not_moved() {
    let published = Published::new("github");
    let first = published.publish().unwrap();
    published.scene.origin.run(&["branch", "--force", &first.branch, "main"]);
    let refused = published.publish().unwrap_err();
    assert_eq!(reason(&refused), "branch_exists");
    assert_eq!(
        published.scene.origin.run(&["rev-parse", &first.branch]),
        published.scene.origin.run(&["rev-parse", "main"])
    );
}

#[test]
fn a_pinned_site_is_published_to_the_default_branch_or_asks_for_one() {
    for (kind, expected) in [("github", Ok("main")), ("http", Err("no_base_branch"))] {
        let mut published = Published::new(kind);
        published.scene.checkout.branch = None;
        let outcome = published.publish();
        match expected {
            Ok(base) => assert_eq!(outcome.unwrap().base, base),
            Err(expected) => assert_eq!(reason(&outcome.unwrap_err()), expected),
        }
    }
}

#[test]
fn a_publication_that_is_stopped_ends_at_once() {
    for kind in KINDS {
        let published = Published::new(kind);
        let stop = StopFlag::default();
        let of_forge = stop.clone();
        published.forge.fails(move |_, _| Some(Fault::Hang(of_forge.clone())));
        assert_eq!(published.publish_until(&stop).unwrap_err().code, "CANCELLED", "{kind}");
    }
}

/// A time that a request which is answered stays below also on a busy machine.
const ENOUGH: Duration = Duration::from_secs(1);

/// Does `work` for each kind of request of each kind of service, all at once because most of the time they wait.
fn for_each_request(work: impl Fn(&Published, &PullRequest, &str) + Sync) {
    std::thread::scope(|scope| {
        for kind in KINDS {
            let published = Published::new(kind);
            let expected = published.publish().unwrap();
            let lines: std::collections::BTreeSet<String> =
                published.forge.seen().into_iter().map(|seen| seen.line).collect();
            assert_eq!(lines.len(), if kind == "github" { 7 } else { 2 }, "{lines:?}");
            for line in lines {
                let work = &work;
                let expected = expected.clone();
                scope.spawn(move || work(&Published::new(kind), &expected, &line));
            }
        }
    });
}

/// How often a request has come.
fn count(published: &Published, line: &str) -> usize {
    published.forge.seen().iter().filter(|seen| seen.line == line).count()
}

#[test]
fn a_service_that_never_answers_is_asked_three_times_for_as_long_as_the_settings_say() {
    for kind in KINDS {
        let published = Published::new(kind);
        published.forge.fails(|_, _| Some(Fault::Hang(StopFlag::default())));
        let failed = published.publish_within(Duration::from_millis(50)).unwrap_err();
        assert_eq!((reason(&failed), failed.retryable), ("timeout", true), "{kind}");
        assert_eq!(published.forge.seen().len(), 3, "{kind}");
    }
}

#[test]
fn a_service_that_does_not_answer_in_time_fails_the_publication_and_the_next_one_finds_what_was_done() {
    for_each_request(|published, expected, line| {
        let silent = line.to_owned();
        published.forge.fails(move |_, seen| (seen == silent).then(|| Fault::Hang(StopFlag::default())));
        let failed = published.publish_within(ENOUGH).unwrap_err();
        assert_eq!((reason(&failed), failed.retryable), ("timeout", true), "{line}");
        assert_eq!(count(published, line), 3, "{line}: three tries");
        published.forge.fails(|_, _| None);
        let again = published.publish().unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!(again, *expected, "{line}");
        published.check(&again, line);
    });
}

#[test]
fn what_is_carried_out_and_answered_too_late_is_not_carried_out_again() {
    for_each_request(|published, expected, line| {
        // One answer comes too late: the same publication goes on.
        let late = line.to_owned();
        let was_late = AtomicBool::new(false);
        published.forge.fails(move |_, seen| {
            (seen == late && !was_late.swap(true, Ordering::Relaxed)).then_some(Fault::AnswerTooLate)
        });
        let first = published.publish_within(ENOUGH).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!(first, *expected, "{line}");
        published.check(&first, line);
        // All of them do: what exists is found by a look at it, or the next time.
        published.clear();
        let late = line.to_owned();
        published.forge.fails(move |_, seen| (seen == late).then_some(Fault::AnswerTooLate));
        let outcome = published.publish_within(ENOUGH);
        if line.ends_with("/git/refs") || line.ends_with("/pulls") {
            assert_eq!((outcome.as_ref().ok(), count(published, line)), (Some(expected), 1), "{line}: {outcome:?}");
        } else {
            let failed = outcome.unwrap_err();
            assert_eq!((reason(&failed), failed.retryable), ("timeout", true), "{line}");
            assert_eq!(count(published, line), 3, "{line}");
        }
        published.forge.fails(|_, _| None);
        let again = published.publish().unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!(again, *expected, "{line}");
        published.check(&again, line);
    });
}

#[test]
fn a_service_without_its_token_or_its_program_is_a_clear_error() {
    let mut published = Published::new("github");
    let address = published.forge.base_url();
    let with = |name: &str| json!({"kind": "github", "base_url": address, "token_env": name});
    published.scene.config = config("https://forge.example/acme/site", |value| {
        value["commit_service"] = with("CODEYARD_TEST_NO_SUCH_VARIABLE")
    });
    assert_eq!(reason(&published.publish().unwrap_err()), "service_not_allowed");
    let mut settings = settings();
    let name = Some("CODEYARD_TEST_NO_SUCH_VARIABLE".to_owned());
    settings.services.push(AllowedService { base_url: published.forge.base_url(), token_env: name });
    let refused = published.scene.publish_with(&published.run, &settings, &StopFlag::default()).unwrap_err();
    assert_eq!(reason(&refused), "token_missing");
    assert!(published.forge.seen().is_empty(), "nothing is sent without the token");
    // Nobody listens.
    let closed = Published::new("http");
    let address = closed.forge.base_url();
    drop(std::net::TcpStream::connect(address.trim_start_matches("http://")));
    let refused = {
        let Published { scene, forge, run } = closed;
        let mut settings = super::settings();
        settings.services.push(AllowedService { base_url: forge.base_url(), token_env: Some(TOKEN_VARIABLE.into()) });
        drop(forge);
        scene.publish_with(&run, &settings, &StopFlag::default()).unwrap_err()
    };
    assert_eq!((reason(&refused), refused.retryable), ("network", true));
}

#[test]
fn a_working_copy_that_changes_more_files_than_its_budget_is_not_published() {
    let mut scene = Scene::new();
    scene.config =
        config(scene.origin.path().to_str().unwrap(), |value| value["budgets"] = json!({"max_files_changed": 2}));
    // After its last validation somebody has added a file and removed one.
    fs::write(scene.site().join("content/docs/more.md"), "more\n").unwrap();
    fs::remove_file(scene.site().join("content/b.md")).unwrap();
    let refused = scene.publish_as(&RunId::new(0, 1)).unwrap_err();
    assert_eq!((refused.code, refused.retryable), ("COMMIT_SERVICE_ERROR", false));
    assert_eq!(
        (&refused.details["reason"], &refused.details["budget"]),
        (&json!("budget"), &json!("max_files_changed"))
    );
    assert!(refused.message.contains("changes 3 files") && refused.message.ends_with("is 2"), "{}", refused.message);
    assert_eq!(scene.origin.run(&["branch", "--list", "launch/*"]), "");
    fs::remove_file(scene.site().join("content/docs/more.md")).unwrap();
    let published = scene.publish_as(&RunId::new(0, 1)).unwrap();
    assert_eq!(scene.origin.run(&["rev-parse", &published.branch]), published.commit_sha);
}
