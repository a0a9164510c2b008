//! Calls to a group of workspaces.

use std::time::Duration;

use super::admit::{CallPath, PendingGroupCall};
use super::catalog_sets::CachedSet;
use super::content::content_for_group;
use super::permission;
use super::router::{Gateway, RejectedCall, StartedCall, check_request};
use super::service::{Endpoint, GROUP_CATALOG, Principal, ToolCall};
use super::workspace_checks::no_workspace;
use codeyard_base::clock::Deadline;
use codeyard_base::ids::GroupName;
use codeyard_catalog::{CallPolicy, Catalog, PageSizes};
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_model::error::ToolError;
use codeyard_model::limits::Limits;
use codeyard_model::query::Query;
use codeyard_telemetry::{OpenCall, PermissionOutcome};

impl Gateway {
    /// Starts a call to a group, by the same steps as one to a workspace. The limits are the tightest of its workspaces.
    pub(super) fn start_group(
        &self,
        group: &GroupName,
        call: &ToolCall,
        catalog: &dyn Catalog,
        open: &OpenCall,
    ) -> Result<StartedCall, Box<RejectedCall>> {
        let members = self.directory.group(group, &call.principal).unwrap_or_default();
        let limits = members.iter().fold(Limits::default(), |limits, member| limits.tightest(&member.limits));
        let policy = catalog.policy(&call.tool).tightened(&limits);
        let fail = |error: ToolError| Box::new(RejectedCall { error, policy });
        let arguments = check_request(call, &policy).map_err(fail)?;
        let deadline = Deadline::after(Duration::from_millis(policy.deadline_ms));
        let query = catalog.decode(&call.tool, arguments, PageSizes::of_entries(limits.max_page_size)).map_err(fail)?;
        // Groups have no other catalog.
        let Query::Code(request) = query else { return Err(fail(ToolError::internal())) };
        if members.is_empty() {
            return Err(fail(no_workspace()));
        }
        let members: Vec<_> =
            members.into_iter().map(|member| (self.includes(call, &policy, &member), member)).collect();
        if !members.iter().any(|(is_permitted, _)| *is_permitted) {
            let outcome = PermissionOutcome::Denied;
            open.trace().permission(outcome);
            return Err(fail(permission::denial(outcome, policy.permission.unwrap_or_default(), &policy.outcomes)));
        }
        let pending = PendingGroupCall {
            admission: self.admission.clone(),
            metrics: self.telemetry.metrics().clone(),
            members,
            request,
            policy,
            progress: call.progress.clone(),
            trace: open.trace().clone(),
        };
        Ok(StartedCall::Running(CallPath::Running(pending.start(deadline).map_err(fail)?), policy))
    }

    /// The endpoint of a group, if it has a workspace of the principal's tenant.
    pub(super) fn group_endpoint(
        &self,
        name: GroupName,
        principal: &Principal,
        served: &CachedSet,
    ) -> Option<Endpoint> {
        if *served.catalogs != [GROUP_CATALOG] {
            return None;
        }
        let members = self.directory.group(&name, principal)?;
        let content = content_for_group(&members, principal);
        let catalogs = served.catalogs.clone();
        Some(Endpoint { tenant: principal.tenant.clone(), workspace: None, group: Some(name), catalogs, content })
    }

    /// Whether a call to a group includes this workspace.
    fn includes(&self, call: &ToolCall, policy: &CallPolicy, member: &WorkspaceHandle) -> bool {
        let principal = &call.principal;
        policy.permission.is_none_or(|permission| {
            let rule = member.permission.rule(permission, &principal.id);
            self.permissions.includes(permission, rule, principal, &member.name, member.gate.root_set().key())
        })
    }
}
