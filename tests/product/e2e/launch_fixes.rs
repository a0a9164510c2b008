//! Repairs of launch runs that come to an end without success, and writes outside of `allowed_paths`, with the real binary.

use std::fs;

use serde_json::{Value, json};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::mcp::until;
use crate::running_server::Yard;

#[test]
fn a_fault_without_a_repair_exhausts_the_fixes_and_a_person_can_mend_it() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
    client.wait(&run, "READY_FOR_PR");
    let settings = yard.state.path().join("runs").join(run["run_id"].as_str().unwrap()).join("work/site/hugo.toml");
    let good = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{good}\ntitle = [\n")).unwrap();
    let report = client.ok("launch_validate", &run)["validation_report"].clone();
    assert_eq!(report["ok"], false, "{report}");
    let serious = |issue: &&Value| matches!(issue["severity"].as_str(), Some("blocker" | "error"));
    let serious = report["issues"].as_array().unwrap().iter().filter(serious).count();
    let codes: Vec<&str> =
        report["issues"].as_array().unwrap().iter().map(|issue| issue["error_code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"ALLOWED_PATHS_VIOLATION"), "{codes:?}");
    assert_eq!(codes.contains(&"UNSAFE_SETTING"), sample.kind == "hugo", "{codes:?}");
    assert_eq!(client.state(&run), "VALIDATING");
    for _ in 0..2 {
        let error = client.refused("launch_fix_next", &run);
        assert_eq!((&error["code"], &error["retryable"]), (&json!("FIX_EXHAUSTED"), &json!(false)), "{error}");
        assert_eq!(error["details"], json!({"reason": "no_fixable_issue", "open_issues": serious}));
        assert_eq!(client.state(&run), "VALIDATING");
    }
    // The run isn't lost: a person takes the change back.
    fs::write(&settings, good).unwrap();
    let report = client.ok("launch_validate", &run)["validation_report"].clone();
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(client.state(&run), "READY_FOR_PR");
    yard.stop();
}

#[test]
fn a_repair_outside_of_the_allowed_paths_fails_until_its_attempts_are_used_up() {
    const ATTEMPTS: u64 = 2;
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    config["max_fix_attempts"] = json!(ATTEMPTS);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    client.wait(&run, "READY_FOR_PR");
    let site = yard.state.path().join("runs").join(run["run_id"].as_str().unwrap()).join("work/site");
    // A page of another product: its fault has a repair, but the run may not write it.
    let foreign = site.join("content/docs/pagepress/en/python/getting-started.md");
    let broken = fs::read_to_string(&foreign).unwrap() + "\n###### Much too deep\n";
    fs::write(&foreign, &broken).unwrap();
    let report = client.ok("launch_validate", &run)["validation_report"].clone();
    assert_eq!(report["ok"], false, "{report}");
    let mut issue = Value::Null;
    for attempt in 1..=ATTEMPTS {
        let fixed = client.ok("launch_fix_next", &run);
        assert_eq!((&fixed["fixed_issue_id"], &fixed["applied_patch_ids"]), (&Value::Null, &json!([])), "{fixed}");
        let failed = &fixed["failed_attempt"];
        assert_eq!(
            [&failed["reason"], &failed["attempts"], &failed["max_fix_attempts"]],
            [&json!("ALLOWED_PATHS_VIOLATION"), &json!(attempt), &json!(ATTEMPTS)],
            "{fixed}"
        );
        assert!(attempt == 1 || issue == failed["issue_id"], "the next issue stays the same: {failed}");
        issue = failed["issue_id"].clone();
        assert_eq!(fixed["validation_report"], report, "an attempt that is undone leaves the report as it is");
        assert_eq!(client.state(&run), "VALIDATING");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), broken, "the page isn't written");
    }
    for _ in 0..2 {
        let error = client.refused("launch_fix_next", &run);
        assert_eq!((&error["code"], &error["retryable"]), (&json!("FIX_EXHAUSTED"), &json!(false)), "{error}");
        assert_eq!(
            error["details"],
            json!({"reason": "max_fix_attempts", "issue_id": issue, "max_fix_attempts": ATTEMPTS})
        );
    }
    assert_eq!(client.state(&run), "VALIDATING");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), broken);
    yard.stop();
}

#[test]
fn a_plan_outside_of_the_allowed_paths_fails_the_run() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    let allowed = config["allowed_paths"].as_array_mut().unwrap();
    allowed.retain(|path| !path.as_str().unwrap().contains("blog/"));
    assert_eq!(allowed.len(), 4);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    assert!(until(60_000, || client.state(&run) == "FAILED"), "{}", client.state(&run));
    let failure = client.ok("launch_get_status", &run)["status"]["failure"].clone();
    assert_eq!((&failure["code"], &failure["retryable"]), (&json!("ALLOWED_PATHS_VIOLATION"), &json!(false)));
    let paths = failure["details"]["paths"].as_array().unwrap();
    assert!(!paths.is_empty() && paths.iter().all(|path| path.as_str().unwrap().contains("blog/")), "{failure}");
    let refused = client.refused("launch_resume", &run);
    assert_eq!((&refused["code"], &refused["details"]["failure"]), (&json!("ILLEGAL_STATE"), &failure));
    yard.stop();
}
