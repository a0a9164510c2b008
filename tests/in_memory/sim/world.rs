//! One simulated world: a service, its workspaces, servers and clients on one thread, with a seed.
//!
//! A step is one random event, then some time, then all checks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, Prewarm, WorkspaceConfig};
use codeyard_engine::server::program::programs::Programs;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::workspace::setup::EngineShared;
use codeyard_files::watch::Watcher;
use codeyard_gateway::router::Gateway;
use codeyard_gateway::service::Service;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::limits;
use codeyard_state::StateDir;
use codeyard_telemetry::Telemetry;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::sim::call::{Bad, Call, Chain, Done, Page, arguments, to_tool_call, tool_of};
use crate::sim::dice::Dice;
use crate::sim::fleet::{ERA, Fleet};
use crate::sim::language::Asked;
use crate::sim::panic_injector::PanicInjector;
use crate::sim::profile::Profile;
use crate::sim::rules::{self, Rules};
use crate::sim::setting::{configuration, site};
use crate::sim::stage::{Sabotage, Shared, Stage};
use crate::sim::verdict::{self, Known};
use crate::sim::watchdog;

pub(crate) struct World {
    pub stage: Shared,
    pub dice: Dice,
    pub fleet: Arc<Fleet>,
    pub panic_injector: Arc<PanicInjector>,
    pub watcher: Watcher,
    pub config: Config,
    pub engine: Option<Engine>,
    pub gateway: Arc<Gateway>,
    pub calls: Vec<Call>,
    pub chains: Vec<Chain>,
    /// Times at which a workspace or a server actor panicked, or a reload removed a workspace.
    pub upsets: Vec<Instant>,
    pub panics: Vec<Instant>,
    pub eras: u64,
    done: Arc<Mutex<Vec<Done>>>,
    epochs: BTreeMap<String, [u64; 4]>,
    rules: Rules,
    started: u64,
    crowded: Option<Instant>,
    /// Time at which the last call was answered or cancelled.
    restless: Instant,
    folder: PathBuf,
}

impl World {
    /// A world with a running service, in its own `folder`.
    pub(crate) async fn open(seed: u64, folder: PathBuf) -> Self {
        let profile = Profile::of(seed);
        let mut dice = Dice::new(seed, 3);
        let mut stage = Stage::new(seed, profile.clone(), folder.to_string_lossy().into_owned());
        stage.note(format!("seed {seed} {profile:?}"));
        std::fs::create_dir_all(folder.join("elsewhere")).unwrap();
        std::fs::write(folder.join("elsewhere/secret.fake"), "def alpha\n").unwrap();
        for number in 0..profile.workspaces {
            stage.sites.push(site(&folder.join(format!("w{number}")), number, &mut dice));
        }
        let stage = Arc::new(Mutex::new(stage));
        let fleet = Fleet::new(stage.clone());
        let panic_injector = Arc::new(PanicInjector::default());
        let state = StateDir::open(&folder.join("state")).unwrap();
        let watcher = Watcher::without_thread(state.path()).unwrap();
        let shared = EngineShared {
            programs: Programs::new(fleet.clone()),
            launcher: fleet.clone(),
            frames: Arc::new(FrameBudget::default()),
            watcher: Some(watcher.clone()),
            environment: Arc::default(),
            metrics: panic_injector.clone(),
            runs: Err("this test has none".into()),
        };
        let engine = Engine::start_here(EngineParts {
            shared,
            store: state.store().unwrap(),
            state: state.path().to_path_buf(),
            cache: folder.join("cache"),
            chosen: vec![],
        });
        let gateway = Arc::new(Gateway::new(engine.directory(), Telemetry::new(panic_injector.clone())));
        let mut world = Self {
            stage,
            dice,
            fleet,
            panic_injector,
            watcher,
            config: configuration(&profile),
            engine: Some(engine),
            gateway,
            calls: vec![],
            chains: vec![],
            upsets: vec![],
            panics: vec![],
            eras: 0,
            done: Arc::default(),
            epochs: BTreeMap::new(),
            rules: Rules::default(),
            started: 0,
            crowded: None,
            restless: Instant::now(),
            folder,
        };
        for number in 0..profile.workspaces {
            world.add_workspace(number);
        }
        world.configure().await;
        world
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    pub(crate) fn note(&self, event: impl AsRef<str>) {
        self.stage.lock().note(event);
    }

    pub(crate) fn cover(&self, what: impl Into<String>) {
        self.stage.lock().cover(what);
    }

    /// Adds a workspace to the configuration.
    pub(crate) fn add_workspace(&mut self, number: usize) {
        let stage = self.stage.lock();
        let name = WorkspaceName::new(&format!("w{number}")).unwrap();
        let mut workspace = WorkspaceConfig::new(name, vec![stage.sites[number].root.clone()]);
        self.eras += 1;
        workspace.env.insert(ERA.into(), self.eras.to_string());
        workspace.prewarm = Prewarm::All(stage.profile.prewarm);
        self.config.workspaces.push(workspace);
    }

    /// Applies the configuration.
    pub(crate) async fn configure(&mut self) {
        let done = self.engine().configure(self.config.clone()).await.unwrap();
        self.note(format!("configured: {done:?}"));
        if !done.failed.is_empty() {
            self.stage.lock().wrong("a workspace could not be opened");
        }
        if !done.removed.is_empty() || !done.started.is_empty() {
            self.upsets.push(Instant::now());
        }
    }

    pub(crate) fn call(&mut self, workspace: usize, asked: Asked, size: usize, page: Page, bad: Option<Bad>) {
        let number = self.started as usize;
        self.started += 1;
        let began = Instant::now();
        let tool = tool_of(&asked);
        let client = self.dice.below(self.stage.lock().profile.clients);
        let places = WorkspaceName::new(&format!("w{workspace}")).and_then(|name| self.engine().directory().get(&name));
        let (from, limits, key, call) = {
            let mut stage = self.stage.lock();
            let arguments = arguments(&stage.sites[workspace], &asked, size, &page, bad);
            stage.note(format!(
                "call {number} of client {client} to w{workspace}: {asked:?} {size} {} {bad:?}",
                page_name(&page)
            ));
            stage.cover(format!("asked: {tool}"));
            let key = format!("w{workspace} {tool} {}", stage.digest(&arguments));
            (
                stage.sites[workspace].version(),
                stage.profile.clone(),
                key,
                to_tool_call(workspace, tool, &arguments, number),
            )
        };
        let reply = self.gateway.call(call);
        let done = self.done.clone();
        let stage = self.stage.clone();
        let task = tokio::spawn(async move {
            let reply = reply.await;
            let sabotage = stage.lock().sabotage;
            if sabotage == Sabotage::LateAnswers {
                sleep(Duration::from_millis(2_500)).await;
            }
            if sabotage == Sabotage::DoubleAnswers {
                let until = stage.lock().sites[workspace].version();
                done.lock().push(Done { number, reply: reply.clone(), at: Instant::now(), until });
            }
            let until = stage.lock().sites[workspace].version();
            done.lock().push(Done { number, reply, at: Instant::now(), until });
        });
        let places = places.map(|handle| handle.places.clone());
        let call =
            Call { number, client, workspace, tool, asked, size, page, bad, from, began, limits, key, places, task };
        self.calls.push(call);
        if self.calls.len() > 200 {
            self.crowded = Some(began);
        }
    }

    pub(crate) fn cancel(&mut self, index: usize) {
        let call = self.calls.remove(index);
        self.restless = Instant::now();
        let is_done = self.done.lock().iter().any(|done| done.number == call.number);
        self.note(format!("cancel {}{}", call.number, if is_done { ", too late" } else { "" }));
        self.cover("call: cancelled");
        call.task.abort();
        self.done.lock().retain(|done| done.number != call.number);
    }

    /// Advances time.
    pub(crate) async fn pass(&mut self) {
        match self.dice.weighted(&[(32, 0), (34, 1), (18, 2), (10, 3), (5, 4), (1, 5)]) {
            0 => {
                for _ in 0..self.dice.below(60) {
                    tokio::task::yield_now().await;
                }
            }
            1 => sleep(Duration::from_millis(self.dice.range(1, 30))).await,
            2 => sleep(Duration::from_millis(self.dice.range(31, 800))).await,
            3 => sleep(Duration::from_millis(self.dice.range(801, 4_000))).await,
            4 => sleep(Duration::from_secs(self.dice.range(5, 30))).await,
            _ => sleep(Duration::from_secs(self.dice.range(60, 200))).await,
        }
    }

    pub(crate) fn check(&mut self) {
        for panic in watchdog::unmeant() {
            self.stage.lock().wrong(format!("panicked: {panic}"));
        }
        for at in std::mem::take(&mut *self.panic_injector.panics.lock()) {
            self.note("a workspace panicked");
            self.cover("workspace: panicked");
            self.panics.push(at);
            self.upsets.push(at);
        }
        self.take_answers();
        self.rules.check(&mut self.stage.lock(), &self.panics, &self.panic_injector.replaced.lock());
        self.check_epochs();
        self.check_places();
        if self.panic_injector.ended() > self.started {
            self.stage.lock().wrong("more calls were counted than made");
        }
        if self.calls.is_empty() && self.restless.elapsed() >= Duration::from_millis(200) {
            self.check_quiet();
        }
    }

    fn check_quiet(&mut self) {
        let ended = self.panic_injector.ended();
        let started = self.started;
        let quiet = self.restless.elapsed();
        let mut stage = self.stage.lock();
        stage.cover("checked: quiet");
        if ended != started {
            stage.wrong(format!("{started} calls were made, {ended} were counted"));
        }
        rules::nothing_open(&mut stage, quiet);
    }

    fn take_answers(&mut self) {
        let answered = std::mem::take(&mut *self.done.lock());
        for done in answered {
            let Some(index) = self.calls.iter().position(|call| call.number == done.number) else {
                self.stage.lock().wrong(format!("call {} was answered twice, or after it was taken back", done.number));
                continue;
            };
            let call = self.calls.remove(index);
            self.restless = self.restless.max(done.at);
            let known = self.known(&call);
            let mut stage = self.stage.lock();
            let judged = verdict::judge(&mut stage, &call, &done, known);
            let took = done.at.saturating_duration_since(call.began).as_millis();
            stage.note(format!("call {} answered after {took} ms: {}", call.number, judged.said));
            let asked = stage.requests.get(&call.key).copied().unwrap_or(0);
            if judged.ok && self.calls.iter().any(|other| other.key == call.key) && asked <= 1 {
                stage.cover("answer: shared");
            }
            drop(stage);
            if judged.ok && matches!(call.page, Page::First) {
                self.cover("answer: first page");
            }
            self.chains.extend(judged.chain);
        }
    }

    fn known(&self, call: &Call) -> Known {
        Known {
            upset: self.upsets.iter().any(|at| *at + Duration::from_secs(3) >= call.began),
            configured: call.places.is_some(),
            crowded: self.crowded.is_some_and(|at| at + Duration::from_secs(3) >= call.began),
        }
    }

    /// Checks what the workspaces have published.
    fn check_epochs(&mut self) {
        let Some(engine) = &self.engine else { return };
        for handle in engine.directory().all() {
            let health = handle.health();
            let now = health.epochs;
            let before = self.epochs.insert(health.name.clone(), now).unwrap_or_default();
            let fell = now[0] < before[0] || now[0] == before[0] && (1..4).any(|one| now[one] < before[one]);
            let mut stage = self.stage.lock();
            if fell {
                stage.wrong(format!("epochs of {} fell from {before:?} to {now:?}", health.name));
            }
            if health.servers.iter().any(|server| server.pending > limits::MAX_PENDING_REQUESTS) {
                stage.wrong("too many requests are pending");
            }
        }
    }

    fn check_places(&mut self) {
        let Some(engine) = &self.engine else { return };
        for handle in engine.directory().all() {
            let own =
                self.calls.iter().filter(|call| call.places.as_ref().is_some_and(|of| Arc::ptr_eq(of, &handle.places)));
            let held = codeyard_engine::limits::MAX_CALLS_PER_WORKSPACE - handle.places.available_permits();
            let quiet = self.restless.elapsed() >= Duration::from_millis(1);
            let own = own.count();
            if held > own && quiet && !handle.places.is_closed() {
                self.stage.lock().wrong(format!("{held} places of {} are held for {own} calls", handle.name));
            }
        }
    }

    /// Ends the world and checks that nothing remains.
    pub(crate) async fn close(mut self) -> Shared {
        while !self.calls.is_empty() {
            self.cancel(0);
        }
        let engine = self.engine.take().unwrap();
        if tokio::time::timeout(Duration::from_secs(60), engine.drain()).await.is_err() {
            self.stage.lock().wrong("the service did not drain");
        }
        sleep(Duration::from_secs(3)).await;
        self.check();
        for (reason, count) in self.panic_injector.counts.restarts() {
            *self.stage.lock().seen.entry(format!("restart: {reason}")).or_default() += count;
        }
        *self.stage.lock().seen.entry("answer: retained".into()).or_default() +=
            self.panic_injector.counts.retained_hits();
        let alive = self.fleet.alive().len();
        if alive > 0 {
            self.stage.lock().wrong(format!("{alive} servers are left"));
        }
        if self.watcher.watch_count() > 0 {
            self.stage.lock().wrong(format!("{} watches are left", self.watcher.watch_count()));
        }
        self.note("closed");
        drop(std::fs::remove_dir_all(&self.folder));
        self.stage
    }
}

fn page_name(page: &Page) -> String {
    match page {
        Page::First => "first".into(),
        Page::Next(chain) => format!("next at {}", chain.so_far.len()),
        Page::Moved(_, offset) => format!("moved to {offset}"),
        Page::Foreign(_) => "foreign".into(),
        Page::Forged(text) => format!("forged of {} bytes", text.len()),
    }
}
