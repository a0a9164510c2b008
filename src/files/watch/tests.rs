//! The watcher on real trees: do something, pass the barrier, look. No waiting for time to pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::changes::ChangeKind::{Changed, Created, Deleted};
use super::*;

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    watcher: Watcher,
    steps: Mutex<Steps>,
}

/// What a test has done so far, by relative paths; a step ends with a look.
#[derive(Default)]
struct Steps {
    earlier: BTreeSet<String>,
    written: BTreeSet<String>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let watcher = Watcher::new(dir.path()).unwrap();
        Self { _dir: dir, root, watcher, steps: Mutex::default() }
    }

    fn with(files: &[&str]) -> Self {
        let place = Self::new();
        files.iter().for_each(|file| place.write(file, file));
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        self.steps.lock().written.insert(path.to_owned());
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn spec(&self, roots: &[&str]) -> WatchSpec {
        WatchSpec {
            roots: roots.iter().map(|root| self.path(root).canonicalize().unwrap()).collect(),
            is_source: Arc::new(|path| path.extension().is_some_and(|extension| extension == "py")),
            since_ns: codeyard_base::clock::wall_ns(),
            on_change: Arc::new(|| {}),
        }
    }

    fn subscribe(&self) -> Subscription {
        let subscription = self.watcher.subscribe(self.spec(&["."])).unwrap();
        assert_eq!(subscription.degraded(), None);
        subscription.take();
        let mut steps = self.steps.lock();
        let written = std::mem::take(&mut steps.written);
        steps.earlier.extend(written);
        subscription
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned()
    }

    fn sources(&self, subscription: &Subscription) -> Vec<String> {
        subscription.source_files().iter().map(|path| self.relative(path)).collect()
    }

    fn told(&self, changes: &Changes) -> Vec<(String, ChangeKind)> {
        changes.files.iter().map(|change| (self.relative(&change.path), change.kind)).collect()
    }

    /// Passes the barrier and takes what is told. A process that another test forks may hold a file open for a moment
    /// longer; its closing is then told as a change in a later step. Such entries are left out: changes, that nobody
    /// `expected`, of files told or written in an earlier step and not written in this one.
    async fn look(&self, subscription: &Subscription, expected: &[(&str, ChangeKind)]) -> Changes {
        subscription.barrier().await;
        let mut changes = subscription.take();
        let mut steps = self.steps.lock();
        changes.files.retain(|change| {
            let path = self.relative(&change.path);
            let late = change.kind == Changed && steps.earlier.contains(&path) && !steps.written.contains(&path);
            !late || expected.iter().any(|(awaited, _)| *awaited == path)
        });
        let told = self.told(&changes).into_iter().map(|(path, _)| path);
        let written = std::mem::take(&mut steps.written);
        steps.earlier.extend(told.chain(written));
        changes
    }

    /// Expects just these files, nothing in bulk, and nothing twice.
    async fn expect(&self, subscription: &Subscription, expected: &[(&str, ChangeKind)]) {
        let changes = self.look(subscription, expected).await;
        let awaited: Vec<_> = expected.iter().map(|(path, kind)| ((*path).to_owned(), *kind)).collect();
        assert_eq!(self.told(&changes), awaited);
        assert!(!changes.bulk, "unexpected bulk");
        let again = self.look(subscription, &[]).await;
        assert!(again.is_empty(), "told twice: {again:?}");
    }

    async fn expect_bulk(&self, subscription: &Subscription) -> Changes {
        let changes = self.look(subscription, &[]).await;
        assert!(changes.bulk);
        changes
    }
}

fn git(dir: &Path, arguments: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "the test plays the user who runs git")]
    let mut git = Command::new("git");
    let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"];
    let output = git.current_dir(dir).args(identity).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn single_files() {
    let place = Place::with(&["a.py", "sub/b.py", "data.json"]);
    let subscription = place.subscribe();
    assert_eq!(place.sources(&subscription), ["a.py", "sub/b.py"]);
    place.expect(&subscription, &[]).await;
    place.write("sub/new.py", "1");
    place.expect(&subscription, &[("sub/new.py", Created)]).await;
    place.write("a.py", "other");
    place.expect(&subscription, &[("a.py", Changed)]).await;
    place.write("package.json", "{}");
    place.expect(&subscription, &[("package.json", Created)]).await;
    std::fs::remove_file(place.path("sub/b.py")).unwrap();
    place.expect(&subscription, &[("sub/b.py", Deleted)]).await;
    place.rename("a.py", "sub/c.py");
    place.expect(&subscription, &[("a.py", Deleted), ("sub/c.py", Created)]).await;
    assert_eq!(place.sources(&subscription), ["sub/c.py", "sub/new.py"]);
    // Saved beside and moved over, as editors do.
    place.write("sub/c.py~", "saved");
    place.rename("sub/c.py~", "sub/c.py");
    place.expect(&subscription, &[("sub/c.py", Changed)]).await;
    place.write("gone.py", "");
    std::fs::remove_file(place.path("gone.py")).unwrap();
    place.expect(&subscription, &[("gone.py", ChangeKind::Deleted)]).await;
    std::fs::remove_file(place.path("sub/c.py")).unwrap();
    place.write("sub/c.py", "again");
    place.expect(&subscription, &[("sub/c.py", Changed)]).await;
}

#[tokio::test]
async fn a_second_write_of_the_same_size_is_seen() {
    let place = Place::with(&["a.py"]);
    let subscription = place.subscribe();
    for round in 0..200 {
        place.write("a.py", &format!("{}", 1_000 + round));
        place.expect(&subscription, &[("a.py", Changed)]).await;
    }
}

#[tokio::test]
async fn every_edit_before_the_barrier_is_told_however_fast() {
    let place = Place::new();
    let subscription = place.subscribe();
    for round in 0..500 {
        let name = format!("f{round}.py");
        place.write(&name, "");
        place.expect(&subscription, &[(&name, Created)]).await;
    }
    assert_eq!(subscription.source_files().len(), 500);
}

#[tokio::test]
async fn folders_come_and_go_with_what_is_in_them() {
    let place = Place::with(&["a.py", "old/x/1.py", "old/2.py"]);
    let subscription = place.subscribe();
    place.write("deep/er/est/new.py", "");
    place.expect(&subscription, &[("deep/er/est/new.py", Created)]).await;
    place.write("deep/er/est/new.py", "and it is watched");
    place.expect(&subscription, &[("deep/er/est/new.py", Changed)]).await;
    let moved = [("moved/2.py", Created), ("moved/x/1.py", Created), ("old/2.py", Deleted), ("old/x/1.py", Deleted)];
    place.rename("old", "moved");
    place.expect(&subscription, &moved).await;
    place.write("moved/x/1.py", "in the moved folder");
    place.expect(&subscription, &[("moved/x/1.py", Changed)]).await;
    // To a name that sorts first, so that it is met before the old one.
    place.rename("moved", "a-moved");
    assert_eq!(place.look(&subscription, &[]).await.files.len(), 4);
    place.write("a-moved/x/1.py", "once more");
    place.write("a-moved/x/3.py", "");
    place.expect(&subscription, &[("a-moved/x/1.py", Changed), ("a-moved/x/3.py", Created)]).await;
    std::fs::remove_dir_all(place.path("a-moved")).unwrap();
    let gone = [("a-moved/2.py", Deleted), ("a-moved/x/1.py", Deleted), ("a-moved/x/3.py", Deleted)];
    place.expect(&subscription, &gone).await;
    assert_eq!(place.sources(&subscription), ["a.py", "deep/er/est/new.py"]);
    // Root, deep, er, est.
    assert_eq!(place.watcher.watch_count(), 4);
}

#[tokio::test]
async fn a_folder_that_is_replaced_by_another_of_the_same_name() {
    let place = Place::with(&["d/a.py", "d/sub/b.py"]);
    let subscription = place.subscribe();
    std::fs::remove_dir_all(place.path("d")).unwrap();
    place.write("d/sub/c.py", "");
    place.expect(&subscription, &[("d/a.py", Deleted), ("d/sub/b.py", Deleted), ("d/sub/c.py", Created)]).await;
    place.write("d/sub/c.py", "watched");
    place.expect(&subscription, &[("d/sub/c.py", Changed)]).await;
    place.rename("d", "e");
    place.write("d/sub/c.py", "the new one");
    place.expect(&subscription, &[("d/sub/c.py", Changed), ("e/sub/c.py", Created)]).await;
    place.write("d/sub/c.py", "1");
    place.write("e/sub/c.py", "2");
    place.expect(&subscription, &[("d/sub/c.py", Changed), ("e/sub/c.py", Changed)]).await;
    // A folder becomes a file, and back.
    std::fs::remove_dir_all(place.path("d")).unwrap();
    place.write("d", "a file");
    place.expect(&subscription, &[("d", Created), ("d/sub/c.py", Deleted)]).await;
    std::fs::remove_file(place.path("d")).unwrap();
    place.write("d/x.py", "");
    place.expect(&subscription, &[("d", Deleted), ("d/x.py", Created)]).await;
}

#[tokio::test]
async fn noise_in_ignored_places_is_silent_and_dependencies_are_bulk() {
    let place = Place::with(&["a.py", "build/x.py", "node_modules/p/i.js", "env/lib/python3.12/site-packages/q/i.py"]);
    place.write("env/pyvenv.cfg", "");
    place.write(".gitignore", "build/\n*.log\nenv/\n");
    let subscription = place.subscribe();
    assert_eq!(place.sources(&subscription), ["a.py"]);
    let silent =
        ["build/y.o", "build/sub/y.o", "x.log", "node_modules/p/j.js", "env/lib/python3.12/site-packages/q/j.py"];
    for silent in silent {
        place.write(silent, "");
        place.expect(&subscription, &[]).await;
    }
    for loud in ["node_modules/new/i.js", "env/lib/python3.12/site-packages/new.py"] {
        place.write(loud, "");
        assert_eq!(place.expect_bulk(&subscription).await.files, []);
    }
    std::fs::remove_dir_all(place.path("node_modules")).unwrap();
    place.expect_bulk(&subscription).await;
    place.write("node_modules/again/i.js", "");
    place.expect_bulk(&subscription).await;
    place.write("node_modules/more/i.js", "");
    place.expect_bulk(&subscription).await;
    // The rules change: what wasn't followed appears, what is ignored now leaves the list without being called deleted.
    place.write(".gitignore", "a.py\n");
    let changes = place.expect_bulk(&subscription).await;
    let told = place.told(&changes);
    assert!(told.contains(&("build/y.o".into(), Created)) && !told.iter().any(|(path, _)| path == "a.py"), "{told:?}");
    assert_eq!(place.sources(&subscription), ["build/x.py"]);
}

#[tokio::test]
async fn ignored_sources_and_configuration_are_told_and_not_listed() {
    let place =
        Place::with(&["use.py", "gen/g.py", "gen/deep/h.py", "gen/n.o", "larder/generated.py", "larder/real.py"]);
    place.write(".gitignore", "gen/\nlarder/generated.py\nbuild/\n");
    let subscription = place.subscribe();
    assert_eq!(place.sources(&subscription), ["larder/real.py", "use.py"]);
    for path in ["gen/g.py", "gen/deep/h.py", "larder/generated.py"] {
        place.write(path, "another text");
        place.expect(&subscription, &[(path, Changed)]).await;
        std::fs::remove_file(place.path(path)).unwrap();
        place.expect(&subscription, &[(path, Deleted)]).await;
        place.write(path, "again");
        place.expect(&subscription, &[(path, Created)]).await;
    }
    // A folder that wasn't there, with noise around what matters.
    place.write("build/CMake.txt", "");
    place.write("build/sub/x.o", "");
    place.write("build/compile_commands.json", "[]");
    place.expect(&subscription, &[("build/compile_commands.json", Created)]).await;
    place.rename("gen/deep", "gen/moved");
    place.expect(&subscription, &[("gen/deep/h.py", Deleted), ("gen/moved/h.py", Created)]).await;
    std::fs::remove_dir_all(place.path("gen")).unwrap();
    place.expect(&subscription, &[("gen/g.py", Deleted), ("gen/moved/h.py", Deleted)]).await;
    assert_eq!(place.sources(&subscription), ["larder/real.py", "use.py"]);
    // Root, larder, build, build/sub.
    assert_eq!(place.watcher.watch_count(), 4);
}

#[tokio::test]
async fn nested_and_negated_rules_decide_what_is_listed_only() {
    let place = Place::with(&["a/out/x.py", "a/out/keep.py", "gen/kept.py", "b/x.py"]);
    place.write("a/.gitignore", "out/*\n!out/keep.py\n");
    // A file can't be taken back from an ignored folder.
    place.write(".gitignore", "gen/\n!gen/kept.py\n");
    let subscription = place.subscribe();
    assert_eq!(place.sources(&subscription), ["a/out/keep.py", "b/x.py"]);
    for path in ["a/out/keep.py", "a/out/x.py", "b/x.py", "gen/kept.py"] {
        place.write(path, "another text");
        place.expect(&subscription, &[(path, Changed)]).await;
    }
}

#[tokio::test]
async fn a_folder_becomes_ignored_and_is_taken_back() {
    let place = Place::with(&["a.py", "gen/g.py", "gen/n.txt", "gen/sub/h.py"]);
    let subscription = place.subscribe();
    let all = ["a.py", "gen/g.py", "gen/sub/h.py"];
    assert_eq!(place.sources(&subscription), all);
    for round in ["1", "2"] {
        place.write(".gitignore", "gen/\n");
        place.expect_bulk(&subscription).await;
        assert_eq!(place.sources(&subscription), ["a.py"]);
        place.write("gen/sub/h.py", &format!("ignored {round}"));
        place.write("gen/n.txt", &format!("ignored {round}"));
        place.expect(&subscription, &[("gen/sub/h.py", Changed)]).await;
        place.write(".gitignore", "");
        place.expect_bulk(&subscription).await;
        assert_eq!(place.sources(&subscription), all);
        place.write("gen/n.txt", &format!("not ignored {round}"));
        place.expect(&subscription, &[("gen/n.txt", Changed)]).await;
        assert_eq!(place.watcher.watch_count(), 3);
    }
}

#[tokio::test]
async fn names_that_are_never_entered_and_a_root_that_is_ignored() {
    let place = Place::with(&["target/a.py", "gen/.git/a.py", "gen/__pycache__/a.py", ".venv/a.py", "gen/own/a.py"]);
    place.write(".gitignore", "target\n.venv\ngen\n");
    let subscription = place.subscribe();
    for path in ["target/a.py", "gen/.git/a.py", "gen/__pycache__/b.py", ".venv/a.py", "target/new/b.py"] {
        place.write(path, "another text");
        place.expect(&subscription, &[]).await;
    }
    // Root, gen, gen/own.
    assert_eq!(place.watcher.watch_count(), 3);
    let both = place.watcher.subscribe(place.spec(&[".", "gen/own"])).unwrap();
    assert_eq!(place.sources(&both), ["gen/own/a.py"]);
}

#[tokio::test]
async fn noise_in_an_ignored_folder_wakes_nobody() {
    let place = Place::with(&["a.py", "build/x.o"]);
    place.write(".gitignore", "build\n");
    let subscription = place.subscribe();
    for round in 0..100 {
        place.write("build/x.o", &format!("{round}"));
        place.write(&format!("build/{round}.o"), "");
    }
    subscription.subscriber.shared.pump(Some(subscription.subscriber.id));
    assert!(!subscription.subscriber.has_mail());
    place.write("build/g.py", "");
    place.expect(&subscription, &[("build/g.py", Created)]).await;
}

#[tokio::test]
async fn links_are_entries_and_not_followed() {
    let place = Place::with(&["a.py"]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("o.py"), "").unwrap();
    let subscription = place.subscribe();
    std::os::unix::fs::symlink(outside.path(), place.path("folder")).unwrap();
    std::os::unix::fs::symlink("a.py", place.path("link.py")).unwrap();
    place.expect(&subscription, &[("folder", Created), ("link.py", Created)]).await;
    std::fs::write(outside.path().join("p.py"), "").unwrap();
    place.expect(&subscription, &[]).await;
    assert_eq!(place.sources(&subscription), ["a.py"]);
}

#[tokio::test]
async fn branches_and_commits_of_real_git() {
    let place = Place::with(&["a.py"]);
    git(&place.root, &["init", "-q"]);
    git(&place.root, &["add", "."]);
    git(&place.root, &["commit", "-qm", "1"]);
    let subscription = place.subscribe();
    git(&place.root, &["status"]);
    place.expect(&subscription, &[]).await;
    git(&place.root, &["checkout", "-qb", "feature/deep/one"]);
    assert!(place.expect_bulk(&subscription).await.head_changed);
    place.write("b.py", "");
    git(&place.root, &["add", "."]);
    place.expect(&subscription, &[("b.py", Created)]).await;
    git(&place.root, &["commit", "-qm", "2"]);
    assert!(place.expect_bulk(&subscription).await.head_changed);
    git(&place.root, &["pack-refs", "--all"]);
    place.expect(&subscription, &[]).await;
    git(&place.root, &["checkout", "-q", "main"]);
    let changes = place.expect_bulk(&subscription).await;
    assert!(changes.head_changed);
    assert_eq!(place.told(&changes), [("b.py".to_owned(), Deleted)]);
    git(&place.root, &["reset", "-q", "--hard", "feature/deep/one"]);
    let changes = place.expect_bulk(&subscription).await;
    assert!(changes.head_changed);
    assert_eq!(place.told(&changes), [("b.py".to_owned(), Created)]);
}

#[tokio::test]
async fn a_linked_worktree_and_a_late_init() {
    let place = Place::with(&["main/a.py"]);
    let main = place.path("main");
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "1"]);
    git(&main, &["worktree", "add", "-q", "../linked"]);
    let linked = place.watcher.subscribe(place.spec(&["linked"])).unwrap();
    linked.take();
    git(&place.path("linked"), &["checkout", "-q", "--detach"]);
    assert!(place.expect_bulk(&linked).await.head_changed);
    git(&place.path("linked"), &["checkout", "-qb", "other"]);
    assert!(place.expect_bulk(&linked).await.head_changed);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "in main"]);
    place.expect(&linked, &[]).await;
    git(&place.path("linked"), &["commit", "-q", "--allow-empty", "-m", "in linked"]);
    assert!(place.expect_bulk(&linked).await.head_changed);
    drop(linked);
    let plain = Place::with(&["a.py"]);
    let subscription = plain.subscribe();
    git(&plain.root, &["init", "-q"]);
    assert!(plain.expect_bulk(&subscription).await.head_changed);
    git(&plain.root, &["add", "."]);
    git(&plain.root, &["commit", "-qm", "1"]);
    assert!(plain.expect_bulk(&subscription).await.head_changed);
}

#[tokio::test]
async fn lost_events_are_bulk_and_the_table_is_right_again() {
    let place = Place::with(&["a.py", "busy/x"]);
    let subscription = place.subscribe();
    {
        // Nobody may empty the queue, so that it runs over.
        let _stuck = subscription.subscriber.shared.stop_pumping();
        // Four events a round.
        let queued_max = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        for round in 0..queued_max.trim().parse::<usize>().unwrap() / 4 + 5_000 {
            let name = place.path(if round % 2 == 0 { "busy/p" } else { "busy/q" });
            std::fs::rename(place.path("busy/x"), &name).unwrap();
            std::fs::rename(&name, place.path("busy/x")).unwrap();
        }
        std::fs::remove_file(place.path("a.py")).unwrap();
        place.write("new/folder/b.py", "");
    }
    let changes = place.expect_bulk(&subscription).await;
    let traffic = place.watcher.traffic();
    assert!(traffic.overflows() == 1 && traffic.events() > 5_000, "{traffic:?}");
    assert!(place.told(&changes).contains(&("a.py".into(), Deleted)));
    assert_eq!(place.sources(&subscription), ["new/folder/b.py"]);
    place.write("new/folder/c.py", "");
    place.expect(&subscription, &[("new/folder/c.py", Created)]).await;
}

#[tokio::test]
async fn an_inbox_that_nobody_empties_stays_bounded() {
    let place = Place::new();
    let subscription = place.subscribe();
    let route = routes::Route { subscription: 1, dir: place.root.clone().into(), role: routes::Role::Files };
    for index in 0..=crate::limits::MAX_WATCH_INBOX {
        let name = index.to_string();
        subscription.subscriber.deliver(&route, Some(Path::new(&name)), queue::Happened::Replaced);
    }
    assert!(subscription.subscriber.has_mail());
    assert_eq!(place.expect_bulk(&subscription).await.files, []);
}

#[tokio::test]
async fn overlapping_subscriptions_and_no_watch_left() {
    let place = Place::with(&["a.py", "sub/b.py", "sub/c/d.py"]);
    let whole = place.subscribe();
    let part = place.watcher.subscribe(place.spec(&["sub"])).unwrap();
    let both = place.watcher.subscribe(place.spec(&[".", "sub/c"])).unwrap();
    assert_eq!(place.sources(&both), ["a.py", "sub/b.py", "sub/c/d.py"]);
    assert_eq!(place.watcher.watch_count(), 3);
    place.write("sub/b.py", "seen by all");
    for subscription in [&whole, &part, &both] {
        place.expect(subscription, &[("sub/b.py", Changed)]).await;
    }
    place.write("a.py", "not in the part");
    place.expect(&part, &[]).await;
    drop(whole);
    drop(both);
    assert_eq!(place.watcher.watch_count(), 2);
    place.write("sub/c/d.py", "still watched");
    place.expect(&part, &[("sub/c/d.py", Changed)]).await;
    drop(part);
    assert_eq!(place.watcher.watch_count(), 0);
}

#[tokio::test]
async fn what_changes_before_the_first_walk_comes_there_is_told() {
    let place = Place::with(&["a.py", "b.py", "sub/c.py", "venv/pyvenv.cfg", "venv/d.py"]);
    let settled = place.watcher.subscribe(place.spec(&["."])).unwrap();
    assert!(settled.take().is_empty(), "what is older is no news");
    let spec = place.spec(&["."]);
    // A tick of the clock that file stamps are taken from.
    while file_stamp_ns(&place) <= spec.since_ns {}
    place.write("a.py", "longer than before");
    let written = place.watcher.subscribe(spec.clone()).unwrap();
    let changes = written.take();
    assert_eq!(place.told(&changes), [("a.py".to_owned(), Changed)]);
    assert!(!changes.incomplete);
    std::fs::remove_file(place.path("sub/c.py")).unwrap();
    let changes = place.watcher.subscribe(spec).unwrap().take();
    assert!(changes.incomplete, "nobody can say what is gone");
    assert_eq!(place.sources(&written), ["a.py", "b.py", "sub/c.py"]);
}

/// What a file outside the place is stamped with now.
fn file_stamp_ns(place: &Place) -> i128 {
    let file = tempfile::NamedTempFile::new_in(place._dir.path()).unwrap();
    let changed = file.as_file().metadata().unwrap().modified().unwrap();
    i128::try_from(changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

#[tokio::test]
async fn a_root_goes_and_comes_back() {
    let place = Place::with(&["r/a.py"]);
    let subscription = place.watcher.subscribe(place.spec(&["r"])).unwrap();
    subscription.take();
    place.rename("r", "away");
    let changes = place.expect_bulk(&subscription).await;
    assert_eq!(place.told(&changes), [("r/a.py".to_owned(), Deleted)]);
    place.write("r/b.py", "");
    let changes = place.look(&subscription, &[]).await;
    assert_eq!(place.told(&changes), [("r/b.py".to_owned(), Created)]);
    place.write("r/b.py", "and it is watched");
    place.expect(&subscription, &[("r/b.py", Changed)]).await;
    place.write("away/a.py", "no longer ours");
    place.expect(&subscription, &[]).await;
}

#[tokio::test]
async fn the_wake_up_comes_once_until_something_is_taken() {
    let place = Place::with(&["a.py"]);
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
        ..place.spec(&["."])
    };
    let subscription = place.watcher.subscribe(spec).unwrap();
    for round in 1..=3 {
        place.write("a.py", &format!("{round}"));
        receiver.recv().await.unwrap();
        place.write("b.py", &format!("{round}"));
        subscription.barrier().await;
        assert_eq!(calls.load(Ordering::SeqCst), round);
        assert!(!subscription.take().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn paused_time_does_not_cut_a_look_short() {
    let place = Place::with(&["a.py"]);
    let subscription = place.subscribe();
    for round in 0..50 {
        place.write(&format!("d{round}/a.py"), "");
        place.expect(&subscription, &[(format!("d{round}/a.py").as_str(), Created)]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_barriers_at_once() {
    let place = Place::new();
    let subscription = Arc::new(place.subscribe());
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..64 {
        let (subscription, path) = (subscription.clone(), place.path(&format!("{index}.py")));
        tasks.spawn(async move {
            std::fs::write(&path, "").unwrap();
            subscription.barrier().await;
            assert!(subscription.source_files().contains(&path));
        });
    }
    tasks.join_all().await;
    assert_eq!(subscription.take().files.len(), 64);
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let place = Place::new();
    let mut spec = place.spec(&["."]);
    spec.roots.push(place.path("none"));
    assert!(matches!(place.watcher.subscribe(spec), Err(WatchError::RootUnreadable)));
    assert_eq!(place.watcher.watch_count(), 0);
}
