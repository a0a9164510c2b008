//! Language servers that handle several project roots in one process: projects that join and leave, their anchors and settings, and the
//! separation of the projects when the process crashes too often.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

const DEFINE: &str = "textDocument/definition";
const FOLDERS: &str = "workspace/didChangeWorkspaceFolders";
const MARKED: &str = "root = { markers = [\"mark.json\"], pick = \"nearest\" }\n";

/// Two projects, `a` and `b`, and a file that belongs to neither.
fn site() -> Site {
    let files = [
        ("a/mark.json", "{}"),
        ("a/x.fake", "one\n"),
        ("b/mark.json", "{}"),
        ("b/x.fake", "two\n"),
        ("x.fake", "top\n"),
    ];
    Site::new(&files)
}

fn capable(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({
            "definitionProvider": true,
            "textDocumentSync": 1,
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": "folders"}},
        }))
        .answer(DEFINE, json!([site.location("x.fake", 0)]))
}

async fn open(site: Site, fake: &Arc<FakeLauncher>, entry: &str) -> Yard {
    let kind = Entry::new("fake", fake.clone()).entry(&format!("{MARKED}{entry}"));
    Plan::new(site).kind(kind).open().await
}

const WITH_FOLDERS: &str = "multi_root = \"workspace-folders\"";
const BY_FILE: &str = "multi_root = \"by-file\"\nquirks.anchor = true\nquirks.open_set_matters = true";

async fn define(yard: &Yard, file: &str) {
    yard.call(DEFINITION, yard.site().at(file, 0, 0)).await.ok();
}

/// The folders in a list of the protocol, relative to the site.
fn names(yard: &Yard, folders: &Value) -> Vec<String> {
    let root = yard.site().uri("");
    let folders = folders.as_array().expect("folders").iter();
    folders.map(|folder| folder["uri"].as_str().expect("a URI").strip_prefix(&root).unwrap_or(".").into()).collect()
}

/// The folders that joined and left, by notification.
fn changes(yard: &Yard, fake: &FakeLauncher) -> Vec<(Vec<String>, Vec<String>)> {
    let events = fake.record().params(FOLDERS);
    let event = |params: &Value| (names(yard, &params["event"]["added"]), names(yard, &params["event"]["removed"]));
    events.iter().map(event).collect()
}

/// The paths of the opened documents, relative to the site.
fn opened(yard: &Yard, fake: &FakeLauncher) -> Vec<String> {
    let root = yard.site().uri("");
    let uri = |params: &Value| params["textDocument"]["uri"].as_str().expect("a URI").replacen(&root, "", 1);
    fake.record().params("textDocument/didOpen").iter().map(uri).collect()
}

/// The folders that the nth process was launched with.
fn initial(yard: &Yard, fake: &FakeLauncher, launch: usize) -> Vec<String> {
    names(yard, &fake.record().params("initialize")[launch]["workspaceFolders"])
}

#[test]
fn one_process_handles_all_projects_and_learns_each_before_its_first_document() {
    paused(|| async {
        let site = site();
        let fake = capable(&site).launcher();
        let yard = open(site, &fake, WITH_FOLDERS).await;
        for file in ["a/x.fake", "b/x.fake", "x.fake", "a/x.fake", "b/x.fake"] {
            define(&yard, file).await;
        }
        assert_eq!(fake.launches(), 1);
        let cwd: Vec<PathBuf> = fake.specs().into_iter().map(|spec| spec.cwd).collect();
        assert_eq!(cwd, [yard.site().root.clone()], "it runs at the workspace's root");
        assert_eq!(initial(&yard, &fake, 0), ["a"]);
        let joined = |name: &str| (vec![name.to_owned()], vec![]);
        assert_eq!(changes(&yard, &fake), [joined("b"), joined(".")]);
        let is_sync = |method: &String| [FOLDERS, "textDocument/didOpen"].contains(&method.as_str());
        let order: Vec<String> = fake.record().methods().into_iter().filter(is_sync).collect();
        let open = "textDocument/didOpen";
        assert_eq!(order, [open, FOLDERS, open, FOLDERS, open], "a folder comes before its document");
        assert_eq!(yard.health().await[0].servers.len(), 1);
    });
}

#[test]
fn a_query_about_the_workspace_starts_with_all_projects() {
    paused(|| async {
        let site = site();
        let fake = capable(&site).launcher();
        let fake_symbols = json!({"workspaceSymbolProvider": true, "textDocumentSync": 1});
        let all = FakeServer::new().capabilities(fake_symbols).answer("workspace/symbol", json!([])).launcher();
        let yard = open(site, &all, WITH_FOLDERS).await;
        yard.call(WORKSPACE_SYMBOLS, json!({"query": "one"})).await.ok();
        assert_eq!((all.launches(), initial(&yard, &all, 0)), (1, vec![".".into(), "a".into(), "b".into()]));
        assert_eq!((all.record().count("workspace/symbol"), fake.launches()), (1, 0));
    });
}

#[test]
fn a_new_project_joins_the_running_server_and_a_deleted_one_leaves_it() {
    paused(|| async {
        let site = site();
        let fake = capable(&site).launcher();
        let yard = open(site, &fake, WITH_FOLDERS).await;
        define(&yard, "a/x.fake").await;
        define(&yard, "b/x.fake").await;
        yard.site().write("c/d/mark.json", "{}");
        yard.site().write("c/d/x.fake", "three\n");
        define(&yard, "c/d/x.fake").await;
        assert_eq!(changes(&yard, &fake).last(), Some(&(vec!["c/d".into()], vec![])));
        // The file stays, and belongs to the workspace's root from now on.
        yard.site().remove("b/mark.json");
        define(&yard, "b/x.fake").await;
        let removed: Vec<String> = changes(&yard, &fake).into_iter().flat_map(|(_, removed)| removed).collect();
        assert_eq!(removed, ["b"]);
        let added: Vec<String> = changes(&yard, &fake).into_iter().flat_map(|(added, _)| added).collect();
        assert_eq!((added, fake.launches()), (vec!["b".into(), "c/d".into(), ".".into()], 1));
    });
}

#[test]
fn a_process_that_accepts_no_folder_changes_is_restarted_with_all_of_them() {
    paused(|| async {
        let site = site();
        let capabilities = json!({"definitionProvider": true, "textDocumentSync": 1,
            "workspace": {"workspaceFolders": {"supported": true}}});
        let fake = capable(&site).capabilities(capabilities).launcher();
        let yard = open(site, &fake, WITH_FOLDERS).await;
        define(&yard, "a/x.fake").await;
        define(&yard, "b/x.fake").await;
        define(&yard, "a/x.fake").await;
        assert_eq!(fake.record().count(FOLDERS), 0);
        assert_eq!((fake.launches(), initial(&yard, &fake, 1)), (2, vec!["a".into(), "b".into()]));
        assert_eq!(yard.counts.restarts().get("configuration_changed"), Some(&1), "it is no failure");
    });
}

#[test]
fn a_restarted_process_starts_with_the_projects_of_the_one_before() {
    paused(|| async {
        let site = site();
        let fake = capable(&site).launcher();
        let yard = open(site, &fake, WITH_FOLDERS).await;
        define(&yard, "a/x.fake").await;
        define(&yard, "b/x.fake").await;
        fake.crash();
        fake.wait_for("initialize", 2).await;
        assert_eq!(initial(&yard, &fake, 1), ["a", "b"]);
        define(&yard, "x.fake").await;
        assert_eq!(changes(&yard, &fake).last(), Some(&(vec![".".into()], vec![])));
    });
}

#[test]
fn a_server_that_finds_projects_by_itself_has_the_anchors_of_all_whatever_was_asked_first() {
    for first in ["a/x.fake", "b/x.fake", "x.fake"] {
        paused(|| async move {
            let site = site();
            let fake = capable(&site).launcher();
            let yard = open(site, &fake, BY_FILE).await;
            define(&yard, first).await;
            assert_eq!(fake.launches(), 1);
            assert_eq!(initial(&yard, &fake, 0), ["."]);
            assert_eq!(opened(&yard, &fake), ["a/x.fake", "b/x.fake", "x.fake"], "after a query about {first}");
            yard.site().write("c/mark.json", "{}");
            yard.site().write("c/x.fake", "three\n");
            define(&yard, first).await;
            assert_eq!(opened(&yard, &fake).last().map(String::as_str), Some("c/x.fake"), "a new project's anchor");
            assert_eq!((fake.launches(), fake.record().count(FOLDERS)), (1, 0));
        });
    }
}

#[test]
fn a_server_isnt_ready_before_it_has_read_a_project_that_joined() {
    paused(|| async {
        let site = site();
        let read = || notify("window/logMessage", json!({"type": 3, "message": "Found 1 source file"}));
        let fake = capable(&site).on("initialized", [read()]).launcher();
        let entry = format!("{WITH_FOLDERS}\nreadiness = {{ log_message = \"source file\", limit_ms = 60000 }}");
        let yard = open(site, &fake, &entry).await;
        define(&yard, "a/x.fake").await;
        let second = yard.spawn(DEFINITION, yard.site().at("b/x.fake", 0, 0));
        fake.wait_for(FOLDERS, 1).await;
        pass(500).await;
        // The first question may be repeated: that its server became ready is news.
        let of_second = |params: &Value| params["textDocument"]["uri"] == yard.site().uri("b/x.fake");
        let asked = fake.record().params(DEFINE);
        assert!(!asked.iter().any(of_second), "it waits for the second project: {asked:?}");
        fake.push([read()]);
        second.await.expect("no panic").ok();
        assert!(fake.record().params(DEFINE).iter().any(of_second));
        assert_eq!(fake.launches(), 1);
    });
}

#[test]
fn settings_are_requested_by_project() {
    paused(|| async {
        let site = site();
        let item = |file: &str| json!({"section": "fake.root", "scopeUri": site.uri(file)});
        let items = json!({"items": [item("a/x.fake"), item("b"), item("x.fake"), {"section": "fake.root"}]});
        let fake = capable(&site).on(DEFINE, [ask("workspace/configuration", items), reply(json!([]))]).launcher();
        let entry = format!("{WITH_FOLDERS}\nsettings = {{ fake = {{ root = \"{{root}}\" }} }}");
        let yard = open(site, &fake, &entry).await;
        yard.call(WORKSPACE_SYMBOLS, json!({"query": "one"})).await;
        define(&yard, "a/x.fake").await;
        fake.record().wait_for_answers("workspace/configuration", 1).await;
        let root = |name: &str| yard.site().root.join(name).to_str().expect("a name").trim_end_matches('/').to_owned();
        let wanted = [root("a"), root("b"), root(""), root("")];
        assert_eq!(fake.record().answers("workspace/configuration")[0]["result"], json!(wanted));
    });
}

#[test]
fn projects_are_separated_when_their_process_crashes_too_often_and_joined_again_later() {
    paused(|| async {
        let site = site();
        let scripts = std::iter::repeat_n(capable(&site).on("initialize", [exit(1)]), 5).chain([capable(&site)]);
        let fake = FakeLauncher::sequence(scripts);
        let yard = open(site, &fake, WITH_FOLDERS).await;
        let calls = ["a/x.fake", "b/x.fake"].map(|file| yard.spawn(DEFINITION, yard.site().at(file, 0, 0)));
        for call in calls {
            call.await.expect("no panic").failed("PROVIDER_UNAVAILABLE");
        }
        while fake.launches() < 5 {
            pass(10).await;
        }
        pass(100).await;
        let cwds = || fake.specs().into_iter().map(|spec| spec.cwd).skip(5).collect::<Vec<_>>();
        let root = yard.site().root.clone();
        for file in ["a/x.fake", "b/x.fake", "x.fake"] {
            define(&yard, file).await;
        }
        assert_eq!(cwds(), [root.join("a"), root.join("b"), root.clone()], "one process for each project");
        assert_eq!((initial(&yard, &fake, 5), fake.alive()), (vec!["a".into()], 3));
        pass(301_000).await;
        assert_eq!(fake.alive(), 0, "the separate processes are stopped");
        for file in ["a/x.fake", "b/x.fake", "x.fake"] {
            define(&yard, file).await;
        }
        assert_eq!((cwds().last(), cwds().len(), fake.alive()), (Some(&root), 4, 1), "one process for all");
    });
}

#[test]
fn one_project_alone_is_quarantined_as_before() {
    paused(|| async {
        let site = site();
        let fake = capable(&site).on("initialize", [exit(1)]).launcher();
        let yard = open(site, &fake, WITH_FOLDERS).await;
        yard.call(DEFINITION, yard.site().at("a/x.fake", 0, 0)).await.failed("PROVIDER_UNAVAILABLE");
        while fake.launches() < 5 {
            pass(10).await;
        }
        pass(100).await;
        yard.call(DEFINITION, yard.site().at("a/x.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
        pass(10_000).await;
        assert_eq!(fake.launches(), 5);
    });
}
