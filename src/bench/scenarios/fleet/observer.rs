//! Observes a codeyard server from outside while it works: the admin API as operators read it, memory and processor time.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use super::limits::{LIST_INTERVAL, MEMORY_INTERVAL};
use crate::codeyard_server::CodeyardServer;
use crate::process::CodeyardProcesses;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_process::proc_tree::processor_time;
use codeyard_server::admin::client::AdminClient;

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
    let done = tokio::select! {
        biased;
        done = work => done?,
        failed = watching => return Err(failed),
    };
    // The servers still run, and nothing is disturbed any more.
    measure(server, &observed).await?;
    let observed = observed.borrow().clone();
    Ok((done, observed))
}

async fn watch(server: &CodeyardServer, observed: Rc<RefCell<Observed>>) -> Failure {
    let lists = lists(server, &observed);
    tokio::select! {
        never = lists => never,
        failed = processes(server, &observed) => failed,
    }
}

/// Reads the list of workspaces again and again.
async fn lists(server: &CodeyardServer, observed: &RefCell<Observed>) -> Failure {
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
        {
            let mut observed = observed.borrow_mut();
            observed.listing_ms.push(took);
            observed.not_answering += missing;
        }
        tokio::time::sleep(LIST_INTERVAL).await;
    }
}

/// Measures the processes again and again.
async fn processes(server: &CodeyardServer, observed: &RefCell<Observed>) -> Failure {
    loop {
        // The first calls come all at once. A measurement at the same time would take a processor from them.
        tokio::time::sleep(MEMORY_INTERVAL).await;
        if let Err(failure) = measure(server, observed).await {
            return failure;
        }
    }
}

/// Measures the processes once, on another thread: that takes long with many language servers, and calls of the agents that wait for this
/// thread would look slow.
async fn measure(server: &CodeyardServer, observed: &RefCell<Observed>) -> Result<(), Failure> {
    let process = server.process_id();
    let measured = tokio::task::spawn_blocking(move || {
        let tree = process.and_then(CodeyardProcesses::below)?;
        Some((tree.server_memory(), tree.own_memory(), tree.servers.len()))
    });
    let measured = measured.await.ok().flatten();
    let (servers, own, count) = measured.ok_or_else(|| Failure::new("the processes of codeyard can't be read"))?;
    let mut observed = observed.borrow_mut();
    observed.server_memory = observed.server_memory.max(servers);
    observed.own_memory = observed.own_memory.max(own);
    observed.servers = observed.servers.max(count);
    Ok(())
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
