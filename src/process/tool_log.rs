//! What the tools of one thread took, for whoever reports it: `begin` before the work, `end` after it.
//!
//! It holds names and times alone, no argument and no output. Invariants: nothing is recorded on a thread that hasn't begun; what is held is
//! bounded.

use std::cell::RefCell;
use std::time::{Duration, SystemTime};

/// Most runs of tools that a thread records for its spans.
const MAX_LOGGED_TOOLS: usize = 500;

/// One run of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRun {
    /// The file name of the program.
    pub program: String,
    /// When it began.
    pub began: SystemTime,
    pub took: Duration,
    /// Whether it exited with 0.
    pub is_good: bool,
}

thread_local! {
    static RUNS: RefCell<Option<Vec<ToolRun>>> = const { RefCell::new(None) };
}

/// Records the tools of this thread from now on; forgets what was recorded before.
pub fn begin() {
    RUNS.with_borrow_mut(|runs| *runs = Some(Vec::new()));
}

/// What was recorded since the last call.
pub fn take() -> Vec<ToolRun> {
    RUNS.with_borrow_mut(|runs| runs.as_mut().map(std::mem::take).unwrap_or_default())
}

/// The same, and records nothing from now on.
pub fn end() -> Vec<ToolRun> {
    RUNS.with_borrow_mut(Option::take).unwrap_or_default()
}

pub(crate) fn record(program: &str, began: SystemTime, took: Duration, is_good: bool) {
    RUNS.with_borrow_mut(|runs| {
        if let Some(runs) = runs.as_mut().filter(|runs| runs.len() < MAX_LOGGED_TOOLS) {
            runs.push(ToolRun { program: program.to_owned(), began, took, is_good });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;

    #[test]
    fn tools_are_recorded_between_begin_and_end() {
        let run =
            |script: &str| Tool::new("/bin/sh").args(["-c", script]).run(Duration::from_secs(60), &|| ()).unwrap();
        run("exit 0");
        assert_eq!(take(), []);
        begin();
        run("exit 0");
        run("exit 3");
        let first = take();
        let seen: Vec<(&str, bool)> = first.iter().map(|run| (run.program.as_str(), run.is_good)).collect();
        assert_eq!(seen, [("sh", true), ("sh", false)]);
        run("exit 0");
        assert_eq!(end().len(), 1);
        run("exit 0");
        assert_eq!(end(), []);
    }
}
