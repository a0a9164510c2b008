//! The [`Gateway`]: endpoints, tool lists, and calls from decoding to encoding (rows 4 to 6, and 12, of
//! `docs/internals/architecture.md`).
//!
//! Time, bytes, permission and error codes of a call come from the [`CallPolicy`] of its tool, lowered to the workspace's limits.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use serde_json::value::RawValue;

use super::admission::Admission;
use super::admit::{CallPath, PendingCall};
use super::catalog_sets::{CachedSet, CatalogSets};
use super::content::content_for;
use super::launch::LaunchCalls;
use super::permission::{self, PermissionCheck, PermissionRequest, Permissions};
use super::quotas::{CallQuotas, QuotaUse};
use super::reply::{close, close_failed, close_requested, encode, to_tool_reply, unaudited, with_shed};
use super::service::{Endpoint, Principal, Service, ToolCall, ToolReply, revisions_of};
use super::workspace_checks::{endpoint_advice, no_workspace, other_workspace};
use super::workspace_thread::WorkspaceThread;
use codeyard_base::clock::Deadline;
use codeyard_base::ids::GroupName;
use codeyard_catalog::{CallPolicy, Catalog, CatalogId, PageSizes};
use codeyard_config::{PermissionRule, Quotas};
use codeyard_engine::supervisor::directory::Directory;
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_model::answer::Answer;
use codeyard_model::code::CodeAnswer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::DEFAULT_PAGE_CHARS;
use codeyard_model::query::Query;
use codeyard_protocol::error::Fault;
use codeyard_protocol::revision::RevisionSet;
use codeyard_telemetry::{CallStart, Metrics, OpenCall, Telemetry};

/// Routes tool calls to the workspaces of a [`Directory`]. Implements [`Service`].
pub struct Gateway {
    pub(super) directory: Arc<Directory>,
    pub(super) admission: Admission,
    quotas: CallQuotas,
    pub(super) permissions: Permissions,
    pub(super) telemetry: Telemetry,
    launch: Option<Arc<LaunchCalls>>,
    /// The revisions of MCP that endpoints with `lsp-v1` or `lsp-v1-safe` speak.
    lsp_v1_revisions: RevisionSet,
    sets: CatalogSets,
}

impl Gateway {
    /// A gateway to the workspaces of `directory`.
    pub fn new(directory: Arc<Directory>, telemetry: Telemetry) -> Self {
        let admission = Admission::default();
        let permissions = Permissions::default();
        let lsp_v1_revisions = RevisionSet::DEFAULT;
        let sets = CatalogSets::default();
        let quotas = CallQuotas::default();
        Self { directory, admission, quotas, permissions, telemetry, launch: None, lsp_v1_revisions, sets }
    }

    /// Replaces the permission checks.
    pub fn with_permissions(self, permissions: Permissions) -> Self {
        Self { permissions, ..self }
    }

    /// Serves calls about runs. Without this they fail.
    pub fn with_launch(self, launch: Arc<LaunchCalls>) -> Self {
        Self { launch: Some(launch), ..self }
    }

    /// Replaces the revisions of MCP that endpoints with `lsp-v1` or `lsp-v1-safe` speak.
    pub fn with_lsp_v1_revisions(self, lsp_v1_revisions: RevisionSet) -> Self {
        Self { lsp_v1_revisions, ..self }
    }

    /// Replaces the admission slots, for tests of overload.
    pub fn with_admission(self, admission: Admission) -> Self {
        Self { admission, ..self }
    }

    /// Replaces the quotas of tenants and tokens. Calls in flight stay counted.
    pub fn set_quotas(&self, quotas: Quotas) {
        self.quotas.set(quotas);
    }

    /// Counts a call of `principal`, if the service takes calls.
    fn begin(&self, principal: &Principal, policy: &CallPolicy) -> Result<QuotaUse, ToolError> {
        if !self.telemetry.accepts_calls() {
            return Err(unaudited(policy));
        }
        self.quotas.begin(principal).map_err(|exceeded| {
            self.telemetry.metrics().shed("quota");
            policy.outcomes.overloaded.apply(exceeded)
        })
    }

    /// The set of an endpoint.
    pub(super) fn catalog_set_at(&self, endpoint: &Endpoint) -> Option<Arc<CachedSet>> {
        match &*endpoint.catalogs {
            [one] => self.sets.get(one),
            several => self.sets.get(&several.join("+")),
        }
    }

    /// Opens the telemetry record of `call`.
    fn open_record(&self, call: &ToolCall, tool: Option<Arc<str>>, catalog: &'static str) -> OpenCall {
        let group = call.endpoint.group.clone();
        let start = CallStart {
            tool,
            asked_tool: &call.tool,
            catalog,
            workspace: call.endpoint.workspace.clone(),
            principal: &call.principal,
            peer: call.peer,
            arguments: call.arguments.as_deref().map(RawValue::get),
            transport: call.transport,
            request_id: &call.request_id_text,
            session: call.session.clone(),
            protocol_version: call.revision.as_str(),
            context: &call.trace,
        };
        let open = OpenCall::begin(&self.telemetry, start);
        open.trace().update(|record| record.group = group);
        open
    }

    /// Rows 4 to 6: decodes the arguments, checks the permission and the path, admits the call and starts its actor.
    fn start(&self, call: &ToolCall, catalog: &dyn Catalog, open: &OpenCall) -> Result<StartedCall, Box<RejectedCall>> {
        if let Some(group) = &call.endpoint.group {
            return self.start_group(group, call, catalog, open);
        }
        let named = call.endpoint.workspace.as_ref().filter(|name| call.principal.sees(name));
        let workspace = named.and_then(|name| self.directory.get(name));
        let limits = workspace.as_ref().map(|workspace| workspace.limits.clone()).unwrap_or_default();
        let policy = catalog.policy(&call.tool).tightened(&limits);
        let fail = |error: ToolError| Box::new(RejectedCall { error, policy });
        let arguments = check_request(call, &policy).map_err(fail)?;
        let deadline = Deadline::after(Duration::from_millis(policy.deadline_ms));
        let page_chars = workspace.as_ref().map_or(DEFAULT_PAGE_CHARS, |workspace| workspace.page_chars);
        let sizes = PageSizes { entries: limits.max_page_size, chars: page_chars };
        let query = catalog.decode(&call.tool, arguments, sizes).map_err(fail)?;
        if let Query::Lsp(lsp_query) = &query {
            open.trace().update(|record| record.operation = Some(lsp_query.operation.as_str()));
        }
        if query.page().is_some_and(|page| page.cursor.is_some()) {
            open.trace().record_cursor();
        }
        let Some(workspace) = workspace else { return Err(fail(no_workspace())) };
        let check = self.check_permission(call, &policy, &workspace, open);
        match check {
            PermissionCheck::Denied(error) => return Err(fail(error)),
            PermissionCheck::InputRequired(result) => {
                return Ok(StartedCall::InputRequired(result));
            }
            PermissionCheck::Granted | PermissionCheck::Pending(_) => {}
        }
        if let Query::Code(request) = &query
            && let Some(refusal) = other_workspace(&self.directory, &call.principal, &workspace, request)
        {
            let answer = Answer::Code(CodeAnswer::Refused(Box::new(refusal)));
            return Ok(StartedCall::Running(CallPath::Answered(Box::new(answer)), policy));
        }
        let pending = PendingCall {
            admission: self.admission.clone(),
            metrics: self.telemetry.metrics().clone(),
            workspace,
            query,
            policy,
            launch: (self.launch.clone(), call.principal.clone()),
            progress: call.progress.clone(),
            trace: open.trace().clone(),
        };
        let path = match check {
            // The deadline starts after the person's answer.
            PermissionCheck::Pending(decision) => CallPath::AwaitingPermission(
                async move {
                    decision.await?;
                    pending.start_now()
                }
                .boxed(),
            ),
            _ => CallPath::Running(pending.start(deadline).map_err(fail)?),
        };
        Ok(StartedCall::Running(path, policy))
    }

    /// Checks the permission that the policy of the call's tool names.
    fn check_permission(
        &self,
        call: &ToolCall,
        policy: &CallPolicy,
        at: &WorkspaceHandle,
        open: &OpenCall,
    ) -> PermissionCheck {
        let Some(permission) = policy.permission else { return PermissionCheck::Granted };
        let request = PermissionRequest {
            permission,
            outcomes: policy.outcomes,
            principal: &call.principal,
            workspace: &at.name,
            roots: at.gate.root_set().key(),
            prompts: call.prompts.as_ref(),
            input: call.input.as_ref(),
            tool: &call.tool,
            arguments: call.arguments.as_deref(),
            progress: call.progress.as_ref(),
            call: open.trace(),
        };
        let directory = self.directory.clone();
        let name = at.name.clone();
        let principal = call.principal.id.clone();
        self.permissions.check(&request, move || {
            let here = directory.get(&name);
            here.map_or(PermissionRule::Deny, |here| here.permission.rule(permission, &principal))
        })
    }
}

/// A call that was accepted.
pub(super) enum StartedCall {
    /// Its answer comes on this path, by this policy.
    Running(CallPath, CallPolicy),
    /// A person is asked by its result, which is this JSON text.
    InputRequired(Vec<u8>),
}

/// A call that failed before its actor was started, and its policy.
pub(super) struct RejectedCall {
    pub(super) error: ToolError,
    pub(super) policy: CallPolicy,
}

impl Service for Gateway {
    fn endpoint(&self, principal: &Principal, workspace: Option<&str>, catalogs: Option<&str>) -> Option<Endpoint> {
        let served = self.sets.get(catalogs.unwrap_or(CatalogId::LspV1.as_str()))?;
        if let Some(group) = workspace.and_then(GroupName::of_endpoint) {
            return self.group_endpoint(group, principal, &served);
        }
        let handle = match workspace {
            Some(name) => Some(self.directory.seen(principal, name)?),
            None => self.directory.default_of(principal),
        };
        let content = content_for(handle.as_deref(), principal);
        let name = handle.map(|handle| handle.name.clone());
        let catalogs = served.catalogs.clone();
        Some(Endpoint { tenant: principal.tenant.clone(), workspace: name, group: None, catalogs, content })
    }

    fn endpoint_advice(&self, principal: &Principal) -> Option<String> {
        endpoint_advice(self.directory.all_seen(principal).iter().map(|handle| &handle.name))
    }

    fn workspace_thread(&self, endpoint: &Endpoint) -> Option<WorkspaceThread> {
        let workspace = self.directory.get(endpoint.workspace.as_ref()?)?;
        workspace.status.heartbeat().stalled().is_none().then(|| WorkspaceThread::of(&workspace))
    }

    fn tools(&self, principal: &Principal, endpoint: &Endpoint) -> Arc<RawValue> {
        let served = self.catalog_set_at(endpoint);
        let list = served.and_then(|served| served.list(endpoint.content, principal.scope.obtainable()));
        list.unwrap_or_else(|| Arc::from(empty_list()))
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolReply> {
        let served = self.catalog_set_at(&call.endpoint);
        let found = served.as_ref().and_then(|served| served.find(&call.tool));
        let Some((catalog, tool)) = found else {
            let open = self.open_record(&call, None, "");
            let error = served.map(|served| served.set.unknown_tool(&call.tool));
            let error = error.unwrap_or_else(|| codeyard_catalog::unknown_tool(&call.tool));
            // Whoever may make no more calls learns that, whichever tool is named.
            let error = self.quotas.begin(&call.principal).map_or_else(|exceeded| exceeded, |_| error);
            let reply = with_shed(to_tool_reply(codeyard_catalog::unknown_tool_reply(&error)), &error);
            close_failed(open, &error, &reply);
            return futures::future::ready(reply).boxed();
        };
        let open = self.open_record(&call, Some(tool), catalog.id().as_str());
        let content = call.endpoint.content;
        let refused = move |policy: &CallPolicy| {
            encode(catalog, Err(&unaudited(policy)), policy).with_content(content, catalog.id())
        };
        let policy = catalog.policy(&call.tool);
        let started = match self.begin(&call.principal, &policy) {
            Ok(quota) => self.start(&call, catalog, &open).map(|started| (started, quota)),
            Err(error) => Err(Box::new(RejectedCall { error, policy })),
        };
        match started {
            Ok((StartedCall::InputRequired(result), _)) => {
                let reply = ToolReply::InputRequired(result.into());
                let is_audited = close_requested(open, &reply);
                let reply = if is_audited { reply } else { refused(&policy) };
                futures::future::ready(reply).boxed()
            }
            Ok((StartedCall::Running(path, policy), quota)) => async move {
                let result = path.answer().await;
                let reply = encode(catalog, result.as_ref(), &policy).with_content(content, catalog.id());
                quota.answered(reply.bytes());
                if close(open, result.as_ref(), &policy, &reply) { reply } else { refused(&policy) }
            }
            .boxed(),
            Err(rejected) => {
                let reply = encode(catalog, Err(&rejected.error), &rejected.policy);
                let reply = reply.with_content(content, catalog.id());
                close_failed(open, &rejected.error, &reply);
                futures::future::ready(reply).boxed()
            }
        }
    }

    fn revisions(&self, endpoint: &Endpoint) -> RevisionSet {
        revisions_of(&endpoint.catalogs, self.lsp_v1_revisions)
    }

    fn metrics(&self) -> Arc<dyn Metrics> {
        self.telemetry.metrics().clone()
    }

    fn reject_overloaded(&self, call: &ToolCall) -> ToolReply {
        let mut error = ToolError::overloaded(codeyard_model::limits::RETRY_AFTER_MS);
        let served = self.catalog_set_at(&call.endpoint);
        let (catalog, tool) = served.as_ref().and_then(|served| served.find(&call.tool)).unzip();
        let open = self.open_record(call, tool, catalog.map_or("", |catalog| catalog.id().as_str()));
        let reply = match catalog {
            Some(catalog) => {
                let policy = catalog.policy(&call.tool);
                error = policy.outcomes.overloaded.apply(error);
                encode(catalog, Err(&error), &policy).with_content(call.endpoint.content, catalog.id())
            }
            None => ToolReply::overloaded(),
        };
        close_failed(open, &error, &reply);
        reply
    }

    fn record_malformed(&self, call: &ToolCall) {
        let error = ToolError::new(ErrorCode::InvalidParams, "the parameters name no tool").with("reason", "malformed");
        let reply = codeyard_telemetry::CallReply {
            rpc_code: Some(Fault::BadParams.code()),
            ..codeyard_telemetry::CallReply::default()
        };
        // The error shows nothing of a workspace, so it may be given without an audit line.
        let _ = self.open_record(call, None, "").end(Err(&error), reply);
    }

    fn instructions(&self, endpoint: &Endpoint) -> Option<String> {
        self.instructions_at(endpoint)
    }
}

/// The arguments of a call that its caller may make and whose size its tool's policy allows.
pub(super) fn check_request<'c>(call: &'c ToolCall, policy: &CallPolicy) -> Result<Option<&'c RawValue>, ToolError> {
    permission::check_operation(&call.principal, policy)?;
    let arguments = call.arguments.as_deref();
    if arguments.is_some_and(|json| json.get().len() > policy.max_request_bytes) {
        return Err(arguments_too_large(policy));
    }
    Ok(arguments)
}

/// The arguments exceed the request cap of the tool's policy.
fn arguments_too_large(policy: &CallPolicy) -> ToolError {
    let message = "the arguments are larger than the tool accepts; send less";
    let error = ToolError::new(policy.outcomes.too_large.code, message);
    error.with("reason", "request_too_large").with("limit", policy.max_request_bytes)
}

fn empty_list() -> Box<RawValue> {
    RawValue::from_string("[]".to_owned()).unwrap_or_default()
}
