//! Hostile repositories, served by the real binary beside an innocent one: devices, FIFOs, links, bombs, odd names, odd git data.
//!
//! While each one is indexed and asked about, the innocent workspace is asked, too. Invariants: every question gets an answer; nothing from
//! outside of a repository is in one; what is beside the hostile file is still found; the server isn't started again; its memory is bounded.

mod bombs;
mod git_data;
mod special_files;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use codeyard_base::clock::Instant;
use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::{Mcp, pause};
use crate::running_server::Yard;

/// A repository that is made to do harm.
pub(super) struct Case {
    /// What it is, for the report.
    pub(super) name: String,
    /// Makes it, in a folder that holds `main.py` and `sub/other.py` already.
    make: Box<dyn FnOnce(&Site)>,
    /// Goes on while questions are asked, until the flag is set.
    during: Option<fn(&Site, &AtomicBool)>,
    /// The document that a language server is asked about.
    document: &'static str,
    /// Whether `sub/other.py` must be found.
    finds: bool,
}

impl Case {
    pub(super) fn new(name: impl Into<String>, make: impl FnOnce(&Site) + 'static) -> Self {
        Self { name: name.into(), make: Box::new(make), during: None, document: "main.py", finds: true }
    }

    pub(super) fn during(mut self, work: fn(&Site, &AtomicBool)) -> Self {
        self.during = Some(work);
        self
    }

    pub(super) fn document(mut self, name: &'static str) -> Self {
        self.document = name;
        self
    }

    /// What it ignores or breaks includes `sub/other.py`.
    pub(super) fn hides_all(mut self) -> Self {
        self.finds = false;
        self
    }
}

/// Where a case is.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) root: PathBuf,
    /// A folder outside of it with a secret file, and a git repository with a secret.
    pub(super) outside: PathBuf,
}

impl Site {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// In no answer.
const SECRET: &str = "canary_value_61";
/// Most memory of the server over all cases, in MiB: the debug build, with the pages of mapped index files.
const MOST_MEMORY_MIB: u64 = 1_536;
/// Most attempts at a question of the innocent workspace: a busy machine may need a second one.
const MOST_ATTEMPTS: usize = 3;
/// Most attempts until the index of a hostile repository answers.
const MOST_INDEX_ATTEMPTS: usize = 400;

fn all() -> Vec<Case> {
    let groups = [special_files::cases(), trees::cases(), git_data::cases(), bombs::cases()];
    groups.into_iter().flatten().collect()
}

/// The cases in a folder, and what serves them.
struct Hostile {
    folder: tempfile::TempDir,
    sites: Vec<Site>,
}

impl Hostile {
    fn make(cases: &mut [Case]) -> Self {
        let folder = tempfile::Builder::new().prefix("h").tempdir().expect("a folder");
        let base = fs::canonicalize(folder.path()).expect("a path");
        let outside = base.join("outside");
        fs::create_dir_all(&outside).expect("a folder");
        fs::write(outside.join("secret.py"), format!("topsecret = \"{SECRET}\"\n")).expect("a file");
        git_data::repository(&outside.join("repository"), &format!("topsecret = \"{SECRET}\"\n"));
        let mut sites = Vec::new();
        for (number, case) in cases.iter_mut().enumerate() {
            let site = Site { root: base.join(format!("w{number}")), outside: outside.clone() };
            fs::create_dir_all(site.path("sub")).expect("a folder");
            fs::write(site.path("main.py"), "import sub.other\n\ndef needle_word(): return sub.other.value\n")
                .expect("a file");
            fs::write(site.path("sub/other.py"), "value = 1\nneedle_word_beside = 2\n").expect("a file");
            let make = std::mem::replace(&mut case.make, Box::new(|_| ()));
            make(&site);
            sites.push(site);
        }
        Self { folder, sites }
    }

    fn configuration(&self) -> String {
        let mut text = "[supervision]\nidle_stop_s = 5\nserver_memory_mib = 1024\n".to_owned();
        for (number, site) in self.sites.iter().enumerate() {
            text.push_str(&format!("[[workspace]]\nname = \"w{number}\"\nroots = [{:?}]\n", site.root));
        }
        text
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        // The standard library opens a descriptor for each level of a tree; this tree is deeper than that.
        #[expect(clippy::disallowed_methods, reason = "removes what the test has made")]
        drop(Command::new("rm").arg("-rf").arg(self.folder.path()).status());
    }
}

/// The innocent workspace.
struct Neighbour<'a> {
    place: &'a Place,
    client: Mcp,
    repeated: usize,
    asked: usize,
    slowest_ms: u128,
}

impl Neighbour<'_> {
    fn ask(&mut self, during: &str) {
        for attempt in 0..MOST_ATTEMPTS {
            let began = Instant::now();
            let answer = self.client.call("vscode.lsp.definition", &self.place.definition().0);
            self.asked += 1;
            self.slowest_ms = self.slowest_ms.max(began.elapsed().as_millis());
            match answer {
                Ok(answer) => return self.place.assert_right(&answer),
                Err(failure) if failure.is_timeout() && attempt + 1 < MOST_ATTEMPTS => self.repeated += 1,
                Err(failure) => panic!("during {during}: {} {}", failure.code, failure.message),
            }
        }
    }
}

/// The result of a call, whether it is an error or not. No answer holds the secret.
fn result(client: &mut Mcp, tool: &str, arguments: &Value, during: &str) -> Value {
    let text = client.call_text(tool, arguments);
    assert!(!text.contains(SECRET), "{during}: {tool} shows what is outside: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{during}: {error}: {text}"))
}

/// The paths that a text search finds, as soon as the index answers.
fn found(yard: &Yard, workspace: &str, query: &str, case: &str, neighbour: &mut Neighbour<'_>) -> Vec<String> {
    let mut client = yard.client(&format!("{workspace}/code"));
    for _ in 0..MOST_INDEX_ATTEMPTS {
        let answer = result(&mut client, "search_code", &json!({"query": query, "mode": "text"}), case);
        neighbour.ask(case);
        let content = &answer["result"]["structuredContent"];
        let code = content["error"]["code"].as_str();
        let is_partial = content["metadata"]["result_completeness"] == "partial";
        if is_partial || matches!(code, Some("timeout" | "index_not_ready" | "overloaded" | "index_stale")) {
            pause(100);
            continue;
        }
        client.end();
        let rows = content["results"].as_array().unwrap_or_else(|| panic!("{case}: {answer}"));
        return rows.iter().map(|row| row["path"].as_str().expect("a path").to_owned()).collect();
    }
    panic!("{case}: no index after {MOST_INDEX_ATTEMPTS} attempts");
}

fn attack(yard: &Yard, number: usize, case: &Case, site: &Site, neighbour: &mut Neighbour<'_>) {
    let workspace = format!("w{number}");
    let name = case.name.as_str();
    let found_paths = found(yard, &workspace, "needle_word", name, neighbour);
    if case.finds {
        assert!(found_paths.iter().any(|path| path == "sub/other.py"), "{name}: {found_paths:?}");
    }
    assert_eq!(found(yard, &workspace, "topsecret", name, neighbour), [""; 0], "{name}");
    let mut code = yard.client(&format!("{workspace}/code"));
    for (tool, arguments) in [
        ("get_file_outline", json!({"path": case.document})),
        ("locate_symbol", json!({"name": "needle_word"})),
        ("search_code", json!({"query": "topsecret", "mode": "text", "ref": "main"})),
        ("index_status", json!({})),
    ] {
        drop(result(&mut code, tool, &arguments, name));
        neighbour.ask(name);
    }
    code.end();
    let mut client = yard.client(&workspace);
    let uri = format!("file://{}", site.path(case.document).display());
    let position = json!({"line": 0, "character": 8});
    for (tool, arguments) in [
        ("vscode.lsp.documentSymbols", json!({"uri": uri})),
        ("vscode.lsp.hover", json!({"uri": uri, "position": position})),
        ("vscode.lsp.workspaceSymbols", json!({"query": "needle"})),
        ("vscode.lsp.diagnostics.document", json!({"uri": uri})),
    ] {
        drop(result(&mut client, tool, &arguments, name));
        neighbour.ask(name);
    }
    client.end();
}

/// The most memory that the process ever used, in MiB.
fn peak_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

fn attack_all(mut cases: Vec<Case>) {
    let hostile = Hostile::make(&mut cases);
    let place = Place::new("python");
    let yard = Yard::serve(&(hostile.configuration() + &place.workspace()));
    let mut client = yard.client("python");
    place.ask(&mut client);
    let mut neighbour = Neighbour { place: &place, client, repeated: 0, asked: 0, slowest_ms: 0 };
    let start = peak_mib(yard.pid());
    let began = Instant::now();
    for (number, (case, site)) in cases.iter().zip(&hostile.sites).enumerate() {
        let before = (peak_mib(yard.pid()), Instant::now());
        let done = Arc::new(AtomicBool::new(false));
        let worker = case.during.map(|work| {
            let site = site.clone();
            let done = done.clone();
            std::thread::spawn(move || work(&site, &done))
        });
        attack(&yard, number, case, site, &mut neighbour);
        done.store(true, Relaxed);
        if let Some(worker) = worker {
            worker.join().expect("the worker ends");
        }
        let grown = peak_mib(yard.pid()) - before.0;
        println!("{:>4} {} ms, peak + {grown} MiB: {}", number + 1, before.1.elapsed().as_millis(), case.name);
    }
    let peak = peak_mib(yard.pid());
    println!(
        "{} repositories in {} s; memory {start} to {peak} MiB; the neighbour was asked {} times, repeated {}, slowest {} ms",
        cases.len(),
        began.elapsed().as_secs(),
        neighbour.asked,
        neighbour.repeated,
        neighbour.slowest_ms
    );
    assert!(peak < MOST_MEMORY_MIB, "{peak} MiB");
    place.assert_untouched();
    neighbour.client.end();
    yard.stop();
}

/// Writes a file and makes the folders above it.
pub(super) fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("a file");
}

#[test]
fn hostile_repositories_harm_nobody() {
    let some = all().into_iter().step_by(23).collect::<Vec<_>>();
    assert!(some.len() >= 15);
    attack_all(some);
}

#[test]
#[ignore = "minutes: all hostile repositories"]
fn all_hostile_repositories_harm_nobody() {
    let mut cases = all();
    assert!(cases.len() >= 150, "{}", cases.len());
    // For a second look at one group.
    if let Ok(named) = std::env::var("CODEYARD_HOSTILE") {
        cases.retain(|case| case.name.contains(&named));
    }
    attack_all(cases);
}
