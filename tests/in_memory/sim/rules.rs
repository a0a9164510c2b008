//! Rules for server processes: one at a time, restarts as specified, no request left open.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use codeyard_engine::limits::{LONG_QUESTION_UNASKED_MS, LONG_QUESTIONS};

use crate::sim::profile::{BACKOFF_MAX_MS, BACKOFF_MS, MAX_RESTARTS, QUARANTINE_S, WINDOW_S};
use crate::sim::stage::{Life, Stage};

/// Crashes of one server that count for the restart rule.
#[derive(Default)]
struct History {
    last: Option<usize>,
    deaths: VecDeque<Instant>,
    /// The first crash has no back-off.
    forgiven: bool,
    on_probation: bool,
}

/// Tracks started servers.
#[derive(Default)]
pub(crate) struct Rules {
    checked: usize,
    histories: BTreeMap<(String, String, String), History>,
}

impl Rules {
    /// Checks servers started since the last call. `panics` are the times at which workspaces panicked, `replaced`
    /// the kinds and times of servers that the service replaced because files on disk changed.
    pub(crate) fn check(&mut self, stage: &mut Stage, panics: &[Instant], replaced: &[(String, Instant)]) {
        while self.checked < stage.lives.len() {
            let number = self.checked;
            self.checked += 1;
            let life = &stage.lives[number];
            let runs_beside = |other: &&Life| {
                other.label == life.label
                    && other.folder == life.folder
                    && other.ended.is_none_or(|ended| ended > life.began)
            };
            let overlap = stage.lives[..number].iter().any(|other| runs_beside(&other));
            let key = (life.label.clone(), life.folder.clone(), life.era.clone());
            let kind = life.label.rsplit('/').next().unwrap_or_default();
            let is_fault = |before: &Life| {
                let within = |at: &Instant| *at >= before.began && *at <= life.began;
                !replaced.iter().any(|(replaced, at)| replaced == kind && within(at))
            };
            let history = self.histories.entry(key).or_default();
            let wrong = history
                .last
                .replace(number)
                .filter(|before| is_fault(&stage.lives[*before]))
                .and_then(|before| history.successor(number, &stage.lives[before], life, panics));
            if overlap {
                stage.wrong(format!("launch #{number}: its predecessor still runs"));
            }
            if let Some(why) = wrong {
                stage.wrong(why);
            }
        }
    }
}

impl History {
    fn successor(&mut self, number: usize, before: &Life, now: &Life, panics: &[Instant]) -> Option<String> {
        let rebuilt = panics.iter().any(|at| *at >= before.began && *at <= now.began);
        let was_reset = rebuilt || before.stopping || before.silent || before.panicked;
        let ended = before.ended?;
        if was_reset {
            *self = Self { last: self.last, ..Self::default() };
            return None;
        }
        if before.killed_outside {
            // A kill from outside is no crash. How long the server waits then depends on how long it had been ready, which can't be seen.
            return None;
        }
        if before.up && ended.saturating_duration_since(before.began) >= Duration::from_secs(WINDOW_S) {
            self.deaths.clear();
            self.on_probation = false;
        }
        let window = Duration::from_secs(WINDOW_S);
        while self.deaths.front().is_some_and(|first| ended.saturating_duration_since(*first) > window) {
            self.deaths.pop_front();
            self.forgiven = false;
        }
        self.deaths.push_back(ended);
        let waited = now.began.saturating_duration_since(ended);
        if self.deaths.len() == 1 {
            // Only the service knows whether it was ready, but an unread project excludes it. Whether the restart came at once can't be
            // seen either: it may have waited for the starts of others.
            self.forgiven = before.has_read;
        }
        let wait = if self.on_probation || self.deaths.len() as u64 > MAX_RESTARTS {
            self.on_probation = true;
            self.deaths.clear();
            Duration::from_secs(QUARANTINE_S)
        } else {
            let counted = self.deaths.len() - usize::from(self.forgiven);
            let doubled = if counted == 0 { 0 } else { BACKOFF_MS << (counted - 1) };
            Duration::from_millis(doubled.min(BACKOFF_MAX_MS))
        };
        (waited + Duration::from_millis(2) < wait).then(|| {
            format!(
                "launch #{number} came {} ms after its predecessor ended, not {}",
                waited.as_millis(),
                wait.as_millis()
            )
        })
    }
}

/// Requests of one question that may be open at a server at once.
const REQUESTS_OF_QUESTION: usize = 2;

/// Without a running call, only the requests of long questions may be open at a responsive server, and none when there has been no call for as
/// long as they go on.
pub(crate) fn nothing_open(stage: &mut Stage, quiet: Duration) {
    let are_ended = quiet >= Duration::from_millis(LONG_QUESTION_UNASKED_MS + 200);
    let most = if are_ended { 0 } else { LONG_QUESTIONS * REQUESTS_OF_QUESTION };
    if are_ended {
        stage.cover("checked: quiet for so long that no question goes on");
    }
    let sweeps = stage.profile.sweep == codeyard_config::Sweep::All;
    let keeps_hovers = stage.profile.keeps_hovers;
    let excused = |method: &str| {
        sweeps && method == "textDocument/diagnostic"
            || keeps_hovers && method == "textDocument/hover"
            || method == "initialize"
            || method == "shutdown"
    };
    let left: Vec<String> = stage
        .lives
        .iter()
        .enumerate()
        .filter(|(_, life)| life.ended.is_none() && !life.silent)
        .map(|(number, life)| (number, life.open.iter().filter(|(_, method)| !excused(method)).collect::<Vec<_>>()))
        .filter(|(_, open)| open.len() > most)
        .flat_map(|(number, open)| open.into_iter().map(move |(id, method)| (number, id, method)))
        .map(|(number, id, method)| format!("#{number}: {method} {id}"))
        .collect();
    if !left.is_empty() {
        stage.wrong(format!("no call is under way, but these are open at servers: {}", left.join(", ")));
    }
}
