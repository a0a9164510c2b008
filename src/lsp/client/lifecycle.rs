//! The start and the stop of a server: the `initialize` handshake with the client's capabilities, and the stop
//! sequence.
//!
//! The handshake has no time limit of its own: the caller sets one, because servers differ. Invariants: the result of
//! `initialize` is in the client's capabilities before `initialized` is sent; the stop sequence ends within the sum
//! of its time limits, and sends SIGKILL to every process of the group that is still there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::capabilities::Capabilities;
use super::connection::LspClient;
use super::pending_requests::RequestError;
use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_model::uri::encode_path;
use codeyard_process::launch::{Process, ProcessExit};

/// The result of `initialize`, in bytes.
const MAX_INITIALIZE_BYTES: usize = 1024 * 1024;
/// Stopping a language server: the time for `shutdown`, in milliseconds.
const STOP_SHUTDOWN_MS: u64 = 2_000;
/// Stopping a language server: the time to exit after `exit`, in milliseconds.
const STOP_EXIT_MS: u64 = 1_000;
/// Stopping a language server: the time for its processes to exit after SIGTERM, in milliseconds.
const STOP_TERM_MS: u64 = 2_000;
/// Stopping a language server: the time for its processes to be gone after SIGKILL, in milliseconds.
const STOP_KILL_MS: u64 = 1_000;

/// The parameters of the handshake.
#[derive(Debug, Clone)]
pub struct InitializeSpec {
    /// The process's own root, an absolute path.
    pub root: PathBuf,
    /// The workspace folders, absolute paths.
    pub folders: Vec<PathBuf>,
    /// Our process id; `None` sends `null`. Some servers watch the id and exit when that process is gone.
    pub process_id: Option<u32>,
    /// `initializationOptions` of the server's registry entry.
    pub initialization_options: Option<Value>,
    /// Position encodings to offer, such as `utf-8`. Empty: `utf-16`.
    pub encodings: Vec<String>,
    /// Settings sent by `workspace/didChangeConfiguration` after the handshake.
    pub settings: Option<Value>,
}

/// The server's answer to the handshake.
#[derive(Debug, Clone)]
pub struct Initialized {
    /// Its capabilities; the same live view as [`LspClient::capabilities`].
    pub capabilities: Capabilities,
    /// The position encoding it chose: `utf-8`, `utf-16` or `utf-32`.
    pub encoding: String,
}

/// Why a handshake failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitializeError {
    #[error("initialize failed: {0}")]
    Request(#[from] RequestError),
    /// The result doesn't follow the protocol.
    #[error("the result of initialize is malformed")]
    Malformed,
    /// The result is larger than the limit.
    #[error("the result of initialize is too large")]
    TooLarge,
    /// The server chose an unknown position encoding.
    #[error("the server chose an unknown position encoding")]
    Encoding,
}

/// The stage of the stop sequence at which a server exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopStage {
    /// It had exited before.
    Gone,
    /// After `exit`.
    Exit,
    /// After SIGTERM.
    Term,
    /// After SIGKILL.
    Kill,
}

/// How much time a server gets to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopPace {
    /// It may finish what it is doing.
    Patient,
    /// Codeyard ends: all servers are stopped at once, and together they get little time.
    Prompt,
}

impl StopPace {
    /// The times of the four steps in milliseconds.
    fn times(self) -> [u64; 4] {
        match self {
            Self::Patient => [STOP_SHUTDOWN_MS, STOP_EXIT_MS, STOP_TERM_MS, STOP_KILL_MS],
            Self::Prompt => limits::PROMPT_STOP_MS,
        }
    }
}

/// How a server was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReport {
    /// The stage at which its process ended, or at which the group became empty.
    pub stage: StopStage,
    /// How the process ended; `None` if its end was not seen.
    pub exit: Option<ProcessExit>,
    /// No process of the group is left.
    pub group_empty: bool,
    /// The server answered `shutdown`.
    pub answered_shutdown: bool,
    /// How long the stop took.
    pub took: Duration,
}

/// The handshake: sends `initialize`, `initialized` and the settings.
pub async fn initialize(client: &LspClient, spec: &InitializeSpec) -> Result<Initialized, InitializeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct HandshakeResult {
        capabilities: Value,
    }
    let reply = client.request("initialize", &initialize_params(spec))?.await?;
    if reply.len() > MAX_INITIALIZE_BYTES {
        return Err(InitializeError::TooLarge);
    }
    let answer: HandshakeResult = reply.decode().map_err(|_| InitializeError::Malformed)?;
    if !answer.capabilities.is_object() {
        return Err(InitializeError::Malformed);
    }
    let encoding = match answer.capabilities.get("positionEncoding").and_then(Value::as_str).unwrap_or("utf-16") {
        known @ ("utf-8" | "utf-16" | "utf-32") => known.to_owned(),
        _ => return Err(InitializeError::Encoding),
    };
    client.capabilities().set_static(answer.capabilities);
    client.notify("initialized", &json!({}))?;
    if let Some(settings) = &spec.settings {
        client.notify("workspace/didChangeConfiguration", &json!({ "settings": settings }))?;
    }
    Ok(Initialized { capabilities: client.capabilities().clone(), encoding })
}

/// The stop sequence: `shutdown`, `exit`, SIGTERM, SIGKILL, each with its time limit. It ends as soon as no process
/// is left.
pub async fn stop(client: &LspClient, process: &dyn Process, pace: StopPace) -> StopReport {
    let began = Instant::now();
    let [shutdown_ms, exit_ms, term_ms, kill_ms] = pace.times();
    let mut answered_shutdown = false;
    let mut stage = StopStage::Gone;
    let mut exit = within(0, process).await;
    if exit.is_none() && !client.is_closed() {
        stage = StopStage::Exit;
        answered_shutdown = shutdown(client, process, shutdown_ms).await;
        // `exit` is sent also to a server that didn't answer: it costs nothing and may still help.
        let _ = client.notify("exit", &Value::Null);
        exit = within(exit_ms, process).await;
    }
    client.close();
    if exit.is_none() || !process.group_is_empty() {
        stage = StopStage::Term;
        process.terminate();
        exit = within(term_ms, process).await.or(exit);
    }
    if exit.is_none() || !process.group_is_empty() {
        stage = StopStage::Kill;
        process.kill();
        exit = within(kill_ms, process).await.or(exit);
    }
    let group_empty = until_empty(process, kill_ms).await;
    StopReport { stage, exit, group_empty, answered_shutdown, took: began.elapsed() }
}

/// Ends a server that has no connection yet. Returns whether all its processes have ended.
pub async fn kill(process: &dyn Process, pace: StopPace) -> bool {
    let [.., kill_ms] = pace.times();
    process.kill();
    within(kill_ms, process).await;
    until_empty(process, kill_ms).await
}

/// Sends `shutdown`; returns whether it was answered. Stops waiting when the server exits.
async fn shutdown(client: &LspClient, process: &dyn Process, ms: u64) -> bool {
    let Ok(reply) = client.request("shutdown", &Value::Null) else { return false };
    let limit = Duration::from_millis(ms);
    tokio::select! {
        biased;
        answered = timeout(limit, reply) => matches!(answered, Ok(Ok(_) | Err(RequestError::Server { .. }))),
        _ = process.exited() => false,
    }
}

async fn within(ms: u64, process: &dyn Process) -> Option<ProcessExit> {
    timeout(Duration::from_millis(ms), process.exited()).await.ok()
}

/// Polls until the group is empty, for `ms` at most.
async fn until_empty(process: &dyn Process, ms: u64) -> bool {
    const STEP_MS: u64 = 10;
    for _ in 0..ms / STEP_MS {
        if process.group_is_empty() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(STEP_MS)).await;
    }
    process.group_is_empty()
}

fn initialize_params(spec: &InitializeSpec) -> Value {
    let uri = encode_path(&spec.root);
    let mut params = json!({
        "processId": spec.process_id,
        "clientInfo": {"name": "codeyard", "version": env!("CARGO_PKG_VERSION")},
        "locale": "en",
        "rootPath": spec.root.to_string_lossy(),
        "rootUri": uri,
        "workspaceFolders": spec.folders.iter().map(|folder| workspace_folder(folder)).collect::<Vec<_>>(),
        "capabilities": client_capabilities(&spec.encodings),
        "trace": "off",
    });
    if let (Some(options), Some(object)) = (&spec.initialization_options, params.as_object_mut()) {
        object.insert("initializationOptions".to_owned(), options.clone());
    }
    params
}

/// A workspace folder as the protocol has it.
pub fn workspace_folder(folder: &Path) -> Value {
    json!({"uri": encode_path(folder), "name": workspace_folder_name(folder)})
}

/// The name of a workspace folder: the last part of its path.
pub fn workspace_folder_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The capabilities of this client. Each entry is there because some server behaves better with it. What would only
/// make answers larger (snippets, markup, related information) is left out or turned off.
fn client_capabilities(encodings: &[String]) -> Value {
    let utf16 = ["utf-16".to_owned()];
    let encodings = if encodings.is_empty() { &utf16[..] } else { encodings };
    json!({
        "general": {
            "positionEncodings": encodings,
            "staleRequestSupport": {"cancel": true, "retryOnContentModified": []},
            "markdown": {"parser": "marked", "version": "1.1.0"},
        },
        "workspace": {
            "applyEdit": false,
            "configuration": true,
            "workspaceFolders": true,
            "didChangeConfiguration": {"dynamicRegistration": true},
            "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
            "symbol": {"dynamicRegistration": true, "symbolKind": {"valueSet": (1..=26).collect::<Vec<u8>>()}},
            "diagnostics": {"refreshSupport": true},
        },
        "textDocument": text_document_capabilities(),
        "window": {
            "workDoneProgress": true,
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": false}},
            "showDocument": {"support": false},
        },
        "experimental": {"serverStatusNotification": true},
    })
}

fn text_document_capabilities() -> Value {
    let dynamic = json!({"dynamicRegistration": true});
    let link = json!({"dynamicRegistration": true, "linkSupport": true});
    json!({
        "synchronization": {"dynamicRegistration": true, "didSave": true, "willSave": false, "willSaveWaitUntil": false},
        "definition": link,
        "declaration": link,
        "typeDefinition": link,
        "implementation": link,
        "references": dynamic,
        "callHierarchy": dynamic,
        "typeHierarchy": dynamic,
        "hover": {"dynamicRegistration": true, "contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {
            "dynamicRegistration": true,
            "hierarchicalDocumentSymbolSupport": true,
            "symbolKind": {"valueSet": (1..=26).collect::<Vec<u8>>()},
            "tagSupport": {"valueSet": [1]},
        },
        "publishDiagnostics": {
            "relatedInformation": true,
            "versionSupport": true,
            "codeDescriptionSupport": false,
            "dataSupport": false,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": true},
    })
}
