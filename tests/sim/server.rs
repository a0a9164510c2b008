//! A fake language server: an honest one, which knows only what it read and was told, with faults that chance draws.
//!
//! It reads the disk when its watches are registered, and afterwards only what it is told of. So a change that it isn't told of
//! shows as a wrong answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use codeyard::lsp::launch::Exit;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::answers;
use crate::faults::StartFault;
use crate::language::{Project, Tree};
use crate::profile::Diagnosing;
use crate::stage::{Sabotage, Shared};
use crate::wire::{framed, read_message};

/// What goes out, or the end after all of that went out.
pub enum Out {
    Bytes(Vec<u8>),
    End(Exit),
}

/// What a server knows.
#[derive(Default)]
pub struct Mind {
    index: Tree,
    /// Open documents: version and text.
    open: BTreeMap<String, (i64, Arc<str>)>,
    indexing: bool,
    /// Bouts of indexing so far.
    bouts: u64,
    asked: BTreeMap<i64, &'static str>,
    pub held: Vec<Value>,
    pub cancels: BTreeMap<u64, CancellationToken>,
}

/// See the module.
pub struct Server {
    pub number: usize,
    pub workspace: usize,
    pub kind: String,
    pub project: Project,
    pub stage: Shared,
    pub start: StartFault,
    pub out: mpsc::UnboundedSender<Out>,
    pub stopped: CancellationToken,
    pub silent: CancellationToken,
    pub mind: Mutex<Mind>,
    exit: Mutex<Option<Exit>>,
}

impl Server {
    /// A server that isn't connected yet.
    pub fn new(
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
            mind: Mutex::default(),
            exit: Mutex::default(),
        })
    }

    /// How it ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        *self.exit.lock()
    }

    /// Ends it, if it hasn't ended.
    pub fn finish(&self, exit: Exit) {
        let first = self.exit.lock().replace(exit).is_none();
        if first {
            let mut stage = self.stage.lock();
            stage.lives[self.number].ended = Some(Instant::now());
            stage.lives[self.number].open.clear();
            stage.note(format!("{} ended {:?} {:?}", self.name(), exit.code, exit.signal));
        }
        self.stopped.cancel();
    }

    fn name(&self) -> String {
        format!("w{}/{}#{}", self.workspace, self.kind, self.number)
    }

    fn is_sabotaged(&self, how: Sabotage) -> bool {
        self.stage.lock().sabotage == how
    }

    pub fn note(&self, what: impl std::fmt::Display) {
        let text = format!("{} {what}", self.name());
        self.stage.lock().note(text);
    }

    /// Reads and writes until it is stopped.
    pub async fn run(self: Arc<Self>, pipe: DuplexStream, to_write: mpsc::UnboundedReceiver<Out>) {
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
        self.finish(Exit { code: Some(0), signal: None });
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
            ("exit", _) => self.finish(Exit { code: Some(0), signal: None }),
            ("$/cancelRequest", _) => self.cancelled(params["id"].as_u64().unwrap()),
            ("textDocument/didOpen", Some(name)) => {
                let document = &params["textDocument"];
                let text = Arc::from(document["text"].as_str().unwrap());
                self.mind.lock().open.insert(name, (document["version"].as_i64().unwrap(), text));
                self.push_all();
            }
            ("textDocument/didChange", Some(name)) => {
                let text = Arc::from(params["contentChanges"][0]["text"].as_str().unwrap());
                let version = params["textDocument"]["version"].as_i64().unwrap();
                self.mind.lock().open.insert(name, (version, text));
                self.push_all();
            }
            ("textDocument/didClose", Some(name)) => {
                self.mind.lock().open.remove(&name);
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
        self.mind.lock().cancels.entry(id).or_default().cancel();
    }

    /// Looks at one file again.
    fn reread(&self, name: &str) {
        let found = self.stage.lock().site(self.workspace).read_one(name).filter(|_| self.project.holds(name));
        let mut mind = self.mind.lock();
        match found {
            Some(text) => drop(mind.index.insert(name.to_owned(), text)),
            None => drop(mind.index.remove(name)),
        }
    }

    fn initialize(self: &Arc<Self>, id: u64) {
        let wait = match self.start {
            StartFault::DiesAtStart => return self.end(Exit { code: Some(1), signal: None }),
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
            "documentSymbolProvider": true, "workspaceSymbolProvider": true,
        });
        if profile.diagnosing == Diagnosing::Pulled {
            capabilities["diagnosticProvider"] = pull(profile.reports_workspace);
        }
        capabilities
    }

    /// Tells that it indexes. At a start it registers its watches, and reads the disk once that was answered.
    fn begin_indexing(self: &Arc<Self>, at_start: bool) {
        {
            let mut mind = self.mind.lock();
            mind.indexing = true;
            mind.bouts += 1;
        }
        if !at_start && self.is_sabotaged(Sabotage::QuietIndexing) {
            return self.end_indexing_later();
        }
        let value = json!({"kind": "begin", "title": "Indexing", "percentage": 0});
        self.send(&json!({"method": "$/progress", "params": {"token": "index", "value": value}}));
        if at_start {
            self.stage.lock().lives[self.number].up = true;
            let watchers = json!([{"globPattern": "**/*.fake"}, {"globPattern": "**/*.other"}]);
            let item = json!({"id": "watch", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers}});
            self.ask("client/registerCapability", json!({"registrations": [item]}));
        } else {
            self.end_indexing_later();
        }
    }

    fn end_indexing_later(self: &Arc<Self>) {
        let (server, bout) = (self.clone(), self.mind.lock().bouts);
        let wait = {
            let mut stage = self.stage.lock();
            let longest = stage.profile.indexing_ms;
            stage.dice.range(0, longest)
        };
        self.later(wait, async move {
            let mut mind = server.mind.lock();
            if mind.bouts == bout {
                mind.indexing = false;
                drop(mind);
                server.stage.lock().lives[server.number].has_read = true;
                server.note("has indexed");
                server.send(&json!({"method": "$/progress", "params": {"token": "index", "value": {"kind": "end"}}}));
                server.push_all();
            }
        });
    }

    /// Goes back to indexing.
    pub fn index_again(self: &Arc<Self>) {
        self.note("indexes again");
        self.begin_indexing(false);
    }

    /// Asks to be asked again.
    pub fn refresh(&self) {
        self.ask("workspace/diagnostic/refresh", json!(null));
    }

    fn ask(&self, method: &'static str, params: Value) {
        let id = {
            let mut mind = self.mind.lock();
            let id = mind.asked.keys().next_back().map_or(1, |last| last + 1);
            mind.asked.insert(id, method);
            id
        };
        self.send(&json!({"id": id, "method": method, "params": params}));
    }

    fn take_answer(self: &Arc<Self>, message: &Value) {
        let asked = message["id"].as_i64().and_then(|id| self.mind.lock().asked.get(&id).copied());
        if asked == Some("client/registerCapability") {
            let mut tree = self.stage.lock().site(self.workspace).read(&self.project.folder);
            tree.retain(|path, _| self.project.holds(path));
            self.note(format!("reads {} files", tree.len()));
            self.mind.lock().index = tree;
            self.end_indexing_later();
        }
    }

    /// What it answers from what it knows; half of that while it indexes.
    pub fn compute(&self, method: &str, params: &Value) -> Value {
        let tree = self.known();
        let mut stage = self.stage.lock();
        answers::answer(self, &mut stage, &tree, method, params)
    }

    /// The files as it knows them.
    fn known(&self) -> Tree {
        let mind = self.mind.lock();
        let mut tree = mind.index.clone();
        tree.extend(mind.open.iter().map(|(name, (_, text))| (name.clone(), text.clone())));
        if mind.indexing {
            let mut kept = false;
            tree.retain(|name, _| {
                kept = !kept;
                kept && mind.open.contains_key(name)
            });
        }
        tree
    }

    /// Pushes the diagnostics of all open documents, soon.
    fn push_all(self: &Arc<Self>) {
        let (style, wait, stale) = {
            let mut stage = self.stage.lock();
            let profile = stage.profile.clone();
            let style = if self.kind == "lint" { profile.linter } else { profile.diagnosing };
            let longest = if style == Diagnosing::Versioned { 400 } else { 15 };
            let stale = !stage.healthy && stage.dice.chance(profile.faults / 2);
            (style, stage.dice.range(0, longest), stale)
        };
        if style == Diagnosing::Pulled {
            return;
        }
        let open: Vec<String> = self.mind.lock().open.keys().cloned().collect();
        for name in open {
            let server = self.clone();
            self.later(wait, async move { server.push(&name, style, stale) });
        }
    }

    fn push(&self, name: &str, style: Diagnosing, stale: bool) {
        let tree = self.known();
        let mind = self.mind.lock();
        let Some((version, _)) = mind.open.get(name).filter(|_| !mind.indexing) else { return };
        let version = *version;
        drop(mind);
        let mut stage = self.stage.lock();
        let items = answers::findings(self, &mut stage, &tree, name);
        let uri = stage.site(self.workspace).uri(name);
        let mut messages = vec![];
        let mut params = json!({"uri": uri, "diagnostics": items});
        if style == Diagnosing::Versioned {
            params["version"] = version.into();
            if stale && version > 1 {
                stage.cover("push: of an older version");
                let old = json!({"uri": uri, "version": version - 1, "diagnostics": [answers::stale_finding()]});
                messages.push(json!({"method": "textDocument/publishDiagnostics", "params": old}));
            }
        }
        messages.push(json!({"method": "textDocument/publishDiagnostics", "params": params}));
        stage.cover("push: sent");
        let digest = stage.digest(&params);
        stage.note(format!("{} pushes {name} version {version} {digest}", self.name()));
        drop(stage);
        messages.iter().for_each(|message| self.send(message));
    }

    pub fn release(&self) {
        let held = std::mem::take(&mut self.mind.lock().held);
        for message in held.iter().rev() {
            self.send_answer(message["id"].as_u64().unwrap(), message);
        }
    }

    pub fn reply(&self, id: u64, result: Value) {
        self.send_answer(id, &json!({"id": id, "result": result}));
        if !self.mind.lock().held.is_empty() {
            self.release();
        }
    }

    pub fn send_answer(&self, id: u64, message: &Value) {
        self.stage.lock().lives[self.number].open.remove(&id);
        self.send(message);
    }

    pub fn send(&self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        self.bytes(framed(&message));
    }

    pub fn bytes(&self, bytes: Vec<u8>) {
        self.out.send(Out::Bytes(bytes)).ok();
    }

    pub fn end(&self, exit: Exit) {
        self.out.send(Out::End(exit)).ok();
    }

    pub fn later(self: &Arc<Self>, ms: u64, work: impl Future<Output = ()> + Send + 'static) {
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
