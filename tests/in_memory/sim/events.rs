//! The random events of a world, and the recovery phase at the end.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use codeyard_model::operation::{Operation, OperationInput};
use codeyard_process::launch::ProcessExit;
use tokio::time::{Instant, sleep};

use crate::sim::call::{Bad, Page, is_paged, tool_of};
use crate::sim::language::{Asked, Lsp, NAMES, truth};
use crate::sim::profile::{HANG_S, Profile, QUARANTINE_S};
use crate::sim::world::World;

/// Weights of the events.
const EVENTS: [(u64, Event); 13] = [
    (46, Event::Call),
    (9, Event::Page),
    (3, Event::BadCall),
    (8, Event::Cancel),
    (2, Event::Disconnect),
    (16, Event::Edit),
    (5, Event::Attend),
    (3, Event::Kill),
    (3, Event::Upset),
    (3, Event::Reconfigure),
    (1, Event::PanicInjector),
    (1, Event::Uninstall),
    (1, Event::Crowd),
];

#[derive(Debug, Clone, Copy)]
enum Event {
    Call,
    Page,
    BadCall,
    Cancel,
    Disconnect,
    Edit,
    Attend,
    Kill,
    Upset,
    Reconfigure,
    PanicInjector,
    Uninstall,
    Crowd,
}

impl World {
    /// One event.
    pub(crate) async fn happen(&mut self) {
        match self.dice.weighted(&EVENTS) {
            Event::Call => {
                let (workspace, asked) = self.question();
                let size = self.page_size();
                self.call(workspace, asked.clone(), size, Page::First, None);
                if self.dice.chance(25) {
                    self.call(workspace, asked, size, Page::First, None);
                }
            }
            Event::Page => self.page(),
            Event::BadCall => self.bad_call(),
            Event::Cancel if !self.calls.is_empty() => {
                let index = self.dice.below(self.calls.len());
                self.cancel(index);
            }
            Event::Disconnect if !self.calls.is_empty() => {
                let client = self.dice.pick(&self.calls).client;
                self.note(format!("client {client} goes away"));
                while let Some(index) = self.calls.iter().position(|call| call.client == client) {
                    self.cancel(index);
                }
            }
            Event::Cancel | Event::Disconnect | Event::Attend => {
                self.note("the watcher's turn");
                self.watcher.run_once();
            }
            Event::Edit => self.edit(),
            Event::Kill => self.hit_a_server(|server| match server.number % 2 {
                0 => server.kill_from_outside(),
                _ => server.finish(ProcessExit::of_signal(11)),
            }),
            Event::Upset => {
                let again = self.dice.chance(60);
                self.hit_a_server(move |server| if again { server.index_again() } else { server.refresh() });
            }
            Event::Reconfigure => self.reconfigure().await,
            Event::PanicInjector => {
                self.note("the trap is set");
                self.panic_injector.armed.store(true, SeqCst);
            }
            Event::Uninstall => {
                let mut stage = self.stage.lock();
                if !stage.missing.remove("first") {
                    stage.missing.insert("first".into());
                }
                let now = format!("missing: {:?}", stage.missing);
                stage.note(now);
                stage.cover("program: comes or goes");
            }
            Event::Crowd => {
                let (workspace, asked) = self.question();
                let count = self.dice.range(2, 300);
                self.note(format!("a crowd of {count}"));
                for _ in 0..count {
                    self.call(workspace, asked.clone(), 100, Page::First, None);
                }
            }
        }
    }

    fn page_size(&mut self) -> usize {
        *self.dice.pick(&[1, 2, 3, 7, 100, 200, 500])
    }

    fn question(&mut self) -> (usize, Asked) {
        let (workspace, tree) = {
            let stage = self.stage.lock();
            let workspace = self.dice.below(stage.sites.len());
            (workspace, stage.sites[workspace].tree())
        };
        let sources: Vec<&String> = tree.keys().filter(|path| !path.ends_with(".mod")).collect();
        let file = if sources.is_empty() || self.dice.chance(3) {
            "gone.fake".to_owned()
        } else {
            (*self.dice.pick(&sources)).clone()
        };
        let count = tree.get(&file).map_or(1, |text| text.lines().count());
        let line = self.dice.below(count);
        let asked = match self.dice.below(14) {
            0 => Asked::Definition { file, line },
            1 | 2 => Asked::References { file, line, declaration: self.dice.chance(50) },
            3 => Asked::Hover { file, line },
            4 => Asked::Symbols { file },
            5 => {
                let query = *self.dice.pick(&["a", "eta", "zzz", NAMES[0]]);
                Asked::WorkspaceSymbols { query: query.into() }
            }
            6 => Asked::Diagnostics { file },
            7 => Asked::WorkspaceDiagnostics,
            _ => {
                let operation = *self.dice.pick(&Operation::ALL);
                let query = (*self.dice.pick(&["a", "eta", "zzz", NAMES[0]])).to_owned();
                Asked::Lsp(Lsp { operation, file, line, query })
            }
        };
        (workspace, asked)
    }

    /// Requests a page by cursor: usually the next one, sometimes one with an invalid cursor.
    fn page(&mut self) {
        if self.chains.is_empty() {
            return;
        }
        let index = self.dice.below(self.chains.len());
        let chain = self.chains[index].clone();
        let size = self.page_size();
        let workspace = chain.workspace;
        let asked = chain.asked.clone();
        let kind = self.dice.weighted(&[(70, 0), (10, 1), (10, 2), (10, 3)]);
        self.cover(format!("page: {}", ["next", "moved", "foreign", "forged"][kind]));
        match kind {
            0 => {
                self.chains.remove(index);
                self.call(workspace, asked, size, Page::Next(chain), None);
            }
            1 => {
                let offset = self.dice.below(90);
                self.call(workspace, asked, size, Page::Moved(chain, offset), None);
            }
            2 => {
                let (other, asked) = self.question();
                if is_paged(&asked) && asked != chain.asked {
                    self.call(other, asked, size, Page::Foreign(chain.cursor), None);
                }
            }
            _ => {
                let length = self.dice.below(2_000);
                let text = if self.dice.chance(50) { "e30".into() } else { "A".repeat(length) };
                self.call(workspace, asked, size, Page::Forged(text), None);
            }
        }
    }

    fn bad_call(&mut self) {
        let (workspace, asked) = self.question();
        let (has_place, has_file, has_uri) = match &asked {
            Asked::Definition { .. } | Asked::References { .. } | Asked::Hover { .. } => (true, true, true),
            Asked::Symbols { .. } | Asked::Diagnostics { .. } => (false, true, true),
            Asked::WorkspaceSymbols { .. } | Asked::WorkspaceDiagnostics => (false, false, false),
            Asked::Lsp(asked) => {
                let needs = asked.operation.input();
                (needs == OperationInput::Position, needs != OperationInput::Name, false)
            }
        };
        let bad = match self.dice.below(5) {
            0 => Bad::Arguments,
            1 if has_file => Bad::Outside,
            2 if has_file => Bad::Link,
            3 if has_uri => Bad::Uri,
            4 if has_place => Bad::Beyond,
            _ => Bad::Arguments,
        };
        self.call(workspace, asked, 10, Page::First, Some(bad));
    }

    fn edit(&mut self) {
        let mut stage = self.stage.lock();
        let workspace = self.dice.below(stage.sites.len());
        for _ in 0..self.dice.weighted(&[(80, 1), (15, 2), (5, 9)]) {
            let what = stage.site(workspace).change(&mut self.dice);
            stage.note(format!("w{workspace}: {what}"));
            stage.cover(format!("edit: {}", what.split(' ').next().unwrap_or_default()));
        }
    }

    fn hit_a_server(&mut self, hit: impl FnOnce(&std::sync::Arc<crate::sim::server::Server>)) {
        let alive = self.fleet.alive();
        let up: Vec<_> = alive.into_iter().filter(|server| self.stage.lock().lives[server.number].up).collect();
        if !up.is_empty() {
            hit(self.dice.pick(&up));
        }
    }

    async fn reconfigure(&mut self) {
        let count = self.stage.lock().sites.len();
        let number = self.dice.below(count);
        let at = self.config.workspaces.iter().position(|workspace| workspace.name.as_str() == format!("w{number}"));
        let what = match (at, self.dice.below(4)) {
            (None, _) => {
                self.add_workspace(number);
                "add"
            }
            (Some(at), 0) => {
                self.config.workspaces.remove(at);
                "remove"
            }
            (Some(at), 1) => {
                self.config.workspaces.remove(at);
                self.add_workspace(number);
                "change"
            }
            (Some(_), _) => {
                let mut stage = self.stage.lock();
                stage.profile.timeout_ms = *self.dice.pick(&[400, 700, 2_000]);
                stage.profile.page_cap = *self.dice.pick(&[5, 50, 200]);
                stage.profile.configure(&mut self.config);
                "retune"
            }
        };
        self.note(format!("reconfigure w{number}: {what}"));
        self.cover(format!("reconfigure: {what}"));
        self.configure().await;
    }

    /// Stops all faults; afterwards every query must get a correct answer.
    pub(crate) async fn heal(&mut self) {
        self.note("heals");
        // Running calls end under the limits of their start.
        sleep(Duration::from_secs(3)).await;
        self.check();
        {
            let mut stage = self.stage.lock();
            stage.healthy = true;
            stage.missing.clear();
            let roomy = Profile {
                timeout_ms: 2_000,
                page_cap: 200,
                list_cap: 200,
                snapshot_bytes: codeyard_model::limits::MAX_SNAPSHOT_BYTES,
                snapshots_bytes: codeyard_model::limits::MAX_SNAPSHOTS_TOTAL_BYTES,
                response_bytes: codeyard_model::limits::MAX_RESPONSE_BYTES,
                ..stage.profile.clone()
            };
            stage.profile = roomy.clone();
            roomy.configure(&mut self.config);
        }
        self.panic_injector.armed.store(false, SeqCst);
        let count = self.stage.lock().sites.len();
        for number in 0..count {
            if !self.config.workspaces.iter().any(|workspace| workspace.name.as_str() == format!("w{number}")) {
                self.add_workspace(number);
            }
        }
        self.configure().await;
        for server in self.fleet.alive() {
            let is_unable = !self.stage.lock().lives[server.number].unable.is_empty();
            if is_unable {
                server.kill_from_outside();
            }
        }
        sleep(Duration::from_secs(QUARANTINE_S + 15)).await;
        self.check();
        for workspace in 0..count {
            let tree = self.stage.lock().sites[workspace].tree();
            let Some(file) = tree.keys().find(|path| path.ends_with(".fake")).cloned() else { continue };
            let file_of = file.clone();
            let query = "a".to_owned();
            let lsp = |operation| Asked::Lsp(Lsp { operation, file: file_of.clone(), line: 1, query: query.clone() });
            for asked in [
                Asked::Definition { file: file.clone(), line: 1 },
                Asked::References { file: file.clone(), line: 1, declaration: true },
                Asked::Hover { file: file.clone(), line: 1 },
                Asked::Symbols { file: file.clone() },
                Asked::WorkspaceSymbols { query: "a".into() },
                Asked::Diagnostics { file: file.clone() },
                Asked::WorkspaceDiagnostics,
            ]
            .into_iter()
            .chain(Operation::ALL.map(lsp))
            {
                if truth(&tree, &asked).is_some() {
                    self.must_answer(workspace, asked).await;
                }
            }
        }
    }

    /// Repeats a query until it is answered, which must happen within a time limit.
    async fn must_answer(&mut self, workspace: usize, asked: Asked) {
        let until = Instant::now() + Duration::from_secs(4 * HANG_S + QUARANTINE_S);
        loop {
            let before = self.stage.lock().seen.get(&format!("ok: {}", tool_of(&asked))).copied();
            self.call(workspace, asked.clone(), 100, Page::First, None);
            sleep(Duration::from_millis(2_100)).await;
            self.check();
            let after = self.stage.lock().seen.get(&format!("ok: {}", tool_of(&asked))).copied();
            if after != before || !self.stage.lock().wrong.is_empty() {
                return;
            }
            if Instant::now() > until {
                self.stage.lock().wrong(format!("w{workspace} {asked:?} gets no answer after all faults ended"));
                return;
            }
        }
    }
}
