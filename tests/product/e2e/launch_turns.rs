//! The turns of launch runs with the real binary: how many work, how many wait, who is next, and who is refused.
//!
//! A run holds its turn while its site is built, by the real Hugo behind a gate.

use std::fs;

use serde_json::{Value, json};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::e2e::launch_slow_build::SlowYard;
use crate::mcp::until;

/// The workspace beside the one of the sample.
fn other_workspace(sample: &Sample) -> String {
    let root = sample.top().join("other");
    fs::create_dir(&root).unwrap();
    format!("[[workspace]]\nname = \"other\"\nroots = [{root:?}]\n")
}

fn start(client: &mut Client, sample: &Sample) -> Value {
    run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})))
}

/// The place of a run in the queue, once it waits there.
fn position(client: &mut Client, run: &Value) -> u64 {
    let mut status = Value::Null;
    let waits = until(30_000, || {
        status = client.ok("launch_get_status", run)["status"].clone();
        status["activity"]["queue_position"].is_u64()
    });
    assert!(waits, "{status}");
    assert_eq!((&status["state"], &status["activity"]["stage"]), (&json!("CREATED"), &json!("clone")), "{status}");
    status["activity"]["queue_position"].as_u64().unwrap()
}

#[test]
fn a_run_too_many_is_refused_until_there_is_room() {
    let Some(slow) = SlowYard::new(|_| String::new(), "max_active = 1\nmax_waiting_per_workspace = 1\n") else {
        return;
    };
    let mut client = Client::of(&slow.yard);
    let first = start(&mut client, &slow.sample);
    slow.hugo.wait_for(1);
    let second = start(&mut client, &slow.sample);
    position(&mut client, &second);
    let third = json!({"run_config": slow.sample.run_config(), "idempotency_key": "k"});
    let refused = client.refused("launch_start_run", &third);
    assert_eq!(
        [&refused["code"], &refused["retryable"], &refused["details"]["cause_class"]],
        [&json!("INTERNAL"), &json!(true), &json!("overloaded")],
        "{refused}"
    );
    assert!(refused["details"]["retryAfterMs"].as_u64().is_some_and(|ms| ms > 0), "{refused}");
    let runs = client.ok("launch_list_runs", &json!({}))["runs"].as_array().unwrap().len();
    assert_eq!(runs, 2, "a refused run leaves nothing");
    // One that waits can be ended, which makes room.
    assert_eq!(client.ok("launch_cancel", &second)["state"], "CANCELLED");
    let mut started = Value::Null;
    assert!(
        until(30_000, || {
            started = client.call("launch_start_run", &third);
            started["ok"] == true
        }),
        "{started}"
    );
    assert_eq!(started["replayed"], Value::Null, "a refused request uses no key up");
    slow.hugo.open();
    for run in [first, run_of(&started)] {
        client.wait(&run, "READY_FOR_PR");
    }
    assert_eq!(client.state(&second), "CANCELLED");
    slow.yard.stop();
}

#[test]
fn a_workspace_with_many_runs_does_not_keep_another_one_waiting() {
    let Some(slow) = SlowYard::new(other_workspace, "max_active = 1\n") else { return };
    let mut one = Client::of(&slow.yard);
    let mut other = Client::at(&slow.yard, "other/launch");
    let mut runs = vec![start(&mut one, &slow.sample)];
    slow.hugo.wait_for(1);
    let mut positions = Vec::new();
    for _ in 0..2 {
        runs.push(start(&mut one, &slow.sample));
        positions.push(position(&mut one, runs.last().unwrap()));
    }
    let foreign = start(&mut other, &slow.sample);
    assert_eq!(one.refused("launch_get_status", &foreign)["code"], "RUN_NOT_FOUND");
    let between = position(&mut other, &foreign);
    let last = position(&mut one, &runs[2]);
    assert!(positions[0] < between && between < last, "{positions:?} {between} {last}");
    assert_eq!(slow.hugo.builds().len(), 1, "one run works at a time");
    slow.hugo.open();
    for run in &runs {
        one.wait(run, "READY_FOR_PR");
    }
    other.wait(&foreign, "READY_FOR_PR");
    // The builds name the runs' folders, in the order in which they had their turns.
    let builds = slow.hugo.builds();
    let all = [&runs[0], &runs[1], &foreign, &runs[2]];
    assert_eq!(builds.len(), all.len(), "{builds:?}");
    for (build, run) in builds.iter().zip(all) {
        assert!(build.arguments.contains(run["run_id"].as_str().unwrap()), "{run}: {builds:?}");
    }
    slow.yard.stop();
}
