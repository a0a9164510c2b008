//! `codeyard bench` on a sample workspace with tiny counts: the report is whole, answers are compared, nothing is left.
//! Nothing here says how fast anything is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::harness::{Place, run};
use crate::real_servers;

const SCENARIOS: [&str; 9] =
    ["latency", "mix", "retained", "cold", "sharing", "repositories", "recovery", "freshness", "telemetry"];

#[test]
fn a_sample_is_measured_and_nothing_is_left_running() {
    let place = Place::new();
    let sample = place.path("sample");
    real_servers::copy_sample("python", &sample);
    let before = contents(&sample);
    let (json, docs) = (place.path("figures.json"), place.path("docs.md"));
    let markers = ["<!-- figures of `codeyard bench`: begin -->", "<!-- figures of `codeyard bench`: end -->"];
    std::fs::write(&docs, format!("before\n{}\n{}\nafter\n", markers[0], markers[1])).unwrap();
    let words = [
        "bench",
        &sample.display().to_string(),
        "--server",
        "ty",
        "--scenario",
        &SCENARIOS.join(","),
        "--clients",
        "1,2",
        "--calls",
        "21",
        "--seconds",
        "1",
        "--json",
        &json.display().to_string(),
        "--write-docs",
        &docs.display().to_string(),
        "--markdown",
    ]
    .map(str::to_owned);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = place.command(&words);
    command.env("CODEYARD_SERVERS_DIR", real_servers::servers_dir()).env("TMPDIR", place.path("tmp"));
    std::fs::create_dir(place.path("tmp")).unwrap();
    let ran = run(&mut command).code(0);
    ran.says(&["seed 1", "files for ty"]);

    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let figures = report["figures"].as_array().unwrap();
    let told: BTreeSet<&str> = figures.iter().map(|figure| figure["scenario"].as_str().unwrap()).collect();
    assert_eq!(told, SCENARIOS.into_iter().collect(), "{report:#}");
    assert!(report["compared"].as_u64().unwrap() > 50, "{report:#}");
    assert_eq!(report["wrong"], 0, "{report:#}");
    assert!(figures.iter().all(|figure| figure["target"].is_object() == figure["met"].is_boolean()), "{report:#}");
    assert!(ran.stdout.contains("| scenario | figure | bare | codeyard |"), "{}", ran.stdout);
    let written = std::fs::read_to_string(&docs).unwrap();
    assert!(written.starts_with("before\n") && written.ends_with("\nafter\n") && written.contains("| latency |"));

    assert_eq!(contents(&sample), before, "nothing is written into the repository");
    let left: Vec<_> = std::fs::read_dir(place.path("tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!is_named_by_a_process(&place.path("tmp")), "a process is left");
}

#[test]
fn what_can_not_be_measured_says_so() {
    let place = Place::new();
    place.run(&["bench", "nowhere"]).code(3).says(&["nowhere"]);
    place.run(&["bench", "."]).code(3).says(&["no files for ty, typescript, clangd"]);
    place.run(&["bench", ".", "--all"]).code(2).says(&["--all"]);
    let help = place.run(&["bench", "--help"]).code(0);
    assert!(help.stdout.contains("codeyard bench --all --write-docs docs/benchmarks.md --check"), "{}", help.stdout);
}

/// All files below a folder with what is in them.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = real_servers::files_below(folder).into_iter();
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Whether any process has this folder in its command line.
fn is_named_by_a_process(folder: &Path) -> bool {
    let folder = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(&folder))
}
