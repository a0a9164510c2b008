//! Permission for the tool `lsp`: checked before the gate, without a slot, and outside the deadline.

use std::sync::Arc;
use std::time::Duration;

use codeyard_base::ids::PrincipalId;
use codeyard_config::{PermissionRule, PermissionSection, PrincipalPermission};
use codeyard_gateway::elicit::{self, PromptReceiver, SessionClient};
use codeyard_gateway::service::{Endpoint, Principal, ToolCall};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::revision::Revision;
use codeyard_telemetry::{CallRecord, Metrics, PermissionOutcome};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::fake_server::*;

const LSP: &str = "lsp";

fn server() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"hoverProvider": true, "definitionProvider": true, "textDocumentSync": 1}))
        .never("textDocument/definition")
        .answer("textDocument/hover", json!({"contents": "here"}))
}

fn section(lsp: PermissionRule, principals: &[(&str, PermissionRule)]) -> PermissionSection {
    let own = |rule: PermissionRule| PrincipalPermission { lsp: Some(rule), ..PrincipalPermission::default() };
    let principals = principals.iter().map(|(name, rule)| ((*name).to_owned(), own(*rule))).collect();
    PermissionSection { lsp: Some(lsp), principals, ..PermissionSection::default() }
}

async fn yard(permission: PermissionSection) -> Yard {
    let mut yard = Plan::one(Site::usual(), server().launcher()).open().await;
    yard.reconfigure(|config| config.permission = permission).await;
    yard
}

/// A call of the tool `lsp`.
fn call(yard: &Yard, path: &str) -> ToolCall {
    let arguments = json!({"operation": "hover", "filePath": path, "line": 1, "character": 1});
    let call = yard.tool_call("w0", LSP, arguments);
    let endpoint = Endpoint { catalogs: Arc::from(["agent".to_owned()]), ..call.endpoint };
    ToolCall { endpoint, ..call }
}

fn named(call: ToolCall, principal: &str) -> ToolCall {
    ToolCall { principal: Principal::named(PrincipalId::new(principal)), ..call }
}

/// A client that accepts prompts, and a call that can prompt it.
fn asked(call: ToolCall) -> (Arc<SessionClient>, ToolCall, PromptReceiver) {
    let client = Arc::new(SessionClient::default());
    client.set_supports_forms(true, Revision::DEFAULT);
    let (sender, receiver) = elicit::prompt_channel(&client);
    (client, ToolCall { prompts: Some(sender), ..call }, receiver)
}

/// Id of the next message, which must be a prompt.
async fn question(end: &mut PromptReceiver) -> String {
    let message: Value = serde_json::from_slice(&end.recv().await.expect("a question")).unwrap();
    assert_eq!(message["method"], "elicitation/create");
    message["id"].as_str().unwrap().to_owned()
}

fn answer(client: &Arc<SessionClient>, id: &str, word: &str) {
    let result = json!({"action": "accept", "content": {"decision": word}}).to_string();
    client.handle_response(&RequestId::of_text(id), Ok(&RawValue::from_string(result).unwrap()));
}

#[track_caller]
fn refused(called: &Called, reason: &str) -> String {
    let (answered, text, error) = called.lsp();
    assert!(!answered, "{text}");
    assert_eq!((&error["code"], &error["reason"]), (&json!("WORKSPACE_DENIED"), &json!(reason)), "{text}");
    assert!(text.contains("permission.lsp") && text.contains("codeyard config check"), "{text}");
    text
}

#[test]
fn denied_callers_learn_nothing_about_files() {
    paused(|| async {
        let yard = yard(section(PermissionRule::Deny, &[])).await;
        let mut answers = Vec::new();
        for path in ["a.fake", "missing.fake", "/etc/passwd", "/nowhere/at/all", "..", "%00"] {
            let called = yard.run(call(&yard, path)).await;
            called.took_about(0);
            refused(&called, "permission_denied");
            answers.push(called.bytes().to_vec());
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "the same bytes for every file");
        assert!(yard.run(call(&yard, "")).await.lsp().2["code"] == "INVALID_PARAMS", "arguments are read before");
        let of_another_catalog = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        of_another_catalog.failed_as("WORKSPACE_DENIED", "permission_denied");
    });
}

#[test]
fn a_principals_permission_wins_and_a_reload_applies_to_the_next_call() {
    paused(|| async {
        let mut yard = yard(section(PermissionRule::Deny, &[("bob", PermissionRule::Allow)])).await;
        assert!(yard.run(named(call(&yard, "a.fake"), "bob")).await.lsp().0);
        refused(&yard.run(named(call(&yard, "a.fake"), "ann")).await, "permission_denied");
        let epochs = yard.epochs().await;
        let own = section(PermissionRule::Allow, &[("bob", PermissionRule::Deny)]);
        yard.reconfigure(|config| config.workspaces[0].permission = Some(own)).await;
        refused(&yard.run(named(call(&yard, "a.fake"), "bob")).await, "permission_denied");
        assert!(yard.run(named(call(&yard, "a.fake"), "ann")).await.lsp().0);
        assert_eq!(yard.epochs().await, epochs, "nothing restarts");
        yard.reconfigure(|config| config.workspaces[0].permission = Some(section(PermissionRule::Ask, &[]))).await;
        refused(&yard.run(named(call(&yard, "a.fake"), "ann")).await, "permission_not_asked");
    });
}

/// Records the metrics of calls that needed a permission.
#[derive(Default)]
struct CallRecorder(Mutex<Vec<CallRecord>>);

impl Metrics for CallRecorder {
    fn call(&self, record: &CallRecord) {
        self.0.lock().push(record.clone());
    }

    fn restart(&self, _: &str, _: &'static str) {}
    fn retained_hit(&self) {}
}

#[test]
fn the_wait_for_a_person_is_recorded_separately() {
    paused(|| async {
        let recorder = Arc::new(CallRecorder::default());
        let plan = Plan::one(Site::usual(), server().launcher()).metrics(recorder.clone());
        let mut yard = plan.open().await;
        yard.reconfigure(|config| config.permission = section(PermissionRule::Allow, &[("ann", PermissionRule::Ask)]))
            .await;
        let (client, pending, mut end) = asked(named(call(&yard, "a.fake"), "ann"));
        let pending = tokio::spawn(yard.run(pending));
        let id = question(&mut end).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        answer(&client, &id, "once");
        assert!(pending.await.unwrap().lsp().0);
        let (_client, pending, mut end) = asked(named(call(&yard, "a.fake"), "ann"));
        let pending = tokio::spawn(yard.run(pending));
        question(&mut end).await;
        pending.abort();
        settle().await;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let recorder = recorder.0.lock();
        let outcomes: Vec<_> = recorder.iter().map(|record| record.permission).collect();
        assert_eq!(
            outcomes,
            [Some(PermissionOutcome::Once), Some(PermissionOutcome::Withdrawn), Some(PermissionOutcome::Allowed)]
        );
        let first = &recorder[0];
        assert!(first.asked >= Duration::from_secs(60) && first.total >= first.asked);
        assert!(first.queue < Duration::from_secs(1), "its workspace didn't let it wait: {:?}", first.queue);
    });
}

#[test]
fn a_person_may_exceed_the_deadline_and_occupies_no_slot() {
    paused(|| async {
        let yard = yard(section(PermissionRule::Allow, &[("ann", PermissionRule::Ask)])).await;
        let (client, pending, mut end) = asked(named(call(&yard, "a.fake"), "ann"));
        let pending = tokio::spawn(yard.run(pending));
        let id = question(&mut end).await;
        // The waiting call occupies no slot: calls up to the limit are admitted.
        let at = || yard.site().at("a.fake", 0, 0);
        let others: Vec<_> = (0..256).map(|_| yard.spawn(DEFINITION, at())).collect();
        settle().await;
        yard.call(HOVER, at()).await.failed_as("CAP_EXCEEDED", "overloaded");
        for other in others {
            other.await.unwrap().timed_out("answering");
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        answer(&client, &id, "once");
        let called = pending.await.unwrap();
        assert!(called.lsp().0 && called.took >= Duration::from_secs(60));
    });
}

#[test]
fn a_workspace_removed_during_a_prompt_is_not_queried() {
    paused(|| async {
        let mut yard = yard(section(PermissionRule::Ask, &[])).await;
        let (client, pending, mut end) = asked(call(&yard, "a.fake"));
        let pending = tokio::spawn(yard.run(pending));
        let id = question(&mut end).await;
        let other = Site::usual();
        yard.reconfigure(|config| config.workspaces[0].roots = vec![other.root.clone()]).await;
        answer(&client, &id, "once");
        let (answered, text, error) = pending.await.unwrap().lsp();
        assert!(!answered && error["reason"] == "overloaded", "it was allowed for other folders: {text}");
        let (client, pending, mut end) = asked(call(&yard, "a.fake"));
        let pending = tokio::spawn(yard.run(pending));
        let id = question(&mut end).await;
        yard.reconfigure(|config| config.workspaces.clear()).await;
        answer(&client, &id, "once");
        refused(&pending.await.unwrap(), "permission_denied");
    });
}
