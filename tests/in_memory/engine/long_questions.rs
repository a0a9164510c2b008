//! Questions that take a language server longer than a call waits: they go on, within bounds, and a later call gets the answer.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::engine::harness::*;
use crate::engine::lsp_tool;
use crate::fake_server::*;

const DEFINE: &str = "textDocument/definition";
const CANCEL: &str = "$/cancelRequest";
const GOES_ON: &str = "it works on the answer; ask the same question again";

fn capable() -> FakeServer {
    FakeServer::new().capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
}

/// A server whose definitions take this long.
fn slow(site: &Site, ms: u64) -> Arc<FakeLauncher> {
    capable().works().on(DEFINE, [wait_ms(ms), reply(json!([site.location("a.fake", 1)]))]).launcher()
}

async fn define(yard: &Yard, character: u32) -> Called {
    yard.call(DEFINITION, yard.site().at("a.fake", 0, character)).await
}

/// Asks as each answer advises until it isn't late. Returns the answer and the number of calls.
async fn ask_as_advised(yard: &Yard, arguments: &Value) -> (Called, usize) {
    for calls in 1..40 {
        let called = yard.call(DEFINITION, arguments.clone()).await;
        if called.is_answered() {
            return (called, calls);
        }
        let details = called.timed_out("answering");
        assert_eq!(details["progress"], GOES_ON);
        pass(details["retryAfterMs"].as_u64().unwrap()).await;
    }
    panic!("never answered");
}

#[test]
fn a_long_question_is_answered_by_the_same_call_later() {
    for (seconds, most) in [(3, 2), (7, 3), (30, 6), (100, 14)] {
        paused(move || async move {
            let site = Site::usual();
            let fake = slow(&site, seconds * 1_000);
            let yard = Plan::one(site, fake.clone()).open().await;
            let began = Instant::now();
            let (_, calls) = ask_as_advised(&yard, &yard.site().at("a.fake", 0, 0)).await;
            assert!((2..=most).contains(&calls), "{seconds} s: {calls} calls");
            assert!(began.elapsed().as_secs() <= seconds + 9, "{seconds} s: {:?}", began.elapsed());
            assert_eq!((fake.record().count(DEFINE), fake.record().count(CANCEL)), (1, 0), "{seconds} s");
        });
    }
}

#[test]
fn an_answer_that_comes_between_two_calls_is_retained() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 5_000);
        let yard = Plan::one(site, fake.clone()).open().await;
        define(&yard, 0).await.timed_out("answering");
        pass(10_000).await;
        let called = define(&yard, 0).await;
        called.ok();
        called.took_about(0);
        assert_eq!(yard.counts.retained_hits(), 1);
        assert_eq!(fake.record().count(DEFINE), 1);
    });
}

#[test]
fn a_long_question_is_answered_once_though_another_server_always_fails() {
    for seconds in [1, 3, 7] {
        paused(move || async move {
            const REFER: &str = "textDocument/references";
            let site = Site::new(&[("a.fake", "alpha\n"), ("page.other", "alpha\n")]);
            let capabilities = json!({"referencesProvider": true, "textDocumentSync": 1});
            let places = json!([site.location("a.fake", 0)]);
            let server = || FakeServer::new().capabilities(capabilities.clone());
            let slow = server().works().on(REFER, [wait_ms(seconds * 1_000), reply(places)]).launcher();
            let failing = server().on(REFER, [fail(-32603, "no")]).launcher();
            let entry = "uses = { languages = [\"fake\"], answers = true }";
            let plan = Plan::new(site).kind(Entry::new("fake", slow.clone()));
            let yard = plan.kind(Entry::new("pages", failing).other().entry(entry)).open().await;
            let at = yard.site().at("a.fake", 0, 0);
            for _ in 0..6 {
                // Calls that join another one's question get its answer, too.
                let (one, other) = tokio::join!(yard.call(REFERENCES, at.clone()), yard.call(REFERENCES, at.clone()));
                assert_eq!(one.is_answered(), other.is_answered());
                if one.is_answered() {
                    assert!(one.summary().contains("Passed over pages: server_error."), "{}", one.summary());
                    assert_eq!(slow.record().count(REFER), 1, "{seconds} s");
                    return;
                }
                pass(one.timed_out("answering")["retryAfterMs"].as_u64().unwrap()).await;
            }
            panic!("{seconds} s: never answered");
        });
    }
}

#[test]
fn the_error_says_that_the_work_goes_on_and_when_to_ask() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 60_000);
        let yard = Plan::one(site, fake.clone()).open().await;
        let answer = lsp_tool::at(&yard, "goToDefinition", 0, 0).await;
        let sentence =
            "The language server did not answer in time (it works on the answer; ask the same question again).";
        assert!(answer.text().contains(sentence) && answer.text().contains("Ask again in 2 s."), "{}", answer.text());
        let mut waits = vec![answer.timed_out("answering")["retryAfterMs"].as_u64().unwrap()];
        for _ in 0..3 {
            waits.push(
                lsp_tool::at(&yard, "goToDefinition", 0, 0).await.timed_out("answering")["retryAfterMs"]
                    .as_u64()
                    .unwrap(),
            );
        }
        let near = |(wait, expected): (&u64, u64)| wait.abs_diff(expected) < 50;
        assert!(waits.iter().zip([2_000, 4_000, 6_000, 8_000]).all(near), "{waits:?}");
    });
}

#[test]
fn a_question_that_nobody_asks_again_is_cancelled() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never(DEFINE).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        define(&yard, 0).await.timed_out("answering");
        pass(29_000).await;
        assert_eq!(fake.record().count(CANCEL), 0);
        pass(2_000).await;
        assert_eq!(fake.record().cancelled(), [DEFINE]);
        assert_eq!(yard.health().await[0].servers[0].pending, 0, "no request is left");
    });
}

#[test]
fn a_question_that_is_asked_again_and_again_ends_after_two_minutes() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().works().never(DEFINE).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let began = Instant::now();
        while fake.record().count(CANCEL) == 0 {
            define(&yard, 0).await.timed_out("answering");
            pass(5_000).await;
        }
        assert!((120..128).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        assert_eq!(fake.record().count(DEFINE), 1);
    });
}

#[test]
fn two_long_questions_of_a_server_go_on_and_the_third_ends() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha beta gamma\nx\n")]);
        let fake = capable().never(DEFINE).answer("textDocument/hover", json!({"contents": "h"})).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        define(&yard, 0).await.timed_out("answering");
        define(&yard, 6).await.timed_out("answering");
        let third = define(&yard, 11).await.timed_out("answering");
        assert_eq!(third["progress"], "it works on other long questions first");
        settle().await;
        assert_eq!(fake.record().count(CANCEL), 1, "the third ended with its call");
        let hover = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        hover.ok();
        hover.took_about(0);
        // The first of the two isn't asked again, so it makes room.
        pass(6_000).await;
        define(&yard, 6).await.timed_out("answering");
        let third = define(&yard, 11).await.timed_out("answering");
        assert_eq!(third["progress"], GOES_ON);
        settle().await;
        assert_eq!(fake.record().count(CANCEL), 2);
    });
}

#[test]
fn an_edit_ends_a_question_whose_answer_would_be_outdated() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable()
            .on_nth(DEFINE, 1, [until_cancelled(), fail(-32800, "cancelled")])
            .answer(DEFINE, json!([site.location("a.fake", 1)]))
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        define(&yard, 0).await.timed_out("answering");
        // An edit during the first walk is noticed only at its end.
        yard.walk().await;
        yard.site().write("a.fake", "alpha\nbeta edited\ngamma\n");
        pass(1_000).await;
        define(&yard, 0).await.ok();
        settle().await;
        assert_eq!(fake.record().cancelled(), [DEFINE]);
        assert_eq!(fake.record().count(DEFINE), 2);
    });
}

#[test]
fn a_client_that_leaves_before_its_deadline_ends_the_question() {
    paused(|| async {
        let site = Site::usual();
        let fake = slow(&site, 60_000);
        let yard = Plan::one(site, fake.clone()).open().await;
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        pass(1_500).await;
        call.abort();
        fake.wait_for(CANCEL, 1).await;
        // Of a question that goes on, the departure of a later call changes nothing.
        define(&yard, 0).await.timed_out("answering");
        let call = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        pass(500).await;
        call.abort();
        pass(5_000).await;
        assert_eq!(fake.record().count(CANCEL), 1);
    });
}

#[test]
fn a_later_call_gets_the_main_answer_in_time_though_a_linter_hangs() {
    paused(|| async {
        let site = Site::usual();
        let main = slow(&site, 5_000);
        let linter = capable().never(DEFINE).launcher();
        let plan = Plan::new(site).kind(Entry::new("fake", main.clone()));
        let yard = plan.kind(Entry::new("lint", linter.clone()).linter()).open().await;
        yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        lsp_tool::at(&yard, "goToDefinition", 0, 0).await.timed_out("answering");
        pass(4_000).await;
        let answer = lsp_tool::at(&yard, "goToDefinition", 0, 0).await;
        answer.took_about(1_850);
        assert_eq!(answer.found(), json!([yard.site().location("a.fake", 1)]));
        assert_eq!(answer.passed_over(), ["lint: timeout"]);
        assert_eq!(main.record().count(DEFINE), 1);
    });
}

#[test]
fn nothing_is_left_out_while_nobody_waits() {
    paused(|| async {
        let site = Site::usual();
        let main = slow(&site, 3_000);
        let linter = slow(&site, 6_000);
        let plan = Plan::new(site).kind(Entry::new("fake", main.clone()));
        let yard = plan.kind(Entry::new("lint", linter.clone()).linter()).open().await;
        yard.call(DOCUMENT_DIAGNOSTICS, yard.site().of("a.fake")).await;
        lsp_tool::at(&yard, "goToDefinition", 0, 0).await.timed_out("answering");
        pass(10_000).await;
        let answer = lsp_tool::at(&yard, "goToDefinition", 0, 0).await;
        answer.took_about(0);
        answer.whole();
        assert_eq!((main.record().count(DEFINE), linter.record().count(DEFINE)), (1, 1));
    });
}

#[test]
fn each_missed_call_counts_towards_a_hang() {
    paused(|| async {
        let site = Site::usual();
        let hung = capable().never(DEFINE);
        let well = capable().answer(DEFINE, json!([site.location("a.fake", 1)]));
        let fake = FakeLauncher::sequence([hung, well]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let (_, calls) = ask_as_advised(&yard, &yard.site().at("a.fake", 0, 0)).await;
        assert!(calls < 8, "{calls}");
        assert_eq!((fake.launches(), yard.counts.restarts()["hung"]), (2, 1));
    });
}

#[test]
fn without_a_watcher_a_question_ends_with_its_call() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never(DEFINE).launcher();
        let yard = Plan::one(site, fake.clone()).unwatched().open().await;
        let details = define(&yard, 0).await.timed_out("answering");
        assert!(details.get("progress").is_none(), "{details}");
        fake.wait_for(CANCEL, 1).await;
    });
}

#[test]
fn a_drain_ends_long_questions() {
    paused(|| async {
        let site = Site::usual();
        let fake = capable().never(DEFINE).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        define(&yard, 0).await.timed_out("answering");
        let began = Instant::now();
        yard.drain().await;
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
        assert_eq!(fake.alive(), 0);
    });
}
