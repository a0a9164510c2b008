//! What `top` knows, and what keys do to it. No terminal here, and no server.

use ratatui::crossterm::event::KeyCode;

use super::sample::Sample;
use codeyard_server::admin::documents::ServerDocument;

/// What language servers are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Workspace, then id.
    Name,
    /// Most memory first.
    Memory,
    /// Most restarts first.
    Restarts,
    /// Most requests under way first.
    Pending,
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing beyond the model.
    None,
    /// The end.
    Quit,
    /// This language server is to be started anew.
    Restart {
        /// Its workspace.
        workspace: String,
        /// Its id.
        id: String,
    },
}

/// Figures of the time between the last two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    /// Calls in a second.
    pub calls_s: f64,
    /// Calls in a second that failed.
    pub failures_s: f64,
    /// Median duration in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile of durations in milliseconds.
    pub p99_ms: Option<f64>,
}

/// See the module.
pub(super) struct Model {
    /// The last look.
    pub sample: Sample,
    /// Between the last two looks.
    pub rates: Option<Rates>,
    /// What language servers are sorted by.
    pub sort: Sort,
    /// A sentence for the user.
    pub message: String,
    /// The last look failed, and why.
    pub lost: Option<String>,
    /// Seconds since the server was asked and hasn't answered.
    pub silent_s: u64,
    /// Workspace and id of the server that a restart waits to be confirmed for.
    pub confirming: Option<(String, String)>,
    /// Workspace and id of the chosen server.
    chosen: Option<(String, String)>,
}

impl Model {
    /// After the first look.
    pub(super) fn new(sample: Sample) -> Self {
        let (sort, message) = (Sort::Name, String::new());
        Self { sample, rates: None, sort, message, lost: None, silent_s: 0, confirming: None, chosen: None }
    }

    /// Takes another look in.
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    pub(super) fn see(&mut self, sample: Sample) {
        let seconds = sample.at.saturating_duration_since(self.sample.at).as_secs_f64().max(0.001);
        let durations = sample.durations().since(&self.sample.durations());
        let more = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.rates = Some(Rates {
            calls_s: more(sample.calls(), self.sample.calls()),
            failures_s: more(sample.failures(), self.sample.failures()),
            p50_ms: durations.quantile_ms(0.5),
            p99_ms: durations.quantile_ms(0.99),
        });
        self.sample = sample;
        self.lost = None;
    }

    /// Notes that a look failed.
    pub(super) fn lose(&mut self, why: String) {
        self.lost = Some(why);
        self.rates = None;
    }

    /// Tells the user something.
    pub(super) fn tell(&mut self, message: String) {
        self.message = message;
    }

    /// The language servers in their order.
    pub(super) fn servers(&self) -> Vec<&ServerDocument> {
        let mut servers: Vec<&ServerDocument> = self.sample.servers.servers.iter().collect();
        servers.sort_by(|a, b| (&a.workspace, &a.id).cmp(&(&b.workspace, &b.id)));
        match self.sort {
            Sort::Name => {}
            Sort::Memory => servers.sort_by_key(|server| std::cmp::Reverse(server.memory_bytes.unwrap_or(0))),
            Sort::Restarts => servers.sort_by_key(|server| std::cmp::Reverse(server.restarts)),
            Sort::Pending => servers.sort_by_key(|server| std::cmp::Reverse(server.pending)),
        }
        servers
    }

    /// Where the chosen server stands in [`Self::servers`]; the first, if the chosen one is gone.
    pub(super) fn chosen(&self) -> Option<usize> {
        let servers = self.servers();
        let is_chosen = |server: &&ServerDocument| {
            self.chosen.as_ref().is_some_and(|(workspace, id)| server.workspace == *workspace && server.id == *id)
        };
        servers.iter().position(is_chosen).or((!servers.is_empty()).then_some(0))
    }

    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyCode) -> Action {
        if let Some((workspace, id)) = self.confirming.take() {
            self.message.clear();
            return match key {
                KeyCode::Char('y' | 'Y') | KeyCode::Enter => Action::Restart { workspace, id },
                _ => Action::None,
            };
        }
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('s') => {
                self.sort = match self.sort {
                    Sort::Name => Sort::Memory,
                    Sort::Memory => Sort::Restarts,
                    Sort::Restarts => Sort::Pending,
                    Sort::Pending => Sort::Name,
                };
            }
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::Char('r') => {
                let server = self.chosen().and_then(|at| self.servers().get(at).map(|server| (**server).clone()));
                if let Some(server) = server {
                    self.message = format!("restart {} of {}? y / n", server.id, server.workspace);
                    self.confirming = Some((server.workspace, server.id));
                }
            }
            _ => {}
        }
        Action::None
    }

    fn move_by(&mut self, step: isize) {
        let servers = self.servers();
        let Some(at) = self.chosen() else { return };
        let at = at.saturating_add_signed(step).min(servers.len().saturating_sub(1));
        let chosen = servers.get(at).map(|server| (server.workspace.clone(), server.id.clone()));
        self.chosen = chosen;
    }
}
