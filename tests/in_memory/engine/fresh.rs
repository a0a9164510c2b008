//! After any change to a working tree or a branch, the next strict answer equals that of a new index, and until then the
//! metadata marks answers as not fresh. Runs through gateway and engine, on real trees, with a real git, in real time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::code::{ask, settled, until};
use crate::engine::harness::*;
use codeyard_test_support::git::git;

/// A timeout that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(60);

fn commit(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "-m", message]);
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn site() -> Site {
    Site::new(&[
        (
            "src/harbour.rs",
            "/// Where ships lie.\npub struct Harbour;\n\nimpl Harbour {\n    pub fn admit(&self) {}\n}\n",
        ),
        ("src/ship.py", "class Ship:\n    def sail(self):\n        return admit()\n"),
        ("notes.txt", "ships and harbours\n"),
        ("gen/made.rs", "pub fn admit_made() {}\n"),
    ])
}

/// Every line, ranked symbols, one name, one file.
fn questions(reference: Option<&str>) -> Vec<(&'static str, Value)> {
    let mut all = vec![
        ("search_code", json!({"query": "\\w", "mode": "regex", "limit": 200})),
        ("search_code", json!({"query": "admit", "ranking_explain_level": "full", "detail_level": "context"})),
        ("locate_symbol", json!({"name": "admit", "detail_level": "context"})),
        ("get_file_outline", json!({"path": "src/harbour.rs"})),
    ];
    for (_, arguments) in &mut all {
        if let Some(reference) = reference {
            arguments["ref"] = json!(reference);
        }
    }
    all
}

fn with_policy(arguments: &Value, policy: &str) -> Value {
    let mut arguments = arguments.clone();
    arguments["freshness_policy"] = json!(policy);
    arguments
}

/// Content of an answer without its metadata about the index.
fn shown(answer: &Value) -> Value {
    let mut shown = answer.clone();
    shown["metadata"] = json!({
        "ranking_reasons": answer["metadata"]["ranking_reasons"],
        "symbol_count": answer["metadata"]["symbol_count"],
        "code": answer["error"]["code"],
    });
    shown["error"] = Value::Null;
    shown
}

/// Answers of a new index of this tree.
async fn from_nothing(root: &Path, reference: Option<&str>) -> Vec<Value> {
    let roots = vec![root.to_owned()];
    let yard = Plan::new(Site::new(&[])).tune(move |config| config.workspaces[0].roots = roots).open().await;
    ask(&yard, "search_code", json!({"query": "x"})).await;
    settled(&yard).await;
    if let Some(reference) = reference {
        index(&yard, reference).await;
    }
    let mut answers = Vec::new();
    for (tool, arguments) in questions(reference) {
        answers.push(shown(&ask(&yard, tool, arguments).await));
    }
    yard.drain().await;
    answers
}

/// Indexes a branch and waits for the result.
async fn index(yard: &Yard, reference: &str) {
    let order = json!({"ref": reference});
    let begun = until(yard, "sync_repo", order, |answer| answer["job_id"].is_string()).await;
    let is_over = |answer: &Value| {
        let jobs = answer["recent_jobs"].as_array().unwrap();
        jobs.iter().any(|job| job["job_id"] == begun["job_id"] && job["status"] == "published")
    };
    until(yard, "index_status", json!({}), is_over).await;
}

/// Queries until the index is fresh: no wrong answer is marked fresh, and the first strict answers are correct.
async fn agrees(yard: &Yard, root: &Path, step: &str, shown_ref: &str) {
    // Query before the index can be fresh.
    let mut early = Vec::new();
    for (tool, arguments) in questions(None) {
        early.push(ask(yard, tool, with_policy(&arguments, "best_effort")).await);
    }
    let expected = from_nothing(root, None).await;
    for (answer, expected) in early.iter().zip(&expected) {
        let metadata = &answer["metadata"];
        assert_eq!(metadata["ref"], shown_ref, "{step}: {answer}");
        assert!(
            metadata["freshness_status"] != "fresh" || shown(answer) == *expected,
            "{step}: called fresh: {answer}"
        );
    }
    for ((tool, arguments), expected) in questions(None).into_iter().zip(&expected) {
        let strict = with_policy(&arguments, "strict");
        let query = async {
            loop {
                let answer = ask(yard, tool, strict.clone()).await;
                if answer["error"]["code"] != "index_stale" {
                    return answer;
                }
                assert_ne!(answer["metadata"]["freshness_status"], "fresh", "{step}: {answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains("sync_repo"), "{step}: {answer}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let answer = tokio::time::timeout(PATIENCE, query).await.unwrap_or_else(|_| panic!("{step}: always stale"));
        assert_eq!(answer["metadata"]["freshness_status"], "fresh", "{step}");
        assert_eq!(answer["metadata"]["ref"], shown_ref, "{step}");
        assert_eq!(shown(&answer), *expected, "{step}: {tool}");
    }
}

async fn opened(site: Site) -> (Yard, PathBuf) {
    let root = site.root.clone();
    let yard = Plan::new(site).open().await;
    ask(&yard, "search_code", json!({"query": "admit"})).await;
    settled(&yard).await;
    (yard, root)
}

/// A change of the working tree, and the ref of answers after it.
type Step = (&'static str, fn(&Path), &'static str);

async fn each(yard: &Yard, root: &Path, steps: &[Step]) {
    for (step, happens, reference) in steps {
        happens(root);
        agrees(yard, root, step, reference).await;
    }
}

#[test]
fn created_changed_and_deleted_files_are_seen_without_git() {
    let steps: [Step; 8] = [
        ("edit", |root| write(root, "src/ship.py", "def admit_none():\n    pass\n"), "live"),
        ("new file", |root| write(root, "src/deep/new.rs", "fn admit_new() {}\n"), "live"),
        ("deleted file", |root| std::fs::remove_file(root.join("notes.txt")).unwrap(), "live"),
        ("renamed folder", |root| std::fs::rename(root.join("src"), root.join("lib")).unwrap(), "live"),
        ("a .gitignore without effect", |root| write(root, ".gitignore", "gen/\n*.rs\n"), "live"),
        ("what it names changes", |root| write(root, "gen/made.rs", "pub fn admit() {}\n"), "live"),
        (".codeyardignore", |root| write(root, ".codeyardignore", "/lib/deep/\n"), "live"),
        ("it is gone", |root| std::fs::remove_file(root.join(".codeyardignore")).unwrap(), "live"),
    ];
    in_real_time(|| async move {
        let (yard, root) = opened(site()).await;
        each(&yard, &root, &steps).await;
        yard.drain().await;
    });
}

#[test]
fn the_index_follows_every_git_operation() {
    let steps: [Step; 18] = [
        ("commit", |root| write_and_commit(root, "src/ship.py", "def sail():\n    admit()\n"), "main"),
        ("edit", |root| write(root, "src/harbour.rs", "pub fn admit() {}\n"), "main"),
        ("stash", |root| drop(git(root, &["stash", "-q"])), "main"),
        ("stash pop", |root| drop(git(root, &["stash", "pop", "-q"])), "main"),
        ("new branch", |root| drop(git(root, &["checkout", "-q", "-b", "topic"])), "topic"),
        ("commit on it", |root| commit(root, "topic"), "topic"),
        ("another one", |root| write_and_commit(root, "src/tide.go", "package tide\n\nfunc Admit() {}\n"), "topic"),
        ("checkout", |root| drop(git(root, &["checkout", "-q", "main"])), "main"),
        ("main moves on", |root| write_and_commit(root, "src/quay.rs", "pub fn admit_quay() {}\n"), "main"),
        ("checkout back", |root| drop(git(root, &["checkout", "-q", "topic"])), "topic"),
        ("rebase", |root| drop(git(root, &["rebase", "-q", "main"])), "topic"),
        ("reset", |root| drop(git(root, &["reset", "-q", "--hard", "HEAD~1"])), "topic"),
        ("renamed branch", |root| drop(git(root, &["branch", "-m", "subject"])), "subject"),
        ("merge", |root| drop(git(root, &["merge", "-q", "--no-edit", "main"])), "subject"),
        ("ignored folder", |root| write(root, ".gitignore", "gen/\n"), "subject"),
        ("what is ignored changes", |root| write(root, "gen/made.rs", "fn admit() {}\n"), "subject"),
        ("info/exclude", |root| write(root, ".git/info/exclude", "/src/quay.rs\n"), "subject"),
        ("no repository any more", |root| std::fs::remove_dir_all(root.join(".git")).unwrap(), "live"),
    ];
    in_real_time(|| async move {
        let site = site();
        git(&site.root, &["init", "-q"]);
        commit(&site.root, "one");
        let (yard, root) = opened(site).await;
        each(&yard, &root, &steps).await;
        git(&root, &["init", "-q"]);
        agrees(&yard, &root, "a new repository", "main").await;
        yard.drain().await;
    });
}

fn write_and_commit(root: &Path, path: &str, text: &str) {
    write(root, path, text);
    git(root, &["add", path]);
    git(root, &["commit", "-q", "-m", path, "--", path]);
}

#[test]
fn a_new_worktree_and_a_detached_head_show_their_own_files() {
    in_real_time(|| async {
        let site = site();
        git(&site.root, &["init", "-q"]);
        commit(&site.root, "one");
        let (mut yard, root) = opened(site).await;
        let tree = yard.site().base().join("tree");
        git(&root, &["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
        write(&tree, "src/harbour.rs", "pub fn admit_here() {}\n");
        agrees(&yard, &root, "a worktree beside it", "main").await;
        yard.config.workspaces[0].roots = vec![tree.clone()];
        let yard = yard.reopen().await;
        ask(&yard, "search_code", json!({"query": "admit"})).await;
        settled(&yard).await;
        agrees(&yard, &tree, "the worktree", "side").await;
        write(&tree, "src/more.py", "def admit():\n    pass\n");
        agrees(&yard, &tree, "an edit in the worktree", "side").await;
        commit(&tree, "two");
        git(&tree, &["checkout", "-q", "--detach", "HEAD~1"]);
        let head = git(&tree, &["rev-parse", "HEAD"]);
        agrees(&yard, &tree, "a detached head", &head).await;
        yard.drain().await;
    });
}

#[test]
fn a_moved_branch_is_stale_and_a_deleted_one_is_refused() {
    in_real_time(|| async {
        let site = site();
        git(&site.root, &["init", "-q"]);
        commit(&site.root, "one");
        git(&site.root, &["branch", "topic"]);
        let (yard, root) = opened(site).await;
        index(&yard, "topic").await;
        let first = git(&root, &["rev-parse", "topic"]);
        let compare = |step: &'static str| {
            let yard = &yard;
            let root = &root;
            async move {
                let expected = from_nothing(root, Some("topic")).await;
                for ((tool, arguments), expected) in questions(Some("topic")).into_iter().zip(expected) {
                    let answer = ask(yard, tool, with_policy(&arguments, "strict")).await;
                    let said = (&answer["metadata"]["freshness_status"], &answer["metadata"]["ref"]);
                    assert_eq!(said, (&json!("fresh"), &json!("topic")), "{step}: {answer}");
                    assert_eq!(shown(&answer), expected, "{step}: {tool}");
                }
            }
        };
        compare("a branch").await;
        // The working tree doesn't affect it.
        write(&root, "src/harbour.rs", "pub fn admit_moved() {}\n");
        compare("a branch beside an edit").await;
        git(&root, &["checkout", "-q", "topic"]);
        commit(&root, "two");
        git(&root, &["checkout", "-q", "main"]);
        let second = git(&root, &["rev-parse", "topic"]);
        for (tool, arguments) in questions(Some("topic")) {
            let answer = ask(&yard, tool, with_policy(&arguments, "best_effort")).await;
            // A job of the working tree may be running.
            assert_ne!(answer["metadata"]["freshness_status"], "fresh", "{answer}");
            assert!(!answer.to_string().contains("admit_moved"), "it shows the commit that was indexed: {answer}");
            let refused = ask(&yard, tool, with_policy(&arguments, "strict")).await;
            let data = &refused["error"]["data"];
            assert_eq!(refused["error"]["code"], "index_stale", "{refused}");
            assert_eq!((&data["last_indexed_commit"], &data["current_head"]), (&json!(first), &json!(second)));
            assert!(refused["error"]["message"].as_str().unwrap().contains("sync_repo with ref 'topic'"), "{refused}");
        }
        index(&yard, "topic").await;
        compare("a branch that moved").await;
        git(&root, &["branch", "-q", "-D", "topic"]);
        for (tool, arguments) in questions(Some("topic")) {
            for policy in ["strict", "balanced", "best_effort"] {
                let refused = ask(&yard, tool, with_policy(&arguments, policy)).await;
                assert_eq!(refused["error"]["code"], "ref_not_indexed", "{tool} {policy}: {refused}");
                assert!(refused["error"]["message"].as_str().unwrap().contains("git branch --all"), "{refused}");
                assert_ne!(refused["metadata"]["freshness_status"], "fresh", "{refused}");
            }
        }
        let refused = ask(&yard, "index_status", json!({"ref": "topic"})).await;
        assert_eq!(refused["error"]["code"], "ref_not_indexed", "{refused}");
        // The index of its commit still exists, so a branch restored there is answered.
        let by_commit = ask(&yard, "search_code", json!({"query": "admit_moved", "mode": "text", "ref": second})).await;
        assert_eq!(by_commit["results"][0]["path"], "src/harbour.rs", "{by_commit}");
        git(&root, &["branch", "topic", &second]);
        compare("a branch that is there again").await;
        yard.drain().await;
    });
}
