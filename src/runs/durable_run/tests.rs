//! Runs that are closed and opened again after every step, and logs that are cut after every event.

use std::collections::BTreeMap;

use super::*;
use crate::machine::Activity;
use crate::testing::SAMPLE;

/// What each stage does in these tests: its items, and how they end.
const STAGES: [(&str, &[&str]); 5] =
    [("plan", &["all"]), ("write", &["a", "b", "c"]), ("check", &["all"]), ("repair", &["one"]), ("publish", &["all"])];

fn trace() -> TraceContext {
    TraceContext::default()
}

fn create(runs: &Path, advance: Advance) -> DurableRun {
    DurableRun::create(&SAMPLE, runs, &RunId::new(0, 1), &start(advance, json!({"name": "x"})), &trace()).unwrap()
}

fn start(advance: Advance, config: Value) -> RunStart {
    RunStart { workspace: "w".into(), subject: "s".into(), advance, config }
}

fn specs(stage: &str) -> Vec<WorkItemSpec> {
    let (worker, scopes) = STAGES.iter().find(|(name, _)| *name == stage).unwrap();
    scopes.iter().map(|scope| WorkItemSpec { worker, scope: (*scope).to_owned() }).collect()
}

/// Does one thing that is left to do, as a process does until it is killed: an item, the end of a stage, or the next command. Counts each
/// item that is done in `done`. Returns whether something was left.
fn one_step(run: &mut DurableRun, done: &mut BTreeMap<String, u32>) -> bool {
    if !run.view().progress.is_active() {
        let command = match (run.view().progress.state.name, run.view().progress.report) {
            ("DONE", _) => return false,
            ("READY", _) => Command::Publish,
            ("CHECKING", Some(false)) => Command::FixNext,
            _ => Command::Resume,
        };
        run.command(&trace(), command).unwrap();
    }
    let Activity::Running(work) = run.view().progress.activity else { return true };
    let left = run.plan_items(&trace(), work, &specs(work.stage)).unwrap();
    let Some(id) = left.first() else {
        let result = match (work.stage, work.attempt) {
            ("check", attempt) => StageResult::Report { ok: attempt > 2 },
            ("repair", 1) => StageResult::Unchanged,
            _ => StageResult::Done,
        };
        run.finish_stage(&trace(), result, Value::Null).unwrap();
        return true;
    };
    run.item_started(&trace(), id).unwrap();
    let content = format!("{} {}", work.stage, id.as_str());
    let artifacts = [(format!("{}.md", work.stage), content.into_bytes())];
    run.item_finished(&trace(), id, &artifacts, Vec::new(), json!({"scope": 1})).unwrap();
    *done.entry(id.as_str().to_owned()).or_default() += 1;
    true
}

/// The view without times and without what a restart changes.
fn comparable(view: &RunView) -> RunView {
    let mut view = view.clone();
    view.finished_at = None;
    view
}

#[test]
fn a_run_that_is_opened_again_after_each_step_is_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut whole = create(&dir.path().join("whole"), Advance::Auto);
    let mut done = BTreeMap::new();
    while one_step(&mut whole, &mut done) {}
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    assert_eq!(done.len(), 1 + 3 + 3 + 3 + 1, "{done:?}");

    for advance in [Advance::Auto, Advance::Step] {
        let runs = dir.path().join(format!("{advance:?}"));
        let mut run = create(&runs, advance);
        let mut done_again = BTreeMap::new();
        while one_step(&mut run, &mut done_again) {
            let mut before = run.view().clone();
            if let Activity::Running(work) = before.progress.activity {
                before.progress.activity = Activity::Interrupted(work);
            }
            run = DurableRun::open(&SAMPLE, &runs, &RunId::new(0, 1)).unwrap();
            if before
                .items
                .values()
                .any(|item| matches!(before.progress.activity, Activity::Interrupted(work) if item.work == work))
            {
                assert_eq!(*run.view(), before);
            } else {
                // The stage had begun, but nothing of it was planned: it begins again under the same number.
                assert_eq!(run.view().progress.state, before.progress.state);
                assert_eq!(run.view().items, before.items);
            }
        }
        assert_eq!(done_again, done, "no item is repeated or missing");
        assert_eq!(comparable(run.view()).artifacts, comparable(whole.view()).artifacts);
        assert_eq!(run.view().progress.state.name, "DONE");
        assert!(run.view().finished_at.is_some());
    }
}

#[test]
fn a_log_that_is_cut_after_any_event_continues_to_the_same_end() {
    let dir = tempfile::tempdir().unwrap();
    let whole_runs = dir.path().join("whole");
    let mut whole = create(&whole_runs, Advance::Auto);
    while one_step(&mut whole, &mut BTreeMap::new()) {}
    let log = fs::read_to_string(whole.folder().events()).unwrap();
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    for kept in 1..=lines.len() {
        let runs = dir.path().join(format!("cut{kept}"));
        let folder = RunFolder::new(&runs, whole.id());
        folder.make().unwrap();
        // A half line follows, as after a crash.
        let torn = lines.get(kept).map_or("", |line| &line[..line.len() / 2]);
        fs::write(folder.events(), lines[..kept].concat() + torn).unwrap();
        // The artifacts that were announced until then are there; one may not be renamed yet.
        let view = RunView::replay(&SAMPLE, &EventLog::open(&folder.events(), whole.id()).unwrap().1).unwrap();
        for version in view.artifacts.values() {
            let content = contents_of(whole.id(), version);
            fs::write(folder.artifacts().join(format!(".{}.new", version.name)), content).unwrap();
        }
        let mut run = DurableRun::open(&SAMPLE, &runs, whole.id()).unwrap();
        let mut done = BTreeMap::new();
        while one_step(&mut run, &mut done) {}
        assert!(done.values().all(|times| *times == 1));
        let finished_before = view.items.values().filter(|item| item.state == WorkItemState::Finished).count();
        assert_eq!(finished_before + done.len(), 11, "cut after {kept}: what was finished isn't repeated");
        assert_eq!(run.view().artifacts, whole.view().artifacts, "cut after {kept}");
        for name in whole.view().artifacts.keys() {
            assert_eq!(run.artifact(name).unwrap(), whole.artifact(name).unwrap());
        }
    }
}

/// The content that [`one_step`] writes, found by its digest.
fn contents_of(run: &RunId, version: &ArtifactVersion) -> Vec<u8> {
    let stage = version.name.strip_suffix(".md").unwrap();
    let all = (1..9).flat_map(|attempt| specs(stage).into_iter().map(move |spec| (attempt, spec)));
    let mut contents =
        all.map(|(attempt, spec)| format!("{stage} {}", WorkItemId::new(run, attempt, &spec)).into_bytes());
    contents.find(|content| codeyard_base::digest::sha256hex(content) == version.sha256).unwrap()
}

#[test]
fn a_cancelled_run_skips_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = create(dir.path(), Advance::Auto);
    let effects = run.command(&trace(), Command::Resume).unwrap();
    let [Effect::Begin(work)] = effects[..] else { panic!("{effects:?}") };
    run.plan_items(&trace(), work, &specs("plan")).unwrap();
    assert_eq!(run.command(&trace(), Command::Cancel).unwrap(), [Effect::Stop(work)]);
    let run = DurableRun::open(&SAMPLE, dir.path(), run.id()).unwrap();
    assert_eq!(run.view().progress.state.name, "CANCELLED");
    assert!(run.view().items.values().all(|item| item.state == WorkItemState::Skipped));
}

#[test]
fn a_failed_run_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = create(dir.path(), Advance::Auto);
    run.command(&trace(), Command::Resume).unwrap();
    run.plan_items(&trace(), Work { stage: "plan", attempt: 1 }, &specs("plan")).unwrap();
    run.finish_stage(&trace(), StageResult::Failed, json!({"code": "X"})).unwrap();
    run.write_snapshot().unwrap();
    let snapshot: Value = serde_json::from_slice(&fs::read(run.folder().snapshot()).unwrap()).unwrap();
    assert_eq!((&snapshot["state"], &snapshot["failure"]["code"]), (&json!("FAILED"), &json!("X")));
    assert_eq!(DurableRun::open(&SAMPLE, dir.path(), run.id()).unwrap().view(), run.view());
}

#[test]
fn a_run_is_created_once_and_a_half_creation_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let run = create(dir.path(), Advance::Step);
    let again = DurableRun::create(&SAMPLE, dir.path(), run.id(), &start(Advance::Auto, json!({})), &trace());
    assert!(again.is_err());
    assert_eq!(fs::read_to_string(run.folder().config()).unwrap(), "{\"name\":\"x\"}", "the first run is untouched");
    let half = RunId::new(0, 2);
    let folder = RunFolder::new(dir.path(), &half);
    folder.make().unwrap();
    fs::write(folder.events(), "{\"event_id\":\"e_0000").unwrap();
    DurableRun::create(&SAMPLE, dir.path(), &half, &start(Advance::Auto, json!({})), &trace()).unwrap();
    assert_eq!(DurableRun::open(&SAMPLE, dir.path(), &half).unwrap().view().progress.state.name, "CREATED");
}

#[test]
fn a_log_of_another_workflow_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let id = RunId::new(0, 1);
    fs::create_dir_all(RunFolder::new(dir.path(), &id).top()).unwrap();
    let mut log = EventLog::create(&RunFolder::new(dir.path(), &id).events(), &id).unwrap();
    let payload = json!({"workflow": "other", "workspace": "w", "subject": "s", "advance": "auto"});
    let created = NewEvent { event_type: EventType::RunCreated, payload };
    log.append("2026-01-21T10:00:00Z", &trace(), vec![created]).unwrap();
    let error = DurableRun::open(&SAMPLE, dir.path(), &id).unwrap_err().to_string();
    assert!(error.contains("event e_000001") && error.contains("the workflow other"), "{error}");
}
