//! How the process of a language server failed: its exit, how long it ran, and its last words.
//!
//! It goes into the log, the admin API, the doctor and the details of errors. Invariant: it contains no path outside the roots and no value
//! of the workspace's environment.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::limits::{FAILURE_LINE_CHARS, FAILURE_LINES};
use crate::redact::redact;
use codeyard_base::clock::wall_s;
use codeyard_model::error::ToolError;
use codeyard_model::roots::RootSet;
use codeyard_process::launch::ProcessExit;

/// The text in place of a value of the environment.
const HIDDEN: &str = "(hidden)";
/// Shorter values of the environment, such as `1`, occur by chance.
const MIN_HIDDEN_BYTES: usize = 4;
/// The signal that can't be caught.
const SIGKILL: i32 = 9;
/// What errors say about a server that it ended. The exit of a server that codeyard ends itself is never recorded.
pub(crate) const KILLED_FROM_OUTSIDE: &str = "was killed by signal 9 from outside (often the out-of-memory killer)";

/// Whether a process was killed, and not because of a budget of its own.
pub(crate) fn is_kill_from_outside(exit: Option<ProcessExit>) -> bool {
    exit.is_some_and(|exit| exit.is_killed() && !exit.over_memory)
}

/// How a server failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerFailure {
    /// The exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it. Without both, it was still running, or its end is unknown.
    pub signal: Option<i32>,
    /// How long it ran, in milliseconds; 0 if it could not be started.
    pub ran_ms: u64,
    /// When it failed, in seconds since 1970.
    pub at_s: u64,
    /// The last lines of its standard error, redacted.
    pub lines: Vec<String>,
}

impl ServerFailure {
    /// A failure now. `env` is what the workspace adds to the server's environment.
    pub(crate) fn now(
        exit: Option<ProcessExit>,
        ran: Duration,
        stderr: &str,
        roots: &RootSet,
        env: &BTreeMap<String, String>,
    ) -> Self {
        // One that was ended for its memory has no exit of its own, whether codeyard or the kernel ended it.
        let exit = exit.filter(|exit| !exit.over_memory).unwrap_or_default();
        Self {
            exit_code: exit.code,
            signal: exit.signal,
            ran_ms: u64::try_from(ran.as_millis()).unwrap_or(u64::MAX),
            at_s: wall_s(),
            lines: last_lines(stderr, roots, env),
        }
    }

    /// The failure in words: `exited with code 1 after 0.3 s`.
    pub fn summary(&self) -> String {
        let how = match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(SIGKILL)) => KILLED_FROM_OUTSIDE.to_owned(),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) if self.ran_ms == 0 => return "did not start".to_owned(),
            (None, None) => "was still running".to_owned(),
        };
        format!("{how} after {}.{} s", self.ran_ms / 1_000, self.ran_ms % 1_000 / 100)
    }

    /// Adds the failure to the details of an error.
    pub(crate) fn describe(&self, error: ToolError) -> ToolError {
        let error = match (self.exit_code, self.signal) {
            (Some(code), _) => error.with("exitCode", code),
            (None, Some(signal)) => error.with("signal", signal),
            (None, None) => error,
        };
        let error = error.with("ranMs", self.ran_ms);
        if self.lines.is_empty() {
            return error;
        }
        error.with("stderr", self.lines.iter().cloned().map(Value::from).collect::<Vec<_>>())
    }
}

fn last_lines(stderr: &str, roots: &RootSet, env: &BTreeMap<String, String>) -> Vec<String> {
    let full: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = full.len().saturating_sub(FAILURE_LINES);
    let shown = full[last..].iter().map(|line| {
        let printable: String = line.chars().filter(|c| !c.is_control()).collect();
        let hidden = env.values().filter(|value| value.len() >= MIN_HIDDEN_BYTES);
        let line = hidden.fold(without_credentials(&printable), |line, value| line.replace(value, HIDDEN));
        redact(&line, roots).chars().take(FAILURE_LINE_CHARS).collect()
    });
    shown.collect()
}

/// `line` without the user and password of its URLs.
fn without_credentials(line: &str) -> String {
    let mut parts = line.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let authority = part.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(part.len());
        let (authority, rest) = part.split_at(authority);
        shown.push_str("://");
        match authority.rsplit_once('@') {
            Some((_, host)) => shown.extend([HIDDEN, "@", host]),
            None => shown.push_str(authority),
        }
        shown.push_str(rest);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(exit: Option<ProcessExit>, ms: u64, stderr: &str) -> ServerFailure {
        let roots = RootSet::of_real_paths(vec!["/srv/w".into()], vec![]);
        let env = BTreeMap::from([("API".to_owned(), "s3cret".to_owned()), ("X".to_owned(), "1".to_owned())]);
        ServerFailure::now(exit, Duration::from_millis(ms), stderr, &roots, &env)
    }

    #[test]
    fn the_last_lines_contain_no_foreign_path_and_no_secret() {
        let stderr = "first\n\nread /usr/lib/x.js\n\u{1b}[31merror\u{1b}[0m 1 in /srv/w/a.ts\ntoken=s3cret at https://me:pw@host/x and http://y\n";
        let failed = failure(None, 60_000, stderr);
        assert_eq!(
            failed.lines,
            [
                "read [path outside the workspace]",
                "[31merror[0m 1 in /srv/w/a.ts",
                "token=(hidden) at https://(hidden)@host/x and http://y"
            ]
        );
        let long = failure(None, 1, &"ä".repeat(10_000));
        assert_eq!(long.lines[0].chars().count(), FAILURE_LINE_CHARS);
    }

    #[test]
    fn the_summary_and_the_details_name_the_exit() {
        let exit = |code, signal| Some(ProcessExit { code, signal, ..ProcessExit::default() });
        let summaries = [
            failure(exit(Some(1), None), 345, "").summary(),
            failure(exit(None, Some(11)), 61_000, "").summary(),
            failure(exit(None, Some(9)), 61_000, "").summary(),
            failure(None, 2_000, "").summary(),
            failure(None, 0, "").summary(),
        ];
        let expected = [
            "exited with code 1 after 0.3 s",
            "was ended by signal 11 after 61.0 s",
            "was killed by signal 9 from outside (often the out-of-memory killer) after 61.0 s",
            "was still running after 2.0 s",
            "did not start",
        ];
        assert_eq!(summaries, expected);
        let over_memory = ProcessExit { over_memory: true, ..ProcessExit::of_signal(9) };
        assert!(is_kill_from_outside(exit(None, Some(9))) && is_kill_from_outside(exit(Some(137), None)));
        assert!(!is_kill_from_outside(Some(over_memory)), "the kernel kept a budget");
        assert_eq!(failure(Some(over_memory), 2_000, "").summary(), "was still running after 2.0 s");
        let error = failure(exit(Some(3), None), 345, "why\n").describe(ToolError::internal());
        assert_eq!(error.details_value(), serde_json::json!({"exitCode": 3, "ranMs": 345, "stderr": ["why"]}));
    }
}
