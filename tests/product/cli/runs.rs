//! `runs`: one run after the other as a person meets them, with a running server and without, and the demonstration.

use std::fs;
use std::path::Path;

use codeyard_launch::sample;
use serde_json::json;

use crate::cli::harness::{CommandOutput, Sandbox, run};

use codeyard_test_support::git;

/// The sample as repositories in the sandbox, a configuration of the server, and one of a run.
fn sample_in(sandbox: &Sandbox) -> String {
    let top = sandbox.path("sample");
    sample::write(&top).unwrap();
    for name in ["library", "site"] {
        git::git(&top.join(name), &["init", "--quiet", "--initial-branch=main"]);
        git::git(&top.join(name), &["add", "--all"]);
        git::git(&top.join(name), &["commit", "--quiet", "-m", "first"]);
    }
    let config = sample::run_config(&top, false);
    fs::write(sandbox.path("run.json"), config.to_string()).unwrap();
    fs::write(sandbox.path("run.toml"), toml::to_string(&config).unwrap()).unwrap();
    let list =
        |name: &str| config[name].as_array().unwrap().iter().map(|text| format!("\n  - {text}")).collect::<String>();
    let yaml = format!(
        "schema_version: \"1.0\"\nproduct_slug: tabtidy\nproduct_name: tabtidy\nfamily: cells\ntarget_platform: python\n\
         github_repo_url: {}\ngithub_ref: main\nrequired_sections:{}\nallowed_paths:{}\nsite:\n  repo_url: {}\n  kind: markdown\n",
        config["github_repo_url"],
        list("required_sections"),
        list("allowed_paths"),
        config["site"]["repo_url"],
    );
    fs::write(sandbox.path("run.yaml"), yaml).unwrap();
    let server = format!(
        "[[workspace]]\nname = \"library\"\nroots = [{:?}]\n[runs]\nsources = [{top:?}]\n",
        top.join("library")
    );
    fs::write(sandbox.path("server.toml"), server).unwrap();
    sandbox.path("server.toml").display().to_string()
}

/// `codeyard runs` in the library's folder.
fn runs(sandbox: &Sandbox, words: &[&str]) -> CommandOutput {
    let words: Vec<&str> = std::iter::once("runs").chain(words.iter().copied()).collect();
    let mut command = sandbox.command(&words);
    run(command.current_dir(sandbox.path("sample/library")))
}

/// Checks that a command has printed these texts, to whichever stream.
#[track_caller]
fn prints(ran: &CommandOutput, parts: &[&str]) {
    for part in parts {
        assert!(ran.stdout.contains(part) || ran.stderr.contains(part), "no `{part}` in {ran:#?}");
    }
}

#[test]
fn a_run_is_started_broken_repaired_and_published() {
    let sandbox = Sandbox::new();
    let config = sample_in(&sandbox);
    let serving = sandbox.serve(&["--config", &config]);
    prints(&runs(&sandbox, &["list"]).code(0), &["no runs", "codeyard runs demo"]);
    prints(&runs(&sandbox, &["show", "latest"]).code(3), &["codeyard runs list"]);
    let started = runs(&sandbox, &["start", "../../run.yaml", "--no-follow", "--key", "k"]).code(0);
    let id = started.stdout.trim();
    let shown = runs(&sandbox, &["show", "latest", "--follow"]).code(0);
    prints(&shown, &[id, "state     READY_FOR_PR", "docs DONE", &format!("next      codeyard runs open-pr {id}")]);
    assert!(shown.stderr.contains("gate TruthLock ok"), "{}", shown.stderr);
    assert!(!format!("{}{}", shown.stdout, shown.stderr).contains('\u{1b}'), "no escapes without a terminal");
    // The same start in another form is the same run.
    prints(&runs(&sandbox, &["start", "../../run.toml", "--key", "k"]).code(0), &["exists already", id]);

    let plan = runs(&sandbox, &["artifact", id, "page_plan.json"]).code(0).json();
    let pages = plan["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 9);
    let path =
        pages.iter().map(|page| page["path"].as_str().unwrap()).find(|path| path.ends_with("getting-started.md"));
    let path = path.unwrap();
    let page = sandbox.path("state/runs").join(id).join("work/site").join(path);
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, text + "\nSee [it](/docs/nowhere/). {{TODO}}\n").unwrap();
    let validated = runs(&sandbox, &["validate", &id[id.len() - 8..]]).code(4);
    let next = format!("codeyard runs fix {id} --all");
    prints(&validated, &["state     VALIDATING", "InternalLinks", "TemplateTokens", &next]);
    assert!(!validated.stderr.contains("RepoScout"), "what happened before isn't told again: {}", validated.stderr);
    prints(&runs(&sandbox, &["fix", id, "--all"]).code(0), &["repaired", "READY_FOR_PR"]);
    assert!(!fs::read_to_string(&page).unwrap().contains("TODO"));

    let stat = runs(&sandbox, &["diff", id, "--stat"]).code(0).stdout;
    assert!(stat.contains(&format!("A {path}")) && stat.contains("9 files"), "{stat}");
    let diff = runs(&sandbox, &["diff", id]).code(0).stdout;
    fs::write(sandbox.path("pages.diff"), &diff).unwrap();
    let site = sandbox.path("sample/site");
    git::git(&site, &["apply", "--check", sandbox.path("pages.diff").to_str().unwrap()]);
    assert!(runs(&sandbox, &["diff", id, "--color", "always"]).code(0).stdout.contains("\u{1b}[32m+"));
    prints(&runs(&sandbox, &["artifact", id]).code(0), &["page_plan.json", "validation_report.json"]);
    let events = sandbox.path("events").display().to_string();
    runs(&sandbox, &["artifact", id, "events.ndjson", "-o", &events]).code(0);
    let log = runs(&sandbox, &["logs", id, "--json"]).code(0).stdout;
    assert_eq!(log.lines().count(), fs::read_to_string(&events).unwrap().lines().count());
    prints(&runs(&sandbox, &["logs", id]).code(0), &["run of tabtidy created", "state READY_FOR_PR (was VALIDATING)"]);
    prints(&runs(&sandbox, &["artifact", id, "nope.json"]).code(1), &["INVALID_INPUT", "page_plan.json"]);

    let published = runs(&sandbox, &["open-pr", id]).code(0);
    prints(&published, &["state     DONE", "result    file://"]);
    assert!(!published.stdout.contains("next"), "{}", published.stdout);
    assert_eq!(git::git(&site, &["branch", "--list", "launch/*"]).trim(), format!("launch/{id}/tabtidy"));
    prints(&runs(&sandbox, &["cancel", id]).code(1), &["ILLEGAL_STATE", "next: codeyard runs show RUN"]);

    let second = runs(&sandbox, &["start", "../../run.json", "--no-follow"]).code(0).stdout;
    prints(&runs(&sandbox, &["cancel", second.trim()]).code(0), &["CANCELLED"]);
    prints(&runs(&sandbox, &["show", "r_"]).code(2), &["2 runs have `r_`", "write more of it"]);
    let done = runs(&sandbox, &["list", "--state", "DONE", "--json"]).code(0).json();
    assert_eq!((done["runs"].as_array().unwrap().len(), &done["runs"][0]["run_id"]), (1, &json!(id)));
    let list = runs(&sandbox, &["list", "--product", "tabtidy"]).code(0).stdout;
    assert!(list.starts_with("RUN ") && list.lines().count() == 3, "{list}");
    let url = format!("http://{}/mcp/library/launch", serving.address);
    prints(&runs(&sandbox, &["show", id, "--url", &url, "--token", &serving.token]).code(0), &["DONE"]);
}

#[test]
fn a_run_that_stops_at_each_boundary_is_resumed_to_its_end() {
    let sandbox = Sandbox::new();
    let server = sample_in(&sandbox);
    let _serving = sandbox.serve(&["--config", &server]);
    let mut config = sample::run_config(&sandbox.path("sample"), false);
    config["advance"] = json!("step");
    fs::write(sandbox.path("step.json"), config.to_string()).unwrap();
    let started = runs(&sandbox, &["start", "../../step.json", "--no-follow"]).code(0);
    let id = started.stdout.trim();
    assert_eq!(started.stdout, format!("{id}\n"), "the identifier alone");
    let next = format!("next      codeyard runs resume {id}");
    let shown = runs(&sandbox, &["show", id, "--follow"]).code(0);
    prints(&shown, &["state     PLAN_READY", "docs OUTLINED", &next]);
    prints(&runs(&sandbox, &["resume", id]).code(0), &["state     DRAFT_READY", "docs DRAFTED", &next]);
    prints(&runs(&sandbox, &["resume", id]).code(0), &["state     VALIDATING", "docs DONE", &next]);
    let ready = runs(&sandbox, &["resume", id]).code(0);
    prints(&ready, &["state     READY_FOR_PR", &format!("next      codeyard runs open-pr {id}")]);
    // Once more changes nothing.
    prints(&runs(&sandbox, &["resume", id]).code(0), &["state     READY_FOR_PR"]);
    prints(&runs(&sandbox, &["fix", id]).code(1), &["ILLEGAL_STATE", "READY_FOR_PR"]);
    prints(&runs(&sandbox, &["open-pr", id]).code(0), &["state     DONE"]);
    prints(&runs(&sandbox, &["resume", id]).code(1), &["ILLEGAL_STATE", "DONE"]);
}

#[test]
fn a_configuration_comes_on_standard_input_and_a_fix_repairs_one_issue() {
    let sandbox = Sandbox::new();
    let server = sample_in(&sandbox);
    let _serving = sandbox.serve(&["--config", &server]);
    let from_input = |file: &str| {
        let mut command = sandbox.command(&["runs", "start", "--key", "K", "-"]);
        let input = fs::File::open(sandbox.path(file)).unwrap();
        run(command.current_dir(sandbox.path("sample/library")).stdin(input))
    };
    let started = from_input("run.yaml").code(0);
    prints(&started, &["state     READY_FOR_PR"]);
    let listed = runs(&sandbox, &["list", "--json"]).code(0).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    let id = listed["runs"][0]["run_id"].as_str().unwrap();
    // The same in other forms is the same run.
    for file in ["run.yaml", "run.json"] {
        prints(&from_input(file).code(0), &["exists already, started with the same key", id]);
    }
    fs::write(sandbox.path("bad.yaml"), "product_slug: [\n").unwrap();
    prints(&from_input("bad.yaml").code(2), &["is no valid configuration", "start again"]);

    let site = sandbox.path("state/runs").join(id).join("work/site");
    let plan = runs(&sandbox, &["artifact", id, "page_plan.json"]).code(0).json();
    let mut paths = plan["pages"].as_array().unwrap().iter().map(|page| page["path"].as_str().unwrap());
    let page = site.join(paths.find(|path| path.ends_with("getting-started.md")).unwrap());
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, text.replacen("\n## ", "\n#### ", 1) + "\nSee {{TODO}} here.\n").unwrap();
    let report = runs(&sandbox, &["validate", id]).code(4);
    prints(&report, &["MarkdownLint", "TemplateTokens"]);
    let open = |ran: &CommandOutput| {
        ["MarkdownLint", "TruthLock", "TemplateTokens"].map(|gate| ran.stdout.matches(gate).count())
    };
    assert_eq!(open(&report), [1, 1, 1], "{}", report.stdout);
    // The worst first: the paragraph that nobody has claimed goes, and its token with it.
    let fixed = runs(&sandbox, &["fix", id]).code(4);
    prints(&fixed, &["repaired iss_", "state     VALIDATING", &format!("next      codeyard runs fix {id} --all")]);
    assert_eq!(fixed.stderr.matches("repaired iss_").count(), 1, "{}", fixed.stderr);
    assert_eq!(open(&fixed), [1, 0, 0], "{}", fixed.stdout);
    assert!(fs::read_to_string(&page).unwrap().contains("\n#### "), "the other fault is left");
    prints(&runs(&sandbox, &["fix", id]).code(0), &["repaired iss_", "state     READY_FOR_PR"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), text);
}

#[test]
fn wrong_configurations_are_refused_with_what_to_correct() {
    let sandbox = Sandbox::new();
    let config = sample_in(&sandbox);
    let start = |text: &str, name: &str| {
        fs::write(sandbox.path(name), text).unwrap();
        runs(&sandbox, &["start", &format!("../../{name}"), "--config", &config])
    };
    prints(&start("product_slug: [", "bad.yaml").code(2), &["bad.yaml is no valid configuration", "start again"]);
    let mut wrong = sample::run_config(&sandbox.path("sample"), false);
    (wrong["colour"], wrong["target_platform"]) = (json!("red"), json!("cobol"));
    let refused = start(&wrong.to_string(), "wrong.json").code(1);
    prints(&refused, &["SCHEMA_VALIDATION_FAILED", "colour", "/target_platform", "codeyard runs start --help"]);
    prints(&runs(&sandbox, &["start", "../../missing.json", "--config", &config]).code(2), &["missing.json"]);
    prints(&runs(&sandbox, &["start", "--config", &config]).code(2), &["<CONFIG>"]);
    prints(&runs(&sandbox, &["show", "latest", "--config", &config]).code(3), &["codeyard runs list"]);
}

#[test]
fn without_a_server_a_run_works_in_the_command() {
    let sandbox = Sandbox::new();
    let config = sample_in(&sandbox);
    prints(
        &runs(&sandbox, &["start", "../../run.json", "--config", &config, "--no-follow"]).code(3),
        &["codeyard serve"],
    );
    prints(&runs(&sandbox, &["start", "../../run.json", "--config", &config]).code(0), &["READY_FOR_PR", "open-pr"]);
    prints(&runs(&sandbox, &["open-pr", "latest", "--config", &config]).code(0), &["DONE"]);
}

#[test]
fn the_demonstration_needs_nothing_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = sandbox.command(&["runs", "demo"]);
    let shown = run(command.env("TMPDIR", &temporary)).code(0);
    assert_eq!(shown.stdout.matches("### Usage").count(), 1, "two examples of one section: {}", shown.stdout);
    prints(&shown, &["state     DONE", "9 files", "pip install tabtidy", "--keep DIR"]);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    let kept = sandbox.path("kept");
    let words = ["runs", "demo", "--keep", kept.to_str().unwrap()];
    prints(&sandbox.run(&words).code(0), &["everything is kept in"]);
    assert!(git::git(&kept.join("site"), &["branch", "--list", "launch/*"]).contains("/tabtidy"));
    prints(&sandbox.run(&words).code(1), &["File exists", "--keep"]);
    assert!(!Path::new(&sandbox.path("state")).exists(), "the user's state directory isn't touched");
}
