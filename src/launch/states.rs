//! The states of a launch run, as the table that the state machine interprets and the documentation draws.
//!
//! Source: `docs/contract-launch.md#states`.

use codeyard_runs::workflow::{Role, State, Workflow};

/// The launch workflow.
pub static LAUNCH: Workflow = Workflow {
    name: "launch",
    states: &[
        step("CREATED", "clone", "CLONED_INPUTS"),
        step("CLONED_INPUTS", "inventory", "INGESTED"),
        step("INGESTED", "facts", "FACTS_READY"),
        step("FACTS_READY", "plan", "PLAN_READY"),
        boundary("PLAN_READY", "DRAFTING"),
        step("DRAFTING", "draft", "DRAFT_READY"),
        boundary("DRAFT_READY", "LINKING"),
        State {
            name: "LINKING",
            role: Role::Step { stage: "link", next: "VALIDATING" },
            is_stable: false,
            accepts_validation: true,
        },
        State {
            name: "VALIDATING",
            role: Role::Check { stage: "validate", next: "READY_FOR_PR", repair: "FIXING" },
            is_stable: true,
            accepts_validation: true,
        },
        State {
            name: "FIXING",
            role: Role::Repair { stage: "fix", check: "VALIDATING" },
            is_stable: false,
            accepts_validation: true,
        },
        State {
            name: "READY_FOR_PR",
            role: Role::Ready { stage: "open_pr", next: "PR_OPENED", check: "VALIDATING" },
            is_stable: true,
            accepts_validation: true,
        },
        State {
            name: "PR_OPENED",
            role: Role::Published { next: "DONE" },
            is_stable: false,
            accepts_validation: false,
        },
        end("DONE", Role::Done),
        end("FAILED", Role::Failed),
        end("CANCELLED", Role::Cancelled),
    ],
};

const fn step(name: &'static str, stage: &'static str, next: &'static str) -> State {
    State { name, role: Role::Step { stage, next }, is_stable: false, accepts_validation: false }
}

const fn boundary(name: &'static str, next: &'static str) -> State {
    State { name, role: Role::Boundary { next }, is_stable: true, accepts_validation: false }
}

const fn end(name: &'static str, role: Role) -> State {
    State { name, role, is_stable: true, accepts_validation: false }
}

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
