//! The states of a launch run, as the table that the state machine interprets and the documentation draws.
//!
//! Source: `docs/contract-launch.md#states`.

use codeyard_runs::workflow::{Role, State, Workflow};

/// The launch workflow.
pub static LAUNCH: Workflow = Workflow {
    name: "launch",
    states: &[
        State::new("CREATED", Role::Step { stage: "clone", next: "CLONED_INPUTS" }),
        State::new("CLONED_INPUTS", Role::Step { stage: "inventory", next: "INGESTED" }),
        State::new("INGESTED", Role::Step { stage: "facts", next: "FACTS_READY" }),
        State::new("FACTS_READY", Role::Step { stage: "plan", next: "PLAN_READY" }),
        State::new("PLAN_READY", Role::Boundary { next: "DRAFTING" }).stable(),
        State::new("DRAFTING", Role::Step { stage: "draft", next: "DRAFT_READY" }),
        State::new("DRAFT_READY", Role::Boundary { next: "LINKING" }).stable(),
        State::new("LINKING", Role::Step { stage: "link", next: "VALIDATING" }).with_validation(),
        State::new("VALIDATING", Role::Check { stage: "validate", next: "READY_FOR_PR", repair: "FIXING" })
            .stable()
            .with_validation(),
        State::new("FIXING", Role::Repair { stage: "fix", check: "VALIDATING" }).with_validation(),
        State::new("READY_FOR_PR", Role::Ready { stage: "open_pr", next: "PR_OPENED", check: "VALIDATING" })
            .stable()
            .with_validation(),
        State::new("PR_OPENED", Role::Published { next: "DONE" }),
        State::new("DONE", Role::Done),
        State::new("FAILED", Role::Failed),
        State::new("CANCELLED", Role::Cancelled),
    ],
};

#[cfg(test)]
mod tests {
    use codeyard_runs::machine::{Command, allowed};

    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        assert_eq!(LAUNCH.faults(), Vec::<String>::new());
    }

    #[test]
    fn tools_are_allowed_where_the_contract_says() {
        assert_eq!(allowed(&LAUNCH, Command::Validate), ["LINKING", "VALIDATING", "FIXING", "READY_FOR_PR"]);
        assert_eq!(allowed(&LAUNCH, Command::FixNext), ["VALIDATING"]);
        assert_eq!(allowed(&LAUNCH, Command::Publish), ["READY_FOR_PR"]);
        let ended = ["DONE", "FAILED", "CANCELLED"];
        assert!(allowed(&LAUNCH, Command::Cancel).iter().all(|state| !ended.contains(state)));
        assert_eq!(allowed(&LAUNCH, Command::Cancel).len() + ended.len(), LAUNCH.states.len());
    }

    #[test]
    fn stable_boundaries_are_those_of_the_contract() {
        let stable = LAUNCH.states.iter().filter(|state| state.is_stable && !state.role.is_end());
        let stable: Vec<&str> = stable.map(|state| state.name).collect();
        assert_eq!(stable, ["PLAN_READY", "DRAFT_READY", "VALIDATING", "READY_FOR_PR"]);
    }
}
