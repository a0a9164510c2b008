//! The conditions that are open at a line of a build file, as far as the system alone decides them.
//!
//! It knows only conditions that name another system. All others may hold. Invariant: each question takes the same time, however deep the
//! conditions are nested.

/// What a condition says about this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemCondition {
    /// It holds on other systems only.
    Elsewhere,
    /// It holds here, whatever else the build decides.
    Here,
    /// It doesn't depend on the system alone.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct OpenBranches {
    open: Vec<OpenBranch>,
    /// How many of them are in a branch for other systems.
    foreign: usize,
}

#[derive(Debug, Clone, Copy)]
struct OpenBranch {
    /// The present branch is for other systems.
    is_foreign: bool,
    /// An earlier branch is taken here, so all others are for other systems.
    is_decided: bool,
}

impl OpenBranches {
    pub(super) fn open(&mut self, condition: SystemCondition) {
        self.push(false, condition);
    }

    /// The next branch of the innermost condition begins. `else` holds always.
    pub(super) fn next(&mut self, condition: SystemCondition) {
        if let Some(before) = self.pop() {
            self.push(before.is_decided, condition);
        }
    }

    /// The innermost condition ends.
    pub(super) fn close(&mut self) {
        self.pop();
    }

    /// Whether the present line is for other systems.
    pub(super) fn are_foreign(&self) -> bool {
        self.foreign > 0
    }

    fn push(&mut self, was_decided: bool, condition: SystemCondition) {
        let is_foreign = was_decided || condition == SystemCondition::Elsewhere;
        self.foreign += usize::from(is_foreign);
        self.open.push(OpenBranch { is_foreign, is_decided: was_decided || condition == SystemCondition::Here });
    }

    fn pop(&mut self) -> Option<OpenBranch> {
        let last = self.open.pop()?;
        self.foreign -= usize::from(last.is_foreign);
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::SystemCondition::{Elsewhere, Here, Unknown};
    use super::*;

    #[test]
    fn a_branch_behind_one_that_is_taken_here_is_for_other_systems() {
        let mut branches = OpenBranches::default();
        branches.open(Elsewhere);
        assert!(branches.are_foreign());
        branches.next(Unknown);
        assert!(!branches.are_foreign());
        branches.open(Here);
        assert!(!branches.are_foreign());
        branches.next(Unknown);
        assert!(branches.are_foreign());
        branches.next(Here);
        assert!(branches.are_foreign());
        branches.close();
        assert!(!branches.are_foreign());
        branches.close();
        branches.close();
        branches.next(Elsewhere);
        assert!(!branches.are_foreign(), "what isn't open has no branches");
    }
}
