//! `codeyard workspaces`: lists, creates, changes and deletes workspaces of the running server.

use std::io::Read;
use std::path::{Path, PathBuf};

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::args::{PutWorkspaceArgs, WorkspacesArgs, WorkspacesCommand};
use crate::shared::admin_client::{admin_client, request_failure};
use crate::shared::output;
use codeyard_base::ids::WorkspaceName;
use codeyard_model::limits::MAX_REQUEST_BYTES;
use codeyard_server::admin::client::AdminClient;
use codeyard_server::admin::documents::{
    BusyDocument, Change, PutDocument, RemovalDocument, WorkspaceDocument, WorkspaceList, WorkspaceState,
};

/// Runs the subcommand; lists without one.
pub(crate) fn run(args: WorkspacesArgs) -> Result<(), Failure> {
    let state = match &args.command {
        None => &args.state,
        Some(WorkspacesCommand::List { state, .. } | WorkspacesCommand::Delete { state, .. }) => state,
        Some(WorkspacesCommand::Put(put)) => &put.state,
    };
    let name = match &args.command {
        Some(WorkspacesCommand::Put(put)) => Some(&put.name),
        Some(WorkspacesCommand::Delete { name, .. }) => Some(name),
        _ => None,
    };
    if let Some(name) = name.filter(|name| WorkspaceName::new(name).is_none()) {
        let form =
            "use 1 to 64 of a-z, 0-9, '.', '_', '-', and start with a letter or digit; TENANT/NAME is one of a tenant";
        return Err(Failure::usage(format!("`{name}` is not a valid workspace name; {form}")));
    }
    let client = admin_client(state.state_dir.as_deref())?;
    let runtime = crate::runtime()?;
    match &args.command {
        None => runtime.block_on(list(&client, args.json)),
        Some(WorkspacesCommand::List { json, .. }) => runtime.block_on(list(&client, *json)),
        Some(WorkspacesCommand::Put(put)) => runtime.block_on(self::put(&client, put)),
        Some(WorkspacesCommand::Delete { name, json, .. }) => runtime.block_on(delete(&client, name, *json)),
    }
}

async fn list(client: &AdminClient, json: bool) -> Result<(), Failure> {
    let list: WorkspaceList = client.get("/admin/v1/workspaces").await.map_err(request_failure)?;
    output::print_json_or(json, &list, || {
        if list.workspaces.is_empty() {
            return "no workspaces; `codeyard workspaces put NAME --root PATH` creates one\n".to_owned();
        }
        let head = ["NAME", "STATE", "SERVERS", "MIB", "CALLS", "IN FLIGHT", "ROOTS"].map(str::to_owned).to_vec();
        output::columns(&std::iter::once(head).chain(list.workspaces.iter().map(row)).collect::<Vec<_>>())
    })
}

fn row(workspace: &WorkspaceDocument) -> Vec<String> {
    let default = if workspace.default { " (default)" } else { "" };
    let problem = workspace.problem.as_deref().map(|problem| format!(" ({problem})")).unwrap_or_default();
    vec![
        format!("{}{default}", workspace.name),
        state_column(workspace),
        workspace.servers.map(|count| count.to_string()).unwrap_or_default(),
        workspace.memory_bytes.map(|bytes| (bytes >> 20).to_string()).unwrap_or_default(),
        workspace.calls.map(|count| count.to_string()).unwrap_or_default(),
        workspace.calls_in_flight.to_string(),
        workspace.roots.join(", ") + &problem,
    ]
}

/// The state of a workspace, with what it is busy with.
fn state_column(workspace: &WorkspaceDocument) -> String {
    match &workspace.busy {
        Some(busy) => format!("busy{}: {}", duration_text(busy), busy.waits_for),
        None => state_text(workspace.state).to_owned(),
    }
}

/// For how long a workspace has been busy, with a blank in front; empty if this isn't known.
pub(crate) fn duration_text(busy: &BusyDocument) -> String {
    busy.since_s.map(|seconds| format!(" for {seconds} s")).unwrap_or_default()
}

/// The state of a workspace as it is printed.
pub(crate) fn state_text(state: WorkspaceState) -> &'static str {
    match state {
        WorkspaceState::Open => "open",
        WorkspaceState::Failed => "failed",
        WorkspaceState::NotAnswering => "not answering",
        WorkspaceState::Draining => "draining",
    }
}

/// The path of a workspace. The `/` after a tenant is a part of its name.
fn workspace_path(name: &str) -> String {
    format!("/admin/v1/workspaces/{}", name.replace('/', "%2F"))
}

async fn put(client: &AdminClient, args: &PutWorkspaceArgs) -> Result<(), Failure> {
    let body = body(args)?;
    let path = workspace_path(&args.name);
    let done: PutDocument = client.send(Method::PUT, &path, Some(&body)).await.map_err(request_failure)?;
    output::print_json_or(args.json, &done, || {
        let change = match done.change {
            Change::Created => "created",
            Change::Replaced => "replaced; older cursors are stale, and its language servers restart",
            Change::Retuned => "changed without a restart",
            Change::Unchanged => "unchanged",
        };
        format!("workspace {}: {change}; kept until the server stops\n", args.name)
    })
}

fn body(args: &PutWorkspaceArgs) -> Result<Value, Failure> {
    let mut keys = match &args.file {
        Some(file) => read(file)?,
        None => Map::new(),
    };
    for (key, paths) in [("roots", &args.root), ("extra_roots", &args.extra_root)] {
        if !paths.is_empty() {
            let absolute: Result<Vec<PathBuf>, _> =
                paths.iter().map(|path| path.canonicalize().or_else(|_| std::path::absolute(path))).collect();
            let absolute = absolute.map_err(|error| Failure::usage(format!("{key}: {error}")))?;
            let texts: Vec<String> = absolute.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            keys.insert(key.to_owned(), json!(texts));
        }
    }
    if args.prewarm {
        keys.insert("prewarm".to_owned(), true.into());
    }
    Ok(Value::Object(keys))
}

fn read(file: &Path) -> Result<Map<String, Value>, Failure> {
    let mut text = String::new();
    let failed = |error: std::io::Error| Failure::usage(format!("--file {}: {error}", file.display()));
    let source: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(file).map_err(failed)?),
    };
    source.take(MAX_REQUEST_BYTES as u64).read_to_string(&mut text).map_err(failed)?;
    serde_json::from_str(&text).map_err(|error| Failure::usage(format!("--file {}: {error}", file.display())))
}

async fn delete(client: &AdminClient, name: &str, json: bool) -> Result<(), Failure> {
    let path = workspace_path(name);
    let done: RemovalDocument = client.send(Method::DELETE, &path, None).await.map_err(request_failure)?;
    output::print_json_or(json, &done, || match done.finished {
        true => {
            let cut = done.calls_cut.filter(|cut| *cut > 0).map(|cut| format!(", {cut} cancelled")).unwrap_or_default();
            let servers: Vec<String> =
                done.servers.iter().map(|server| format!("{} ({})", server.kind, server.ended_by)).collect();
            let servers = if servers.is_empty() { "none ran".to_owned() } else { servers.join(", ") };
            let stuck = done.stuck.join(", ");
            let stuck = if stuck.is_empty() { stuck } else { format!("; still stuck: {stuck}") };
            format!(
                "workspace {name} removed; finished calls: {}{cut}; language servers: {servers}{stuck}\n",
                done.calls.unwrap_or(0)
            )
        }
        false => format!("workspace {name} is draining; calls in flight will finish\n"),
    })
}
