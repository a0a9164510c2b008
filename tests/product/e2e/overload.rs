//! More work than a language server can do, and a neighbour beside heavy work: figures of the real program. The fast tests of the rules are
//! in `src/engine/admission/overload.rs` and `tests/engine`.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use codeyard_base::clock::Instant;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::pause;
use crate::running_server::{Access, Yard};

/// Time that the language server takes for an answer, in milliseconds.
const TAKES_MS: u64 = 20;
/// Clients that offer too much. Each asks at random times of a fixed rate, as independent clients do, unless its last answer is late.
const CLIENTS: u64 = 256;
/// Offered load, in capacities of the language server.
const FACTOR: u64 = 10;
/// Characters of a line of the document, so that each question is another one.
const LINE: usize = 1_000;

/// How one call ended.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Time since the start of the test.
    at: Duration,
    took: Duration,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    Overloaded,
    Failed,
}

/// A workspace with a busy language server.
fn busy(folder: &Path, name: &str, flags: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/busy_lsp.py");
    format!(
        "[languages.busy]\nextensions = [\"busy\"]\n[servers.busy]\nlanguages = [\"busy\"]\ngroup = \"busy\"\n\
         command = [\"python3\", {script:?}{flags}]\n{}",
        workspace(folder, name)
    )
}

fn workspace(folder: &Path, name: &str) -> String {
    let root = folder.join(name);
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("a.busy"), format!("{}\n", "z".repeat(LINE)).repeat(500)).expect("a file");
    (0..50).for_each(|number| fs::write(root.join(format!("file{number}.busy")), "z\n").expect("a file"));
    format!("[[workspace]]\nname = {name:?}\nroots = [{root:?}]\n")
}

/// Questions that were never asked before.
#[derive(Default)]
struct Questions(AtomicUsize);

impl Questions {
    fn next(&self, root: &Path) -> Value {
        let number = self.0.fetch_add(1, Relaxed);
        let uri = format!("file://{}", root.join("a.busy").display());
        json!({"uri": uri, "position": {"line": number / LINE % 500, "character": number % LINE}})
    }
}

struct Load<'a> {
    access: &'a Access,
    root: &'a Path,
    questions: &'a Questions,
    began: Instant,
    samples: Mutex<Vec<Sample>>,
}

impl Load<'_> {
    /// `clients` ask for a time, each once in `every_ms` on average. 0: as soon as they have an answer.
    fn run(&self, clients: u64, every_ms: u64, for_ms: u64) -> Vec<Sample> {
        let ends = Instant::now() + Duration::from_millis(for_ms);
        std::thread::scope(|scope| {
            for number in 0..clients {
                scope.spawn(move || self.client(number + 1, every_ms, ends));
            }
        });
        std::mem::take(&mut self.samples.lock())
    }

    fn client(&self, seed: u64, every_ms: u64, ends: Instant) {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Independent requests arrive after gaps that are distributed exponentially.
        let mut gap = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let part = ((random >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
            Duration::from_secs_f64(-part.ln() * every_ms as f64 / 1_000.0)
        };
        pause(gap().as_millis() as u64);
        let mut client = self.access.client("load");
        let mut due = Instant::now();
        let mut samples = vec![];
        while Instant::now() < ends {
            let asked = Instant::now();
            let text = client.call_text("vscode.lsp.hover", &self.questions.next(self.root));
            let outcome = match () {
                () if text.contains("\"overloaded\"") => Outcome::Overloaded,
                () if text.contains("busy yyy") => Outcome::Answered,
                () => Outcome::Failed,
            };
            samples.push(Sample { at: self.began.elapsed(), took: asked.elapsed(), outcome });
            due = (due + gap()).max(Instant::now());
            pause(due.saturating_duration_since(Instant::now()).as_millis() as u64);
        }
        client.end();
        self.samples.lock().extend(samples);
    }
}

/// The time within which `percent` of the answers came, in milliseconds.
fn percentile(samples: &[Sample], percent: f64) -> f64 {
    let answered = samples.iter().filter(|sample| sample.outcome == Outcome::Answered);
    let mut times: Vec<f64> = answered.map(|sample| sample.took.as_secs_f64() * 1_000.0).collect();
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * percent / 100.0) as usize]
}

fn count(samples: &[Sample], outcome: Outcome) -> usize {
    samples.iter().filter(|sample| sample.outcome == outcome).count()
}

#[test]
fn an_overloaded_language_server_gets_no_more_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path").join("load");
    let yard = Yard::serve(&busy(root.parent().expect("a folder"), "load", ", \"--takes-ms\", \"25\""));
    let access = yard.access();
    let questions = Questions::default();
    let load =
        Load { access: &access, root: &root, questions: &questions, began: Instant::now(), samples: Mutex::default() };
    let answered = || count(&load.run(1, 0, 200), Outcome::Answered) > 1;
    assert!(crate::mcp::until(30_000, answered), "it starts");
    // What they ask at first takes 1.6 s; who is refused asks again at once.
    let over = load.run(64, 0, 2_500);
    assert!(count(&over, Outcome::Overloaded) > 0 && count(&over, Outcome::Answered) > 0);
    assert!(crate::mcp::until(30_000, answered), "it recovers");
    yard.stop();
}

#[test]
#[ignore = "minutes: ten times the capacity of a language server for two minutes"]
fn ten_times_the_capacity_for_two_minutes() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path").join("load");
    let yard =
        Yard::serve(&busy(root.parent().expect("a folder"), "load", &format!(", \"--takes-ms\", \"{TAKES_MS}\"")));
    let access = yard.access();
    let questions = Questions::default();
    let load =
        Load { access: &access, root: &root, questions: &questions, began: Instant::now(), samples: Mutex::default() };
    load.run(1, 0, 2_000);
    // Half of the capacity; then all of it.
    let normal = load.run(4, 8 * TAKES_MS, 20_000);
    let peak = count(&load.run(2, 0, 10_000), Outcome::Answered) as f64 / 10.0;
    let over_ms = 120_000;
    let over = load.run(CLIENTS, CLIENTS * TAKES_MS / FACTOR, over_ms);
    let ended = load.began.elapsed();
    let after = load.run(4, 8 * TAKES_MS, 15_000);
    let goodput = count(&over, Outcome::Answered) as f64 * 1_000.0 / over_ms as f64;
    let recovered = after
        .iter()
        .filter(|sample| sample.outcome != Outcome::Answered || sample.took.as_millis() as u64 > 5 * TAKES_MS)
        .map(|sample| sample.at - ended)
        .max()
        .unwrap_or_default();
    println!(
        "normal: p50 {:.1} ms, p99 {:.1} ms; peak {peak:.1}/s",
        percentile(&normal, 50.0),
        percentile(&normal, 99.0)
    );
    println!(
        "overload: offered {:.0}/s, goodput {goodput:.1}/s, refused {}, failed {}, p50 {:.1} ms, p99 {:.1} ms, most {:.1} ms",
        over.len() as f64 * 1_000.0 / over_ms as f64,
        count(&over, Outcome::Overloaded),
        count(&over, Outcome::Failed),
        percentile(&over, 50.0),
        percentile(&over, 99.0),
        percentile(&over, 100.0)
    );
    let begins = over.iter().map(|sample| sample.at).min().unwrap_or_default();
    let (first, later): (Vec<_>, Vec<_>) =
        over.iter().copied().partition(|sample| sample.at - begins < Duration::from_secs(1));
    println!(
        "in the first second: {} answered, most {:.1} ms; later: p99 {:.1} ms, most {:.1} ms",
        count(&first, Outcome::Answered),
        percentile(&first, 100.0),
        percentile(&later, 99.0),
        percentile(&later, 100.0)
    );
    println!("recovered after {} ms; p99 then {:.1} ms", recovered.as_millis(), percentile(&after, 99.0));
    assert_eq!((count(&normal, Outcome::Answered), count(&over, Outcome::Failed)), (normal.len(), 0));
    assert!(goodput >= 0.9 * peak, "{goodput} of {peak}");
    assert!(recovered.as_secs() < 10, "{recovered:?}");
    yard.stop();
}

/// Times of a neighbour's questions, in turns without and with an attack.
#[test]
#[ignore = "minutes: a neighbour beside a language server that pushes or answers all the time"]
fn a_neighbour_of_a_heavy_server() {
    let heavy = [("pushes of 100 KB", ", \"--push-kb\", \"100\""), ("answers of 100 KB", ", \"--answer-kb\", \"100\"")];
    for (name, flags) in heavy {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::new("python");
        let root = folder.path().canonicalize().expect("a path").join("load");
        let configuration = busy(root.parent().expect("a folder"), "load", flags) + &place.workspace();
        let yard = Yard::serve(&configuration);
        let access = yard.access();
        let questions = Questions::default();
        let mut neighbour = yard.client("python");
        place.ask(&mut neighbour);
        let load = Load {
            access: &access,
            root: &root,
            questions: &questions,
            began: Instant::now(),
            samples: Mutex::default(),
        };
        load.run(1, 0, 1_000);
        let (definition, _, _) = place.definition();
        let note = place.root.join("neighbour_notes.md");
        let mut quiet = vec![];
        let mut beside = vec![];
        for turn in 0..20 {
            let attacks = turn % 2 == 1;
            let into = if attacks { &mut beside } else { &mut quiet };
            if attacks {
                fs::write(root.join("attack"), "").expect("a file");
            }
            std::thread::scope(|scope| {
                if attacks && name.starts_with("answers") {
                    scope.spawn(|| load.run(4, 0, 3_000));
                }
                let ends = Instant::now() + Duration::from_millis(3_000);
                while Instant::now() < ends {
                    // A change of any file means that the answer isn't a retained one.
                    fs::write(&note, format!("{}\n", into.len())).expect("a file");
                    let asked = Instant::now();
                    let text = neighbour.call_text("vscode.lsp.hover", &definition);
                    let outcome = if text.contains("\"contents\"") { Outcome::Answered } else { Outcome::Failed };
                    into.push(Sample { at: load.began.elapsed(), took: asked.elapsed(), outcome });
                    pause(5);
                }
            });
            fs::remove_file(root.join("attack")).ok();
            pause(500);
        }
        fs::remove_file(&note).expect("a file");
        println!(
            "{name}: {} and {} questions, p50 {:.2} and {:.2} ms, p99 {:.2} and {:.2} ms",
            quiet.len(),
            beside.len(),
            percentile(&quiet, 50.0),
            percentile(&beside, 50.0),
            percentile(&quiet, 99.0),
            percentile(&beside, 99.0)
        );
        assert_eq!((count(&quiet, Outcome::Failed), count(&beside, Outcome::Failed)), (0, 0));
        neighbour.end();
        yard.stop();
    }
}

/// Each question outlasts its time, while 33 servers push diagnostics of 100 KB without a pause.
#[test]
#[ignore = "minutes: 33 hostile language servers for half a minute"]
fn calls_end_at_their_deadline_beside_hostile_servers() {
    const HOSTILE: usize = 33;
    let folder = tempfile::tempdir().expect("a folder");
    let parent = folder.path().canonicalize().expect("a path");
    // The answer takes so long only where no server pushes.
    let mut configuration = busy(&parent, "load", ", \"--push-kb\", \"100\", \"--takes-ms\", \"10000\"");
    for number in 0..HOSTILE {
        configuration += &workspace(&parent, &format!("hostile{number}"));
    }
    let yard = Yard::serve(&configuration);
    let access = yard.access();
    for number in 0..HOSTILE {
        let name = format!("hostile{number}");
        let root = parent.join(&name);
        fs::write(root.join("attack"), "").expect("a file");
        let mut client = access.client(&name);
        client.call_text("vscode.lsp.hover", &Questions::default().next(&root));
        client.end();
    }
    let root = parent.join("load");
    let questions = Questions::default();
    let load =
        Load { access: &access, root: &root, questions: &questions, began: Instant::now(), samples: Mutex::default() };
    let samples = load.run(4, 0, 30_000);
    let mut times: Vec<u128> = samples.iter().map(|sample| sample.took.as_millis()).collect();
    times.sort_unstable();
    let load_average = fs::read_to_string("/proc/loadavg").expect("the load average");
    println!("{} calls, from {} to {} ms, load {load_average}", times.len(), times[0], times[times.len() - 1]);
    assert!(times[times.len() / 2] >= 1_900, "most calls last until their deadline: {times:?}");
    assert!(times[times.len() - 1] <= 2_100, "{times:?}");
    yard.stop();
}
