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
use codeyard_lsp::install::{Installer, ProgramStatus};
use codeyard_lsp::registry::{LaunchConfig, LaunchPaths, Registry};
use codeyard_model::uri::encode_path;
use codeyard_process::environment::allowed_environment;
use codeyard_process::launch::Process;
use codeyard_process::proc_tree;

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
        let launch = launch(language, root, installer, cache)?;
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
        let uri = &self.connection.root_uri;
        let mut params = json!({"processId": std::process::id(), "rootUri": uri, "rootPath": self.root,
            "workspaceFolders": [{"uri": uri, "name": "root"}], "capabilities": capabilities()});
        if let Some(options) = options {
            params["initializationOptions"] = options;
        }
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
                let result = self.result(&method, &message);
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
        let token = message["params"]["token"].to_string();
        let kind = &message["params"]["value"]["kind"];
        let mut progress = self.progress.lock();
        progress.last = Instant::now();
        match kind.as_str() {
            Some("begin") => drop(progress.running.insert(token)),
            Some("end") => drop(progress.running.remove(&token)),
            _ => {}
        }
    }

    fn last_progress(&self) -> parking_lot::MappedMutexGuard<'_, Instant> {
        parking_lot::MutexGuard::map(self.progress.lock(), |progress| &mut progress.last)
    }

    fn is_quiet(&self) -> bool {
        let progress = self.progress.lock();
        progress.running.is_empty() && progress.last.elapsed() >= QUIET
    }

    /// The result for a request of the server.
    fn result(&self, method: &str, message: &[u8]) -> Value {
        match method {
            "workspace/configuration" => {
                let message: Value = serde_json::from_slice(message).unwrap_or_default();
                let items = message["params"]["items"].as_array().cloned().unwrap_or_default();
                items.iter().map(|item| self.setting(item["section"].as_str().unwrap_or_default())).collect()
            }
            "workspace/workspaceFolders" => json!([{"uri": self.root_uri, "name": "root"}]),
            _ => Value::Null,
        }
    }

    fn setting(&self, section: &str) -> Value {
        let direct = self.settings.get(section);
        let walked = section.split('.').try_fold(&self.settings, |value, key| value.get(key));
        direct.or(walked).cloned().unwrap_or(Value::Null)
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

fn launch(language: Language, root: &Path, installer: &Installer, cache: &Path) -> Result<LaunchConfig, Failure> {
    let registry = Registry::builtin();
    let missing = |what: String| Failure::missing(format!("{}: {what}", language.kind));
    let mut server = registry.servers.get(language.kind).ok_or_else(|| missing("no such kind".to_owned()))?.clone();
    if language.kind == "clangd" {
        // It would write its index beside the database, into the repository.
        server.quirks.copy_to_cache = vec!["compile_commands.json".into(), "build/compile_commands.json".into()];
        server.quirks.copy_args = vec!["--compile-commands-dir={cache}".into()];
    }
    let server = &server;
    let program = match installer.locate(language.kind, server, None) {
        ProgramStatus::Ready(program) => program,
        ProgramStatus::NotInstalled { command } => return Err(missing(command)),
        ProgramStatus::Broken { why, command } => return Err(missing(format!("{why}; {command}"))),
    };
    let places = LaunchPaths {
        state: cache.into(),
        root: root.into(),
        cache: cache.join("cache"),
        install: program.install.clone(),
        bin: program.bin.clone(),
        checker: program.checker.clone(),
    };
    let prepared = LaunchConfig::prepare(server, &program.program, &program.args, &program.env, &places);
    prepared.map_err(|error| Failure::new(format!("{}: {error}", cache.display())))
}

fn capabilities() -> Value {
    let dynamic = json!({"dynamicRegistration": true});
    let kinds: Vec<u8> = (1..=26).collect();
    json!({
        "general": {"positionEncodings": ["utf-16"]},
        "workspace": {"configuration": true, "workspaceFolders": true, "didChangeConfiguration": dynamic,
            "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
            "symbol": {"dynamicRegistration": true, "symbolKind": {"valueSet": kinds}},
            "diagnostics": {"refreshSupport": true}},
        "textDocument": {
            "synchronization": {"dynamicRegistration": true, "didSave": true},
            "definition": {"dynamicRegistration": true, "linkSupport": true},
            "references": dynamic,
            "implementation": {"dynamicRegistration": true, "linkSupport": true},
            "callHierarchy": dynamic,
            "hover": {"dynamicRegistration": true, "contentFormat": ["markdown", "plaintext"]},
            "documentSymbol": {"dynamicRegistration": true, "hierarchicalDocumentSymbolSupport": true,
                "symbolKind": {"valueSet": kinds}, "tagSupport": {"valueSet": [1]}},
            "publishDiagnostics": {"versionSupport": true, "relatedInformation": true, "tagSupport": {"valueSet": [1, 2]}},
            "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": true}},
        "window": {"workDoneProgress": true},
    })
}
