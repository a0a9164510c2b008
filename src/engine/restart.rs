//! When a language server that died may be started again: at once if it was ready and this is the first death in a while,
//! else after a back-off, then quarantine, then one try. Pure; time is passed in.
//!
//! Invariant: never more than `max_restarts` starts within `window`, whatever the server does.

use std::collections::VecDeque;
use std::time::Duration;

use codeyard_base::clock::Instant;

/// The figures of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartRule {
    /// First wait; doubles with each death.
    pub backoff_first: Duration,
    /// Longest wait.
    pub backoff_max: Duration,
    /// Restarts allowed within `window`.
    pub max_restarts: usize,
    /// The window.
    pub window: Duration,
    /// How long a server that dies too often is left alone.
    pub quarantine: Duration,
}

impl Default for RestartRule {
    fn default() -> Self {
        Self {
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(60),
            max_restarts: 4,
            window: Duration::from_secs(180),
            quarantine: Duration::from_secs(300),
        }
    }
}

/// What to do after a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Start again after this wait.
    Restart(Duration),
    /// Leave it alone for this long, then try once.
    Quarantine(Duration),
}

/// The deaths of one server.
#[derive(Debug)]
pub(crate) struct RestartHistory {
    rule: RestartRule,
    deaths: VecDeque<Instant>,
    /// The first of them cost no wait.
    forgiven: bool,
    on_probation: bool,
}

impl RestartHistory {
    /// No deaths yet.
    pub(crate) fn new(rule: RestartRule) -> Self {
        Self { rule, deaths: VecDeque::new(), forgiven: false, on_probation: false }
    }

    /// Notes a death. `was_ready` says that it could answer before. `jitter` in [0, 1) spreads restarts of many servers over
    /// a tenth of the wait.
    pub(crate) fn on_death(&mut self, now: Instant, was_ready: bool, jitter: f64) -> Verdict {
        while self.deaths.front().is_some_and(|first| now.duration_since(*first) > self.rule.window) {
            self.deaths.pop_front();
            self.forgiven = false;
        }
        self.deaths.push_back(now);
        if self.on_probation || self.deaths.len() > self.rule.max_restarts {
            self.on_probation = true;
            self.deaths.clear();
            return Verdict::Quarantine(self.rule.quarantine);
        }
        if self.deaths.len() == 1 {
            self.forgiven = was_ready;
            if was_ready {
                return Verdict::Restart(Duration::ZERO);
            }
        }
        let waited = self.deaths.len() - 1 - usize::from(self.forgiven).min(self.deaths.len() - 1);
        let doublings = u32::try_from(waited).unwrap_or(u32::MAX).min(16);
        let wait = self.rule.backoff_first.saturating_mul(1 << doublings).min(self.rule.backoff_max);
        Verdict::Restart(wait.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 10.0))
    }

    /// Notes that the server came up and has answered for a whole window: it's no longer on probation.
    pub(crate) fn on_stable(&mut self) {
        self.on_probation = false;
        self.deaths.clear();
    }

    /// The rule in force.
    pub(crate) fn rule(&self) -> &RestartRule {
        &self.rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_restarts_then_quarantine_then_one_try() {
        let mut history = RestartHistory::new(RestartRule::default());
        let start = Instant::now();
        let waits: Vec<Verdict> =
            (0..5).map(|n| history.on_death(start + Duration::from_secs(n), false, 0.0)).collect();
        let ms = |ms| Verdict::Restart(Duration::from_millis(ms));
        assert_eq!(waits[..4], [ms(500), ms(1_000), ms(2_000), ms(4_000)]);
        assert_eq!(waits[4], Verdict::Quarantine(Duration::from_secs(300)));
        let again = history.on_death(start + Duration::from_secs(400), true, 0.0);
        assert_eq!(again, Verdict::Quarantine(Duration::from_secs(300)), "after quarantine there is one try");
        history.on_stable();
        assert_eq!(history.on_death(start + Duration::from_secs(900), false, 0.0), ms(500));
    }

    #[test]
    fn the_first_death_of_one_that_was_ready_costs_no_wait() {
        let mut history = RestartHistory::new(RestartRule::default());
        let start = Instant::now();
        let waits: Vec<Verdict> = (0..5).map(|n| history.on_death(start + Duration::from_secs(n), true, 0.0)).collect();
        let ms = |ms| Verdict::Restart(Duration::from_millis(ms));
        assert_eq!(waits[..4], [ms(0), ms(500), ms(1_000), ms(2_000)]);
        assert_eq!(waits[4], Verdict::Quarantine(Duration::from_secs(300)));
    }

    #[test]
    fn old_deaths_are_forgotten_and_waits_are_capped() {
        let rule = RestartRule { max_restarts: 100, ..RestartRule::default() };
        let mut history = RestartHistory::new(rule);
        let start = Instant::now();
        let mut last = Verdict::Restart(Duration::ZERO);
        for n in 0..20 {
            last = history.on_death(start + Duration::from_secs(n), false, 0.0);
        }
        assert_eq!(last, Verdict::Restart(Duration::from_secs(60)));
        let later = history.on_death(start + Duration::from_secs(1_000), false, 0.999);
        assert!(matches!(later, Verdict::Restart(wait) if wait < Duration::from_millis(551)));
    }
}
