//! What a workflow is, as data: its states, the stage that runs in each of them, and where a run can wait.
//!
//! It isn't the code of the stages. [`crate::machine`] interprets this table, and the documentation draws it. Invariants, checked by
//! [`Workflow::faults`]: every state that is named exists, every state can be reached, the end can be reached from every state, and
//! names are unique.

use std::collections::BTreeSet;

/// The states of a workflow and how they follow each other.
#[derive(Debug)]
pub struct Workflow {
    /// The name, which work items and logs carry.
    pub name: &'static str,
    /// The states in the order of an undisturbed run. The first one is where a run begins.
    pub states: &'static [State],
}

/// One state of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    /// The name, in capital letters.
    pub name: &'static str,
    /// What happens in it.
    pub role: Role,
    /// Whether a run that advances by steps waits here.
    pub is_stable: bool,
    /// Whether a validation may be requested here.
    pub accepts_validation: bool,
}

/// What happens in a state. `stage` names the work, `next` the state after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A stage runs, then the run goes on.
    Step { stage: &'static str, next: &'static str },
    /// Nothing runs. The run goes on, or waits if it advances by steps.
    Boundary { next: &'static str },
    /// A stage makes a report. If the report is good, the run goes on; otherwise it waits for a repair.
    Check {
        stage: &'static str,
        /// The state after a good report.
        next: &'static str,
        /// The state in which one fault is repaired.
        repair: &'static str,
    },
    /// A stage repairs one fault, then the run returns to the check.
    Repair {
        stage: &'static str,
        /// The state of the check.
        check: &'static str,
    },
    /// The run waits until its result is to be published.
    Ready {
        /// The work of publishing.
        stage: &'static str,
        next: &'static str,
        /// The state of the check, which a bad report leads back to.
        check: &'static str,
    },
    /// The result is published. The run goes on by itself.
    Published { next: &'static str },
    /// The run has ended well.
    Done,
    /// The run has ended because a stage failed.
    Failed,
    /// The run has ended because it was cancelled.
    Cancelled,
}

impl State {
    /// A state in which a run neither waits nor is validated. An end is always stable.
    pub const fn new(name: &'static str, role: Role) -> Self {
        let is_stable = matches!(role, Role::Done | Role::Failed | Role::Cancelled);
        Self { name, role, is_stable, accepts_validation: false }
    }

    /// The same, in which a run that advances by steps waits.
    #[must_use]
    pub const fn stable(self) -> Self {
        Self { is_stable: true, ..self }
    }

    /// The same, in which a validation may be requested.
    #[must_use]
    pub const fn with_validation(self) -> Self {
        Self { accepts_validation: true, ..self }
    }
}

impl Role {
    /// Whether a run in this state has ended.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// The stage that runs, or can run, in this state.
    pub fn stage(self) -> Option<&'static str> {
        match self {
            Self::Step { stage, .. }
            | Self::Check { stage, .. }
            | Self::Repair { stage, .. }
            | Self::Ready { stage, .. } => Some(stage),
            Self::Boundary { .. } | Self::Published { .. } | Self::Done | Self::Failed | Self::Cancelled => None,
        }
    }

    /// The states that can follow, without failure and cancellation, each with the condition.
    pub fn following(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Step { stage, next } => vec![(next, stage)],
            Self::Boundary { next } | Self::Published { next } => vec![(next, "")],
            Self::Check { next, repair, .. } => vec![(next, "report ok"), (repair, "fix next")],
            Self::Repair { stage, check } => vec![(check, stage)],
            Self::Ready { stage, next, check } => vec![(next, stage), (check, "report not ok")],
            Self::Done | Self::Failed | Self::Cancelled => Vec::new(),
        }
    }
}

impl Workflow {
    /// The state of this name.
    pub fn state(&self, name: &str) -> Option<&'static State> {
        self.states.iter().find(|state| state.name == name)
    }

    /// The state in which a run begins.
    ///
    /// # Panics
    /// If the table is empty, which [`Self::faults`] reports.
    pub fn first(&self) -> &'static State {
        &self.states[0]
    }

    /// The first state with this role; `is_wanted` compares roles.
    pub fn find(&self, is_wanted: impl Fn(Role) -> bool) -> Option<&'static State> {
        self.states.iter().find(|state| is_wanted(state.role))
    }

    /// The states that can follow `state`, failure and cancellation included, each with the condition.
    pub fn arrows(&self, state: &State) -> Vec<(&'static str, &'static str)> {
        let mut arrows = state.role.following();
        if !state.role.is_end() {
            let ends = [(Role::Failed, "a stage failed"), (Role::Cancelled, "cancel")];
            arrows
                .extend(ends.into_iter().filter_map(|(role, why)| Some((self.find(|found| found == role)?.name, why))));
        }
        arrows
    }

    /// What is wrong with the table, in words; empty for a usable one.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let names: BTreeSet<&str> = self.states.iter().map(|state| state.name).collect();
        if names.len() != self.states.len() {
            faults.push("two states have the same name".into());
        }
        for (role, name) in [(Role::Done, "Done"), (Role::Failed, "Failed"), (Role::Cancelled, "Cancelled")] {
            if self.states.iter().filter(|state| state.role == role).count() != 1 {
                faults.push(format!("not exactly one state has the role {name}"));
            }
        }
        for state in self.states {
            for (next, _) in state.role.following().iter().filter(|(next, _)| !names.contains(next)) {
                faults.push(format!("{} leads to {next}, which doesn't exist", state.name));
            }
        }
        if !faults.is_empty() || self.states.is_empty() {
            return faults;
        }
        let reached = self.reachable(self.first());
        faults.extend(names.difference(&reached).map(|name| format!("{name} can't be reached")));
        let done = self.find(|role| role == Role::Done).map(|state| state.name);
        for state in self.states.iter().filter(|state| !state.role.is_end()) {
            if done.is_some_and(|done| !self.reachable(state).contains(done)) {
                faults.push(format!("{} never leads to the end", state.name));
            }
        }
        faults
    }

    fn reachable(&self, from: &State) -> BTreeSet<&'static str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from.name];
        while let Some(name) = open.pop() {
            if reached.insert(name)
                && let Some(state) = self.state(name)
            {
                open.extend(self.arrows(state).into_iter().map(|(next, _)| next));
            }
        }
        reached
    }

    /// The table as a state diagram of Mermaid. Failure and cancellation are left out: they follow every state that isn't an end.
    pub fn diagram(&self) -> String {
        let mut text = String::from("stateDiagram-v2\n");
        text.push_str(&format!("    [*] --> {}\n", self.first().name));
        for state in self.states {
            for (next, condition) in state.role.following() {
                let label = if condition.is_empty() { String::new() } else { format!(" : {condition}") };
                text.push_str(&format!("    {} --> {next}{label}\n", state.name));
            }
            if state.role.is_end() {
                text.push_str(&format!("    {} --> [*]\n", state.name));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SAMPLE;

    #[test]
    fn the_sample_is_well_formed_and_drawn() {
        assert_eq!(SAMPLE.faults(), Vec::<String>::new());
        let diagram = SAMPLE.diagram();
        assert!(
            diagram.starts_with("stateDiagram-v2\n    [*] --> CREATED\n    CREATED --> PLANNED : plan\n"),
            "{diagram}"
        );
        assert!(
            diagram.contains("    CHECKING --> READY : report ok\n    CHECKING --> REPAIRING : fix next\n"),
            "{diagram}"
        );
        assert!(diagram.contains("    DONE --> [*]\n"), "{diagram}");
    }

    #[test]
    fn each_fault_of_a_table_is_named() {
        static ENDS: [State; 3] = [
            State::new("DONE", Role::Done),
            State::new("FAILED", Role::Failed),
            State::new("CANCELLED", Role::Cancelled),
        ];
        let faults = |states: &'static [State]| Workflow { name: "w", states }.faults().join("; ");
        static TWICE: [State; 4] = [
            State::new("A", Role::Step { stage: "s", next: "A" }),
            State::new("A", Role::Done),
            State::new("FAILED", Role::Failed),
            State::new("CANCELLED", Role::Cancelled),
        ];
        static NOWHERE: [State; 4] = [
            State::new("A", Role::Step { stage: "s", next: "B" }),
            State::new("DONE", Role::Done),
            State::new("FAILED", Role::Failed),
            State::new("CANCELLED", Role::Cancelled),
        ];
        static CIRCLE: [State; 5] = [
            State::new("A", Role::Boundary { next: "B" }),
            State::new("B", Role::Boundary { next: "A" }),
            State::new("DONE", Role::Done),
            State::new("FAILED", Role::Failed),
            State::new("CANCELLED", Role::Cancelled),
        ];
        assert_eq!(faults(&TWICE), "two states have the same name");
        assert_eq!(faults(&NOWHERE), "A leads to B, which doesn't exist");
        assert_eq!(faults(&CIRCLE), "DONE can't be reached; A never leads to the end; B never leads to the end");
        assert_eq!(faults(&ENDS), "CANCELLED can't be reached; FAILED can't be reached");
        assert_eq!(
            faults(&[]),
            "not exactly one state has the role Done; not exactly one state has the role Failed; \
                                 not exactly one state has the role Cancelled"
        );
    }
}
