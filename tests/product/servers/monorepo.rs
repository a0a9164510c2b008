//! One workspace with many projects: each file is answered as its own project demands, by one process for all projects of a kind or by
//! one for each, with the same answers. The doctor reports the same servers as the ones that run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use codeyard_lsp::registry::{DiskFiles, ProjectRoot, Registry, project_root};
use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::question::{Ask, At, Counts, draw};
use crate::running_server::{Yard, codeyard, listing};

/// Files of a repository: path and text.
type Files = &'static [(&'static str, &'static str)];

/// How many processes of a kind run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processes {
    One,
    PerRoot,
}

/// Makes one process for each project root the rule.
const SEPARATE: &str = "[servers.typescript]\nmulti_root = \"no\"\n[servers.ty]\nmulti_root = \"no\"\n";

struct Repository {
    root: PathBuf,
    before: std::collections::BTreeMap<PathBuf, String>,
    yard: Yard,
    client: Mcp,
    _folder: tempfile::TempDir,
}

impl Repository {
    /// `extra` contains additional lines of the workspace's configuration.
    fn serve(files: Files, extra: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path").join("code");
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text.replace("{root}", root.to_str().expect("a name"))).expect("a file");
        }
        // Answers would have the sentence of the code index from when it is built.
        let index = "[index]\nauto = false\n";
        let yard = Yard::serve(&format!("{index}[[workspace]]\nname = \"many\"\nroots = [{root:?}]\n{extra}"));
        let client = yard.client("many");
        Self { before: listing(&root), root, yard, client, _folder: folder }
    }

    /// URI and position of the `nth` occurrence of a text.
    fn place(&self, path: &str, text: &str, nth: usize) -> Value {
        let path = self.root.join(path);
        let (line, character) = occurrence(&fs::read_to_string(&path).expect("a text"), text, nth);
        json!({"uri": uri_of(&path), "position": {"line": line, "character": character}})
    }

    /// Files and lines of the definition.
    fn definition(&mut self, path: &str, text: &str, nth: usize) -> Vec<String> {
        let asked = self.place(path, text, nth);
        let answer = self.client.ask("vscode.lsp.definition", &asked).expect("an answer");
        self.spots(answer["locations"].as_array().expect("locations"))
    }

    /// Files and lines of all references, the declaration among them.
    fn references(&mut self, path: &str, text: &str, nth: usize) -> Vec<String> {
        let mut asked = self.place(path, text, nth);
        asked["includeDeclaration"] = json!(true);
        let found = self.client.pages("vscode.lsp.references", &asked, &[100]).expect("an answer");
        self.spots(&found)
    }

    fn spots(&self, locations: &[Value]) -> Vec<String> {
        let root = uri_of(&self.root);
        let position = |location: &Value| {
            let uri = location["uri"].as_str().expect("a URI").strip_prefix(&root).expect("inside").to_owned();
            format!("{}:{}", uri.trim_start_matches('/'), location["range"]["start"]["line"])
        };
        locations.iter().map(position).collect()
    }

    /// Output of the doctor for a file.
    fn doctor_prints(&self, path: &str) -> String {
        let mut command = codeyard("doctor", self.yard.state.path());
        let output = command.arg(self.root.join(path)).stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("a text")
    }

    /// The doctor's report on the server of a file: kind, project root, and process id if it is ready.
    fn doctor(&self, path: &str) -> (String, String, Option<u64>) {
        let mut command = codeyard("doctor", self.yard.state.path());
        let output = command.arg(self.root.join(path)).arg("--json").stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let whole: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let of_workspace = &whole["file"]["workspaces"][0];
        assert_eq!(of_workspace["workspace"], "many", "{whole}");
        let servers = of_workspace["servers"].as_array().expect("servers");
        let serving = servers.iter().find(|server| server["verdict"] == "serves" && server["role"] == "primary");
        let serving = serving.unwrap_or_else(|| panic!("no server for {path}: {whole}"));
        let text = |key: &str| serving[key].as_str().unwrap_or_default().to_owned();
        let running = &serving["running"];
        (text("kind"), text("project_root"), running["pid"].as_u64().filter(|_| running["state"] == "ready"))
    }

    /// Asserts that these files are served by ready servers of this kind, in these project roots: one process for all of them, or one
    /// for each root.
    #[track_caller]
    fn assert_children(&self, kind: &str, processes: Processes, wanted: &[(&str, &str)]) {
        let report: Vec<_> = wanted.iter().map(|(path, _)| self.doctor(path)).collect();
        let roots: Vec<(&str, &str)> = report.iter().map(|(kind, root, _)| (kind.as_str(), root.as_str())).collect();
        assert_eq!(roots, wanted.iter().map(|(_, root)| (kind, *root)).collect::<Vec<_>>());
        for (one, (path, root)) in report.iter().zip(wanted) {
            assert!(one.2.is_some(), "{kind} doesn't run for {path}");
            for (other, (_, other_root)) in report.iter().zip(wanted) {
                let is_same = processes == Processes::One || root == other_root;
                assert_eq!(one.2 == other.2, is_same, "{processes:?}: {report:?}");
            }
        }
    }

    fn end(self) {
        assert_eq!(listing(&self.root), self.before, "something was written into the root");
        self.yard.stop();
    }
}

/// Line and column of the `nth` occurrence.
fn occurrence(text: &str, wanted: &str, nth: usize) -> (usize, usize) {
    let (at, _) = text.match_indices(wanted).nth(nth).unwrap_or_else(|| panic!("no `{wanted}`"));
    let line = text[..at].matches('\n').count();
    (line, at - text[..at].rfind('\n').map_or(0, |end| end + 1))
}

const TYPESCRIPT: Files = &[
    ("web/a/tsconfig.json", r#"{"compilerOptions": {"strict": true, "types": []}, "include": ["src"]}"#),
    ("web/a/src/lib.ts", "export function shape(): number {\n    return 1;\n}\n"),
    ("web/a/src/use.ts", "import { shape } from './lib';\n\nexport const got = shape();\n"),
    (
        "web/b/tsconfig.json",
        r#"{"compilerOptions": {"strict": true, "types": [], "baseUrl": ".", "paths": {"~/*": ["./src/*"]}}, "include": ["src"]}"#,
    ),
    ("web/b/src/lib.ts", "// The same names, elsewhere.\n\nexport function shape(): string {\n    return '';\n}\n"),
    ("web/b/src/use.ts", "import { shape } from '~/lib';\nexport const got = shape();\n"),
    (
        "all/tsconfig.json",
        "{\n  // One whole of two projects.\n  \"files\": [],\n  \"references\": [{ \"path\": \"core\" }, { \"path\": \"app\" },],\n}\n",
    ),
    ("all/core/tsconfig.json", r#"{"compilerOptions": {"composite": true, "types": []}, "include": ["*.ts"]}"#),
    ("all/core/core.ts", "export function root(): number {\n    return 1;\n}\n"),
    (
        "all/app/tsconfig.json",
        r#"{"compilerOptions": {"composite": true, "types": []}, "include": ["*.ts"], "references": [{"path": "../core"}]}"#,
    ),
    ("all/app/app.ts", "import { root } from '../core/core';\n\nexport const two = root() + root();\n"),
    ("all/app/more.ts", "import { alone } from '../loose/loose';\nexport const more = alone;\n"),
    ("all/loose/tsconfig.json", r#"{"compilerOptions": {"types": []}}"#),
    ("all/loose/loose.ts", "export const alone = 1;\nexport const twice = alone + alone;\n"),
];

#[test]
fn typescript() {
    let mut many = Repository::serve(TYPESCRIPT, "");
    assert_eq!(many.definition("web/a/src/use.ts", "shape", 1), ["web/a/src/lib.ts:0"]);
    assert_eq!(many.definition("web/b/src/use.ts", "shape", 1), ["web/b/src/lib.ts:2"]);
    let own = ["web/b/src/lib.ts:2", "web/b/src/use.ts:0", "web/b/src/use.ts:1"];
    assert_eq!(many.references("web/b/src/lib.ts", "shape", 0), own);
    let hover = many.place("web/a/src/use.ts", "got", 0);
    assert!(many.client.ask("vscode.lsp.hover", &hover).expect("a hover").to_string().contains("number"));
    let hover = many.place("web/b/src/use.ts", "got", 0);
    assert!(many.client.ask("vscode.lsp.hover", &hover).expect("a hover").to_string().contains("string"));
    // A query at the declaration finds the other project because the server runs at the common root.
    let across = ["all/app/app.ts:0", "all/app/app.ts:2", "all/app/app.ts:2", "all/core/core.ts:0"];
    assert_eq!(many.references("all/core/core.ts", "root", 0), across);
    assert_eq!(many.definition("all/app/app.ts", "root", 1), ["all/core/core.ts:0"]);
    // A project that imports another one without naming it: one process knows both.
    let imported = ["all/app/more.ts:0", "all/app/more.ts:1", "all/loose/loose.ts:0"];
    let found = many.references("all/loose/loose.ts", "alone", 0);
    assert!(found.len() == 5 && imported.iter().all(|one| found.iter().any(|found| found == one)), "{found:?}");
    many.assert_children(
        "typescript",
        Processes::One,
        &[
            ("web/a/src/use.ts", "web/a"),
            ("web/b/src/use.ts", "web/b"),
            ("all/core/core.ts", "all"),
            ("all/app/app.ts", "all"),
            ("all/loose/loose.ts", "all/loose"),
        ],
    );
    let found = many.client.pages("vscode.lsp.workspaceSymbols", &json!({"query": "shape"}), &[50]).expect("symbols");
    let files: Vec<String> = many.spots(&found.iter().map(|item| item["location"].clone()).collect::<Vec<_>>());
    assert_eq!(files, ["web/a/src/lib.ts:0", "web/b/src/lib.ts:2"], "all projects are queried for the workspace");
    many.end();
}

const PYTHON: Files = &[
    ("services/a/pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\n"),
    ("services/a/src/shapes.py", "def area() -> int:\n    return 1\n"),
    ("services/a/src/main.py", "from shapes import area\n\nGOT = area()\n"),
    ("services/b/pyproject.toml", "[project]\nname = \"b\"\nversion = \"1\"\n"),
    ("services/b/src/shapes.py", "import os\n\n\ndef area() -> str:\n    return os.sep\n"),
    ("services/b/src/main.py", "from shapes import area\nGOT = area()\n"),
    ("tools/pyproject.toml", "[tool.ty.environment]\nroot = [\"lib\"]\n"),
    ("tools/lib/common.py", "def common() -> None: ...\n"),
    ("tools/one/pyproject.toml", "[project]\nname = \"one\"\nversion = \"1\"\n"),
    ("tools/one/one.py", "from common import common\n\ncommon()\n"),
];

#[test]
fn python() {
    let mut many = Repository::serve(PYTHON, "");
    assert_eq!(many.definition("services/a/src/main.py", "area", 1), ["services/a/src/shapes.py:0"]);
    assert_eq!(many.definition("services/b/src/main.py", "area", 1), ["services/b/src/shapes.py:3"]);
    let own = ["services/a/src/main.py:0", "services/a/src/main.py:2", "services/a/src/shapes.py:0"];
    assert_eq!(many.references("services/a/src/shapes.py", "area", 0), own);
    assert_eq!(many.definition("tools/one/one.py", "common", 2), ["tools/lib/common.py:0"]);
    many.assert_children(
        "ty",
        Processes::One,
        &[
            ("services/a/src/main.py", "services/a"),
            ("services/a/src/shapes.py", "services/a"),
            ("services/b/src/main.py", "services/b"),
            ("tools/one/one.py", "tools"),
        ],
    );
    many.end();
}

/// Projects with environments of their own: the same module is another one in each, and only one of them knows it at all.
const ENVIRONMENTS: Files = &[
    ("pyproject.toml", "[project]\nname = \"top\"\nversion = \"1\"\n"),
    ("src/top/__init__.py", "def shape() -> int:\n    return 1\n"),
    ("use.py", "from top import shape\n\nfirst = shape()\n"),
    (
        "in/a/pyproject.toml",
        "[project]\nname = \"a\"\nversion = \"1\"\n[tool.ty.rules]\nunresolved-import = \"warn\"\n",
    ),
    ("in/a/main.py", "import equal\nimport missing\n\nvalue = equal.value\n"),
    ("in/a/.venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.0\n"),
    ("in/a/.venv/lib/python3.12/site-packages/equal.py", "value: int = 3\n"),
    ("in/b/pyproject.toml", "[project]\nname = \"b\"\nversion = \"1\"\n"),
    ("in/b/main.py", "import equal\nimport missing\nfrom top import shape\n\nvalue = equal.value\nshape()\n"),
    ("in/b/.venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.0\n"),
    ("in/b/.venv/lib/python3.12/site-packages/equal.py", "value: str = ''\n"),
    ("in/c/setup.py", "import equal\n\nvalue = equal.value\n"),
];

/// Answers to drawn questions about a repository, in this order or backwards.
fn answers(files: Files, extra: &str, endings: &[&str], backwards: bool) -> (Vec<(Ask, Value)>, usize) {
    let mut many = Repository::serve(files, extra);
    let counts = Counts { places: 30, references: 25, files: 10, searches: 8 };
    let mut asks = draw(&many.root, endings, counts, 20_261_122);
    asks.retain(|ask| ask.path().is_none_or(|path| !path.components().any(|part| part.as_os_str() == ".venv")));
    if backwards {
        asks.reverse();
    }
    let root = many.root.clone();
    let mut found = Vec::new();
    for ask in asks {
        let (tool, arguments) = ask.to_call();
        let answer = match ask.is_paged() {
            true => json!(many.client.pages(tool, &arguments, &[100]).expect("an answer")),
            false => many.client.ask(tool, &arguments).expect("an answer"),
        };
        let text = answer.to_string().replace(root.to_str().expect("a name"), "/root");
        let mut answer = serde_json::from_str(&text).expect("JSON");
        remove_ids(&mut answer);
        found.push((relative(&ask, &root), answer));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found.dedup_by(|one, other| one.0 == other.0);
    let processes = many.yard.running("ty").len() + many.yard.running("tsc").len();
    many.end();
    (found, processes)
}

#[test]
fn one_process_answers_as_one_process_for_each_project() {
    for (files, endings, roots) in
        [(ENVIRONMENTS, &["py"], 4), (PYTHON, &["py"], 3), (TYPESCRIPT, &["ts"], 4)] as [(Files, &[&str], usize); 3]
    {
        let (separate, processes) = answers(files, SEPARATE, endings, false);
        assert_eq!(processes, roots);
        for backwards in [false, true] {
            let (shared, processes) = answers(files, "", endings, backwards);
            assert_eq!(processes, 1);
            assert_eq!(shared.len(), separate.len());
            for ((ask, ours), (_, theirs)) in shared.iter().zip(&separate) {
                // The one project that imports another one without naming it: references to it are more complete.
                let is_across =
                    matches!(ask, Ask::References(at, _) if at.word == "alone" || at.path.ends_with("loose.ts"));
                let ours = rows(ours);
                let theirs = rows(theirs);
                let is_more = is_across && ours.len() > theirs.len() && theirs.iter().all(|row| ours.contains(row));
                assert!(ours == theirs || is_more, "{ask:?}\n{ours:?}\n{theirs:?}");
            }
        }
    }
}

/// Removes the ids of symbols, which are made from paths.
fn remove_ids(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("id");
            members.values_mut().for_each(remove_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_ids),
        _ => {}
    }
}

/// The same query with its path relative to `root`, to compare those of equal trees.
fn relative(ask: &Ask, root: &Path) -> Ask {
    let path = |path: &Path| path.strip_prefix(root).map_or_else(|_| path.to_path_buf(), Path::to_path_buf);
    let place = |at: &At| At { path: path(&at.path), ..at.clone() };
    match ask {
        Ask::Definition(at) => Ask::Definition(place(at)),
        Ask::Hover(at) => Ask::Hover(place(at)),
        Ask::References(at, declaration) => Ask::References(place(at), *declaration),
        Ask::DocumentSymbols(file) => Ask::DocumentSymbols(path(file)),
        Ask::Diagnostics(file) => Ask::Diagnostics(path(file)),
        Ask::WorkspaceSymbols(name) => Ask::WorkspaceSymbols(name.clone()),
    }
}

/// The rows of an answer with pages, otherwise the whole.
fn rows(answer: &Value) -> Vec<Value> {
    answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()])
}

const C: Files = &[
    (
        "a/compile_commands.json",
        r#"[{"directory": "{root}/a", "file": "main.c", "arguments": ["cc", "-DMINE=from_a", "-c", "main.c"]}]"#,
    ),
    ("a/main.c", "int from_a(void) { return 1; }\nint from_b(void) { return 2; }\nint use(void) { return MINE(); }\n"),
    ("a/deep/.clangd", "Diagnostics:\n  UnusedIncludes: None\n"),
    ("a/deep/header.h", "int deep(void);\n"),
    (
        "b/build/compile_commands.json",
        r#"[{"directory": "..", "file": "main.c", "arguments": ["cc", "-DMINE=from_b", "-c", "main.c"]}]"#,
    ),
    ("b/main.c", "int from_a(void) { return 1; }\nint from_b(void) { return 2; }\nint use(void) { return MINE(); }\n"),
];

#[test]
fn c() {
    let mut many = Repository::serve(C, "");
    // The macro is defined on the command line: only the right compile database gives the right diagnostics.
    for file in ["a/main.c", "b/main.c"] {
        let uri = uri_of(&many.root.join(file));
        let found = many.client.ask("vscode.lsp.diagnostics.document", &json!({"uri": uri})).expect("diagnostics");
        assert_eq!(found["diagnostics"], json!([]), "{file}");
    }
    let used = many.place("a/main.c", "MINE", 0);
    assert!(many.client.ask("vscode.lsp.hover", &used).expect("a hover").to_string().contains("from_a"));
    let used = many.place("b/main.c", "MINE", 0);
    assert!(many.client.ask("vscode.lsp.hover", &used).expect("a hover").to_string().contains("from_b"));
    many.assert_children(
        "clangd",
        Processes::PerRoot,
        &[("a/main.c", "a"), ("a/deep/header.h", "a"), ("b/main.c", "b")],
    );
    many.end();
}

#[test]
fn a_changed_manifest_moves_a_project_to_another_server() {
    let mut many = Repository::serve(TYPESCRIPT, SEPARATE);
    let alone = ["all/loose/loose.ts:0", "all/loose/loose.ts:1", "all/loose/loose.ts:1"];
    assert_eq!(many.references("all/loose/loose.ts", "alone", 0), alone);
    assert_eq!(many.definition("all/app/app.ts", "root", 1), ["all/core/core.ts:0"]);
    let apart = [("all/loose/loose.ts", "all/loose"), ("all/app/app.ts", "all")];
    many.assert_children("typescript", Processes::PerRoot, &apart);
    edit(
        &many.root.join("all/tsconfig.json"),
        "{ \"path\": \"app\" }",
        "{ \"path\": \"app\" }, { \"path\": \"loose\" }",
    );
    // The server at `all` has read the joined projects, the one at `all/loose` hasn't.
    let across = [["all/app/more.ts:0", "all/app/more.ts:1"].as_slice(), &alone].concat();
    assert_eq!(many.references("all/loose/loose.ts", "alone", 0), across);
    let joined = [("all/loose/loose.ts", "all"), ("all/app/app.ts", "all")];
    many.assert_children("typescript", Processes::PerRoot, &joined);
    many.before = listing(&many.root);
    many.end();
}

#[test]
fn the_documented_example_equals_the_doctor_output() {
    let mut many = Repository::serve(TYPESCRIPT, "");
    assert_eq!(many.definition("all/app/app.ts", "root", 1), ["all/core/core.ts:0"]);
    let printed = many.doctor_prints("all/app/app.ts").replace(many.root.to_str().expect("a name"), "/home/me/code");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/internals/reference/language-servers.md");
    let page = fs::read_to_string(page).expect("the page");
    let example = page.split("$ codeyard doctor all/app/app.ts\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(blurred(&printed), blurred(example.expect("the example")));
    many.end();
}

/// The text without parts that differ between runs: numbers, addresses and ids.
fn blurred(text: &str) -> String {
    let is_hash = |hash: &str| hash.len() == 8 && hash.chars().all(|c| c.is_ascii_hexdigit());
    let differs = |word: &str| {
        let word = word.trim_end_matches([',', ';']);
        word.parse::<u64>().is_ok()
            || word.starts_with("http://")
            || word.rsplit_once('-').is_some_and(|(_, end)| is_hash(end))
    };
    let blur = |word| if differs(word) { "…" } else { word };
    let lines = text.trim_end().lines().map(|line| line.split(' ').map(blur).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Packages in workspaces, excluded from them, pointing at them, and between them.
const PACKAGES: Files = &[
    (
        "Cargo.toml",
        "[workspace]\nmembers = [\"a\", \"libs/*\", \"ex/in\", \"nest/x\"]\nexclude = [\"ex\", \"./out\", \"old/../near\"]\n",
    ),
    ("a/Cargo.toml", "{package}"),
    ("a/inner/Cargo.toml", "{package}"),
    ("a/fuzz/Cargo.toml", "{package}[workspace]\n"),
    ("libs/b/Cargo.toml", "{package}"),
    ("ex/in/Cargo.toml", "{package}"),
    ("ex/alone/Cargo.toml", "{package}"),
    ("exact/Cargo.toml", "{package}"),
    ("near/Cargo.toml", "{package}"),
    ("out/Cargo.toml", "{package}"),
    ("out/deep/Cargo.toml", "{package}[workspace.package]\nlicense = \"MIT\"\n"),
    ("out/deep/er/Cargo.toml", "{package}"),
    ("target/package/a-1/Cargo.toml", "{package}"),
    ("out/ws/Cargo.toml", "[workspace]\nmembers = [\"../p\"]\n"),
    ("out/p/Cargo.toml", "{package}workspace = \"../ws\"\n"),
    ("out/p/sub/Cargo.toml", "{package}"),
    ("nest/Cargo.toml", "[workspace]\nexclude = [\"x\"]\n"),
    ("nest/x/Cargo.toml", "{package}"),
];

#[test]
fn cargo_metadata_finds_the_same_workspaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    for (path, text) in PACKAGES {
        let source = root.join(path).with_file_name("src/lib.rs");
        fs::create_dir_all(source.parent().expect("a folder")).expect("a folder");
        fs::write(source, "").expect("a file");
        let name = path.replace(['/', '.'], "-");
        let package = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        fs::write(root.join(path), text.replace("{package}", &package)).expect("a file");
    }
    let rule = &Registry::builtin().servers["rust-analyzer"].root;
    for (path, text) in PACKAGES.iter().filter(|(_, text)| text.contains("{package}")) {
        let ProjectRoot::At { root: ours, .. } =
            project_root(&root.join(path).with_file_name("src/lib.rs"), &root, rule, &DiskFiles)
        else {
            panic!("{path} has no project root");
        };
        assert_eq!(ours, workspace_by_cargo(&root.join(path)), "{path}: {text}");
    }
}

/// Folder of the Cargo workspace that Cargo assigns a package to, even if the workspace doesn't list it.
fn workspace_by_cargo(manifest: &Path) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "Cargo is what the rule is compared with")]
    let mut command = std::process::Command::new(env!("CARGO"));
    command.args(["locate-project", "--workspace", "--message-format", "plain", "--manifest-path"]).arg(manifest);
    let output = command.stdin(Stdio::null()).output().expect("Cargo runs");
    let report = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let believed = errors.lines().find_map(|line| line.trim().strip_prefix("workspace:"));
    let found = if output.status.success() { Some(report.trim()) } else { believed.map(str::trim) };
    let found = found.unwrap_or_else(|| panic!("{}: {errors}", manifest.display()));
    Path::new(found).parent().expect("a folder").to_path_buf()
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("a text");
    assert!(text.contains(from));
    fs::write(file, text.replace(from, to)).expect("a file");
}
