//! Answers that are there before the code index is. In real time, because index work runs on threads.

use std::sync::Arc;

use serde_json::json;

use crate::engine::code::{ask, settled};
use crate::engine::harness::*;
use crate::fake_server::*;

const REFER: &str = "textDocument/references";
const UNMARKED: &str = "Returned 1 reference.";

/// Longer than an answer may take that isn't retained if another one might find more.
const SLOW_MS: u64 = 1_600;

/// A server of Python that takes long to find one of two uses, and what the index has beyond it.
fn incomplete() -> (Site, Arc<FakeLauncher>, String) {
    let site = Site::new(&[
        ("order.py", "def compute_total():\n    return 1\n"),
        ("report.py", "from order import compute_total\n\ncompute_total()\n"),
    ]);
    let capabilities = json!({"referencesProvider": true, "textDocumentSync": 1});
    let places = json!([site.location("order.py", 0)]);
    let server = FakeServer::new().capabilities(capabilities).works();
    let fake = server.on(REFER, [wait_ms(SLOW_MS), reply(places)]).launcher();
    let mark = "1 file uses the name `compute_total` and isn't in this answer: report.py; search the name as text.";
    (site, fake, format!("{UNMARKED} {mark}"))
}

/// The summary of the answer, however many calls it takes.
async fn answered(yard: &Yard) -> String {
    loop {
        let called = yard.call(REFERENCES, yard.site().at("order.py", 0, 5)).await;
        if called.is_answered() {
            return called.summary();
        }
        called.timed_out("answering");
    }
}

#[test]
fn a_retained_answer_is_asked_for_again_once_the_index_is_there() {
    in_real_time(|| async {
        let (site, fake, marked) = incomplete();
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).of("python")).open().await;
        assert_eq!(answered(&yard).await, UNMARKED, "there is no index to compare it with");
        let asked = fake.record().count(REFER);
        settled(&yard).await;
        assert_eq!(answered(&yard).await, marked);
        assert_eq!(fake.record().count(REFER), asked + 1);
        assert_eq!(answered(&yard).await, marked);
        assert_eq!(fake.record().count(REFER), asked + 1, "the compared answer is retained");
    });
}

#[test]
fn a_first_answer_is_compared_with_the_index_of_an_earlier_process() {
    in_real_time(|| async {
        let (site, fake, marked) = incomplete();
        let yard = Plan::new(site).kind(Entry::new("fake", fake).of("python")).open().await;
        ask(&yard, "index_repo", json!({})).await;
        settled(&yard).await;
        // The index is opened by the question, and is current long before the server answers.
        let yard = yard.reopen().await;
        assert_eq!(answered(&yard).await, marked);
    });
}
