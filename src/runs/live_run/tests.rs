//! Runs whose work is interrupted, cancelled, late, panics, fails or can't be recorded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::machine::Advance;
use crate::stage::{ItemOutput, Stage};
use crate::testing::{SampleCode, Unwatched, artifact_of, carry_out, sample_run};
use crate::work_item::WorkItemSpec;

fn state(run: &LiveRun) -> &'static str {
    run.status().view.progress.state.name
}

fn count(run: &LiveRun, event_type: &str) -> usize {
    let text = std::fs::read_to_string(run.folder().events()).unwrap();
    text.lines().filter(|line| line.contains(&format!("\"type\":\"{event_type}\""))).count()
}

fn reopened(run: &LiveRun, runs: &Path, code: SampleCode) -> LiveRun {
    LiveRun::open(Arc::new(code), runs, run.id(), Arc::new(Unwatched)).unwrap()
}

/// Code whose items tell `began` their scope and then wait until they have to stop, where `waits` says so.
fn waiting(began: mpsc::Sender<String>, waits: &'static str) -> SampleCode {
    SampleCode::new(move |stage, item| {
        if format!("{}/{}", stage.work.stage, item.scope) == waits {
            began.send(item.scope.clone()).unwrap();
            while !stage.stop.is_set() {
                std::thread::yield_now();
            }
            return Err(StageError::cancelled());
        }
        Ok(artifact_of(stage, item))
    })
}

#[test]
fn a_run_goes_from_its_start_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample_run(dir.path(), SampleCode::plain(), Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    assert_eq!((state(&run), run.status().view.progress.report), ("CHECKING", Some(false)));
    carry_out(&run, Command::FixNext);
    assert_eq!(state(&run), "READY");
    carry_out(&run, Command::Publish);
    assert_eq!(state(&run), "DONE");
    let view = run.status().view;
    assert_eq!(view.items.len(), 1 + 4 + 2 + 1 + 1);
    assert!(view.items.values().all(|item| item.state == WorkItemState::Finished));
    assert_eq!(run.artifact("write_c.md").unwrap().unwrap().1, b"1 c");
    assert_eq!(reopened(&run, dir.path(), SampleCode::plain()).status().view, view);
    assert!(matches!(
        run.command(&TraceContext::default(), Command::Cancel),
        Err(CommandError::Run(RunError::Refused(_)))
    ));
}

#[test]
fn interrupted_work_continues_with_the_items_that_have_not_finished() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, began) = mpsc::channel();
    let run = sample_run(dir.path(), waiting(sender, "write/c"), Advance::Auto, json!({}));
    let working = {
        let run = run.clone();
        std::thread::spawn(move || carry_out(&run, Command::Resume))
    };
    assert_eq!(began.recv().unwrap(), "c");
    run.interrupt();
    working.join().unwrap();
    let activity = run.status().view.progress.activity;
    assert!(matches!(activity, Activity::Interrupted(work) if work.stage == "write"), "{activity:?}");
    assert_eq!(count(&run, "WORK_ITEM_FAILED"), 0, "what was stopped hasn't failed");

    let again = Arc::new(AtomicUsize::new(0));
    let counted = again.clone();
    let code = SampleCode::new(move |stage, item| {
        if stage.work.stage == "write" && item.scope == "a" {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(artifact_of(stage, item))
    });
    let run = reopened(&run, dir.path(), code);
    carry_out(&run, Command::Resume);
    assert_eq!(state(&run), "CHECKING");
    assert_eq!(again.load(Ordering::Relaxed), 0, "a had finished");
}

#[test]
fn a_cancelled_run_ends_at_once_and_its_work_has_no_effect() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, began) = mpsc::channel();
    let run = sample_run(dir.path(), waiting(sender, "plan/all"), Advance::Auto, json!({}));
    let working = {
        let run = run.clone();
        std::thread::spawn(move || carry_out(&run, Command::Resume))
    };
    began.recv().unwrap();
    assert_eq!(run.command(&TraceContext::default(), Command::Cancel).unwrap(), None);
    assert_eq!(state(&run), "CANCELLED");
    working.join().unwrap();
    assert_eq!(state(&run), "CANCELLED");
    assert_eq!(run.command(&TraceContext::default(), Command::Cancel).unwrap(), None, "the same answer again");
    let view = reopened(&run, dir.path(), SampleCode::plain()).status().view;
    assert!(view.artifacts.is_empty() && view.finished_at.is_some());
    assert!(view.items.values().all(|item| item.state == WorkItemState::Skipped));
}

#[test]
fn work_for_another_state_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample_run(dir.path(), SampleCode::plain(), Advance::Step, json!({}));
    let work = run.command(&TraceContext::default(), Command::Resume).unwrap().unwrap();
    assert_eq!(run.execute(&TraceContext::default(), work), None);
    assert_eq!(state(&run), "PLANNED");
    assert_eq!(run.execute(&TraceContext::default(), work), None, "it has ended");
    assert_eq!(count(&run, "WORK_ITEM_STARTED"), 1);
}

#[test]
fn a_panic_fails_the_run_and_not_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let code = SampleCode::new(|stage, item| {
        assert!(item.scope != "b", "a defect");
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    assert_eq!(state(&run), "FAILED");
    let failure = run.status().view.failure.clone();
    assert_eq!((&failure["code"], &failure["details"]["cause_class"]), (&json!("INTERNAL"), &json!("panic")));
    assert_eq!(reopened(&run, dir.path(), SampleCode::plain()).status().view.failure, failure);
}

#[test]
fn a_failure_that_leaves_the_run_as_it_was_can_be_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let tries = AtomicUsize::new(0);
    let code = SampleCode::new(move |stage, item| {
        if stage.work.stage == "publish" && tries.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(StageError::new("COMMIT_SERVICE_ERROR", "the service is away").retryable());
        }
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    carry_out(&run, Command::FixNext);
    carry_out(&run, Command::Publish);
    assert_eq!((state(&run), count(&run, "WORK_ITEM_FAILED")), ("READY", 1));
    carry_out(&run, Command::Publish);
    assert_eq!(state(&run), "DONE");
}

#[test]
fn the_workflow_can_refuse_a_command_that_the_table_allows() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample_run(dir.path(), SampleCode::plain(), Advance::Auto, json!({"fixes": false}));
    carry_out(&run, Command::Resume);
    let before = run.status().view;
    let refused = run.command(&TraceContext::default(), Command::FixNext);
    assert!(matches!(refused, Err(CommandError::Stage(error)) if error.code == "FIX_EXHAUSTED"));
    assert_eq!(run.status().view, before);
}

#[test]
fn a_run_that_takes_too_long_fails_and_says_which_budget_to_raise() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, _began) = mpsc::channel();
    let code = waiting(sender, "write/a").within(Duration::from_millis(20));
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    assert_eq!(state(&run), "FAILED");
    let failure = &run.status().view.failure;
    assert_eq!(failure["details"]["cause_class"], "budget_exceeded");
    assert!(failure["message"].as_str().unwrap().contains("budgets.max_runtime_s"));
}

#[test]
fn parallel_items_run_at_once_and_their_results_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let barrier = std::sync::Barrier::new(2);
    let code = SampleCode::new(move |stage: &Stage<'_>, item: &WorkItemSpec| {
        if stage.work.stage == "write" {
            // Nobody passes alone.
            barrier.wait();
        }
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    let scopes: Vec<Value> = run.results("write").into_iter().map(|result| result["scope"].clone()).collect();
    assert_eq!(scopes, ["a", "b", "c", "d"]);
}

#[test]
fn what_can_not_be_recorded_is_interrupted_and_continues_after_the_next_command() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_owned();
    let is_broken = AtomicUsize::new(0);
    let code = SampleCode::new(move |stage, item| {
        if stage.work.stage == "write" && item.scope == "b" && is_broken.fetch_add(1, Ordering::Relaxed) == 0 {
            // The folder of the artifacts is away, so the item's result can't be written.
            let artifacts = folder.join(stage.run.as_str()).join("artifacts");
            std::fs::rename(&artifacts, artifacts.with_extension("away")).unwrap();
            std::fs::write(&artifacts, "in the way").unwrap();
        }
        Ok(ItemOutput { artifacts: vec![(format!("{}.md", item.scope), b"x".to_vec())], ..artifact_of(stage, item) })
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    let status = run.status();
    assert!(status.broken.is_some() && !status.view.progress.is_active(), "{status:?}");
    assert_eq!(state(&run), "WRITING", "nothing is lost");
    let refused = run.command(&TraceContext::default(), Command::Resume);
    assert!(refused.is_err(), "the disk is still broken");

    let artifacts = run.folder().artifacts();
    std::fs::remove_file(&artifacts).unwrap();
    std::fs::rename(artifacts.with_extension("away"), &artifacts).unwrap();
    carry_out(&run, Command::Resume);
    assert_eq!((state(&run), run.status().broken), ("CHECKING", None));
    assert!(run.status().view.items.values().all(|item| item.state == WorkItemState::Finished));
}

#[test]
fn a_full_disk_interrupts_and_the_item_is_done_again() {
    let dir = tempfile::tempdir().unwrap();
    let tries = AtomicUsize::new(0);
    let code = SampleCode::new(move |stage, item| {
        if stage.work.stage == "write" && tries.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(StageError::of_disk("disk_full", "free space"));
        }
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    let status = run.status();
    assert_eq!((state(&run), status.broken.as_deref()), ("WRITING", Some("free space")));
    assert!(status.view.items.values().all(|item| item.state != WorkItemState::Failed), "{status:?}");
    carry_out(&run, Command::Resume);
    assert_eq!((state(&run), run.status().broken), ("CHECKING", None));
}

#[test]
fn events_that_an_item_emits_are_durable_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let code = SampleCode::new(|stage, item| {
        if stage.work.stage == "plan" {
            let payload = json!({"gate": "Schema"});
            stage
                .host
                .emit(&stage.trace, vec![NewEvent { event_type: crate::event::EventType::GateRunStarted, payload }])?;
            stage.host.progress("planning");
            let log = std::fs::read_to_string(stage.folder.events()).unwrap();
            assert!(log.contains("GATE_RUN_STARTED"));
        }
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Step, json!({}));
    carry_out(&run, Command::Resume);
    assert_eq!((state(&run), run.status().message), ("PLANNED", None));
}

#[test]
fn a_stage_that_fails_and_leaves_the_run_says_why_until_the_next_one_ends() {
    let dir = tempfile::tempdir().unwrap();
    let fails = Arc::new(AtomicUsize::new(1));
    let left = fails.clone();
    let code = SampleCode::new(move |stage, item| {
        if stage.work.stage == "publish"
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
        {
            return Err(StageError::new("INTERNAL", "no answer").with("cause_class", "network"));
        }
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    carry_out(&run, Command::FixNext);
    carry_out(&run, Command::Publish);
    let view = run.status().view;
    assert_eq!((state(&run), view.stage_failure["message"].as_str()), ("READY", Some("no answer")));
    assert_eq!(reopened(&run, dir.path(), SampleCode::plain()).status().view.stage_failure, view.stage_failure);
    carry_out(&run, Command::Publish);
    assert_eq!((state(&run), run.status().view.stage_failure.is_null()), ("DONE", true));
}

#[test]
fn no_work_begins_after_a_stop_between_two_stages() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample_run(dir.path(), SampleCode::plain(), Advance::Auto, json!({}));
    let trace = TraceContext::default();
    let first = run.command(&trace, Command::Resume).unwrap().unwrap();
    let second = run.execute(&trace, first).unwrap();
    run.stop();
    assert_eq!(run.execute(&trace, second), None);
    assert_eq!(run.status().view.progress.activity, Activity::Interrupted(second));
    assert_eq!(count(&run, "WORK_ITEM_FINISHED"), 1);
}

#[test]
fn work_that_nobody_does_is_interrupted_and_can_be_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample_run(dir.path(), SampleCode::plain(), Advance::Auto, json!({}));
    let work = run.command(&TraceContext::default(), Command::Resume).unwrap().unwrap();
    run.abandon();
    assert_eq!(run.status().view.progress.activity, Activity::Interrupted(work));
    carry_out(&run, Command::Resume);
    assert_eq!(state(&run), "CHECKING");
}

#[test]
fn nothing_follows_the_last_event_of_a_cancelled_run() {
    let dir = tempfile::tempdir().unwrap();
    let (began, beginning) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let code = SampleCode::new(move |stage, item| {
        began.send(()).unwrap();
        gone.lock().recv().ok();
        let event = NewEvent { event_type: crate::event::EventType::GateRunStarted, payload: json!({}) };
        assert_eq!(stage.host.emit(&stage.trace, vec![event]).unwrap_err().code, "CANCELLED");
        Ok(artifact_of(stage, item))
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    let trace = TraceContext::default();
    let work = run.command(&trace, Command::Resume).unwrap().unwrap();
    std::thread::scope(|scope| {
        let working = scope.spawn(|| run.execute(&trace, work));
        beginning.recv().unwrap();
        run.command(&trace, Command::Cancel).unwrap();
        go.send(()).unwrap();
        assert_eq!(working.join().unwrap(), None);
    });
    let text = std::fs::read_to_string(run.folder().events()).unwrap();
    assert!(text.lines().last().unwrap().contains("RUN_CANCELLED"), "{text}");
    assert_eq!((state(&run), run.status().view.progress.activity), ("CANCELLED", Activity::Idle));
}

#[test]
fn a_result_that_is_too_large_to_record_fails_its_stage() {
    let dir = tempfile::tempdir().unwrap();
    let code = SampleCode::new(|stage, item| {
        let result = json!("x".repeat(crate::limits::MAX_EVENT_BYTES));
        Ok(ItemOutput { result, ..artifact_of(stage, item) })
    });
    let run = sample_run(dir.path(), code, Advance::Auto, json!({}));
    carry_out(&run, Command::Resume);
    let view = run.status().view;
    assert_eq!((state(&run), &view.failure["details"]["cause_class"]), ("FAILED", &json!("event_too_large")));
}
