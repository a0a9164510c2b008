//! Servers that start or index: no partial answer is served, and errors name the awaited step.

use std::time::Duration;

use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

const INDEXES: &str = "readiness.progress = [\"index\"]\nreadiness.expect_within_ms = 200";

fn capable(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
}

/// A server that finds nothing while it indexes.
fn indexing(site: &Site, ms: u64) -> FakeServer {
    capable(site).on(
        "initialized",
        [progress_begin("index", "Indexing"), progress_report("index", 37), wait_ms(ms), progress_end("index")],
    )
}

#[test]
fn a_start_within_the_deadline_is_awaited() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site)
            .on("initialize", [wait_ms(1_500), reply(json!({"capabilities": {"definitionProvider": true}}))]);
        let yard = Plan::one(site, fake.launcher()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(called.summary(), "Found 1 definition.");
        called.took_about(1_500);
    });
}

/// Delays the watcher's walk, which runs after this many other blocking tasks; those take no time.
fn walking_for(ms: u64, others: usize) -> codeyard_base::blocking::OnThisThread {
    let begun = std::cell::Cell::new(0);
    let pace = move || {
        let turn = begun.replace(begun.get() + 1);
        if turn == others { Duration::from_millis(ms) } else { Duration::ZERO }
    };
    codeyard_base::blocking::on_this_thread(pace)
}

#[test]
fn a_server_starts_and_answers_during_the_first_walk() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site)
            .on("initialize", [wait_ms(800), reply(json!({"capabilities": {"definitionProvider": true}}))])
            .launcher();
        let yard = Plan::one(site, fake.clone()).at_once().open().await;
        // The path checks of both calls come before it.
        let _walk = walking_for(1_000, 2);
        let ask = || yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        let first = ask();
        let second = ask();
        fake.wait_for("textDocument/definition", 1).await;
        for called in [first.await.unwrap(), second.await.unwrap()] {
            assert_eq!(called.summary(), "Found 1 definition.");
            called.took_about(1_000);
        }
        ask().await.unwrap().ok();
        assert_eq!(fake.record().count("textDocument/definition"), 1, "shared, and retained");
    });
}

/// Waits until file timestamps are later than now: their clock has coarse ticks.
fn until_stamps_are_later() {
    let now = std::time::SystemTime::now();
    let stamp = || tempfile::NamedTempFile::new().unwrap().as_file().metadata().unwrap().modified().unwrap();
    while stamp() <= now {}
}

#[test]
fn changes_during_the_walk_are_in_the_answer() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "a\n"), ("b.fake", "b\n")]);
        let fake = capable(&site).launcher();
        let yard = Plan::one(site, fake.clone()).at_once().open().await;
        let _walk = walking_for(1_000, 1);
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        until_stamps_are_later();
        yard.site().write("b.fake", "longer\n");
        call.await.unwrap().ok();
        assert_eq!(fake.record().count("textDocument/definition"), 2, "the first answer may have been of another text");
    });
}

#[test]
fn a_list_with_more_pages_waits_for_the_walk_and_its_cursor_holds() {
    paused(|| async {
        let site = Site::usual();
        let all: Vec<_> = (0..3).map(|line| site.location("a.fake", line)).collect();
        let fake = FakeServer::new()
            .capabilities(json!({"referencesProvider": true, "textDocumentSync": 1}))
            .answer("textDocument/references", json!(all))
            .launcher();
        let yard = Plan::one(site, fake).at_once().open().await;
        let _walk = walking_for(1_000, 1);
        let mut arguments = yard.site().at("a.fake", 0, 0);
        arguments["pageSize"] = 2.into();
        let called = yard.call(REFERENCES, arguments.clone()).await;
        called.took_about(1_000);
        arguments["cursor"] = called.ok()["nextCursor"].clone();
        let rest = yard.call(REFERENCES, arguments).await.ok();
        assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_server_with_anchor_files_starts_once_the_walk_found_them() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let entry = Entry::new("fake", fake.clone()).entry("quirks.anchor = true");
        let yard = Plan::new(site).kind(entry).at_once().open().await;
        let _walk = walking_for(1_000, 1);
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        called.ok();
        called.took_about(1_000);
        assert_eq!(fake.launches(), 1);
    });
}

#[test]
fn changes_during_a_start_are_sent_once_the_server_registers_its_patterns() {
    paused(|| async {
        let site = Site::usual();
        let watchers = json!({"watchers": [{"globPattern": "**/*.fake"}]});
        let fake = capable(&site)
            .on("initialize", [wait_ms(500), reply(json!({"capabilities": {"definitionProvider": true}}))])
            .on(
                "initialized",
                [
                    wait_ms(300),
                    register("watch", "workspace/didChangeWatchedFiles", watchers.clone()),
                    register("again", "workspace/didChangeWatchedFiles", watchers),
                ],
            )
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("initialize", 1).await;
        yard.site().write("b.fake", "new\n");
        // The query detects the change before the server is ready.
        yard.call(DEFINITION, yard.site().at("b.fake", 0, 0)).await.ok();
        call.await.unwrap().ok();
        pass(400).await;
        let changes = || {
            let notifications = fake.record().params("workspace/didChangeWatchedFiles");
            notifications.iter().map(|params| params["changes"].clone()).collect::<Vec<_>>()
        };
        let created = json!([{"uri": yard.site().uri("b.fake"), "type": 1}]);
        assert_eq!(changes(), std::slice::from_ref(&created), "once, although it registered twice");
        yard.site().write("b.fake", "changed\n");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        let changed = json!([{"uri": yard.site().uri("b.fake"), "type": 2}]);
        assert_eq!(changes(), [created, changed], "a later change isn't taken for the first");
    });
}

#[test]
fn a_server_that_registers_late_is_notified_by_the_globs_of_its_entry() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let entry = Entry::new("fake", fake.clone()).entry("quirks.watched_from_start = [\"**/*.json\"]");
        let yard = Plan::new(site).kind(entry).open().await;
        let ask = || async { yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok() };
        ask().await;
        yard.site().write("fake.json", "{}");
        yard.site().write("other.txt", "");
        ask().await;
        let notifications = fake.record().params("workspace/didChangeWatchedFiles");
        assert_eq!(notifications, [json!({"changes": [{"uri": yard.site().uri("fake.json"), "type": 1}]})]);
    });
}

#[test]
fn a_longer_start_is_reported_and_continues_without_callers() {
    paused(|| async {
        let site = Site::usual();
        let steps = [wait_ms(10_000), reply(json!({"capabilities": {"definitionProvider": true}}))];
        let fake = capable(&site).on("initialize", steps).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        for _ in 0..3 {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("starting");
        }
        pass(4_100).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.launches(), 1);
        assert_eq!(fake.record().count("textDocument/definition"), 1, "a server that isn't ready gets no request");
    });
}

#[test]
fn indexing_within_the_deadline_is_awaited() {
    paused(|| async {
        let site = Site::usual();
        let fake = indexing(&site, 1_000).launcher();
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(INDEXES)).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        called.ok();
        called.took_about(1_000);
    });
}

#[test]
fn longer_indexing_is_reported_with_the_server_progress() {
    paused(|| async {
        let site = Site::usual();
        let fake = indexing(&site, 9_000).launcher();
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(INDEXES)).open().await;
        let details = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("indexing");
        assert!(details["progress"].as_str().unwrap().contains("37%"), "{details}");
        pass(7_100).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 1);
    });
}

#[test]
fn a_server_that_ignores_early_opens_receives_documents_when_it_is_ready() {
    for (quirk, early) in [("", 1), ("quirks.ignores_early_opens = true", 0)] {
        paused(|| async {
            let site = Site::usual();
            let fake = indexing(&site, 9_000).launcher();
            let entry = Entry::new("fake", fake.clone()).entry(INDEXES).entry(quirk);
            let yard = Plan::new(site).kind(entry).open().await;
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("indexing");
            assert_eq!(fake.record().count("textDocument/didOpen"), early, "{quirk}");
            pass(7_100).await;
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            assert_eq!(fake.record().count("textDocument/didOpen"), 1, "{quirk}");
        });
    }
}

#[test]
fn a_registration_may_say_that_a_server_is_ready() {
    paused(|| async {
        let site = Site::usual();
        let registration = json!({"registrations": [{"id": "1", "method": "textDocument/hover"}]});
        let fake =
            capable(&site).on("initialized", [wait_ms(500), ask("client/registerCapability", registration)]).launcher();
        let rule = "readiness.method = \"client/registerCapability\"";
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(rule)).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        called.ok();
        called.took_about(500);
    });
}

#[test]
fn operations_that_a_server_registers_after_its_start_are_awaited() {
    paused(|| async {
        let register = |method: &str| {
            let registration = json!({"registrations": [{"id": method, "method": method}]});
            ask("client/registerCapability", registration)
        };
        for (capabilities, wait, expected) in [
            (json!({"textDocumentSync": 1}), 200, Some(200)),
            (json!({"textDocumentSync": 1}), 900, Some(900)),
            (json!({"textDocumentSync": 1, "hoverProvider": true}), 200, Some(200)),
            (json!({"textDocumentSync": 1, "hoverProvider": true}), 1_000, None),
        ] {
            let site = Site::usual();
            let fake = capable(&site)
                .capabilities(capabilities.clone())
                .on("initialized", [wait_ms(wait), register("textDocument/definition")]);
            let yard = Plan::one(site, fake.launcher()).open().await;
            let ask = || yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
            let first = ask().await;
            match expected {
                Some(ms) => {
                    assert_eq!(first.summary(), "Found 1 definition.", "{capabilities}");
                    first.took_about(ms);
                }
                None => {
                    first.took_about(300);
                    first.failed_as("PROVIDER_UNAVAILABLE", "unsupported");
                    pass(800).await;
                    assert_eq!(ask().await.summary(), "Found 1 definition.", "it counts from then on");
                }
            }
        }
    });
}

#[test]
fn a_server_that_loads_on_the_first_open_receives_a_document_at_once() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site)
            .on(
                "initialize",
                [wait_ms(300), reply(json!({"capabilities": {"definitionProvider": true, "textDocumentSync": 1}}))],
            )
            .on("textDocument/didOpen", [progress_begin("index", "x"), wait_ms(500), progress_end("index")])
            .launcher();
        let entry = Entry::new("fake", fake.clone()).entry(INDEXES).entry("readiness.after_open = true");
        let yard = Plan::new(site).kind(entry).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        called.ok();
        called.took_about(800);
    });
}

#[test]
fn an_answer_of_a_server_that_resumed_indexing_is_not_served() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site)
            .on_nth("textDocument/definition", 1, [progress_begin("index", "again"), reply(json!([]))])
            .launcher();
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(INDEXES)).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        pass(300).await;
        fake.push([progress_end("index")]);
        let called = call.await.unwrap();
        assert_eq!(called.summary(), "Found 1 definition.");
        called.took_about(500);
    });
}

#[test]
fn becoming_ready_again_drops_snapshots() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).entry(INDEXES)).open().await;
        let ask = || yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
        ask().await.ok();
        ask().await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 1, "the second is answered from what is retained");
        assert_eq!(yard.counts.retained_hits(), 1);
        let before = yard.epochs().await;
        fake.push([progress_begin("index", "again"), progress_end("index")]);
        pass(10).await;
        let after = yard.epochs().await;
        assert!(after[1] > before[1] && after[3] > before[3] && after[0] == before[0] && after[2] == before[2]);
        ask().await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 2);
    });
}

#[test]
fn a_refresh_drops_snapshots() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        fake.push([ask("workspace/diagnostic/refresh", json!(null))]);
        pass(10).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 2);
    });
}

#[test]
fn a_restart_drops_snapshots() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable(&site).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        fake.crash();
        pass(1_000).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 2);
    });
}
