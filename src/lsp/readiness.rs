//! Whether a server has read its workspace, told from what it says and from what it doesn't say in time.
//!
//! A pure state machine over `registry::Readiness`: time comes with every call, and nothing is scheduled here.
//! `next_check` says when to look again without an event. Invariants: the state depends on the events and instants alone;
//! a server that reports progress is never given up on; no token is waited for longer than its limit since its last
//! report; the text shown to clients names no absolute path.

use std::collections::BTreeMap;
use std::time::Duration;

use super::progress::{Label, Progress, ReadinessEvent};
use super::registry::Readiness;
use crate::limits::MAX_PROGRESS_TOKENS;
use codeyard_base::clock::Instant;

/// Token limit where the registry says 0, in ms.
const TOKEN_LIMIT_MS: u64 = 30_000;
/// Overall limit where the registry says 0, in ms.
const LIMIT_MS: u64 = 120_000;
/// No wait of the registry is longer, in ms: a day.
const MAX_MS: u64 = 86_400_000;

/// How far a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It hasn't answered `initialize` yet.
    Starting,
    /// It isn't known to have read everything: its answers may be partial or wrong.
    Indexing {
        /// What it says of its work, such as `Indexing 37% (120/324)`.
        progress: Option<String>,
    },
    /// It answers in full.
    Ready,
}

/// What a server says of its health (`experimental/serverStatus`). A warning isn't a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Health {
    /// Nothing wrong, or nothing said.
    #[default]
    Ok,
    /// It works, with something to tell.
    Warning,
    /// It says that it can't do its work.
    Error,
}

/// The state machine of one server process.
#[derive(Debug)]
pub struct ReadinessState {
    rule: Readiness,
    initialized: Option<Instant>,
    opened: Option<Instant>,
    /// Relevant tokens that haven't ended; those silent for longer than the limit stay until they end or are revived.
    tokens: BTreeMap<String, Token>,
    /// When relevant progress last began, went on or ended.
    last_progress: Option<Instant>,
    /// When anything last hinted at work going on.
    last_sign: Instant,
    quiescent: Option<bool>,
    health: Health,
    logged: bool,
    called: bool,
    /// The overall limit has passed once: what never came isn't waited for any more.
    waived: bool,
}

#[derive(Debug)]
struct Token {
    label: Label,
    last_report: Instant,
}

impl ReadinessState {
    /// A server that was just started.
    pub fn new(rule: &Readiness, now: Instant) -> Self {
        Self {
            rule: rule.clone(),
            initialized: None,
            opened: None,
            tokens: BTreeMap::new(),
            last_progress: None,
            last_sign: now,
            quiescent: None,
            health: Health::Ok,
            logged: false,
            called: false,
            waived: false,
        }
    }

    /// `initialized` was sent.
    pub fn on_initialized(&mut self, now: Instant) {
        self.initialized.get_or_insert(now);
        self.last_sign = now;
    }

    /// A document was opened; only the first one counts.
    pub fn on_opened(&mut self, now: Instant) {
        self.give_up_at_limit(now);
        if self.opened.is_none() {
            self.opened = Some(now);
            self.last_sign = now;
        }
    }

    /// A `$/progress` notification.
    pub fn on_progress(&mut self, token: &str, progress: &Progress, now: Instant) {
        self.give_up_at_limit(now);
        self.last_sign = now;
        if progress.is_end() {
            if self.tokens.remove(token).is_some() || self.matches(token) {
                self.last_progress = Some(now);
            }
            return;
        }
        let relevant = self.tokens.contains_key(token)
            || self.matches(token)
            || progress.title().is_some_and(|title| self.matches(title));
        if relevant {
            self.last_progress = Some(now);
            self.follow(token, progress, now);
        }
    }

    /// An `experimental/serverStatus` notification.
    pub fn on_server_status(&mut self, quiescent: bool, health: &str, now: Instant) {
        self.give_up_at_limit(now);
        self.quiescent = Some(quiescent);
        self.health = match health {
            "error" => Health::Error,
            "warning" => Health::Warning,
            _ => Health::Ok,
        };
        if !quiescent {
            self.last_sign = now;
        }
    }

    /// A line of the server's log. It is no sign of progress, because some servers log without end.
    pub fn on_log_message(&mut self, message: &str, now: Instant) {
        self.give_up_at_limit(now);
        self.logged |= self.rule.log_message.as_deref().is_some_and(|text| message.contains(text));
    }

    /// A request or notification of the server, by its method.
    pub fn on_method(&mut self, method: &str, now: Instant) {
        self.give_up_at_limit(now);
        self.called |= self.rule.method.as_deref() == Some(method);
    }

    /// An event that [`super::progress::parse_notification`] read.
    pub fn apply(&mut self, event: &ReadinessEvent, now: Instant) {
        match event {
            ReadinessEvent::Progress { token, progress } => self.on_progress(token, progress, now),
            ReadinessEvent::ServerStatus { quiescent, health } => self.on_server_status(*quiescent, health, now),
            ReadinessEvent::LogMessage(message) => self.on_log_message(message, now),
        }
    }

    /// How far the server is. A ready server that begins relevant progress again, or says that it isn't quiescent, is
    /// indexing again.
    pub fn state(&self, now: Instant) -> State {
        match self.initialized {
            None => State::Starting,
            Some(_) if self.ready_by(now) => State::Ready,
            Some(_) => State::Indexing { progress: self.progress(now) },
        }
    }

    /// Whether it counts as ready only because something that was expected didn't come within the overall limit.
    pub fn assumed(&self, now: Instant) -> bool {
        let truly = self.fulfilled_at(false).is_some_and(|at| at <= now);
        self.initialized.is_some() && !truly && self.ready_by(now)
    }

    /// Whether it waits for a first document to be opened: until then it won't become ready but by the overall limit.
    pub fn waits_for_open(&self) -> bool {
        self.rule.after_open && !self.rule.progress.is_empty() && self.opened.is_none() && !self.waived
    }

    /// What the server says of its health.
    pub fn health(&self) -> Health {
        self.health
    }

    /// When time alone makes the server ready; `None` if it is ready, or hasn't been initialized.
    pub fn next_check(&self, now: Instant) -> Option<Instant> {
        if self.initialized.is_none() || self.ready_by(now) {
            return None;
        }
        let limit_at = self.limit_at();
        Some(self.fulfilled_at(self.waived).map_or(limit_at, |at| at.min(limit_at)))
    }

    fn ready_by(&self, now: Instant) -> bool {
        self.fulfilled(now) || self.limit_at() <= now
    }

    fn fulfilled(&self, now: Instant) -> bool {
        self.fulfilled_at(self.waived).is_some_and(|at| at <= now)
    }

    /// When all conditions hold, if no further event comes; `None` if one needs an event.
    fn fulfilled_at(&self, waived: bool) -> Option<Instant> {
        let missing = (self.rule.server_status && !self.quiescent.unwrap_or(waived))
            || (self.rule.log_message.is_some() && !self.logged && !waived)
            || (self.rule.method.is_some() && !self.called && !waived);
        if missing { None } else { self.progress_done_at(waived) }
    }

    /// When relevant progress counts as over, if none is heard of any more.
    fn progress_done_at(&self, waived: bool) -> Option<Instant> {
        let initialized = self.initialized?;
        if self.rule.progress.is_empty() {
            return Some(initialized);
        }
        let base = match self.opened {
            Some(opened) if self.rule.after_open => opened,
            None if self.rule.after_open && !waived => return None,
            _ => initialized,
        };
        let quiet_at = match self.last_progress.filter(|&last| last >= base) {
            Some(last) => last + duration(self.rule.settle_ms),
            None if waived => base,
            None => base + duration(self.rule.expect_within_ms),
        };
        Some(self.tokens.values().map(|token| token.last_report + self.token_limit()).fold(quiet_at, Instant::max))
    }

    fn limit_at(&self) -> Instant {
        self.last_sign + or_default(self.rule.limit_ms, LIMIT_MS)
    }

    fn token_limit(&self) -> Duration {
        or_default(self.rule.token_limit_ms, TOKEN_LIMIT_MS)
    }

    /// Once the overall limit has passed, what is missing isn't waited for any more, and an unrelated event mustn't undo
    /// that: only new relevant progress or a new status does.
    fn give_up_at_limit(&mut self, now: Instant) {
        if self.initialized.is_some() && !self.fulfilled(now) && self.limit_at() <= now {
            self.waived = true;
            self.quiescent = None;
            self.tokens.clear();
        }
    }

    fn matches(&self, text: &str) -> bool {
        self.rule.progress.iter().any(|prefix| text.starts_with(prefix.as_str()))
    }

    fn follow(&mut self, token: &str, progress: &Progress, now: Instant) {
        if !self.tokens.contains_key(token) && self.tokens.len() >= MAX_PROGRESS_TOKENS {
            let oldest = self.tokens.iter().min_by_key(|(_, token)| token.last_report).map(|(name, _)| name.clone());
            oldest.map(|name| self.tokens.remove(&name));
        }
        let known = self.tokens.entry(token.to_owned()).or_insert(Token { label: Label::default(), last_report: now });
        known.last_report = now;
        known.label.update(progress);
    }

    /// What the live token that reported last says.
    fn progress(&self, now: Instant) -> Option<String> {
        let live = self.tokens.values().filter(|token| now < token.last_report + self.token_limit());
        live.max_by_key(|token| token.last_report).and_then(|token| token.label.text())
    }
}

fn or_default(ms: u64, default: u64) -> Duration {
    duration(if ms == 0 { default } else { ms })
}

/// Capped, so that no configured number makes an instant overflow.
fn duration(ms: u64) -> Duration {
    Duration::from_millis(ms.min(MAX_MS))
}

#[cfg(test)]
mod tests;
