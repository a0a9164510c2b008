//! The scenario `groups`: `search_code` and `locate_symbol` over 60 repositories through one endpoint, for rare and for common names.
//!
//! The repositories are the largest ones among crates at fixed versions and what these depend on, fetched once with `cargo vendor`. No language
//! server takes part. Names are drawn from the sources by seed: a rare one is in one of the read files, a common one in many.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::http_search::answer;
use crate::Bench;
use crate::args::Scenario;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::{self, Corpus, LANGUAGES};
use crate::process::run_tool;
use crate::questions::SeededRandom;
use crate::report::{Figure, Report, Target};
use crate::stats::{CallTimes, precise};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;

/// Crates with much source text: name and version.
const CRATES: [(&str, &str); 37] = [
    ("aws-lc-sys", "0.47.0"),
    ("bzip2-sys", "0.1.13"),
    ("curl-sys", "0.4.91"),
    ("encoding_rs", "0.8.44"),
    ("icu_normalizer", "2.4.0"),
    ("jiff", "0.2.43"),
    ("jsonschema", "0.60.2"),
    ("libc", "0.2.191"),
    ("libgit2-sys", "0.18.8"),
    ("libsqlite3-sys", "0.37.0"),
    ("linux-raw-sys", "0.12.1"),
    ("lzma-sys", "0.1.20"),
    ("onig_sys", "69.9.3"),
    ("regex-automata", "0.4.19"),
    ("ring", "0.17.14"),
    ("rustix", "1.1.6"),
    ("rustls", "0.23.46"),
    ("syn", "3.0.9"),
    ("tantivy", "0.27.0"),
    ("tokio", "1.54.1"),
    ("tracing", "0.1.44"),
    ("tree-sitter-bash", "0.25.1"),
    ("tree-sitter-c", "0.24.2"),
    ("tree-sitter-c-sharp", "0.23.5"),
    ("tree-sitter-cpp", "0.23.4"),
    ("tree-sitter-javascript", "0.25.0"),
    ("tree-sitter-kotlin-ng", "1.1.0"),
    ("tree-sitter-md", "0.5.4"),
    ("tree-sitter-php", "0.25.1"),
    ("tree-sitter-python", "0.25.0"),
    ("tree-sitter-ruby", "0.23.1"),
    ("tree-sitter-rust", "0.24.2"),
    ("tree-sitter-scala", "0.26.4"),
    ("tree-sitter-swift", "0.7.4"),
    ("tree-sitter-typescript", "0.23.2"),
    ("windows-sys", "0.61.2"),
    ("zstd-sys", "2.1.3"),
];
/// The folder of the fetched crates, with the version of this list.
const FOLDER: &str = "groups-1";
/// The repositories of the group: the largest crates.
const REPOSITORIES: usize = 60;
/// Target: source text of the group, in MB.
const MIN_MB: f64 = 400.0;
/// Files without text that crates carry.
const BINARY: [&str; 4] = ["a", "lib", "o", "so"];
/// Files from which names are drawn, and calls of each tool and kind of name.
const READ_FILES: usize = 600;
const CALLS: usize = 200;
/// Warm-up calls that are not counted.
const WARM: usize = 10;
/// Shortest names.
const MIN_COMMON_BYTES: usize = 4;
const MIN_RARE_BYTES: usize = 10;
/// Longest wait for the first indexes.
const INDEXED_WITHIN: Duration = Duration::from_secs(3_600);
const PAUSE: Duration = Duration::from_millis(500);
/// Targets, in milliseconds.
const RARE_P95_MS: f64 = 50.0;
const COMMON_P95_MS: f64 = 150.0;

/// Measures searches over a group.
pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<(), Failure> {
    let repositories = largest(&fetched(bench.corpora_dir()).await?)?;
    let megabytes = repositories.iter().map(|(_, bytes)| precise(*bytes)).sum::<f64>() / 1e6;
    let names = DrawnNames::of(&repositories, bench.args.seed);
    let corpora: Vec<Corpus> = repositories.into_iter().map(|(root, _)| corpus_at(root)).collect();
    let folder = bench.scratch.folder("group")?;
    let server = CodeyardServer::start(&corpora.iter().collect::<Vec<_>>(), &bench.installer, &folder, "", &[]).await?;
    let mut client = server.client_at("@all/code").await?;
    eprintln!("{} repositories, {megabytes:.0} MB: first indexes", corpora.len());
    let began = Instant::now();
    index(&mut client).await?;
    let notes = format!("{megabytes:.0} MB, indexed in {:.0} s", began.elapsed().as_secs_f64());
    let name = format!("{} crates", corpora.len());
    let mut add = |what: String, value: f64, target: Option<Target>, notes: String| {
        let corpus = name.clone();
        let scenario = Scenario::Groups.name();
        report.add(Figure { corpus, scenario, what, bare: None, codeyard: value, target, met: None, notes });
    };
    add("source text of the group, MB".into(), megabytes, Target::at_least(MIN_MB, "≥ 400"), notes);
    let calls = CALLS.min(bench.args.calls);
    for (kind, names, bound) in [("rare", &names.rare, RARE_P95_MS), ("common", &names.common, COMMON_P95_MS)] {
        for (tool, argument) in [("search_code", "query"), ("locate_symbol", "name")] {
            let asked = ask(&mut client, tool, argument, names, calls).await?;
            let notes = format!(
                "{} calls, {:.1} rows each",
                asked.times.len(),
                precise(asked.rows) / precise(asked.times.len().max(1))
            );
            add(format!("{tool}, {kind} names, p50 ms"), asked.times.ms(50.0), None, notes);
            let target = Target::at_most(bound, format!("≤ {bound} ms"));
            add(format!("{tool}, {kind} names, p95 ms"), asked.times.ms(95.0), target, String::new());
        }
    }
    server.stop().await;
    Ok(())
}

/// What calls of one tool took and found.
#[derive(Default)]
struct AskedNames {
    times: CallTimes,
    rows: u64,
}

/// Asks about the names, over and over if there are few. An answer that isn't whole would make the figures too good, so it ends the benchmark.
async fn ask(
    client: &mut McpHttpClient,
    tool: &str,
    argument: &str,
    names: &[String],
    calls: usize,
) -> Result<AskedNames, Failure> {
    let mut asked = AskedNames::default();
    for (nth, name) in names.iter().cycle().take(calls + WARM).enumerate() {
        let arguments = json!({ argument: name }).to_string();
        let began = Instant::now();
        let body = client.call(tool, &arguments).await.map_err(Failure::new)?;
        let took = began.elapsed();
        if nth < WARM {
            continue;
        }
        asked.times.add(took);
        let answer: serde_json::Value =
            serde_json::from_slice(&body).map_err(|error| Failure::new(error.to_string()))?;
        let answer = &answer["result"]["structuredContent"];
        let is_whole = answer["metadata"]["result_completeness"] != "partial";
        let Some(rows) = answer["results"].as_array().filter(|_| is_whole) else {
            return Err(Failure::new(format!("{tool} of {name} gave no whole answer: {answer}")));
        };
        asked.rows += rows.len() as u64;
    }
    Ok(asked)
}

/// Builds the indexes of all workspaces.
async fn index(client: &mut McpHttpClient) -> Result<(), Failure> {
    let began = Instant::now();
    answer(client, "index_repo", "{}").await?;
    while began.elapsed() < INDEXED_WITHIN {
        let status = answer(client, "index_status", "{}").await?;
        let workspaces = status["workspaces"].as_array().map_or(&[][..], Vec::as_slice);
        let is_done = |of: &serde_json::Value| of["index_status"] == "ready" && of["active_job"].is_null();
        if workspaces.len() == REPOSITORIES && workspaces.iter().all(is_done) {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(Failure::new(format!("the indexes were not built within {} s", INDEXED_WITHIN.as_secs())))
}

/// Names that are asked about.
struct DrawnNames {
    rare: Vec<String>,
    common: Vec<String>,
}

impl DrawnNames {
    /// Draws names from the files of the repositories.
    fn of(repositories: &[(PathBuf, u64)], seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let mut files: Vec<PathBuf> = repositories
            .iter()
            .flat_map(|(root, _)| corpus::files_below(root))
            .filter(|path| is_source(path))
            .collect();
        random.shuffle(&mut files);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for text in files.iter().take(READ_FILES).filter_map(|path| fs::read_to_string(path).ok()) {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let words: BTreeSet<&str> =
                words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())).collect();
            for word in words.into_iter().filter(|word| word.len() >= MIN_COMMON_BYTES) {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        let mut rare: Vec<String> = counts
            .iter()
            .filter(|(word, count)| **count == 1 && word.len() >= MIN_RARE_BYTES)
            .map(|(word, _)| word.clone())
            .collect();
        random.shuffle(&mut rare);
        rare.truncate(CALLS + WARM);
        let mut common: Vec<(usize, String)> = counts.into_iter().map(|(word, count)| (count, word)).collect();
        common.sort_unstable_by(|one, other| other.cmp(one));
        common.truncate(CALLS / 4);
        let mut common: Vec<String> = common.into_iter().map(|(_, word)| word).collect();
        random.shuffle(&mut common);
        Self { rare, common }
    }
}

fn is_source(path: &Path) -> bool {
    let endings = ["rs", "c", "h", "cc", "cpp"];
    path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// The repository at a folder. Its language doesn't matter: no language server is asked.
fn corpus_at(root: PathBuf) -> Corpus {
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Corpus { name, root, language: LANGUAGES[0], files: Vec::new() }
}

/// The largest crates with the bytes of their files, in the order of their names.
fn largest(vendored: &Path) -> Result<Vec<(PathBuf, u64)>, Failure> {
    let is_text = |path: &&PathBuf| path.extension().is_none_or(|ending| BINARY.iter().all(|binary| ending != *binary));
    let bytes = |root: &Path| -> u64 {
        let files = corpus::files_below(root);
        files.iter().filter(is_text).filter_map(|path| path.metadata().ok()).map(|about| about.len()).sum()
    };
    let folders = fs::read_dir(vendored).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<(PathBuf, u64)> = folders
        .filter_map(|root| root.canonicalize().ok())
        .map(|root| {
            let bytes = bytes(&root);
            (root, bytes)
        })
        .collect();
    all.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    all.truncate(REPOSITORIES);
    if all.len() < REPOSITORIES {
        let shown = vendored.display();
        return Err(Failure::new(format!("{shown} is incomplete; remove the folder, then run the benchmark again")));
    }
    all.sort_unstable();
    Ok(all)
}

/// The folder of the fetched crates.
async fn fetched(kept: &Path) -> Result<PathBuf, Failure> {
    let there = kept.join(FOLDER);
    if !there.is_dir() {
        eprintln!("fetching {} crates and what they depend on", CRATES.len());
        let fresh = kept.join(format!(".{FOLDER}-{:08x}", rand::random::<u32>()));
        let done = fetch_into(&fresh).await;
        let failed = |error| Failure::new(format!("cannot write {}: {error}; check the free space", there.display()));
        let done = done.and_then(|()| fs::rename(&fresh, &there).map_err(failed));
        // Remove what remains of a failed download.
        let _ = fs::remove_dir_all(&fresh);
        done?;
    }
    Ok(there.join("vendor"))
}

async fn fetch_into(fresh: &Path) -> Result<(), Failure> {
    let source = fresh.join("src");
    let failed = |error| Failure::new(format!("cannot write {}: {error}; check the free space", source.display()));
    fs::create_dir_all(&source).map_err(failed)?;
    corpus::write(&source.join("lib.rs"), "")?;
    let mut manifest =
        "[package]\nname = \"groups\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n".to_owned();
    manifest.push_str("[dependencies]\n");
    for (name, version) in CRATES {
        manifest.push_str(&format!("{name} = \"={version}\"\n"));
    }
    corpus::write(&fresh.join("Cargo.toml"), &manifest)?;
    run_tool("cargo", &["vendor", "--quiet", "vendor"], fresh).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_drawn_by_seed_and_by_how_many_files_have_them() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..8 {
            let text = format!("fn everywhere() {{ only_in_number_{number}(); }} // no\n");
            fs::write(folder.path().join(format!("f{number}.rs")), text).unwrap();
        }
        let drawn = || DrawnNames::of(&[(folder.path().to_owned(), 0)], 7);
        let names = drawn();
        assert_eq!(names.rare.len(), 8, "{:?}", names.rare);
        assert!(names.rare.iter().all(|name| name.starts_with("only_in_number_")));
        assert!(names.common.contains(&"everywhere".to_owned()));
        assert_eq!(drawn().rare, names.rare);
    }
}
