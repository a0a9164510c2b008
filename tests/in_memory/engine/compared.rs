//! Answers that are there before the code index is. In real time, because index work runs on threads.

use serde_json::json;

use crate::engine::code::settled;
use crate::engine::harness::*;
use crate::fake_server::*;

const REFER: &str = "textDocument/references";

/// Longer than an answer may take that isn't retained if another one might find more.
const SLOW_MS: u64 = 1_600;

#[test]
fn a_retained_answer_is_asked_for_again_once_the_index_is_there() {
    in_real_time(|| async {
        let site = Site::new(&[
            ("order.py", "def compute_total():\n    return 1\n"),
            ("report.py", "from order import compute_total\n\ncompute_total()\n"),
        ]);
        let capabilities = json!({"referencesProvider": true, "textDocumentSync": 1});
        let places = json!([site.location("order.py", 0)]);
        let server = FakeServer::new().capabilities(capabilities).works();
        let fake = server.on(REFER, [wait_ms(SLOW_MS), reply(places)]).launcher();
        let yard = Plan::new(site).kind(Entry::new("fake", fake.clone()).of("python")).open().await;
        let at = yard.site().at("order.py", 0, 5);
        let answered = || async {
            loop {
                let called = yard.call(REFERENCES, at.clone()).await;
                if called.is_answered() {
                    return called.summary();
                }
                called.timed_out("answering");
            }
        };
        let unmarked = "Returned 1 reference.";
        assert_eq!(answered().await, unmarked, "there is no index to compare it with");
        let asked = fake.record().count(REFER);
        settled(&yard).await;
        let marked = format!(
            "{unmarked} 1 file uses the name `compute_total` and isn't in this answer: report.py; search the name as text."
        );
        assert_eq!(answered().await, marked);
        assert_eq!(fake.record().count(REFER), asked + 1);
        assert_eq!(answered().await, marked);
        assert_eq!(fake.record().count(REFER), asked + 1, "the compared answer is retained");
    });
}
