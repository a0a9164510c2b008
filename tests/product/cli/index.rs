//! `codeyard index`, `search` and `outline` as a user meets them; and what is left of an index whose writer was killed.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::cli::harness::Sandbox;
use crate::mcp::{pause, until};

const SOURCE: &str = "/// Lets a ship in.\npub fn admit_ship(name: &str) -> bool {\n    name.is_empty()\n}\n\npub struct Harbour {\n    pub ships: usize,\n}\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("repo/harbour.rs"), SOURCE).unwrap();
    fs::write(sandbox.path("repo/notes.md"), "# Notes\n\nOne ship a day.\n").unwrap();
    fs::write(sandbox.path("repo/picture.png"), b"\x89PNG\0\0").unwrap();
    sandbox
}

#[test]
fn index_prints_what_was_indexed_and_left_out() {
    let sandbox = sandbox();
    let first = sandbox.run(&["index"]).code(0).stdout;
    assert!(first.contains("3 files (4 read)") && first.contains("not searched: 1 binary"), "{first}");
    let again = sandbox.run(&["index", "--json"]).code(0).json();
    assert_eq!((again["files"].clone(), again["left_out"].clone()), (json!(3), json!({"binary": 1})));
    let stats = sandbox.run(&["index", "stats", "--json"]).code(0).json();
    assert_eq!(stats["manifests"][0]["files"], 3);
    assert_eq!(stats["schema_status"], "compatible");
    assert_eq!(sandbox.run(&["index", "verify"]).code(0).stdout, "the index is valid\n");
    sandbox.run(&["index", "gc"]).code(0);
    sandbox.run(&["index", "--ref", "main"]).code(3).says(&["git repository"]);
    sandbox.run(&["index", "--root", "missing"]).code(3).says(&["missing", "--root"]);
    let left: Vec<_> = fs::read_dir(sandbox.path("repo")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "nothing is written into a root: {left:?}");
}

#[test]
fn the_git_directory_of_another_folder_is_not_read() {
    let sandbox = sandbox();
    let victim = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        codeyard_process::git::run_git(victim.path(), &[&identity[..], arguments].concat()).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    fs::write(victim.path().join("deleted.txt"), "the deleted secret\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let commit = git(&["rev-parse", "HEAD"]);
    fs::write(sandbox.path("repo/.git"), format!("gitdir: {}/.git\n", victim.path().display())).unwrap();
    for reference in ["main", &commit, &commit[..10]] {
        sandbox.run(&["index", "--ref", reference]).code(3).says(&["git_dirs"]);
        let found = sandbox.run(&["search", "--mode", "text", "deleted", "--ref", reference]);
        assert!(!format!("{}{}", found.stdout, found.stderr).contains("the deleted secret"), "{}", found.stdout);
    }
    // The working tree is still indexed.
    let whole = sandbox.run(&["search", "--mode", "text", "One ship"]).code(0).stdout;
    assert!(whole.starts_with("notes.md:3:One ship"), "{whole}");
    // The operator allows it.
    let allowed = format!("[index]\ngit_dirs = [{:?}]\n", victim.path());
    fs::write(sandbox.path("allowed.toml"), allowed).unwrap();
    let config = sandbox.path("allowed.toml");
    sandbox.run(&["index", "--config", config.to_str().unwrap(), "--ref", "main"]).code(0);
}

#[test]
fn ignore_files_that_never_end_stop_no_command() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path("repo/sub")).unwrap();
    for name in [".gitignore", ".ignore", ".codeyardignore", "sub/.gitignore"] {
        std::os::unix::fs::symlink("/dev/zero", sandbox.path("repo").join(name)).unwrap();
    }
    let indexed = sandbox.run(&["index"]).code(0).stdout;
    assert!(indexed.contains("3 files"), "{indexed}");
    let found = sandbox.run(&["search", "admit ship"]).code(0).stdout;
    assert!(found.starts_with("harbour.rs"), "{found}");
    let root = sandbox.path("repo");
    let diagnosis = sandbox.run(&["doctor", root.to_str().unwrap()]);
    assert!(diagnosis.stdout.contains("rust"), "{}{}", diagnosis.stdout, diagnosis.stderr);
}

#[test]
fn search_builds_the_index_itself() {
    let sandbox = sandbox();
    let found = sandbox.run(&["search", "admit ship"]).code(0).stdout;
    assert!(found.starts_with("harbour.rs:2: fn admit_ship\n    pub fn admit_ship(name: &str) -> bool\n"), "{found}");
    let lines = sandbox.run(&["search", "--mode", "text", "ship", "--glob", "*.md"]).code(0).stdout;
    assert!(lines.starts_with("notes.md:3:One ship a day.\n"), "{lines}");
    // What changed since is found.
    fs::write(sandbox.path("repo/new.rs"), "fn launch_ship() {}\n").unwrap();
    let found = sandbox.run(&["search", "launch_ship", "--json"]).code(0).json();
    assert_eq!(found["results"][0]["path"], "new.rs");
    assert_eq!(found["metadata"]["freshness_status"], "fresh");
    let stale = sandbox.run(&["search", "--no-sync", "launch_ship", "--json"]).code(0).json();
    assert_eq!(stale["metadata"]["freshness_status"], "stale", "nobody has looked");
    let regex = sandbox.run(&["search", "-m", "regex", r"fn \w+_ship\(", "-C", "1", "-n", "1"]).code(0);
    regex.says(&["1 of 2"]);
    let regex = regex.stdout;
    assert!(
        regex.starts_with(
            "harbour.rs-1-/// Lets a ship in.\nharbour.rs:2:pub fn admit_ship(name: &str) -> bool {\nharbour.rs-3-"
        ),
        "{regex}"
    );
    let explained = sandbox.run(&["search", "Harbour", "--explain", "full"]).code(0).stdout;
    assert!(explained.contains("score 0.") || explained.contains("score 1."), "{explained}");
    sandbox.run(&["search", "nowhere_at_all"]).code(1).says(&["no match"]);
    sandbox.run(&["search", "-m", "regex", "("]).code(2).says(&["regular expression"]);
    sandbox.run(&["search", "x", "--language", "klingon"]).code(2).says(&["klingon", "rust"]);
    sandbox.run(&["search", "x", "--limit", "0"]).code(2).says(&["--limit"]);
    sandbox.run(&["search", "x", "--ref", "none"]).code(2).says(&["none"]);
}

#[test]
fn a_search_of_a_branch_that_has_moved_updates_its_index_or_says_so() {
    let sandbox = sandbox();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        codeyard_process::git::run_git(&sandbox.path("repo"), &[&identity[..], arguments].concat()).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    sandbox.run(&["index", "--ref", "main"]).code(0);
    fs::write(sandbox.path("repo/new.rs"), "fn launch_ship() {}\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "two"]);
    let kept = sandbox.run(&["search", "-m", "text", "launch_ship", "--ref", "main", "--no-sync"]).code(1);
    kept.says(&["'main' has moved", "codeyard index --ref main"]);
    let found = sandbox.run(&["search", "-m", "text", "launch_ship", "--ref", "main"]).code(0).stdout;
    assert_eq!(found, "new.rs:1:fn launch_ship() {}\n");
    fs::write(sandbox.path("repo/new.rs"), "fn land_ship() {}\n").unwrap();
    git(&["commit", "-q", "-a", "-m", "three"]);
    let outline = sandbox.run(&["outline", "new.rs", "--ref", "main"]).code(0).stdout;
    assert!(outline.contains("land_ship"), "{outline}");
    // An unindexed ref isn't indexed unasked.
    git(&["commit", "-q", "--allow-empty", "-m", "four"]);
    sandbox.run(&["search", "ship", "--ref", "main~2"]).code(2).says(&["codeyard index --ref"]);
}

#[test]
fn a_file_or_folder_that_is_missing_ends_a_command_before_anything_is_indexed() {
    let sandbox = sandbox();
    for (words, code) in [
        (&["outline", "/no_such_file.c"][..], 3),
        (&["outline", "no/such/file.c"], 3),
        (&["outline", "file.c", "--root", "/no_such_folder"], 3),
        (&["index", "--root", "/no_such_folder"], 3),
        (&["search", "x", "--root", "/no_such_folder"], 2),
        (&["call", "hover", r#"{"uri": "/no_such_file.c", "position": {"line": 0, "character": 0}}"#], 3),
    ] {
        sandbox.run(words).code(code).says(&["cannot read"]);
    }
    let indexes = fs::read_dir(sandbox.path("state/index")).into_iter().flatten().count();
    assert_eq!(indexes, 0, "no folder was indexed");
}

#[test]
fn the_system_the_home_folder_and_large_folders_are_indexed_only_if_forced() {
    let sandbox = sandbox();
    let at_home = |words: &[&str]| {
        let mut command = sandbox.command(words);
        command.env("HOME", sandbox.path("repo"));
        crate::cli::harness::run(&mut command)
    };
    let root = sandbox.path("repo").display().to_string();
    let forced = format!("--force --root {root}");
    at_home(&["index"]).code(1).says(&["the home folder", &format!("`codeyard index {forced}`")]);
    at_home(&["search", "ship"]).code(2).says(&["the home folder", &format!("`codeyard search QUERY {forced}`")]);
    at_home(&["outline", "harbour.rs"])
        .code(1)
        .says(&["the home folder", &format!("`codeyard outline FILE {forced}`")]);
    at_home(&["call", "search_code", r#"{"query": "ship"}"#]).code(1).says(&["the home folder", "--root"]);
    for words in [&["index", "--root", "/"][..], &["search", "x", "--root", "/"]] {
        sandbox.run(words).says(&["the whole file system", "--force --root /"]);
    }
    at_home(&["outline", "harbour.rs", "--force"]).code(0);
    // What is indexed already needs no force.
    at_home(&["index"]).code(0);
    at_home(&["search", "admit_ship"]).code(0);
    // A repository may have any size.
    let large = sandbox.path("large");
    for folder in 0..11 {
        let folder = large.join(folder.to_string());
        fs::create_dir_all(&folder).unwrap();
        (0..10_000).for_each(|file| fs::write(folder.join(file.to_string()), "").unwrap());
    }
    let large = large.display().to_string();
    let refused = sandbox.run(&["index", "--root", &large]).code(1);
    refused.says(&["more than 100000 files", &format!("--force --root {large}")]);
    fs::write(sandbox.path("large/.ignore"), "[0-9]*/\n").unwrap();
    sandbox.run(&["index", "--root", &large]).code(0);
}

#[test]
fn outlines_are_nested() {
    let sandbox = sandbox();
    let text = sandbox.run(&["outline", "harbour.rs"]).code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0].trim_start(), "2-4  pub fn admit_ship(name: &str) -> bool");
    assert_eq!(lines[1].trim_start(), "6-8  pub struct Harbour");
    assert!(lines[2].contains("    field pub ships: usize"), "{text}");
    let outline = sandbox.run(&["outline", "harbour.rs", "--depth", "top", "--json"]).code(0).json();
    assert_eq!(outline["symbols"].as_array().unwrap().len(), 2);
    assert_eq!(outline["symbols"][1].get("children"), None);
    assert!(sandbox.run(&["outline", "a.tiny"]).code(0).stdout.contains("does not parse"));
    sandbox.run(&["outline", "missing.rs"]).code(3).says(&["missing.rs"]);
}

#[test]
fn watch_indexes_changes_until_it_is_interrupted() {
    let sandbox = sandbox();
    let mut child = sandbox.command(&["index", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let finds = |text: &str| sandbox.run(&["search", "--no-sync", text, "-m", "symbol"]).stdout.contains("new.rs:1");
    let indexed =
        || sandbox.run(&["index", "stats"]).stdout.contains("harbour") || sandbox.path("state/index").exists();
    assert!(until(30_000, || indexed() && sandbox.run(&["search", "--no-sync", "Harbour"]).code == 0));
    fs::write(sandbox.path("repo/new.rs"), "fn launch_ship() {}\n").unwrap();
    assert!(until(30_000, || finds("launch_ship")));
    // What language servers don't look at is listed all the same where nothing ignores it.
    let docks = |name: &str| {
        let found = sandbox.run(&["search", "--no-sync", name, "-m", "symbol"]).stdout;
        found.contains(&format!("node_modules/dock/new.rs:1: fn {name}\n"))
    };
    let package = sandbox.path("repo/node_modules/dock");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("new.rs"), "fn moor_ship() {}\n").unwrap();
    assert!(until(30_000, || docks("moor_ship")));
    fs::write(package.join("new.rs"), "fn unmoor_ship() {}\n").unwrap();
    assert!(until(30_000, || docks("unmoor_ship")));
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() || status.signal().is_none(), "{status}");
}

#[test]
fn a_killed_writer_leaves_the_published_index() {
    let sandbox = sandbox();
    sandbox.run(&["index"]).code(0);
    for number in 0..400 {
        fs::write(
            sandbox.path("repo").join(format!("more{number}.rs")),
            format!("fn more_{number}() {{}}\n").repeat(200),
        )
        .unwrap();
    }
    // At whatever point it is when it dies.
    for round in 0..6_u32 {
        let mut child =
            sandbox.command(&["index", "--force"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let stats = || sandbox.run(&["index", "stats", "--json"]).json()["active_job"].is_string();
        until(2_000, || stats() || child.try_wait().unwrap().is_some());
        for _ in 0..round {
            stats();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = sandbox.run(&["search", "--no-sync", "-m", "text", "Lets a ship in"]).code(0).stdout;
        assert!(found.starts_with("harbour.rs:1:"), "round {round}: {found}");
    }
    sandbox.run(&["index"]).code(0);
    assert_eq!(sandbox.run(&["index", "verify"]).code(0).stdout, "the index is valid\n");
    let found = sandbox.run(&["search", "more_399", "--json"]).code(0).json();
    assert_eq!(found["results"][0]["path"], "more399.rs");
}

/// Kills `codeyard index gc` at other moments each round, then brings back the files whose contents it removes.
fn kill_collections(rounds: u64) {
    const FILES: usize = 100;
    let sandbox = sandbox();
    let write = |name: &str| {
        for number in 0..FILES {
            let text = format!("fn {name}_{number}() {{}}\n");
            fs::write(sandbox.path("repo").join(format!("more{number}.rs")), text).unwrap();
        }
        sandbox.run(&["index", "--json"]).code(0).json()
    };
    let before = write("early")["symbols"].clone();
    for round in 0..rounds {
        write("later");
        let mut child = sandbox.command(&["index", "gc"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        pause(round * 7 % 200);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(sandbox.run(&["index", "verify"]).code(0).stdout, "the index is valid\n", "round {round}");
        assert_eq!(write("early")["symbols"], before, "round {round}");
        for number in [0, FILES / 2, FILES - 1] {
            let name = format!("early_{number}");
            let found = sandbox.run(&["search", "--no-sync", "-m", "symbol", &name, "--json"]).code(0).json();
            assert_eq!(found["results"][0]["path"], format!("more{number}.rs"), "round {round}");
        }
        assert_eq!(sandbox.run(&["index", "verify"]).code(0).stdout, "the index is valid\n", "round {round}");
    }
}

#[test]
fn a_killed_garbage_collection_loses_no_symbol() {
    kill_collections(10);
}

#[test]
#[ignore = "minutes: 200 kills of `codeyard index gc`"]
fn two_hundred_killed_garbage_collections_lose_no_symbol() {
    kill_collections(200);
}

#[test]
fn several_processes_can_index_concurrently() {
    let sandbox = sandbox();
    for number in 0..200 {
        fs::write(sandbox.path("repo").join(format!("more{number}.rs")), format!("fn more_{number}() {{}}\n")).unwrap();
    }
    let mut children: Vec<_> = (0..3)
        .map(|_| sandbox.command(&["index", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for child in &mut children {
        let done = until(60_000, || child.try_wait().unwrap().is_some());
        assert!(done);
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(sandbox.run(&["index", "verify"]).code(0).stdout, "the index is valid\n");
    assert_eq!(sandbox.run(&["index", "--json"]).code(0).json()["files"], 203);
}

#[test]
fn a_damaged_index_is_reported_and_rebuilt_with_force() {
    let sandbox = sandbox();
    sandbox.run(&["index"]).code(0);
    let folder = fs::read_dir(sandbox.path("state/index")).unwrap().next().unwrap().unwrap().path();
    fs::write(folder.join("index.sqlite"), vec![b'x'; 10_000]).unwrap();
    for side in ["index.sqlite-wal", "index.sqlite-shm"] {
        _ = fs::remove_file(folder.join(side));
    }
    sandbox.run(&["index"]).code(1).says(&["damaged", "codeyard index --force"]);
    sandbox.run(&["search", "--no-sync", "ship"]).code(2).says(&["codeyard index --force"]);
    sandbox.run(&["index", "verify"]).code(1).says(&["codeyard index --force"]);
    sandbox.run(&["index", "--force"]).code(0);
    assert!(sandbox.run(&["search", "-m", "text", "a day"]).code(0).stdout.starts_with("notes.md:3:"));
}
