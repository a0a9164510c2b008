//! Answers that stand on a part of a project are marked, complete ones aren't, and the mark goes away when the project is mended while
//! the service runs. Checks also that the marked files are really unknown to the server: without that the mark would be wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::{Mcp, until};
use crate::running_server::{Yard, codeyard};
use crate::servers::agent;
use crate::servers::confirm;
use crate::servers::folder::{folder_of, write};
use codeyard_model::index_disagreement::IndexDisagreement;

/// Longest wait for the effect of a mended project, in milliseconds.
const MENDED_MS: u64 = 60_000;
/// Projects of TypeScript that one server loads; see `limits` of `codeyard-projects`.
const LOADED_PROJECTS: usize = codeyard_projects::limits::MAX_OPENED_PROJECTS;

/// A served folder with a client of both catalogs.
struct Served {
    root: PathBuf,
    client: Mcp,
    yard: Yard,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new(files: &[(&str, &str)]) -> Self {
        let (folder, root) = folder_of(files);
        Self::at_folder(root, folder)
    }

    fn at_folder(root: PathBuf, folder: tempfile::TempDir) -> Self {
        let yard = Yard::serve(&format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n"));
        let client = agent::client(&yard, "w");
        Self { root, client, yard, _folder: folder }
    }

    fn at(&self, path: &str, word: &str) -> (u64, u64) {
        let text = fs::read_to_string(self.root.join(path)).expect("a text");
        let (line, text) = text.lines().enumerate().find(|(_, text)| text.contains(word)).expect("the word");
        (line as u64, text.find(word).expect("the word") as u64)
    }

    /// Files of the references of `word` in `path`, and the summary.
    fn references(&mut self, path: &str, word: &str) -> (Vec<String>, String) {
        let (line, character) = self.at(path, word);
        let arguments = json!({
            "uri": uri_of(&self.root.join(path)), "position": {"line": line, "character": character}, "pageSize": 200
        });
        let answer = self.client.ask("vscode.lsp.references", &arguments).expect("an answer");
        let root = uri_of(&self.root);
        let file = |item: &Value| {
            item["uri"].as_str().unwrap().strip_prefix(&root).unwrap().trim_start_matches('/').to_owned()
        };
        let mut files: Vec<String> = answer["items"].as_array().unwrap().iter().map(file).collect();
        files.dedup();
        (files, answer["summary"].as_str().unwrap().to_owned())
    }

    /// The answer of an operation of the tool `lsp` at `word` of `path`.
    fn lsp(&mut self, operation: &str, path: &str, word: &str) -> agent::Answer {
        let (line, character) = self.at(path, word);
        let arguments = json!({"operation": operation, "filePath": path, "line": line + 1, "character": character + 1, "query": word});
        agent::ask(&mut self.client, &arguments).unwrap_or_else(|refusal| panic!("{operation}: {refusal:?}"))
    }

    /// What the doctor says about the first project: as a start would find it, and as the running server knows it.
    fn doctor(&self) -> (Value, Value) {
        let mut command = codeyard("doctor", self.yard.state.path());
        let output = command.arg(&self.root).arg("--json").stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let servers = document["server"]["workspaces"][0]["servers"].as_array().expect("servers");
        let mut projects = servers.iter().flat_map(|server| server["projects"].as_array().expect("projects"));
        let running = projects.next().unwrap_or_else(|| panic!("{servers:?}"));
        (document["projects"]["list"][0].clone(), running.clone())
    }

    /// Asserts that every operation marks its answer with `mark`: an empty one always, others unless they are about a known document.
    /// `used` is a name with uses in the known file `path`, `unused` one without. Answers about uses also name the `unlisted` files.
    fn assert_marked(&mut self, path: &str, used: &str, unused: &str, mark: &str, unlisted: &[String]) {
        let unlisted = IndexDisagreement::used_elsewhere(used, unlisted.to_vec()).sentence();
        let of_uses = format!("{mark} {unlisted}");
        // Once the code index is built.
        let mut summary = String::new();
        let is_marked = until(MENDED_MS, || {
            summary = self.references(path, used).1;
            summary.ends_with(&of_uses)
        });
        assert!(is_marked, "{summary}");
        for (operation, mark, marks) in [
            ("goToDefinition", mark, 1),
            ("findReferences", &of_uses, 2),
            ("workspaceSymbol", mark, 1),
            ("prepareCallHierarchy", mark, 1),
            ("incomingCalls", &of_uses, 2),
        ] {
            let answer = self.lsp(operation, path, used);
            assert!(!answer.result().as_array().unwrap().is_empty(), "{operation} finds {used}: {answer:?}");
            // Before it stands how to go on, if there are further pages.
            let (_, below) = answer.output.split_once("\n\n").expect("sentences below the list");
            assert!(below.ends_with(mark), "{operation}: {answer:?}");
            assert!(answer.metadata["hint"].as_str().unwrap_or_default().ends_with(mark), "{operation}: {answer:?}");
            assert_eq!(answer.metadata["partial"].as_array().map(Vec::len), Some(marks), "{operation}");
        }
        for operation in ["hover", "documentSymbol"] {
            let answer = self.lsp(operation, path, used);
            assert!(answer.metadata.get("partial").is_none(), "{operation} is about a known document: {answer:?}");
        }
        let answer = self.lsp("incomingCalls", path, unused);
        assert_eq!(answer.output, format!("No results found for incomingCalls\n{mark}"));
        assert!(answer.metadata["partial"][0]["knownFiles"].is_u64(), "{answer:?}");
        // The same from the retained results.
        assert_eq!(self.lsp("incomingCalls", path, unused).output, answer.output);
    }

    /// Waits until references of `word` come from all of `files`, without a mark.
    fn assert_mended(&mut self, path: &str, word: &str, files: usize, unused: &str) {
        let mut last = (vec![], String::new());
        let mended = until(MENDED_MS, || {
            last = self.references(path, word);
            last.0.len() == files && !last.1.contains("known to")
        });
        assert!(mended, "{last:?}");
        let answer = self.lsp("incomingCalls", path, unused);
        assert_eq!(answer.output, "No results found for incomingCalls", "a complete view carries no mark");
        assert!(answer.metadata.get("partial").is_none(), "{answer:?}");
        assert_eq!(answer.metadata["hint"], answer.output.as_str());
    }
}

const USE: &str = "from pkg.a import target\ntarget()\n";

#[test]
fn python_that_its_configuration_leaves_out() {
    let mut served = Served::new(&[
        ("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n\n[tool.ty.src]\nexclude = [\"scripts\"]\n"),
        ("pkg/__init__.py", ""),
        ("pkg/a.py", "def target():\n    return 1\n\n\ndef unused():\n    return target()\n"),
        ("pkg/b.py", USE),
        ("scripts/c.py", USE),
        ("scripts/d.py", USE),
    ]);
    let mark = "3 of 5 Python files are known to ty: `src.exclude` in pyproject.toml leaves the others out; change `src.exclude` in pyproject.toml.";
    let (files, _) = served.references("pkg/a.py", "target");
    assert_eq!(files, ["pkg/a.py", "pkg/b.py"], "the server doesn't search the excluded files");
    let unlisted = ["scripts/c.py", "scripts/d.py"].map(String::from);
    served.assert_marked("pkg/a.py", "target", "unused", mark, &unlisted);
    let of_unknown = served.lsp("documentSymbol", "scripts/c.py", "target");
    assert!(of_unknown.output.contains(mark), "a document that isn't a part of the project: {of_unknown:?}");
    let rows = confirm::located(&mut confirm::client(&served.yard, "w"), json!({"name": "unused"}));
    assert_eq!(rows["results"][0]["confirmed_by"], "ty", "{rows}");
    assert!(confirm::warnings(&rows).iter().any(|warning| warning == mark), "{rows}");
    let (found, running) = served.doctor();
    assert_eq!((&found["known_files"], &found["files"]), (&json!(3), &json!(5)), "{found}");
    assert_eq!(found["unknown_files"], json!(["scripts/c.py", "scripts/d.py"]), "{found}");
    assert_eq!(running["known_files"], 3, "{running}");
    write(&served.root.join("pyproject.toml"), "[project]\nname = \"x\"\nversion = \"1\"\n");
    served.assert_mended("pkg/a.py", "target", 4, "unused");
    assert_eq!(served.doctor().1["known_files"], 5);
    served.yard.stop();
}

#[test]
fn headers_of_c_that_no_source_includes() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let entry = |file: &str| json!({"directory": root, "file": file, "arguments": ["cc", "-c", file]});
    let files = [
        ("compile_commands.json", json!([entry("a.c"), entry("b.c")]).to_string()),
        ("a.c", "int target(void) { return 1; }\nint unused(void) { return target(); }\n".to_owned()),
        ("b.c", "int target(void);\nint b(void) { return target(); }\n".to_owned()),
        ("c.h", "int target(void);\nstatic inline int c(void) { return target(); }\n".to_owned()),
    ];
    files.iter().for_each(|(path, text)| write(&root.join(path), text));
    let mut served = Served::at_folder(root, folder);
    let (found, summary) = served.references("a.c", "target");
    assert_eq!(
        (found, summary.contains("known to")),
        (["a.c", "b.c", "c.h"].map(String::from).to_vec(), false),
        "{summary}"
    );
    let empty = served.lsp("incomingCalls", "a.c", "unused");
    assert_eq!(empty.output, "No results found for incomingCalls");
    let (found, running) = served.doctor();
    assert_eq!((&found["known_files"], &found["unknown_files"]), (&json!(3), &json!([])), "{found}");
    assert_eq!(running["path"], "compile_commands.json", "{running}");
    // Now a source includes it.
    write(&served.root.join("b.c"), "#include \"c.h\"\nint b(void) { return target() + c(); }\n");
    served.assert_mended("a.c", "target", 3, "unused");
    served.yard.stop();
}

#[test]
fn projects_of_typescript_beyond_those_that_are_loaded() {
    let extra = 2;
    let user = |at: usize| format!("p{at:03}/x.ts");
    let mut files = vec![
        ("lib/tsconfig.json".to_owned(), "{\"compilerOptions\": {\"composite\": true}}".to_owned()),
        ("lib/a.ts".to_owned(), "export function target() {}\nexport function unused() { target(); }\n".to_owned()),
    ];
    for at in 1..LOADED_PROJECTS + extra {
        files.push((format!("p{at:03}/tsconfig.json"), "{}".to_owned()));
        files.push((user(at), "import { target } from \"../lib/a\";\ntarget();\n".to_owned()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut served = Served::new(&files);
    let (found, summary) = served.references("lib/a.ts", "target");
    let known = LOADED_PROJECTS;
    let mark = format!("{known} of {} TypeScript files are known to typescript: ", known + extra);
    assert!(summary.contains(&mark), "{summary}");
    assert_eq!(found.len(), known, "the others are really missing");
    let view = &summary[summary.find(&mark).unwrap()..];
    let mark = view.split_inclusive(". ").next().unwrap().trim_end();
    let unlisted: Vec<String> = (1..known + extra).map(user).filter(|file| !found.contains(file)).collect();
    served.assert_marked("lib/a.ts", "target", "unused", mark, &unlisted);
    for at in [1, 2] {
        fs::remove_file(served.root.join(format!("p{at:03}/tsconfig.json"))).expect("a file");
    }
    served.assert_mended("lib/a.ts", "target", known + extra, "unused");
    served.yard.stop();
}

/// What the mark advises helps while the service runs, although git ignores what the commands write.
#[test]
fn packages_of_typescript_are_found_after_they_are_built() {
    let declarations = "export declare function price(n: number): number;\n//# sourceMappingURL=index.d.ts.map\n";
    let map = r#"{"version":3,"file":"index.d.ts","sourceRoot":"","sources":["../src/index.ts"],"names":[],"mappings":"AAAA,wBAAgB,KAAK,CAAC,CAAC,EAAE,MAAM,GAAG,MAAM,CAEvC"}"#;
    let mut served = Served::new(&[
        (".gitignore", "node_modules\ndist\n"),
        ("package.json", r#"{"private": true, "workspaces": ["packages/*"], "scripts": {"build": "tsc -b"}}"#),
        ("packages/core/package.json", r#"{"name": "@x/core", "main": "dist/index.js", "types": "dist/index.d.ts"}"#),
        (
            "packages/core/tsconfig.json",
            r#"{"include": ["src"], "compilerOptions": {"outDir": "dist", "rootDir": "src"}}"#,
        ),
        ("packages/core/src/index.ts", "export function price(n: number): number {\n  return n;\n}\n"),
        ("packages/web/package.json", r#"{"name": "web", "dependencies": {"@x/core": "*"}}"#),
        ("packages/web/tsconfig.json", r#"{"include": ["src"], "compilerOptions": {"module": "nodenext"}}"#),
        ("packages/web/src/use.ts", "import { price } from \"@x/core\";\nprice(1);\n"),
    ]);
    fs::create_dir_all(served.root.join("node_modules/@x")).expect("a folder");
    std::os::unix::fs::symlink("../../packages/core", served.root.join("node_modules/@x/core")).expect("a link");
    let file = "packages/core/src/index.ts";
    let mark = "`packages/core` isn't built; run `npm run build`. 1 file uses the name `price` and isn't in this answer: \
                packages/web/src/use.ts; search the name as text.";
    for round in 0..2 {
        let mut last = (vec![], String::new());
        let is_marked = until(MENDED_MS, || {
            last = served.references(file, "price");
            last.0.is_empty() && last.1.ends_with(mark)
        });
        assert!(is_marked, "round {round}: {last:?}");
        write(&served.root.join("packages/core/dist/index.d.ts"), declarations);
        write(&served.root.join("packages/core/dist/index.d.ts.map"), map);
        // The mark and the gap end together.
        let (files, summary) = served.references(file, "price");
        assert_eq!(
            (files, summary.contains("isn't built")),
            (vec!["packages/web/src/use.ts".to_owned()], false),
            "{summary}"
        );
        fs::remove_dir_all(served.root.join("packages/core/dist")).expect("a folder");
    }
    served.yard.stop();
}

/// Values whose types come from a package have none without it, so uses of their members are missing.
#[test]
fn members_of_typescript_whose_types_come_from_packages_that_are_not_installed() {
    let mut served = Served::new(&[
        (".gitignore", "node_modules\n"),
        ("package.json", r#"{"private": true, "type": "module", "devDependencies": {"runner": "1.0.0"}}"#),
        ("package-lock.json", "{}"),
        ("tsconfig.json", r#"{"compilerOptions": {"module": "nodenext"}}"#),
        ("timer.ts", "export interface Timings { upload: number }\nexport const none: Timings = { upload: 0 };\n"),
        ("use.ts", "import { none } from './timer.js';\nexport const upload = none.upload;\n"),
        (
            "run.ts",
            "import run from 'runner';\nimport type { Timings } from './timer.js';\nrun<Timings>(t => t.upload);\n",
        ),
    ]);
    let mark =
        "1 import of 3 TypeScript files can't be resolved by typescript: `node_modules` is missing; run `npm ci`.";
    let unlisted = "1 file uses the name `upload` and isn't in this answer: run.ts; search the name as text.";
    let mut last = (vec![], String::new());
    let is_marked = until(MENDED_MS, || {
        last = served.references("timer.ts", "upload");
        last.1.ends_with(&format!("{mark} {unlisted}"))
    });
    assert!(is_marked && last.0 == ["timer.ts", "use.ts"], "{last:?}");
    let answer = served.lsp("findReferences", "timer.ts", "upload");
    assert!(answer.output.ends_with(unlisted), "{answer:?}");
    let partial = json!({"name": "upload", "unlistedFiles": 1, "reason": unlisted});
    assert_eq!(answer.metadata["partial"][1], partial, "beside the imports that can't be resolved: {answer:?}");
    let answer = served.lsp("goToImplementation", "timer.ts", "upload");
    assert!(answer.output.ends_with(mark), "nothing extends it: {answer:?}");
    for [operation, word] in [["goToDefinition", "none"], ["hover", "none"], ["workspaceSymbol", "Timings"]] {
        let file = if operation == "workspaceSymbol" { "timer.ts" } else { "use.ts" };
        let answer = served.lsp(operation, file, word);
        assert!(answer.metadata.get("partial").is_none(), "{operation}: {answer:?}");
    }
    write(&served.root.join("node_modules/runner/package.json"), r#"{"type": "module", "types": "index.d.ts"}"#);
    let types = "export default function run<T>(use: (t: T) => void): void;\n";
    write(&served.root.join("node_modules/runner/index.d.ts"), types);
    let mut last = (vec![], String::new());
    let is_mended = until(MENDED_MS, || {
        last = served.references("timer.ts", "upload");
        last.0 == ["run.ts", "timer.ts", "use.ts"] && !last.1.contains("can't be resolved")
    });
    assert!(is_mended, "{last:?}");
    served.yard.stop();
}

#[test]
fn complete_projects_without_any_configuration_are_not_marked() {
    for (files, path) in [
        (vec![("a.py", "def target():\n    return 1\n\n\ndef unused():\n    return target()\n")], "a.py"),
        (vec![("a.ts", "export function target() {}\nexport function unused() { target(); }\n")], "a.ts"),
        (vec![("a.js", "export function target() {}\nexport function unused() { target(); }\n")], "a.js"),
        (vec![("a.c", "int target(void) { return 1; }\nint unused(void) { return target(); }\n")], "a.c"),
    ] {
        let mut served = Served::new(&files);
        let (found, summary) = served.references(path, "target");
        assert_eq!((found, summary.contains("known to")), (vec![path.to_owned()], false), "{summary}");
        let empty = served.lsp("incomingCalls", path, "unused");
        assert_eq!(empty.output, "No results found for incomingCalls");
        let (found, running) = served.doctor();
        for project in [&found, &running] {
            assert_eq!((&project["known_files"], &project["files"]), (&json!(1), &json!(1)), "{project}");
        }
        served.yard.stop();
    }
}
