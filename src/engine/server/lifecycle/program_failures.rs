//! Programs that can't be started anywhere: a broken installation, a missing library, a machine without memory.
//!
//! Sixty workspaces would try such a program five times each before each one gives up. Once it has failed in
//! [`limits::PROGRAM_FAILURES`] workspaces and nowhere succeeded since, a server that fails to start isn't started again before its quarantine
//! has passed. Invariants: each server gets its first try, so the failures of one tenant's workspaces cost no other one a start that would
//! succeed; one success anywhere forgets all failures of the program; what is kept is bounded.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::limits;
use crate::server::actor::LanguageServer;
use crate::server::program::programs::Program;
use codeyard_base::clock::Instant;
use codeyard_base::ids::WorkspaceName;

/// Why a server is quarantined after a single failed start.
pub(in crate::server) const FAILS_EVERYWHERE: &str = "its program fails to start, elsewhere on this server too";

/// Largest number of failing programs that are known at a time.
const MAX_PROGRAMS: usize = 256;

/// A program with its arguments.
type Command = (PathBuf, Vec<String>);

/// The failing programs of a service. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ProgramFailures(Arc<Mutex<HashMap<Command, Failing>>>);

/// A program that failed and hasn't succeeded since.
#[derive(Debug)]
struct Failing {
    /// Where it failed; no more than are needed.
    workspaces: BTreeSet<WorkspaceName>,
    /// When it failed last.
    at: Instant,
}

impl ProgramFailures {
    /// A program failed to start. Returns whether it fails everywhere. Failures older than `memory` are forgotten.
    pub(in crate::server) fn failed(&self, program: &Program, workspace: &WorkspaceName, memory: Duration) -> bool {
        let now = Instant::now();
        let mut all = self.0.lock();
        all.retain(|_, failing| now.saturating_duration_since(failing.at) <= memory);
        let command = command(program);
        if all.len() >= MAX_PROGRAMS && !all.contains_key(&command) {
            return false;
        }
        let failing = all.entry(command).or_insert_with(|| Failing { workspaces: BTreeSet::new(), at: now });
        failing.at = now;
        if failing.workspaces.len() < limits::PROGRAM_FAILURES {
            failing.workspaces.insert(workspace.clone());
        }
        failing.workspaces.len() >= limits::PROGRAM_FAILURES
    }

    /// A program has started.
    pub(in crate::server) fn succeeded(&self, program: &Program) {
        let mut all = self.0.lock();
        if !all.is_empty() {
            all.remove(&command(program));
        }
    }
}

impl LanguageServer {
    /// Records a failed start of the program. Returns whether it fails in all workspaces.
    pub(in crate::server) fn program_fails_everywhere(&self) -> bool {
        let memory = self.history.rule().quarantine * 2;
        self.context.program_failures.failed(&self.context.program, &self.context.workspace, memory)
    }
}

fn command(program: &Program) -> Command {
    (program.program.clone(), program.args.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Duration = Duration::from_secs(600);

    fn program(args: &[&str]) -> Program {
        Program {
            program: "/bin/ls".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..Program::default()
        }
    }

    fn workspace(number: usize) -> WorkspaceName {
        WorkspaceName::new(&format!("w{number}")).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_fails_everywhere_after_enough_workspaces_until_it_succeeds_or_time_has_passed() {
        let failures = ProgramFailures::default();
        let fails = |number: usize| failures.failed(&program(&["a"]), &workspace(number), MEMORY);
        assert!((0..10).all(|_| !fails(0)), "one workspace alone proves nothing");
        let others: Vec<_> = (1..6).map(fails).collect();
        let enough = limits::PROGRAM_FAILURES;
        assert_eq!(others, (1..6).map(|failed| failed + 1 >= enough).collect::<Vec<_>>());
        assert!(!failures.failed(&program(&["b"]), &workspace(0), MEMORY), "other arguments: another server");
        failures.succeeded(&program(&["a"]));
        assert!(!fails(0) && !fails(1));
        assert!(fails(2));
        tokio::time::advance(MEMORY + Duration::from_millis(1)).await;
        assert!(!fails(3));
    }

    #[tokio::test(start_paused = true)]
    async fn the_known_programs_are_bounded() {
        let failures = ProgramFailures::default();
        for number in 0..2 * MAX_PROGRAMS {
            failures.failed(&program(&[&number.to_string()]), &workspace(0), MEMORY);
        }
        assert_eq!(failures.0.lock().len(), MAX_PROGRAMS);
        tokio::time::advance(MEMORY + Duration::from_millis(1)).await;
        failures.failed(&program(&["new"]), &workspace(0), MEMORY);
        assert_eq!(failures.0.lock().len(), 1);
    }
}
