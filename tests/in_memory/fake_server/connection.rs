//! One running fake server: its pipes, its tasks, its process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};

use codeyard_process::launch::{LaunchedServer, Process, ProcessExit};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::message_reader::read_message;
use super::record::{Kind, Record, Seen};
use super::{FakeServer, Step};

enum Write {
    Bytes(Vec<u8>),
    Barrier(oneshot::Sender<()>),
    Close,
}

/// The state of one launch.
pub(super) struct Running {
    script: FakeServer,
    launch: usize,
    record: Arc<Record>,
    writes: mpsc::Sender<Write>,
    counts: Mutex<HashMap<String, usize>>,
    cancels: Mutex<HashMap<String, CancellationToken>>,
    held: Mutex<Vec<Value>>,
    asked: Mutex<HashMap<i64, String>>,
    last_ask: AtomicI64,
    silent: AtomicBool,
    reads: AtomicBool,
    end: watch::Sender<Option<ProcessExit>>,
    stopped: CancellationToken,
    orphan: AtomicBool,
    memory: Arc<AtomicU64>,
    launched: tokio::time::Instant,
}

/// A message whose steps are running.
#[derive(Clone)]
struct Cause {
    id: Option<Value>,
    params: Value,
    nth: usize,
}

pub(super) fn start(
    script: FakeServer,
    launch: usize,
    record: Arc<Record>,
    memory: Arc<AtomicU64>,
) -> (LaunchedServer, Arc<Running>) {
    let (ours, theirs) = tokio::io::duplex(script.pipe_bytes);
    let (reader, writer) = tokio::io::split(ours);
    let (server_reader, server_writer) = tokio::io::split(theirs);
    let (writes, to_write) = mpsc::channel(16);
    let running = Arc::new(Running {
        orphan: AtomicBool::new(script.orphan),
        script,
        launch,
        record,
        writes,
        counts: Mutex::default(),
        cancels: Mutex::default(),
        held: Mutex::default(),
        asked: Mutex::default(),
        last_ask: AtomicI64::new(0),
        silent: AtomicBool::new(false),
        reads: AtomicBool::new(true),
        end: watch::channel(None).0,
        stopped: CancellationToken::new(),
        memory,
        launched: tokio::time::Instant::now(),
    });
    let stopped = running.stopped.clone();
    // Both halves live in one task: a pipe is closed only when both are gone, as with a process.
    let server = running.clone();
    tokio::spawn(async move {
        let both = async {
            tokio::join!(server.read(server_reader), server.write(server_writer, to_write));
        };
        tokio::select! {
            () = both => {}
            () = stopped.cancelled() => {}
        }
    });
    let process = Arc::new(FakeProcess(running.clone()));
    (LaunchedServer { reader: Box::new(reader), writer: Box::new(writer), process }, running)
}

impl Running {
    pub(super) fn ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    pub(super) fn push(self: &Arc<Self>, steps: Vec<Step>) {
        self.spawn(Cause { id: None, params: Value::Null, nth: 0 }, steps);
    }

    fn finish(&self, exit: ProcessExit) {
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            end.get_or_insert(exit);
            first
        });
        self.stopped.cancel();
    }

    async fn read(self: &Arc<Self>, reader: ReadHalf<DuplexStream>) {
        let mut reader = BufReader::new(reader);
        while let Some(message) = read_message(&mut reader).await {
            if self.silent.load(SeqCst) {
                std::future::pending::<()>().await;
            }
            self.take(message).await;
            if !self.reads.load(SeqCst) {
                std::future::pending::<()>().await;
            }
        }
        if self.script.ignores_closed_input {
            std::future::pending::<()>().await;
        }
        self.finish(ProcessExit::of_code(0));
    }

    async fn write(&self, mut writer: WriteHalf<DuplexStream>, mut to_write: mpsc::Receiver<Write>) {
        while let Some(write) = to_write.recv().await {
            if self.silent.load(SeqCst) {
                std::future::pending::<()>().await;
            }
            match write {
                Write::Bytes(bytes) => {
                    let _ = writer.write_all(&bytes).await;
                }
                Write::Close => {
                    let _ = writer.shutdown().await;
                }
                Write::Barrier(reached) => {
                    let _ = reached.send(());
                }
            }
        }
    }

    async fn take(self: &Arc<Self>, message: Value) {
        let id = message.get("id").cloned();
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            let asked = id.as_ref().and_then(Value::as_i64).and_then(|id| self.asked.lock().remove(&id));
            self.note(Kind::Answer, asked.unwrap_or_default(), id, message, true);
            return;
        };
        let params = message["params"].clone();
        let kind = if id.is_some() { Kind::Request } else { Kind::Notification };
        let has_params = message.get("params").is_some();
        self.note(kind, method.clone(), id.clone(), params.clone(), has_params);
        if method == "$/cancelRequest" {
            self.cancel_token(&params["id"]).cancel();
        }
        let nth = {
            let mut counts = self.counts.lock();
            let count = counts.entry(method.clone()).or_default();
            *count += 1;
            *count
        };
        let steps = self.script.steps_for(&method, nth).unwrap_or_else(|| self.usual_steps(&method, id.is_some()));
        let cause = Cause { id, params, nth };
        if steps.iter().any(Step::waits) {
            self.spawn(cause, steps);
        } else {
            self.run(cause, steps).await;
        }
    }

    fn usual_steps(&self, method: &str, is_request: bool) -> Vec<Step> {
        match method {
            "initialize" => {
                let info = json!({"name": "fake", "version": "1"});
                vec![super::reply(json!({"capabilities": self.script.capabilities, "serverInfo": info}))]
            }
            "shutdown" => vec![super::reply(Value::Null)],
            "exit" => vec![super::exit(0)],
            _ if is_request => vec![super::fail(-32601, "method not found")],
            _ => Vec::new(),
        }
    }

    fn note(&self, kind: Kind, method: String, id: Option<Value>, params: Value, has_params: bool) {
        let at = tokio::time::Instant::now();
        self.record.add(Seen { launch: self.launch, kind, method, id, params, has_params, at });
    }

    fn cancel_token(&self, id: &Value) -> CancellationToken {
        self.cancels.lock().entry(id.to_string()).or_default().clone()
    }

    fn spawn(self: &Arc<Self>, cause: Cause, steps: Vec<Step>) {
        let running = self.clone();
        tokio::spawn(async move {
            let stopped = running.stopped.clone();
            tokio::select! {
                () = running.run(cause, steps) => {}
                () = stopped.cancelled() => {}
            }
        });
    }

    async fn run(&self, cause: Cause, steps: Vec<Step>) {
        let mut hold = None;
        for step in steps {
            match step {
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::UntilCancelled => match &cause.id {
                    Some(id) => self.cancel_token(id).cancelled().await,
                    None => std::future::pending().await,
                },
                Step::Reply(result) => self.answer(&cause, "result", result, hold.take()).await,
                Step::ReplyWith(f) => {
                    let result = f(&cause.params, cause.nth);
                    self.answer(&cause, "result", result, hold.take()).await;
                }
                Step::Fail(code, message) => {
                    let error = json!({"code": code, "message": message});
                    self.answer(&cause, "error", error, hold.take()).await;
                }
                Step::Hold(count) => hold = Some(count),
                Step::Notify(method, params) => self.send(json!({"method": method, "params": params})).await,
                Step::Ask(method, params) => self.ask(method, params).await,
                Step::Raw(bytes) => self.bytes(bytes).await,
                Step::Body(body) => self.bytes(with_header(&with_id(&body, &cause))).await,
                Step::Repeat(before, item, count, after) => {
                    self.repeat(&with_id(&before, &cause), &item, count, after).await;
                }
                Step::Trickle(wait, text) => {
                    for byte in with_header(&with_id(text.as_bytes(), &cause)) {
                        tokio::time::sleep(wait).await;
                        self.bytes(vec![byte]).await;
                    }
                }
                Step::CloseOutput => drop(self.writes.send(Write::Close).await),
                Step::Except(text) if cause.params.to_string().contains(&text) => return,
                Step::Except(_) => {}
                Step::StopReading => self.reads.store(false, SeqCst),
                Step::HalfReply => {
                    let whole = framed(&json!({"jsonrpc": "2.0", "id": cause.id, "result": "x".repeat(2_000)}));
                    self.bytes(whole[..whole.len() / 2].to_vec()).await;
                }
                Step::Silence => self.silent.store(true, SeqCst),
                Step::Flood(count, method, params) => self.flood(count, &method, &params).await,
                Step::Exit(exit) => {
                    self.barrier().await;
                    self.finish(exit);
                }
            }
        }
    }

    async fn answer(&self, cause: &Cause, key: &str, value: Value, hold: Option<usize>) {
        let Some(id) = &cause.id else { return };
        let message = json!({"id": id, key: value});
        let Some(count) = hold else { return self.send(message).await };
        let ready = {
            let mut held = self.held.lock();
            held.push(message);
            if held.len() >= count { std::mem::take(&mut *held) } else { Vec::new() }
        };
        for message in ready.into_iter().rev() {
            self.send(message).await;
        }
    }

    async fn ask(&self, method: String, params: Value) {
        let id = self.last_ask.fetch_add(1, SeqCst) + 1;
        self.asked.lock().insert(id, method.clone());
        self.send(json!({"id": id, "method": method, "params": params})).await;
    }

    async fn flood(&self, count: usize, method: &str, params: &Value) {
        for n in 0..count {
            let mut params = params.clone();
            for value in params.as_object_mut().into_iter().flat_map(|object| object.values_mut()) {
                if let Some(text) = value.as_str() {
                    *value = text.replace("{n}", &n.to_string()).into();
                }
            }
            self.send(json!({"method": method, "params": params})).await;
        }
    }

    /// Writes a frame in pieces.
    async fn repeat(&self, before: &[u8], item: &[u8], count: usize, after: Vec<u8>) {
        let length = before.len() + item.len() * count + after.len();
        self.bytes([format!("Content-Length: {length}\r\n\r\n").as_bytes(), before].concat()).await;
        let at_once = (32_768 / item.len()).max(1);
        let mut left = count;
        while left > 0 {
            let now = left.min(at_once);
            self.bytes(item.repeat(now)).await;
            left -= now;
        }
        self.bytes(after).await;
    }

    async fn send(&self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.bytes(framed(&message)).await;
    }

    async fn bytes(&self, bytes: Vec<u8>) {
        let _ = self.writes.send(Write::Bytes(bytes)).await;
    }

    async fn barrier(&self) {
        let (sender, reached) = oneshot::channel();
        if self.writes.send(Write::Barrier(sender)).await.is_ok() {
            let _ = reached.await;
        }
    }
}

fn framed(message: &Value) -> Vec<u8> {
    with_header(message.to_string().as_bytes())
}

fn with_header(body: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// Replaces the first `{id}` of a body.
fn with_id(body: &[u8], cause: &Cause) -> Vec<u8> {
    let id = cause.id.as_ref().unwrap_or(&Value::Null).to_string();
    match body.windows(4).position(|part| part == b"{id}") {
        Some(at) => [&body[..at], id.as_bytes(), &body[at + 4..]].concat(),
        None => body.to_vec(),
    }
}

struct FakeProcess(Arc<Running>);

impl Process for FakeProcess {
    fn id(&self) -> Option<u32> {
        None
    }

    fn exited(&self) -> BoxFuture<'static, ProcessExit> {
        let mut end = self.0.end.subscribe();
        async move { end.wait_for(Option::is_some).await.ok().and_then(|end| *end).unwrap_or_default() }.boxed()
    }

    fn terminate(&self) {
        if !self.0.script.ignores_terminate {
            self.0.finish(ProcessExit::of_signal(15));
        }
    }

    fn kill(&self) {
        let dies = |running: &Running| {
            running.orphan.store(false, SeqCst);
            running.finish(ProcessExit::of_signal(9));
        };
        let runtime = tokio::runtime::Handle::try_current();
        let Some(runtime) = runtime.ok().filter(|_| self.0.script.kill_ms > 0) else { return dies(&self.0) };
        let running = self.0.clone();
        let wait = std::time::Duration::from_millis(self.0.script.kill_ms);
        runtime.spawn(async move {
            tokio::time::sleep(wait).await;
            dies(&running);
        });
    }

    fn group_is_empty(&self) -> bool {
        self.0.ended() && !self.0.orphan.load(SeqCst)
    }

    fn stderr_tail(&self) -> String {
        self.0.script.stderr.clone()
    }

    fn cpu_time(&self) -> Option<std::time::Duration> {
        self.0.script.works.then(|| self.0.launched.elapsed())
    }

    fn memory_bytes(&self) -> Option<u64> {
        match self.0.memory.load(SeqCst) {
            u64::MAX => self.0.script.memory,
            bytes => Some(bytes),
        }
    }
}

impl Drop for FakeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
