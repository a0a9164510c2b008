//! What a repository puts in the place of a marker or a manifest: whatever it is, a query ends, and other workspaces notice nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use codeyard_base::ids::WorkspaceName;
use codeyard_engine::supervisor::messages::Condition;
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;

/// A language with its rules in the built-in registry, and the names that mean something to them.
struct Case {
    language: &'static str,
    source: &'static str,
    entry: &'static str,
    names: &'static [&'static str],
}

const CASES: [Case; 5] = [
    Case {
        language: "c",
        source: "main.c",
        entry: r#"
            root = { workspace_markers = ["compile_commands.json", "build/compile_commands.json", "compile_flags.txt"], markers = [".clangd"], pick = "nearest" }
            project = "compile-database"
            quirks.copy_to_cache = ["compile_commands.json"]
        "#,
        names: &[
            "compile_commands.json", "build/compile_commands.json", "build/build.ninja", "compile_flags.txt",
            ".clangd", "CMakeLists.txt", "Makefile", "meson.build", "Kconfig", "config.h.in",
        ],
    },
    Case {
        language: "python",
        source: "main.py",
        entry: r#"
            root = { workspace_markers = ["ty.toml", "pyproject.toml ~ [tool.ty]"], markers = ["pyproject.toml", "setup.py", "setup.cfg"], pick = "nearest" }
            project = "python-paths"
            scope = "ty"
            multi_root = "workspace-folders"
        "#,
        names: &["pyproject.toml", "ty.toml", "setup.cfg", ".venv/pyvenv.cfg", "other.py"],
    },
    Case {
        language: "typescript",
        source: "main.ts",
        entry: r#"
            root = { workspace_markers = ["package-lock.json"], manifests = ["package.json", "tsconfig.json"], markers = ["tsconfig.json", "package.json"], pick = "nearest" }
            project = "typescript-document"
            multi_root = "by-file"
            quirks.anchor = true
            quirks.anchor_markers = ["tsconfig.json"]
        "#,
        names: &["package.json", "tsconfig.json", "package-lock.json", "other.ts"],
    },
    Case {
        language: "rust",
        source: "src/main.rs",
        entry: r#"
            root = { workspace_markers = ["Cargo.toml ~ [workspace]"], manifests = ["Cargo.toml"], markers = ["Cargo.toml", "rust-project.json"], pick = "nearest" }
        "#,
        names: &["Cargo.toml", "rust-project.json", "src/Cargo.toml"],
    },
    Case {
        language: "go",
        source: "main.go",
        entry: r#"root = { workspace_markers = ["go.work"], markers = ["go.mod"], pick = "nearest" }"#,
        names: &["go.mod", "go.work"],
    },
];

/// Ways to be something else than a file.
const KINDS: [&str; 9] =
    ["fifo", "link to a fifo", "device", "socket", "sparse", "unreadable", "directory", "loop", "link outside"];

fn place(kind: &str, path: &Path, outside: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let fifo = |path: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    };
    match kind {
        "fifo" => fifo(path),
        "link to a fifo" => {
            let target = path.with_extension("pipe");
            fifo(&target);
            symlink(target, path).unwrap();
        }
        "device" => symlink("/dev/zero", path).unwrap(),
        // The name may be too long for the path of a socket.
        "socket" => drop(UnixListener::bind(path).or_else(|_| UnixListener::bind(path.with_extension("s")))),
        "sparse" => fs::File::create(path).unwrap().set_len(50 << 30).unwrap(),
        "unreadable" => {
            fs::write(path, "[]").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o0)).unwrap();
        }
        "directory" => fs::create_dir_all(path.join("inner")).unwrap(),
        "loop" => symlink(path, path).unwrap(),
        "link outside" => symlink(outside, path).unwrap(),
        other => panic!("{other}"),
    }
}

/// One workspace for each of the names, each with such a file.
fn check(case: &Case, kind: &str) {
    in_real_time(|| async {
        let fake = FakeServer::new()
            .capabilities(json!({"hoverProvider": true, "textDocumentSync": 1}))
            .answer("textDocument/hover", json!({"contents": "known"}))
            .launcher();
        let entry = Entry::new("served", fake.clone()).of(case.language).entry(case.entry);
        let mut plan = Plan::new(Site::usual()).kind(Entry::new("fake", fake.clone())).kind(entry).at_once();
        if case.language == "c" {
            plan = plan.tune(|config| {
                let served = config.servers.get_mut("served").and_then(|served| served.as_table_mut()).unwrap();
                served.insert("group".into(), "clangd".into());
            });
        }
        for name in case.names {
            let site = Site::new(&[(case.source, "x\n")]);
            let secret = site.base().join("secret");
            fs::write(&secret, "[{\"secret\": 1}]").unwrap();
            place(kind, &site.root.join(name), &secret);
            plan = plan.workspace(site);
        }
        let yard = plan.open().await;
        for (number, name) in case.names.iter().enumerate() {
            let workspace = format!("w{}", number + 1);
            let asked = yard.sites[number + 1].at(case.source, 0, 0);
            let called = yard.start(&workspace, HOVER, asked).await;
            // An answer or a typed error; a busy machine may need more than the time of one call.
            let shown = format!("{kind} {name}: {:?} after {:?}", called.reply, called.took);
            assert!(called.took.as_millis() < 10_000, "{shown}");
            let neighbour = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
            assert_eq!(neighbour.ok()["contents"][0]["value"], "known", "{shown}");
            let removed =
                yard.engine().control().remove(WorkspaceName::new(&workspace).unwrap(), Condition::None).await;
            let report = removed.unwrap().unwrap().await;
            assert_eq!(report.stuck, [""; 0], "{shown}");
        }
    });
}

#[test]
fn a_fifo_in_the_place_of_a_compile_database_holds_up_nothing() {
    check(&CASES[0], "fifo");
}

#[test]
fn nothing_in_the_place_of_a_c_manifest_holds_up_a_query() {
    KINDS.iter().for_each(|kind| check(&CASES[0], kind));
}

#[test]
fn nothing_in_the_place_of_another_manifest_holds_up_a_query() {
    for case in &CASES[1..] {
        KINDS.iter().for_each(|kind| check(case, kind));
    }
}

/// Replaces a file of the site by a link, and that by a file with `text`; waits until the watcher has seen both.
async fn swap(yard: &Yard, name: &str, outside: &Path, text: &str) {
    let root = yard.site().root.clone();
    let epochs = yard.epochs().await;
    let put = |made: &Path| fs::rename(made, root.join(name)).unwrap();
    let link = root.join("made_link");
    let file = root.join("made_file");
    symlink(outside, &link).unwrap();
    put(&link);
    while yard.epochs().await == epochs {
        // Any query takes what the watcher has seen.
        yard.call(HOVER, yard.site().at("b.fake", 0, 0)).await.ok();
        pass(5).await;
    }
    fs::write(&file, text).unwrap();
    put(&file);
}

#[test]
fn names_from_behind_a_former_link_are_not_answered() {
    in_real_time(|| async {
        let secret = Site::new(&[("secret.fake", "def of_the_secret\n")]);
        let site = Site::new(&[("a.fake", "alpha\n"), ("b.fake", "beta\n")]);
        let symbol = |name: &str| json!({"name": name, "kind": 12, "location": site.location("a.fake", 0)});
        let answers = [symbol("of_the_secret"), symbol("alpha"), symbol("Alpha::alpha(int)")];
        let fake = FakeServer::new()
            .capabilities(json!({"workspaceSymbolProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
            .answer("textDocument/hover", json!(null))
            .answer("workspace/symbol", json!(answers));
        let yard = Plan::one(site, fake.launcher()).open().await;
        yard.walk().await;
        let ask = || yard.call(WORKSPACE_SYMBOLS, json!({"query": "a"}));
        assert_eq!(ask().await.ok()["items"].as_array().unwrap().len(), 3, "the file was no link");
        swap(&yard, "a.fake", &secret.root.join("secret.fake"), "alpha\n").await;
        let refused = ask().await;
        refused.failed_as("CAP_EXCEEDED", "timeout");
        assert!(!format!("{:?}", refused.error()).contains("of_the_secret"));
        yard.site().write("a.fake", "alpha of_the_secret\n");
        assert_eq!(ask().await.ok()["items"].as_array().unwrap().len(), 3, "the name is in the file");
    });
}
