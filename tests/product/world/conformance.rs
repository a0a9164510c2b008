//! The protocol's conformance suite: exactly the scenarios that `docs/internals/testing.md` lists as passing pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::e2e::place::Place;
use crate::running_server::Yard;
use crate::world::parts::{node, npm_folder};
use crate::world::program::{run, run_well};

/// The revisions of MCP that the suite has scenarios for.
const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/// The suite's check of every message of the server.
const SCHEMA: &str = "wire-schema-valid";

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passes,
    /// These checks fail.
    InPart(BTreeSet<String>),
    Fails,
}

/// Rows of the table. Failing ones have a reason.
fn documented() -> BTreeMap<String, Outcome> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/internals/testing.md"))
        .expect("the document");
    let (_, below) = text.split_once("| scenario | passes | because |").expect("the table");
    let rows = below.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        let reason = cells[3];
        let outcome = match cells[2] {
            "yes" => Outcome::Passes,
            "in part" => {
                let (checks, _) = reason.split_once(": ").expect("the checks, then the reason");
                Outcome::InPart(checks.split(", ").map(|check| check.trim_matches('`').to_owned()).collect())
            }
            _ => Outcome::Fails,
        };
        assert!(outcome == Outcome::Passes || !reason.is_empty(), "{name}: no reason is given");
        (name, outcome)
    })
    .collect()
}

fn outcome(name: &str, checks: &[Value]) -> Outcome {
    let of = |statuses: &[&str]| -> BTreeSet<String> {
        let has = |check: &&Value| statuses.iter().any(|status| check["status"] == *status);
        checks.iter().filter(has).map(|check| check["id"].as_str().expect("an id").to_owned()).collect()
    };
    let bad = of(&["FAILURE", "WARNING"]);
    let mut good = of(&["SUCCESS"]);
    assert!(!bad.contains(SCHEMA), "{name}: {checks:?}");
    good.remove(SCHEMA);
    match (good.difference(&bad).next().is_some(), bad.is_empty()) {
        (true, true) => Outcome::Passes,
        (true, false) => Outcome::InPart(bad),
        (false, _) => Outcome::Fails,
    }
}

/// The outcome of every scenario of a run.
fn outcomes(results: &Path) -> BTreeMap<String, Outcome> {
    let folders = fs::read_dir(results).expect("results").flatten();
    folders
        .map(|folder| {
            let label = folder.file_name().to_string_lossy().into_owned();
            let label = label.strip_prefix("server-").expect("a server's scenario");
            // The time of the run follows: its date, a T, its time.
            let name = label.rsplit_once('T').and_then(|(name, _)| name.get(..name.len() - "-2026-01-01".len()));
            let name = name.expect("the time of the run").to_owned();
            let checks = fs::read(folder.path().join("checks.json")).expect("checks");
            let outcome = outcome(&name, &serde_json::from_slice::<Vec<Value>>(&checks).expect("a list"));
            (name, outcome)
        })
        .collect()
}

#[test]
#[ignore = "slow: fetches the conformance suite from npm"]
fn every_scenario_passes_or_has_a_documented_reason() {
    let place = Place::new("python");
    let yard = Yard::serve_with(&place.workspace(), &["--no-auth"]);
    let suite = npm_folder().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let listed = run_well(node().arg(&suite).args(["list", "--server"]));
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    let names: BTreeSet<&str> = names.collect();
    assert!(names.contains("tools-list") && names.contains("server-stateless"), "{listed}");

    let documented = documented();
    assert_eq!(documented.keys().map(String::as_str).collect::<BTreeSet<_>>(), names, "docs/internals/testing.md");
    let url = format!("http://{}/mcp/python/agent", yard.address);
    let mut run_names = BTreeSet::new();
    for revision in REVISIONS.into_iter().map(Some).chain([None]) {
        let results = tempfile::tempdir().expect("a folder");
        let mut all = node();
        all.arg(&suite).args(["server", "--suite", "all", "--url", &url, "--output-dir"]).arg(results.path());
        all.args(revision.iter().flat_map(|revision| ["--spec-version", revision]));
        let output = run(&mut all).stdout;
        for (name, outcome) in outcomes(results.path()) {
            assert_eq!(
                Some(&outcome),
                documented.get(&name),
                "{name} in {revision:?}, docs/internals/testing.md:\n{output}"
            );
            run_names.insert(name);
        }
    }
    assert_eq!(run_names.iter().map(String::as_str).collect::<BTreeSet<_>>(), names, "all were run");
    place.assert_untouched();
    yard.stop();
}
