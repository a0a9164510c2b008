//! The gateway as transports see it: endpoints, tool lists, and calls from decoding to encoding (rows 4 to 6, and 12).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use parking_lot::RwLock;
use serde_json::value::RawValue;

use super::admission::Admission;
use super::code;
use super::entry::{Entry, Way};
use super::home::Home;
use super::permission::{Check, Permissions, Wanted};
use super::service::{Endpoint, Principal, Reply, Service, ToolCall};
use crate::limits::{self};
use codeyard_base::clock::Deadline;
use codeyard_base::ids::WorkspaceName;
use codeyard_catalog::{Catalog, CatalogSet};
use codeyard_config::PermissionRule;
use codeyard_engine::directory::{Directory, WorkspaceHandle};
use codeyard_files::gate::FileStamp;
use codeyard_model::answer::Answer;
use codeyard_model::code::CodeAnswer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::Limits;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_protocol::error::Fault;
use codeyard_protocol::names::REVISION;
use codeyard_telemetry::{CallStart, Metrics, OpenCall, Telemetry};

/// Catalog joins that are remembered with their tool lists.
const MAX_REMEMBERED_SETS: usize = 64;

/// See the module.
pub struct Gateway {
    directory: Arc<Directory>,
    admission: Admission,
    permissions: Permissions,
    telemetry: Telemetry,
    sets: RwLock<HashMap<String, Arc<Served>>>,
}

impl Served {
    /// The catalog that holds `tool`, and the tool's name.
    fn find(&self, tool: &str) -> Option<(&'static dyn Catalog, Arc<str>)> {
        Some((self.set.find(tool)?, self.tools.get(tool)?.clone()))
    }
}

/// A join of catalogs, ready to be served.
struct Served {
    set: CatalogSet,
    catalogs: Arc<[String]>,
    tools: HashMap<String, Arc<str>>,
    list: Arc<RawValue>,
}

impl Gateway {
    /// A gateway to the workspaces of `directory`.
    pub fn new(directory: Arc<Directory>, telemetry: Telemetry) -> Self {
        let (admission, permissions) = (Admission::default(), Permissions::default());
        Self { directory, admission, permissions, telemetry, sets: RwLock::default() }
    }

    /// Replaces how permissions are given.
    pub fn with_permissions(self, permissions: Permissions) -> Self {
        Self { permissions, ..self }
    }

    /// Replaces the number of places, for tests of overload.
    pub fn with_admission(self, admission: Admission) -> Self {
        Self { admission, ..self }
    }

    fn served(&self, name: &str) -> Option<Arc<Served>> {
        if let Some(served) = self.sets.read().get(name) {
            return Some(served.clone());
        }
        let set = CatalogSet::parse(name).ok()?;
        let list = RawValue::from_string(set.tools_json().to_owned()).ok()?;
        let tools = set.ids().iter().flat_map(|id| id.catalog().tool_names());
        let tools = tools.map(|name| (name.clone(), Arc::from(name))).collect();
        let catalogs = set.ids().iter().map(|id| id.as_str().to_owned()).collect();
        let served = Arc::new(Served { set, catalogs, tools, list: Arc::from(list) });
        let mut sets = self.sets.write();
        if sets.len() < MAX_REMEMBERED_SETS {
            sets.insert(name.to_owned(), served.clone());
        }
        Some(served)
    }

    fn served_at(&self, endpoint: &Endpoint) -> Option<Arc<Served>> {
        match &*endpoint.catalogs {
            [one] => self.served(one),
            several => self.served(&several.join("+")),
        }
    }

    /// What is told of `call` from its arrival on.
    fn open(&self, call: &ToolCall, tool: Option<Arc<str>>, catalog: &'static str) -> OpenCall {
        let start = CallStart {
            tool,
            catalog,
            workspace: call.endpoint.workspace.clone(),
            principal: &call.principal.id,
            transport: call.transport,
            request_id: &call.request_id_text,
            session: call.session.clone(),
            protocol_version: REVISION,
            context: &call.trace,
        };
        OpenCall::begin(&self.telemetry, start)
    }

    /// Rows 4 to 6: decodes, asks for permission, gates, admits, and starts the call's actor.
    fn start(&self, call: &ToolCall, catalog: &dyn Catalog, open: &OpenCall) -> Result<Started, Box<Refused>> {
        let workspace = call.endpoint.workspace.as_ref().and_then(|name| self.directory.get(name));
        let limits = workspace.as_ref().map(|workspace| workspace.limits.clone()).unwrap_or_default();
        let fail = |error: ToolError| Box::new(Refused { error, limits: limits.clone() });
        let timeout = Duration::from_millis(limits.request_timeout_ms);
        let deadline = Deadline::after(timeout);
        let query = catalog.decode(&call.tool, call.arguments.as_deref(), limits.max_page_size).map_err(fail)?;
        if let Query::Lsp(asked) = &query {
            open.trace().note(|record| record.operation = Some(asked.operation.as_str()));
        }
        if query.page().is_some_and(|page| page.cursor.is_some()) {
            open.trace().has_cursor();
        }
        let Some(workspace) = workspace else { return Err(fail(no_workspace())) };
        if let Query::Code(asked) = &query
            && let Some(refusal) = code::other_workspace(&self.directory, &workspace, asked)
        {
            let answer = Answer::Code(CodeAnswer::Refused(Box::new(refusal)));
            return Ok(Started { way: Way::Known(Box::new(answer)), limits });
        }
        let check = self.permission(call, catalog, &workspace, open);
        let entry = Entry {
            admission: self.admission.clone(),
            metrics: self.telemetry.metrics().clone(),
            workspace,
            query,
            progress: call.progress.clone(),
            trace: open.trace().clone(),
        };
        let way = match check {
            Check::Granted => Way::Open(entry.enter(deadline).map_err(fail)?),
            Check::Refused(error) => return Err(fail(error)),
            // Its time begins when a person has answered.
            Check::Asking(asking) => Way::Asking(
                async move {
                    asking.await?;
                    entry.enter(Deadline::after(timeout))
                }
                .boxed(),
            ),
        };
        Ok(Started { way, limits })
    }

    /// Whether the catalog's permission is given to the caller.
    fn permission(&self, call: &ToolCall, catalog: &dyn Catalog, at: &WorkspaceHandle, open: &OpenCall) -> Check {
        let Some(permission) = catalog.permission() else { return Check::Granted };
        let wanted = Wanted {
            permission,
            principal: &call.principal.id,
            workspace: &at.name,
            roots: at.gate.root_set().key(),
            line: call.line.as_ref(),
            progress: call.progress.as_ref(),
            call: open.trace(),
        };
        let (directory, name, principal) = (self.directory.clone(), at.name.clone(), call.principal.id.clone());
        self.permissions.check(&wanted, move || {
            let here = directory.get(&name);
            here.map_or(PermissionRule::Deny, |here| here.permission.rule(permission, &principal))
        })
    }
}

struct Started {
    way: Way,
    limits: Limits,
}

struct Refused {
    error: ToolError,
    limits: Limits,
}

impl Service for Gateway {
    fn default_workspace(&self) -> Option<WorkspaceName> {
        self.directory.default_name()
    }

    fn endpoint(&self, principal: &Principal, workspace: Option<&str>, catalogs: Option<&str>) -> Option<Endpoint> {
        let served = self.served(catalogs.unwrap_or(codeyard_catalog::CatalogId::LspV1.as_str()))?;
        let handle = match (workspace, self.directory.default_name()) {
            (Some(text), _) => Some(self.directory.find(text)?),
            (None, Some(name)) => Some(self.directory.get(&name)?),
            (None, None) => None,
        };
        if handle.as_ref().is_some_and(|handle| handle.tenant != principal.tenant) {
            return None;
        }
        let name = handle.map(|handle| handle.name.clone());
        Some(Endpoint { workspace: name, catalogs: served.catalogs.clone() })
    }

    fn home(&self, endpoint: &Endpoint) -> Option<Home> {
        Some(Home::of(&*self.directory.get(endpoint.workspace.as_ref()?)?))
    }

    fn tools(&self, endpoint: &Endpoint) -> Arc<RawValue> {
        self.served_at(endpoint).map(|served| served.list.clone()).unwrap_or_else(|| Arc::from(empty_list()))
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Reply> {
        let served = self.served_at(&call.endpoint);
        let found = served.as_ref().and_then(|served| served.find(&call.tool));
        let Some((catalog, tool)) = found else {
            let open = self.open(&call, None, "");
            let error = codeyard_catalog::unknown_tool(&call.tool);
            let reply = to_reply(codeyard_catalog::catalog_error(&call.tool));
            close(open, Err(&error), &reply);
            return futures::future::ready(reply).boxed();
        };
        let open = self.open(&call, Some(tool), catalog.id().as_str());
        match self.start(&call, catalog, &open) {
            Ok(started) => async move {
                let result = started.way.answer().await;
                let reply = encode(catalog, result.as_ref(), &started.limits);
                close(open, result.as_ref(), &reply);
                reply
            }
            .boxed(),
            Err(refused) => {
                let reply = encode(catalog, Err(&refused.error), &refused.limits);
                close(open, Err(&refused.error), &reply);
                futures::future::ready(reply).boxed()
            }
        }
    }

    fn metrics(&self) -> Arc<dyn Metrics> {
        self.telemetry.metrics().clone()
    }

    fn overloaded(&self, call: &ToolCall) -> Reply {
        let error = ToolError::overloaded(codeyard_model::limits::RETRY_AFTER_MS);
        let served = self.served_at(&call.endpoint);
        let (catalog, tool) = served.as_ref().and_then(|served| served.find(&call.tool)).unzip();
        let open = self.open(call, tool, catalog.map_or("", |catalog| catalog.id().as_str()));
        let reply = match catalog {
            Some(catalog) => encode(catalog, Err(&error), &Limits::default()),
            None => Reply::overloaded(),
        };
        close(open, Err(&error), &reply);
        reply
    }

    fn malformed(&self, call: &ToolCall) {
        let error = ToolError::new(ErrorCode::InvalidParams, "the parameters name no tool").with("reason", "malformed");
        let reply = codeyard_telemetry::Reply {
            rpc_code: Some(Fault::BadParams.code()),
            ..codeyard_telemetry::Reply::default()
        };
        self.open(call, None, "").end(Err(&error), reply);
    }

    fn instructions(&self, endpoint: &Endpoint) -> Option<String> {
        let handle = self.directory.get(endpoint.workspace.as_ref()?)?;
        let roots: Vec<String> =
            handle.gate.root_set().roots().iter().map(|root| codeyard_model::uri::encode_path(root)).collect();
        let served = self.served_at(endpoint)?;
        let mut guides: Vec<&str> = served.set.ids().iter().map(|id| id.catalog().guide()).collect();
        guides.dedup();
        Some(format!(
            "Read-only code intelligence from real language servers for workspace '{}'. Its roots: {}. {}",
            handle.name,
            roots.join(", "),
            guides.join(" ")
        ))
    }
}

/// Row 5: through the path gate. `seen` becomes what the gate saw of the document, so that it needn't be looked at twice.
pub(super) fn gated(
    workspace: &WorkspaceHandle,
    query: Query<String>,
    seen: &mut Option<FileStamp>,
) -> Result<GatedQuery, ToolError> {
    if workspace.gate.root_set().allowed().next().is_none() {
        return Err(no_workspace());
    }
    let names_path = matches!(query, Query::Lsp(_));
    query.try_map_uri(|uri| {
        let (uri, stamp) =
            if names_path { workspace.gate.named_seen(&uri)? } else { workspace.gate.document_seen(&uri)? };
        *seen = stamp;
        Ok(uri)
    })
}

/// Row 12: the payload in the catalog's dialect, with room left for the JSON-RPC envelope around it.
fn encode(catalog: &dyn Catalog, result: Result<&Answer, &ToolError>, limits: &Limits) -> Reply {
    let cap = limits.max_response_bytes.saturating_sub(limits::RESPONSE_ENVELOPE_BYTES);
    let mut reply = to_reply(catalog.encode(result, cap));
    if let Err(error) = result
        && let Reply::Error { retry_after_ms, overloaded, .. } | Reply::Refusal { retry_after_ms, overloaded, .. } =
            &mut reply
    {
        *retry_after_ms = error.details.get("retryAfterMs").and_then(serde_json::Value::as_u64);
        *overloaded = error.details.get("reason").and_then(serde_json::Value::as_str) == Some("overloaded");
    }
    reply
}

/// Tells what a call came to. An answer that didn't fit is the error that its reply is.
fn close(open: OpenCall, result: Result<&Answer, &ToolError>, reply: &Reply) {
    let (bytes, rpc_code, failed) = match reply {
        Reply::Result(json) => (json.len(), None, false),
        Reply::Refusal { result, .. } => (result.len(), None, true),
        Reply::Error { code, data, .. } => (data.as_ref().map_or(0, Bytes::len), Some(*code), true),
    };
    let too_large;
    let refused;
    let (ended, items) = match result {
        Ok(Answer::Code(CodeAnswer::Refused(refusal))) => {
            refused = ToolError::new(refusal.code.tool_code(), "").with("reason", refusal.code.as_str());
            (Err(&refused), None)
        }
        Ok(_) if failed => {
            too_large = ToolError::new(ErrorCode::CapExceeded, "").with("reason", "response_too_large");
            (Err(&too_large), None)
        }
        Ok(answer) => (Ok(()), count(answer)),
        Err(error) => (Err(error), None),
    };
    let is_cut = items.is_some_and(|(items, total, paged)| items < total && !paged);
    let items = items.map(|(items, total, _)| (items, total));
    open.end(ended, codeyard_telemetry::Reply { bytes, rpc_code, items, is_cut });
}

/// Entries in an answer, and in the whole list it is a part of; and whether there are pages for the rest.
fn count(answer: &Answer) -> Option<(usize, usize, bool)> {
    Some(match answer {
        Answer::Definition(list) => (list.items.len(), list.total, false),
        Answer::References(page) => (page.items.len(), page.total, true),
        Answer::Hover(..) | Answer::Declarations(_) => return None,
        Answer::DocumentSymbols(list) => (list.items.len(), list.total, false),
        Answer::WorkspaceSymbols(page) => (page.items.len(), page.total, true),
        Answer::DocumentDiagnostics(_, list) => (list.items.len(), list.total, false),
        Answer::WorkspaceDiagnostics(page) => (page.items.len(), page.total, true),
        Answer::Lsp(answer) => (answer.found.len(), answer.total, true),
        Answer::Code(CodeAnswer::Rows(found)) => (found.rows.len(), found.total, true),
        Answer::Code(_) => return None,
    })
}

fn to_reply(reply: codeyard_catalog::Reply) -> Reply {
    match reply {
        codeyard_catalog::Reply::Result(json) => Reply::Result(Bytes::from(json)),
        codeyard_catalog::Reply::Refusal { result, .. } => {
            Reply::Refusal { result: Bytes::from(result), retry_after_ms: None, overloaded: false }
        }
        codeyard_catalog::Reply::Error { code, message, data, .. } => {
            Reply::Error { code, message, data: Some(Bytes::from(data)), retry_after_ms: None, overloaded: false }
        }
    }
}

fn no_workspace() -> ToolError {
    ToolError::new(
        ErrorCode::WorkspaceDenied,
        "no workspace is configured here; start codeyard with --root or add a [[workspace]]",
    )
}

fn empty_list() -> Box<RawValue> {
    RawValue::from_string("[]".to_owned()).unwrap_or_default()
}
