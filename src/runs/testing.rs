//! A small workflow for the tests of this crate.

use crate::workflow::{Role, State, Workflow};

/// Two steps, a boundary, a check with a repair, and a publication.
pub(crate) static SAMPLE: Workflow = Workflow {
    name: "sample",
    states: &[
        step("CREATED", "plan", "PLANNED"),
        State { name: "PLANNED", role: Role::Boundary { next: "WRITING" }, is_stable: true, accepts_validation: false },
        State {
            name: "WRITING",
            role: Role::Step { stage: "write", next: "CHECKING" },
            is_stable: false,
            accepts_validation: true,
        },
        State {
            name: "CHECKING",
            role: Role::Check { stage: "check", next: "READY", repair: "REPAIRING" },
            is_stable: true,
            accepts_validation: true,
        },
        State {
            name: "REPAIRING",
            role: Role::Repair { stage: "repair", check: "CHECKING" },
            is_stable: false,
            accepts_validation: true,
        },
        State {
            name: "READY",
            role: Role::Ready { stage: "publish", next: "PUBLISHED", check: "CHECKING" },
            is_stable: true,
            accepts_validation: true,
        },
        State {
            name: "PUBLISHED",
            role: Role::Published { next: "DONE" },
            is_stable: false,
            accepts_validation: false,
        },
        State { name: "DONE", role: Role::Done, is_stable: true, accepts_validation: false },
        State { name: "FAILED", role: Role::Failed, is_stable: true, accepts_validation: false },
        State { name: "CANCELLED", role: Role::Cancelled, is_stable: true, accepts_validation: false },
    ],
};

const fn step(name: &'static str, stage: &'static str, next: &'static str) -> State {
    State { name, role: Role::Step { stage, next }, is_stable: false, accepts_validation: false }
}
