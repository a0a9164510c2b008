//! `codeyard permissions`: lists and revokes the permissions that were granted with "always".

use crate::Failure;
use crate::args::{PermissionsCommand, StateArgs};
use crate::shared::{assemble, audit, output};
use codeyard_audit::{AuditEvent, EventKind};
use codeyard_base::clock::utc;
use codeyard_state::{Grant, PermissionStore};
use serde_json::json;

pub(crate) fn run(command: PermissionsCommand) -> Result<(), Failure> {
    match command {
        PermissionsCommand::List { state, json } => list(&open(&state)?, json),
        PermissionsCommand::Revoke { principal, workspace, all: _, state } => {
            revoke(&open(&state)?, principal.as_deref(), workspace.as_deref())?;
            let arguments = json!({ "principal": principal, "workspace": workspace });
            let event = AuditEvent::new(EventKind::Permission, "ok");
            let state = assemble::open_state(state.state_dir.as_deref())?;
            audit::record(&state, AuditEvent { operation: Some("revoke"), arguments: Some(arguments), ..event })
        }
    }
}

fn open(args: &StateArgs) -> Result<PermissionStore, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    Ok(PermissionStore::new(assemble::open_store(&state)?))
}

fn grants(store: &PermissionStore) -> Result<Vec<Grant>, Failure> {
    store.list().map_err(|error| Failure::new(format!("the permissions can't be read: {error}")))
}

fn list(store: &PermissionStore, json: bool) -> Result<(), Failure> {
    let grants = grants(store)?;
    output::print_json_or(json, &grants, || {
        if grants.is_empty() {
            return "no permissions are stored; with `permission.lsp = \"ask\"` the answer \"always\" stores one\n"
                .to_owned();
        }
        let row = |grant: &Grant| {
            vec![grant.principal.clone(), grant.workspace.clone(), grant.permission.clone(), utc(grant.since)]
        };
        output::columns(&grants.iter().map(row).collect::<Vec<_>>())
    })
}

/// Revokes permissions: of all principals without `principal`, for all workspaces without `workspace`.
fn revoke(store: &PermissionStore, principal: Option<&str>, workspace: Option<&str>) -> Result<(), Failure> {
    let wanted = |grant: &Grant| {
        principal.is_none_or(|name| name == grant.principal) && workspace.is_none_or(|name| name == grant.workspace)
    };
    let revoked = match grants(store)?.iter().any(wanted) {
        true => store.revoke(wanted).map_err(|error| Failure::new(format!("no permission was revoked: {error}")))?,
        false => 0,
    };
    if revoked == 0 {
        return Err(Failure::missing(
            "no stored permission matches; `codeyard permissions list` shows the stored ones",
        ));
    }
    output::print(format_args!("revoked {revoked}; the next call asks again\n"))
}
