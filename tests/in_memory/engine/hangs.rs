//! Servers that hang or misbehave: deadlines, cancellation, hang detection, garbage, floods, the stop sequence.

use serde_json::json;
use tokio::time::Instant;

use crate::engine::harness::*;
use crate::fake_server::*;

fn capable() -> FakeServer {
    FakeServer::new().capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
}

#[test]
fn the_deadline_ends_the_call_and_the_request_is_cancelled_once_nobody_asks_again() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never("textDocument/definition").launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        fake.wait_for("$/cancelRequest", 1).await;
        assert_eq!(fake.record().cancelled(), ["textDocument/definition"]);
        settle().await;
        assert_eq!(yard.health().await[0].servers[0].pending, 0, "no request is left");
        assert_eq!(fake.record().count("$/cancelRequest"), 1);
    });
}

#[test]
fn a_disconnected_client_cancels_the_server_request_at_once() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never("textDocument/definition").launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        let began = Instant::now();
        call.abort();
        fake.wait_for("$/cancelRequest", 1).await;
        near(began.elapsed(), 0);
        assert_eq!(yard.counts.cancels(), 1);
    });
}

#[test]
fn no_cancellation_is_sent_to_a_kind_without_support() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never("textDocument/definition").launcher();
        let kind = Entry::new("fake", fake.clone()).entry("quirks.no_cancel = [\"textDocument/definition\"]");
        let yard = Plan::new(site).kind(kind).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        pass(1_000).await;
        assert_eq!(fake.record().count("$/cancelRequest"), 0);
    });
}

/// What operators see of the only server: its condition, seconds since then, and why.
async fn condition(yard: &Yard) -> (&'static str, u64, String) {
    let health = yard.health().await;
    let found = &health[0].servers[0].condition;
    (found.name, found.since_s, found.why.clone())
}

#[test]
fn three_expired_requests_and_thirty_silent_seconds_restart_the_server() {
    paused(|| async {
        let site = Site::usual();
        let hung = capable().never("textDocument/definition");
        let well = capable().answer("textDocument/definition", json!([site.location("a.fake", 1)]));
        let fake = FakeLauncher::sequence([hung, well]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let began = Instant::now();
        for _ in 0..2 {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        }
        pass(60_000).await;
        assert_eq!(fake.launches(), 1, "two expired requests don't make it hung");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        while fake.launches() < 2 {
            pass(100).await;
        }
        assert!(began.elapsed().as_secs() <= 67);
        assert_eq!(fake.alive(), 1, "the hung one was killed");
        assert_eq!(yard.counts.restarts()["hung"], 1);
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn operators_see_that_a_server_is_busy_and_that_it_seems_to_hang() {
    paused(|| async {
        let fake = capable().never("textDocument/definition").launcher();
        let yard = Plan::one(Site::usual(), fake.clone()).open().await;
        for number in 0..3 {
            let call = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
            let look = async {
                pass(1_700).await;
                condition(&yard).await
            };
            let (call, (name, since_s, why)) = tokio::join!(call, look);
            call.timed_out("answering");
            // The later calls wait for the request of the first one.
            assert_eq!((name, why.as_str()), ("busy", "1 request in flight"), "call {number}");
            assert_eq!(since_s, 1 + 2 * number, "call {number}");
        }
        let mut seen = condition(&yard).await;
        while seen.0 == "ready" {
            pass(10).await;
            seen = condition(&yard).await;
        }
        assert_eq!((seen.0, seen.2.as_str()), ("hung", "3 requests expired since it last wrote anything"));
        assert!((5..30).contains(&seen.1), "since its last output: {}", seen.1);
        assert_eq!(fake.launches(), 1, "it is not restarted yet");
    });
}

#[test]
fn a_silent_server_that_works_is_not_hung_for_ten_minutes() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().works().never("textDocument/definition").launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        for _ in 0..3 {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        }
        pass(580_000).await;
        assert_eq!(fake.launches(), 1);
        pass(40_000).await;
        assert_eq!(fake.launches(), 2);
        assert_eq!(yard.counts.restarts()["hung"], 1);
    });
}

#[test]
fn silence_is_measured_from_the_last_byte() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never("textDocument/definition").launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        for _ in 0..3 {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        }
        for _ in 0..10 {
            pass(20_000).await;
            fake.push([notify("window/logMessage", json!({"type": 3, "message": "alive"}))]);
        }
        assert_eq!(fake.launches(), 1);
        pass(28_000).await;
        assert_eq!(fake.launches(), 1);
        pass(5_000).await;
        assert_eq!(fake.launches(), 2);
    });
}

#[test]
fn an_answer_resets_the_count_of_expired_requests() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never("textDocument/definition").answer("textDocument/hover", json!(null)).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        for _ in 0..2 {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        }
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        pass(120_000).await;
        assert_eq!(fake.launches(), 1);
    });
}

#[test]
fn indexing_progress_keeps_a_silent_server_alive_for_ten_minutes() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never("textDocument/definition").launcher();
        let kind = Entry::new("fake", fake.clone())
            .entry("readiness.progress = [\"index\"]")
            .entry("readiness.token_limit_ms = 3600000")
            .entry("readiness.limit_ms = 3600000");
        let yard = Plan::new(site).kind(kind).open().await;
        for _ in 0..3 {
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        }
        fake.push([progress_begin("index", "Indexing")]);
        pass(590_000).await;
        assert_eq!(fake.launches(), 1);
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("indexing");
        pass(15_000).await;
        assert_eq!(fake.launches(), 2);
    });
}

#[test]
fn initialize_times_out_after_a_minute() {
    paused(|| async {
        let site = Site::usual();
        let well = capable().answer("textDocument/definition", json!(null));
        let fake = FakeLauncher::sequence([capable().never("initialize"), well]);
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.timed_out("starting");
        pass(57_500).await;
        assert_eq!((fake.launches(), fake.alive()), (1, 1));
        pass(1_500).await;
        assert_eq!((fake.launches(), fake.alive()), (2, 1), "killed after 60 s, restarted after the back-off");
        assert_eq!(yard.counts.restarts()["start_failed"], 1);
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn garbage_on_the_wire_ends_the_server_but_not_the_service() {
    let cases: Vec<(&str, Vec<Step>)> = vec![
        ("much text", vec![raw(&b"Segmentation fault\r\n\r\n".repeat(50_000))]),
        ("a frame above the limit", vec![header_of(33 * 1024 * 1024)]),
        ("an endless header", vec![raw(format!("Content-Type: {}", "x".repeat(20_000)).as_bytes())]),
        ("a negative length", vec![raw(b"Content-Length: -1\r\n\r\n")]),
    ];
    for (name, steps) in cases {
        paused(|| async move {
            let site = Site::usual();
            let bad = capable().on("textDocument/definition", steps);
            let well = capable().answer("textDocument/definition", json!([site.location("a.fake", 1)]));
            let fake = FakeLauncher::sequence([bad, well]);
            let yard = Plan::one(site, fake.clone()).open().await;
            println!("{name}");
            let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
            assert_eq!(called.summary(), "Found 1 definition.", "{name}");
            assert_eq!((fake.launches(), fake.alive()), (2, 1), "{name}");
        });
    }
}

#[test]
fn malformed_answers_are_refused_and_the_server_keeps_running() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().answer("textDocument/definition", json!({"nonsense": 1})).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "server_error");
        assert_eq!(fake.launches(), 1);
    });
}

#[test]
fn a_notification_flood_loses_no_answer_and_delays_none_for_long() {
    paused(|| async {
        let site = Site::usual();
        let uri = site.uri("{n}.fake");
        let fake = capable()
            .on(
                "textDocument/definition",
                [
                    flood(20_000, "textDocument/publishDiagnostics", json!({"uri": uri, "diagnostics": []})),
                    reply(json!([site.location("a.fake", 1)])),
                ],
            )
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.launches(), 1);
    });
}

#[test]
fn requests_of_the_server_are_answered_while_it_answers_ours() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable()
            .on(
                "textDocument/definition",
                [
                    ask("workspace/configuration", json!({"items": [{"section": "x"}]})),
                    ask("workspace/applyEdit", json!({"edit": {}})),
                    reply(json!(null)),
                ],
            )
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        fake.record().wait_for_answers("workspace/configuration", 1).await;
        fake.record().wait_for_answers("workspace/applyEdit", 1).await;
        let refused = &fake.record().answers("workspace/applyEdit")[0];
        assert!(refused["error"].is_object() || refused["result"]["applied"] == false, "{refused}");
    });
}

#[test]
fn the_stop_sequence_ends_a_server_that_ignores_everything() {
    // (script, milliseconds until all processes have ended)
    let cases = [
        (capable(), 0),
        (capable().never("exit"), 500),
        (capable().never("shutdown").never("exit").ignores_closed_input(), 1_500),
        (capable().never("shutdown").never("exit").ignores_closed_input().ignores_terminate(), 2_000),
    ];
    for (script, ms) in cases {
        paused(|| async move {
            let site = Site::usual();
            let fake = script.answer("textDocument/definition", json!(null)).launcher();
            let yard = Plan::one(site, fake.clone()).open().await;
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            let began = Instant::now();
            yard.drain().await;
            near(began.elapsed(), ms);
            assert_eq!(fake.alive(), 0);
        });
    }
}

#[test]
fn an_idle_server_stops_after_fifteen_minutes_and_restarts_on_demand() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().answer("textDocument/definition", json!(null)).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        pass(898_000).await;
        assert_eq!(fake.alive(), 1);
        pass(4_000).await;
        assert_eq!(fake.alive(), 0);
        assert_eq!(fake.record().count("shutdown"), 1, "it is stopped in order");
        let health = yard.health().await.remove(0);
        let stopped: Vec<_> = health.stopped.iter().map(|server| (server.kind.as_str(), server.reason)).collect();
        assert_eq!((stopped, health.servers.len()), (vec![("fake", "idle")], 0));
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.failed("PROVIDER_UNAVAILABLE");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 1)).await.ok();
        assert_eq!((fake.launches(), fake.alive()), (2, 1));
        assert_eq!(yard.health().await[0].stopped, [], "it runs again");
    });
}
