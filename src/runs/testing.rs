//! A small workflow for the tests of this crate.

use crate::workflow::{Role, State, Workflow};

/// Two steps, a boundary, a check with a repair, and a publication.
pub(crate) static SAMPLE: Workflow = Workflow {
    name: "sample",
    states: &[
        State::new("CREATED", Role::Step { stage: "plan", next: "PLANNED" }),
        State::new("PLANNED", Role::Boundary { next: "WRITING" }).stable(),
        State::new("WRITING", Role::Step { stage: "write", next: "CHECKING" }).with_validation(),
        State::new("CHECKING", Role::Check { stage: "check", next: "READY", repair: "REPAIRING" })
            .stable()
            .with_validation(),
        State::new("REPAIRING", Role::Repair { stage: "repair", check: "CHECKING" }).with_validation(),
        State::new("READY", Role::Ready { stage: "publish", next: "PUBLISHED", check: "CHECKING" })
            .stable()
            .with_validation(),
        State::new("PUBLISHED", Role::Published { next: "DONE" }),
        State::new("DONE", Role::Done),
        State::new("FAILED", Role::Failed),
        State::new("CANCELLED", Role::Cancelled),
    ],
};
