//! The state of `top` and how keys change it. Accesses neither the terminal nor the server.

use ratatui::crossterm::event::KeyCode;

use super::sample::AdminSample;
use codeyard_server::admin::documents::ServerDocument;

/// The sort order of the language servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortKey {
    /// By workspace, then by id.
    Name,
    /// By memory, largest first.
    Memory,
    /// By restarts, most first.
    Restarts,
    /// By pending requests, most first.
    Pending,
}

/// What a key requests of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyAction {
    None,
    /// Exit.
    Quit,
    /// Restart this language server.
    Restart {
        workspace: String,
        id: String,
    },
}

/// Rates between the last two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CallRates {
    /// Calls per second.
    pub calls_s: f64,
    /// Failed calls per second.
    pub failures_s: f64,
    /// Median duration in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile of durations in milliseconds.
    pub p99_ms: Option<f64>,
}

/// Everything that `top` shows.
pub(super) struct TopModel {
    /// The last sample.
    pub sample: AdminSample,
    /// Rates between the last two samples.
    pub rates: Option<CallRates>,
    /// The sort order of the language servers.
    pub sort: SortKey,
    /// A message for the user; empty for none.
    pub message: String,
    /// Why the last poll failed; `None` if it succeeded.
    pub poll_error: Option<String>,
    /// Seconds since the unanswered poll was sent; 0 if none is.
    pub unanswered_s: u64,
    /// Workspace and id of the server whose restart waits for confirmation.
    pub confirming: Option<(String, String)>,
    /// Workspace and id of the selected server.
    selected: Option<(String, String)>,
}

impl TopModel {
    /// The state after the first sample.
    pub(super) fn new(sample: AdminSample) -> Self {
        let sort = SortKey::Name;
        let message = String::new();
        Self { sample, rates: None, sort, message, poll_error: None, unanswered_s: 0, confirming: None, selected: None }
    }

    /// Applies another sample.
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    pub(super) fn update(&mut self, sample: AdminSample) {
        let seconds = sample.at.saturating_duration_since(self.sample.at).as_secs_f64().max(0.001);
        let durations = sample.durations().since(&self.sample.durations());
        let more = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.rates = Some(CallRates {
            calls_s: more(sample.calls(), self.sample.calls()),
            failures_s: more(sample.failures(), self.sample.failures()),
            p50_ms: durations.quantile_ms(0.5),
            p99_ms: durations.quantile_ms(0.99),
        });
        self.sample = sample;
        self.poll_error = None;
    }

    /// Records that a poll failed.
    pub(super) fn set_error(&mut self, why: String) {
        self.poll_error = Some(why);
        self.rates = None;
    }

    /// Shows a message to the user.
    pub(super) fn show_message(&mut self, message: String) {
        self.message = message;
    }

    /// The language servers in the current order.
    pub(super) fn servers(&self) -> Vec<&ServerDocument> {
        let mut servers: Vec<&ServerDocument> = self.sample.servers.servers.iter().collect();
        servers.sort_by(|a, b| (&a.workspace, &a.id).cmp(&(&b.workspace, &b.id)));
        match self.sort {
            SortKey::Name => {}
            SortKey::Memory => servers.sort_by_key(|server| std::cmp::Reverse(server.memory_bytes.unwrap_or(0))),
            SortKey::Restarts => servers.sort_by_key(|server| std::cmp::Reverse(server.restarts)),
            SortKey::Pending => servers.sort_by_key(|server| std::cmp::Reverse(server.pending)),
        }
        servers
    }

    /// Index of the selected server in [`Self::servers`]; the first if the selected one is gone.
    pub(super) fn selected(&self) -> Option<usize> {
        let servers = self.servers();
        let is_selected = |server: &&ServerDocument| {
            self.selected.as_ref().is_some_and(|(workspace, id)| server.workspace == *workspace && server.id == *id)
        };
        servers.iter().position(is_selected).or((!servers.is_empty()).then_some(0))
    }

    pub(super) fn press(&mut self, key: KeyCode) -> KeyAction {
        if let Some((workspace, id)) = self.confirming.take() {
            self.message.clear();
            return match key {
                KeyCode::Char('y' | 'Y') | KeyCode::Enter => KeyAction::Restart { workspace, id },
                _ => KeyAction::None,
            };
        }
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return KeyAction::Quit,
            KeyCode::Char('s') => {
                self.sort = match self.sort {
                    SortKey::Name => SortKey::Memory,
                    SortKey::Memory => SortKey::Restarts,
                    SortKey::Restarts => SortKey::Pending,
                    SortKey::Pending => SortKey::Name,
                };
            }
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::Char('r') => {
                let server = self.selected().and_then(|at| self.servers().get(at).map(|server| (**server).clone()));
                if let Some(server) = server {
                    self.message = format!("restart {} of {}? y / n", server.id, server.workspace);
                    self.confirming = Some((server.workspace, server.id));
                }
            }
            _ => {}
        }
        KeyAction::None
    }

    fn move_by(&mut self, step: isize) {
        let servers = self.servers();
        let Some(at) = self.selected() else { return };
        let at = at.saturating_add_signed(step).min(servers.len().saturating_sub(1));
        let selected = servers.get(at).map(|server| (server.workspace.clone(), server.id.clone()));
        self.selected = selected;
    }
}
