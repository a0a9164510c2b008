//! Runs the start of a language server: its turn in the queue, its room in the memory budget, the process, the handshake.
//!
//! Invariants: the time limit of a start begins when the start runs, not when it is queued; a server that makes progress, which is output
//! or processor time, isn't given up before the limit for servers with progress; dropping the future leaves the queue and the process ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{timeout, timeout_at};

use crate::admission::start_queue::StartTicket;
use crate::limits;
use crate::low_priority;
use crate::server::context::{ServerContext, ServerTimes};
use crate::server::documents::disk_reads;
use crate::server::documents::document_loading::{LoadedDocuments, WantedDocument};
use crate::server::lifecycle::process_guard::KillOnDrop;
use crate::server::program::launch_spec;
use crate::server::projects::prepared_projects::PreparedProjects;
use crate::status::start_status::StartStatus;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_lsp::client::events::ServerEvents;
use codeyard_lsp::client::lifecycle::{InitializeError, InitializeSpec, Initialized};
use codeyard_lsp::client::{ClientOptions, LspClient, lifecycle};
use codeyard_process::launch::{Process, ProcessExit};

/// The progress of a start is checked this often within its time limit.
const CHECKS: u32 = 4;
/// A server makes progress if it uses at least one part in this many of a processor's time.
const PROGRESS_PART: u32 = 100;

/// A server that answered `initialize`.
pub(in crate::server) struct StartedServer {
    pub(in crate::server) client: LspClient,
    pub(in crate::server) events: ServerEvents,
    pub(in crate::server) child: KillOnDrop,
    pub(in crate::server) initialized: Initialized,
    /// The workspace folders that it got in `initialize`.
    pub(in crate::server) folders: Vec<PathBuf>,
    /// The projects that it was started for.
    pub(in crate::server) projects: PreparedProjects,
    /// Its place in the queue, which it holds while it loads.
    pub(in crate::server) ticket: StartTicket,
    /// When the start was admitted.
    pub(in crate::server) admitted: Instant,
}

/// A start that failed.
pub(in crate::server) struct StartFailure {
    pub(in crate::server) message: String,
    pub(in crate::server) stderr: String,
    /// How the process ended, if it has.
    pub(in crate::server) exit: Option<ProcessExit>,
    /// How long the process ran.
    pub(in crate::server) ran: Duration,
}

impl StartFailure {
    /// No process was started.
    fn before_launch(message: String) -> Self {
        Self { message, stderr: String::new(), exit: None, ran: Duration::ZERO }
    }
}

/// Starts the server of `context`, and reads the documents that it is sent first: those of its projects, the anchors, and those to
/// `reopen`. `status` shows calls where the start stands.
pub(in crate::server) async fn start(
    context: Arc<ServerContext>,
    status: StartStatus,
    reopen: Vec<PathBuf>,
) -> Result<(StartedServer, LoadedDocuments), StartFailure> {
    let started = launch(context.clone(), status).await?;
    let mut paths: BTreeSet<PathBuf> = started.projects.open().into_iter().map(Path::to_path_buf).collect();
    paths.extend(context.folders.anchors());
    paths.extend(reopen);
    if paths.is_empty() {
        return Ok((started, LoadedDocuments::default()));
    }
    let wanted = paths.into_iter().map(WantedDocument::new);
    let read = disk_reads::read_files(context, move |context| LoadedDocuments::read(context, wanted)).await;
    Ok((started, read.unwrap_or_default()))
}

async fn launch(context: Arc<ServerContext>, status: StartStatus) -> Result<StartedServer, StartFailure> {
    let start_lock = context.start_locks.take(&context.workspace, &context.key).await;
    let joined = Instant::now();
    let mut ticket = context.start_queue.join(&context.workspace, &context.kind, status.is_needed());
    status.joined(ticket.place());
    ticket.admitted().await;
    context.memory.admit(&context.status).await;
    status.admitted();
    let admitted = Instant::now();
    context.metrics.start_admitted(admitted.saturating_duration_since(joined));
    let own = context.clone();
    let prepared = match low_priority::run("server-start", move || launch_spec::prepare(&own)).await {
        Some(Ok(prepared)) => prepared,
        Some(Err(error)) => {
            return Err(StartFailure::before_launch(format!("the cache folder can't be used: {}", error.kind())));
        }
        None => return Err(StartFailure::before_launch("preparing the start failed".into())),
    };
    let spec = prepared.spec;
    let launched = context.launcher.launch(&spec).await;
    let connection = launched.map_err(|error| StartFailure::before_launch(error.to_string()))?;
    let began = Instant::now();
    let child = KillOnDrop::new(connection.process, start_lock);
    let options = ClientOptions {
        label: spec.label,
        no_cancel: context.server.quirks.no_cancel.clone(),
        omit_null_params: context.server.quirks.omit_null_params,
        restart_on_error: context.server.quirks.restart_on_error.clone(),
        host: Arc::new(prepared.host),
        frames: context.frames.clone(),
    };
    let (client, events) = LspClient::start(connection.reader, connection.writer, options);
    context.status.set_process(child.process(), client.reader(), Weak::new());
    let failure = match initialize(&client, child.process(), &prepared.initialize, context.times).await {
        Ok(Ok(initialized)) => {
            let folders = prepared.initialize.folders;
            let projects = prepared.projects;
            return Ok(StartedServer { client, events, child, initialized, folders, projects, ticket, admitted });
        }
        Ok(Err(error)) => error.to_string(),
        Err(NoProgress) => "the language server did not start in time".into(),
    };
    // A process that has closed its output is about to end.
    let wait = if client.is_closed() { Duration::from_millis(limits::EXIT_WAIT_MS) } else { Duration::ZERO };
    let exit = timeout(wait, child.process().exited()).await.ok();
    let ran = began.elapsed();
    Err(StartFailure { message: failure, stderr: child.process().stderr_tail(), exit, ran })
}

/// A server that neither answers nor works.
struct NoProgress;

/// The handshake, for as long as the server makes progress.
async fn initialize(
    client: &LspClient,
    process: &Arc<dyn Process>,
    spec: &InitializeSpec,
    times: ServerTimes,
) -> Result<Result<Initialized, InitializeError>, NoProgress> {
    let began = Instant::now();
    let longest = began + times.silent_with_progress.max(times.start);
    let mut progress = began;
    let mut checked = began;
    let mut used = Duration::ZERO;
    let mut handshake = pin!(lifecycle::initialize(client, spec));
    loop {
        let next = (checked + times.start / CHECKS).min(progress + times.start).min(longest);
        if let Ok(result) = timeout_at(next, handshake.as_mut()).await {
            return Ok(result);
        }
        let measured = process.clone();
        let cpu = blocking::spawn(move || measured.cpu_time()).await.ok().flatten().unwrap_or(used);
        let now = Instant::now();
        let works = cpu.saturating_sub(used) >= now.saturating_duration_since(checked) / PROGRESS_PART && cpu > used;
        if works {
            progress = now;
        }
        progress = progress.max(client.last_byte_at());
        (checked, used) = (now, cpu);
        if now >= longest || now >= progress + times.start {
            return Err(NoProgress);
        }
    }
}
