//! Whether a server has loaded its workspace, derived from its notifications and from time limits.
//!
//! [`ReadinessTracker`] is a pure state machine over `registry::ReadinessRule`: each call passes the time, and
//! nothing is scheduled here. `next_check` returns when the state can change without an event. Invariants: the state
//! depends only on events and instants; a server that keeps reporting progress never runs into the overall limit; no
//! token is waited for longer than its limit after its last report; the text shown to clients contains no absolute
//! path.

mod progress;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::MAX_PROGRESS_TOKENS;
use crate::registry::ReadinessRule;
use codeyard_base::clock::Instant;
use progress::ProgressLabel;
pub use progress::{ReadinessEvent, WorkDoneProgress, parse_notification};

/// The token limit, in ms, where the registry says 0.
const TOKEN_LIMIT_MS: u64 = 30_000;
/// The overall limit, in ms, where the registry says 0.
const LIMIT_MS: u64 = 120_000;
/// The longest wait that the registry can configure, in ms: one day.
const MAX_MS: u64 = 86_400_000;

/// How far a server has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadinessState {
    /// It hasn't answered `initialize` yet.
    Starting,
    /// It may not have loaded everything: its answers may be partial or wrong.
    Indexing {
        /// Its own progress text, such as `Indexing 37% (120/324)`.
        progress: Option<String>,
    },
    /// Its answers are complete.
    Ready,
}

/// The health that a server reports (`experimental/serverStatus`). A warning isn't a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportedHealth {
    /// No problem, or nothing reported.
    #[default]
    Ok,
    /// It works, but reports a problem.
    Warning,
    /// It reports that it can't work.
    Error,
}

/// The state machine of one server process.
#[derive(Debug)]
pub struct ReadinessTracker {
    rule: ReadinessRule,
    initialized: Option<Instant>,
    opened: Option<Instant>,
    /// Relevant tokens that haven't ended. Tokens silent for longer than the limit stay until they end or report
    /// again.
    tokens: BTreeMap<String, ProgressToken>,
    /// When files of it last changed, if the rule has a wait for that.
    changed: Option<Instant>,
    /// When relevant progress last began, continued or ended.
    last_progress: Option<Instant>,
    /// When the server last showed any sign of work.
    last_activity: Instant,
    quiescent: Option<bool>,
    health: ReportedHealth,
    logs_seen: usize,
    /// How many messages of the rule must be seen: one for each project.
    logs_expected: usize,
    method_seen: bool,
    /// The overall limit has passed once: conditions that were never met are no longer required.
    limit_reached: bool,
}

#[derive(Debug)]
struct ProgressToken {
    label: ProgressLabel,
    last_report: Instant,
}

impl ReadinessTracker {
    /// The state of a server that was just started.
    pub fn new(rule: &ReadinessRule, now: Instant) -> Self {
        Self {
            rule: rule.clone(),
            initialized: None,
            opened: None,
            tokens: BTreeMap::new(),
            changed: None,
            last_progress: None,
            last_activity: now,
            quiescent: None,
            health: ReportedHealth::Ok,
            logs_seen: 0,
            logs_expected: 1,
            method_seen: false,
            limit_reached: false,
        }
    }

    /// `initialized` was sent.
    pub fn on_initialized(&mut self, now: Instant) {
        self.initialized.get_or_insert(now);
        self.last_activity = now;
    }

    /// The server loads this many projects besides the ones that it loads already or has loaded. It logs its message for each.
    pub fn on_more_projects(&mut self, count: usize, now: Instant) {
        self.apply_overall_limit(now);
        if count > 0 && self.rule.log_message.is_some() {
            // A message that didn't come within the limit is no longer expected.
            let before = if self.limit_reached { self.logs_seen } else { self.logs_expected.max(self.logs_seen) };
            self.logs_expected = before + count;
            self.limit_reached = false;
            self.last_activity = now;
        }
    }

    /// A document was opened; only the first one counts.
    pub fn on_opened(&mut self, now: Instant) {
        self.apply_overall_limit(now);
        if self.opened.is_none() {
            self.opened = Some(now);
            self.last_activity = now;
        }
    }

    /// It was notified of changes of its files.
    pub fn on_changes(&mut self, now: Instant) {
        if self.rule.after_change_ms > 0 {
            self.apply_overall_limit(now);
            self.changed = Some(now);
            self.last_activity = now;
        }
    }

    /// A `$/progress` notification.
    pub fn on_progress(&mut self, token: &str, progress: &WorkDoneProgress, now: Instant) {
        self.apply_overall_limit(now);
        self.last_activity = now;
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
            self.track(token, progress, now);
        }
    }

    /// An `experimental/serverStatus` notification.
    pub fn on_server_status(&mut self, quiescent: bool, health: &str, now: Instant) {
        self.apply_overall_limit(now);
        self.quiescent = Some(quiescent);
        self.health = match health {
            "error" => ReportedHealth::Error,
            "warning" => ReportedHealth::Warning,
            _ => ReportedHealth::Ok,
        };
        if !quiescent {
            self.last_activity = now;
        }
    }

    /// A message in the server's log. It doesn't count as progress, because some servers log without end.
    pub fn on_log_message(&mut self, message: &str, now: Instant) {
        self.apply_overall_limit(now);
        if self.rule.log_message.as_deref().is_some_and(|text| message.contains(text)) {
            self.logs_seen += 1;
        }
    }

    /// The method of a request or notification from the server.
    pub fn on_method(&mut self, method: &str, now: Instant) {
        self.apply_overall_limit(now);
        self.method_seen |= self.rule.method.as_deref() == Some(method);
    }

    /// An event that [`parse_notification`] returned.
    pub fn apply(&mut self, event: &ReadinessEvent, now: Instant) {
        match event {
            ReadinessEvent::Progress { token, progress } => self.on_progress(token, progress, now),
            ReadinessEvent::ServerStatus { quiescent, health } => self.on_server_status(*quiescent, health, now),
            ReadinessEvent::LogMessage(message) => self.on_log_message(message, now),
        }
    }

    /// The current state. A ready server goes back to indexing when relevant progress begins again or the server
    /// reports that it isn't quiescent.
    pub fn state(&self, now: Instant) -> ReadinessState {
        match self.initialized {
            None => ReadinessState::Starting,
            Some(_) if self.ready_by(now) => ReadinessState::Ready,
            Some(_) => ReadinessState::Indexing { progress: self.progress(now) },
        }
    }

    /// Whether it counts as ready only because an expected event didn't come within the overall limit.
    pub fn assumed(&self, now: Instant) -> bool {
        let truly = self.fulfilled_at(false).is_some_and(|at| at <= now);
        self.initialized.is_some() && !truly && self.ready_by(now)
    }

    /// The health that the server reports.
    pub fn health(&self) -> ReportedHealth {
        self.health
    }

    /// When time alone makes the server ready; `None` if it is ready or hasn't been initialized.
    pub fn next_check(&self, now: Instant) -> Option<Instant> {
        if self.initialized.is_none() || self.ready_by(now) {
            return None;
        }
        let limit_at = self.limit_at();
        Some(self.fulfilled_at(self.limit_reached).map_or(limit_at, |at| at.min(limit_at)))
    }

    fn ready_by(&self, now: Instant) -> bool {
        self.fulfilled(now) || self.limit_at() <= now
    }

    fn fulfilled(&self, now: Instant) -> bool {
        self.fulfilled_at(self.limit_reached).is_some_and(|at| at <= now)
    }

    /// When all conditions hold if no further event comes; `None` if one of them needs an event.
    fn fulfilled_at(&self, limit_reached: bool) -> Option<Instant> {
        let missing = (self.rule.server_status && !self.quiescent.unwrap_or(limit_reached))
            || (self.rule.log_message.is_some() && self.logs_seen < self.logs_expected && !limit_reached)
            || (self.rule.method.is_some() && !self.method_seen && !limit_reached);
        if missing { None } else { self.progress_done_at(limit_reached) }
    }

    /// When relevant progress counts as over if no further progress comes.
    fn progress_done_at(&self, limit_reached: bool) -> Option<Instant> {
        let initialized = self.initialized?;
        let changed = self.changed.filter(|changed| self.last_progress.is_none_or(|last| last <= *changed));
        let read_at = changed.map(|changed| changed + duration(self.rule.after_change_ms)).unwrap_or(initialized);
        if self.rule.progress.is_empty() && self.rule.expect_within_ms == 0 {
            return Some(read_at);
        }
        let base = match self.opened {
            Some(opened) if self.rule.after_open => opened,
            None if self.rule.after_open && !limit_reached => return None,
            _ => initialized,
        };
        let quiet_at = match self.last_progress.filter(|&last| last >= base) {
            Some(last) => last + duration(self.rule.settle_ms),
            None if limit_reached => base,
            None => base + duration(self.rule.expect_within_ms),
        };
        Some(
            self.tokens
                .values()
                .map(|token| token.last_report + self.token_limit())
                .fold(quiet_at.max(read_at), Instant::max),
        )
    }

    fn limit_at(&self) -> Instant {
        self.last_activity + or_default(self.rule.limit_ms, LIMIT_MS)
    }

    fn token_limit(&self) -> Duration {
        or_default(self.rule.token_limit_ms, TOKEN_LIMIT_MS)
    }

    /// Applies the overall limit: missing conditions are no longer required. An unrelated event must not undo that;
    /// only new relevant progress or a new status does.
    fn apply_overall_limit(&mut self, now: Instant) {
        if self.initialized.is_some() && !self.fulfilled(now) && self.limit_at() <= now {
            self.limit_reached = true;
            self.quiescent = None;
            self.tokens.clear();
        }
    }

    fn matches(&self, text: &str) -> bool {
        self.rule.progress.iter().any(|prefix| text.starts_with(prefix.as_str()))
    }

    fn track(&mut self, token: &str, progress: &WorkDoneProgress, now: Instant) {
        if !self.tokens.contains_key(token) && self.tokens.len() >= MAX_PROGRESS_TOKENS {
            let oldest = self.tokens.iter().min_by_key(|(_, token)| token.last_report).map(|(name, _)| name.clone());
            oldest.map(|name| self.tokens.remove(&name));
        }
        let known = self
            .tokens
            .entry(token.to_owned())
            .or_insert(ProgressToken { label: ProgressLabel::default(), last_report: now });
        known.last_report = now;
        known.label.update(progress);
    }

    /// The text of the live token that reported last.
    fn progress(&self, now: Instant) -> Option<String> {
        let live = self.tokens.values().filter(|token| now < token.last_report + self.token_limit());
        live.max_by_key(|token| token.last_report).and_then(|token| token.label.text())
    }
}

fn or_default(ms: u64, default: u64) -> Duration {
    duration(if ms == 0 { default } else { ms })
}

/// Capped, so that no configured number overflows an instant.
fn duration(ms: u64) -> Duration {
    Duration::from_millis(ms.min(MAX_MS))
}

#[cfg(test)]
mod tests;
