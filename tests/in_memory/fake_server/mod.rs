//! A scripted language server in memory, for tests on paused time, where real pipes don't work.
//!
//! ```ignore
//! use crate::fake_server::{FakeServer, fail, reply, until_cancelled, wait_ms};
//!
//! let fake = FakeServer::new()
//!     .capabilities(json!({"definitionProvider": true}))
//!     .on("textDocument/definition", [wait_ms(50), reply(json!([]))])
//!     .on_nth("textDocument/hover", 1, [fail(-32801, "content modified")]) // the first call
//!     .on("textDocument/hover", [reply(json!(null))])                      // all others
//!     .on("textDocument/references", [until_cancelled(), fail(-32800, "cancelled")])
//!     .on("textDocument/didOpen", [diagnostics("file:///a.py", Some(1), json!([]))])
//!     .launcher();
//! let connection = fake.launch(&spec).await?;      // it is a `Launcher`
//! fake.wait_for("textDocument/didOpen", 1).await;  // waits for a received message
//! fake.push([progress_begin("t", "indexing")]);    // do something now, on the latest launch
//! ```
//!
//! The fake looks up each request or notification by its method and runs the steps in order. Without an entry,
//! `initialize` returns the capabilities, `shutdown` returns null, `exit` ends with code 0, other requests fail with
//! -32601, and notifications do nothing. Steps without a wait run before the next message is read, so the order of
//! answers is deterministic. Lists with a wait run concurrently with the reader. An empty list (`[]`) never answers.

#![allow(dead_code, reason = "each target uses a part")]

mod connection;
pub(crate) mod message_reader;
mod record;
mod steps;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

use codeyard_process::launch::{LaunchError, LaunchSpec, LaunchedServer, Launcher};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

#[allow(unused_imports, reason = "each target uses a part")]
pub(crate) use record::{Kind, Record, Seen};
pub(crate) use steps::*;

#[derive(Clone)]
pub(crate) struct FakeServer {
    capabilities: Value,
    steps: HashMap<String, Vec<Step>>,
    nth: HashMap<(String, usize), Vec<Step>>,
    ignores_terminate: bool,
    ignores_closed_input: bool,
    orphan: bool,
    pipe_bytes: usize,
    memory: Option<u64>,
    works: bool,
    kill_ms: u64,
    stderr: String,
}

impl FakeServer {
    /// A correct server without capabilities.
    pub(crate) fn new() -> Self {
        Self {
            capabilities: json!({}),
            steps: HashMap::new(),
            nth: HashMap::new(),
            ignores_terminate: false,
            ignores_closed_input: false,
            orphan: false,
            pipe_bytes: 64 * 1024,
            memory: None,
            works: false,
            kill_ms: 0,
            stderr: String::new(),
        }
    }

    /// Sets the capabilities in the answer to `initialize`.
    pub(crate) fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Runs these steps for each `method`.
    pub(crate) fn on(mut self, method: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.insert(method.to_owned(), steps.into_iter().collect());
        self
    }

    /// Runs these steps for the `nth` `method` of one connection, from 1; overrides [`on`](Self::on).
    pub(crate) fn on_nth(mut self, method: &str, nth: usize, steps: impl IntoIterator<Item = Step>) -> Self {
        self.nth.insert((method.to_owned(), nth), steps.into_iter().collect());
        self
    }

    /// Answers `method` with a fixed result.
    pub(crate) fn answer(self, method: &str, result: Value) -> Self {
        self.on(method, [reply(result)])
    }

    /// Answers `method` with a result computed from the params and the number of the call, from 1.
    pub(crate) fn answer_with(self, method: &str, f: impl Fn(&Value, usize) -> Value + Send + Sync + 'static) -> Self {
        self.on(method, [reply_with(f)])
    }

    /// Reads `method` and never answers it.
    pub(crate) fn never(self, method: &str) -> Self {
        self.on(method, [])
    }

    /// The server ignores SIGTERM.
    pub(crate) fn ignores_terminate(mut self) -> Self {
        self.ignores_terminate = true;
        self
    }

    /// The server keeps running when its standard input is closed.
    pub(crate) fn ignores_closed_input(mut self) -> Self {
        self.ignores_closed_input = true;
        self
    }

    /// The server leaves a process in its group that only SIGKILL ends.
    pub(crate) fn leaves_an_orphan(mut self) -> Self {
        self.orphan = true;
        self
    }

    /// Size of each of the two pipes, in bytes.
    pub(crate) fn pipe_bytes(mut self, bytes: usize) -> Self {
        self.pipe_bytes = bytes;
        self
    }

    /// Value that `memory_bytes` returns.
    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The server uses a whole processor from its launch on.
    pub(crate) fn works(mut self) -> Self {
        self.works = true;
        self
    }

    /// Time from SIGKILL until the process has ended, as on a machine that is busy or waits for a disk.
    pub(crate) fn dies_after(mut self, ms: u64) -> Self {
        self.kill_ms = ms;
        self
    }

    /// Value that `stderr_tail` returns.
    pub(crate) fn stderr(mut self, text: &str) -> Self {
        self.stderr = text.to_owned();
        self
    }

    /// A launcher that starts this server each time.
    pub(crate) fn launcher(self) -> Arc<FakeLauncher> {
        FakeLauncher::sequence([self])
    }

    fn steps_for(&self, method: &str, nth: usize) -> Option<Vec<Step>> {
        self.nth.get(&(method.to_owned(), nth)).or_else(|| self.steps.get(method)).cloned()
    }
}

/// Starts fake servers and records what they receive.
pub(crate) struct FakeLauncher {
    scripts: Vec<FakeServer>,
    refusals: AtomicUsize,
    record: Arc<Record>,
    running: Mutex<Vec<Arc<connection::Running>>>,
    specs: Mutex<Vec<LaunchSpec>>,
    memory: Arc<AtomicU64>,
}

impl FakeLauncher {
    /// The nth launch starts the nth script; later launches repeat the last one.
    pub(crate) fn sequence(scripts: impl IntoIterator<Item = FakeServer>) -> Arc<Self> {
        let scripts: Vec<_> = scripts.into_iter().collect();
        assert!(!scripts.is_empty(), "a launcher needs a script");
        Arc::new(Self {
            scripts,
            refusals: AtomicUsize::new(0),
            record: Arc::default(),
            running: Mutex::default(),
            specs: Mutex::default(),
            memory: Arc::new(AtomicU64::new(u64::MAX)),
        })
    }

    /// The next `count` launches fail because the program is missing.
    pub(crate) fn refuse(&self, count: usize) {
        self.refusals.store(count, SeqCst);
    }

    pub(crate) fn launches(&self) -> usize {
        self.running.lock().len()
    }

    /// Specs of all launches, including the failed ones.
    pub(crate) fn specs(&self) -> Vec<LaunchSpec> {
        self.specs.lock().clone()
    }

    /// All messages that all launches received.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Waits until all launches together received `method` `count` times. Fails after one hour of the test's time.
    pub(crate) async fn wait_for(&self, method: &str, count: usize) {
        self.record.wait_for(method, count).await;
    }

    /// Runs steps now, on the latest launch, such as notifications or a crash.
    pub(crate) fn push(&self, steps: impl IntoIterator<Item = Step>) {
        let running = self.running.lock().last().cloned().expect("no server was launched");
        running.push(steps.into_iter().collect());
    }

    /// Ends the latest launch as a crash would.
    pub(crate) fn crash(&self) {
        self.push([signalled(11)]);
    }

    /// Number of running launches.
    pub(crate) fn alive(&self) -> usize {
        self.running.lock().iter().filter(|running| !running.ended()).count()
    }

    /// Changes the value that `memory_bytes` returns for every launch.
    pub(crate) fn set_memory(&self, bytes: u64) {
        self.memory.store(bytes, SeqCst);
    }
}

impl Launcher for FakeLauncher {
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
        self.specs.lock().push(spec.clone());
        let refused = self.refusals.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        if refused {
            let error = LaunchError::ProgramNotFound(spec.program.clone());
            return async move { Err(error) }.boxed();
        }
        let mut running = self.running.lock();
        let number = running.len();
        let script = self.scripts[number.min(self.scripts.len() - 1)].clone();
        let (connection, started) = connection::start(script, number, self.record.clone(), self.memory.clone());
        running.push(started);
        async move { Ok(connection) }.boxed()
    }
}
