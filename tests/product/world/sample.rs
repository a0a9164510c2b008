//! The Python sample with a folder of a silent language: queries of clients and their correct answers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::until;
use codeyard_test_support::real_servers::files_below;

/// A function with a unique name.
const FUNCTION: &str = "shelf_edge";
/// Intentional errors in the sample: a part of each such line.
const WRONG: [&str; 6] = ["from larder.spoons", "put(\"salt\", 3)", "custommer", "str(price)", "\"milk\"", "\"🧂\""];

/// A workspace `python` of two roots: the sample, and a file whose language server never answers a hover.
pub(crate) struct Sample {
    pub place: Place,
    quiet: tempfile::TempDir,
}

impl Sample {
    /// Fresh copies.
    pub(crate) fn new() -> Self {
        let quiet = tempfile::tempdir().expect("a folder");
        fs::create_dir(quiet.path().join("root")).expect("a folder");
        fs::write(quiet.path().join("root/quiet.mute"), "nobody answers\n").expect("a file");
        Self { place: Place::new("python"), quiet }
    }

    pub(crate) fn configuration(&self) -> String {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/clients/mute_lsp.py");
        let quiet = self.quiet_root();
        let notes = self.notes();
        format!(
            "[[workspace]]\nname = \"python\"\nroots = [{:?}, {quiet:?}]\n[languages.mute]\nextensions = [\"mute\"]\n\
             [servers.mute]\nlanguages = [\"mute\"]\ngroup = \"mute\"\ncommand = [\"python3\", {server:?}, {notes:?}]\n",
            self.place.root
        )
    }

    /// Plan of a client, with tools named by `tool`.
    pub(crate) fn plan(&self, tool: impl Fn(&str) -> String) -> Value {
        let uri = |file: &str| self.uri(file);
        let at = self.function();
        let mut references = at.clone();
        references["includeDeclaration"] = json!(true);
        let money = self.at("larder/money.py", "class Money", "Money");
        let question = |name: &str, arguments: Value| json!({"name": name, "tool": tool(name), "arguments": arguments});
        let mut unknown = at.clone();
        unknown["nonsense"] = json!(1);
        let refused = |name: &str, arguments: Value| json!({"tool": tool(name), "arguments": arguments});
        json!({
            "questions": [
                question("definition", self.place.definition().0),
                question("references", references),
                question("hover", at.clone()),
                question("documentSymbols", json!({"uri": uri("larder/labels.py")})),
                question("workspaceSymbols", json!({"query": FUNCTION})),
                question("diagnostics.document", json!({"uri": uri("larder/broken.py")})),
                question("diagnostics.workspace", json!({})),
            ],
            "paged": {"tool": tool("references"), "arguments": money, "pageSize": 7},
            "silent": {"tool": tool("hover"), "arguments": self.silent()},
            "refused": [
                refused("hover", unknown),
                refused("hover", json!({"uri": "file:///etc/hostname", "position": {"line": 0, "character": 0}})),
                refused("documentSymbols", json!({"uri": uri("larder/nothing.py")})),
                refused("workspaceSymbols", json!({"query": FUNCTION, "cursor": "x"})),
                refused("rename", json!({})),
            ],
        })
    }

    /// Arguments of a hover that is never answered.
    pub(crate) fn silent(&self) -> Value {
        let uri = format!("file://{}/quiet.mute", self.quiet_root().display());
        json!({"uri": uri, "position": {"line": 0, "character": 1}})
    }

    /// Checks the report of a client that ran [`Sample::plan`].
    pub(crate) fn assert_right(&self, report: &Value) {
        assert_eq!(report["server"]["name"], "codeyard", "{report}");
        assert_eq!(report["moreTools"], Value::Null, "{report}");
        assert_eq!(report["notSchematic"], json!([]), "{report}");
        for (name, answer) in report["answers"].as_object().expect("answers") {
            assert_eq!((&answer["content"], &answer["isError"]), (&json!([]), &json!(false)), "{name}: {answer}");
            self.assert_answer(name, &answer["structuredContent"]);
        }
        let document = &report["answers"]["diagnostics.document"]["structuredContent"];
        let workspace = &report["answers"]["diagnostics.workspace"]["structuredContent"]["items"];
        let of_file = workspace.as_array().expect("items").iter().find(|file| file["uri"] == document["uri"]);
        assert_eq!(of_file.expect("the broken file")["diagnostics"], document["diagnostics"], "{report}");
        let definition = &report["answers"]["definition"]["structuredContent"];
        assert_eq!(&report["afterCancel"], definition, "it continues after a cancellation");
        self.assert_pages(report);
        assert_refusals(report);
        assert_silence(report);
        self.place.assert_untouched();
    }

    /// Asserts that the silent server received a cancellation for each abandoned request of the report.
    pub(crate) fn assert_cancelled(&self, report: &Value) {
        let asked = usize::try_from(report["asked"].as_u64().expect("a number")).expect("a small one");
        let count = |word: &str| fs::read_to_string(self.notes()).unwrap_or_default().matches(word).count();
        assert!(until(20_000, || count("cancelled") == asked), "{asked}: {:?}", fs::read_to_string(self.notes()));
        assert_eq!(count("asked"), asked);
    }

    fn assert_answer(&self, name: &str, answer: &Value) {
        let list = |member: &str| answer[member].as_array().unwrap_or_else(|| panic!("{name}: {answer}")).clone();
        match name {
            "definition" => self.place.assert_right(answer),
            "references" => {
                let found: BTreeSet<(String, u64)> = list("items").iter().map(here).collect();
                assert_eq!(found, self.occurrences(FUNCTION), "{answer}");
            }
            "hover" => {
                let text = answer["contents"][0]["value"].as_str().expect("a text");
                assert!(text.contains("The labels of a shelf, side by side."), "{answer}");
            }
            "documentSymbols" => {
                let symbols = list("symbols");
                let names: Vec<&str> = symbols.iter().filter_map(|symbol| symbol["name"].as_str()).collect();
                let outer = ["NARROW", "badge", "label", FUNCTION];
                assert!(outer.iter().all(|name| names.contains(name)), "{names:?}");
            }
            "workspaceSymbols" => {
                let defined = self.line("larder/labels.py", &format!("def {FUNCTION}"));
                let found: Vec<(String, u64)> = list("items").iter().map(|item| here(&item["location"])).collect();
                assert_eq!(found, [(self.uri("larder/labels.py"), defined)], "{answer}");
            }
            "diagnostics.document" => {
                let line = |text: &&str| self.line("larder/broken.py", text);
                let errors = list("diagnostics").into_iter().filter(|found| found["severity"] == 1);
                let found: BTreeSet<u64> =
                    errors.filter_map(|found| found["range"]["start"]["line"].as_u64()).collect();
                assert_eq!(found, WRONG.iter().map(line).collect(), "{answer}");
            }
            "diagnostics.workspace" => assert!(!list("items").is_empty(), "{answer}"),
            other => panic!("{other} received no request"),
        }
    }

    /// Checks that pages are disjoint, in order, full except for the last, and continue in another session or fail with a reason.
    fn assert_pages(&self, report: &Value) {
        let pages: Vec<&Vec<Value>> =
            report["pages"].as_array().expect("pages").iter().map(|page| page.as_array().expect("items")).collect();
        assert!(pages.len() > 2, "{report}");
        assert!(pages[..pages.len() - 1].iter().all(|page| page.len() == 7), "{report}");
        let all: Vec<(String, String)> = pages
            .iter()
            .flat_map(|page| page.iter())
            .map(|item| (item["uri"].to_string(), item["range"].to_string()))
            .collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "an entry came twice: {report}");
        assert_eq!(&report["begun"]["items"], &report["pages"][0]);
        let places: BTreeSet<(String, u64)> = pages.iter().flat_map(|page| page.iter()).map(here).collect();
        assert!(places.is_subset(&self.occurrences("Money")), "{places:?}");
    }

    fn occurrences(&self, word: &str) -> BTreeSet<(String, u64)> {
        let files =
            files_below(&self.place.root).into_iter().filter(|path| path.extension().is_some_and(|e| e == "py"));
        let mut found = BTreeSet::new();
        for path in files {
            let text = fs::read_to_string(&path).expect("UTF-8");
            let lines = text.lines().enumerate().filter(|(_, line)| line.contains(word));
            found.extend(lines.map(|(at, _)| (format!("file://{}", path.display()), at as u64)));
        }
        found
    }

    fn function(&self) -> Value {
        self.at("larder/labels.py", &format!("def {FUNCTION}"), FUNCTION)
    }

    /// Arguments for the position of `word` in the line that contains `text`.
    fn at(&self, file: &str, text: &str, word: &str) -> Value {
        let line = self.line(file, text);
        let content = fs::read_to_string(self.place.root.join(file)).expect("UTF-8");
        let content = content.lines().nth(usize::try_from(line).expect("a line")).expect("a line").to_owned();
        let before = &content[..content.find(word).expect("the word")];
        json!({"uri": self.uri(file), "position": {"line": line, "character": before.encode_utf16().count()}})
    }

    fn line(&self, file: &str, text: &str) -> u64 {
        let content = fs::read_to_string(self.place.root.join(file)).expect("UTF-8");
        content.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} in {file}")) as u64
    }

    fn uri(&self, file: &str) -> String {
        format!("file://{}", self.place.root.join(file).display())
    }

    fn quiet_root(&self) -> PathBuf {
        fs::canonicalize(self.quiet.path()).expect("a path").join("root")
    }

    fn notes(&self) -> PathBuf {
        self.quiet.path().join("notes")
    }
}

/// The file and the line of a location.
fn here(location: &Value) -> (String, u64) {
    let line = location["range"]["start"]["line"].as_u64().expect("a line");
    (location["uri"].as_str().expect("a URI").to_owned(), line)
}

fn assert_refusals(report: &Value) {
    let code = |refusal: &Value| refusal["data"]["code"].as_str().unwrap_or_else(|| panic!("{refusal}")).to_owned();
    let all = report["refusals"].as_array().expect("refusals");
    let codes = ["INVALID_PARAMS", "WORKSPACE_DENIED", "NOT_FOUND", "CURSOR_INVALID", "INVALID_PARAMS"];
    let codes = codes.map(|code| format!("MCP_LSP_GATEWAY/{code}"));
    assert_eq!(all.iter().map(code).collect::<Vec<_>>(), codes, "{report}");
    let numbers: Vec<i64> = all.iter().filter_map(|refusal| refusal["code"].as_i64()).collect();
    assert_eq!(numbers, [-32602, -32602, -32603, -32602, -32602], "{report}");
    assert_eq!(all[0]["data"]["details"], json!({"path": "nonsense", "reason": "unknown"}));
    assert!(all.iter().all(|refusal| refusal["message"].as_str().is_some_and(|text| text.contains(&code(refusal)))));
}

fn assert_silence(report: &Value) {
    let progress: Vec<f64> =
        report["progress"].as_array().expect("progress").iter().filter_map(Value::as_f64).collect();
    assert!(!progress.is_empty() && progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    let details = &report["silence"]["data"]["details"];
    assert_eq!(details["reason"], "timeout", "{report}");
    assert!(details["retryAfterMs"].as_u64().is_some_and(|ms| ms > 0), "{report}");
}
