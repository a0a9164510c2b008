//! A correct fake language server with random faults; it knows only what it read and received.
//!
//! It reads the disk when its watches are registered, and afterwards only reported changes. So an unreported change
//! causes a wrong answer.

use std::sync::Arc;
use std::time::Duration;

use codeyard_process::launch::ProcessExit;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::fake_server::message_reader::read_message;
use crate::sim::faults::StartFault;
use crate::sim::language::Project;
use crate::sim::profile::Diagnosing;
use crate::sim::server_model::ServerModel;
use crate::sim::stage::{Sabotage, Shared};
use crate::sim::wire::framed;

/// Output, or the exit after all output is written.
pub(crate) enum Out {
    Bytes(Vec<u8>),
    End(ProcessExit),
}

/// A fake language server.
pub(crate) struct Server {
    pub number: usize,
    pub workspace: usize,
    pub kind: String,
    pub project: Project,
    pub stage: Shared,
    pub start: StartFault,
    pub out: mpsc::UnboundedSender<Out>,
    pub stopped: CancellationToken,
    pub silent: CancellationToken,
    pub model: Mutex<ServerModel>,
    exit: Mutex<Option<ProcessExit>>,
}

impl Server {
    /// A server that isn't connected yet.
    pub(crate) fn new(
        number: usize,
        workspace: usize,
        kind: &str,
        project: Project,
        stage: Shared,
        start: StartFault,
        out: mpsc::UnboundedSender<Out>,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            workspace,
            kind: kind.to_owned(),
            project,
            stage,
            start,
            out,
            stopped: CancellationToken::new(),
            silent: CancellationToken::new(),
            model: Mutex::default(),
            exit: Mutex::default(),
        })
    }

    /// Exit status after the end.
    pub(crate) fn exit(&self) -> Option<ProcessExit> {
        *self.exit.lock()
    }

    /// Ends it if it is running.
    pub(crate) fn finish(&self, exit: ProcessExit) {
        let first = self.exit.lock().replace(exit).is_none();
        if first {
            let mut stage = self.stage.lock();
            stage.lives[self.number].ended = Some(Instant::now());
            stage.lives[self.number].open.clear();
            stage.note(format!("{} ended {:?} {:?}", self.name(), exit.code, exit.signal));
        }
        self.stopped.cancel();
    }

    /// Kills it as an operator or the system would.
    pub(crate) fn kill_from_outside(&self) {
        if self.exit().is_none() {
            self.stage.lock().lives[self.number].killed_outside = true;
        }
        self.finish(ProcessExit::of_signal(9));
    }

    pub(crate) fn name(&self) -> String {
        format!("w{}/{}#{}", self.workspace, self.kind, self.number)
    }

    pub(crate) fn is_sabotaged(&self, how: Sabotage) -> bool {
        self.stage.lock().sabotage == how
    }

    pub(crate) fn note(&self, what: impl std::fmt::Display) {
        let text = format!("{} {what}", self.name());
        self.stage.lock().note(text);
    }

    /// Reads and writes until it is stopped.
    pub(crate) async fn run(self: Arc<Self>, pipe: DuplexStream, to_write: mpsc::UnboundedReceiver<Out>) {
        let (reader, writer) = tokio::io::split(pipe);
        let both = async {
            tokio::join!(self.read(reader), self.write(writer, to_write));
        };
        tokio::select! {
            biased;
            () = self.stopped.cancelled() => {}
            () = both => {}
        }
    }

    async fn read(self: &Arc<Self>, reader: ReadHalf<DuplexStream>) {
        let mut reader = BufReader::new(reader);
        while let Some(message) = read_message(&mut reader).await {
            if self.silent.is_cancelled() {
                std::future::pending::<()>().await;
            }
            self.take(message);
        }
        self.finish(ProcessExit::of_code(0));
    }

    async fn write(&self, mut writer: WriteHalf<DuplexStream>, mut to_write: mpsc::UnboundedReceiver<Out>) {
        while let Some(out) = to_write.recv().await {
            if self.silent.is_cancelled() {
                std::future::pending::<()>().await;
            }
            match out {
                Out::Bytes(bytes) => drop(writer.write_all(&bytes).await),
                Out::End(exit) => self.finish(exit),
            }
        }
    }

    fn take(self: &Arc<Self>, message: Value) {
        let id = message.get("id").and_then(Value::as_u64);
        let Some(method) = message["method"].as_str() else { return self.take_answer(&message) };
        let params = &message["params"];
        let digest = self.stage.lock().digest(params);
        self.note(format!("<- {method} {} {digest}", id.map(|id| id.to_string()).unwrap_or_default()));
        match (id, method) {
            (Some(id), "initialize") => self.initialize(id),
            (Some(id), "shutdown") => {
                self.stage.lock().lives[self.number].stopping = true;
                self.reply(id, json!(null));
            }
            (Some(id), _) => self.request(id, method, params.clone()),
            (None, _) => self.notified(method, params),
        }
    }

    fn notified(self: &Arc<Self>, method: &str, params: &Value) {
        let uri =
            params["textDocument"]["uri"].as_str().and_then(|uri| self.stage.lock().site(self.workspace).name_of(uri));
        match (method, uri) {
            ("workspace/didChangeWatchedFiles", _) if self.is_sabotaged(Sabotage::DeafToChanges) => {}
            ("$/cancelRequest", _) if self.is_sabotaged(Sabotage::DeafToCancels) => {}
            ("initialized", _) => self.begin_indexing(true),
            ("exit", _) => self.finish(ProcessExit::of_code(0)),
            ("$/cancelRequest", _) => self.cancelled(params["id"].as_u64().unwrap()),
            ("textDocument/didOpen", Some(name)) => {
                let document = &params["textDocument"];
                let text = Arc::from(document["text"].as_str().unwrap());
                self.model.lock().open.insert(name, (document["version"].as_i64().unwrap(), text));
                self.push_all();
            }
            ("textDocument/didChange", Some(name)) => {
                let text = Arc::from(params["contentChanges"][0]["text"].as_str().unwrap());
                let version = params["textDocument"]["version"].as_i64().unwrap();
                self.model.lock().open.insert(name, (version, text));
                self.push_all();
            }
            ("textDocument/didClose", Some(name)) => {
                self.model.lock().open.remove(&name);
                self.reread(&name);
            }
            ("workspace/didChangeWatchedFiles", _) => {
                for change in params["changes"].as_array().unwrap() {
                    let name = self.stage.lock().site(self.workspace).name_of(change["uri"].as_str().unwrap());
                    name.into_iter().for_each(|name| self.reread(&name));
                }
                self.push_all();
            }
            _ => {}
        }
    }

    fn cancelled(&self, id: u64) {
        let mut stage = self.stage.lock();
        stage.cover("cancel: sent");
        let method = stage.lives[self.number].open.remove(&id);
        if method.as_deref() == Some("textDocument/hover") && stage.profile.keeps_hovers {
            stage.wrong("a request was cancelled whose kind may not be cancelled");
        }
        drop(stage);
        self.model.lock().cancels.entry(id).or_default().cancel();
    }

    fn initialize(self: &Arc<Self>, id: u64) {
        let wait = match self.start {
            StartFault::DiesAtStart => return self.end(ProcessExit::of_code(1)),
            StartFault::NeverStarts => return,
            StartFault::RefusesStart => {
                return self.send(&json!({"id": id, "error": {"code": -32603, "message": "not today"}}));
            }
            StartFault::Slow => self.stage.lock().dice.range(100, 9_000),
            _ => self.stage.lock().dice.range(0, 30),
        };
        let result = json!({"capabilities": self.capabilities(), "serverInfo": {"name": "fake", "version": "1"}});
        let server = self.clone();
        self.later(wait, async move { server.reply(id, result) });
    }

    fn capabilities(&self) -> Value {
        let profile = self.stage.lock().profile.clone();
        let sync = json!({"openClose": true, "change": 1});
        let pull = |whole: bool| json!({"interFileDependencies": true, "workspaceDiagnostics": whole});
        if self.kind == "lint" {
            return match profile.linter {
                Diagnosing::Pulled => json!({"textDocumentSync": sync, "diagnosticProvider": pull(false)}),
                _ => json!({"textDocumentSync": sync}),
            };
        }
        let mut capabilities = json!({
            "textDocumentSync": sync, "definitionProvider": true, "referencesProvider": true, "hoverProvider": true,
            "documentSymbolProvider": true, "workspaceSymbolProvider": true, "implementationProvider": true,
            "callHierarchyProvider": true,
        });
        if profile.diagnosing == Diagnosing::Pulled {
            capabilities["diagnosticProvider"] = pull(profile.reports_workspace);
        }
        capabilities
    }

    /// Sends a refresh request.
    pub(crate) fn refresh(&self) {
        self.ask("workspace/diagnostic/refresh", json!(null));
    }

    pub(crate) fn ask(&self, method: &'static str, params: Value) {
        let id = {
            let mut model = self.model.lock();
            let id = model.asked.keys().next_back().map_or(1, |last| last + 1);
            model.asked.insert(id, method);
            id
        };
        self.send(&json!({"id": id, "method": method, "params": params}));
    }

    fn take_answer(self: &Arc<Self>, message: &Value) {
        let asked = message["id"].as_i64().and_then(|id| self.model.lock().asked.get(&id).copied());
        if asked == Some("client/registerCapability") {
            self.read_all();
        }
    }

    pub(crate) fn release(&self) {
        let held = std::mem::take(&mut self.model.lock().held);
        for message in held.iter().rev() {
            self.send_answer(message["id"].as_u64().unwrap(), message);
        }
    }

    pub(crate) fn reply(&self, id: u64, result: Value) {
        self.send_answer(id, &json!({"id": id, "result": result}));
        if !self.model.lock().held.is_empty() {
            self.release();
        }
    }

    pub(crate) fn send_answer(&self, id: u64, message: &Value) {
        self.stage.lock().lives[self.number].open.remove(&id);
        self.send(message);
    }

    pub(crate) fn send(&self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        self.bytes(framed(&message));
    }

    pub(crate) fn bytes(&self, bytes: Vec<u8>) {
        self.out.send(Out::Bytes(bytes)).ok();
    }

    pub(crate) fn end(&self, exit: ProcessExit) {
        self.out.send(Out::End(exit)).ok();
    }

    pub(crate) fn later(self: &Arc<Self>, ms: u64, work: impl Future<Output = ()> + Send + 'static) {
        let server = self.clone();
        tokio::spawn(async move {
            let work = async {
                if ms > 0 {
                    sleep(Duration::from_millis(ms)).await;
                }
                work.await;
            };
            tokio::select! {
                biased;
                () = server.stopped.cancelled() => {}
                () = work => {}
            }
        });
    }
}
