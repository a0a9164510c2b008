//! One root on a real disk, with a real git.

mod blob_paths;
mod failed_reads;
mod git_forms;
mod imports;
mod interrupted_gc;
mod machine_written;
mod navigator;
mod qualified_names;
mod round_trip;
mod shared_repositories;
mod user_queries;
mod working_tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Project;
use crate::JobError;
use crate::settings::IndexSettings;
use codeyard_model::code::{
    CodeError, Completeness, Freshness, FreshnessPolicy, IndexingStatus, JobMode, JobStatus, LocateBy, LocateQuery,
    OutlineQuery, ResultRows, ResultType, RowOptions, SchemaStatus, SearchMode, SearchQuery,
};

/// The entry of readers of git. As a test it does nothing.
#[test]
fn reader_entry() {
    codeyard_git::testing::run_if_reader();
}

struct TestRoot {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl TestRoot {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        let place = Self { dir, root };
        fs::create_dir_all(&place.root).unwrap();
        files.iter().for_each(|(path, text)| place.write(path, text));
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn project(&self) -> Project {
        self.project_of(&self.root)
    }

    fn project_of(&self, root: &Path) -> Project {
        codeyard_git::testing::use_test_binary("project::tests::reader_entry");
        Project::new(&self.dir.path().join("state"), root, false, IndexSettings::new(2, 1 << 20, 1 << 18)).unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }

    fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
    codeyard_process::git::run_git(root, &[&identity[..], arguments].concat()).unwrap()
}

fn sync(project: &Project, reference: Option<&str>) -> super::super::JobSummary {
    let ticket = project.prepare(reference, false).unwrap_or_else(|active| panic!("{active:?}"));
    project.run(&ticket).unwrap()
}

fn query(text: &str, mode: SearchMode) -> SearchQuery {
    let shape = RowOptions { limit: 50, ..RowOptions::default() };
    SearchQuery { text: text.to_owned(), mode, shape, ..SearchQuery::default() }
}

fn lines_at(project: &Project, text: &str, reference: Option<&str>) -> Vec<String> {
    let mut query = query(text, SearchMode::Text);
    query.shape.reference = reference.map(str::to_owned);
    let found = project.search(&query, &|| false).unwrap();
    let shown = |row: &codeyard_model::code::ResultRow| {
        format!("{}:{}:{}", row.path, row.line_start, row.text.as_deref().unwrap_or(""))
    };
    found.rows.iter().map(shown).collect()
}

fn lines(project: &Project, text: &str) -> Vec<String> {
    lines_at(project, text, None)
}

fn located(project: &Project, by: LocateBy) -> Result<ResultRows, CodeError> {
    let shape = RowOptions { limit: 10, ..RowOptions::default() };
    project.locate(&LocateQuery { by, kind: None, shape }, &|| false).map_err(|refused| refused.code)
}

const RUST: &str = "//! Harbour.\n\n/// Where ships lie.\npub struct Harbour {\n    /// How many.\n    ships: usize,\n}\n\nimpl Harbour {\n    /// Lets one in.\n    pub fn admit(&mut self) {\n        self.ships += 1;\n    }\n}\n";

#[test]
fn an_index_is_built_searched_and_reopened() {
    let place =
        TestRoot::new(&[("src/harbour.rs", RUST), ("README.md", "# Harbour\n\nShips lie here.\n"), ("a.bin", "x\0y")]);
    let project = place.project();
    assert_eq!(project.metadata().indexing, IndexingStatus::NotIndexed);
    assert_eq!(project.schema(), (SchemaStatus::NotIndexed, None));
    assert!(!place.dir.path().join("state").join("index.sqlite").exists());
    project.watch();
    let published = sync(&project, None);
    assert_eq!((published.files, published.changed), (2, 3));
    assert_eq!(
        lines(&project, "ships"),
        [
            "README.md:3:Ships lie here.",
            "src/harbour.rs:3:/// Where ships lie.",
            "src/harbour.rs:6:    ships: usize,",
            "src/harbour.rs:12:        self.ships += 1;"
        ]
    );
    let metadata = project.metadata();
    assert_eq!(
        (metadata.freshness, metadata.indexing, metadata.reference.as_str()),
        (Freshness::Fresh, IndexingStatus::Ready, "live")
    );
    let status = project.status(None).unwrap();
    assert_eq!(status.left_out, [("binary", 1)]);
    assert_eq!((status.recent_jobs.len(), status.recent_jobs[0].status), (1, JobStatus::Published));
    assert_eq!(project.checks(), (true, true));
    assert_eq!(project.verify().unwrap(), Vec::<String>::new());
    // Another process reads the same index.
    let again = place.project();
    assert_eq!(again.metadata().freshness, Freshness::Stale);
    again.watch();
    assert_eq!(sync(&again, None).changed, 3, "young stamps hide nothing");
    assert_eq!(lines(&again, "lie here"), ["README.md:3:Ships lie here."]);
    // A job that finds no change publishes nothing.
    let generation = |project: &Project| project.index_dir.reader().unwrap().generation().unwrap();
    let before = generation(&again);
    assert_eq!(sync(&again, None).symbols, project.status(None).unwrap().project.symbol_count);
    assert_eq!(generation(&again), before);
}

#[test]
fn symbols_are_found_by_name_and_by_handle() {
    let place = TestRoot::new(&[("src/harbour.rs", RUST)]);
    let project = place.project();
    project.watch();
    sync(&project, None);
    let found = located(&project, LocateBy::Name("admit".into())).unwrap();
    let row = &found.rows[0];
    assert_eq!(
        (row.path.as_str(), row.line_start, row.qualified_name.as_deref()),
        ("src/harbour.rs", 11, Some("harbour::Harbour::admit"))
    );
    for by in [
        LocateBy::SymbolId(row.symbol_id.clone().unwrap()),
        LocateBy::StableId(row.symbol_stable_id.clone().unwrap()),
        LocateBy::ResultId(row.result_id.clone()),
    ] {
        assert_eq!(located(&project, by).unwrap().rows[0].name, "admit");
    }
    assert_eq!(located(&project, LocateBy::SymbolId("x".into())), Err(CodeError::SymbolNotFound));
    assert_eq!(located(&project, LocateBy::ResultId("x".into())), Err(CodeError::ResultNotFound));
    // The symbol moves to another file and some lines down.
    fs::remove_file(place.root.join("src/harbour.rs")).unwrap();
    place.write("src/deep/port.rs", &format!("// A line.\n{RUST}"));
    project.mark_all_changed();
    sync(&project, None);
    assert_eq!(located(&project, LocateBy::SymbolId(row.symbol_id.clone().unwrap())), Err(CodeError::SymbolNotFound));
    let moved = located(&project, LocateBy::StableId(row.symbol_stable_id.clone().unwrap())).unwrap();
    assert_eq!((moved.rows[0].path.as_str(), moved.rows[0].line_start), ("src/deep/port.rs", 12));
}

#[test]
fn symbols_with_the_same_key_get_different_stable_ids() {
    let place = TestRoot::new(&[("a.rs", "pub fn main() {}\n"), ("b.rs", "fn main() { }\n")]);
    let project = place.project();
    sync(&project, None);
    let found = located(&project, LocateBy::Name("main".into())).unwrap();
    let handles: std::collections::BTreeSet<_> =
        found.rows.iter().map(|row| row.symbol_stable_id.clone().unwrap()).collect();
    assert_eq!((found.rows.len(), handles.len()), (2, 2));
    for row in &found.rows {
        let back = located(&project, LocateBy::StableId(row.symbol_stable_id.clone().unwrap())).unwrap();
        assert_eq!(back.rows[0].path, row.path);
    }
}

#[test]
fn edits_are_found_before_and_after_they_are_indexed() {
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n"), ("gone.rs", "fn gone() {}\n")]);
    let project = place.project();
    project.watch();
    sync(&project, None);
    place.write("a.rs", "fn another() {}\n");
    place.write("new.rs", "fn another_new() {}\n");
    fs::remove_file(place.root.join("gone.rs")).unwrap();
    project.mark_changed(["a.rs", "new.rs", "gone.rs"].map(str::to_owned));
    let expected = ["a.rs:1:fn another() {}", "new.rs:1:fn another_new() {}"];
    assert_eq!(lines(&project, "another"), expected);
    assert_eq!(project.metadata().freshness, Freshness::Stale);
    assert!(lines(&project, "gone").is_empty());
    let mut strict = query("another", SearchMode::Text);
    strict.shape.freshness = Some(FreshnessPolicy::Strict);
    let refused = project.search(&strict, &|| false).unwrap_err();
    assert_eq!(refused.code, CodeError::IndexStale);
    // Files that git ignores don't count as changes.
    place.write("target/.ignore", "*\n");
    place.write("target/made.rs", "fn another_made() {}\n");
    project.mark_changed(["target/made.rs".to_owned(), "target/.ignore".to_owned()]);
    assert_eq!(lines(&project, "another"), expected);
    let published = sync(&project, None);
    assert_eq!((published.files, published.changed), (2, 2));
    assert_eq!(project.metadata().freshness, Freshness::Fresh);
    assert_eq!(lines(&project, "another"), expected);
    assert_eq!(located(&project, LocateBy::Name("gone".into())).unwrap().rows, []);
    assert_eq!(located(&project, LocateBy::Name("another_new".into())).unwrap().rows.len(), 1);
    assert!(project.search(&strict, &|| false).is_ok());
}

#[test]
fn branches_commits_and_worktrees_share_contents() {
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n"), ("b.rs", "fn two() {}\n")]);
    place.git(&["init", "-q"]);
    let first = place.commit();
    let project = place.project();
    project.watch();
    assert_eq!(sync(&project, None).changed, 2);
    assert_eq!(project.metadata().reference, "main");
    place.git(&["checkout", "-q", "-b", "feature"]);
    place.write("a.rs", "fn three() {}\n");
    place.commit();
    project.mark_all_changed();
    sync(&project, None);
    assert_eq!(project.metadata().reference, "feature");
    let refused = project.status(Some("main")).unwrap_err();
    assert_eq!(refused.code, CodeError::RefNotIndexed);
    assert_eq!(sync(&project, Some("main")).files, 2);
    assert_eq!(lines_at(&project, "fn", Some("main")), ["a.rs:1:fn one() {}", "b.rs:1:fn two() {}"]);
    assert_eq!(
        lines_at(&project, "fn", Some(&first)),
        ["a.rs:1:fn one() {}", "b.rs:1:fn two() {}"],
        "it shows the same commit"
    );
    assert_eq!(lines(&project, "fn"), ["a.rs:1:fn three() {}", "b.rs:1:fn two() {}"]);
    // The branch moves: its index is stale.
    place.git(&["branch", "-f", "main", "feature"]);
    assert_eq!(project.status(Some("main")).unwrap().metadata.freshness, Freshness::Stale);
    sync(&project, Some("main"));
    let status = project.status(Some("main")).unwrap();
    assert_eq!((status.metadata.freshness, status.metadata.completeness), (Freshness::Fresh, Completeness::Complete));
    assert_eq!(lines_at(&project, "three", Some("main")), ["a.rs:1:fn three() {}"]);
    assert_eq!(sync_error(&project, "none"), JobError::NoSuchRef("none".into()));
    // A second working tree parses nothing again.
    let tree = place.dir.path().canonicalize().unwrap().join("tree");
    place.git(&["worktree", "add", "-q", tree.to_str().unwrap(), "main"]);
    let other = place.project_of(&tree);
    other.watch();
    let contents = project.stats().unwrap().contents.0;
    sync(&other, None);
    assert_eq!(other.stats().unwrap().contents.0, contents);
    assert_eq!(lines(&other, "three"), ["a.rs:1:fn three() {}"]);
    // Contents that nothing refers to are deleted.
    drop(other);
    fs::remove_dir_all(&tree).unwrap();
    place.git(&["worktree", "prune"]);
    place.git(&["checkout", "-q", "--detach"]);
    place.git(&["branch", "-q", "-D", "main"]);
    let swept = project.collect_garbage().unwrap().unwrap();
    assert_eq!((swept.manifests, swept.contents), (2, 1), "the tree, the branch, and what only the first commit had");
    assert_eq!(project.verify().unwrap(), Vec::<String>::new());
    assert_eq!(lines(&project, "three"), ["a.rs:1:fn three() {}"]);
    assert_eq!(project.metadata().reference, place.git(&["rev-parse", "HEAD"]));
}

#[test]
fn the_repository_of_another_folder_is_not_read() {
    let victim = TestRoot::new(&[("secret.rs", "fn secret() {}\n")]);
    victim.git(&["init", "-q"]);
    let commit = victim.commit();
    let theirs = victim.project();
    sync(&theirs, None);
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n")]);
    let outside = victim.root.join(".git");
    let dot_git = place.root.join(".git");
    for (way, expected) in
        [("file", JobError::GitOutside), ("link", JobError::GitOutside), ("commondir", JobError::GitOutside)]
    {
        match way {
            "file" => fs::write(&dot_git, format!("gitdir: {}\n", outside.display())).unwrap(),
            "link" => std::os::unix::fs::symlink(&outside, &dot_git).unwrap(),
            _ => {
                fs::create_dir(&dot_git).unwrap();
                fs::write(dot_git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
                fs::write(dot_git.join("commondir"), outside.to_str().unwrap()).unwrap();
            }
        }
        let project =
            Project::new(&victim.dir.path().join("state"), &place.root, false, IndexSettings::default()).unwrap();
        assert_eq!(sync_error(&project, "main"), expected, "{way}");
        assert_eq!(sync_error(&project, &commit), expected, "{way}");
        let refused = project.status(Some("main")).unwrap_err();
        assert_eq!(refused.code, CodeError::RefNotIndexed, "{way}");
        assert!(refused.message.contains("git_dirs"), "{}", refused.message);
        // It has a folder of its own, so it waits for no lock of the other repository.
        assert_ne!(project.index_dir.folder(), theirs.index_dir.folder(), "{way}");
        let _lock = theirs.index_dir.lock().unwrap().unwrap();
        sync(&project, None);
        assert_eq!(project.metadata().reference, crate::store::LIVE, "{way}");
        let _ = fs::remove_file(&dot_git).or_else(|_| fs::remove_dir_all(&dot_git));
    }
    // The operator allows it.
    fs::write(&dot_git, format!("gitdir: {}\n", outside.display())).unwrap();
    let settings = IndexSettings { git_dirs: vec![victim.root.clone()], ..IndexSettings::default() };
    let project = Project::new(&place.dir.path().join("state"), &place.root, false, settings).unwrap();
    assert_eq!(sync(&project, Some("main")).files, 1);
}

fn sync_error(project: &Project, reference: &str) -> JobError {
    let ticket = project.prepare(Some(reference), false).unwrap_or_else(|active| panic!("{active:?}"));
    project.run(&ticket).unwrap_err()
}

#[test]
fn outlines_are_nested_and_missing_files_are_refused() {
    let place = TestRoot::new(&[("src/harbour.rs", RUST)]);
    let project = place.project();
    let outline = |path: &str| {
        let query = OutlineQuery { path: path.to_owned(), reference: None, depth: Default::default(), freshness: None };
        project.outline(&query).map_err(|refused| refused.code)
    };
    assert_eq!(outline("src/harbour.rs"), Err(CodeError::IndexNotReady));
    sync(&project, None);
    let whole = outline("src/harbour.rs").unwrap();
    let names: Vec<&str> = whole.symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["Harbour", "Harbour"]);
    assert_eq!(whole.symbols[1].children[0].name, "admit");
    let by_real_path = outline(place.root.join("src/harbour.rs").to_str().unwrap()).unwrap();
    assert_eq!((by_real_path.path, by_real_path.symbols), (whole.path, whole.symbols));
    for missing in ["harbour.rs", "src/../x", ""] {
        assert_eq!(outline(missing), Err(CodeError::FileNotFound), "{missing}");
    }
    let sibling = format!("{}_more/harbour.rs", place.root.display());
    let climbing = format!("{}/../harbour.rs", place.root.display());
    for outside in ["../x", "src/../../x", "/etc/passwd", "/", &sibling, &climbing] {
        assert_eq!(outline(outside), Err(CodeError::ProjectNotFound), "{outside}");
    }
}

#[test]
fn a_damaged_index_or_another_format_is_refused_and_rebuilt_by_a_forced_job() {
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n")]);
    let project = place.project();
    sync(&project, None);
    let file = project.index_dir.folder().join(crate::store::FILE);
    for (damage, expected) in [(true, SchemaStatus::CorruptManifest), (false, SchemaStatus::ReindexRequired)] {
        if damage {
            fs::write(&file, vec![b'x'; 8_192]).unwrap();
            let _ = fs::remove_file(file.with_extension("sqlite-wal"));
        } else {
            rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 77).unwrap();
        }
        let project = place.project();
        assert_eq!(project.schema().0, expected);
        let refused = project.search(&query("one", SearchMode::Auto), &|| false).unwrap_err();
        assert_eq!(refused.code, CodeError::IndexIncompatible);
        assert!(refused.message.contains("codeyard index --force"), "{}", refused.message);
        let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
        assert!(matches!(project.run(&ticket), Err(JobError::Index(_))));
        let ticket = project.prepare(None, true).unwrap_or_else(|active| panic!("{active:?}"));
        assert_eq!(ticket.mode, JobMode::Full);
        project.run(&ticket).unwrap();
        assert_eq!(lines(&project, "one"), ["a.rs:1:fn one() {}"]);
    }
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let files: Vec<(String, String)> = (0..60)
        .map(|number| (format!("src/{}/f{number}.rs", number % 7), format!("fn f{number}() {{}}\nfn shared() {{}}\n")))
        .collect();
    let place = TestRoot::new(&[]);
    files.iter().for_each(|(path, text)| place.write(path, text));
    let answers = |threads: usize| {
        let state = tempfile::tempdir().unwrap();
        let project =
            Project::new(state.path(), &place.root, false, IndexSettings::new(threads, 1 << 20, 1 << 20)).unwrap();
        project.watch();
        sync(&project, None);
        let ranked = project.search(&query("shared", SearchMode::Auto), &|| false).unwrap();
        let lines = project.search(&query("fn", SearchMode::Regex), &|| false).unwrap();
        format!("{ranked:?}{lines:?}")
    };
    let one = answers(1);
    assert!(one.contains("src/0/f0.rs"));
    for threads in [2, 5] {
        assert_eq!(answers(threads), one);
    }
}

#[test]
fn a_second_job_is_refused_and_a_stopped_job_is_interrupted() {
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n")]);
    let project = Arc::new(place.project());
    let first = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
    let active = project.prepare(None, false).map(|_| ()).unwrap_err();
    assert_eq!((active.job_id.as_str(), active.status), (first.id(), JobStatus::Queued));
    // Another process writes the index: the job is queued until it is stopped.
    let held = crate::lock::WriterLock::take(project.index_dir.folder()).unwrap().unwrap();
    let running = std::thread::spawn({
        let project = project.clone();
        move || project.run(&first)
    });
    project.stop();
    assert_eq!(running.join().unwrap(), Err(JobError::Stopped));
    drop(held);
    assert_eq!(project.active_job(), None);
    assert_eq!(project.status(None).unwrap().recent_jobs[0].status, JobStatus::Interrupted);
    assert_eq!(lines(&project, "one"), Vec::<String>::new());
}

#[test]
fn a_job_whose_end_is_not_stored_yet_has_not_failed() {
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n")]);
    let project = place.project();
    sync(&project, None);
    let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
    let progress = project.progress.lock().clone().unwrap();
    let mut stored =
        project.index_dir.reader().unwrap().recent_jobs(&place.root.to_string_lossy(), 1).unwrap().remove(0);
    (stored.id, stored.status, stored.ended_at) = (ticket.id().to_owned(), JobStatus::Running, None);
    project.index_dir.writer().unwrap().write(|transaction| transaction.put_job(&stored)).unwrap();
    let shown = || {
        let jobs = project.status(None).unwrap().recent_jobs;
        let job = jobs.into_iter().find(|job| job.job_id == ticket.id()).unwrap();
        (job.status, job.ended_at.is_some())
    };
    assert_eq!(shown(), (JobStatus::Running, false));
    progress.end(JobStatus::Published);
    assert_eq!(shown(), (JobStatus::Published, true));
    // Of another job nothing is known.
    *project.progress.lock() = None;
    assert_eq!(shown(), (JobStatus::Failed, false));
}

#[test]
fn a_job_whose_end_is_stored_while_the_next_one_begins_has_not_failed() {
    let place = TestRoot::new(&[("a.rs", "fn one() {}\n")]);
    let project = place.project();
    sync(&project, None);
    let mut store = project.index_dir.writer().unwrap();
    let recent =
        |store: &crate::store::IndexStore| store.recent_jobs(&place.root.to_string_lossy(), 1).unwrap().remove(0);
    let ended = recent(&store);
    store.write(|transaction| transaction.fail_job(&ended.id, 1, "too late")).unwrap();
    assert_eq!(recent(&store).status, JobStatus::Published);
    let unfinished = crate::store::StoredJob { status: JobStatus::Running, ended_at: None, ..ended };
    store.write(|transaction| transaction.put_job(&unfinished)).unwrap();
    store.write(|transaction| transaction.fail_job(&unfinished.id, 1, "not stored")).unwrap();
    let failed = recent(&store);
    assert_eq!((failed.status, failed.message.as_deref()), (JobStatus::Failed, Some("not stored")));
}

#[test]
fn a_cancelled_search_returns_partial_results_and_a_warning() {
    let files: Vec<(String, String)> = (0..40).map(|n| (format!("f{n:02}.txt"), "word\n".to_owned())).collect();
    let place = TestRoot::new(&[]);
    files.iter().for_each(|(path, text)| place.write(path, text));
    let settings = IndexSettings::new(1, 1 << 20, 1 << 18);
    let project = Project::new(&place.dir.path().join("state"), &place.root, false, settings).unwrap();
    project.watch();
    sync(&project, None);
    let checks = std::sync::atomic::AtomicUsize::new(0);
    let is_cancelled = || checks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 10;
    for (mode, pattern) in [(SearchMode::Text, "word"), (SearchMode::Regex, r"\w")] {
        checks.store(0, std::sync::atomic::Ordering::Relaxed);
        let found = project.search(&query(pattern, mode), &is_cancelled).unwrap();
        let metadata = &found.metadata;
        assert_eq!((metadata.completeness, metadata.safety_limit), (Completeness::Partial, Some("time")));
        assert_eq!((found.rows.len(), found.total), (10, 10), "what was searched by then");
        assert!(metadata.warnings.iter().any(|warning| warning.contains("time was up")), "{:?}", metadata.warnings);
        let nothing = project.search(&query(pattern, mode), &|| true).unwrap();
        assert_eq!((nothing.rows.len(), nothing.metadata.completeness), (0, Completeness::Partial));
        let whole = project.search(&query(pattern, mode), &|| false).unwrap();
        assert_eq!((whole.rows.len(), whole.metadata.completeness), (40, Completeness::Complete));
    }
}

#[test]
fn further_lines_are_announced_and_returned_by_offset() {
    let place = TestRoot::new(&[("a.txt", &"word\n".repeat(25)), ("b.txt", "Word and sword\n")]);
    let project = place.project();
    sync(&project, None);
    let mut request = query("word", SearchMode::Text);
    request.shape.limit = 10;
    let mut seen = 0;
    let mut offset = 0;
    loop {
        request.offset = offset;
        let found = project.search(&request, &|| false).unwrap();
        assert_eq!(found.total, 26);
        assert!(found.rows.iter().all(|row| row.result_type == ResultType::Line));
        seen += found.rows.len();
        let Some(next) = found.next.first() else {
            assert_eq!(found.metadata.completeness, Completeness::Complete);
            break;
        };
        assert_eq!(found.metadata.completeness, Completeness::Truncated);
        offset = next.arguments["offset"].as_u64().unwrap() as usize;
    }
    assert_eq!(seen, 26);
    let bad = project.search(&query("(", SearchMode::Regex), &|| false).unwrap_err();
    assert_eq!(bad.code, CodeError::InvalidInput);
}

#[test]
fn unreferenced_contents_are_deleted_over_time() {
    let place = TestRoot::new(&[]);
    let project = place.project();
    let files = 1_100;
    let rounds = 6;
    for round in 0..rounds {
        for file in 0..files {
            place.write(&format!("{file}.txt"), &format!("the {round}th text of {file}\n"));
        }
        place.write("a.rs", &format!("fn of_round_{round}() {{}}\n"));
        sync(&project, None);
    }
    let (contents, _) = project.stats().unwrap().contents;
    assert!(contents < 4 * (files + 1), "{contents}");
    assert_eq!(project.verify().unwrap(), [""; 0]);
    assert_eq!(lines(&project, "5th text of 1099"), ["1099.txt:1:the 5th text of 1099"]);
    assert_eq!(lines(&project, "0th text of 1099"), [""; 0]);
    assert_eq!(located(&project, LocateBy::Name("of_round_5".to_owned())).unwrap().rows.len(), 1);
    assert_eq!(located(&project, LocateBy::Name("of_round_4".to_owned())).unwrap().rows.len(), 0);
}

#[test]
fn a_query_sees_the_state_at_its_start_despite_garbage_collection() {
    let place = TestRoot::new(&[("a.rs", "fn early() {}\n")]);
    let project = place.project();
    sync(&project, None);
    let (store, _, view) = project.find_view(None, None, true).unwrap().unwrap();
    let view = view.unwrap();
    let content = view.manifest.entries()[0].content;
    place.write("a.rs", "fn later_on() {}\n");
    sync(&project, None);
    assert_eq!(project.collect_garbage().unwrap().unwrap().contents, 1);
    assert_eq!(store.facts(content).unwrap().unwrap().symbols[0].name, "early");
    drop(store);
    assert_eq!(project.index_dir.reader().unwrap().facts(content).unwrap(), None);
}

#[test]
fn few_edits_are_published_once_and_many_as_soon_as_their_text_is_indexed() {
    let place = TestRoot::new(&[("a.rs", "fn a() {}\n")]);
    let project = place.project();
    let generation = || project.index_dir.reader().unwrap().generation().unwrap();
    sync(&project, None);
    let before = generation();
    place.write("a.rs", "fn b() {}\n");
    sync(&project, None);
    assert_eq!(generation(), before + 1);
    sync(&project, None);
    assert_eq!(generation(), before + 1, "nothing has changed");
    (0..100).for_each(|at| place.write(&format!("{at}.rs"), &format!("fn f{at}() {{}}\n")));
    sync(&project, None);
    assert!(generation() > before + 2);
    assert_eq!(located(&project, LocateBy::Name("f99".to_owned())).unwrap().rows.len(), 1);
}

#[test]
fn an_unreported_change_is_counted_from_disk() {
    let line = |at: usize| format!("line {at} of harbour{}\n", if at.is_multiple_of(50) { " with needle" } else { "" });
    let text: String = (0..400).map(line).collect();
    let place = TestRoot::new(&[("a.txt", &text)]);
    let project = place.project();
    sync(&project, None);
    let total = |project: &Project| {
        let shape = RowOptions { limit: 1, ..RowOptions::default() };
        let query = SearchQuery { offset: 5, shape, ..query("with needle", SearchMode::Text) };
        project.search(&query, &|| false).unwrap().total
    };
    assert_eq!(total(&project), 8);
    // All parts have other offsets now, and some lines are new.
    place.write(
        "a.txt",
        &format!("with needle at the very beginning\n{}and one with needle\n", text.replace("line 3", "3")),
    );
    assert_eq!(total(&project), 10);
}

#[test]
fn segments_are_reopened_after_a_reset() {
    let files: Vec<(String, String)> = (0..300).map(|at| (format!("{at}.txt"), format!("text {at}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let place = TestRoot::new(&files);
    let server = place.project();
    sync(&server, None);
    assert_eq!(lines(&server, "text 299"), ["299.txt:1:text 299"]);
    // Another process resets the index, and finds the files in another order.
    fs::remove_dir_all(server.index_dir.folder()).unwrap();
    place.write("0aaa.txt", "an early one\n");
    fs::remove_file(place.root.join("299.txt")).unwrap();
    sync(&place.project(), None);
    assert_eq!(lines(&server, "early one"), ["0aaa.txt:1:an early one"]);
    assert_eq!(lines(&server, "text 298"), ["298.txt:1:text 298"]);
    // This process rebuilds it, too.
    fs::remove_dir_all(server.index_dir.folder()).unwrap();
    sync(&server, None);
    assert_eq!(lines(&server, "early one"), ["0aaa.txt:1:an early one"]);
}

#[test]
fn unparsed_contents_are_parsed_by_the_next_job() {
    let place = TestRoot::new(&[("a.rs", "fn early() {}\n")]);
    let project = place.project();
    sync(&project, None);
    let mut store = project.index_dir.writer().unwrap();
    let content = project.find_view(None, None, true).unwrap().unwrap().2.unwrap().manifest.entries()[0].content;
    // As if its bytes couldn't be read when it was to be parsed.
    store.write(|transaction| transaction.mark_unparsed(&[content])).unwrap();
    sync(&project, None);
    assert!(store.symbol_counts().unwrap().iter().any(|(no, symbols)| (*no, *symbols) == (content, 1)));
}

#[test]
fn unreadable_files_are_counted_and_an_unreadable_root_fails_the_job() {
    use std::os::unix::fs::PermissionsExt;
    let place = TestRoot::new(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("deep/c.txt", "three\n")]);
    let project = place.project();
    let allow =
        |path: &str, mode| fs::set_permissions(place.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    sync(&project, None);
    allow("b.txt", 0);
    allow("deep", 0);
    if fs::read(place.root.join("b.txt")).is_ok() {
        // A privileged user may read everything.
        return;
    }
    let published = sync(&project, None);
    assert_eq!((published.files, published.skipped), (1, 1));
    assert_eq!(project.status(None).unwrap().left_out, [("unreadable", 1)]);
    allow("", 0);
    let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
    assert_eq!(project.run(&ticket), Err(JobError::NoRoot));
    allow("", 0o755);
    assert_eq!(lines(&project, "one"), ["a.txt:1:one"]);
    allow("deep", 0o755);
}
