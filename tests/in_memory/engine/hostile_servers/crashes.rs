//! Servers that end: at the start, with each document, with each request, by an exit code or by a signal.

use super::*;

const CRASHED: &str = "PROVIDER_UNAVAILABLE crashed";

pub(super) fn behaviours() -> Vec<Behaviour> {
    vec![
        when("exits with 1 before initialize is answered", |site| good(site).on("initialize", [exit(1)]))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        when("exits with 0 before initialize is answered", |site| good(site).on("initialize", [exit(0)]))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        when("crashes after initialize", |site| good(site).on("initialized", [wait_ms(1), signalled(11)]))
            .gets("Found 1 definition.")
            .leaves("restarting crashed, 2 crashed"),
        when("crashes with each opened document", |site| {
            good(site).on("textDocument/didOpen", [signalled(11)]).never("textDocument/definition")
        })
        .gets(CRASHED)
        .leaves("restarting crashed, 2 crashed"),
        on_definition("exits with 0 in place of an answer", |_| vec![exit(0)])
            .gets(CRASHED)
            .leaves("restarting crashed, 2 crashed"),
        on_definition("exits with 3 in place of an answer", |_| vec![exit(3)])
            .gets(CRASHED)
            .leaves("restarting crashed, 2 crashed"),
        on_definition("a segmentation fault in place of an answer", |_| vec![signalled(11)])
            .gets(CRASHED)
            .leaves("restarting crashed, 2 crashed"),
        on_definition("aborts in the middle of an answer", |_| vec![half_reply(), signalled(6)])
            .gets(CRASHED)
            .leaves("restarting crashed, 2 crashed"),
        on_definition("killed from outside with each request", |_| vec![signalled(9)])
            .gets(CRASHED)
            .leaves("restarting crashed, 2 killed_outside"),
        on_definition("answers and ends", |site| vec![reply(json!([site.location("a.fake", 1)])), wait_ms(1), exit(1)])
            .leaves("ready, 1 crashed"),
        when("an error, then a crash", |site| {
            good(site).on_nth("textDocument/definition", 1, [fail(-32603, "no")]).on_nth(
                "textDocument/definition",
                2,
                [signalled(11)],
            )
        })
        .gets("PROVIDER_UNAVAILABLE server_error")
        .leaves("ready, 1 crashed"),
        when("prints secrets to standard error and ends", |site| {
            good(site).stderr("/etc/passwd password=hunter2").on("initialize", [exit(2)])
        })
        .gets(CRASHED)
        .leaves("restarting crashed, 3 start_failed"),
    ]
}

#[test]
fn crashes() {
    check("crashes", behaviours());
}
