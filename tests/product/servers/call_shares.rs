//! How many of the true call sites clangd finds in published sources that were never built, with the database that codeyard infers.
//!
//! It prints a table; it is a measurement and takes minutes, so it runs only when it is asked for. A site in a branch that this
//! configuration leaves out is counted apart: clangd itself says which lines those are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_lsp::install::{Installer, ProgramStatus};
use codeyard_lsp::registry::Registry;
use codeyard_projects::{ProjectMemory, ProjectRequest, RunBuild, prepare};
use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::bare_process::BareProcess;
use crate::servers::call_sites::{CalledFunction, functions};
use codeyard_test_support::real_servers::{build_folder, files_below, servers_dir};

/// Functions that are asked about in each repository.
const FUNCTIONS: usize = 40;
/// Files of each repository that are parsed to find out whether their headers are there.
const PARSED_FILES: usize = 150;
/// Longest wait for one message.
const PATIENCE: Duration = Duration::from_secs(1_200);
/// The packages, each with the folder below which functions and calls are looked for.
const PACKAGES: [(&str, &str); 5] = [("redis", ""), ("curl", ""), ("libzstd", ""), ("git", ""), ("sqlite3", "")];
/// The packages to measure instead, such as `redis,linux:kernel/`. The kernel is large, so it must be named.
const CHOICE: &str = "CODEYARD_CALL_SHARES";

#[test]
#[ignore = "a measurement: fetches sources with apt and indexes them"]
fn shares_of_calls_without_a_compile_database() {
    println!(
        "| repository | commands | database made in | clangd ready after | call sites | in branches that are off | found | found of all others |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (package, below) in packages() {
        println!("{}", row(&fetched(package), below));
    }
}

#[test]
#[ignore = "a measurement: fetches sources with apt and parses many of them"]
fn shares_of_files_with_all_their_headers() {
    println!("| repository | files parsed | with all their headers |");
    println!("|---|---|---|");
    for (package, below) in packages() {
        println!("{}", header_row(&fetched(package), below));
    }
}

fn packages() -> Vec<(&'static str, &'static str)> {
    static CHOSEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var(CHOICE).unwrap_or_default());
    let named = chosen.split(',').filter(|one| !one.is_empty()).map(|one| one.split_once(':').unwrap_or((one, "")));
    if chosen.is_empty() { PACKAGES.to_vec() } else { named.collect() }
}

/// The unpacked sources of a package.
fn fetched(package: &str) -> PathBuf {
    let folder = build_folder().join("codeyard-sources").join(package);
    let unpacked = || {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.into_iter().next()
    };
    if let Some(found) = unpacked() {
        return found;
    }
    fs::create_dir_all(&folder).expect("a folder");
    let options = source_lists();
    apt(&folder, &options, &["source", "-qq", package]);
    unpacked().expect("the package has sources")
}

/// Options with which apt knows the sources of the machine's release: lists of its own in the build folder, because most machines have
/// only those of programs. Nothing of the machine's apt is changed.
fn source_lists() -> Vec<String> {
    let folder = build_folder().join("codeyard-sources/.apt");
    let lists = folder.join("lists");
    let cache = folder.join("cache");
    let file = folder.join("sources.list");
    let options: Vec<String> = [
        format!("Dir::Etc::sourcelist={}", file.display()),
        "Dir::Etc::sourceparts=-".into(),
        "Dir::Etc::trustedparts=/usr/share/keyrings".into(),
        format!("Dir::State::lists={}", lists.display()),
        format!("Dir::Cache={}", cache.display()),
    ]
    .into_iter()
    .flat_map(|option| ["-o".to_owned(), option])
    .collect();
    if !file.is_file() {
        for folder in [lists.join("partial"), cache] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let format = "$(ORIGIN) deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)";
        let targets = apt(&folder, &[], &["indextargets", "--format", format, "Created-By: Packages"]);
        let of_release = |line: &str| {
            let (origin, source) = line.split_once(' ')?;
            ["Debian", "Ubuntu"].contains(&origin).then(|| format!("{source}\n"))
        };
        let sources: BTreeSet<String> = targets.lines().filter_map(of_release).collect();
        assert!(!sources.is_empty(), "apt knows no sources of Debian or Ubuntu; run `apt-get update` as root");
        let draft = folder.join("draft");
        fs::write(&draft, sources.into_iter().collect::<String>()).expect("a file");
        let with_draft: Vec<String> = options.iter().map(|option| option.replace("sources.list", "draft")).collect();
        apt(&folder, &with_draft, &["update", "-qq"]);
        fs::rename(draft, file).expect("a file");
    }
    options
}

/// The output of apt-get.
fn apt(folder: &Path, options: &[String], arguments: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "a package tool fetches the sources")]
    let outcome = Command::new("apt-get").args(options).args(arguments).current_dir(folder).output();
    let outcome = outcome.expect("apt-get, as Debian and Ubuntu have it");
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "`apt-get {}` failed: {errors}", arguments.join(" "));
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

fn is_of_c(path: &Path, endings: &[&str]) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
}

/// The files of C below `root`, and how long it took to infer their database in `cache`.
fn inferred(root: &Path, cache: &Path) -> (Vec<PathBuf>, Duration) {
    let server = Registry::builtin().servers["clangd"].clone();
    let all: Vec<PathBuf> = files_below(root)
        .into_iter()
        .filter(|path| is_of_c(path, &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"]))
        .collect();
    let memory = ProjectMemory::default();
    let request = ProjectRequest {
        server: &server,
        root,
        top: root,
        files: &all,
        scripts: &[],
        scripts_max: 0,
        cache,
        generated: cache,
        build: RunBuild::Never,
        memory: &memory,
    };
    let started = Instant::now();
    prepare(&request).expect("the cache folder can be written");
    (all, started.elapsed())
}

/// How many files of the database have all their headers, those of their headers included.
fn header_row(root: &Path, below: &str) -> String {
    let root = root.canonicalize().expect("a path");
    let cache = tempfile::tempdir().expect("a folder");
    inferred(&root, cache.path());
    let database = cache.path().join("compile_commands.json");
    restrict(&database, below);
    let commands: Value = serde_json::from_slice(&fs::read(&database).expect("a database")).expect("JSON");
    let commands = commands.as_array().expect("commands");
    let files = commands.iter().map(|command| root.join(text_of(command, "file")));
    // Debian keeps the files before its patches.
    let is_current = |file: &PathBuf| !file.starts_with(root.join(".pc"));
    let files = files.filter(|file| is_of_c(file, &["c", "cc", "cpp", "cxx"]));
    let files: BTreeSet<PathBuf> = files.filter(is_current).collect();
    let step = files.len().div_ceil(PARSED_FILES).max(1);
    let chosen: Vec<&PathBuf> = files.iter().filter(|file| file.is_file()).step_by(step).collect();
    let mut clangd = Clangd::start(&root, cache.path(), "--background-index=false");
    let mut whole = 0;
    for file in &chosen {
        clangd.open(file);
        whole += usize::from(!clangd.without_headers.contains(&uri_of(file)));
        clangd.close(file);
    }
    let share = 100.0 * whole as f64 / chosen.len().max(1) as f64;
    let name = root.file_name().expect("a name").display();
    format!("| {name}{} | {} of {} | {share:.0} % |", shown(below), chosen.len(), files.len())
}

/// A URI of clangd as [`uri_of`] writes it: versions in names of folders have `+`.
fn plain(uri: &str) -> String {
    uri.replace("%2B", "+")
}

fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

fn shown(below: &str) -> String {
    if below.is_empty() { String::new() } else { format!(", `{below}`") }
}

fn row(root: &Path, below: &str) -> String {
    let root = root.canonicalize().expect("a path");
    let cache = tempfile::tempdir().expect("a folder");
    let (all, prepared) = inferred(&root, cache.path());
    let commands = restrict(&cache.path().join("compile_commands.json"), below);
    let texts = all.iter().filter(|path| path.starts_with(root.join(below)) && is_of_c(path, &["c", "h"]));
    let texts: Vec<(PathBuf, String)> = texts
        .filter_map(|path| Some((path.clone(), String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())))
        .collect();
    let asked: Vec<CalledFunction> = functions(&texts).into_iter().take(FUNCTIONS).collect();
    let mut clangd = Clangd::start(&root, cache.path(), "--background-index");
    let started = Instant::now();
    clangd.wait_for_index(&asked[0].file);
    let ready = started.elapsed();
    let mut sites = 0;
    let mut missed = BTreeSet::new();
    for function in &asked {
        let found = clangd.references(function);
        sites += function.calls.len();
        missed.extend(function.calls.difference(&found).map(|call| (function.name.clone(), call.clone())));
    }
    let off = missed.iter().filter(|(_, (file, line))| clangd.is_off(file, *line)).cloned().collect::<BTreeSet<_>>();
    for (name, (file, line)) in missed.difference(&off) {
        let file = file.strip_prefix(&root).expect("inside").display();
        eprintln!("not found: {name} in {file}:{}", line + 1);
    }
    let found = sites - missed.len();
    let share = |of: usize| format!("{:.0} %", 100.0 * found as f64 / of.max(1) as f64);
    format!(
        "| {}{} | {commands} | {:.1} s | {} s | {sites} | {} | {} | {} |",
        root.file_name().expect("a name").display(),
        shown(below),
        prepared.as_secs_f64(),
        ready.as_secs(),
        off.len(),
        share(sites),
        share(sites - off.len()),
    )
}

/// Leaves the commands of sources below a folder. Returns their number.
fn restrict(database: &Path, below: &str) -> usize {
    let text = fs::read_to_string(database).expect("a database");
    let mut commands: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    commands.retain(|command| command["file"].as_str().is_some_and(|file| file.starts_with(below)));
    fs::write(database, Value::Array(commands.clone()).to_string()).expect("a file");
    commands.len()
}

/// A bare clangd that tells which lines it leaves out.
struct Clangd {
    process: BareProcess,
    next_id: u64,
    running: BTreeSet<String>,
    was_running: bool,
    open: BTreeSet<PathBuf>,
    parsed: BTreeSet<String>,
    off: BTreeMap<String, Vec<(u64, u64)>>,
    /// Documents with a header that isn't found.
    without_headers: BTreeSet<String>,
}

impl Clangd {
    fn start(root: &Path, database: &Path, index: &str) -> Self {
        let server = &Registry::builtin().servers["clangd"];
        let located = Installer::with_servers_dir(servers_dir()).locate("clangd", server, None);
        let ProgramStatus::Ready(program) = located else { panic!("{located:?}") };
        #[expect(clippy::disallowed_methods, reason = "the bare server is started without the product")]
        let mut command = Command::new(&program.program);
        command.args([index, "--limit-references=0", "--log=error"]);
        command.arg(format!("--compile-commands-dir={}", database.display())).current_dir(root);
        let mut clangd = Self {
            process: BareProcess::start(command),
            next_id: 0,
            running: BTreeSet::new(),
            was_running: false,
            open: BTreeSet::new(),
            parsed: BTreeSet::new(),
            off: BTreeMap::new(),
            without_headers: BTreeSet::new(),
        };
        let capabilities = json!({
            "window": {"workDoneProgress": true},
            "textDocument": {"inactiveRegionsCapabilities": {"inactiveRegions": true}},
        });
        let params = json!({"processId": std::process::id(), "rootUri": uri_of(root), "capabilities": capabilities});
        clangd.request("initialize", &params);
        clangd.process.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        clangd
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.process.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message["id"] == id && message["method"].is_null() {
                return message["result"].clone();
            }
        }
    }

    /// The next message, after what it says was remembered.
    fn next(&mut self) -> Value {
        let message = self.process.receive(PATIENCE).expect("clangd says something");
        let params = &message["params"];
        let uri = || plain(params["uri"].as_str().or(params["textDocument"]["uri"].as_str()).unwrap_or_default());
        match (message["method"].as_str(), message.get("id")) {
            (Some("$/progress"), _) => match params["value"]["kind"].as_str() {
                Some("begin") => {
                    self.was_running = true;
                    self.running.insert(params["token"].to_string());
                }
                Some("end") => drop(self.running.remove(&params["token"].to_string())),
                _ => {}
            },
            (Some("textDocument/publishDiagnostics"), _) => {
                let mut found = params["diagnostics"].as_array().into_iter().flatten();
                if found.any(|one| one["code"] == "pp_file_not_found") {
                    self.without_headers.insert(uri());
                }
                self.parsed.insert(uri());
            }
            (Some("textDocument/inactiveRegions"), _) => {
                let line = |region: &Value, end: &str| region[end]["line"].as_u64().expect("a line");
                let regions = params["regions"].as_array().into_iter().flatten();
                let regions = regions.map(|region| (line(region, "start"), line(region, "end"))).collect();
                self.off.insert(uri(), regions);
            }
            (Some(_), Some(id)) => {
                let reply = json!({"jsonrpc": "2.0", "id": id, "result": null});
                self.process.send(&reply);
            }
            _ => {}
        }
        message
    }

    /// Opens a document and waits until it is parsed.
    fn open(&mut self, path: &Path) {
        if !self.open.insert(path.to_path_buf()) {
            return;
        }
        let text = String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned();
        let uri = uri_of(path);
        let item = json!({"uri": uri, "languageId": "c", "version": 1, "text": text});
        self.process
            .send(&json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}}));
        while !self.parsed.contains(&uri) {
            self.next();
        }
    }

    fn close(&mut self, path: &Path) {
        let document = json!({"textDocument": {"uri": uri_of(path)}});
        self.process.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didClose", "params": document}));
        self.open.remove(path);
    }

    fn wait_for_index(&mut self, first: &Path) {
        self.open(first);
        while !self.was_running || !self.running.is_empty() {
            self.next();
        }
    }

    fn references(&mut self, function: &CalledFunction) -> BTreeSet<(PathBuf, usize)> {
        self.open(&function.file);
        let params = json!({
            "textDocument": {"uri": uri_of(&function.file)},
            "position": {"line": function.line, "character": function.character},
            "context": {"includeDeclaration": false},
        });
        let found = self.request("textDocument/references", &params);
        let by_uri: BTreeMap<String, &PathBuf> = function.calls.iter().map(|(path, _)| (uri_of(path), path)).collect();
        let place = |item: &Value| {
            let path = by_uri.get(&plain(item["uri"].as_str()?))?;
            Some(((*path).clone(), usize::try_from(item["range"]["start"]["line"].as_u64()?).ok()?))
        };
        found.as_array().into_iter().flatten().filter_map(place).collect()
    }

    /// Whether a line is in a branch that this configuration leaves out.
    fn is_off(&mut self, file: &Path, line: usize) -> bool {
        self.open(file);
        let uri = uri_of(file);
        while !self.off.contains_key(&uri) {
            self.next();
        }
        self.off[&uri].iter().any(|(start, end)| (*start..=*end).contains(&(line as u64)))
    }
}
