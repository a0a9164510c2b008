//! The ways of a run, and the invariants in all situations that a run can reach.

use std::collections::BTreeSet;

use super::*;
use crate::testing::SAMPLE;

const COMMANDS: [Command; 10] = [
    Command::Resume,
    Command::Validate,
    Command::FixNext,
    Command::Publish,
    Command::Cancel,
    Command::Finished(StageResult::Done),
    Command::Finished(StageResult::Report { ok: true }),
    Command::Finished(StageResult::Report { ok: false }),
    Command::Finished(StageResult::Unchanged),
    Command::Finished(StageResult::Failed),
];

/// What tells one situation of a run from another one.
type Situation = (&'static str, Advance, Option<(&'static str, bool)>, Option<bool>);

fn situation(progress: &Progress) -> Situation {
    let activity = match progress.activity {
        Activity::Idle => None,
        Activity::Running(work) => Some((work.stage, true)),
        Activity::Interrupted(work) => Some((work.stage, false)),
    };
    (progress.state.name, progress.advance, activity, progress.report)
}

/// What follows when the process ends and starts again.
fn restarted(progress: &Progress) -> Progress {
    let mut after = progress.clone();
    if let Activity::Running(work) = after.activity {
        after.activity = Activity::Interrupted(work);
    }
    after
}

/// Every situation that a run can reach.
fn all_situations() -> Vec<Progress> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut open = vec![Progress::new(&SAMPLE, Advance::Auto), Progress::new(&SAMPLE, Advance::Step)];
    while let Some(progress) = open.pop() {
        if !seen.insert(situation(&progress)) {
            continue;
        }
        open.push(restarted(&progress));
        open.extend(COMMANDS.iter().filter_map(|command| Some(apply(&SAMPLE, &progress, *command).ok()?.progress)));
        found.push(progress);
    }
    found
}

/// Applies commands in turn. Returns the entered states and begun stages.
fn drive(progress: &mut Progress, commands: &[Command]) -> Vec<String> {
    let mut seen = Vec::new();
    for command in commands {
        let outcome = apply(&SAMPLE, progress, *command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
        *progress = outcome.progress;
        seen.extend(outcome.actions.iter().map(|action| match action {
            Action::Stop(work) => format!("stop {}", work.stage),
            Action::Enter(state) => (*state).to_owned(),
            Action::Begin(work) => format!("{} {}", work.stage, work.attempt),
        }));
    }
    seen
}

const DONE: Command = Command::Finished(StageResult::Done);
const GOOD: Command = Command::Finished(StageResult::Report { ok: true });
const BAD: Command = Command::Finished(StageResult::Report { ok: false });
const UNCHANGED: Command = Command::Finished(StageResult::Unchanged);

#[test]
fn a_run_that_goes_on_by_itself_waits_only_for_the_publication() {
    let mut run = Progress::new(&SAMPLE, Advance::Auto);
    assert_eq!(
        drive(&mut run, &[Command::Resume, DONE, DONE, GOOD]),
        ["plan 1", "PLANNED", "WRITING", "write 1", "CHECKING", "check 1", "READY"]
    );
    assert!(!run.is_active());
    assert_eq!(drive(&mut run, &[Command::Publish, DONE]), ["publish 1", "PUBLISHED", "DONE"]);
}

#[test]
fn a_run_by_steps_waits_at_every_stable_state() {
    let mut run = Progress::new(&SAMPLE, Advance::Step);
    assert_eq!(drive(&mut run, &[Command::Resume, DONE]), ["plan 1", "PLANNED"]);
    assert_eq!(drive(&mut run, &[Command::Resume, DONE, GOOD]), ["WRITING", "write 1", "CHECKING", "check 1"]);
    assert_eq!(run.state.name, "CHECKING", "a good report waits, too");
    assert_eq!(drive(&mut run, &[Command::Resume, Command::Resume]), ["READY"]);
    assert_eq!(drive(&mut run, &[Command::Publish, DONE]), ["publish 1", "PUBLISHED", "DONE"]);
}

#[test]
fn repairs_lead_back_to_the_check_until_the_report_is_good() {
    let mut run = Progress::new(&SAMPLE, Advance::Auto);
    drive(&mut run, &[Command::Resume, DONE, DONE, BAD]);
    assert_eq!(drive(&mut run, &[Command::FixNext, UNCHANGED]), ["REPAIRING", "repair 1", "CHECKING"]);
    assert_eq!(run.report, Some(false), "a repair that was rolled back leaves the report");
    assert_eq!(
        drive(&mut run, &[Command::FixNext, DONE, BAD, Command::FixNext, DONE, GOOD]),
        ["REPAIRING", "repair 2", "CHECKING", "check 2", "REPAIRING", "repair 3", "CHECKING", "check 3", "READY"]
    );
}

#[test]
fn a_bad_report_takes_a_ready_run_back() {
    let mut run = Progress::new(&SAMPLE, Advance::Auto);
    drive(&mut run, &[Command::Resume, DONE, DONE, GOOD]);
    assert_eq!(drive(&mut run, &[Command::Validate, GOOD]), ["check 2"]);
    assert_eq!(run.state.name, "READY");
    assert_eq!(drive(&mut run, &[Command::Validate, BAD]), ["check 3", "CHECKING"]);
    assert_eq!(
        drive(&mut run, &[Command::FixNext, DONE, GOOD]),
        ["REPAIRING", "repair 1", "CHECKING", "check 4", "READY"]
    );
    assert_eq!(
        drive(&mut run, &[Command::Publish, UNCHANGED]),
        ["publish 1"],
        "a publication that failed can be repeated"
    );
    assert_eq!(drive(&mut run, &[Command::Publish, DONE]), ["publish 2", "PUBLISHED", "DONE"]);
}

#[test]
fn interrupted_work_continues_under_its_number() {
    let mut run = Progress::new(&SAMPLE, Advance::Auto);
    drive(&mut run, &[Command::Resume, DONE]);
    run = restarted(&run);
    assert_eq!(drive(&mut run, &[Command::Resume, Command::Resume]), ["write 1"], "the second call attaches");
    run = restarted(&run);
    assert_eq!(drive(&mut run, &[Command::Validate, DONE]), ["write 1", "CHECKING", "check 1"]);
    run = restarted(&run);
    let mut asked = run.clone();
    assert_eq!(drive(&mut asked, &[Command::Validate, BAD]), ["check 2"], "a report isn't older than who asks for it");
    assert_eq!(drive(&mut run, &[Command::Resume, BAD, Command::FixNext]), ["check 1", "REPAIRING", "repair 1"]);
    run = restarted(&run);
    assert_eq!(drive(&mut run, &[Command::FixNext, DONE, GOOD]), ["repair 1", "CHECKING", "check 2", "READY"]);
    drive(&mut run, &[Command::Publish]);
    run = restarted(&run);
    assert_eq!(drive(&mut run, &[Command::Publish, DONE]), ["publish 1", "PUBLISHED", "DONE"]);
}

#[test]
fn a_cancellation_stops_what_runs_and_can_be_repeated() {
    let mut run = Progress::new(&SAMPLE, Advance::Auto);
    drive(&mut run, &[Command::Resume]);
    assert_eq!(drive(&mut run, &[Command::Cancel, Command::Cancel]), ["stop plan", "CANCELLED"]);
    assert!(apply(&SAMPLE, &run, DONE).is_err(), "a late result doesn't count");
}

#[test]
fn refusals_name_the_states_that_allow_the_command() {
    let run = Progress::new(&SAMPLE, Advance::Auto);
    let refused = |run: &Progress, command| apply(&SAMPLE, run, command).unwrap_err().to_string();
    assert_eq!(
        refused(&run, Command::Validate),
        "the run is in state CREATED, but this needs one of WRITING, CHECKING, REPAIRING, READY"
    );
    assert_eq!(refused(&run, Command::FixNext), "the run is in state CREATED, but this needs one of CHECKING");
    assert_eq!(refused(&run, Command::Publish), "the run is in state CREATED, but this needs one of READY");
    let mut run = Progress::new(&SAMPLE, Advance::Step);
    drive(&mut run, &[Command::Resume, DONE, Command::Resume, DONE]);
    assert_eq!(
        refused(&run, Command::FixNext),
        "the run is in state CHECKING and works on the stage check; call again when that has ended"
    );
    drive(&mut run, &[UNCHANGED]);
    assert_eq!(
        refused(&run, Command::FixNext),
        "the run is in state CHECKING, but its last report doesn't exist: validate first"
    );
    drive(&mut run, &[Command::Resume, GOOD]);
    assert_eq!(
        refused(&run, Command::FixNext),
        "the run is in state CHECKING, but its last report has no fault to repair"
    );
}

#[test]
fn every_situation_keeps_the_invariants() {
    let situations = all_situations();
    assert!(situations.len() > 40, "{}", situations.len());
    let mut taken = BTreeSet::new();
    for progress in &situations {
        if progress.state.role.is_end() {
            assert_eq!(progress.activity, Activity::Idle, "nothing runs in a run that has ended: {progress:?}");
        }
        for command in COMMANDS {
            let Ok(outcome) = apply(&SAMPLE, progress, command) else { continue };
            let mut state = progress.state;
            let mut running = match progress.activity {
                Activity::Running(work) => Some(work),
                Activity::Idle | Activity::Interrupted(_) => None,
            };
            if matches!(command, Command::Finished(_)) {
                assert!(running.take().is_some(), "only work that runs can end: {progress:?}");
            }
            for action in &outcome.actions {
                match *action {
                    Action::Enter(name) => {
                        let arrows = SAMPLE.arrows(state);
                        assert!(
                            arrows.iter().any(|(next, _)| *next == name),
                            "{} to {name} by {command:?}",
                            state.name
                        );
                        taken.insert((state.name, name));
                        state = SAMPLE.state(name).unwrap();
                    }
                    Action::Begin(work) => {
                        assert_eq!(running.replace(work), None, "one stage at a time: {progress:?} {command:?}");
                    }
                    Action::Stop(_) => running = None,
                }
            }
            assert_eq!(outcome.progress.state, state);
            assert_eq!(running.is_some(), outcome.progress.is_active(), "{progress:?} {command:?} {outcome:?}");
        }
    }
    let possible: BTreeSet<_> = SAMPLE
        .states
        .iter()
        .flat_map(|state| SAMPLE.arrows(state).into_iter().map(|(next, _)| (state.name, next)))
        // A run passes these states within one command: nothing can fail or be cancelled there.
        .filter(|(from, to)| *from != "PUBLISHED" || *to == "DONE")
        .filter(|arrow| *arrow != ("PLANNED", "FAILED"))
        .collect();
    assert_eq!(taken, possible, "every arrow of the table is taken");
}

#[test]
fn a_run_can_always_reach_an_end() {
    for progress in all_situations() {
        let mut seen = BTreeSet::new();
        let mut open = vec![progress.clone()];
        let mut is_done = progress.state.role.is_end();
        while let Some(progress) = open.pop().filter(|_| !is_done) {
            if seen.insert(situation(&progress)) {
                is_done = progress.state.role == Role::Done;
                open.extend(
                    COMMANDS.iter().filter_map(|command| Some(apply(&SAMPLE, &progress, *command).ok()?.progress)),
                );
            }
        }
        assert!(is_done, "{progress:?} never leads to the end");
    }
}

#[test]
fn a_command_is_refused_only_where_the_table_or_the_report_says_so() {
    for progress in all_situations() {
        for command in [Command::Resume, Command::Validate, Command::FixNext, Command::Publish, Command::Cancel] {
            let is_allowed = allowed(&SAMPLE, command).contains(&progress.state.name);
            match apply(&SAMPLE, &progress, command) {
                Err(Refusal::State { allowed: states, .. }) => {
                    assert!(!is_allowed, "{progress:?} {command:?}");
                    assert!(!states.contains(&progress.state.name) && !states.is_empty());
                }
                Err(Refusal::Busy { stage, .. }) => {
                    assert!(matches!(progress.activity, Activity::Running(work) if work.stage == stage));
                }
                Err(Refusal::Report { found, .. }) => assert_ne!(found, Some(command == Command::Publish)),
                // A repeated cancellation and a repair that runs answer like the first call.
                Ok(_) => assert!(
                    is_allowed || matches!(progress.state.name, "CANCELLED" | "REPAIRING"),
                    "{progress:?} {command:?}"
                ),
            }
        }
    }
}
