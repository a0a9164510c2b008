//! Clones of real, broken and hostile repositories by real git.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::testing::TestRepository;

/// A repository, a folder for clones, and what allows it.
struct Fixture {
    dir: tempfile::TempDir,
    repository: TestRepository,
    settings: CheckoutSettings,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = TestRepository::new(&dir.path().join("source"));
        let settings = settings(&[dir.path().to_str().unwrap()]);
        Self { dir, repository, settings }
    }

    fn url(&self) -> String {
        self.repository.path().to_str().unwrap().to_owned()
    }

    fn target(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn check_out(&self, reference: &str, name: &str) -> Result<CheckedOut, StageError> {
        check_out(&self.settings, &self.url(), reference, &self.target(name), &StopFlag::default())
    }
}

fn settings(sources: &[&str]) -> CheckoutSettings {
    CheckoutSettings {
        rewrites: Vec::new(),
        sources: sources.iter().map(|source| (*source).to_owned()).collect(),
        max_bytes: 64 * 1024 * 1024,
        limit: Duration::from_secs(120),
    }
}

fn reason(error: &StageError) -> &str {
    error.details["reason"].as_str().unwrap()
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn branches_tags_and_commits_are_checked_out() {
    let fixture = Fixture::new();
    let git = &fixture.repository;
    let first = git.commit(&[("f", b"1\n")], "2026-01-21T10:00:00+09:00");
    git.run(&["tag", "v1"]);
    let second = git.commit(&[("f", b"2\n"), ("d/g", b"g")], "2026-01-22T10:00:00Z");
    git.run(&["tag", "--annotate", "--message", "m", "v2"]);
    git.run(&["tag", "also"]);
    git.run(&["branch", "old", &first]);
    let content = |name: &str| fs::read_to_string(fixture.target(name).join("f")).unwrap();
    let main = fixture.check_out("main", "a").unwrap();
    assert_eq!((main.commit.as_str(), main.branch.as_deref()), (second.as_str(), Some("main")));
    assert_eq!(
        (main.commit_date.as_str(), main.tags.as_slice()),
        ("2026-01-22T10:00:00Z", &["also", "v2"].map(str::to_owned)[..])
    );
    let tag = fixture.check_out("v1", "b").unwrap();
    assert_eq!((tag.commit.as_str(), tag.branch.as_deref(), content("b").as_str()), (first.as_str(), None, "1\n"));
    assert_eq!(tag.commit_date, "2026-01-21T01:00:00Z", "in UTC");
    assert_eq!(fixture.check_out("v2", "c").unwrap().commit, second, "what the tag points to");
    let commit = fixture.check_out(&first, "d").unwrap();
    assert_eq!((commit.commit.as_str(), commit.branch, content("d").as_str()), (first.as_str(), None, "1\n"));
    assert_eq!(fixture.check_out("HEAD", "e").unwrap().branch.as_deref(), Some("main"));
    // The identifier of a tag itself means its commit.
    let tag = git.run(&["rev-parse", "v2"]);
    assert_eq!(fixture.check_out(&tag, "f").unwrap().commit, second);
    assert_eq!(names(&fixture.target("a")), [".git", "d", "f"]);
    assert_eq!(Git::in_repository(&fixture.target("a")).args(["status", "--porcelain"]).text().unwrap(), "");
}

#[test]
fn repositories_with_longer_identifiers_are_checked_out() {
    let fixture = Fixture::new();
    let path = fixture.target("sha256");
    fs::create_dir(&path).unwrap();
    Git::new(&path).args(["init", "--quiet", "--object-format=sha256"]).text().unwrap();
    let commit = TestRepository::new(&path).commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    assert_eq!(commit.len(), 64);
    for (reference, name) in [("main", "a"), (commit.as_str(), "b")] {
        let out = check_out(
            &fixture.settings,
            path.to_str().unwrap(),
            reference,
            &fixture.target(name),
            &StopFlag::default(),
        );
        assert_eq!(out.unwrap().commit, commit);
        assert_eq!(fs::read_to_string(fixture.target(name).join("f")).unwrap(), "1\n");
    }
}

#[test]
fn a_repetition_contacts_nothing_and_a_moved_branch_changes_nothing() {
    let fixture = Fixture::new();
    let first = fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    let once = fixture.check_out("main", "a").unwrap();
    let second = fixture.repository.commit(&[("f", b"2\n")], "2026-01-22T10:00:00Z");
    assert_eq!(fixture.check_out("main", "a").unwrap(), once);
    assert_eq!(once.commit, first);
    assert_eq!(fixture.check_out("main", "b").unwrap().commit, second);
    assert_eq!(pin(&fixture.settings, &fixture.url(), "main", &StopFlag::default()).unwrap(), second);
    fs::rename(fixture.repository.path(), fixture.target("moved")).unwrap();
    assert_eq!(fixture.check_out("main", "a").unwrap(), once);
    let other = fixture.check_out("old", "a").unwrap_err();
    assert_eq!((other.code, &other.details["cause_class"]), ("INTERNAL", &serde_json::json!("other_checkout")));
    assert_eq!(reason(&fixture.check_out("main", "c").unwrap_err()), "repository_not_found");
}

#[test]
fn what_an_interrupted_clone_left_is_removed() {
    let fixture = Fixture::new();
    fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    let left = fixture.target(".a.clone-x1");
    fs::create_dir_all(left.join(".git/objects/pack")).unwrap();
    fs::write(left.join(".git/objects/pack/tmp_pack_1"), "part").unwrap();
    let other = fixture.target(".ab.clone-x1");
    fs::create_dir(&other).unwrap();
    fixture.check_out("main", "a").unwrap();
    assert!(!left.exists() && other.exists());
    // A clone that fails leaves nothing.
    fixture.check_out("none", "c").unwrap_err();
    assert_eq!(names(fixture.dir.path()), [".ab.clone-x1", "a", "source"]);
}

#[test]
fn a_clone_without_its_record_is_made_again() {
    let fixture = Fixture::new();
    fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    let whole = fixture.check_out("main", "a").unwrap();
    // What a power loss can leave: names without contents.
    for record in [Some(""), Some("{\"url\""), None] {
        fs::write(fixture.target("a/f"), "").unwrap();
        match record {
            Some(text) => fs::write(fixture.target("a").join(RECORD), text).unwrap(),
            None => fs::remove_dir_all(fixture.target("a/.git")).unwrap(),
        }
        assert_eq!(fixture.check_out("main", "a").unwrap(), whole);
        assert_eq!(fs::read_to_string(fixture.target("a/f")).unwrap(), "1\n");
    }
    // What it can't replace by a whole clone stays.
    fs::remove_file(fixture.target("a").join(RECORD)).unwrap();
    fixture.check_out("none", "a").unwrap_err();
    assert!(fixture.target("a/f").exists());
    assert_eq!(names(fixture.dir.path()), ["a", "source"]);
}

#[test]
fn names_that_do_not_exist_are_refused_with_suggestions() {
    let fixture = Fixture::new();
    let empty = fixture.check_out("main", "a").unwrap_err();
    assert!(reason(&empty) == "reference_not_found" && empty.message.contains("is empty"), "{empty}");
    fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    let wrong = fixture.check_out("mian", "a").unwrap_err();
    assert_eq!((reason(&wrong), &wrong.details["suggestions"]), ("reference_not_found", &serde_json::json!(["main"])));
    for name in ["", "-x", "a..b", "a b", "main~1", "main^{}", "a:b", "refs/heads/*", "@{-1}", "a\nb"] {
        assert_eq!(reason(&fixture.check_out(name, "a").unwrap_err()), "reference_not_found", "{name:?}");
    }
    assert_eq!(reason(&fixture.check_out(&"1".repeat(40), "a").unwrap_err()), "reference_not_found");
    fixture.repository.run(&["tag", "blob", "HEAD:f"]);
    assert_eq!(reason(&fixture.check_out("blob", "a").unwrap_err()), "reference_not_found");
}

#[test]
fn nothing_that_a_repository_brings_is_run_or_followed() {
    let fixture = Fixture::new();
    let git = &fixture.repository;
    let mark = fixture.target("ran");
    let program = format!("touch {}", mark.display());
    // What the source has in its own folder isn't cloned.
    fs::create_dir_all(git.path().join(".git/info")).unwrap();
    fs::write(git.path().join(".git/info/attributes"), ATTRIBUTES).unwrap();
    let attributes = b"*.txt filter=evil\n*.bin filter=lfs diff=lfs\n*.utf16 working-tree-encoding=UTF-16\n* text eol=crlf\n*.id ident\n";
    git.commit(
        &[
            (".gitattributes", attributes),
            ("a.txt", b"text\n"),
            ("b.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
            ("c.utf16", b"plain\n"),
            ("d.id", b"$Id$\n"),
            (".gitmodules", b"[submodule \"s\"]\n\tpath = s\n\turl = file:///etc\n"),
        ],
        "2026-01-21T10:00:00Z",
    );
    git.run(&["config", "filter.evil.smudge", &program]);
    git.run(&["config", "filter.lfs.smudge", &program]);
    git.run(&["config", "uploadpack.packObjectsHook", &program]);
    git.run(&["config", "core.fsmonitor", &program]);
    for hook in ["post-checkout", "pre-upload", "post-upload-pack", "reference-transaction", "post-index-change"] {
        let hook = git.path().join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{program}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("/etc/passwd", git.path().join("out")).unwrap();
    symlink("../..", git.path().join("up")).unwrap();
    let newline = git.path().join("new\nline");
    fs::write(&newline, "n").unwrap();
    fs::write(git.path().join(std::ffi::OsStr::from_bytes(b"not-utf8-\xff")), "x").unwrap();
    // The hooks and programs must not run here either.
    let head = git.commit(&[], "2026-01-22T10:00:00Z");
    git.run(&["-c", "core.fsmonitor=false", "update-index", "--add", "--cacheinfo", &format!("160000,{head},s")]);
    git.run(&["commit", "--quiet", "--message", "submodule"]);
    fixture.check_out("main", "a").unwrap();
    assert!(!mark.exists(), "a program of the repository ran");
    let folder = fixture.target("a");
    let read = |name: &str| String::from_utf8(fs::read(folder.join(name)).unwrap()).unwrap();
    assert_eq!((read("a.txt"), read("c.utf16"), read("d.id")), ("text\n".into(), "plain\n".into(), "$Id$\n".into()));
    assert!(read("b.bin").starts_with("version https://git-lfs"));
    for (link, target) in [("out", "/etc/passwd"), ("up", "../..")] {
        assert!(fs::symlink_metadata(folder.join(link)).unwrap().is_file(), "{link} is a link");
        assert_eq!(read(link), target);
    }
    assert_eq!(read("new\nline"), "n");
    assert_eq!(fs::read_dir(folder.join("s")).unwrap().count(), 0, "the submodule is empty");
    assert!(!folder.join(".git/modules").exists() && !folder.join(".git/hooks").exists());
    assert_eq!(Git::in_repository(&folder).args(["status", "--porcelain"]).text().unwrap(), "");
}

#[test]
fn paths_into_gits_own_folder_are_refused() {
    let fixture = Fixture::new();
    fixture.repository.commit(&[("f", b"#!/bin/sh\n")], "2026-01-21T10:00:00Z");
    let long = "x".repeat(300);
    for name in [".git", ".GIT", "git~1", ".g\u{200c}it", "..", long.as_str()] {
        fixture.repository.commit_tree_with(name, "2026-01-22T10:00:00Z");
        let error = fixture.check_out("hostile", "a").unwrap_err();
        assert_eq!((error.code, reason(&error)), ("INVALID_INPUT", "damaged_repository"), "{name}: {error}");
        assert!(!fixture.target("a").exists());
    }
}

#[test]
fn a_clone_shares_no_objects_with_other_repositories() {
    let fixture = Fixture::new();
    fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    let borrower = fixture.target("borrower");
    fixture.repository.run(&["clone", "--quiet", "--shared", "--bare", ".", borrower.to_str().unwrap()]);
    assert!(borrower.join("objects/info/alternates").exists());
    let target = fixture.target("a");
    check_out(&fixture.settings, borrower.to_str().unwrap(), "main", &target, &StopFlag::default()).unwrap();
    fs::remove_dir_all(fixture.repository.path()).unwrap();
    assert!(!target.join(".git/objects/info/alternates").exists());
    assert_eq!(Git::in_repository(&target).args(["show", "HEAD:f"]).text().unwrap(), "1");
}

#[test]
fn large_repositories_are_refused_before_their_files_are_written() {
    let mut fixture = Fixture::new();
    fixture.settings.max_bytes = 1024 * 1024;
    let zeros = vec![0; 3 * 1024 * 1024];
    fixture.repository.commit(&[("zeros", &zeros)], "2026-01-21T10:00:00Z");
    let error = fixture.check_out("main", "a").unwrap_err();
    assert_eq!((error.code, reason(&error)), ("INVALID_INPUT", "repository_too_large"));
    assert!(
        error.message.contains("its files are larger than 1 MiB") && error.message.contains("max_clone_mib"),
        "{error}"
    );
    let mut noise = zeros;
    let mut state = 1_u64;
    noise.iter_mut().for_each(|byte| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    });
    fixture.repository.commit(&[("zeros", &noise)], "2026-01-22T10:00:00Z");
    let error = fixture.check_out("main", "a").unwrap_err();
    assert!(error.message.contains("its objects are larger"), "{error}");
    assert_eq!(names(fixture.dir.path()), ["source"]);
}

/// Serves connections until the fixture goes, each by `answer`. The address of the server.
fn serve(answer: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    address
}

fn requested(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        request.push(byte[0]);
    }
    String::from_utf8_lossy(&request).split(' ').nth(1).unwrap_or_default().to_owned()
}

fn respond(mut stream: TcpStream, status: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // The client may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

#[test]
fn servers_that_refuse_are_reported_at_once() {
    let dir = tempfile::tempdir().unwrap();
    for (status, expected) in [
        ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"", "authentication_required"),
        ("403 Forbidden", "authentication_required"),
        ("404 Not Found", "repository_not_found"),
    ] {
        let base = serve(move |mut stream| {
            requested(&mut stream);
            respond(stream, status, b"");
        });
        let url = format!("{base}a/b");
        let error =
            check_out(&settings(&[&base]), &url, "main", &dir.path().join("a"), &StopFlag::default()).unwrap_err();
        assert_eq!((error.code, reason(&error)), ("INVALID_INPUT", expected), "{status}: {error}");
        assert!(!error.retryable && names(dir.path()).is_empty());
    }
    let base = serve(|mut stream| {
        requested(&mut stream);
        respond(stream, "500 Internal Server Error", b"");
    });
    let error = pin(&settings(&[&base]), &format!("{base}a/b"), "main", &StopFlag::default()).unwrap_err();
    assert_eq!(
        (error.code, error.retryable, &error.details["cause_class"]),
        ("INTERNAL", true, &serde_json::json!("network"))
    );
}

/// A server that takes requests and never answers; it reports each connection, and its end.
fn hanging(events: Sender<&'static str>) -> String {
    serve(move |mut stream| {
        requested(&mut stream);
        let _ = events.send("request");
        // The end of the connection is the end of the process that holds it.
        let mut byte = [0];
        let _ = stream.read(&mut byte);
        let _ = events.send("gone");
    })
}

#[test]
fn a_server_that_hangs_is_left_when_the_run_stops_or_its_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, events) = channel();
    let base = hanging(sender);
    let mut settings = settings(&[&base]);
    let url = format!("{base}a/b");
    let stop = StopFlag::default();
    let wait = Duration::from_secs(60);
    let error = std::thread::scope(|scope| {
        let clone = scope.spawn(|| check_out(&settings, &url, "main", &dir.path().join("a"), &stop));
        assert_eq!(events.recv_timeout(wait), Ok("request"));
        stop.set();
        clone.join().unwrap().unwrap_err()
    });
    assert_eq!(error.code, "CANCELLED");
    assert_eq!(events.recv_timeout(wait), Ok("gone"), "a process of git is alive");
    assert!(names(dir.path()).is_empty());
    settings.limit = Duration::from_millis(300);
    let error = check_out(&settings, &url, "main", &dir.path().join("a"), &StopFlag::default()).unwrap_err();
    assert_eq!(
        (error.code, error.retryable, &error.details["cause_class"]),
        ("INTERNAL", true, &serde_json::json!("timeout"))
    );
}

#[test]
fn servers_that_send_no_single_commit_send_their_history() {
    let fixture = Fixture::new();
    let first = fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    fixture.repository.commit(&[("f", b"2\n")], "2026-01-22T10:00:00Z");
    let bare = fixture.target("bare.git");
    fixture.repository.run(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let update = Git::new(&bare).args(["update-server-info"]);
    update.text().unwrap();
    let folder = bare.clone();
    // Plain files, as any web server gives them.
    let base = serve(move |mut stream| {
        let path = requested(&mut stream);
        let name = path.trim_start_matches("/r.git/").split('?').next().unwrap_or_default().to_owned();
        match fs::read(folder.join(name)) {
            Ok(bytes) => respond(stream, "200 OK", &bytes),
            Err(_) => respond(stream, "404 Not Found", b""),
        }
    });
    let settings = settings(&[&base]);
    let url = format!("{base}r.git");
    for (reference, name) in [("main", "a"), (first.as_str(), "b")] {
        let target = fixture.target(name);
        let out = check_out(&settings, &url, reference, &target, &StopFlag::default()).unwrap();
        let head = Git::in_repository(&target).args(["rev-parse", "HEAD"]).text().unwrap();
        assert_eq!(head, out.commit);
    }
    assert_eq!(fs::read_to_string(fixture.target("b/f")).unwrap(), "1\n");
}

#[test]
fn rewritten_addresses_reach_the_mirror_and_are_never_shown() {
    let fixture = Fixture::new();
    let commit = fixture.repository.commit(&[("f", b"1\n")], "2026-01-21T10:00:00Z");
    let mirror = UrlRewrite { from: "https://github.com/a/".into(), to: format!("{}/", fixture.dir.path().display()) };
    let settings = CheckoutSettings { rewrites: vec![mirror], ..settings(&[]) };
    let stop = StopFlag::default();
    assert_eq!(pin(&settings, "https://github.com/a/source", "main", &stop).unwrap(), commit);
    for url in ["https://github.com/a/none", "https://github.com/b/source"] {
        let error = pin(&settings, url, "main", &stop).unwrap_err();
        assert!(!error.to_value().to_string().contains(fixture.dir.path().to_str().unwrap()), "{error}");
    }
}
