//! Servers that start, speak, stop and end at the wrong time.

use super::*;

const STARTING: &str = "CAP_EXCEEDED timeout starting";
const CRASHED: &str = "PROVIDER_UNAVAILABLE crashed";

fn initialized_with(name: &'static str, result: Value) -> Behaviour {
    when(name, move |site| good(site).answer("initialize", result.clone()))
}

fn starts() -> Vec<Behaviour> {
    vec![
        when("an answer to initialize after 1.9 s", |site| {
            good(site).on(
                "initialize",
                [wait_ms(1_900), reply(json!({"capabilities": {"definitionProvider": true, "hoverProvider": true}}))],
            )
        }),
        when("an answer to initialize after 3 s", |site| {
            good(site).on("initialize", [wait_ms(3_000), reply(json!({"capabilities": {"definitionProvider": true}}))])
        })
        .gets(STARTING)
        .leaves("starting"),
        when("no answer to initialize", |site| good(site).never("initialize")).gets(STARTING).leaves("starting"),
        when("two answers to initialize", |site| {
            let result = json!({"capabilities": {"definitionProvider": true, "hoverProvider": true}});
            good(site).on("initialize", [reply(result), reply(json!({"capabilities": {}}))])
        }),
        when("initialize refused", |site| good(site).on("initialize", [fail(-32603, "no")]))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        initialized_with("initialize answered with null", json!(null))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        initialized_with("initialize answered with a text", json!("ready"))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        initialized_with("capabilities in a list", json!({"capabilities": [1]}))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        initialized_with("capabilities of 2 MB", json!({"capabilities": {"x": "x".repeat(2_000_000)}}))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        initialized_with("an unknown position encoding", json!({"capabilities": {"positionEncoding": "ebcdic"}}))
            .gets(CRASHED)
            .leaves("restarting crashed, 3 start_failed"),
        initialized_with(
            "capabilities of wrong types",
            json!({"serverInfo": 7, "capabilities": {
                "positionEncoding": 8, "definitionProvider": "yes", "hoverProvider": [], "textDocumentSync": "all",
                "diagnosticProvider": 3, "workspace": [], "callHierarchyProvider": {"x": null}
            }}),
        ),
        initialized_with(
            "a sync kind that doesn't exist",
            json!({"capabilities": {
                "definitionProvider": true, "hoverProvider": true, "textDocumentSync": 99
            }}),
        ),
        initialized_with("no capabilities at all", json!({"capabilities": {}}))
            .gets("PROVIDER_UNAVAILABLE unsupported")
            .stays_hostile(),
    ]
}

fn words_out_of_turn() -> Vec<Behaviour> {
    vec![
        when("10,000 log messages before initialize is answered", |site| {
            let result = json!({"capabilities": {"definitionProvider": true, "hoverProvider": true}});
            good(site).on("initialize", [flood(10_000, "window/logMessage", json!({"message": "{n}"})), reply(result)])
        }),
        when("requests before initialize is answered", |site| {
            let result = json!({"capabilities": {"hoverProvider": true}});
            let register = register("d", "textDocument/definition", json!({"documentSelector": null}));
            let items = ask("workspace/configuration", json!({"items": [{}]}));
            good(site)
                .on("initialize", [register, items, ask("workspace/workspaceFolders", json!(null)), reply(result)])
        }),
        when("diagnostics before initialize is answered", |site| {
            let result = json!({"capabilities": {"definitionProvider": true, "hoverProvider": true}});
            let push = diagnostics(&site.uri("a.fake"), None, json!([finding(0, "early")]));
            good(site).on("initialize", [push, reply(result)])
        }),
        // The exit of each process is awaited for a second. A query that is sent before the first one closes its output ends with the second
        // process; one that isn't waits for the third until its deadline.
        when("output closed but alive after initialize", |site| {
            good(site).on("initialized", [close_output()]).ignores_closed_input()
        })
        .gets(CRASHED)
        .settles_in(1_200)
        .leaves("restarting crashed, 2 crashed"),
        on_definition("output closed but alive in place of an answer", |_| vec![close_output()])
            .gets(CRASHED)
            .leaves("restarting crashed, 2 crashed"),
        when("nothing read after initialize", |site| {
            good(site).on("initialize", [stop_reading(), reply(json!({"capabilities": {"definitionProvider": true}}))])
        })
        .gets("CAP_EXCEEDED timeout answering")
        .stays_hostile(),
        when("silent after initialize", |site| good(site).on("initialized", [silence()]))
            .gets("CAP_EXCEEDED timeout answering")
            .stays_hostile(),
    ]
}

fn ends() -> Vec<Behaviour> {
    vec![
        when("shutdown never answered", |site| good(site).never("shutdown")),
        when("shutdown refused", |site| good(site).on("shutdown", [fail(-32603, "no")])),
        when("shutdown answered with 1,000 numbers", |site| good(site).answer("shutdown", json!(vec![7; 1_000]))),
        when("exit ignored", |site| good(site).never("exit").ignores_closed_input()),
        when("exit and SIGTERM ignored", |site| {
            good(site).never("shutdown").never("exit").ignores_closed_input().ignores_terminate()
        }),
        when("a process left behind", |site| good(site).leaves_an_orphan()),
        when("a flood after shutdown", |site| {
            good(site).on(
                "shutdown",
                [flood(10_000, "$/progress", json!({"token": "{n}", "value": {"kind": "begin", "title": "t"}}))],
            )
        }),
        when("garbage in place of the answer to shutdown", |site| good(site).on("shutdown", [raw(b"bye\n")])),
    ]
}

pub(super) fn behaviours() -> Vec<Behaviour> {
    starts().into_iter().chain(words_out_of_turn()).chain(ends()).collect()
}

#[test]
fn lifecycle() {
    check("lifecycle", behaviours());
}
