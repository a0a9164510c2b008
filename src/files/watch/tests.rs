//! The watcher on real trees: change files, pass the barrier, take the changes. No test waits for time to pass.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::changes::ChangeKind::{Changed, Created, Deleted};
use super::*;
use crate::gate::LinkChanges;
use crate::test_git::{WRITES_OR_FORKS, run_git};

struct TestTree {
    _dir: tempfile::TempDir,
    root: PathBuf,
    watcher: Watcher,
}

impl TestTree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let watcher = Watcher::new(dir.path()).unwrap();
        Self { _dir: dir, root, watcher }
    }

    fn with(files: &[&str]) -> Self {
        let tree = Self::new();
        files.iter().for_each(|file| tree.write(file, file));
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _no_fork = WRITES_OR_FORKS.read();
        std::fs::write(path, text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn spec(&self, roots: &[&str]) -> WatchSpec {
        WatchSpec {
            roots: roots.iter().map(|root| self.path(root).canonicalize().unwrap()).collect(),
            is_source: Arc::new(|path| path.extension().is_some_and(|extension| extension == "py")),
            look: Arc::new(|_| None),
            since_ns: codeyard_base::clock::wall_ns(),
            follows_index: false,
            on_change: Arc::new(|| {}),
        }
    }

    fn subscribe(&self) -> Subscription {
        let subscription = self.watcher.subscribe(self.spec(&["."])).unwrap();
        assert_eq!(subscription.degraded(), None);
        subscription.take();
        subscription
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned()
    }

    fn sources(&self, subscription: &Subscription) -> Vec<String> {
        subscription.source_files().iter().map(|path| self.relative(path)).collect()
    }

    fn reported(&self, changes: &Changes) -> Vec<(String, ChangeKind)> {
        changes.files.iter().map(|change| (self.relative(&change.path), change.kind)).collect()
    }

    /// Takes what is reported after the barrier. On a busy machine a barrier ends at its limit, before everything is compared.
    async fn changes(&self, subscription: &Subscription) -> Changes {
        subscription.compare().await;
        subscription.take()
    }

    /// Expects exactly these files, no bulk change, and no second report.
    async fn expect(&self, subscription: &Subscription, expected: &[(&str, ChangeKind)]) {
        let changes = self.changes(subscription).await;
        let expected_changes: Vec<_> = expected.iter().map(|(path, kind)| ((*path).to_owned(), *kind)).collect();
        assert_eq!(self.reported(&changes), expected_changes);
        assert!(!changes.bulk, "unexpected bulk");
        let again = self.changes(subscription).await;
        assert!(again.is_empty(), "reported twice: {again:?}");
    }

    async fn expect_bulk(&self, subscription: &Subscription) -> Changes {
        let changes = self.changes(subscription).await;
        assert!(changes.bulk);
        changes
    }
}

fn git(dir: &Path, arguments: &[&str]) {
    run_git(dir, arguments).unwrap();
}

/// A subscription to a tree whose files are sources if they begin with a digit, which is their number.
fn numbered(tree: &TestTree) -> Subscription {
    let digit = |path: &Path| {
        let text = std::fs::read_to_string(path).ok()?;
        text.chars().next()?.to_digit(10)
    };
    let known: Arc<parking_lot::Mutex<BTreeMap<PathBuf, u32>>> = Arc::default();
    let looked = known.clone();
    let look = move |path: &Path| {
        let number = digit(path);
        match number {
            Some(number) => drop(looked.lock().insert(path.into(), number)),
            None => drop(looked.lock().remove(path)),
        }
        number
    };
    let is_source = move |path: &Path| known.lock().contains_key(path);
    let spec = WatchSpec { look: Arc::new(look), is_source: Arc::new(is_source), ..tree.spec(&["."]) };
    let subscription = tree.watcher.subscribe(spec).unwrap();
    subscription.take();
    subscription
}

#[tokio::test]
async fn what_the_content_of_a_file_makes_it_follows_its_changes() {
    let tree = TestTree::new();
    tree.write("bin/a", "1");
    tree.write("bin/b", "text");
    tree.write("out/c", "3");
    tree.write(".gitignore", "out\n");
    let subscription = numbered(&tree);
    assert_eq!(tree.sources(&subscription), ["bin/a"], "ignored files aren't looked at");
    tree.write("bin/new", "2");
    tree.expect(&subscription, &[("bin/new", Created)]).await;
    assert_eq!(tree.sources(&subscription), ["bin/a", "bin/new"]);
    tree.write("bin/b", "2 is its number now");
    tree.expect(&subscription, &[("bin/b", Created)]).await;
    assert_eq!(tree.sources(&subscription), ["bin/a", "bin/b", "bin/new"]);
    tree.write("bin/b", "2 as before");
    tree.expect(&subscription, &[("bin/b", Changed)]).await;
    tree.write("bin/b", "3");
    assert!(tree.changes(&subscription).await.incomplete, "it is another file for its consumers");
    tree.write("bin/b", "text");
    assert!(tree.changes(&subscription).await.incomplete);
    assert_eq!(tree.sources(&subscription), ["bin/a", "bin/new"]);
    tree.rename("bin/a", "bin/z");
    tree.expect(&subscription, &[("bin/a", Deleted), ("bin/z", Created)]).await;
    assert_eq!(tree.sources(&subscription), ["bin/new", "bin/z"]);
    // The same after everything was compared.
    tree.write("bin/other", "4");
    tree.write(".gitignore", "nothing\n");
    tree.expect_bulk(&subscription).await;
    assert_eq!(tree.sources(&subscription), ["bin/new", "bin/other", "bin/z", "out/c"]);
}

#[tokio::test]
async fn changes_of_single_files_are_reported() {
    let tree = TestTree::with(&["a.py", "sub/b.py", "data.json"]);
    let subscription = tree.subscribe();
    assert_eq!(tree.sources(&subscription), ["a.py", "sub/b.py"]);
    tree.expect(&subscription, &[]).await;
    tree.write("sub/new.py", "1");
    tree.expect(&subscription, &[("sub/new.py", Created)]).await;
    tree.write("a.py", "other");
    tree.expect(&subscription, &[("a.py", Changed)]).await;
    tree.write("package.json", "{}");
    tree.expect(&subscription, &[("package.json", Created)]).await;
    std::fs::remove_file(tree.path("sub/b.py")).unwrap();
    tree.expect(&subscription, &[("sub/b.py", Deleted)]).await;
    tree.rename("a.py", "sub/c.py");
    tree.expect(&subscription, &[("a.py", Deleted), ("sub/c.py", Created)]).await;
    assert_eq!(tree.sources(&subscription), ["sub/c.py", "sub/new.py"]);
    // Editors write a new file and rename it over the old one.
    tree.write("sub/c.py~", "saved");
    tree.rename("sub/c.py~", "sub/c.py");
    tree.expect(&subscription, &[("sub/c.py", Changed)]).await;
    tree.write("gone.py", "");
    std::fs::remove_file(tree.path("gone.py")).unwrap();
    tree.expect(&subscription, &[("gone.py", ChangeKind::Deleted)]).await;
    std::fs::remove_file(tree.path("sub/c.py")).unwrap();
    tree.write("sub/c.py", "again");
    tree.expect(&subscription, &[("sub/c.py", Changed)]).await;
}

#[tokio::test]
async fn a_second_write_of_the_same_size_is_reported() {
    let tree = TestTree::with(&["a.py"]);
    let subscription = tree.subscribe();
    for round in 0..200 {
        tree.write("a.py", &format!("{}", 1_000 + round));
        tree.expect(&subscription, &[("a.py", Changed)]).await;
    }
}

#[tokio::test]
async fn every_edit_before_the_barrier_is_reported() {
    let tree = TestTree::new();
    let subscription = tree.subscribe();
    for round in 0..500 {
        let name = format!("f{round}.py");
        tree.write(&name, "");
        tree.expect(&subscription, &[(&name, Created)]).await;
    }
    assert_eq!(subscription.source_files().len(), 500);
}

#[tokio::test]
async fn created_moved_and_deleted_directories_report_their_files() {
    let tree = TestTree::with(&["a.py", "old/x/1.py", "old/2.py"]);
    let subscription = tree.subscribe();
    tree.write("deep/er/est/new.py", "");
    tree.expect(&subscription, &[("deep/er/est/new.py", Created)]).await;
    tree.write("deep/er/est/new.py", "watched");
    tree.expect(&subscription, &[("deep/er/est/new.py", Changed)]).await;
    let moved = [("moved/2.py", Created), ("moved/x/1.py", Created), ("old/2.py", Deleted), ("old/x/1.py", Deleted)];
    tree.rename("old", "moved");
    tree.expect(&subscription, &moved).await;
    tree.write("moved/x/1.py", "in the moved folder");
    tree.expect(&subscription, &[("moved/x/1.py", Changed)]).await;
    // The new name sorts first, so it is compared before the old one.
    tree.rename("moved", "a-moved");
    assert_eq!(tree.changes(&subscription).await.files.len(), 4);
    tree.write("a-moved/x/1.py", "once more");
    tree.write("a-moved/x/3.py", "");
    tree.expect(&subscription, &[("a-moved/x/1.py", Changed), ("a-moved/x/3.py", Created)]).await;
    std::fs::remove_dir_all(tree.path("a-moved")).unwrap();
    let gone = [("a-moved/2.py", Deleted), ("a-moved/x/1.py", Deleted), ("a-moved/x/3.py", Deleted)];
    tree.expect(&subscription, &gone).await;
    assert_eq!(tree.sources(&subscription), ["a.py", "deep/er/est/new.py"]);
    // Root, deep, er, est.
    assert_eq!(tree.watcher.watch_count(), 4);
}

#[tokio::test]
async fn a_directory_replaced_by_another_of_the_same_name() {
    let tree = TestTree::with(&["d/a.py", "d/sub/b.py"]);
    let subscription = tree.subscribe();
    std::fs::remove_dir_all(tree.path("d")).unwrap();
    tree.write("d/sub/c.py", "");
    tree.expect(&subscription, &[("d/a.py", Deleted), ("d/sub/b.py", Deleted), ("d/sub/c.py", Created)]).await;
    tree.write("d/sub/c.py", "watched");
    tree.expect(&subscription, &[("d/sub/c.py", Changed)]).await;
    tree.rename("d", "e");
    tree.write("d/sub/c.py", "the new one");
    tree.expect(&subscription, &[("d/sub/c.py", Changed), ("e/sub/c.py", Created)]).await;
    tree.write("d/sub/c.py", "1");
    tree.write("e/sub/c.py", "2");
    tree.expect(&subscription, &[("d/sub/c.py", Changed), ("e/sub/c.py", Changed)]).await;
    // A directory becomes a file, and a directory again.
    std::fs::remove_dir_all(tree.path("d")).unwrap();
    tree.write("d", "a file");
    tree.expect(&subscription, &[("d", Created), ("d/sub/c.py", Deleted)]).await;
    std::fs::remove_file(tree.path("d")).unwrap();
    tree.write("d/x.py", "");
    tree.expect(&subscription, &[("d", Deleted), ("d/x.py", Created)]).await;
}

#[tokio::test]
async fn other_files_in_ignored_directories_are_not_reported_and_dependencies_are_bulk() {
    let tree =
        TestTree::with(&["a.py", "build/x.py", "node_modules/p/i.js", "env/lib/python3.12/site-packages/q/i.py"]);
    tree.write("env/pyvenv.cfg", "");
    tree.write(".gitignore", "build/\n*.log\nenv/\n");
    let subscription = tree.subscribe();
    assert_eq!(tree.sources(&subscription), ["a.py"]);
    let silent = [
        "build/y.o",
        "build/sub/y.o",
        "x.log",
        "node_modules/p/j.js",
        "env/lib/python3.12/site-packages/q/j.pyc",
        "node_modules/p/.cache/c.ts",
        "node_modules/p/lib/k.js",
        "env/lib/python3.12/site-packages/q/__pycache__/i.pyc",
    ];
    for silent in silent {
        tree.write(silent, "");
        tree.expect(&subscription, &[]).await;
    }
    let loud = [
        "node_modules/new/i.js",
        "env/lib/python3.12/site-packages/new.py",
        "node_modules/p/lib/deep/i.d.ts",
        "node_modules/p/lib/deep/i.d.ts",
        "env/lib/python3.12/site-packages/q/i.py",
    ];
    for loud in loud {
        tree.write(loud, "");
        let changes = tree.expect_bulk(&subscription).await;
        assert!(changes.incomplete && changes.files.is_empty(), "{loud}: {changes:?}");
        tree.expect(&subscription, &[]).await;
    }
    tree.rename("node_modules/p/lib/deep", "node_modules/p/other");
    assert!(tree.expect_bulk(&subscription).await.incomplete);
    std::fs::remove_dir_all(tree.path("node_modules/p/other")).unwrap();
    assert!(tree.expect_bulk(&subscription).await.incomplete);
    std::fs::remove_dir_all(tree.path("node_modules/p/lib")).unwrap();
    tree.expect(&subscription, &[]).await;
    std::fs::remove_dir_all(tree.path("node_modules")).unwrap();
    tree.expect_bulk(&subscription).await;
    tree.write("node_modules/again/i.js", "");
    tree.expect_bulk(&subscription).await;
    tree.write("node_modules/more/i.js", "");
    tree.expect_bulk(&subscription).await;
    // The rules change: newly followed files are created, newly ignored files leave the list without being reported as deleted.
    tree.write(".gitignore", "a.py\n");
    let changes = tree.expect_bulk(&subscription).await;
    let reported = tree.reported(&changes);
    assert!(
        reported.contains(&("build/y.o".into(), Created)) && !reported.iter().any(|(path, _)| path == "a.py"),
        "{reported:?}"
    );
    assert_eq!(tree.sources(&subscription), ["build/x.py"]);
}

#[tokio::test]
async fn ignored_sources_and_configuration_are_reported_and_not_listed() {
    let tree =
        TestTree::with(&["use.py", "gen/g.py", "gen/deep/h.py", "gen/n.o", "larder/generated.py", "larder/real.py"]);
    tree.write(".gitignore", "gen/\nlarder/generated.py\nbuild/\n");
    let subscription = tree.subscribe();
    assert_eq!(tree.sources(&subscription), ["larder/real.py", "use.py"]);
    for path in ["gen/g.py", "gen/deep/h.py", "larder/generated.py"] {
        tree.write(path, "another text");
        tree.expect(&subscription, &[(path, Changed)]).await;
        std::fs::remove_file(tree.path(path)).unwrap();
        tree.expect(&subscription, &[(path, Deleted)]).await;
        tree.write(path, "again");
        tree.expect(&subscription, &[(path, Created)]).await;
    }
    // A new directory with files that don't matter and one that does.
    tree.write("build/CMake.txt", "");
    tree.write("build/sub/x.o", "");
    tree.write("build/compile_commands.json", "[]");
    tree.expect(&subscription, &[("build/compile_commands.json", Created)]).await;
    tree.rename("gen/deep", "gen/moved");
    tree.expect(&subscription, &[("gen/deep/h.py", Deleted), ("gen/moved/h.py", Created)]).await;
    std::fs::remove_dir_all(tree.path("gen")).unwrap();
    tree.expect(&subscription, &[("gen/g.py", Deleted), ("gen/moved/h.py", Deleted)]).await;
    assert_eq!(tree.sources(&subscription), ["larder/real.py", "use.py"]);
    // Root, larder, build, build/sub.
    assert_eq!(tree.watcher.watch_count(), 4);
}

#[tokio::test]
async fn nested_and_negated_rules_only_decide_what_is_listed() {
    let tree = TestTree::with(&["a/out/x.py", "a/out/keep.py", "gen/kept.py", "b/x.py"]);
    tree.write("a/.gitignore", "out/*\n!out/keep.py\n");
    // A file in an ignored directory can't be re-included.
    tree.write(".gitignore", "gen/\n!gen/kept.py\n");
    let subscription = tree.subscribe();
    assert_eq!(tree.sources(&subscription), ["a/out/keep.py", "b/x.py"]);
    for path in ["a/out/keep.py", "a/out/x.py", "b/x.py", "gen/kept.py"] {
        tree.write(path, "another text");
        tree.expect(&subscription, &[(path, Changed)]).await;
    }
}

#[tokio::test]
async fn a_directory_becomes_ignored_and_is_included_again() {
    let tree = TestTree::with(&["a.py", "gen/g.py", "gen/n.txt", "gen/sub/h.py"]);
    let subscription = tree.subscribe();
    let all = ["a.py", "gen/g.py", "gen/sub/h.py"];
    assert_eq!(tree.sources(&subscription), all);
    for round in ["1", "2"] {
        tree.write(".gitignore", "gen/\n");
        tree.expect_bulk(&subscription).await;
        assert_eq!(tree.sources(&subscription), ["a.py"]);
        tree.write("gen/sub/h.py", &format!("ignored {round}"));
        tree.write("gen/n.txt", &format!("ignored {round}"));
        tree.expect(&subscription, &[("gen/sub/h.py", Changed)]).await;
        tree.write(".gitignore", "");
        tree.expect_bulk(&subscription).await;
        assert_eq!(tree.sources(&subscription), all);
        tree.write("gen/n.txt", &format!("not ignored {round}"));
        tree.expect(&subscription, &[("gen/n.txt", Changed)]).await;
        assert_eq!(tree.watcher.watch_count(), 3);
    }
}

#[tokio::test]
async fn excluded_names_are_never_entered_and_an_ignored_root_is_listed() {
    let tree = TestTree::with(&["target/a.py", "gen/.git/a.py", "gen/__pycache__/a.py", ".venv/a.py", "gen/own/a.py"]);
    tree.write(".gitignore", "target\n.venv\ngen\n");
    let subscription = tree.subscribe();
    for path in ["target/a.py", "gen/.git/a.py", "gen/__pycache__/b.py", ".venv/a.py", "target/new/b.py"] {
        tree.write(path, "another text");
        tree.expect(&subscription, &[]).await;
    }
    // Root, gen, gen/own.
    assert_eq!(tree.watcher.watch_count(), 3);
    let both = tree.watcher.subscribe(tree.spec(&[".", "gen/own"])).unwrap();
    assert_eq!(tree.sources(&both), ["gen/own/a.py"]);
}

#[tokio::test]
async fn other_files_in_an_ignored_directory_wake_nobody() {
    let tree = TestTree::with(&["a.py", "build/x.o"]);
    tree.write(".gitignore", "build\n");
    let subscription = tree.subscribe();
    for round in 0..100 {
        tree.write("build/x.o", &format!("{round}"));
        tree.write(&format!("build/{round}.o"), "");
    }
    subscription.subscriber.shared.pump(Some(subscription.subscriber.id));
    assert!(!subscription.subscriber.has_events());
    tree.write("build/g.py", "");
    tree.expect(&subscription, &[("build/g.py", Created)]).await;
}

#[tokio::test]
async fn links_are_entries_and_are_not_followed() {
    let tree = TestTree::with(&["a.py"]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("o.py"), "").unwrap();
    let subscription = tree.subscribe();
    std::os::unix::fs::symlink(outside.path(), tree.path("folder")).unwrap();
    std::os::unix::fs::symlink("a.py", tree.path("link.py")).unwrap();
    tree.expect(&subscription, &[("folder", Created), ("link.py", Created)]).await;
    std::fs::write(outside.path().join("p.py"), "").unwrap();
    tree.expect(&subscription, &[]).await;
    assert_eq!(tree.sources(&subscription), ["a.py"]);
}

#[tokio::test]
async fn links_that_appear_and_that_a_file_replaces_are_reported() {
    let tree = TestTree::with(&["a.py"]);
    std::os::unix::fs::symlink("a.py", tree.path("first.py")).unwrap();
    let subscription = tree.subscribe();
    assert_eq!(tree.changes(&subscription).await.links, LinkChanges::default(), "nothing has changed");
    std::os::unix::fs::symlink("/", tree.path("second")).unwrap();
    std::fs::rename(tree.path("a.py"), tree.path("first.py")).unwrap();
    let paths = [tree.path("first.py"), tree.path("second")].into();
    assert_eq!(tree.changes(&subscription).await.links, LinkChanges { paths, too_many: false });
    tree.write("first.py", "changed");
    assert_eq!(tree.changes(&subscription).await.links, LinkChanges::default());
}

#[tokio::test]
async fn branch_switches_and_commits_of_git_change_head() {
    let tree = TestTree::with(&["a.py"]);
    git(&tree.root, &["init", "-q"]);
    git(&tree.root, &["add", "."]);
    git(&tree.root, &["commit", "-qm", "1"]);
    let subscription = tree.subscribe();
    git(&tree.root, &["status"]);
    tree.expect(&subscription, &[]).await;
    git(&tree.root, &["checkout", "-qb", "feature/deep/one"]);
    assert!(tree.expect_bulk(&subscription).await.head_changed);
    tree.write("b.py", "");
    git(&tree.root, &["add", "."]);
    tree.expect(&subscription, &[("b.py", Created)]).await;
    git(&tree.root, &["commit", "-qm", "2"]);
    assert!(tree.expect_bulk(&subscription).await.head_changed);
    git(&tree.root, &["pack-refs", "--all"]);
    tree.expect(&subscription, &[]).await;
    git(&tree.root, &["checkout", "-q", "main"]);
    let changes = tree.expect_bulk(&subscription).await;
    assert!(changes.head_changed);
    assert_eq!(tree.reported(&changes), [("b.py".to_owned(), Deleted)]);
    git(&tree.root, &["reset", "-q", "--hard", "feature/deep/one"]);
    let changes = tree.expect_bulk(&subscription).await;
    assert!(changes.head_changed);
    assert_eq!(tree.reported(&changes), [("b.py".to_owned(), Created)]);
}

#[tokio::test]
async fn head_of_a_linked_worktree_and_of_a_new_repository() {
    let tree = TestTree::with(&["main/a.py"]);
    let main = tree.path("main");
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "1"]);
    git(&main, &["worktree", "add", "-q", "../linked"]);
    let linked = tree.watcher.subscribe(tree.spec(&["linked"])).unwrap();
    linked.take();
    git(&tree.path("linked"), &["checkout", "-q", "--detach"]);
    assert!(tree.expect_bulk(&linked).await.head_changed);
    git(&tree.path("linked"), &["checkout", "-qb", "other"]);
    assert!(tree.expect_bulk(&linked).await.head_changed);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "in main"]);
    tree.expect(&linked, &[]).await;
    git(&tree.path("linked"), &["commit", "-q", "--allow-empty", "-m", "in linked"]);
    assert!(tree.expect_bulk(&linked).await.head_changed);
    drop(linked);
    let plain = TestTree::with(&["a.py"]);
    let subscription = plain.subscribe();
    git(&plain.root, &["init", "-q"]);
    assert!(plain.expect_bulk(&subscription).await.head_changed);
    git(&plain.root, &["add", "."]);
    git(&plain.root, &["commit", "-qm", "1"]);
    assert!(plain.expect_bulk(&subscription).await.head_changed);
}

#[tokio::test]
async fn a_queue_overflow_is_bulk_and_the_table_is_compared() {
    let tree = TestTree::with(&["a.py", "busy/x"]);
    let subscription = tree.subscribe();
    {
        // No thread may empty the queue, so that it overflows.
        let _guard = subscription.subscriber.shared.stop_pumping();
        // Four events a round.
        let queued_max = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        for round in 0..queued_max.trim().parse::<usize>().unwrap() / 4 + 5_000 {
            let name = tree.path(if round % 2 == 0 { "busy/p" } else { "busy/q" });
            std::fs::rename(tree.path("busy/x"), &name).unwrap();
            std::fs::rename(&name, tree.path("busy/x")).unwrap();
        }
        std::fs::remove_file(tree.path("a.py")).unwrap();
        tree.write("new/folder/b.py", "");
    }
    let changes = tree.expect_bulk(&subscription).await;
    let counters = tree.watcher.counters();
    assert!(counters.overflows() == 1 && counters.events() > 5_000, "{counters:?}");
    assert!(tree.reported(&changes).contains(&("a.py".into(), Deleted)));
    assert_eq!(tree.sources(&subscription), ["new/folder/b.py"]);
    tree.write("new/folder/c.py", "");
    tree.expect(&subscription, &[("new/folder/c.py", Created)]).await;
}

#[tokio::test]
async fn an_inbox_without_barriers_stays_bounded() {
    let tree = TestTree::new();
    let subscription = tree.subscribe();
    let route = routes::Route { subscription: 1, dir: tree.root.clone().into(), role: routes::WatchRole::Files };
    for index in 0..=crate::limits::MAX_WATCH_INBOX {
        let name = index.to_string();
        subscription.subscriber.deliver(&route, Some(Path::new(&name)), queue::EventKind::Replaced);
    }
    assert!(subscription.subscriber.has_events());
    assert_eq!(tree.expect_bulk(&subscription).await.files, []);
}

#[tokio::test]
async fn overlapping_subscriptions_share_watches_and_leave_none() {
    let tree = TestTree::with(&["a.py", "sub/b.py", "sub/c/d.py"]);
    let whole = tree.subscribe();
    let part = tree.watcher.subscribe(tree.spec(&["sub"])).unwrap();
    let both = tree.watcher.subscribe(tree.spec(&[".", "sub/c"])).unwrap();
    assert_eq!(tree.sources(&both), ["a.py", "sub/b.py", "sub/c/d.py"]);
    assert_eq!(tree.watcher.watch_count(), 3);
    tree.write("sub/b.py", "seen by all");
    for subscription in [&whole, &part, &both] {
        tree.expect(subscription, &[("sub/b.py", Changed)]).await;
    }
    tree.write("a.py", "not in the part");
    tree.expect(&part, &[]).await;
    drop(whole);
    drop(both);
    assert_eq!(tree.watcher.watch_count(), 2);
    tree.write("sub/c/d.py", "still watched");
    tree.expect(&part, &[("sub/c/d.py", Changed)]).await;
    drop(part);
    assert_eq!(tree.watcher.watch_count(), 0);
}

#[tokio::test]
async fn changes_before_the_first_walk_reaches_them_are_reported() {
    let tree = TestTree::with(&["a.py", "b.py", "sub/c.py", "venv/pyvenv.cfg", "venv/d.py"]);
    let settled = tree.watcher.subscribe(tree.spec(&["."])).unwrap();
    assert!(settled.take().is_empty(), "older changes are not reported");
    let spec = tree.spec(&["."]);
    // Wait for one tick of the clock that file stamps use.
    while file_stamp_ns(&tree) <= spec.since_ns {}
    tree.write("a.py", "longer than before");
    let written = tree.watcher.subscribe(spec.clone()).unwrap();
    let changes = written.take();
    assert_eq!(tree.reported(&changes), [("a.py".to_owned(), Changed)]);
    assert!(!changes.incomplete);
    std::fs::remove_file(tree.path("sub/c.py")).unwrap();
    let changes = tree.watcher.subscribe(spec).unwrap().take();
    assert!(changes.incomplete, "a deletion can't be attributed to a file");
    assert_eq!(tree.sources(&written), ["a.py", "b.py", "sub/c.py"]);
}

/// The stamp of a file outside the roots that is created now.
fn file_stamp_ns(tree: &TestTree) -> i128 {
    let file = tempfile::NamedTempFile::new_in(tree._dir.path()).unwrap();
    let changed = file.as_file().metadata().unwrap().modified().unwrap();
    i128::try_from(changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

#[tokio::test]
async fn a_root_is_moved_away_and_recreated() {
    let tree = TestTree::with(&["r/a.py"]);
    let subscription = tree.watcher.subscribe(tree.spec(&["r"])).unwrap();
    subscription.take();
    tree.rename("r", "away");
    let changes = tree.expect_bulk(&subscription).await;
    assert_eq!(tree.reported(&changes), [("r/a.py".to_owned(), Deleted)]);
    tree.write("r/b.py", "");
    let changes = tree.changes(&subscription).await;
    assert_eq!(tree.reported(&changes), [("r/b.py".to_owned(), Created)]);
    tree.write("r/b.py", "watched");
    tree.expect(&subscription, &[("r/b.py", Changed)]).await;
    tree.write("away/a.py", "no longer ours");
    tree.expect(&subscription, &[]).await;
}

#[tokio::test]
async fn the_wake_up_is_called_once_until_take() {
    let tree = TestTree::with(&["a.py"]);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let calls = Arc::new(AtomicUsize::new(0));
    let spec = WatchSpec {
        on_change: {
            let calls = calls.clone();
            Arc::new(move || {
                calls.fetch_add(1, Ordering::SeqCst);
                let _ = sender.send(());
            })
        },
        ..tree.spec(&["."])
    };
    let subscription = tree.watcher.subscribe(spec).unwrap();
    for round in 1..=3 {
        tree.write("a.py", &format!("{round}"));
        receiver.recv().await.unwrap();
        tree.write("b.py", &format!("{round}"));
        subscription.barrier().await;
        assert_eq!(calls.load(Ordering::SeqCst), round);
        assert!(!subscription.take().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn paused_time_does_not_end_a_barrier_early() {
    let tree = TestTree::with(&["a.py"]);
    let subscription = tree.subscribe();
    for round in 0..50 {
        tree.write(&format!("d{round}/a.py"), "");
        subscription.barrier().await;
        assert_eq!(tree.reported(&subscription.take()), [(format!("d{round}/a.py"), Created)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_barriers_each_see_their_own_write() {
    let tree = TestTree::new();
    let subscription = Arc::new(tree.subscribe());
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..64 {
        let subscription = subscription.clone();
        let path = tree.path(&format!("{index}.py"));
        tasks.spawn(async move {
            {
                let _no_fork = WRITES_OR_FORKS.read();
                std::fs::write(&path, "").unwrap();
            }
            subscription.compare().await;
            assert!(subscription.source_files().contains(&path));
        });
    }
    tasks.join_all().await;
    assert_eq!(subscription.take().files.len(), 64);
}

#[test]
fn a_missing_root_is_an_error() {
    let tree = TestTree::new();
    let mut spec = tree.spec(&["."]);
    spec.roots.push(tree.path("none"));
    assert!(matches!(tree.watcher.subscribe(spec), Err(WatchError::RootUnreadable)));
    assert_eq!(tree.watcher.watch_count(), 0);
}

#[tokio::test]
async fn the_first_walk_can_follow_the_files_of_the_index() {
    let tree = TestTree::with(&["a.py", "__pycache__/a.pyc"]);
    let spec = WatchSpec { follows_index: true, ..tree.spec(&["."]) };
    let subscription = tree.watcher.subscribe(spec).unwrap();
    assert_eq!(subscription.index_degraded(), None, "no second walk is needed");
    let first = subscription.take();
    assert!(!first.bulk && !first.index_only_rescan, "nothing is reported as unknown: {first:?}");
    subscription.follow_index();
    assert_eq!(subscription.index_degraded(), None, "it is followed already");
    tree.write("__pycache__/a.pyc", "edited");
    let changes = tree.changes(&subscription).await;
    let noted: Vec<String> = changes.index_only.iter().map(|path| tree.relative(path)).collect();
    assert_eq!(noted, ["__pycache__/a.pyc"]);
    assert!(!changes.index_only_rescan);
}

#[tokio::test]
async fn a_file_that_git_begins_or_ceases_to_track_is_listed_accordingly() {
    let tree = TestTree::with(&["a.py", "gen/kept.py", "gen/out.py", "gen/deep/later.py"]);
    tree.write(".gitignore", "gen/\n");
    git(&tree.root, &["init", "-q"]);
    git(&tree.root, &["add", "-f", "gen/kept.py"]);
    let subscription = tree.watcher.subscribe(WatchSpec { follows_index: true, ..tree.spec(&["."]) }).unwrap();
    tree.changes(&subscription).await;
    assert_eq!(tree.sources(&subscription), ["a.py", "gen/kept.py"]);
    // What isn't ignored concerns nobody.
    git(&tree.root, &["add", "a.py"]);
    assert!(!tree.changes(&subscription).await.bulk);
    git(&tree.root, &["add", "-f", "gen/deep/later.py"]);
    tree.expect_bulk(&subscription).await;
    assert_eq!(tree.sources(&subscription), ["a.py", "gen/deep/later.py", "gen/kept.py"]);
    tree.write("gen/deep/later.py", "another text");
    tree.expect(&subscription, &[("gen/deep/later.py", Changed)]).await;
    git(&tree.root, &["rm", "-q", "--cached", "gen/kept.py"]);
    tree.expect_bulk(&subscription).await;
    assert_eq!(tree.sources(&subscription), ["a.py", "gen/deep/later.py"]);
}

#[tokio::test]
async fn the_files_of_a_linked_worktree_below_the_root_are_followed_and_not_listed() {
    let tree = TestTree::with(&["a.py"]);
    git(&tree.root, &["init", "-q"]);
    git(&tree.root, &["add", "."]);
    git(&tree.root, &["commit", "-q", "-m", "x"]);
    git(&tree.root, &["worktree", "add", "-q", "--detach", "trees/one"]);
    let subscription = tree.subscribe();
    assert_eq!(tree.sources(&subscription), ["a.py"]);
    tree.write("trees/one/a.py", "another text");
    tree.expect(&subscription, &[("trees/one/a.py", Changed)]).await;
}
