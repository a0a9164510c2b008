//! A bare language server with a minimal client: the baseline of the figures.
//!
//! It uses nothing of codeyard's LSP client, conversion or canonicalisation, only the data of the registry (program, options,
//! settings) and the launcher. Requests share one connection and may run concurrently. Answers stay bytes until the clock has
//! stopped.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex as AsyncMutex, oneshot};

use crate::corpus::Language;
use crate::process;
use crate::questions::BenchQuestion;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::install::Installer;
use codeyard_model::uri::encode_path;
use codeyard_process::environment::allowed_environment;
use codeyard_process::launch::Process;
use codeyard_process::proc_tree;
use codeyard_test_support::bare_client::{BareLaunch, LaunchFailure, initialize_params, note_progress, result_for};

/// The server counts as ready after this time without progress.
pub(crate) const QUIET: Duration = Duration::from_millis(1_500);
/// Longest wait for readiness, and for an answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// LSP error codes of answers that are outdated or cancelled; the request is sent again.
const OUTDATED: std::ops::RangeInclusive<i64> = -32802..=-32800;
/// Size of the read buffer in bytes.
const READ_BYTES: usize = 64 * 1024;

/// A started language server.
pub(crate) struct BareServer {
    connection: Rc<LspConnection>,
    process: Arc<dyn Process>,
    language: Language,
    root: PathBuf,
    opened: Mutex<HashSet<PathBuf>>,
}

struct LspConnection {
    writer: AsyncMutex<Box<dyn AsyncWrite + Send + Unpin>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Vec<u8>>>>,
    next_id: Mutex<u64>,
    progress: Mutex<ProgressState>,
    settings: Value,
    root_uri: String,
}

struct ProgressState {
    running: HashSet<String>,
    last: Instant,
}

/// The fields of a message that decide where it goes.
#[derive(Deserialize)]
struct MessageHead<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
}

/// The error of a response, if any.
#[derive(Deserialize)]
struct ErrorProbe {
    error: Option<Value>,
}

impl BareServer {
    /// Starts the language server of the registry for `root`, with its cache below `cache`, and initializes it.
    pub(crate) async fn start(
        language: Language,
        root: &Path,
        installer: &Installer,
        cache: &Path,
    ) -> Result<Self, Failure> {
        let launch = BareLaunch::prepare(language.kind, root, installer, cache).map_err(|failure| match failure {
            LaunchFailure::Missing(what) => Failure::missing(what),
            LaunchFailure::Cache(error) => Failure::new(format!("{}: {error}", cache.display())),
        })?;
        let launch = launch.config;
        let mut env: HashMap<_, _> = allowed_environment().into_iter().collect();
        env.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
        let args = launch.args.iter().map(Into::into).collect();
        let started = process::start(language.kind, &launch.program, args, root, env.into_iter().collect()).await?;
        let connection = Rc::new(LspConnection {
            writer: AsyncMutex::new(started.writer),
            waiting: Mutex::default(),
            next_id: Mutex::new(0),
            progress: Mutex::new(ProgressState { running: HashSet::new(), last: Instant::now() }),
            settings: launch.settings.clone().unwrap_or(Value::Null),
            root_uri: encode_path(root),
        });
        tokio::task::spawn_local(read_all(started.reader, Rc::downgrade(&connection)));
        let process = started.process;
        let server = Self { connection, process, language, root: root.into(), opened: Mutex::default() };
        server.initialize(launch.initialization_options).await?;
        Ok(server)
    }

    /// Asks a question and returns the response message. Opens the file first; repeats the request if the answer is outdated.
    pub(crate) async fn ask(&self, ask: &BenchQuestion) -> Result<Vec<u8>, String> {
        let (method, params) = ask.to_lsp();
        self.query(Some(ask.path()), method, &params).await
    }

    /// The same for any method with parameters as JSON. `path` is the file to open first.
    pub(crate) async fn query(&self, path: Option<&Path>, method: &str, params: &str) -> Result<Vec<u8>, String> {
        if let Some(path) = path {
            self.open(path).await?;
        }
        loop {
            let answer = self.connection.request(method, params).await?;
            // An error response is short. Longer responses are results and are not parsed here.
            if answer.len() > 512 || !is_outdated(&answer) {
                return Ok(answer);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Opens a file with its text on disk, once.
    pub(crate) async fn open(&self, path: &Path) -> Result<(), String> {
        if !self.opened.lock().insert(path.to_path_buf()) {
            return Ok(());
        }
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let document = json!({"uri": encode_path(path), "languageId": self.language.id, "version": 1, "text": text});
        self.connection.notify("textDocument/didOpen", &json!({"textDocument": document}).to_string()).await
    }

    /// Waits until the server has reported no progress for a while.
    pub(crate) async fn wait_until_idle(&self) {
        let began = Instant::now();
        *self.connection.last_progress() = began;
        while began.elapsed() < TIMEOUT && !self.connection.is_quiet() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Memory of the server and its descendants without the guard, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let server = self.process.id().and_then(|guard| Some(proc_tree::descendants(guard).first()?.pid));
        server.and_then(proc_tree::memory_bytes).unwrap_or(0)
    }

    pub(crate) async fn stop(self) {
        process::stop(&self.process).await;
    }

    async fn initialize(&self, options: Option<Value>) -> Result<(), Failure> {
        let params = initialize_params(&self.root, &self.connection.root_uri, options, &["utf-16"]);
        let failed = |why: String| Failure::new(format!("cannot start {}: {why}", self.language.kind));
        self.connection.request("initialize", &params.to_string()).await.map_err(failed)?;
        self.connection.notify("initialized", "{}").await.map_err(failed)?;
        if !self.connection.settings.is_null() {
            let params = json!({"settings": self.connection.settings}).to_string();
            self.connection.notify("workspace/didChangeConfiguration", &params).await.map_err(failed)?;
        }
        Ok(())
    }
}

impl LspConnection {
    /// Sends a request and returns the response message.
    async fn request(&self, method: &str, params: &str) -> Result<Vec<u8>, String> {
        let id = {
            let mut next = self.next_id.lock();
            *next += 1;
            *next
        };
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.send(&body).await?;
        match tokio::time::timeout(TIMEOUT, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err("the language server exited".to_owned()),
            Err(_) => Err(format!("no answer to {method}")),
        }
    }

    async fn notify(&self, method: &str, params: &str) -> Result<(), String> {
        self.send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await
    }

    async fn send(&self, body: &str) -> Result<(), String> {
        let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let mut writer = self.writer.lock().await;
        writer.write_all(message.as_bytes()).await.map_err(|error| error.to_string())?;
        writer.flush().await.map_err(|error| error.to_string())
    }

    /// Handles a message of the server.
    async fn take(&self, message: Vec<u8>) {
        let Ok(head) = serde_json::from_slice::<MessageHead<'_>>(&message) else { return };
        match (head.method, head.id) {
            (None, Some(id)) => {
                let waiting = id.get().parse().ok().and_then(|id: u64| self.waiting.lock().remove(&id));
                if let Some(waiting) = waiting {
                    // The waiting side may have timed out.
                    let _ = waiting.send(message);
                }
            }
            (Some(method), Some(id)) => {
                let message: Value = serde_json::from_slice(&message).unwrap_or_default();
                let result = result_for(&method, &message["params"], &self.root_uri, &self.settings);
                let id = id.get();
                // If the server no longer reads, its missing answers show it.
                let _ = self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
            }
            (Some(method), None) if method == "$/progress" => self.on_progress(&message),
            _ => {}
        }
    }

    fn on_progress(&self, message: &[u8]) {
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        let mut progress = self.progress.lock();
        progress.last = Instant::now();
        note_progress(&mut progress.running, &message["params"]);
    }

    fn last_progress(&self) -> parking_lot::MappedMutexGuard<'_, Instant> {
        parking_lot::MutexGuard::map(self.progress.lock(), |progress| &mut progress.last)
    }

    fn is_quiet(&self) -> bool {
        let progress = self.progress.lock();
        progress.running.is_empty() && progress.last.elapsed() >= QUIET
    }
}

async fn read_all(reader: Box<dyn AsyncRead + Send + Unpin>, connection: std::rc::Weak<LspConnection>) {
    let mut reader = BufReader::with_capacity(READ_BYTES, reader);
    while let Ok(message) = read_message(&mut reader).await {
        let Some(connection) = connection.upgrade() else { return };
        connection.take(message).await;
    }
    if let Some(connection) = connection.upgrade() {
        connection.waiting.lock().clear();
    }
}

async fn read_message(reader: &mut BufReader<Box<dyn AsyncRead + Send + Unpin>>) -> std::io::Result<Vec<u8>> {
    let mut length = 0;
    let mut line = Vec::with_capacity(64);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let text = std::str::from_utf8(&line).unwrap_or_default().trim();
        if text.is_empty() {
            break;
        }
        if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    Ok(body)
}

fn is_outdated(answer: &[u8]) -> bool {
    let error = serde_json::from_slice::<ErrorProbe>(answer).ok().and_then(|answer| answer.error);
    error.and_then(|error| error["code"].as_i64()).is_some_and(|code| OUTDATED.contains(&code))
}
