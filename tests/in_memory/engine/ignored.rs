//! The watcher reports changes of all paths that the code index lists. Both read ignore files separately and must agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_files::watch::{Changes, Subscription, WatchSpec, Watcher};
use codeyard_index::Project;
use codeyard_index::settings::IndexSettings;

use codeyard_test_support::git::git;

const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".codeyardignore"];
const FOLDERS: [&str; 16] = [
    "",
    "src",
    "src/gen",
    "src/gen/deep",
    "lib",
    "lib/build",
    "build",
    "build/target",
    "target/debug",
    "node_modules/p",
    "vendor/q",
    "__pycache__",
    ".cache/x",
    "inner",
    "inner/src/gen",
    "env/lib/python3.12/site-packages/r",
];
const NAMES: [&str; 6] = ["a.py", "b.log", "c.txt", ".hidden", "d.gen.py", "conf.toml"];
const PATTERNS: [&str; 22] = [
    "*.log", "*.txt", "!*.log", "!c.txt", "/build/", "build", "!build/", "gen/", "/src/gen", "!gen", ".*", "*", "!*/",
    "!*.py", "target", "node_modules/", "__pycache__/", "vendor", "inner/", "**/deep/**", "env/", "src/*.py",
];
/// Folders that may be a nested repository.
const TOPS: [&str; 4] = ["", "root", "root/inner", "root/lib"];

/// Number of layouts to try; `CODEYARD_LAYOUTS` overrides it.
fn seeds() -> u64 {
    std::env::var("CODEYARD_LAYOUTS").ok().and_then(|count| count.parse().ok()).unwrap_or(24)
}

/// Pseudo-random numbers that depend only on the seed.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn rules(&mut self) -> String {
        (0..=self.below(3)).map(|_| format!("{}\n", PATTERNS[self.below(PATTERNS.len())])).collect()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A random tree in `base/root` with ignore files and repositories; the description helps to debug a failure.
fn lay_out(base: &Path, drawn: &mut Drawn) -> String {
    let root = base.join("root");
    let mut said = String::new();
    for folder in FOLDERS {
        for name in NAMES {
            write(&root.join(folder).join(name), name);
        }
        for file in IGNORE_FILES.into_iter().filter(|_| drawn.one_in(4)).collect::<Vec<_>>() {
            let rules = drawn.rules();
            said.push_str(&format!("{folder}/{file}: {rules:?}\n"));
            write(&root.join(folder).join(file), &rules);
        }
    }
    if drawn.one_in(2) {
        said.push_str("an environment\n");
        write(&root.join("env/pyvenv.cfg"), "");
    }
    if drawn.one_in(4) {
        let rules = drawn.rules();
        said.push_str(&format!("above: {rules:?}\n"));
        write(&base.join(IGNORE_FILES[drawn.below(3)]), &rules);
    }
    for top in TOPS.into_iter().filter(|_| drawn.one_in(3)).collect::<Vec<_>>() {
        let dir = base.join(top);
        said.push_str(&format!("a repository in {top:?}"));
        if drawn.one_in(3) {
            let main = base.join(format!("main-{}", top.replace('/', "-")));
            fs::create_dir(&main).unwrap();
            git(&main, &["init", "-q"]);
            git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
            let tree = base.join("tree");
            git(&main, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
            // The folder exists already; it gets the worktree's link.
            fs::copy(tree.join(".git"), dir.join(".git")).unwrap();
            fs::remove_dir_all(&tree).unwrap();
            let rules = drawn.rules();
            said.push_str(&format!(", a worktree, exclude {rules:?}"));
            write(&main.join(".git/info/exclude"), &rules);
        } else {
            git(&dir, &["init", "-q"]);
            for _ in 0..drawn.below(4) {
                let file = root.join(FOLDERS[drawn.below(FOLDERS.len())]).join(NAMES[drawn.below(NAMES.len())]);
                if file.starts_with(&dir) {
                    said.push_str(&format!(", tracked {file:?}"));
                    git(&dir, &["add", "-f", file.to_str().unwrap()]);
                }
            }
            if drawn.one_in(2) {
                let rules = drawn.rules();
                said.push_str(&format!(", exclude {rules:?}"));
                write(&dir.join(".git/info/exclude"), &rules);
            }
        }
        said.push('\n');
    }
    said
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with(".git") => {}
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

/// Paths that a new walk of the code index lists.
fn listed(base: &Path, root: &Path) -> BTreeSet<PathBuf> {
    let state = tempfile::tempdir_in(base).unwrap();
    let project = Project::new(state.path(), root, false, IndexSettings::new(1, 1 << 20, 1 << 20)).unwrap();
    let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
    project.run(&ticket).unwrap();
    project.files().unwrap().into_iter().map(|file| root.join(&*file.path)).collect()
}

fn subscribe(base: &Path, root: &Path, follows_index: bool) -> (Watcher, Subscription) {
    let watcher = Watcher::new(base).unwrap();
    let spec = WatchSpec {
        roots: vec![root.to_owned()],
        is_source: Arc::new(|path| path.extension().is_some_and(|extension| extension == "py")),
        look: Arc::new(|_| None),
        since_ns: i128::MAX,
        follows_index,
        on_change: Arc::new(|| {}),
    };
    let subscription = watcher.subscribe(spec).unwrap();
    (watcher, subscription)
}

/// Passes the barrier until all paths of the index are watched.
async fn followed(subscription: &Subscription) {
    subscription.follow_index();
    while subscription.index_degraded().is_some() {
        subscription.barrier().await;
    }
    subscription.take();
}

async fn looked(subscription: &Subscription) -> Changes {
    subscription.barrier().await;
    subscription.take()
}

#[tokio::test]
async fn every_indexed_folder_is_watched_in_every_layout() {
    for seed in 0..seeds() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let root = base.join("root");
        let said = lay_out(&base, &mut Drawn(seed));
        let listed = listed(&base, &root);
        let (_watcher, subscription) = subscribe(&base, &root, seed % 2 == 1);
        followed(&subscription).await;
        let mut all = Vec::new();
        files_below(&root, &mut all);
        // Writing an ignore file changes the list.
        let is_rule = |path: &PathBuf| IGNORE_FILES.iter().any(|name| path.ends_with(name));
        all.retain(|path| !is_rule(path) && !path.ends_with(".git"));
        for path in &all {
            fs::write(path, "another text").unwrap();
        }
        let changes = looked(&subscription).await;
        // Sources in dependencies are among the files, and aren't reported one by one.
        assert!(!changes.index_only_rescan && changes.bulk == changes.incomplete, "seed {seed}: {said}");
        let index_only: BTreeSet<PathBuf> = changes.index_only.iter().cloned().collect();
        let reported: BTreeSet<PathBuf> =
            changes.files.iter().map(|change| change.path.clone()).chain(index_only.clone()).collect();
        let unseen: Vec<_> = listed.iter().filter(|path| !is_rule(path) && !reported.contains(*path)).collect();
        assert!(unseen.is_empty(), "seed {seed}: {unseen:?} are listed and not watched\n{said}");
        let needless: Vec<_> = index_only.difference(&listed).collect();
        assert!(
            needless.is_empty(),
            "seed {seed}: {needless:?} are watched for the index, which doesn't list them\n{said}"
        );
        // Create one file and delete another.
        let gone: Vec<_> = all.iter().filter(|path| listed.contains(*path)).collect();
        for path in &gone {
            fs::remove_file(path).unwrap();
        }
        let changes = looked(&subscription).await;
        let reported: BTreeSet<_> =
            changes.files.iter().map(|change| &change.path).chain(&changes.index_only).collect();
        assert!(changes.bulk || gone.iter().all(|path| reported.contains(*path)), "seed {seed}: {said}");
    }
}

#[tokio::test]
async fn the_index_receives_changes_of_the_ignore_rules() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let top = base.join("top");
    let root = base.join("top/root");
    write(&root.join("src/a.py"), "");
    write(&root.join("inner/a.log"), "");
    git(&base, &["init", "-q", "top"]);
    let (_watcher, subscription) = subscribe(&base, &root, false);
    followed(&subscription).await;
    for rules in [
        root.join(".gitignore"),
        root.join("src/.ignore"),
        root.join("src/.codeyardignore"),
        top.join(".gitignore"),
        top.join(".git/info/exclude"),
    ] {
        write(&rules, "*.log\n");
        let changes = looked(&subscription).await;
        assert!(changes.bulk || changes.index_only_rescan, "{rules:?}");
        assert!(looked(&subscription).await.is_empty(), "told twice");
    }
    git(&root, &["init", "-q", "inner"]);
    let changes = looked(&subscription).await;
    assert!(changes.index_only_rescan && !changes.bulk, "a repository in the repository is the index's business alone");
    fs::remove_dir_all(root.join("inner/.git")).unwrap();
    assert!(looked(&subscription).await.index_only_rescan);
}

#[tokio::test]
async fn language_servers_receive_no_index_only_changes() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let root = base.join("root");
    for path in ["a.py", "x.log", "gen/g.py", "gen/g.txt", "__pycache__/a.pyc", "node_modules/p/i.py"] {
        write(&root.join(path), "");
    }
    write(&root.join(".gitignore"), "*.log\ngen/\n");
    let (_watcher, subscription) = subscribe(&base, &root, false);
    let sources = subscription.source_files();
    followed(&subscription).await;
    assert_eq!(subscription.source_files(), sources);
    for (path, is_reported) in [
        ("a.py", true),
        ("x.log", false),
        ("gen/g.py", true),
        ("gen/g.txt", false),
        ("__pycache__/a.pyc", false),
        ("node_modules/p/i.py", false),
    ] {
        write(&root.join(path), "another");
        let changes = looked(&subscription).await;
        assert_eq!(
            (changes.files.len(), changes.index_only.len()),
            (usize::from(is_reported), usize::from(!is_reported)),
            "{path}"
        );
        assert_eq!(changes.bulk, path.starts_with("node_modules"), "{path}");
    }
    // Git ignores these paths, so the index lists none of them and no change is reported.
    git(&root, &["init", "-q"]);
    looked(&subscription).await;
    for path in ["x.log", "gen/g.txt"] {
        write(&root.join(path), "once more");
        assert!(looked(&subscription).await.is_empty(), "{path}");
    }
}
