//! The tools of the catalog `launch` at their edges: states that don't allow them, pages of lists, names and parts of artifacts.

use std::collections::BTreeMap;
use std::net::TcpListener;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::mcp::until;
use crate::running_server::Yard;

/// The states from which a run can go on.
const OPEN: [&str; 12] = [
    "CREATED", "CLONED_INPUTS", "INGESTED", "FACTS_READY", "PLAN_READY", "DRAFTING", "DRAFT_READY", "LINKING",
    "VALIDATING", "FIXING", "READY_FOR_PR", "PR_OPENED",
];

/// The states that allow a tool, as a refusal names them.
pub(crate) fn allowed_in(tool: &str) -> Value {
    match tool {
        "launch_validate" => json!(["LINKING", "VALIDATING", "FIXING", "READY_FOR_PR"]),
        "launch_fix_next" => json!(["VALIDATING"]),
        "launch_open_pr" => json!(["READY_FOR_PR"]),
        "launch_resume" | "launch_cancel" => json!(OPEN),
        other => panic!("{other} is allowed in every state"),
    }
}

/// Checks that a tool is refused because of the run's state, and returns the error.
#[track_caller]
pub(crate) fn refused_as_illegal(client: &mut Client, tool: &str, run: &Value, state: &str, allowed: &Value) -> Value {
    let error = client.refused(tool, run);
    assert_eq!(
        [&error["code"], &error["details"]["state"], &error["details"]["allowed"]],
        [&json!("ILLEGAL_STATE"), &json!(state), allowed],
        "{tool}: {error}"
    );
    assert!(error["message"].as_str().unwrap().contains("launch_get_status"), "{error}");
    error
}

/// A run that fails at once, because its repository has no such branch.
fn failing(client: &mut Client, sample: &Sample) -> Value {
    let mut config = sample.run_config();
    config["github_ref"] = json!("no-such-branch");
    run_of(&client.ok("launch_start_run", &json!({"run_config": config})))
}

#[test]
fn a_run_that_has_failed_or_was_cancelled_allows_nothing_more() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let failed = failing(&mut client, &sample);
    assert!(until(60_000, || client.state(&failed) == "FAILED"), "{}", client.state(&failed));
    let failure = client.ok("launch_get_status", &failed)["status"]["failure"].clone();
    assert_eq!(failure["details"]["reason"], "reference_not_found", "{failure}");
    for tool in ["launch_validate", "launch_fix_next", "launch_resume", "launch_open_pr", "launch_cancel"] {
        let error = refused_as_illegal(&mut client, tool, &failed, "FAILED", &allowed_in(tool));
        assert_eq!((&error["details"]["failure"], &error["retryable"]), (&failure, &json!(false)), "{tool}");
    }
    let mut config = sample.run_config();
    config["advance"] = json!("step");
    let cancelled = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    client.wait(&cancelled, "PLAN_READY");
    client.ok("launch_cancel", &cancelled);
    for tool in ["launch_validate", "launch_fix_next", "launch_resume", "launch_open_pr"] {
        let error = refused_as_illegal(&mut client, tool, &cancelled, "CANCELLED", &allowed_in(tool));
        assert_eq!(error["retryable"], false, "{tool}");
    }
    let again = client.ok("launch_cancel", &cancelled);
    assert_eq!((&again["cancelled"], &again["state"]), (&json!(true), &json!("CANCELLED")));
    yard.stop();
}

#[test]
fn a_run_that_still_clones_allows_its_end_only() {
    let sample = Sample::new();
    // It takes connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acme/library", silent.local_addr().unwrap());
    let mut yard = Yard::serve(&sample.configuration().replace("sources = [", &format!("sources = [{url:?}, ")));
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    config["github_repo_url"] = json!(url);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    assert!(until(60_000, || !yard.running("git").is_empty()), "{}", client.ok("launch_get_status", &run));
    for tool in ["launch_validate", "launch_fix_next", "launch_open_pr"] {
        refused_as_illegal(&mut client, tool, &run, "CREATED", &allowed_in(tool));
    }
    let status = client.ok("launch_get_status", &run)["status"].clone();
    assert_eq!((&status["state"], &status["activity"]["stage"]), (&json!("CREATED"), &json!("clone")), "{status}");
    assert_eq!(client.ok("launch_cancel", &run)["state"], "CANCELLED");
    assert!(until(30_000, || yard.running("git").is_empty() && yard.running("git-remote-http").is_empty()));
    refused_as_illegal(&mut client, "launch_resume", &run, "CANCELLED", &allowed_in("launch_resume"));
    yard.stop();
}

#[test]
fn lists_come_in_pages_and_wrong_cursors_are_refused() {
    const RUNS: usize = 5;
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let started: Vec<Value> = (0..RUNS).map(|_| failing(&mut client, &sample)).collect();
    for run in &started {
        assert!(until(60_000, || client.state(run) == "FAILED"), "{}", client.state(run));
    }
    let id = |run: &Value| run["run_id"].as_str().unwrap().to_owned();
    let mut expected: Vec<String> = started.iter().map(id).collect();
    expected.sort_by(|one, other| other.cmp(one));
    for limit in [1, 2, RUNS] {
        let mut seen = Vec::new();
        let mut sizes = Vec::new();
        let mut arguments = json!({ "limit": limit });
        loop {
            let page = client.ok("launch_list_runs", &arguments);
            let runs = page["runs"].as_array().unwrap();
            sizes.push(runs.len());
            seen.extend(runs.iter().map(id));
            match page["next_cursor"].as_str() {
                Some(next) => arguments["cursor"] = json!(next),
                None => break,
            }
        }
        assert_eq!(seen, expected, "the latest first, each once");
        assert!(sizes.iter().all(|size| *size <= limit) && sizes.len() == RUNS.div_ceil(limit), "{limit}: {sizes:?}");
    }
    // The filter counts before the limit.
    let filter = |state: &str| json!({"limit": 1, "filter": {"state": state, "product_slug": "tabtidy"}});
    assert_eq!(client.ok("launch_list_runs", &filter("FAILED"))["runs"][0]["run_id"], expected[0]);
    let none = client.ok("launch_list_runs", &filter("DONE"));
    assert_eq!((&none["runs"], &none["next_cursor"]), (&json!([]), &Value::Null));
    for wrong in [
        json!({"cursor": "nope"}),
        json!({"cursor": "r_"}),
        json!({"cursor": "../x"}),
        json!({"cursor": expected[0].to_uppercase()}),
        json!({"cursor": format!("{}\0", expected[0])}),
        json!({"cursor": 7}),
        json!({"limit": 0}),
        json!({"limit": -1}),
        json!({"limit": 100_000}),
        json!({"limit": "2"}),
        json!({"filter": {"colour": "red"}}),
        json!({"filter": "FAILED"}),
    ] {
        let error = client.refused("launch_list_runs", &wrong);
        assert_eq!((&error["code"], &error["retryable"]), (&json!("INVALID_INPUT"), &json!(false)), "{wrong}: {error}");
    }
    yard.stop();
}

#[test]
fn artifacts_have_exact_names_and_their_parts_make_the_whole() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
    client.wait(&run, "READY_FOR_PR");
    let wanted = |name: &str| json!({"run_id": run["run_id"], "artifact_name": name});
    for name in [
        "PAGE_PLAN.JSON",
        "\u{ff50}age_plan.json",
        "page_plan.json\0",
        "page_plan.json ",
        "./page_plan.json",
        "%2e%2e/x",
        "..%2fevents.ndjson",
        "events.ndjson/../x",
        "events.ndjson/../run_config.json",
        "../events.ndjson",
        "snapshot.json",
        "",
    ] {
        let error = client.refused("launch_get_artifact", &wanted(name));
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&json!("INVALID_INPUT"), &json!(false)),
            "{name:?}: {error}"
        );
    }
    let digests: BTreeMap<String, String> = client.artifacts(&run);
    let whole = client.ok("launch_get_artifact", &wanted("diff_report.json"))["artifact"].clone();
    assert_eq!(whole["sha256"], digests["diff_report.json"]);
    let length = whole["bytes_total"].as_u64().unwrap_or(whole["content"].as_str().unwrap().len() as u64);
    let mut content = String::new();
    let mut offset = 0;
    let mut parts = 0;
    let step = (length / 17).max(3);
    loop {
        let mut arguments = wanted("diff_report.json");
        (arguments["offset"], arguments["length"]) = (json!(offset), json!(step));
        let part = client.ok("launch_get_artifact", &arguments)["artifact"].clone();
        assert_eq!(
            [&part["offset"], &part["bytes_total"], &part["sha256"], &part["content_type"]],
            [&json!(offset), &json!(length), &whole["sha256"], &json!("application/json")],
            "{part}"
        );
        let text = part["content"].as_str().unwrap();
        assert!(!text.is_empty() && text.len() as u64 <= step, "{part}");
        content.push_str(text);
        parts += 1;
        match part["next_offset"].as_u64() {
            Some(next) => {
                assert_eq!(next, offset + text.len() as u64);
                offset = next;
            }
            None => break,
        }
    }
    assert!(parts >= 17, "{parts}");
    let digest: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((content.len() as u64, digest.as_str()), (length, whole["sha256"].as_str().unwrap()));
    for (offset, part_length) in [(length + 1, json!(1)), (0, json!(0)), (0, json!(-1)), (0, json!("1"))] {
        let mut arguments = wanted("diff_report.json");
        (arguments["offset"], arguments["length"]) = (json!(offset), part_length);
        assert_eq!(client.refused("launch_get_artifact", &arguments)["code"], "INVALID_INPUT", "{arguments}");
    }
    yard.stop();
}
