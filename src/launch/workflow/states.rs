//! The states of a launch run, as the table that the state machine interprets and the documentation draws.
//!
//! Source: `docs/internals/reference/contract-launch.md#states`.

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
    use std::collections::BTreeSet;

    use codeyard_runs::machine::{
        Action, Activity, Advance, Command, Progress, Refusal, StageResult, Work, allowed, apply,
    };

    use super::*;

    type Arrow = (&'static str, &'static str);

    const NOT_ENDED: [&str; 12] = [
        "CREATED", "CLONED_INPUTS", "INGESTED", "FACTS_READY", "PLAN_READY", "DRAFTING", "DRAFT_READY", "LINKING",
        "VALIDATING", "FIXING", "READY_FOR_PR", "PR_OPENED",
    ];
    /// What callers ask for, and the states that a refusal names.
    const COMMANDS: [(Command, &[&str]); 5] = [
        (Command::Resume, &NOT_ENDED),
        (Command::Validate, &["LINKING", "VALIDATING", "FIXING", "READY_FOR_PR"]),
        (Command::FixNext, &["VALIDATING"]),
        (Command::Publish, &["READY_FOR_PR"]),
        (Command::Cancel, &NOT_ENDED),
    ];
    const RESULTS: [StageResult; 5] = [
        StageResult::Done,
        StageResult::Report { ok: true },
        StageResult::Report { ok: false },
        StageResult::Unchanged,
        StageResult::Failed,
    ];

    fn commands() -> impl Iterator<Item = Command> {
        COMMANDS.iter().map(|(command, _)| *command).chain(RESULTS.map(Command::Finished))
    }

    /// Every state with every report that a run can have there, at rest, at work, and after a restart.
    fn all_situations() -> Vec<Progress> {
        let mut all = Vec::new();
        for state in LAUNCH.states {
            let own = state.role.stage();
            // A validation in READY_FOR_PR runs there.
            let check = if matches!(state.role, Role::Ready { .. }) { Some("validate") } else { None };
            let works = own.into_iter().chain(check).map(|stage| Work { stage, attempt: 1 });
            let busy = works.flat_map(|work| [Activity::Running(work), Activity::Interrupted(work)]);
            for activity in std::iter::once(Activity::Idle).chain(busy) {
                for advance in [Advance::Auto, Advance::Step] {
                    for report in [None, Some(true), Some(false)] {
                        all.push(Progress { state, activity, report, ..Progress::new(&LAUNCH, advance) });
                    }
                }
            }
        }
        all
    }

    /// The situations that follow from the creation of a run, with a restart at any moment.
    fn reached_situations() -> Vec<Progress> {
        let mut found: Vec<Progress> = Vec::new();
        let mut open = [Advance::Auto, Advance::Step].map(|advance| Progress::new(&LAUNCH, advance)).to_vec();
        while let Some(mut progress) = open.pop() {
            // How often a stage has begun changes nothing.
            progress.attempts.clear();
            if let Activity::Running(work) | Activity::Interrupted(work) = &mut progress.activity {
                work.attempt = 1;
            }
            if found.contains(&progress) {
                continue;
            }
            if let Activity::Running(work) = progress.activity {
                open.push(Progress { activity: Activity::Interrupted(work), ..progress.clone() });
            }
            open.extend(commands().filter_map(|command| Some(apply(&LAUNCH, &progress, command).ok()?.progress)));
            found.push(progress);
        }
        found
    }

    /// The arrows that commands and results of stages take.
    fn arrows_from(situations: &[Progress]) -> BTreeSet<Arrow> {
        let mut taken = BTreeSet::new();
        for progress in situations {
            for outcome in commands().filter_map(|command| apply(&LAUNCH, progress, command).ok()) {
                let mut at = progress.state.name;
                for action in outcome.actions {
                    if let Action::Enter(next) = action {
                        taken.insert((at, next));
                        at = next;
                    }
                }
                assert_eq!(outcome.progress.state.name, at, "a state is only changed by an arrow");
            }
        }
        taken
    }

    /// The arrows of the diagram in the documentation, as it is printed there.
    fn documented_arrows() -> BTreeSet<Arrow> {
        let contract = include_str!("../../../docs/internals/reference/contract-launch.md");
        let diagram = contract.split("stateDiagram-v2").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let arrow = |line: &'static str| {
            let (from, rest) = line.trim().split_once(" --> ")?;
            let to = rest.split(" : ").next()?;
            (from != "[*]" && to != "[*]").then_some((from, to))
        };
        diagram.lines().filter_map(arrow).collect()
    }

    #[test]
    fn the_table_is_well_formed() {
        assert_eq!(LAUNCH.faults(), Vec::<String>::new());
    }

    #[test]
    fn tools_are_allowed_where_the_contract_says() {
        for (command, states) in COMMANDS {
            assert_eq!(allowed(&LAUNCH, command), states, "{command:?}");
        }
        let ended = ["DONE", "FAILED", "CANCELLED"];
        let names: Vec<&str> = LAUNCH.states.iter().map(|state| state.name).collect();
        assert_eq!(names, [&NOT_ENDED[..], &ended].concat());
    }

    #[test]
    fn a_tool_in_a_state_that_does_not_allow_it_is_refused_with_the_states_that_do() {
        let situations = [all_situations(), reached_situations()].concat();
        let mut refused = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for progress in &situations {
            let state = progress.state.name;
            for (command, states) in COMMANDS {
                seen.insert((state, command));
                let outcome = apply(&LAUNCH, progress, command);
                // A fix that is called while one is under way is that one, and a cancelled run is cancelled again with the same answer.
                let is_attached = match command {
                    Command::FixNext => state == "FIXING",
                    Command::Cancel => state == "CANCELLED",
                    _ => false,
                };
                if states.contains(&state) || is_attached {
                    let is_refused = matches!(outcome, Err(Refusal::State { .. }));
                    assert!(!is_refused, "{command:?} in {progress:?}: {outcome:?}");
                } else {
                    let expected = Refusal::State { state, allowed: states.to_vec() };
                    assert_eq!(outcome, Err(expected), "{command:?} in {progress:?}");
                    refused.insert((state, command));
                }
            }
        }
        assert_eq!(seen.len(), 15 * COMMANDS.len());
        let of = |command: Command| refused.iter().filter(|(_, refused)| *refused == command).count();
        assert_eq!(COMMANDS.map(|(command, _)| of(command)), [3, 11, 13, 14, 2], "states that refuse");
    }

    #[test]
    fn what_a_cancelled_run_answers_changes_nothing() {
        for progress in all_situations().iter().filter(|progress| progress.state.name == "CANCELLED") {
            let outcome = apply(&LAUNCH, progress, Command::Cancel).unwrap();
            assert_eq!((outcome.progress, outcome.actions), (progress.clone(), Vec::new()));
        }
    }

    #[test]
    fn runs_take_every_arrow_of_the_diagram_and_no_other() {
        let drawn = documented_arrows();
        assert_eq!(drawn.len(), 14, "{drawn:?}");
        let has_stage = |name: &str| LAUNCH.state(name).is_some_and(|state| state.role.stage().is_some());
        let failing = NOT_ENDED.into_iter().filter(|name| has_stage(name)).map(|name| (name, "FAILED"));
        // PR_OPENED is passed at once, so a cancellation meets it only after a restart.
        let cancelled = NOT_ENDED.into_iter().map(|name| (name, "CANCELLED"));
        let expected: BTreeSet<Arrow> = drawn.iter().copied().chain(failing).chain(cancelled).collect();
        assert_eq!(arrows_from(&all_situations()), expected);
        let from_reached = arrows_from(&reached_situations());
        let missing: Vec<&Arrow> = expected.difference(&from_reached).collect();
        assert_eq!(missing, [&("PR_OPENED", "CANCELLED")]);
        assert!(from_reached.is_subset(&expected), "{from_reached:?}");
    }

    #[test]
    fn stable_boundaries_are_those_of_the_contract() {
        let stable = LAUNCH.states.iter().filter(|state| state.is_stable && !state.role.is_end());
        let stable: Vec<&str> = stable.map(|state| state.name).collect();
        assert_eq!(stable, ["PLAN_READY", "DRAFT_READY", "VALIDATING", "READY_FOR_PR"]);
    }
}
