//! The protocol's conformance suite: exactly the scenarios that `docs/testing.md` lists as passing pass.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::e2e::Yard;
use crate::parts::{node, npm_folder};
use crate::place::Place;
use crate::program::{run, run_well};

/// Rows of the table: a scenario, and whether it passes. Failing ones have a reason.
fn documented() -> BTreeMap<String, bool> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/testing.md")).expect("the document");
    let (_, below) = text.split_once("| scenario | passes | because |").expect("the table");
    let rows = below.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (name, passes, reason) = (cells[1].trim_matches('`').to_owned(), cells[2] == "yes", cells[3]);
        assert!(passes || !reason.is_empty(), "{name}: no reason is given");
        (name, passes)
    })
    .collect()
}

/// A scenario passes if it checked something without failures and warnings.
fn has_passed(checks: &[Value]) -> bool {
    let any = |status: &str| checks.iter().any(|check| check["status"] == status);
    any("SUCCESS") && !any("FAILURE") && !any("WARNING")
}

#[test]
#[ignore = "slow: fetches the conformance suite from npm"]
fn every_scenario_passes_or_has_a_documented_reason() {
    let place = Place::new("python");
    let yard = Yard::serve_with(&place.workspace(), &["--no-auth"]);
    let suite = npm_folder().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let listed = run_well(node().arg(&suite).args(["list", "--server"]));
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"tools-list"), "{listed}");

    let results = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}/mcp", yard.address);
    let mut all = node();
    all.arg(&suite).args(["server", "--suite", "all", "--url", &url, "--output-dir"]).arg(results.path());
    let output = run(&mut all).stdout;
    let passed = names.into_iter().map(|name| {
        let folder = fs::read_dir(results.path()).expect("results").flatten().find(|entry| {
            let of = entry.file_name().to_string_lossy().into_owned();
            of.strip_prefix("server-")
                .and_then(|rest| rest.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with("-2"))
        });
        let folder = folder.unwrap_or_else(|| panic!("{name} wasn't run:\n{output}")).path();
        let checks = fs::read(folder.join("checks.json")).expect("checks");
        (name.to_owned(), has_passed(&serde_json::from_slice::<Vec<Value>>(&checks).expect("a list")))
    });
    assert_eq!(passed.collect::<BTreeMap<_, _>>(), documented(), "docs/testing.md and the suite differ:\n{output}");
    place.assert_untouched();
    yard.stop();
}
