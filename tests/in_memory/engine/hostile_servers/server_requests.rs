//! Requests and notifications of a server: what would change files or show something is refused, and floods are bounded.

use super::*;

/// Steps before the right answer.
fn before(name: &'static str, steps: impl Fn(&Site) -> Vec<Step> + 'static) -> Behaviour {
    on_definition(name, move |site| {
        let mut all = steps(site);
        all.push(reply(json!([site.location("a.fake", 1)])));
        all
    })
}

fn changes() -> Vec<Behaviour> {
    vec![
        before("an edit that deletes a file", |site| {
            let delete = json!({"kind": "delete", "uri": site.uri("b.fake"), "options": {"recursive": true}});
            vec![ask("workspace/applyEdit", json!({"edit": {"documentChanges": [delete]}}))]
        }),
        before("showDocument of a web page", |_| {
            vec![ask("window/showDocument", json!({"uri": "https://example.com", "external": true}))]
        }),
        before("2,000 questions to the user", |_| {
            vec![
                ask("window/showMessageRequest", json!({"type": 1, "message": "?", "actions": [{"title": "Yes"}]}));
                2_000
            ]
        }),
        before("a configuration request of 100,000 items", |_| {
            vec![ask("workspace/configuration", json!({"items": vec![json!({}); 100_000]}))]
        }),
        before("configuration requests of wrong types", |_| {
            [json!(null), json!([]), json!({"items": 7}), json!({"items": [7]})]
                .map(|params| ask("workspace/configuration", params))
                .into()
        }),
        before("2,000 unknown requests", |_| vec![ask("evil/method", json!({})); 2_000]),
        before("2,000 refreshes", |_| {
            // On paused time, a flood after which no time passes would be repeated for ever.
            let mut steps = vec![ask("workspace/diagnostic/refresh", json!(null)); 2_000];
            steps.push(wait_ms(100));
            steps
        })
        .gets("CAP_EXCEEDED timeout answering"),
        before("a request of the client's own methods", |site| {
            vec![
                ask("textDocument/definition", site.at("a.fake", 0, 0)),
                ask("shutdown", json!(null)),
                ask("initialize", json!({})),
            ]
        }),
    ]
}

fn registrations() -> Vec<Behaviour> {
    vec![
        before("2,000 registrations", |_| {
            (0..2_000).map(|id| register(&format!("r{id}"), "workspace/symbol", json!({}))).collect()
        }),
        before("a registration of 3 MB", |_| {
            vec![register("r", "workspace/symbol", json!({"x": "x".repeat(3_000_000)}))]
        }),
        before("registrations of wrong types", |_| {
            [json!(null), json!({"registrations": {}}), json!({"registrations": [{"id": 7}]})]
                .map(|params| ask("client/registerCapability", params))
                .into()
        }),
        before("one registration twice", |_| vec![register("r", "workspace/symbol", json!({})); 2]),
        before("removal of registrations that don't exist", |_| vec![unregister("r", "textDocument/definition"); 100]),
        before("globs of watched files without sense", |_| {
            let globs = ["[", "{a,b", "**/".repeat(5_000).leak(), "{{{{{{{{", "\\", "../../**", "/etc/**"];
            let watchers: Vec<Value> = globs.iter().map(|glob| json!({"globPattern": glob})).collect();
            vec![register("w", "workspace/didChangeWatchedFiles", json!({"watchers": watchers}))]
        }),
        before("10,000 globs of watched files", |_| {
            let watchers: Vec<Value> =
                (0..10_000).map(|n| json!({"globPattern": format!("**/{n}/*"), "kind": 255})).collect();
            vec![register("w", "workspace/didChangeWatchedFiles", json!({"watchers": watchers}))]
        }),
        before("a glob with 20 nested alternatives", |_| {
            let glob = format!("**/{}", "{a,b}".repeat(20));
            vec![register("w", "workspace/didChangeWatchedFiles", json!({"watchers": [{"globPattern": glob}]}))]
        }),
    ]
}

fn floods() -> Vec<Behaviour> {
    vec![
        before("progress that never ends", |_| vec![progress_begin("t", "Working")]),
        before("20,000 progress tokens", |_| {
            vec![flood(20_000, "$/progress", json!({"token": "{n}", "value": {"kind": "begin", "title": "Working"}}))]
        }),
        before("progress tokens of wrong types", |_| {
            [json!(null), json!([]), json!(1e300), json!(-1)]
                .map(|token| notify("$/progress", json!({"token": token, "value": {"kind": "begin", "title": 7}})))
                .into()
        }),
        before("a progress title of 1 MB", |_| vec![progress_begin("t", &"t".repeat(1_000_000)), progress_end("t")]),
        before("20,000 unknown notifications", |_| vec![flood(20_000, "evil/event", json!({"n": "{n}"}))]),
        before("20,000 log messages", |_| {
            vec![flood(20_000, "window/logMessage", json!({"type": 1, "message": "m{n}"}))]
        }),
        before("20,000 telemetry events", |_| vec![flood(20_000, "telemetry/event", json!({"n": "{n}"}))]),
        before("20,000 lists of diagnostics of one file", |site| {
            vec![flood(
                20_000,
                "textDocument/publishDiagnostics",
                json!({"uri": site.uri("b.fake"), "diagnostics": [finding(0, "m")]}),
            )]
        })
        .gets("Found 1 definition."),
        before("20,000 lists of diagnostics of missing files", |site| {
            let uri = site.uri("b.fake").replace("b.fake", "missing{n}.fake");
            vec![flood(
                20_000,
                "textDocument/publishDiagnostics",
                json!({"uri": uri, "diagnostics": [finding(0, "m")]}),
            )]
        })
        .gets("Found 1 definition."),
        before("20,000 lists of diagnostics outside the roots", |_| {
            vec![flood(
                20_000,
                "textDocument/publishDiagnostics",
                json!({"uri": "file:///etc/{n}", "diagnostics": [finding(0, "m")]}),
            )]
        })
        .gets("Found 1 definition."),
    ]
}

pub(super) fn behaviours() -> Vec<Behaviour> {
    changes().into_iter().chain(registrations()).chain(floods()).collect()
}

#[test]
fn server_requests() {
    check("requests of the server", behaviours());
}

#[test]
fn an_edit_of_a_server_changes_no_file() {
    paused(|| async {
        let site = Site::new(&[("a.fake", "alpha\n"), ("b.fake", "beta\n")]);
        let fake = (behaviours().swap_remove(0).make)(&site).launcher();
        let yard = Plan::one(site, fake.clone()).open().await;
        ask_once(&yard).await;
        assert_eq!(std::fs::read_to_string(yard.site().root.join("b.fake")).unwrap(), "beta\n");
        assert_eq!(fake.record().answers("workspace/applyEdit")[0]["result"]["applied"], false);
    });
}

async fn ask_once(yard: &Yard) {
    yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
}
