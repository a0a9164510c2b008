//! A bare language server and the leanest client for it: the other side of every figure.
//!
//! Nothing of codeyard's client, conversion or canonicalisation is used; only the registry's data (program, options,
//! settings) and the launcher are shared. Any number may ask at once over the one connection. Answers stay bytes: what is
//! in them is looked at when the clock has stopped.

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
use tokio::sync::{Mutex as Turn, oneshot};

use super::corpus::Language;
use super::process;
use super::questions::Ask;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::install::{Installer, Located};
use codeyard_lsp::registry::{Launch, Places, Registry};
use codeyard_model::uri::encode_path;
use codeyard_process::environment::allowed_environment;
use codeyard_process::launch::Process;
use codeyard_process::proc_tree;

/// No progress for this long counts as ready.
const QUIET: Duration = Duration::from_millis(1_500);
/// Longest wait for that, and for an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a server says when something changed meanwhile: ask again.
const OUTDATED: std::ops::RangeInclusive<i64> = -32802..=-32800;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// A started server.
pub(crate) struct Bare {
    wire: Rc<Wire>,
    process: Arc<dyn Process>,
    language: Language,
    root: PathBuf,
    opened: Mutex<HashSet<PathBuf>>,
}

struct Wire {
    writer: Turn<Box<dyn AsyncWrite + Send + Unpin>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Vec<u8>>>>,
    next_id: Mutex<u64>,
    progress: Mutex<Progress>,
    settings: Value,
    root_uri: String,
}

struct Progress {
    running: HashSet<String>,
    last: Instant,
}

/// As much of a message as must be known to pass it on.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
}

/// An answer's parts.
#[derive(Deserialize)]
struct Answer {
    error: Option<Value>,
}

impl Bare {
    /// Starts the registry's server for `root`, its cache below `cache`, and shakes hands.
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
        let wire = Rc::new(Wire {
            writer: Turn::new(started.writer),
            waiting: Mutex::default(),
            next_id: Mutex::new(0),
            progress: Mutex::new(Progress { running: HashSet::new(), last: Instant::now() }),
            settings: launch.settings.clone().unwrap_or(Value::Null),
            root_uri: encode_path(root),
        });
        tokio::task::spawn_local(read_all(started.reader, Rc::downgrade(&wire)));
        let (process, opened) = (started.process, Mutex::default());
        let bare = Self { wire, process, language, root: root.into(), opened };
        bare.shake_hands(launch.initialization_options).await?;
        Ok(bare)
    }

    /// Asks, opening the file first as any client must. The whole response message; asks again what was outdated.
    pub(crate) async fn ask(&self, ask: &Ask) -> Result<Vec<u8>, String> {
        let (method, params) = ask.to_lsp();
        self.query(Some(ask.path()), method, &params).await
    }

    /// The same of any method, with its parameters as JSON; `path` is the file to be opened first.
    pub(crate) async fn query(&self, path: Option<&Path>, method: &str, params: &str) -> Result<Vec<u8>, String> {
        if let Some(path) = path {
            self.open(path).await?;
        }
        loop {
            let answer = self.wire.request(method, params).await?;
            // An error is short, and comes before or after an id: results are not looked at here.
            if answer.len() > 512 || !is_outdated(&answer) {
                return Ok(answer);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Opens a file as it is on disk, once.
    pub(crate) async fn open(&self, path: &Path) -> Result<(), String> {
        if !self.opened.lock().insert(path.to_path_buf()) {
            return Ok(());
        }
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let document = json!({"uri": encode_path(path), "languageId": self.language.id, "version": 1, "text": text});
        self.wire.notify("textDocument/didOpen", &json!({"textDocument": document}).to_string()).await
    }

    /// Waits until no progress has been reported for a while.
    pub(crate) async fn settle(&self) {
        let began = Instant::now();
        *self.wire.last_progress() = began;
        while began.elapsed() < PATIENCE && !self.wire.is_quiet() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Memory of the server with all it started, in bytes; the guard left out.
    pub(crate) fn memory(&self) -> u64 {
        let server = self.process.id().and_then(|guard| Some(proc_tree::descendants(guard).first()?.pid));
        server.and_then(proc_tree::memory_bytes).unwrap_or(0)
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        process::stop(&self.process).await;
    }

    async fn shake_hands(&self, options: Option<Value>) -> Result<(), Failure> {
        let uri = &self.wire.root_uri;
        let mut params = json!({"processId": std::process::id(), "rootUri": uri, "rootPath": self.root,
            "workspaceFolders": [{"uri": uri, "name": "root"}], "capabilities": capabilities()});
        if let Some(options) = options {
            params["initializationOptions"] = options;
        }
        let failed = |why: String| Failure::new(format!("{} can't be started: {why}", self.language.kind));
        self.wire.request("initialize", &params.to_string()).await.map_err(failed)?;
        self.wire.notify("initialized", "{}").await.map_err(failed)?;
        if !self.wire.settings.is_null() {
            let params = json!({"settings": self.wire.settings}).to_string();
            self.wire.notify("workspace/didChangeConfiguration", &params).await.map_err(failed)?;
        }
        Ok(())
    }
}

impl Wire {
    /// The response message to a request.
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
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err("the language server ended".to_owned()),
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

    /// Takes a message of the server.
    async fn take(&self, message: Vec<u8>) {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(&message) else { return };
        match (head.method, head.id) {
            (None, Some(id)) => {
                let waiting = id.get().parse().ok().and_then(|id: u64| self.waiting.lock().remove(&id));
                if let Some(waiting) = waiting {
                    // Who no longer waits needs no answer.
                    let _ = waiting.send(message);
                }
            }
            (Some(method), Some(id)) => {
                let result = self.result(&method, &message);
                let id = id.get();
                // A server that doesn't read any more shows by its answers that don't come.
                let _ = self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
            }
            (Some(method), None) if method == "$/progress" => self.on_progress(&message),
            _ => {}
        }
    }

    fn on_progress(&self, message: &[u8]) {
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        let (token, kind) = (message["params"]["token"].to_string(), &message["params"]["value"]["kind"]);
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

    /// The result of what the server asks.
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

async fn read_all(reader: Box<dyn AsyncRead + Send + Unpin>, wire: std::rc::Weak<Wire>) {
    let mut reader = BufReader::with_capacity(READ_BYTES, reader);
    while let Ok(message) = read_message(&mut reader).await {
        let Some(wire) = wire.upgrade() else { return };
        wire.take(message).await;
    }
    if let Some(wire) = wire.upgrade() {
        wire.waiting.lock().clear();
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
    let error = serde_json::from_slice::<Answer>(answer).ok().and_then(|answer| answer.error);
    error.and_then(|error| error["code"].as_i64()).is_some_and(|code| OUTDATED.contains(&code))
}

fn launch(language: Language, root: &Path, installer: &Installer, cache: &Path) -> Result<Launch, Failure> {
    let registry = Registry::builtin();
    let missing = |what: String| Failure::missing(format!("{}: {what}", language.kind));
    let server = registry.servers.get(language.kind).ok_or_else(|| missing("no such kind".to_owned()))?;
    let program = match installer.locate(language.kind, server, None) {
        Located::Ready(program) => program,
        Located::NotInstalled { command } => return Err(missing(command)),
        Located::Broken { why } => return Err(missing(why)),
    };
    let places = Places {
        state: cache.into(),
        root: root.into(),
        cache: cache.join("cache"),
        install: program.install.clone(),
        bin: program.bin.clone(),
    };
    let prepared = Launch::prepare(server, &program.program, &program.args, &program.env, &places);
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
