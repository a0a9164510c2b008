//! A soak: real language servers, many clients, edits and kills for hours. What the server uses must not grow, and no answer may change.
//!
//! `CODEYARD_SOAK_MINUTES` sets how long it takes. Invariants: after the first quarter the memory grows by less than 1 MiB per hour; threads,
//! descriptors and watches stay within bounds that don't depend on time; there is no zombie; equal files give equal bytes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use codeyard_base::clock::Instant;
use parking_lot::Mutex;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::{Mcp, pause};
use crate::running_server::{Access, Process, Yard, signal_to};

/// Minutes without the variable.
const MINUTES: u64 = 120;
/// The variable that sets the minutes.
const MINUTES_VARIABLE: &str = "CODEYARD_SOAK_MINUTES";
/// Workspaces of each language.
const PLACES: usize = 4;
/// Concurrent clients.
const CLIENTS: usize = 8;
/// Pause between two samples of what the server uses.
const SAMPLE_MS: u64 = 10_000;
/// Pause between two kills of a language server, in milliseconds.
const KILL_MS: u64 = 7_000;
/// Pause between two edits, in milliseconds.
const EDIT_MS: u64 = 500;
/// Growth of memory after the first quarter that is allowed, in MiB per hour, of a soak that lasts long enough to measure it.
const SLOPE_MIB: f64 = 1.0;
/// The shortest soak whose slope is checked; in a shorter one growth and noise look the same.
const MEASURABLE: Duration = Duration::from_secs(110 * 60);

/// What the process uses at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Duration,
    memory_kib: u64,
    /// The part of the memory that isn't backed by files.
    private_kib: u64,
    threads: u64,
    descriptors: u64,
    watches: u64,
    zombies: u64,
}

impl Sample {
    fn of(pid: u32, at: Duration) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line");
            line.split_whitespace().next().expect("a number").parse().expect("a number")
        };
        let infos: Vec<String> = fs::read_dir(format!("/proc/{pid}/fdinfo"))
            .expect("a folder")
            .flatten()
            .map(|entry| fs::read_to_string(entry.path()).unwrap_or_default())
            .collect();
        let watches = infos.iter().flat_map(|info| info.lines()).filter(|line| line.starts_with("inotify ")).count();
        Self {
            at,
            memory_kib: number("VmRSS:"),
            private_kib: number("RssAnon:"),
            threads: number("Threads:"),
            descriptors: infos.len() as u64,
            watches: watches as u64,
            zombies: zombies(pid),
        }
    }
}

/// Children of the process that have ended and that it hasn't waited for.
fn zombies(pid: u32) -> u64 {
    let stats = fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut words = text.rsplit_once(')')?.1.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse::<u32>().ok()?))
    });
    stats.filter(|(state, parent)| state == "Z" && *parent == pid).count() as u64
}

/// What the clients have done and seen.
#[derive(Default)]
struct Tally {
    calls: AtomicUsize,
    refused: Mutex<BTreeMap<String, usize>>,
    kills: AtomicUsize,
    edits: AtomicUsize,
    wrong: Mutex<Vec<String>>,
    /// The bytes of the first answer to each question.
    known: Mutex<BTreeMap<String, String>>,
    done: AtomicBool,
}

/// Questions whose answer doesn't depend on the edits, by catalog.
fn questions(place: &Place, name: &str) -> Vec<(String, &'static str, Value)> {
    let (definition, _, _) = place.definition();
    let symbols = json!({"uri": definition["uri"]});
    let lsp = name.to_owned();
    vec![
        (lsp.clone(), "vscode.lsp.definition", definition.clone()),
        (lsp.clone(), "vscode.lsp.hover", definition.clone()),
        (lsp.clone(), "vscode.lsp.references", definition),
        (lsp.clone(), "vscode.lsp.documentSymbols", symbols),
        (lsp, "vscode.lsp.workspaceSymbols", json!({"query": "a"})),
        (format!("{name}/code"), "search_code", json!({"query": "return", "mode": "text"})),
    ]
}

/// Asks random questions until it is over.
fn client(yard: &Access, places: &[(String, Place)], seed: usize, tally: &Tally) {
    let mut clients: BTreeMap<String, Mcp> = BTreeMap::new();
    let mut random = seed.wrapping_mul(0x9e37_79b9) | 1;
    while !tally.done.load(Relaxed) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (name, place) = &places[(random >> 33) % places.len()];
        let mut all = questions(place, name);
        let (endpoint, tool, arguments) = all.swap_remove((random >> 45) % all.len());
        let client = clients.entry(endpoint.clone()).or_insert_with(|| yard.client(&endpoint));
        let text = client.call_text(tool, &arguments);
        tally.calls.fetch_add(1, Relaxed);
        judge(&format!("{endpoint} {tool}"), &text, tool, tally);
    }
    clients.into_values().for_each(Mcp::end);
}

fn judge(question: &str, text: &str, tool: &str, tally: &Tally) {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let code =
        answer["error"]["data"]["code"].as_str().or(answer["result"]["structuredContent"]["error"]["code"].as_str());
    if let Some(code) = code {
        let reason = answer["error"]["data"]["details"]["reason"].as_str().unwrap_or_default();
        *tally.refused.lock().entry(format!("{code} {reason}")).or_default() += 1;
        return;
    }
    // Answers of the index name the time of their data.
    let content = &answer["result"]["structuredContent"];
    let bytes = if tool == "search_code" { content["results"].to_string() } else { content.to_string() };
    let mut known = tally.known.lock();
    let first = known.entry(question.to_owned()).or_insert_with(|| bytes.clone());
    if *first != bytes && !content["summary"].as_str().is_some_and(|summary| summary.contains("Passed over")) {
        let mut wrong = tally.wrong.lock();
        if wrong.len() < 20 {
            wrong.push(format!("{question}\n  {first}\n  {bytes}"));
        }
    }
}

/// A pause of the soak in milliseconds.
fn milliseconds(usual: u64, variable: &str) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("milliseconds"))
}

/// Appends to and cuts a file that no question is about, and saves others unchanged.
fn edit(places: &[(String, Place)], tally: &Tally) {
    let mut number = 0;
    while !tally.done.load(Relaxed) {
        number += 1;
        let (_, place) = &places[number % places.len()];
        let path = place.root.join(format!("soak_notes_{}.md", number % 7));
        let written = fs::File::create(&path).and_then(|mut file| file.write_all(format!("# {number}\n").as_bytes()));
        written.expect("a file");
        tally.edits.fetch_add(1, Relaxed);
        pause(milliseconds(EDIT_MS, "CODEYARD_SOAK_EDIT_MS"));
    }
    for (_, place) in places {
        (0..7).for_each(|number| drop(fs::remove_file(place.root.join(format!("soak_notes_{number}.md")))));
    }
}

/// Kills one language server after the other.
fn kill(yard: &Mutex<Yard>, tally: &Tally) {
    let mut number = 0;
    while !tally.done.load(Relaxed) {
        pause(milliseconds(KILL_MS, "CODEYARD_SOAK_KILL_MS"));
        let servers: Vec<Process> =
            ["ty", "clangd", "node", "tsc"].iter().flat_map(|name| yard.lock().running(name)).collect();
        number += 1;
        if let Some(server) = servers.get(number * 7 % servers.len().max(1)) {
            signal_to(server.pid, Signal::KILL);
            tally.kills.fetch_add(1, Relaxed);
        }
    }
}

/// Least squares over the samples, in MiB per hour.
fn slope(samples: &[Sample], memory: fn(&Sample) -> u64) -> f64 {
    let points: Vec<(f64, f64)> =
        samples.iter().map(|sample| (sample.at.as_secs_f64() / 3_600.0, memory(sample) as f64 / 1_024.0)).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let x = mean(|point| point.0);
    let y = mean(|point| point.1);
    let over: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let under: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    over / under
}

fn report(samples: &[Sample], tally: &Tally) {
    println!(
        "{} calls, {} kills, {} edits",
        tally.calls.load(Relaxed),
        tally.kills.load(Relaxed),
        tally.edits.load(Relaxed)
    );
    println!("refused: {:?}", tally.refused.lock());
    for part in samples.chunks(samples.len().div_ceil(12)) {
        let most = |of: fn(&Sample) -> u64| part.iter().map(of).max().unwrap_or(0);
        println!(
            "{:>6} s: {} MiB ({} private), {} threads, {} descriptors, {} watches, {} zombies",
            part[0].at.as_secs(),
            most(|sample| sample.memory_kib) / 1_024,
            most(|sample| sample.private_kib) / 1_024,
            most(|sample| sample.threads),
            most(|sample| sample.descriptors),
            most(|sample| sample.watches),
            most(|sample| sample.zombies)
        );
    }
}

#[test]
#[ignore = "hours: a soak"]
fn a_soak_grows_nothing_and_changes_no_answer() {
    let minutes = std::env::var(MINUTES_VARIABLE).map_or(MINUTES, |text| text.parse().expect("minutes"));
    let samples = ["python", "typescript", "c"];
    let places: Vec<(String, Place)> = (0..PLACES)
        .flat_map(|number| samples.map(|sample| (format!("{sample}{number}"), Place::new(sample))))
        .collect();
    let configuration: String = places
        .iter()
        .map(|(name, place)| format!("[[workspace]]\nname = {name:?}\nroots = [{:?}]\n", place.root))
        .collect();
    let yard = Yard::serve(&configuration);
    places.iter().for_each(|(name, place)| place.ask(&mut yard.client(name)));
    let tally = Tally::default();
    let pid = yard.pid();
    let access = yard.access();
    let yard = Mutex::new(yard);
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let places = &places;
            let tally = &tally;
            let access = &access;
            scope.spawn(move || client(access, places, number + 1, tally));
        }
        scope.spawn(|| edit(&places, &tally));
        scope.spawn(|| kill(&yard, &tally));
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(minutes * 60) && Path::new(&format!("/proc/{pid}")).exists() {
            pause(SAMPLE_MS);
            samples.push(Sample::of(pid, began.elapsed()));
        }
        tally.done.store(true, Relaxed);
    });
    report(&samples, &tally);
    let late = &samples[samples.len() / 4..];
    let private = slope(late, |sample| sample.private_kib);
    let slope = slope(late, |sample| sample.memory_kib);
    println!("memory after the first quarter: {slope:+.1} MiB per hour, private {private:+.1}");
    assert_eq!(*tally.wrong.lock(), [""; 0]);
    if late.last().is_some_and(|last| last.at >= MEASURABLE) {
        assert!(slope < SLOPE_MIB, "{slope} MiB per hour");
    }
    yard.into_inner().stop();
    places.iter().for_each(|(_, place)| place.assert_untouched());
}
