//! Frames that are right and hold wrong JSON-RPC: ids, results, errors, and answers nobody waits for.

use super::*;

const REFUSED: &str = "PROVIDER_UNAVAILABLE server_error";
const TIMEOUT: &str = "CAP_EXCEEDED timeout answering";

/// Messages before the right answer.
fn before_the_answer(name: &'static str, texts: impl Fn() -> Vec<String> + 'static) -> Behaviour {
    on_definition(name, move |site| {
        let mut steps: Vec<Step> = texts().iter().map(body).collect();
        steps.push(reply(json!([site.location("a.fake", 1)])));
        steps
    })
}

/// The only message after the request.
fn in_place_of_the_answer(name: &'static str, text: &'static str) -> Behaviour {
    on_definition(name, move |_| vec![body(text)])
}

fn of(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

fn ids() -> Vec<Behaviour> {
    vec![
        on_definition("no jsonrpc member", |site| {
            vec![body(format!("{{\"id\":{{id}},\"result\":[{}]}}", site.location("a.fake", 1)))]
        }),
        on_definition("another jsonrpc version", |site| {
            vec![body(format!("{{\"jsonrpc\":\"1.0\",\"id\":{{id}},\"result\":[{}]}}", site.location("a.fake", 1)))]
        }),
        in_place_of_the_answer("the id as a text", "{\"id\":\"{id}\",\"result\":null}").gets(TIMEOUT),
        in_place_of_the_answer("the id as a fraction", "{\"id\":{id}.0,\"result\":null}").gets(TIMEOUT),
        in_place_of_the_answer("the id in a list", "{\"id\":[{id}],\"result\":null}").gets(TIMEOUT),
        before_the_answer("an unknown id", || of("{\"id\":987654321,\"result\":null}")),
        before_the_answer("ids of requests to come", || {
            (0..500).map(|id| format!("{{\"id\":{},\"result\":null}}", id + 100)).collect()
        }),
        before_the_answer("the id null", || of("{\"id\":null,\"result\":1}")),
        before_the_answer("a negative id", || of("{\"id\":-1,\"result\":1}")),
        before_the_answer("an id of 300 digits", || vec![format!("{{\"id\":{},\"result\":1}}", "9".repeat(300))]),
        before_the_answer("a request with an object as its id", || {
            of("{\"id\":{},\"method\":\"window/showDocument\"}")
        }),
        before_the_answer("a request with an id of 1 MB", || {
            vec![format!("{{\"id\":\"{}\",\"method\":\"window/showDocument\"}}", "i".repeat(1_000_000))]
        }),
        before_the_answer("a request with the id null", || of("{\"id\":null,\"method\":\"window/showDocument\"}")),
        before_the_answer("a number as the method", || of("{\"id\":1,\"method\":7}")),
        before_the_answer("a method of 1 MB", || vec![format!("{{\"method\":\"{}\"}}", "m".repeat(1_000_000))]),
        before_the_answer("an empty object", || of("{}")),
        before_the_answer("notifications with params of a wrong type", || {
            ["textDocument/publishDiagnostics", "$/progress", "experimental/serverStatus", "window/logMessage"]
                .iter()
                .flat_map(|method| {
                    ["7", "null", "[]", "{}", "\"text\""]
                        .map(|params| format!("{{\"method\":\"{method}\",\"params\":{params}}}"))
                })
                .collect()
        }),
    ]
}

fn answers() -> Vec<Behaviour> {
    vec![
        on_definition("two equal answers", |site| vec![reply(json!([site.location("a.fake", 1)])); 2]),
        on_definition("two different answers", |site| {
            vec![reply(json!([site.location("a.fake", 1)])), reply(json!({"nonsense": 1})), fail(-32603, "late")]
        }),
        on_definition("an answer to a cancelled request", |site| {
            vec![until_cancelled(), reply(json!([site.location("a.fake", 1)]))]
        })
        .gets(TIMEOUT),
        in_place_of_the_answer(
            "a result and an error",
            "{\"id\":{id},\"result\":[],\"error\":{\"code\":1,\"message\":\"m\"}}",
        )
        .gets(REFUSED),
        in_place_of_the_answer("neither a result nor an error", "{\"id\":{id}}").gets("No definitions found."),
        in_place_of_the_answer("an error without a code", "{\"id\":{id},\"error\":{\"message\":\"m\"}}").gets(REFUSED),
        in_place_of_the_answer("an error code as a text", "{\"id\":{id},\"error\":{\"code\":\"7\",\"message\":\"m\"}}")
            .gets(REFUSED),
        in_place_of_the_answer(
            "an error code beyond 64 bits",
            "{\"id\":{id},\"error\":{\"code\":1e30,\"message\":\"m\"}}",
        )
        .gets(REFUSED),
        in_place_of_the_answer("a text as the error", "{\"id\":{id},\"error\":\"m\"}").gets(REFUSED),
        in_place_of_the_answer(
            "an error message that is null",
            "{\"id\":{id},\"error\":{\"code\":1,\"message\":null}}",
        )
        .gets(REFUSED),
        in_place_of_the_answer("the error null and no result", "{\"id\":{id},\"error\":null}")
            .gets("No definitions found."),
        on_definition("an error message of 10 MB", |_| {
            vec![repeat("{\"id\":{id},\"error\":{\"code\":1,\"message\":\"", "mmmmmmmm", 1_250_000, "\"}}")]
        })
        .gets(REFUSED),
        on_definition("error data of 10 MB", |_| {
            vec![repeat("{\"id\":{id},\"error\":{\"code\":1,\"message\":\"m\",\"data\":[", "[1,2],", 1_500_000, "0]}}")]
        })
        .gets(REFUSED),
        on_definition("an error with each request", |_| vec![fail(-32603, "no")]).gets(REFUSED),
        on_definition("content modified with each request", |_| vec![fail(-32801, "no")]).gets(TIMEOUT),
        on_definition("cancelled without a cancellation", |_| vec![fail(-32800, "no")]).gets(TIMEOUT),
        on_definition("no method that it advertised", |_| vec![fail(-32601, "no")])
            .gets("PROVIDER_UNAVAILABLE unsupported"),
    ]
}

pub(super) fn behaviours() -> Vec<Behaviour> {
    ids().into_iter().chain(answers()).collect()
}

#[test]
fn messages() {
    check("messages", behaviours());
}
