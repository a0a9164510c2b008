//! Launch runs of the real binary while the build of their site takes long: progress, clients that leave, calls that come meanwhile, ends.
//!
//! Hugo is the real one behind a gate that the test opens.

use std::collections::BTreeSet;
use std::net::TcpListener;

use serde_json::{Value, json};

use codeyard_test_support::hugo;

use crate::e2e::launch::{Client, Sample, checked, run_of};
use crate::e2e::launch_tools::{allowed_in, refused_as_illegal};
use crate::mcp::until;
use crate::mcp_stream::StreamedCall;
use crate::running_server::{Process, Yard, assert_gone, descendants};
use crate::slow_hugo::{Build, SlowHugo};

/// Longest wait for an end that the product causes, in milliseconds.
const PATIENCE_MS: u64 = 30_000;
/// Gates of one validation.
const GATES: usize = 11;

/// A server whose Hugo waits.
pub(crate) struct SlowYard {
    pub(crate) sample: Sample,
    pub(crate) hugo: SlowHugo,
    pub(crate) yard: Yard,
}

impl SlowYard {
    /// `None` where there is no Hugo, after saying so. `runs` are further lines of the section `[runs]`.
    pub(crate) fn new(workspaces: impl FnOnce(&Sample) -> String, runs: &str) -> Option<Self> {
        let hugo = SlowHugo::before(hugo::test_hugo()?);
        let sample = Sample::new();
        let configuration = sample.configuration_with(&format!("hugo = {:?}\n{runs}", hugo.program()));
        let yard = Yard::serve(&(workspaces(&sample) + &configuration));
        Some(Self { sample, hugo, yard })
    }

    fn plain() -> Option<Self> {
        Self::new(|_| String::new(), "")
    }

    /// Starts a run.
    fn start(&self, client: &mut Client, change: impl FnOnce(&mut Value)) -> Value {
        let mut config = self.sample.run_config();
        change(&mut config);
        run_of(&client.ok("launch_start_run", &json!({"run_config": config})))
    }

    /// A run whose first validation is over, and whose further builds wait.
    fn ready(&self, client: &mut Client) -> Value {
        self.hugo.open();
        let run = self.start(client, |_| ());
        client.wait(&run, "READY_FOR_PR");
        self.hugo.close();
        run
    }

    /// The processes of a build: the one that waits, and what it has started.
    fn processes(&mut self, build: &Build) -> BTreeSet<Process> {
        let own = self.yard.descendants().into_iter().filter(|process| process.pid == build.pid);
        let all: BTreeSet<Process> = own.chain(descendants(build.pid)).collect();
        assert!(!all.is_empty(), "the build has ended");
        all
    }
}

/// Reads progress until a message names the gate, then until the answer.
fn followed(call: &mut StreamedCall, token: &str, on_build: impl FnOnce()) -> (Vec<(f64, String)>, Value) {
    let mut seen = Vec::new();
    let mut on_build = Some(on_build);
    while let Some(message) = call.next_message() {
        if message["method"] != "notifications/progress" {
            assert_eq!(message["id"], 1, "{message}");
            assert!(call.next_message().is_none(), "nothing follows the answer");
            return (seen, message);
        }
        let params = &message["params"];
        assert_eq!(params["progressToken"], token, "{message}");
        let text = params["message"].as_str().unwrap_or_default().to_owned();
        seen.push((params["progress"].as_f64().expect("a number"), text.clone()));
        // Three notifications show that the numbers rise while nothing changes.
        if seen.iter().filter(|(_, text)| text.contains("gate SiteBuild")).count() >= 3
            && let Some(on_build) = on_build.take()
        {
            on_build();
        }
        assert!(seen.len() < 100, "no end: {seen:?}");
    }
    panic!("no answer: {seen:?}");
}

fn gates_begun(events: &[Value]) -> usize {
    events.iter().filter(|event| event["type"] == "GATE_RUN_STARTED").count()
}

/// How many events of this type are about validations.
fn validator_items(events: &[Value], kind: &str) -> usize {
    let is_own = |event: &&Value| {
        event["type"] == kind && event["payload"]["item"].as_str().is_some_and(|item| item.contains(":Validator:"))
    };
    events.iter().filter(is_own).count()
}

#[test]
fn progress_rises_and_names_the_gate_that_takes_long() {
    let Some(slow) = SlowYard::plain() else { return };
    let mut client = Client::of(&slow.yard);
    let run = slow.start(&mut client, |_| ());
    slow.hugo.wait_for(1);
    let mut call = StreamedCall::begin(&client.0, "launch_resume", &run, "one");
    let (seen, answer) = followed(&mut call, "one", || slow.hugo.open());
    assert!(seen.iter().any(|(_, text)| text == "VALIDATING: gate SiteBuild"), "{seen:?}");
    assert!(seen.is_sorted_by(|one, next| one.0 < next.0), "{seen:?}");
    assert_eq!(checked("launch_resume", &answer)["status"]["state"], "READY_FOR_PR");

    slow.hugo.close();
    let mut call = StreamedCall::begin(&client.0, "launch_validate", &run, "two");
    let (seen, answer) = followed(&mut call, "two", || slow.hugo.open());
    assert!(seen.iter().any(|(_, text)| text == "READY_FOR_PR: gate SiteBuild"), "{seen:?}");
    assert!(seen.is_sorted_by(|one, next| one.0 < next.0), "{seen:?}");
    assert_eq!(checked("launch_validate", &answer)["validation_report"]["ok"], true);
    slow.yard.stop();
}

#[test]
fn a_call_outlives_its_client_and_the_same_call_attaches() {
    let Some(slow) = SlowYard::plain() else { return };
    let mut client = Client::of(&slow.yard);
    let run = slow.ready(&mut client);
    let before = client.events(&run);
    assert_eq!((validator_items(&before, "WORK_ITEM_QUEUED"), gates_begun(&before)), (1, GATES));
    let first = StreamedCall::begin(&client.0, "launch_validate", &run, "left");
    slow.hugo.wait_for(2);
    drop(first);
    // Progress shows that the second call waits for the work, before that may end.
    let mut second = Client::of(&slow.yard);
    let mut call = StreamedCall::begin(&second.0, "launch_validate", &run, "stays");
    let (_, answer) = followed(&mut call, "stays", || slow.hugo.open());
    assert_eq!(checked("launch_validate", &answer)["validation_report"]["ok"], true);
    assert_eq!(slow.hugo.builds().len(), 2);
    let after = second.events(&run);
    for kind in ["WORK_ITEM_QUEUED", "WORK_ITEM_STARTED", "WORK_ITEM_FINISHED"] {
        assert_eq!(validator_items(&after, kind), 2, "{kind}");
    }
    assert_eq!(gates_begun(&after), 2 * GATES);
    slow.yard.stop();
}

#[test]
fn while_a_build_runs_other_work_is_refused_and_readers_are_answered() {
    let Some(slow) = SlowYard::plain() else { return };
    let mut client = Client::of(&slow.yard);
    let run = slow.start(&mut client, |_| ());
    slow.hugo.wait_for(1);
    // The first validation, in VALIDATING.
    refused_as_illegal(&mut client, "launch_open_pr", &run, "VALIDATING", &allowed_in("launch_open_pr"));

    let status = client.ok("launch_get_status", &run)["status"].clone();
    assert_eq!(
        [&status["state"], &status["activity"]["stage"], &status["activity"]["message"]],
        [&json!("VALIDATING"), &json!("validate"), &json!("gate SiteBuild")],
        "{status}"
    );
    let plan = json!({"run_id": run["run_id"], "artifact_name": "page_plan.json"});
    assert_eq!(client.ok("launch_get_artifact", &plan)["artifact"]["name"], "page_plan.json");
    let report = json!({"run_id": run["run_id"], "artifact_name": "validation_report.json"});
    assert_eq!(client.refused("launch_get_artifact", &report)["code"], "INVALID_INPUT", "there is no report yet");
    let listed = client.ok("launch_list_runs", &json!({"filter": {"state": "VALIDATING"}}));
    assert_eq!(listed["runs"][0]["run_id"], run["run_id"], "{listed}");
    slow.hugo.open();
    client.wait(&run, "READY_FOR_PR");

    // A validation of a run that is ready.
    slow.hugo.close();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| Client::of(&slow.yard).call("launch_validate", &run));
        slow.hugo.wait_for(2);
        refused_as_illegal(&mut client, "launch_fix_next", &run, "READY_FOR_PR", &allowed_in("launch_fix_next"));
        slow.hugo.open();
        assert_eq!(call.join().unwrap()["validation_report"]["ok"], true);
    });
    slow.yard.stop();
}

#[test]
fn a_call_whose_state_is_right_waits_for_the_validation_and_acts_on_its_report() {
    let Some(slow) = SlowYard::plain() else { return };
    let mut client = Client::of(&slow.yard);
    let run = slow.start(&mut client, |_| ());
    slow.hugo.wait_for(1);
    // There is nothing to repair after a good report.
    let mut call = StreamedCall::begin(&client.0, "launch_fix_next", &run, "fix");
    let (_, answer) = followed(&mut call, "fix", || slow.hugo.open());
    let error = checked("launch_fix_next", &answer)["error"].clone();
    assert_eq!(
        [&error["code"], &error["details"]["state"], &error["details"]["allowed"]],
        [&json!("ILLEGAL_STATE"), &json!("READY_FOR_PR"), &allowed_in("launch_fix_next")],
        "{error}"
    );
    // A publication comes after the validation in progress, and only if its report is good.
    let site = slow.yard.state.path().join("runs").join(run["run_id"].as_str().unwrap()).join("work/site");
    for is_good in [false, true] {
        slow.hugo.close();
        let builds = slow.hugo.builds().len();
        if !is_good {
            std::fs::write(site.join("content/stray.txt"), "stray\n").unwrap();
        }
        std::thread::scope(|scope| {
            let validation = scope.spawn(|| Client::of(&slow.yard).call("launch_validate", &run));
            slow.hugo.wait_for(builds + 1);
            let mut call = StreamedCall::begin(&client.0, "launch_open_pr", &run, "publish");
            let (_, answer) = followed(&mut call, "publish", || {
                assert_eq!(slow.sample.branches(), Vec::<String>::new(), "published before the end of a validation");
                slow.hugo.open();
            });
            let published = checked("launch_open_pr", &answer);
            assert_eq!(published["ok"], is_good, "{published}");
            assert_eq!(validation.join().unwrap()["validation_report"]["ok"], is_good);
        });
        if !is_good {
            assert_eq!(client.state(&run), "VALIDATING");
            std::fs::remove_file(site.join("content/stray.txt")).unwrap();
            client.ok("launch_validate", &run);
            assert_eq!(client.state(&run), "READY_FOR_PR");
        }
    }
    assert_eq!(slow.sample.branches().len(), 1);
    assert_eq!(client.state(&run), "DONE");
    slow.yard.stop();
}

#[test]
fn a_cancelled_run_ends_its_build_and_answers_those_who_wait() {
    for tool in ["launch_resume", "launch_validate"] {
        let Some(mut slow) = SlowYard::plain() else { return };
        let mut client = Client::of(&slow.yard);
        let run = slow.start(&mut client, |_| ());
        let build = slow.hugo.wait_for(1);
        let processes = slow.processes(&build);
        let mut call = StreamedCall::begin(&client.0, tool, &run, "waits");
        // The first notification shows that the call waits for the work.
        let first = call.next_message().unwrap();
        assert_eq!(first["method"], "notifications/progress", "{first}");
        assert_eq!(
            client.ok("launch_cancel", &run),
            json!({"ok": true, "run_id": run["run_id"], "cancelled": true, "state": "CANCELLED"})
        );
        let answer = checked(tool, &call.answer());
        assert_eq!((&answer["ok"], &answer["error"]["code"]), (&json!(false), &json!("CANCELLED")), "{answer}");
        assert_eq!(answer["error"]["retryable"], false, "{answer}");
        assert_gone(&processes, PATIENCE_MS);
        assert_eq!(client.state(&run), "CANCELLED");
        let events = client.events(&run);
        assert_eq!(events.last().unwrap()["type"], "RUN_CANCELLED");
        assert_eq!(validator_items(&events, "WORK_ITEM_FINISHED"), 0);
        slow.yard.stop();
    }
}

/// Checks the error of a run whose time is over.
fn assert_over_budget(error: &Value) {
    assert_eq!(
        [&error["code"], &error["details"]["cause_class"], &error["details"]["budget"], &error["retryable"]],
        [&json!("INTERNAL"), &json!("budget_exceeded"), &json!("max_runtime_s"), &json!(false)],
        "{error}"
    );
}

#[test]
fn a_build_that_does_not_end_is_ended_with_the_time_of_the_run() {
    let Some(mut slow) = SlowYard::plain() else { return };
    let mut client = Client::of(&slow.yard);
    // Long enough for the stages before the build.
    let run = slow.start(&mut client, |config| config["budgets"] = json!({"max_runtime_s": 6}));
    let mut failure = Value::Null;
    let mut ended = |client: &mut Client| {
        failure = client.ok("launch_get_status", &run)["status"]["failure"].clone();
        !failure.is_null()
    };
    assert!(until(60_000, || !slow.hugo.builds().is_empty() || ended(&mut client)));
    let builds = slow.hugo.builds();
    let processes: BTreeSet<Process> = builds.iter().flat_map(|build| slow.processes(build)).collect();
    assert!(until(60_000, || ended(&mut client)), "{}", client.ok("launch_get_status", &run));
    assert_over_budget(&failure);
    assert_gone(&processes, PATIENCE_MS);
    if builds.is_empty() {
        eprintln!("skipped: the end of a build, because this machine is so slow that the time was over before it");
        let state = client.state(&run);
        assert!(["FAILED", "VALIDATING"].contains(&state.as_str()), "{state}");
    } else {
        // What was made stays, and a repetition has no more time.
        assert_eq!(client.state(&run), "VALIDATING");
        for tool in ["launch_resume", "launch_validate"] {
            assert_over_budget(&client.refused(tool, &run));
        }
        assert_eq!(slow.hugo.builds().len(), 1, "no build begins");
        assert_eq!(client.ok("launch_cancel", &run)["state"], "CANCELLED");
    }
    slow.yard.stop();
}

#[test]
fn a_clone_that_does_not_end_is_ended_with_the_time_of_the_run() {
    let sample = Sample::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acme/library", silent.local_addr().unwrap());
    let mut yard = Yard::serve(&sample.configuration().replace("sources = [", &format!("sources = [{url:?}, ")));
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    (config["github_repo_url"], config["budgets"]) = (json!(url), json!({"max_runtime_s": 1}));
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    assert!(until(60_000, || client.state(&run) == "FAILED"), "{}", client.ok("launch_get_status", &run));
    let failure = client.ok("launch_get_status", &run)["status"]["failure"].clone();
    assert_over_budget(&failure);
    let last = client.events(&run).last().unwrap().clone();
    assert_eq!((&last["type"], &last["payload"]["error"]), (&json!("RUN_FAILED"), &failure));
    assert!(until(PATIENCE_MS, || yard.running("git").is_empty() && yard.running("git-remote-http").is_empty()));
    yard.stop();
}
