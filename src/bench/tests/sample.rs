//! `codeyard-bench` on a sample workspace with small counts: the report is complete, answers are compared, no process and no file
//! remains. It does not check any duration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use std::process::{Command, Output, Stdio};

use codeyard_test_support::real_servers;

const SCENARIOS: [&str; 9] =
    ["latency", "mix", "retained", "cold", "sharing", "repositories", "recovery", "freshness", "telemetry"];

#[test]
#[ignore = "the slow command runs it: nine scenarios"]
fn a_sample_is_measured_and_no_process_remains() {
    let folder = tempfile::Builder::new().prefix("cy").tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let sample = folder.join("sample");
    real_servers::copy_sample("python", &sample);
    let before = contents(&sample);
    let json = folder.join("figures.json");
    let docs = folder.join("docs.md");
    let markers = ["<!-- figures of `codeyard bench`: begin -->", "<!-- figures of `codeyard bench`: end -->"];
    std::fs::write(&docs, format!("before\n{}\n{}\nafter\n", markers[0], markers[1])).unwrap();
    let args = [
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
    let mut command = bench(&folder, &args);
    command.env("CODEYARD_SERVERS_DIR", real_servers::servers_dir()).env("TMPDIR", folder.join("tmp"));
    std::fs::create_dir(folder.join("tmp")).unwrap();
    let ran = command.output().unwrap();
    let stdout = checked_stdout(&ran, 0, &["seed 1", "files for ty"]);

    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let figures = report["figures"].as_array().unwrap();
    let scenarios: BTreeSet<&str> = figures.iter().map(|figure| figure["scenario"].as_str().unwrap()).collect();
    assert_eq!(scenarios, SCENARIOS.into_iter().collect(), "{report:#}");
    assert!(report["compared"].as_u64().unwrap() > 50, "{report:#}");
    assert_eq!(report["wrong"], 0, "{report:#}");
    assert!(figures.iter().all(|figure| figure["target"].is_object() == figure["met"].is_boolean()), "{report:#}");
    assert!(stdout.contains("| scenario | figure | bare | codeyard |"), "{stdout}");
    let written = std::fs::read_to_string(&docs).unwrap();
    assert!(written.starts_with("before\n") && written.ends_with("\nafter\n") && written.contains("| latency |"));

    assert_eq!(contents(&sample), before, "nothing is written into the repository");
    let left: Vec<_> = std::fs::read_dir(folder.join("tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!is_named_by_a_process(&folder.join("tmp")), "a process is left");
}

/// Sixty packages of three registries and a hundred agents: every answer is right, no start fails, and nothing remains.
#[test]
#[ignore = "slow: it fetches 60 packages and runs 180 language servers"]
fn a_fleet_answers_right_and_no_process_remains() {
    let folder = tempfile::Builder::new().prefix("cy").tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let json = folder.join("figures.json");
    let args = ["--scenario", "fleet", "--json", &json.display().to_string()].map(str::to_owned);
    let mut command = bench(&folder, &args);
    command.env("CODEYARD_SERVERS_DIR", real_servers::servers_dir()).env("TMPDIR", folder.join("tmp"));
    std::fs::create_dir(folder.join("tmp")).unwrap();
    checked_stdout(&command.output().unwrap(), 0, &["60 repositories"]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["wrong"], 0, "{report:#}");
    for figure in report["figures"].as_array().unwrap() {
        let what = figure["what"].as_str().unwrap();
        let is_about_answers =
            ["right answers", "failed start", "not answering"].iter().any(|part| what.contains(part));
        assert!(!is_about_answers || figure["met"] == true, "{figure:#}");
    }
    assert!(!is_named_by_a_process(&folder.join("tmp")), "a process is left");
}

#[test]
fn runs_are_measured_and_no_process_remains() {
    let folder = tempfile::Builder::new().prefix("cy").tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let json = folder.join("figures.json");
    let args = ["--scenario", "runs", "--runs", "2", "--seconds", "1", "--json", &json.display().to_string()];
    let mut command = bench(&folder, &args.map(str::to_owned));
    command.env("CODEYARD_SERVERS_DIR", real_servers::servers_dir()).env("TMPDIR", folder.join("tmp"));
    std::fs::create_dir(folder.join("tmp")).unwrap();
    checked_stdout(&command.output().unwrap(), 0, &["2 of 2, no open issue"]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert!(report["figures"].as_array().unwrap().len() >= 13, "{report:#}");
    let left: Vec<_> = std::fs::read_dir(folder.join("tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty() && !is_named_by_a_process(&folder.join("tmp")), "{left:?}");
}

#[test]
fn an_unmeasurable_path_is_an_error() {
    let folder = tempfile::Builder::new().prefix("cy").tempdir().unwrap();
    let run = |args: &[&str], code, parts: &[&str]| {
        let args: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
        checked_stdout(&bench(folder.path(), &args).output().unwrap(), code, parts)
    };
    run(&["nowhere"], 3, &["nowhere"]);
    run(&["."], 3, &["no files for ty, typescript, clangd"]);
    run(&[".", "--all"], 2, &["--all"]);
    run(&["--help"], 0, &["codeyard bench --all --write-docs docs/internals/measurements --check"]);
}

/// The benchmark with these arguments in the folder `folder`, with its own state directory.
fn bench(folder: &Path, args: &[String]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the binary under test")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_codeyard-bench"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).env("CODEYARD_STATE_DIR", folder.join("state"));
    command.env_remove("CODEYARD_SERVERS_DIR").env_remove("CODEYARD_TOKEN").env_remove("CODEYARD_LOG");
    command
}

/// Standard output, after checking the exit code and that both streams together contain `parts`.
#[track_caller]
fn checked_stdout(ran: &Output, code: i32, parts: &[&str]) -> String {
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(code), "{stdout}\n{stderr}");
    for part in parts {
        assert!(stdout.contains(part) || stderr.contains(part), "{part}\n{stdout}\n{stderr}");
    }
    stdout.into_owned()
}

/// All files below a folder with their contents.
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
