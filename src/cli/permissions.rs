//! `codeyard permissions`: what persons have allowed for always, and taking it back.

use super::args::{PermissionsCommand, StateArgs};
use super::{Failure, assemble, output};
use codeyard_base::clock::utc;
use codeyard_state::auth::{Grant, PermissionStore};

/// Lists or revokes.
pub(crate) fn run(command: PermissionsCommand) -> Result<(), Failure> {
    match command {
        PermissionsCommand::List { state, json } => list(&open(&state)?, json),
        PermissionsCommand::Revoke { principal, workspace, all: _, state } => {
            revoke(&open(&state)?, principal.as_deref(), workspace.as_deref())
        }
    }
}

fn open(args: &StateArgs) -> Result<PermissionStore, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    let store = PermissionStore::open(&state.permissions());
    store.check().map_err(|error| {
        let file = state.permissions();
        Failure::new(format!(
            "{error}; nothing in it holds: look at {}, and take it away to begin anew",
            file.display()
        ))
    })?;
    Ok(store)
}

fn list(store: &PermissionStore, json: bool) -> Result<(), Failure> {
    let grants = store.list();
    output::print_either(json, &grants, || {
        if grants.is_empty() {
            return "no permissions are remembered; where `permission.lsp` is \"ask\", the answer \"always\" is\n"
                .to_owned();
        }
        let row = |grant: &Grant| {
            vec![grant.principal.clone(), grant.workspace.clone(), grant.permission.clone(), utc(grant.since)]
        };
        output::columns(&grants.iter().map(row).collect::<Vec<_>>())
    })
}

/// Without a principal, anybody's; without a workspace, in any.
fn revoke(store: &PermissionStore, principal: Option<&str>, workspace: Option<&str>) -> Result<(), Failure> {
    let wanted = |grant: &Grant| {
        principal.is_none_or(|name| name == grant.principal) && workspace.is_none_or(|name| name == grant.workspace)
    };
    let revoked = match store.list().iter().any(wanted) {
        true => store.revoke(wanted).map_err(|error| Failure::new(format!("nothing was revoked: {error}")))?,
        false => 0,
    };
    if revoked == 0 {
        return Err(Failure::missing("no such permission is remembered; `codeyard permissions list` shows which are"));
    }
    output::print(format_args!("revoked {revoked}; who had them is asked again from the next call on\n"))
}
