//! A fake gateway whose tools wait, hang, flood, refuse and prompt a person.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_config::{ContentMode, PermissionRule};
use codeyard_gateway::permission::{PermissionCheck, PermissionRequest, Permissions};
use codeyard_gateway::service::{Endpoint, Principal, Progress, Service, ShedBy, ToolCall, ToolReply};
use codeyard_telemetry::{CallRecord, CallStart, Metrics, OpenCall, RequestRecord, Telemetry, TransportKind};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Fake {
    pub started: AtomicUsize,
    pub dropped: Arc<AtomicUsize>,
    /// Principal, workspace, id, session, and traces of each call.
    pub seen: Mutex<Vec<Value>>,
    pub counted: Arc<Counted>,
    /// Permission of the tool `guarded`.
    pub permissions: Mutex<Permissions>,
    /// Its configured permission rule.
    pub rule: Arc<Mutex<PermissionRule>>,
    /// Whether each call has its own workspace for permissions.
    pub distinct: Mutex<bool>,
    /// Recorded permission outcomes.
    pub outcomes: Arc<PermissionOutcomes>,
}

/// Outcome of the permission of each call.
#[derive(Default)]
pub(crate) struct PermissionOutcomes(pub Mutex<Vec<&'static str>>);

impl Metrics for PermissionOutcomes {
    fn call(&self, record: &CallRecord) {
        self.0.lock().extend(record.permission.map(|outcome| outcome.as_str()));
    }

    fn restart(&self, _: &str, _: &'static str) {}
    fn retained_hit(&self) {}
}

/// Events that transports count, as short labels.
#[derive(Default)]
pub(crate) struct Counted(Mutex<Vec<String>>);

impl Counted {
    pub(crate) fn times(&self, what: &str) -> usize {
        self.0.lock().iter().filter(|counted| *counted == what).count()
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl Metrics for Counted {
    fn call(&self, _: &CallRecord) {}
    fn restart(&self, _: &str, _: &'static str) {}
    fn retained_hit(&self) {}

    fn request(&self, record: &RequestRecord) {
        let RequestRecord { method, transport, error, .. } = record;
        self.0.lock().push(format!("{method} {} {}", transport.as_str(), error.unwrap_or(0)));
    }

    fn session(&self, transport: TransportKind, _: Duration) {
        self.0.lock().push(format!("session {}", transport.as_str()));
    }

    fn rejected(&self, reason: &str) {
        self.0.lock().push(format!("rejected {reason}"));
    }

    fn shed(&self, full: &str) {
        self.0.lock().push(format!("shed {full}"));
    }
}

struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Fake {
    pub(crate) fn running(&self) -> usize {
        self.started.load(Ordering::SeqCst) - self.dropped.load(Ordering::SeqCst)
    }

    pub(crate) async fn until_running(&self, count: usize) {
        until(|| self.running() == count).await;
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let waited = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waited).await.expect("the condition never came true");
}

pub(crate) fn endpoint(workspace: &str, catalogs: &str) -> Endpoint {
    let catalogs: Vec<String> = catalogs.split('+').map(str::to_owned).collect();
    let content = ContentMode::default();
    let tenant = TenantId::default_tenant();
    Endpoint { tenant, workspace: WorkspaceName::new(workspace), group: None, catalogs: catalogs.into(), content }
}

impl Service for Fake {
    fn endpoint(&self, principal: &Principal, workspace: Option<&str>, catalogs: Option<&str>) -> Option<Endpoint> {
        let workspace = workspace.unwrap_or("main");
        let catalogs = catalogs.unwrap_or("lsp-v1");
        let visible = workspace == "main" || (workspace == "secret" && principal.id.as_str() == "bob");
        let known = catalogs.split('+').all(|name| matches!(name, "lsp-v1" | "agent"));
        (visible && known).then(|| endpoint(workspace, catalogs))
    }

    fn tools(&self, _: &Principal, endpoint: &Endpoint) -> Arc<RawValue> {
        let list: Vec<Value> = endpoint
            .catalogs
            .iter()
            .map(|name| json!({"name": format!("{name}.echo"), "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}))
            .collect();
        serde_json::value::to_raw_value(&list).unwrap().into()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolReply> {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().push(json!({
            "principal": call.principal.id.as_str(),
            "workspace": call.endpoint.workspace.as_ref().map(WorkspaceName::as_str),
            "id": call.request_id_text,
            "session": call.session,
            "traceparent": call.trace.traceparent,
            "header": call.trace.header_traceparent,
            "transport": format!("{:?}", call.transport),
            "peer": call.peer,
            "workspaces": call.principal.scope.covers_all(),
        }));
        let guard = OnDrop(Arc::clone(&self.dropped));
        let permitted = (call.tool == "guarded").then(|| self.permitted(&call));
        async move {
            let reply = match permitted {
                Some(permitted) => permitted.await,
                None => answer(call).await,
            };
            drop(guard);
            reply
        }
        .boxed()
    }

    fn metrics(&self) -> Arc<dyn Metrics> {
        self.counted.clone()
    }

    fn instructions(&self, _: &Endpoint) -> Option<String> {
        Some("be kind".to_owned())
    }
}

impl Fake {
    /// The tool `guarded` only checks its permission, as the gateway does.
    fn permitted(&self, call: &ToolCall) -> BoxFuture<'static, ToolReply> {
        let telemetry = Telemetry::new(self.outcomes.clone());
        let workspace = call.endpoint.workspace.clone().unwrap();
        let start = CallStart {
            tool: Some("guarded".into()),
            asked_tool: "hover",
            catalog: "agent",
            workspace: Some(workspace.clone()),
            principal: &call.principal,
            peer: None,
            arguments: None,
            transport: call.transport,
            request_id: &call.request_id_text,
            session: None,
            protocol_version: call.revision.as_str(),
            context: &call.trace,
        };
        let open = OpenCall::begin(&telemetry, start);
        let request = PermissionRequest {
            permission: "lsp",
            outcomes: codeyard_catalog::CatalogId::Agent.catalog().policy("lsp").outcomes,
            principal: &call.principal,
            workspace: &workspace,
            roots: if *self.distinct.lock() { &call.request_id_text } else { "roots" },
            prompts: call.prompts.as_ref(),
            input: call.input.as_ref(),
            tool: &call.tool,
            arguments: call.arguments.as_deref(),
            progress: call.progress.as_ref(),
            call: open.trace(),
        };
        let rule = self.rule.clone();
        let check = self.permissions.lock().check(&request, move || *rule.lock());
        async move {
            let checked = match check {
                PermissionCheck::Granted => Ok(()),
                PermissionCheck::Denied(error) => Err(error),
                PermissionCheck::Pending(decision) => decision.await,
                PermissionCheck::InputRequired(result) => {
                    assert!(open.end(Ok(()), codeyard_telemetry::CallReply::default()));
                    return ToolReply::InputRequired(result.into());
                }
            };
            assert!(open.end(checked.as_ref().copied(), codeyard_telemetry::CallReply::default()));
            match checked {
                Ok(()) => result(&json!("in")),
                Err(error) => ToolReply::Error {
                    code: -32_602,
                    message: error.message,
                    data: Some(serde_json::to_vec(&error.details).unwrap().into()),
                    retry_after_ms: None,
                    shed: None,
                },
            }
        }
        .boxed()
    }
}

async fn answer(call: ToolCall) -> ToolReply {
    let arguments: Value = call.arguments.as_ref().map_or(Value::Null, |raw| serde_json::from_str(raw.get()).unwrap());
    let ms = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0));
    match call.tool.as_str() {
        "hang" => std::future::pending().await,
        "slow" => {
            if let Some(progress) = &call.progress {
                progress.send(Progress { progress: 30.0, total: Some(100.0), message: Some("indexing".to_owned()) });
            }
            tokio::time::sleep(ms).await;
            result(&arguments)
        }
        "huge" => result(&json!("x".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap()))),
        "pretty" => ToolReply::Result(Bytes::from_static(
            b"{\n  \"structuredContent\": {\"a\": \"x\\ny\"},\r\n  \"content\": []\n}",
        )),
        "busy" => ToolReply::overloaded(),
        "occupied" => ToolReply::Refusal {
            result: Bytes::from_static(b"{\"isError\":true,\"content\":[]}"),
            retry_after_ms: Some(1_500),
            shed: Some(ShedBy::Overload),
        },
        "fail" => ToolReply::Error {
            code: -32_603,
            message: "no".to_owned(),
            data: Some(Bytes::from_static(b"{\"code\":\"MCP_LSP_GATEWAY/NOT_FOUND\"}")),
            retry_after_ms: None,
            shed: None,
        },
        _ => result(&arguments),
    }
}

fn result(payload: &Value) -> ToolReply {
    let result = json!({"isError": false, "structuredContent": {"echo": payload}, "content": []});
    ToolReply::Result(serde_json::to_vec(&result).unwrap().into())
}
