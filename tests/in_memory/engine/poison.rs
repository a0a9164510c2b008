//! Documents that crash a language server: they are found among others that are asked about at the same time, and only they are refused.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

const POISON: &str = "poison.fake";
const GOOD: [&str; 4] = ["good0.fake", "good1.fake", "good2.fake", "good3.fake"];

fn site() -> Site {
    let site = Site::usual();
    for name in GOOD.into_iter().chain([POISON]) {
        site.write(name, "alpha\n");
    }
    site
}

/// A server that answers after 50 ms.
fn server() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"hoverProvider": true, "definitionProvider": true, "textDocumentSync": 1}))
        .on("textDocument/hover", [wait_ms(50), reply(json!({"contents": "well"}))])
        .on("textDocument/definition", [wait_ms(50), reply(json!([]))])
}

/// It crashes 20 ms after the poison was opened.
fn crashes_on_opening() -> FakeServer {
    server().on("textDocument/didOpen", [except_for("good"), wait_ms(20), signalled(11)])
}

fn hover(yard: &Yard, name: &str) -> futures::future::BoxFuture<'static, Called> {
    yard.start("w0", HOVER, yard.site().at(name, 0, 0))
}

#[test]
fn a_document_that_crashes_the_server_is_found_among_others() {
    paused(|| async {
        let fake = crashes_on_opening().launcher();
        let yard = Plan::one(site(), fake.clone()).open().await;
        yard.site().write("good.fake", "alpha\n");
        assert!(hover(&yard, "good.fake").await.is_answered());
        let names: Vec<_> = GOOD.into_iter().chain([POISON]).collect();
        // However often all are asked at once: the server ends for the poison's sake twice, and the others are answered.
        for round in 0..3 {
            let called = join_all(names.iter().map(|name| hover(&yard, name))).await;
            for (name, called) in names.iter().zip(&called) {
                // In the first round the server ends twice, and its second restart may be too late for a call.
                let is_restarting = round == 0 && format!("{called:?}").contains("retryAfterMs");
                assert!(
                    (called.is_answered() != (*name == POISON)) || is_restarting,
                    "round {round}: {name}: {called:?}"
                );
            }
            called.last().unwrap().failed_as("PROVIDER_UNAVAILABLE", "crashed");
            pass(3_000).await;
        }
        assert_eq!(yard.counts.restarts()["crashed"], 2);
        // The refusal costs no wait and reaches no server.
        let opened = fake.record().count("textDocument/didOpen");
        let called = hover(&yard, POISON).await;
        called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert!(format!("{called:?}").contains("refused until it changes"), "{called:?}");
        assert!(called.took < Duration::from_millis(10), "{:?}", called.took);
        assert_eq!(fake.record().count("textDocument/didOpen"), opened);
    });
}

#[test]
fn a_document_that_crashes_a_server_while_it_indexes_is_found_among_others() {
    paused(|| async {
        let ready = || notify("window/logMessage", json!({"type": 3, "message": "indexed"}));
        let fake = crashes_on_opening().on("initialized", [wait_ms(400), ready()]).launcher();
        let kind =
            Entry::new("fake", fake.clone()).entry("readiness = { log_message = \"indexed\", limit_ms = 60000 }");
        let yard = Plan::new(site()).kind(kind).open().await;
        let names: Vec<_> = GOOD.into_iter().chain([POISON]).collect();
        let mut answered = [0; GOOD.len()];
        for _ in 0..4 {
            let called = join_all(names.iter().map(|name| hover(&yard, name))).await;
            for (count, called) in answered.iter_mut().zip(&called) {
                *count += usize::from(called.is_answered());
            }
            assert!(!called.last().unwrap().is_answered());
            pass(3_000).await;
        }
        assert!(answered.iter().all(|count| *count >= 2), "{answered:?}");
        assert_eq!(yard.counts.restarts()["crashed"], 2, "with all of them, and with the poison alone");
        let called = hover(&yard, POISON).await;
        assert!(format!("{called:?}").contains("refused until it changes"), "{called:?}");
    });
}

#[test]
fn a_document_that_makes_the_server_kill_itself_is_found_after_some_kills() {
    paused(|| async {
        let fake = server().on("textDocument/didOpen", [except_for("good"), wait_ms(20), signalled(9)]).launcher();
        let yard = Plan::one(site(), fake.clone()).open().await;
        let names: Vec<_> = GOOD.into_iter().chain([POISON]).collect();
        let mut is_refused = false;
        for _ in 0..12 {
            let called = join_all(names.iter().map(|name| hover(&yard, name))).await;
            is_refused = format!("{:?}", called.last()).contains("refused until it changes");
            if is_refused {
                break;
            }
            pass(9_000).await;
        }
        assert!(is_refused, "{:?}", yard.counts.restarts());
        pass(9_000).await;
        let called = join_all(GOOD.map(|name| hover(&yard, name))).await;
        assert!(called.iter().all(Called::is_answered), "{called:?}");
    });
}

#[test]
fn a_refused_document_is_asked_again_when_it_changes_or_the_time_has_passed() {
    paused(|| async {
        let fake = crashes_on_opening().launcher();
        let yard = Plan::one(site(), fake.clone()).open().await;
        hover(&yard, POISON).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        let crashes = || yard.counts.restarts()["crashed"];
        assert_eq!(crashes(), 2);
        assert!(!hover(&yard, POISON).await.is_answered());
        assert_eq!(crashes(), 2);
        // Another text may be harmless, so it is asked; this one isn't.
        yard.site().write(POISON, "beta\n");
        pass(2_000).await;
        assert!(!hover(&yard, POISON).await.is_answered());
        assert_eq!(crashes(), 4);
        pass(600_000).await;
        assert!(!hover(&yard, POISON).await.is_answered());
        assert!(crashes() > 4, "it is tried again after the quarantine time");
    });
}

#[test]
fn a_suspect_that_was_answered_is_no_longer_asked_alone() {
    paused(|| async {
        let crash = signalled(11);
        let fake = FakeLauncher::sequence([server().on_nth("textDocument/hover", 2, [wait_ms(20), crash]), server()]);
        let yard = Plan::one(site(), fake.clone()).open().await;
        hover(&yard, "a.fake").await;
        let ask_all = || join_all(GOOD.map(|name| hover(&yard, name)));
        // Each of them was at the server when it ended: they are asked again one after the other.
        let called = ask_all().await;
        assert!(called.iter().all(Called::is_answered), "{called:?}");
        let longest = called.iter().map(|called| called.took).max().unwrap();
        assert!(longest > Duration::from_millis(4 * 50), "{longest:?}");
        for name in GOOD {
            yard.site().write(name, "alpha\n\n");
            yard.site().write(name, "alpha\n");
        }
        yard.site().write("new.fake", "to move the epochs\n");
        pass(2_000).await;
        let called = ask_all().await;
        assert!(called.iter().all(Called::is_answered), "{called:?}");
        let longest = called.iter().map(|called| called.took).max().unwrap();
        assert!(longest < Duration::from_millis(2 * 50), "{longest:?}");
        assert_eq!(fake.launches(), 2);
    });
}

#[test]
fn a_crash_at_a_later_question_counts_only_in_its_own_turn() {
    paused(|| async {
        // The poison is harmless until its definition is asked for.
        let deadly =
            |server: FakeServer| server.on("textDocument/definition", [wait_ms(20), except_for("good"), signalled(11)]);
        let fake = deadly(server()).launcher();
        let yard = Plan::one(site(), fake.clone()).open().await;
        assert!(hover(&yard, POISON).await.is_answered());
        let definition = yard.start("w0", DEFINITION, yard.site().at(POISON, 0, 0));
        let (called, good) = futures::future::join(definition, join_all(GOOD.map(|name| hover(&yard, name)))).await;
        called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert!(good.iter().all(Called::is_answered), "{good:?}");
        // All of it is refused, whatever is asked.
        yard.site().write("new.fake", "to move the epochs\n");
        pass(2_000).await;
        assert!(!hover(&yard, POISON).await.is_answered());
        assert_eq!(yard.counts.restarts()["crashed"], 2);
    });
}

#[test]
fn a_suspect_that_is_slow_holds_up_the_others_once() {
    paused(|| async {
        let slow = |server: FakeServer| {
            let slow = || except_for("good1");
            server.on("textDocument/hover", [wait_ms(50), slow(), reply(json!({"contents": "well"}))])
        };
        let crashing = server().on_nth("textDocument/hover", 2, [wait_ms(20), signalled(11)]);
        let fake = FakeLauncher::sequence([crashing, slow(server())]);
        let yard = Plan::one(site(), fake.clone()).open().await;
        assert!(hover(&yard, "a.fake").await.is_answered());
        let mut answered = [0; GOOD.len()];
        for _ in 0..3 {
            let called = join_all(GOOD.map(|name| hover(&yard, name))).await;
            for (count, called) in answered.iter_mut().zip(&called) {
                *count += usize::from(called.is_answered());
            }
        }
        assert_eq!(answered[1], 0);
        assert!([0, 2, 3].iter().all(|at| answered[*at] >= 2), "{answered:?}");
    });
}
