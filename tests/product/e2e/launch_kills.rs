//! Launch runs of the real binary that are killed with `kill -9` at random points: in every stage, in repairs and in publication.
//!
//! Three of four runs go from start to branch by themselves. The others stop at each boundary; their working copy is broken in several ways, and
//! repaired step by step. After each run: nothing that was acknowledged is lost, no work item was finished twice, the chain of events is whole,
//! there is one branch, and every artifact has the digest that it has in a run that nothing disturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::running_server::{Yard, assert_gone};

/// Kills in the fast suite.
const FEW: usize = 16;
/// Kills in the slow suite.
const MANY: usize = 1_000;
/// Most events between the start of a server and its end: in a stage of few events, among the drafts, and in a validation, which begins again.
const MOST_EVENTS: [u64; 3] = [5, 30, 60];

#[test]
fn killed_runs_end_like_those_that_nothing_disturbs() {
    kill_runs(FEW);
}

#[test]
#[ignore = "slow: 1,000 restarts"]
fn a_thousand_kills_lose_and_repeat_nothing() {
    kill_runs(MANY);
}

/// A run and what its driver has reached. What is acknowledged stays reached when the server is killed.
struct Driven {
    /// Whether its working copy is broken and repaired.
    is_repaired: bool,
    key: String,
    run: Option<Value>,
    is_broken: bool,
    is_validated: bool,
    is_done: bool,
}

impl Driven {
    fn new(number: usize) -> Self {
        let is_repaired = number % 4 == 1;
        let key = format!("run-{number}");
        Self { is_repaired, key, run: None, is_broken: false, is_validated: false, is_done: false }
    }

    fn start(&self, sample: &Sample) -> Value {
        let mut config = sample.run_config();
        config["advance"] = json!(if self.is_repaired { "step" } else { "auto" });
        json!({"run_config": config, "idempotency_key": self.key})
    }

    /// Takes the run to its end, from wherever it is.
    fn drive(&mut self, client: &mut Client, sample: &Sample, runs: &Path) {
        let started = client.ok("launch_start_run", &self.start(sample));
        let run = run_of(&started);
        if let Some(known) = &self.run {
            assert_eq!((known, &started["replayed"]), (&run, &json!(true)), "an acknowledged run is lost");
        }
        self.run = Some(run.clone());
        loop {
            let status = client.ok("launch_get_status", &run)["status"].clone();
            match status["state"].as_str().unwrap() {
                "VALIDATING" if self.is_repaired && self.is_idle(&status) => self.repair(client, &run, &status, runs),
                "READY_FOR_PR" => drop(client.ok("launch_open_pr", &run)),
                "DONE" => break,
                "FAILED" | "CANCELLED" => panic!("{status}"),
                _ => drop(client.ok("launch_resume", &run)),
            }
        }
        self.is_done = true;
    }

    /// Whether the run waits in the state `VALIDATING` with a report.
    fn is_idle(&self, status: &Value) -> bool {
        let artifacts = status["artifacts"].as_array().unwrap();
        artifacts.iter().any(|artifact| artifact["name"] == "validation_report.json")
    }

    fn repair(&mut self, client: &mut Client, run: &Value, status: &Value, runs: &Path) {
        if !self.is_broken {
            break_pages(&runs.join(run["run_id"].as_str().unwrap()).join("work/site"));
            self.is_broken = true;
        }
        if !self.is_validated {
            let report = client.ok("launch_validate", run)["validation_report"].clone();
            assert_eq!(report["ok"], false, "{report}");
            self.is_validated = true;
        } else if status["open_issues"] == json!([]) {
            client.ok("launch_resume", run);
        } else {
            let fixed = client.call("launch_fix_next", run);
            if fixed["ok"] != true {
                // The validation after an earlier repair was killed.
                assert_eq!(fixed["error"]["details"]["reason"], "report", "{fixed}");
                client.ok("launch_validate", run);
            }
        }
    }
}

/// Breaks the drafts in ways that each have a repair.
fn break_pages(site: &Path) {
    let mut pages: Vec<PathBuf> = codeyard_test_support::real_servers::files_below(site);
    pages.retain(|page| {
        page.extension().is_some_and(|ending| ending == "md") && page.to_string_lossy().contains("tabtidy")
    });
    pages.sort();
    let additions = [
        "\nSee [the guide](/docs/nowhere/).\n",
        "\n* one\n- two\n",
        "\n{{TODO}}\n",
        "\nIt is used by 12,345 people.\n",
    ];
    for (page, addition) in pages.iter().zip(additions.iter().cycle()) {
        let text = fs::read_to_string(page).unwrap();
        fs::write(page, text + addition).unwrap();
    }
    let changes = [("\ntitle:", "\nheadline:"), ("\nfrom tabtidy import", "\nfrom tabtidy import ((")];
    for (sound, broken) in changes {
        let page = pages.iter().find(|page| fs::read_to_string(page).unwrap().contains(sound)).expect("a page with it");
        let text = fs::read_to_string(page).unwrap();
        fs::write(page, text.replacen(sound, broken, 1)).unwrap();
    }
}

/// Numbers that depend on nothing but the seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// One of `0..sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn kill_runs(kills: usize) {
    let sample = Sample::new();
    let mut yard = Yard::serve(&sample.configuration());
    let runs = yard.state.path().join("runs");
    let expected: Vec<BTreeMap<String, String>> = (0..2)
        .map(|number| {
            let mut client = Client::of(&yard);
            let mut calm = Driven { key: format!("calm-{number}"), ..Driven::new(number) };
            calm.drive(&mut client, &sample, &runs);
            client.artifacts(calm.run.as_ref().unwrap())
        })
        .collect();
    let mut dice = Dice(0x5eed);
    let mut killed = 0;
    let mut finished = 0;
    let mut states = BTreeMap::new();
    let mut driven = Driven::new(0);
    while killed < kills || !driven.is_done {
        if driven.is_done {
            finished += 1;
            driven = Driven::new(finished);
        }
        let is_last = killed >= kills;
        let is_killed =
            drive_and_kill(&mut yard, &mut driven, &sample, &runs, if is_last { None } else { Some(&mut dice) });
        if is_killed {
            killed += 1;
            *states.entry(last_state(&driven, &runs)).or_insert(0) += 1;
            // The token is shown at the first start only.
            let state: Arc<tempfile::TempDir> = yard.state.clone();
            let token: String = yard.token.clone();
            yard = Yard::serve_from(state, &sample.configuration(), &[], &[]);
            yard.token = token;
        }
        if driven.is_done {
            check(&driven, &mut Client::of(&yard), &expected[usize::from(driven.is_repaired)], &sample);
        }
    }
    let working = ["CREATED", "INGESTED", "DRAFTING", "VALIDATING", "FIXING", "READY_FOR_PR"];
    if kills == MANY {
        assert!(working.iter().all(|state| states.contains_key(*state)), "some states were never hit: {states:?}");
    }
    eprintln!("{killed} kills, {} runs; state of the run at the kill: {states:?}", finished + 1);
    assert_eq!(sample.branches().len(), finished + 3, "one branch for each run");
    yard.stop();
}

/// Drives the run until it is done, or until the server is killed after a random number of further events. Whether it was killed.
fn drive_and_kill(yard: &mut Yard, driven: &mut Driven, sample: &Sample, runs: &Path, dice: Option<&mut Dice>) -> bool {
    let known = driven.run.clone();
    let state = last_state(driven, runs);
    let earlier = folders(runs);
    let ended = AtomicBool::new(false);
    let mut is_killed = false;
    std::thread::scope(|scope| {
        let of_yard = &*yard;
        let ended = &ended;
        let driver = scope.spawn(move || {
            // A call that the kill cuts short panics.
            let outcome = catch_unwind(AssertUnwindSafe(|| driven.drive(&mut Client::of(of_yard), sample, runs)));
            ended.store(true, Ordering::SeqCst);
            outcome
        });
        if let Some(dice) = dice {
            let log = || log_of(known.as_ref(), runs, &earlier).map_or(0, |log| lines(&log));
            let most = match state.as_str() {
                "VALIDATING" | "FIXING" | "LINKING" if known.is_some() => MOST_EVENTS[2],
                "DRAFTING" => MOST_EVENTS[1],
                _ => MOST_EVENTS[0],
            };
            let more = log() + dice.roll(most) as usize;
            // Between two events too.
            let spins = dice.roll(400_000);
            let reached = until_busy(|| log() > more || ended.load(Ordering::SeqCst));
            (0..spins).for_each(|_| std::hint::spin_loop());
            if reached && !ended.load(Ordering::SeqCst) {
                let below = crate::running_server::descendants(of_yard.pid());
                of_yard.signal(Signal::KILL);
                assert_gone(&below, 10_000);
                is_killed = true;
            }
        }
        let outcome = driver.join().unwrap();
        if !is_killed && let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    if is_killed {
        yard.wait();
    }
    is_killed
}

/// Waits for a condition that may last a millisecond only.
fn until_busy(mut done: impl FnMut() -> bool) -> bool {
    (0..60_000).any(|_| {
        crate::mcp::pause(1);
        done()
    })
}

fn folders(runs: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The log of the run, or of one that isn't among the earlier ones.
fn log_of(run: Option<&Value>, runs: &Path, earlier: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let named = run.and_then(|run| run["run_id"].as_str()).map(|id| runs.join(id));
    let new = || folders(runs).difference(earlier).next().cloned();
    Some(named.or_else(new)?.join("events.ndjson"))
}

fn lines(log: &Path) -> usize {
    fs::read(log).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

/// The state that the log of a run ends in.
fn last_state(driven: &Driven, runs: &Path) -> String {
    let log = driven.run.as_ref().and_then(|run| log_of(Some(run), runs, &BTreeSet::new()));
    let text = log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut changes = events.filter(|event| event["type"] == "RUN_STATE_CHANGED");
    let last = changes.next_back().map(|event| event["payload"]["to"].as_str().unwrap_or_default().to_owned());
    last.unwrap_or_else(|| "CREATED".to_owned())
}

/// Checks a run that is done.
fn check(driven: &Driven, client: &mut Client, expected: &BTreeMap<String, String>, sample: &Sample) {
    let run = driven.run.as_ref().unwrap();
    assert_eq!(&client.artifacts(run), expected, "{run}");
    let id = run["run_id"].as_str().unwrap();
    let own = sample.branches().iter().filter(|branch| branch.contains(id)).count();
    assert_eq!(own, 1, "{run}");
    let events = client.events(run);
    let mut finished = BTreeMap::new();
    for event in events.iter().filter(|event| event["type"] == "WORK_ITEM_FINISHED") {
        *finished.entry(event["payload"]["item"].to_string()).or_insert(0) += 1;
    }
    assert!(finished.values().all(|times| *times == 1), "{finished:?}");
    for kind in ["RUN_CREATED", "PR_OPENED", "RUN_COMPLETED"] {
        assert_eq!(events.iter().filter(|event| event["type"] == kind).count(), 1, "{kind} in {run}");
    }
    let mut before = String::new();
    for (number, event) in events.iter().enumerate() {
        let text = |name: &str| event[name].as_str().unwrap();
        let hashed = format!("{}|{}|{}|{}|{before}", text("event_id"), text("ts"), text("type"), event["payload"]);
        let hash: String = Sha256::digest(hashed).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text("event_id"), format!("e_{:06}", number + 1), "{run}");
        assert_eq!((text("prev_hash"), text("event_hash")), (before.as_str(), hash.as_str()), "{event}");
        before = hash;
    }
}
