//! `codeyard servers running`, `restart` and `stop`: the language servers of the running codeyard server.

use hyper::Method;

use crate::Failure;
use crate::args::{ServerSelectorArgs, StateArgs};
use crate::shared::admin_client::{admin_client, request_failure};
use crate::shared::output;
use codeyard_server::admin::client::AdminClient;
use codeyard_server::admin::documents::{
    RestartDocument, ServerDocument, ServerList, StoppedDocument, StoppedServerDocument,
};

/// Lists the language servers that run.
pub(crate) fn list(state: &StateArgs, json: bool) -> Result<(), Failure> {
    let client = admin_client(state.state_dir.as_deref())?;
    let list: ServerList = crate::runtime()?.block_on(client.get("/admin/v1/servers")).map_err(request_failure)?;
    output::print_json_or(json, &list, || {
        if list.servers.is_empty() && list.stopped.is_empty() {
            return "no language server runs; the first call starts the ones it needs\n".to_owned();
        }
        let head = ["WORKSPACE", "ID", "STATE", "PID", "MIB", "RESTARTS", "ROOT"].map(str::to_owned).to_vec();
        let rows = list.servers.iter().map(row).chain(list.stopped.iter().map(stopped_row));
        let mut text = output::columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
        for name in &list.not_answering {
            text.push_str(&format!("workspace {name} does not answer\n"));
        }
        text
    })
}

/// Restarts language servers of a workspace.
pub(crate) fn restart(args: &ServerSelectorArgs) -> Result<(), Failure> {
    let done: Vec<RestartDocument> = for_each_selected(args, "restart")?;
    output::print_json_or(args.json, &done, || {
        done.iter().map(|server| format!("{} of {} is restarting\n", server.id, server.workspace)).collect()
    })
}

/// Stops language servers of a workspace.
pub(crate) fn stop(args: &ServerSelectorArgs) -> Result<(), Failure> {
    let done: Vec<StoppedDocument> = for_each_selected(args, "stop")?;
    output::print_json_or(args.json, &done, || {
        let line = |server: &StoppedDocument| {
            format!(
                "{} of {} has stopped ({}); the next call that needs it starts it\n",
                server.id, server.workspace, server.ended_by
            )
        };
        done.iter().map(line).collect()
    })
}

fn row(server: &ServerDocument) -> Vec<String> {
    let why = server.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    vec![
        server.workspace.clone(),
        server.id.clone(),
        format!("{}{why}", server.shown_state().0),
        server.pid.map(|pid| pid.to_string()).unwrap_or_default(),
        server.memory_bytes.map(|bytes| (bytes >> 20).to_string()).unwrap_or_default(),
        match &server.last_end {
            Some(end) => format!("{} ({})", server.restarts, end.reason),
            None => server.restarts.to_string(),
        },
        server.root.clone(),
    ]
}

fn stopped_row(server: &StoppedServerDocument) -> Vec<String> {
    let none = String::new();
    let state = format!("stopped ({})", server.reason);
    vec![server.workspace.clone(), server.id.clone(), state, none.clone(), none.clone(), none, server.root.clone()]
}

/// Sends `action` for every selected server.
fn for_each_selected<T: serde::de::DeserializeOwned>(
    args: &ServerSelectorArgs,
    action: &str,
) -> Result<Vec<T>, Failure> {
    let client = admin_client(args.state.state_dir.as_deref())?;
    crate::runtime()?.block_on(async {
        let ids = selected_ids(&client, args).await?;
        let mut done = Vec::new();
        for id in ids {
            let path = format!("/admin/v1/servers/{}/{id}/{action}", args.workspace);
            done.push(client.send(Method::POST, &path, None).await.map_err(request_failure)?);
        }
        Ok(done)
    })
}

/// The ids of the servers of the workspace that have the given kind or id.
async fn selected_ids(client: &AdminClient, args: &ServerSelectorArgs) -> Result<Vec<String>, Failure> {
    let list: ServerList = client.get("/admin/v1/servers").await.map_err(request_failure)?;
    let own = list.servers.iter().filter(|server| server.workspace == args.workspace);
    let selected = own.filter(|server| server.kind == args.server || server.id == args.server);
    let ids: Vec<String> = selected.map(|server| server.id.clone()).collect();
    if ids.is_empty() {
        return Err(Failure::missing(format!(
            "no language server `{}` runs in the workspace `{}`; `codeyard servers running` lists those that run",
            args.server, args.workspace
        )));
    }
    Ok(ids)
}
