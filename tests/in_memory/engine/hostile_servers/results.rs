//! Results that break the types, the limits or the roots, for each kind of query.

use super::*;

const MALFORMED: &str = "PROVIDER_UNAVAILABLE server_error";

/// A fixed result of a definition.
fn definition(name: &'static str, result: impl Fn(&Site) -> Value + 'static) -> Behaviour {
    on_definition(name, move |site| vec![reply(result(site))])
}

/// A result of another query.
fn result(
    name: &'static str,
    tool: &'static str,
    method: &'static str,
    make: impl Fn(&Site) -> Value + 'static,
) -> Behaviour {
    when(name, move |site| good(site).answer(method, make(site))).asked(tool)
}

fn at_range(site: &Site, start: [i64; 2], end: [i64; 2]) -> Value {
    let place = |[line, character]: [i64; 2]| json!({"line": line, "character": character});
    json!([{"uri": site.uri("a.fake"), "range": {"start": place(start), "end": place(end)}}])
}

fn types_and_positions() -> Vec<Behaviour> {
    vec![
        definition("a definition as a number", |_| json!(7)).gets(MALFORMED),
        definition("a definition as a text", |_| json!("a.fake:1")).gets(MALFORMED),
        definition("a list of null", |_| json!([null])).gets(MALFORMED),
        definition("lists of lists", |site| json!([[site.location("a.fake", 1)]])).gets(MALFORMED),
        definition("a definition of null", |_| json!(null)).gets("No definitions found."),
        definition("a location without a range", |site| json!([{"uri": site.uri("a.fake")}])).gets(MALFORMED),
        definition("negative positions", |site| at_range(site, [-1, -1], [-1, 0])).gets(MALFORMED),
        definition("positions beyond 64 bits", |site| {
            json!([{"uri": site.uri("a.fake"), "range": {"start": {"line": 1e30, "character": 0}, "end": {"line": 1e30, "character": 0}}}])
        })
        .gets(MALFORMED),
        definition("positions at the largest number", |site| at_range(site, [4_294_967_295, 4_294_967_295], [4_294_967_295, 4_294_967_295]))
            .gets("Found 1 definition."),
        definition("positions outside the file", |site| at_range(site, [5_000, 70], [5_001, 80])).gets("Found 1 definition."),
        definition("an inverted range", |site| at_range(site, [2, 3], [1, 0])).gets("Found 1 definition."),
        definition("a position in fractions", |site| {
            json!([{"uri": site.uri("a.fake"), "range": {"start": {"line": 0.5, "character": 0}, "end": {"line": 1, "character": 0}}}])
        })
        .gets(MALFORMED),
    ]
}

fn uris() -> Vec<Behaviour> {
    let odd = |name: &'static str, uri: &'static str| definition(name, move |_| json!([location(uri, 0)]));
    vec![
        odd("a location outside the roots", "file:///etc/passwd")
            .gets("No definitions found. 1 location outside the allowed roots omitted."),
        odd("a web address", "https://example.com/a.fake")
            .gets("No definitions found. 1 location outside the allowed roots omitted."),
        odd("a URI without a scheme", "a.fake")
            .gets("No definitions found. 1 location outside the allowed roots omitted."),
        odd("an empty URI", "").gets("No definitions found. 1 location outside the allowed roots omitted."),
        odd("a URI of another host", "file://evil.example/etc/passwd")
            .gets("No definitions found. 1 location outside the allowed roots omitted."),
        odd("a URI with NUL", "file:///etc/pass%00wd")
            .gets("No definitions found. 1 location outside the allowed roots omitted."),
        definition("a URI of a million percent signs", |site| {
            json!([location(&format!("{}{}", site.uri("a.fake"), "%25".repeat(1_000_000)), 0)])
        })
        .gets("No definitions found. 1 location outside the allowed roots omitted."),
        definition("a URI that climbs out", |site| {
            json!([location(&format!("{}/../../../../../../../etc/passwd", site.uri("")), 0)])
        })
        .gets("No definitions found. 1 location outside the allowed roots omitted."),
        definition("a URI of a folder", |site| json!([location(&site.uri(""), 0)])).gets("No definitions found."),
        definition("a URI of a missing file", |site| json!([location(&site.uri("missing.fake"), 0)]))
            .gets("No definitions found."),
        definition("a link that leaves the roots", |site| {
            drop(std::os::unix::fs::symlink("/etc", site.root.join("link")));
            json!([location(&site.uri("link/passwd"), 0)])
        })
        .gets("No definitions found. 1 location outside the allowed roots omitted."),
        definition("a link to itself", |site| {
            drop(std::os::unix::fs::symlink("loop", site.root.join("loop")));
            json!([location(&site.uri("loop/a.fake"), 0)])
        })
        .gets("No definitions found."),
    ]
}

fn large() -> Vec<Behaviour> {
    let many = |count: usize| {
        move |site: &Site| {
            let uri = site.uri("a.fake");
            let item = format!("{{\"uri\":\"{uri}\",\"range\":{}}},", range(1));
            let last = item.trim_end_matches(',').to_owned();
            let steps = [repeat("{\"id\":{id},\"result\":[", &item, count, &format!("{last}]}}"))];
            good(site).on("textDocument/references", steps)
        }
    };
    vec![
        when("a million locations", many(1_000_000))
            .asked(REFERENCES)
            .gets("PROVIDER_UNAVAILABLE crashed")
            .leaves("restarting crashed, 2 protocol_error"),
        when("200,000 equal locations", many(200_000)).asked(REFERENCES).gets("Returned 1 reference."),
        result("40,000 different locations", REFERENCES, "textDocument/references", |site| {
            (0..40_000).map(|line| site.location("a.fake", line)).collect()
        })
        .gets("CAP_EXCEEDED too_many_results"),
        when("a hover of 10 MB", |site| {
            let steps = [repeat("{\"id\":{id},\"result\":{\"contents\":\"", "mmmmmmmm", 1_250_000, "\"}}")];
            good(site).on("textDocument/hover", steps)
        })
        .asked(HOVER)
        .gets("Hover available. Truncated."),
        result(
            "control characters in a hover",
            HOVER,
            "textDocument/hover",
            |_| json!({"contents": "\u{0}\u{1b}[31m\u{7}\u{202e}\u{feff}text"}),
        )
        .gets("Hover available. 4 control characters are shown as escapes."),
        result("a hover of wrong types", HOVER, "textDocument/hover", |_| json!({"contents": {"value": 7}}))
            .gets(MALFORMED),
        result(
            "a hover of 100,000 pieces",
            HOVER,
            "textDocument/hover",
            |_| json!({"contents": vec!["piece"; 100_000]}),
        )
        .gets("Hover available."),
    ]
}

fn symbol(name: &str, children: Value) -> Value {
    json!({"name": name, "kind": 12, "range": range(0), "selectionRange": range(0), "children": children})
}

fn symbols() -> Vec<Behaviour> {
    let of_document =
        |name, make: fn(&Site) -> Value| result(name, DOCUMENT_SYMBOLS, "textDocument/documentSymbol", make);
    let of_workspace = |name, make: fn(&Site) -> Value| result(name, WORKSPACE_SYMBOLS, "workspace/symbol", make);
    vec![
        when("symbols nested 10,000 deep", |site| {
            let open = format!("{{\"name\":\"s\",\"kind\":12,\"range\":{},\"selectionRange\":{},\"children\":[", range(0), range(0));
            let text = format!("{{\"id\":{{id}},\"result\":[{}{}]}}", open.repeat(10_000), "]}".repeat(10_000));
            good(site).on("textDocument/documentSymbol", [body(text)])
        })
        .asked(DOCUMENT_SYMBOLS)
        .gets(MALFORMED),
        of_document("a symbol name of 1 MB", |_| json!([symbol(&"n".repeat(1_000_000), json!([]))])).gets("CAP_EXCEEDED response_too_large"),
        of_document("an empty symbol name", |_| json!([symbol("", json!([]))])).gets("Returned 1 document symbol."),
        of_document("symbols of another document", |site| {
            json!([{"name": "n", "kind": 12, "location": site.location("b.fake", 0)}])
        })
        .gets(MALFORMED),
        of_document("children of a wrong type", |_| json!([symbol("n", json!(7))])).gets(MALFORMED),
        of_document("a symbol kind that doesn't exist", |_| {
            json!([{"name": "n", "kind": 4_000_000_000_u32, "range": range(0), "selectionRange": range(0)}])
        })
        .gets("Returned 1 document symbol."),
        of_document("100,000 symbols", |_| vec![symbol("n", json!([])); 100_000].into()).gets("Returned 1 document symbol."),
        of_workspace("workspace symbols outside the roots", |_| {
            json!([{"name": "alpha", "kind": 12, "location": location("file:///etc/passwd", 0)}])
        })
        .gets("No workspace symbols found."),
        of_workspace("workspace symbols as a number", |_| json!(7)).gets(MALFORMED),
        of_workspace("workspace symbols with a name of 1 MB", |site| {
            json!([{"name": format!("alpha{}", "n".repeat(1_000_000)), "kind": 12, "location": site.location("a.fake", 0)}])
        })
        .gets("CAP_EXCEEDED response_too_large"),
    ]
}

fn calls() -> Vec<Behaviour> {
    fn item(site: &Site) -> Value {
        json!({"name": "f", "kind": 12, "uri": site.uri("a.fake"), "range": range(0), "selectionRange": range(0), "data": {"cycle": 1}})
    }
    let prepared = |name, calls: fn(&Site) -> Value| {
        when(name, move |site| {
            good(site)
                .answer("textDocument/prepareCallHierarchy", json!([item(site)]))
                .answer("callHierarchy/incomingCalls", calls(site))
        })
        .asked("incomingCalls")
    };
    vec![
        result("a call item of a wrong type", "incomingCalls", "textDocument/prepareCallHierarchy", |_| json!([7]))
            .gets(MALFORMED),
        result("1,000 call items", "incomingCalls", "textDocument/prepareCallHierarchy", |site| {
            vec![item(site); 1_000].into()
        })
        .gets("CAP_EXCEEDED too_many_functions"),
        prepared("calls of a wrong type", |_| json!([{"from": 7}])).gets(MALFORMED),
        prepared("a function that calls itself", |site| json!([{"from": item(site), "fromRanges": [range(0)]}]))
            .gets("["),
        prepared("calls without ranges", |site| json!([{"from": item(site)}])).gets(MALFORMED),
        prepared("calls from outside the roots", |site| {
            let mut from = item(site);
            from["uri"] = "file:///etc/passwd".into();
            json!([{"from": from, "fromRanges": [range(0)]}])
        })
        .gets("No results found for incomingCalls"),
    ]
}

fn reports() -> Vec<Behaviour> {
    let pushed = |name, make: fn(&Site) -> Step| {
        when(name, move |site| good(site).on("textDocument/didOpen", [make(site)])).asked(DOCUMENT_DIAGNOSTICS)
    };
    vec![
        pushed("an unknown severity", |site| {
            diagnostics(&site.uri("a.fake"), None, json!([{"range": range(0), "severity": 99, "message": "m"}]))
        })
        .gets("Returned 1 diagnostic."),
        pushed("diagnostics of a wrong type", |site| diagnostics(&site.uri("a.fake"), None, json!([7])))
            .gets("CAP_EXCEEDED timeout answering"),
        pushed("diagnostics of a future version", |site| {
            diagnostics(&site.uri("a.fake"), Some(999), json!([finding(0, "m")]))
        })
        .gets("Returned 1 diagnostic."),
        pushed("diagnostics of a negative version", |site| {
            diagnostics(&site.uri("a.fake"), Some(-5), json!([finding(0, "m")]))
        })
        .gets("CAP_EXCEEDED timeout answering"),
        pushed("20,000 diagnostics of one file", |site| {
            diagnostics(&site.uri("a.fake"), None, vec![finding(0, "m"); 20_000].into())
        })
        .gets("CAP_EXCEEDED diagnostics_not_kept"),
        pushed("a message of 5 MB", |site| {
            diagnostics(&site.uri("a.fake"), None, json!([finding(0, &"m".repeat(5_000_000))]))
        })
        .gets("CAP_EXCEEDED diagnostics_not_kept"),
        pushed("diagnostics of another file only", |site| {
            diagnostics(&site.uri("b.fake"), None, json!([finding(0, "m")]))
        })
        .gets("CAP_EXCEEDED timeout answering"),
    ]
}

pub(super) fn behaviours() -> Vec<Behaviour> {
    [types_and_positions(), uris(), large(), symbols(), calls(), reports()].into_iter().flatten().collect()
}

#[test]
fn results() {
    check("results", behaviours());
}
