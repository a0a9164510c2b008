//! Observes a codeyard server from outside while it works: the admin API as operators read it, memory and processor time.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use super::limits::SAMPLE_INTERVAL;
use crate::codeyard_server::CodeyardServer;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_process::proc_tree::processor_time;
use codeyard_server::admin::client::AdminClient;

/// What was observed.
#[derive(Debug, Default, Clone)]
pub(super) struct Observed {
    /// Times of reading the list of workspaces, in milliseconds.
    pub listing_ms: Vec<f64>,
    /// Workspaces that were listed as not answering, and lists that failed.
    pub not_answering: usize,
    /// Largest memory of the language servers, in bytes.
    pub server_memory: u64,
    /// Largest memory of codeyard and its guards, in bytes.
    pub own_memory: u64,
    /// Largest number of language servers.
    pub servers: usize,
}

/// Observes `server` while `work` runs.
pub(super) async fn observe<T>(
    server: &CodeyardServer,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<(T, Observed), Failure> {
    let observed = Rc::new(RefCell::new(Observed::default()));
    let watching = watch(server, observed.clone());
    tokio::select! {
        biased;
        done = work => Ok((done?, observed.borrow().clone())),
        failed = watching => Err(failed),
    }
}

async fn watch(server: &CodeyardServer, observed: Rc<RefCell<Observed>>) -> Failure {
    let socket: PathBuf = server.admin_socket();
    let client = AdminClient::new(&socket);
    loop {
        let began = Instant::now();
        let listed = client.get::<Value>("/admin/v1/workspaces").await;
        let took = began.elapsed().as_secs_f64() * 1e3;
        let missing = listed.map_or(1, |list| {
            let all = list["workspaces"].as_array().cloned().unwrap_or_default();
            all.iter().filter(|workspace| workspace["state"] == "not_answering").count()
        });
        let tree = match server.tree() {
            Ok(tree) => tree,
            Err(failure) => return failure,
        };
        {
            let mut observed = observed.borrow_mut();
            observed.listing_ms.push(took);
            observed.not_answering += missing;
            observed.server_memory = observed.server_memory.max(tree.server_memory());
            observed.own_memory = observed.own_memory.max(tree.own_memory());
            observed.servers = observed.servers.max(tree.servers.len());
        }
        tokio::time::sleep(SAMPLE_INTERVAL).await;
    }
}

/// Processor time of codeyard and its guards in seconds, without the language servers.
pub(super) fn own_processor_s(server: &CodeyardServer) -> Result<f64, Failure> {
    let tree = server.tree()?;
    Ok(std::iter::once(&tree.serve)
        .chain(&tree.guards)
        .filter_map(|pid| processor_time(*pid))
        .map(|used| used.as_secs_f64())
        .sum())
}
