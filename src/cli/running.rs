//! `codeyard servers running|restart|stop`: language servers of the running server.

use hyper::Method;

use super::args::{PickArgs, StateArgs};
use super::workspaces::{client, failure};
use super::{Failure, output};
use codeyard_server::admin::client::AdminClient;
use codeyard_server::admin::documents::{RestartDocument, ServerDocument, ServerList, StoppedDocument};

/// Lists those that run.
pub(crate) fn list(state: &StateArgs, json: bool) -> Result<(), Failure> {
    let client = client(state.state_dir.as_deref())?;
    let list: ServerList = super::runtime()?.block_on(client.get("/admin/v1/servers")).map_err(failure)?;
    output::print_either(json, &list, || {
        if list.servers.is_empty() {
            return "no language server runs; the first question starts those it needs\n".to_owned();
        }
        let head = ["WORKSPACE", "ID", "STATE", "PID", "MIB", "RESTARTS", "ROOT"].map(str::to_owned).to_vec();
        let mut text = output::columns(&std::iter::once(head).chain(list.servers.iter().map(row)).collect::<Vec<_>>());
        for name in &list.not_answering {
            text.push_str(&format!("workspace {name} does not answer\n"));
        }
        text
    })
}

/// Starts servers of a workspace anew.
pub(crate) fn restart(args: &PickArgs) -> Result<(), Failure> {
    let done: Vec<RestartDocument> = each(args, "restart")?;
    output::print_either(args.json, &done, || {
        done.iter().map(|server| format!("{} of {} is being started anew\n", server.id, server.workspace)).collect()
    })
}

/// Stops servers of a workspace.
pub(crate) fn stop(args: &PickArgs) -> Result<(), Failure> {
    let done: Vec<StoppedDocument> = each(args, "stop")?;
    output::print_either(args.json, &done, || {
        let line = |server: &StoppedDocument| {
            format!(
                "{} of {} has ended ({}); the next question starts it\n",
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
        format!("{}{why}", server.state),
        server.pid.map(|pid| pid.to_string()).unwrap_or_default(),
        server.memory_bytes.map(|bytes| (bytes >> 20).to_string()).unwrap_or_default(),
        server.restarts.to_string(),
        server.root.clone(),
    ]
}

/// Does it to every server of the workspace that has this kind or id.
fn each<T: serde::de::DeserializeOwned>(args: &PickArgs, action: &str) -> Result<Vec<T>, Failure> {
    let client = client(args.state.state_dir.as_deref())?;
    super::runtime()?.block_on(async {
        let ids = picked(&client, args).await?;
        let mut done = Vec::new();
        for id in ids {
            let path = format!("/admin/v1/servers/{}/{id}/{action}", args.workspace);
            done.push(client.send(Method::POST, &path, None).await.map_err(failure)?);
        }
        Ok(done)
    })
}

async fn picked(client: &AdminClient, args: &PickArgs) -> Result<Vec<String>, Failure> {
    let list: ServerList = client.get("/admin/v1/servers").await.map_err(failure)?;
    let own = list.servers.iter().filter(|server| server.workspace == args.workspace);
    let picked = own.filter(|server| server.kind == args.server || server.id == args.server);
    let ids: Vec<String> = picked.map(|server| server.id.clone()).collect();
    if ids.is_empty() {
        return Err(Failure::missing(format!(
            "no `{}` runs in the workspace `{}`; `codeyard servers running` lists those that run",
            args.server, args.workspace
        )));
    }
    Ok(ids)
}
