//! Servers that answer at the deadline, after it, sometimes, or never.

use super::*;

const TIMEOUT: &str = "CAP_EXCEEDED timeout answering";

fn after(name: &'static str, ms: u64) -> Behaviour {
    on_definition(name, move |site| vec![wait_ms(ms), reply(json!([site.location("a.fake", 1)]))])
}

pub(super) fn behaviours() -> Vec<Behaviour> {
    vec![
        after("an answer just before the deadline", 1_980),
        after("an answer at the deadline", 2_000).gets(TIMEOUT),
        after("an answer just after the deadline", 2_020).gets(TIMEOUT),
        after("an answer after an hour", 3_600_000).gets(TIMEOUT),
        on_definition("never an answer", |_| vec![]).gets(TIMEOUT),
        on_definition("silent in place of an answer", |_| vec![silence()]).gets(TIMEOUT).stays_hostile(),
        on_definition("reads no more in place of an answer", |_| vec![stop_reading()]).gets(TIMEOUT).stays_hostile(),
        when("a document that is never answered for", |site| {
            let poison = || except_for(&site.uri("a.fake"));
            good(site)
                .on("textDocument/definition", [poison(), reply(json!([]))])
                .on("textDocument/hover", [poison(), reply(json!({"contents": "well"}))])
        })
        .gets(TIMEOUT),
        when("never an answer to the first of its requests", |site| {
            good(site).on_nth("textDocument/definition", 1, [])
        })
        .gets(TIMEOUT),
        on_definition("progress in place of an answer", |_| {
            let report = || notify("$/progress", json!({"token": "t", "value": {"kind": "report", "percentage": 1}}));
            (0..100).flat_map(|_| [wait_ms(50), report()]).collect()
        })
        .gets(TIMEOUT),
        when("works without an answer", |site| good(site).works().never("textDocument/definition")).gets(TIMEOUT),
        on_definition("a dead second before each answer", |site| {
            vec![wait_ms(1_000), reply(json!([site.location("a.fake", 1)]))]
        }),
    ]
}

#[test]
fn timing() {
    check("timing", behaviours());
}
