//! Server crashes: retry, back-off, quarantine, refusal of documents that cause crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use codeyard_base::ids::WorkspaceName;
use codeyard_engine::limits::ENDED_PROCESS_WAIT_MS;
use codeyard_engine::workspace::messages::RestartChild;
use codeyard_process::launch::{LaunchSpec, Launcher};
use serde_json::json;
use tokio::time::Instant;

use crate::engine::harness::*;
use crate::engine::lsp_tool::at;
use crate::fake_server::{FakeLauncher, FakeServer, close_output, exit, fail, half_reply, raw, signalled};

/// Workspaces of the test of a broken program.
const WORKSPACES: usize = 8;

fn good(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
}

fn deadly(site: &Site) -> FakeServer {
    good(site).on("textDocument/definition", [half_reply(), signalled(11)])
}

#[test]
fn a_crash_during_a_reply_is_retried_once() {
    paused(|| async {
        let site = Site::usual();
        let fake = FakeLauncher::sequence([deadly(&site), good(&site)]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        assert_eq!(called.ok()["locations"].as_array().unwrap().len(), 1);
        assert_eq!(fake.launches(), 2);
        let took = called.took.as_millis();
        assert!(took < 100, "one that was ready is started again at once: {took}");
        assert_eq!(yard.counts.restarts()["crashed"], 1);
    });
}

#[test]
fn a_second_crash_fails_the_call_with_its_reason() {
    paused(|| async {
        let site = Site::usual();
        let fake = deadly(&site).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        let details = called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert_eq!(details["server"], "fake");
        assert_eq!(fake.record().count("textDocument/definition"), 2, "one retry, no more");
    });
}

#[test]
fn an_error_response_is_retried_once() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).on_nth("textDocument/definition", 1, [fail(-32603, "oops /etc/passwd")]).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.record().count("textDocument/definition"), 2);

        let site = Site::usual();
        let fake = good(&site).on("textDocument/definition", [fail(-32603, "oops /etc/passwd")]).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        called.failed_as("PROVIDER_UNAVAILABLE", "server_error");
        assert!(!format!("{called:?}").contains("passwd"), "the server's words stay inside");
        assert_eq!(fake.launches(), 1);
    });
}

#[test]
fn the_built_in_server_says_in_an_answer_what_is_wrong() {
    paused(|| async {
        let site = Site::usual();
        let full = "could not build the index: the disk of the state directory is full";
        let fake = good(&site).on("textDocument/definition", [fail(-32803, full)]).launcher();
        let built_in = Entry::new("fake", fake).entry("install = { from = \"builtin\" }");
        let yard = Plan::new(site).kind(built_in).open().await;
        let called = at(&yard, "goToDefinition", 0, 0).await;
        called.failed("PROVIDER_UNAVAILABLE", "server_error");
        assert!(called.text().contains(full), "{}", called.text());
    });
}

#[test]
fn restarts_back_off_then_quarantine_then_probe_once() {
    paused(|| async {
        let site = Site::usual();
        let dying = good(&site).on("initialize", [exit(1)]);
        let scripts = std::iter::repeat_n(dying, 6).chain([good(&site)]);
        let fake = FakeLauncher::sequence(scripts);
        let yard = Plan::one(site, fake.clone()).open().await;
        let began = Instant::now();
        let first = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        // 0.5 + 1 + 2 + 4 s, each with at most 10 % jitter.
        let mut starts = vec![];
        for launch in 2..=5 {
            while fake.launches() < launch {
                pass(10).await;
            }
            starts.push(began.elapsed().as_millis());
        }
        for (at, start) in [500, 1_500, 3_500, 7_500].into_iter().zip(&starts) {
            assert!((at..=at + at / 10 + 60).contains(start), "{starts:?}");
        }
        pass(50).await;
        first.await.unwrap().failed_as("PROVIDER_UNAVAILABLE", "crashed");
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        let details = called.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
        assert!(details["command"].as_str().unwrap().starts_with("codeyard "));
        // A quarantine ends by itself, and the error says when.
        let wait = details["retryAfterMs"].as_u64().unwrap();
        assert!((299_000..=300_000).contains(&wait), "{details}");
        called.took_about(0);
        let quarantined = Instant::now();
        pass(200_000).await;
        let later = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        let left = later.failed_as("PROVIDER_UNAVAILABLE", "quarantined")["retryAfterMs"].as_u64().unwrap();
        assert!((wait - 200_100..=wait - 200_000).contains(&left), "{wait} {left}");
        assert!(format!("{later:?}").contains("it is started again in 100 s"), "{later:?}");
        pass(99_000).await;
        assert_eq!(fake.launches(), 5, "five minutes of rest");
        while fake.launches() < 6 {
            pass(10).await;
        }
        assert!(quarantined.elapsed().as_millis() <= 300_100);
        // One probe start, which fails too: quarantine again, without back-off.
        pass(50).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
        pass(299_000).await;
        assert_eq!(fake.launches(), 6);
        pass(1_100).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!(fake.launches(), 7);
    });
}

#[test]
fn a_recovered_server_is_trusted_after_the_crash_window() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let ask = || yard.call(DEFINITION, yard.site().at("a.fake", 0, 0));
        ask().await.ok();
        for _ in 0..20 {
            fake.crash();
            pass(181_000).await;
            ask().await.ok();
        }
        assert_eq!(fake.launches(), 21, "a death every three minutes never leads to quarantine");
    });
}

#[test]
fn a_failed_launch_is_retried_and_reported() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).launcher();
        fake.refuse(1);
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        assert_eq!((fake.specs().len(), fake.launches()), (2, 1));
    });
}

#[test]
fn a_document_that_crashed_the_server_twice_is_refused_until_it_changes() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha\n"), ("b.fake", "beta\n")]);
        let a = site.uri("a.fake");
        let b = site.uri("b.fake");
        let fake = FakeServer::new()
            .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
            .on("textDocument/definition", [half_reply(), signalled(11)])
            .answer("textDocument/hover", json!(null))
            .launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        pass(2_000).await;
        let launches = fake.launches();
        let refused = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        let details = refused.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert_eq!(details["server"], "fake");
        refused.took_about(0);
        assert_eq!(fake.launches(), launches, "no server crashed on it");
        yard.call(HOVER, yard.site().at("b.fake", 0, 0)).await.ok();
        yard.site().write("a.fake", "changed\n");
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let asked = fake.record().params("textDocument/hover");
        assert_eq!(asked.iter().map(|p| p["textDocument"]["uri"].as_str().unwrap()).collect::<Vec<_>>(), [&b, &a]);
    });
}

#[test]
fn kills_from_outside_are_no_failures_and_never_end_in_quarantine() {
    // Between two frames, inside one, and as some shells report it.
    let ends = [vec![signalled(9)], vec![half_reply(), signalled(9)], vec![exit(137)]];
    for end in ends {
        paused(|| async move {
            let site = Site::usual();
            let fake = good(&site).launcher();
            let yard = Plan::one(site, fake.clone()).open().await;
            for kills in 1..=28_usize {
                yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
                pass(31_000).await;
                fake.push(end.clone());
                while fake.launches() == kills {
                    pass(10).await;
                }
                assert_eq!(
                    yard.counts.restarts().get("killed_outside"),
                    Some(&(kills as u64)),
                    "{:?}",
                    yard.counts.restarts()
                );
            }
            yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
            assert_eq!(fake.launches(), 29);
            let health = yard.health().await[0].servers[0].clone();
            assert_eq!(health.last_end.map(|end| end.reason), Some("killed_outside"));
        });
    }
}

#[test]
fn a_server_that_is_killed_whenever_it_starts_waits_longer_each_time_and_says_why() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).on("initialize", [signalled(9)]).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await;
        let details = called.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert_eq!(details["signal"], 9);
        let text = format!("{called:?}");
        assert!(text.contains("killed by signal 9 from outside (often the out-of-memory killer)"), "{text}");
        pass(600_000).await;
        let launches = fake.launches();
        assert!((10..25).contains(&launches), "{launches}");
        assert_eq!(yard.counts.restarts()["killed_outside"], launches as u64);
        pass(600_000).await;
        assert!(fake.launches() <= launches + 11, "once a minute at most");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
    });
}

#[test]
fn a_connection_that_codeyard_closes_is_reported_as_such() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).on("textDocument/definition", [raw(&b"a stack trace\n".repeat(100_000))]).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        let health = serde_json::to_value(&yard.health().await[0].servers[0]).unwrap();
        let message = health["message"].as_str().unwrap();
        assert!(message.starts_with("codeyard closed the connection") && message.contains("not a header"), "{message}");
        assert_eq!(yard.counts.restarts()["protocol_error"], 2);
        assert!(!yard.counts.restarts().contains_key("crashed"));
    });
}

#[test]
fn a_successor_starts_when_its_predecessor_has_ended() {
    paused(|| async {
        let site = Site::usual();
        let broken = good(&site).on("textDocument/definition", [raw(b"Content-Type:\r\n\r\n")]).ignores_closed_input();
        let fake = FakeLauncher::sequence([broken.dies_after(700), good(&site)]);
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        let began = Instant::now();
        while fake.launches() < 2 {
            pass(1).await;
            assert!(fake.alive() <= 1, "two processes use the same caches");
        }
        assert!(began.elapsed().as_millis() >= 700, "{:?}", began.elapsed());
        called.await.unwrap().ok();
        yard.drain().await;
    });
}

#[test]
fn a_successor_does_not_wait_for_ever_for_a_process_that_cannot_be_killed() {
    paused(|| async {
        let site = Site::usual();
        let broken = good(&site).on("textDocument/definition", [raw(b"Content-Type:\r\n\r\n")]).ignores_closed_input();
        let fake = FakeLauncher::sequence([broken.dies_after(3_600_000), good(&site)]);
        let yard = Plan::one(site, fake.clone()).open().await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        pass(ENDED_PROCESS_WAIT_MS).await;
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn a_stop_waits_for_a_process_whose_connection_has_closed() {
    paused(|| async {
        let site = Site::usual();
        let closes = good(&site).on("textDocument/definition", [close_output()]).ignores_closed_input();
        let fake = closes.dies_after(300).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        let called = yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0));
        fake.wait_for("textDocument/definition", 1).await;
        pass(50).await;
        let server = yard.health().await[0].servers[0].id.clone();
        assert_eq!(fake.alive(), 1, "it has closed its output and still runs");
        // A call that waits lets the server start again right after the stop.
        called.abort();
        assert!(called.await.is_err_and(|error| error.is_cancelled()));
        yard.engine().control().stop(&WorkspaceName::new("w0").unwrap(), &server).await.unwrap();
        assert_eq!(fake.alive(), 0, "nothing is left when the stop is reported");
    });
}

#[test]
fn an_empty_list_of_symbols_is_no_answer_while_a_server_is_quarantined() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha\n"), ("b.other", "beta\n")]);
        let symbol = json!([{"name": "alpha", "kind": 12, "location": site.location("a.fake", 0)}]);
        let knowing = FakeServer::new().capabilities(json!({"workspaceSymbolProvider": true})).answer_with(
            "workspace/symbol",
            move |params, _| {
                if params["query"] == "alpha" { symbol.clone() } else { json!([]) }
            },
        );
        let dying = FakeServer::new().on("initialize", [exit(1)]);
        let plan = Plan::new(site)
            .kind(Entry::new("first", knowing.launcher()))
            .kind(Entry::new("second", dying.launcher()).other());
        let yard = plan.open().await;
        let ask = |query: &str| yard.call(WORKSPACE_SYMBOLS, json!({ "query": query }));
        drop(ask("alpha").await);
        pass(10_000).await;
        let found = ask("alpha").await;
        assert_eq!(found.ok()["items"].as_array().unwrap().len(), 1);
        assert!(found.summary().contains("Passed over second: quarantined."), "{}", found.summary());
        let details = ask("beta").await.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
        assert_eq!(details["server"], "second");

        let agent = crate::engine::lsp_tool::named(&yard, "alpha").await;
        assert_eq!(agent.metadata()["partial"], json!([{"server": "second", "unavailable": "quarantined"}]));
        crate::engine::lsp_tool::named(&yard, "beta").await.failed("PROVIDER_UNAVAILABLE", "quarantined");
    });
}

#[test]
fn a_program_that_fails_everywhere_is_tried_once_in_each_further_workspace() {
    paused(|| async {
        let works = Arc::new(AtomicBool::new(false));
        let (broken, whole) = {
            let site = Site::usual();
            (good(&site).on("initialize", [exit(1)]).launcher(), good(&site).launcher())
        };
        let first = broken.clone();
        let second = whole.clone();
        let is_whole = works.clone();
        let launcher = Arc::new(LaunchBy(move |spec: &LaunchSpec| match is_whole.load(SeqCst) {
            true => second.launch(spec),
            false => first.launch(spec),
        }));
        let mut plan = Plan::one(Site::usual(), launcher);
        for _ in 1..WORKSPACES {
            plan = plan.workspace(Site::usual());
        }
        let yard = plan.open().await;
        let ask = |number: usize| yard.start(&format!("w{number}"), DEFINITION, yard.sites[number].at("a.fake", 0, 0));
        // As long as it may be the workspace's fault, a start is repeated.
        ask(0).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        assert!(broken.launches() > 1);
        pass(20_000).await;
        assert_eq!(broken.launches(), 5);
        ask(1).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        pass(20_000).await;
        assert_eq!(broken.launches(), 10);
        for number in 2..WORKSPACES - 1 {
            let called = ask(number).await;
            called.failed_as("PROVIDER_UNAVAILABLE", "quarantined");
            assert!(format!("{called:?}").contains("elsewhere on this server too"), "{called:?}");
        }
        pass(20_000).await;
        assert_eq!(broken.launches(), 10 + WORKSPACES - 3, "one try in each");
        // Mended: after one success, failures may be a workspace's own again.
        works.store(true, SeqCst);
        let workspace = yard.engine().directory().all().into_iter().find(|at| at.name.as_str() == "w2").unwrap();
        let server = yard.health().await[2].servers[0].id.clone();
        assert!(workspace.actor.send(RestartChild(server)).await.unwrap());
        ask(2).await.ok();
        works.store(false, SeqCst);
        let before = broken.launches();
        ask(WORKSPACES - 1).await.failed_as("PROVIDER_UNAVAILABLE", "crashed");
        pass(20_000).await;
        assert_eq!(broken.launches(), before + 5);
        yard.drain().await;
    });
}
