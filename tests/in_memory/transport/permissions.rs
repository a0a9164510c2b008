//! Permission prompts over both transports: the prompt on the call's stream, every answer to it,
//! and every way to withdraw it.

use std::sync::Arc;
use std::time::Duration;

use codeyard_config::PermissionRule;
use codeyard_gateway::limits::{MAX_OPEN_PROMPTS, PERMISSION_WAIT_MS};
use codeyard_gateway::permission::Permissions;
use codeyard_state::{PermissionStore, StateDir};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::transport::fake::{Fake, until};
use crate::transport::stdio::{Pipe, pipe};
use crate::transport::wire::{Ask, Server, server};

const GUARDED: &str = "guarded";

fn ask_first(fake: &Fake) {
    *fake.rule.lock() = PermissionRule::Ask;
}

/// An answer to the prompt `id`.
fn accept(id: &Value, word: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"decision": word}}})
}

/// For every answer: the result, the recorded outcome, and the reason of the error.
fn answers(id: &Value) -> Vec<(Value, &'static str, &'static str)> {
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    vec![
        (accept(id, "once"), "once", ""),
        (accept(id, "deny"), "declined", "permission_declined"),
        (result(json!({"action": "decline"})), "declined", "permission_declined"),
        (result(json!({"action": "cancel"})), "dismissed", "permission_cancelled"),
        (accept(id, "yes"), "not_asked", "permission_not_asked"),
        (result(json!({"action": "accept"})), "not_asked", "permission_not_asked"),
        (result(json!({"action": "accept", "content": {"decision": 1}})), "not_asked", "permission_not_asked"),
        (result(json!([])), "not_asked", "permission_not_asked"),
        (
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
            "not_asked",
            "permission_not_asked",
        ),
    ]
}

/// A call whose answer is read incrementally from an event stream.
struct Stream {
    stream: TcpStream,
    text: String,
    read: usize,
}

impl Stream {
    async fn open(server: &Server, ask: &Ask) -> Self {
        Self { stream: server.open(&ask.bytes()).await, text: String::new(), read: 0 }
    }

    /// The next message of the stream, or the body of another answer.
    async fn next(&mut self) -> Value {
        let next = async {
            loop {
                let lines: Vec<&str> = self.text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
                let messages = lines.iter().filter_map(|line| line.strip_prefix("data: "));
                if let Some(message) = messages.clone().nth(self.read) {
                    self.read += 1;
                    return serde_json::from_str(message).unwrap();
                }
                let mut more = [0_u8; 4096];
                let count = self.stream.read(&mut more).await.unwrap();
                assert!(count > 0, "the stream ended: {}", self.text);
                self.text.push_str(std::str::from_utf8(&more[..count]).unwrap());
            }
        };
        tokio::time::timeout(Duration::from_secs(20), next).await.expect("no message")
    }

    async fn ends(&mut self) {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).await.unwrap();
        assert!(!rest.contains("data: "), "{rest}");
    }
}

impl Server {
    fn guarded(&self, id: u64, session: &str) -> Ask {
        self.call(&json!(id), GUARDED, &json!({})).in_session(session)
    }

    /// Posts a client message in `session` and asserts that it is accepted.
    async fn post_to(&self, session: &str, message: &Value) {
        let answer = self.send(&self.post(message).in_session(session)).await;
        assert_eq!((answer.status, answer.body.len()), (202, 0), "{message}");
    }

    fn outcomes(&self) -> Vec<&'static str> {
        self.fake.outcomes.0.lock().clone()
    }
}

fn is_in(answer: &Value) -> bool {
    answer["result"]["structuredContent"]["echo"] == "in"
}

fn reason(answer: &Value) -> &str {
    answer["error"]["data"]["reason"].as_str().unwrap_or_default()
}

fn is_withdrawal(message: &Value, question: &Value) -> bool {
    message["method"] == "notifications/cancelled" && message["params"]["requestId"] == question["id"]
}

#[tokio::test]
async fn the_prompt_uses_the_calls_stream_and_every_answer_applies() {
    let server = server().await;
    ask_first(&server.fake);
    let session = server.session_with_forms().await;
    let mut ids = Vec::new();
    for at in 0..answers(&Value::Null).len() {
        let mut stream = Stream::open(&server, &server.guarded(7, &session)).await;
        let question = stream.next().await;
        assert!(stream.text.to_ascii_lowercase().contains("content-type: text/event-stream"));
        assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
        let text = question["params"]["message"].as_str().unwrap();
        assert!(["`local`", "`lsp`", "`main`"].iter().all(|name| text.contains(name)), "{text}");
        let field = &question["params"]["requestedSchema"]["properties"]["decision"]["oneOf"];
        let words: Vec<&Value> = field.as_array().unwrap().iter().map(|option| &option["const"]).collect();
        assert_eq!(words, ["once", "always", "deny"]);
        let (answer, outcome, expected) = answers(&question["id"]).swap_remove(at);
        server.post_to(&session, &answer).await;
        let end = stream.next().await;
        stream.ends().await;
        assert_eq!((&end["id"], is_in(&end), reason(&end)), (&json!(7), expected.is_empty(), expected), "{answer}");
        assert_eq!(server.outcomes().last(), Some(&outcome), "{answer}");
        let message = end["error"]["message"].as_str().unwrap_or("permission.lsp");
        assert!(message.contains("permission.lsp") && (end["error"].is_null() || message.contains("codeyard config")));
        // A second answer to the same prompt has no effect.
        server.post_to(&session, &answer).await;
        ids.push(question["id"].as_str().unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), answers(&Value::Null).len(), "each question has an id of its own");
    assert!(ids.iter().all(|id| id.len() >= 22));
}

#[tokio::test]
async fn always_survives_restarts_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let store = || PermissionStore::new(StateDir::open(dir.path()).unwrap().store().unwrap());
    let started = async || {
        let server = server().await;
        ask_first(&server.fake);
        *server.fake.permissions.lock() = Permissions::remembered_in(Arc::new(store()));
        server
    };
    let server = started().await;
    let session = server.session_with_forms().await;
    let mut stream = Stream::open(&server, &server.guarded(1, &session)).await;
    let question = stream.next().await;
    server.post_to(&session, &accept(&question["id"], "always")).await;
    assert!(is_in(&stream.next().await));
    // This applies to another session too, even of a client without forms.
    for session in [session, server.session().await] {
        assert!(is_in(&server.send(&server.guarded(2, &session)).await.json()));
    }
    assert_eq!(server.outcomes(), ["always", "remembered", "remembered"]);
    drop(server);
    let again = started().await;
    let session = again.session().await;
    assert!(is_in(&again.send(&again.guarded(3, &session)).await.json()));
    let bob = again.post(&crate::transport::wire::initialize()).set("authorization", &format!("Bearer {}", again.bob));
    let bobs = again.send(&bob).await.header("mcp-session-id").unwrap().to_owned();
    let bob = again.guarded(4, &bobs).set("authorization", &format!("Bearer {}", again.bob));
    assert_eq!(again.send(&bob).await.reason(), "permission_not_asked", "it was allowed to another principal");
    *again.fake.rule.lock() = PermissionRule::Deny;
    assert_eq!(again.send(&again.guarded(5, &session)).await.reason(), "permission_denied", "the configuration wins");
    ask_first(&again.fake);
    assert_eq!(store().revoke(|grant| grant.principal == "local").unwrap(), 1);
    assert_eq!(again.send(&again.guarded(6, &session)).await.reason(), "permission_not_asked");
}

#[tokio::test]
async fn allow_and_deny_prompt_nobody_and_clients_without_forms_are_denied() {
    let server = server().await;
    let forms = server.session_with_forms().await;
    assert!(is_in(&server.send(&server.guarded(1, &forms)).await.json()));
    *server.fake.rule.lock() = PermissionRule::Deny;
    assert_eq!(server.send(&server.guarded(2, &forms)).await.reason(), "permission_denied");
    ask_first(&server.fake);
    let mut url_only = crate::transport::wire::initialize();
    url_only["params"]["capabilities"] = json!({"elicitation": {"url": {}}});
    let url_only = server.send(&server.post(&url_only)).await.header("mcp-session-id").unwrap().to_owned();
    for session in [server.session().await, url_only] {
        let answer = server.send(&server.guarded(3, &session)).await;
        assert_eq!(
            (answer.header("content-type"), &*answer.reason()),
            (Some("application/json"), "permission_not_asked")
        );
        assert_eq!(answer.json()["error"]["data"]["setting"], "permission.lsp");
    }
    assert_eq!(server.outcomes(), ["allowed", "denied", "not_asked", "not_asked"]);
}

#[tokio::test]
async fn an_answer_applies_only_to_its_own_session() {
    let server = server().await;
    ask_first(&server.fake);
    let session = server.session_with_forms().await;
    let other = server.session_with_forms().await;
    let mut stream = Stream::open(&server, &server.guarded(1, &session)).await;
    let question = stream.next().await;
    server.post_to(&other, &accept(&question["id"], "once")).await;
    server.post_to(&session, &accept(&json!("ask-of-nobody"), "once")).await;
    server.post_to(&session, &accept(&json!(1), "once")).await;
    let bob = server.post(&accept(&question["id"], "once")).in_session(&session);
    let bob = server.send(&bob.set("authorization", &format!("Bearer {}", server.bob))).await;
    assert_eq!(bob.status, 404, "another principal");
    server.post_to(&session, &json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})).await;
    assert_eq!(reason(&stream.next().await), "permission_declined", "the other answers had no effect");
}

#[tokio::test]
async fn identical_prompts_are_shown_once() {
    let server = server().await;
    ask_first(&server.fake);
    let session = server.session_with_forms().await;
    let mut first = Stream::open(&server, &server.guarded(1, &session)).await;
    let question = first.next().await;
    let asks = [2, 3].map(|id| server.guarded(id, &session));
    let sharing = async {
        server.fake.until_running(3).await;
        server.post_to(&session, &accept(&question["id"], "once")).await;
    };
    let (second, third, ()) = tokio::join!(server.send(&asks[0]), server.send(&asks[1]), sharing);
    for answer in [&second, &third] {
        assert_eq!(answer.header("content-type"), Some("application/json"), "these calls sent no prompt");
        assert!(is_in(&answer.json()));
    }
    assert!(is_in(&first.next().await));
    // The call with the prompt is cancelled: one of the calls that waited with it prompts again.
    let mut first = Stream::open(&server, &server.guarded(4, &session)).await;
    let question = first.next().await;
    let mut second = Stream::open(&server, &server.guarded(5, &session)).await;
    server.fake.until_running(2).await;
    drop(first);
    let repeated = second.next().await;
    assert_ne!(repeated["id"], question["id"]);
    server.post_to(&session, &accept(&question["id"], "once")).await;
    server.post_to(&session, &accept(&repeated["id"], "deny")).await;
    assert_eq!(reason(&second.next().await), "permission_declined");
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_prompt() {
    let server = server().await;
    ask_first(&server.fake);
    let session = server.session_with_forms().await;
    let mut stream = Stream::open(&server, &server.guarded(1, &session)).await;
    let question = stream.next().await;
    server
        .post_to(&session, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    assert!(is_withdrawal(&stream.next().await, &question));
    stream.ends().await;
    server.post_to(&session, &accept(&question["id"], "always")).await;
    assert_eq!(server.outcomes(), ["withdrawn"]);
}

#[tokio::test]
async fn the_end_of_a_session_withdraws_its_prompts() {
    let server = server().await;
    ask_first(&server.fake);
    let session = server.session_with_forms().await;
    let mut stream = Stream::open(&server, &server.guarded(1, &session)).await;
    let question = stream.next().await;
    let delete = server.post(&Value::Null).in_session(&session).method("DELETE").body("");
    assert_eq!(server.send(&delete).await.status, 204);
    assert!(is_withdrawal(&stream.next().await, &question));
    stream.ends().await;
    let late = server.send(&server.post(&accept(&question["id"], "always")).in_session(&session)).await;
    assert_eq!(late.status, 404);
}

#[tokio::test]
async fn a_late_answer_is_accepted_and_only_always_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let server = server().await;
    ask_first(&server.fake);
    let store = Arc::new(PermissionStore::new(StateDir::open(dir.path()).unwrap().store().unwrap()));
    *server.fake.permissions.lock() = Permissions::remembered_in(store.clone()).with_wait(Duration::ZERO);
    let session = server.session_with_forms().await;
    for word in ["once", "deny", "always"] {
        let mut stream = Stream::open(&server, &server.guarded(1, &session)).await;
        let question = stream.next().await;
        assert!(is_withdrawal(&stream.next().await, &question));
        assert_eq!(reason(&stream.next().await), "permission_unanswered");
        server.post_to(&session, &accept(&question["id"], word)).await;
        if word != "always" {
            assert!(store.list().unwrap().is_empty());
        }
    }
    until(|| !store.list().unwrap().is_empty()).await;
    assert!(is_in(&server.send(&server.guarded(2, &session)).await.json()));
    assert_eq!(server.outcomes(), ["unanswered", "unanswered", "unanswered", "remembered"]);
}

async fn forms(pipe: &mut Pipe) {
    let mut message = crate::transport::wire::initialize();
    message["params"]["capabilities"] = json!({"elicitation": {"form": {}}});
    pipe.send(format!("{message}\n")).await;
    assert!(pipe.next().await["result"].is_object());
    ask_first(&pipe.fake);
}

#[tokio::test]
async fn stdio_carries_prompts_and_answers() {
    let mut pipe = pipe();
    ask_first(&pipe.fake);
    pipe.call(1, GUARDED, json!({}), json!({})).await;
    assert_eq!(reason(&pipe.next().await), "permission_not_asked", "the client hasn't declared forms yet");
    forms(&mut pipe).await;
    for at in 0..answers(&Value::Null).len() {
        pipe.call(2, GUARDED, json!({}), json!({})).await;
        let question = pipe.next().await;
        assert_eq!(question["method"], "elicitation/create");
        let (answer, outcome, expected) = answers(&question["id"]).swap_remove(at);
        pipe.send(format!("{}\n{answer}\n", accept(&json!("ask-other"), "once"))).await;
        let end = pipe.next().await;
        assert_eq!((&end["id"], is_in(&end), reason(&end)), (&json!(2), expected.is_empty(), expected), "{answer}");
        assert_eq!(pipe.fake.outcomes.0.lock().last(), Some(&outcome));
    }
    pipe.call(3, GUARDED, json!({}), json!({})).await;
    let question = pipe.next().await;
    pipe.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n").await;
    assert!(is_withdrawal(&pipe.next().await, &question));
    assert_eq!(pipe.end().await, "", "a cancelled call isn't answered");
}

#[tokio::test]
async fn the_end_of_input_withdraws_prompts() {
    let mut pipe = pipe();
    forms(&mut pipe).await;
    pipe.call(1, GUARDED, json!({}), json!({})).await;
    let question = pipe.next().await;
    let rest = pipe.end().await;
    let messages: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(messages.len() == 1 && is_withdrawal(&messages[0], &question), "{rest}");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_expires_at_its_limit() {
    let mut pipe = pipe();
    forms(&mut pipe).await;
    let began = tokio::time::Instant::now();
    pipe.call(1, GUARDED, json!({}), json!({})).await;
    let question = pipe.next().await;
    // Paused time advances only when all tasks wait.
    let bound = Duration::from_millis(PERMISSION_WAIT_MS);
    tokio::time::sleep_until(began + bound - Duration::from_millis(10)).await;
    pipe.send("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n").await;
    assert_eq!(pipe.next().await["id"], 9, "no answer yet");
    tokio::time::sleep_until(began + bound + Duration::from_millis(10)).await;
    assert!(is_withdrawal(&pipe.next().await, &question));
    assert_eq!(reason(&pipe.next().await), "permission_unanswered");
    pipe.send(format!("{}\n", accept(&question["id"], "once"))).await;
    pipe.call(2, GUARDED, json!({}), json!({})).await;
    let repeated = pipe.next().await;
    assert_eq!(repeated["method"], "elicitation/create", "a late `once` permits no later call");
    pipe.send(format!("{}\n", accept(&repeated["id"], "once"))).await;
    assert!(is_in(&pipe.next().await));
}

#[tokio::test]
async fn a_denial_during_a_prompt_wins_over_its_answer() {
    let mut pipe = pipe();
    forms(&mut pipe).await;
    pipe.call(1, GUARDED, json!({}), json!({})).await;
    let question = pipe.next().await;
    *pipe.fake.rule.lock() = PermissionRule::Deny;
    pipe.send(format!("{}\n", accept(&question["id"], "once"))).await;
    assert_eq!(reason(&pipe.next().await), "permission_denied");
    pipe.end().await;
}

#[tokio::test]
async fn open_prompts_of_a_session_are_bounded() {
    let mut pipe = pipe();
    forms(&mut pipe).await;
    *pipe.fake.distinct.lock() = true;
    for id in 0..MAX_OPEN_PROMPTS as u64 {
        pipe.call(id, GUARDED, json!({}), json!({})).await;
        assert_eq!(pipe.next().await["method"], "elicitation/create");
    }
    pipe.call(99, GUARDED, json!({}), json!({})).await;
    let refused = pipe.next().await;
    assert_eq!((&refused["id"], reason(&refused)), (&json!(99), "overloaded"));
    assert_eq!(pipe.fake.outcomes.0.lock().last(), Some(&"too_many"));
    pipe.end().await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_person() {
    let mut server = server().await;
    ask_first(&server.fake);
    let session = server.session_with_forms().await;
    let mut stream = Stream::open(&server, &server.guarded(1, &session)).await;
    let question = stream.next().await;
    server.stop.cancel();
    assert!(is_withdrawal(&stream.next().await, &question));
    assert_eq!(reason(&stream.next().await), "permission_unanswered");
    stream.ends().await;
    (&mut server.task).await.unwrap().unwrap();

    let mut pipe = pipe();
    forms(&mut pipe).await;
    pipe.call(1, GUARDED, json!({}), json!({})).await;
    let question = pipe.next().await;
    pipe.stop();
    assert!(is_withdrawal(&pipe.next().await, &question));
    assert_eq!(reason(&pipe.next().await), "permission_unanswered");
    assert_eq!(pipe.end().await, "");
}

#[tokio::test(start_paused = true)]
async fn progress_reports_the_wait_for_a_person() {
    let mut pipe = pipe();
    forms(&mut pipe).await;
    pipe.call(1, GUARDED, json!({}), json!({"progressToken": 5})).await;
    let question = pipe.next().await;
    let outcomes = pipe.next().await;
    assert_eq!(
        (&outcomes["method"], &outcomes["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!(5))
    );
    assert_eq!(outcomes["params"]["message"], "waiting for a person's permission");
    pipe.send(format!("{}\n", accept(&question["id"], "once"))).await;
    assert!(is_in(&pipe.next().await));
}
