//! Answers don't depend on history: in repositories without any configuration, any order of questions, after any others, at a fresh
//! server, a warm one and a restarted one, gives the same bytes; and they are complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::{Mcp, pause};
use crate::question::Dice;
use crate::running_server::{Yard, listing};
use crate::servers::agent;
use crate::servers::trees::{Function, Tree, TreeLanguage, generate};

/// Attempts while a server isn't ready.
const ATTEMPTS: usize = 200;

/// A language with its server.
struct Subject {
    language: TreeLanguage,
    kind: &'static str,
}

/// How much is asked.
struct Scale {
    files: usize,
    functions: usize,
    rounds: u64,
    seeds: u64,
}

const SMALL: Scale = Scale { files: 14, functions: 5, rounds: 1, seeds: 1 };
const LARGE: Scale = Scale { files: 70, functions: 20, rounds: 3, seeds: 4 };

/// A tool and its arguments.
type Call = (&'static str, Value);

/// The questions about a function: who uses it, who calls it, what and where it is.
fn questions(root: &Path, tree: &Tree, function: &Function) -> Vec<Call> {
    let file = root.join(&function.file);
    let at = |file: &Path, line: usize| {
        let text = fs::read_to_string(file).expect("UTF-8");
        let character = text.lines().nth(line).and_then(|line| line.find(&function.name)).expect("its name");
        json!({"line": line, "character": character})
    };
    let place = at(&file, function.line);
    let uri = uri_of(&file);
    let mut questions: Vec<Call> = vec![
        ("vscode.lsp.references", json!({"uri": uri, "position": place, "includeDeclaration": true, "pageSize": 200})),
        ("vscode.lsp.hover", json!({"uri": uri, "position": place})),
        ("vscode.lsp.documentSymbols", json!({"uri": uri})),
        ("vscode.lsp.workspaceSymbols", json!({"query": function.name, "pageSize": 200})),
        ("lsp", callers_of(&file, &place)),
    ];
    if let Some((caller, line)) = function.calls.first() {
        let caller = root.join(caller);
        questions.push(("vscode.lsp.definition", json!({"uri": uri_of(&caller), "position": at(&caller, *line)})));
    }
    let any = root.join(&tree.files[function.line % tree.files.len()]);
    questions.push(("vscode.lsp.documentSymbols", json!({"uri": uri_of(&any)})));
    questions
}

fn callers_of(file: &Path, place: &Value) -> Value {
    let one_based = |key: &str| place[key].as_u64().expect("a number") + 1;
    json!({"operation": "incomingCalls", "filePath": file, "line": one_based("line"), "character": one_based("character")})
}

/// The body of the answer, once the server is ready; for an answer in pages, the list of all pages. Cursors differ from server to server.
fn ask(client: &mut Mcp, call: &Call) -> String {
    let (tool, arguments) = call;
    for _ in 0..ATTEMPTS {
        let body = client.call_text(tool, arguments);
        let response: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        let error = &response["error"]["data"]["details"];
        let answer = &response["result"]["structuredContent"];
        if error["reason"] != "timeout" && answer["metadata"]["error"]["reason"] != "timeout" {
            assert!(
                response["error"].is_null() && response["result"]["isError"] == false,
                "{tool} {arguments}: {body}"
            );
            assert!(answer["nextCursor"].is_null(), "{tool} {arguments}: more than a page");
            if answer["metadata"]["nextCursor"].is_null() {
                return body;
            }
            let (result, pages) =
                agent::whole(client, arguments).unwrap_or_else(|error| panic!("{arguments}: {error:?}"));
            let mut all = answer["metadata"].clone();
            (all["nextCursor"], all["hint"]) = (json!(pages), Value::Null);
            all["result"] = result;
            return json!({"result": {"structuredContent": {"metadata": all}}}).to_string();
        }
        pause(50);
    }
    panic!("{tool} {arguments}: never ready");
}

/// The call sites in an answer to `vscode.lsp.references`.
fn lines_of(root: &Path, body: &str) -> BTreeSet<(PathBuf, usize)> {
    let response: Value = serde_json::from_str(body).expect("JSON");
    let items = response["result"]["structuredContent"]["items"].as_array().expect("items").clone();
    let place = |item: &Value| {
        let prefix = uri_of(root) + "/";
        let file = item["uri"].as_str().expect("a URI").strip_prefix(&prefix).expect("inside the root").into();
        (file, usize::try_from(item["range"]["start"]["line"].as_u64().expect("a line")).expect("a line"))
    };
    items.iter().map(place).collect()
}

/// The names of the functions in an answer to `incomingCalls`.
fn names_of(body: &str) -> BTreeSet<String> {
    let response: Value = serde_json::from_str(body).expect("JSON");
    let result = response["result"]["structuredContent"]["metadata"]["result"].as_array().cloned().unwrap_or_default();
    result.iter().map(|call| call["from"]["name"].as_str().expect("a name").to_owned()).collect()
}

fn assert_complete(root: &Path, function: &Function, questions: &[Call], answers: &[String]) {
    let answer = |wanted: &str| {
        let place = questions.iter().position(|(tool, _)| *tool == wanted).expect("it was asked");
        &answers[place]
    };
    let found = lines_of(root, answer("vscode.lsp.references"));
    let missing: Vec<_> = function.calls.difference(&found).collect();
    assert!(
        missing.is_empty(),
        "{}: {} of {} calls are missing: {missing:?}",
        function.name,
        missing.len(),
        function.calls.len()
    );
    assert_eq!(names_of(answer("lsp")), function.callers, "callers of {}", function.name);
}

fn shuffled(calls: &[Call], dice: &mut Dice) -> Vec<Call> {
    let mut rest = calls.to_vec();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let places: Vec<usize> = (0..rest.len()).collect();
        order.push(rest.remove(dice.pick(&places)));
    }
    order
}

fn assert_same_answers(subject: &Subject, scale: &Scale) {
    for seed in 0..scale.seeds {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join("code");
        let tree = generate(subject.language, &root, scale.files, 1_000 + seed);
        let before = listing(&root);
        let configuration =
            format!("[[workspace]]\nname = \"h\"\nroots = [{root:?}]\nservers = {{ prefer = [{:?}] }}\n", subject.kind);
        check(&configuration, &root, &tree, scale, seed);
        assert_eq!(listing(&root), before, "something was written into the root");
    }
}

fn check(configuration: &str, root: &Path, tree: &Tree, scale: &Scale, seed: u64) {
    let step = (tree.functions.len() / scale.functions).max(1);
    let chosen: Vec<&Function> = tree.functions.iter().step_by(step).collect();
    let mut calls: Vec<Call> = Vec::new();
    let yard = Yard::serve(configuration);
    let client = &mut agent::client(&yard, "h");
    let mut right: Vec<String> = Vec::new();
    for function in chosen {
        let own = questions(root, tree, function);
        let answers: Vec<String> = own.iter().map(|call| ask(client, call)).collect();
        assert_complete(root, function, &own, &answers);
        calls.extend(own);
        right.extend(answers);
    }
    let expected = |call: &Call| &right[calls.iter().position(|known| known == call).expect("it was asked")];
    let compare = |client: &mut Mcp, order: &[Call], when: &str| {
        for call in order {
            let body = ask(client, call);
            assert_eq!(body, *expected(call), "{when}: {} {}", call.0, call.1);
        }
    };
    let mut dice = Dice(seed);
    compare(client, &shuffled(&calls, &mut dice), "at the warm server");
    let state = Arc::clone(&yard.state);
    let token = yard.token.clone();
    yard.stop();
    let mut restarted = Yard::serve_from(state, configuration, &[], &[]);
    // It is shown only once.
    restarted.token = token;
    compare(&mut agent::client(&restarted, "h"), &shuffled(&calls, &mut dice), "after a restart");
    restarted.stop();
    for round in 0..scale.rounds {
        let fresh = Yard::serve(configuration);
        let client = &mut agent::client(&fresh, "h");
        let order = shuffled(&calls, &mut dice);
        let half = order.len() / 2;
        compare(client, &order[..half], &format!("at a fresh server, round {round}"));
        compare(client, &shuffled(&calls, &mut dice), &format!("after a subset, round {round}"));
        fresh.stop();
    }
}

const TYPESCRIPT: Subject = Subject { language: TreeLanguage::TypeScript, kind: "typescript" };
const JAVASCRIPT: Subject = Subject { language: TreeLanguage::JavaScript, kind: "typescript" };
const NODE_TYPESCRIPT: Subject = Subject { language: TreeLanguage::TypeScript, kind: "typescript-language-server" };
const NODE_JAVASCRIPT: Subject = Subject { language: TreeLanguage::JavaScript, kind: "typescript-language-server" };
const COMMON_JS: Subject = Subject { language: TreeLanguage::CommonJs, kind: "typescript" };
const NODE_COMMON_JS: Subject = Subject { language: TreeLanguage::CommonJs, kind: "typescript-language-server" };
const PYTHON: Subject = Subject { language: TreeLanguage::Python, kind: "ty" };
const C: Subject = Subject { language: TreeLanguage::C, kind: "clangd" };
const CPP: Subject = Subject { language: TreeLanguage::Cpp, kind: "clangd" };

#[test]
fn typescript() {
    assert_same_answers(&TYPESCRIPT, &SMALL);
}

#[test]
fn javascript() {
    assert_same_answers(&JAVASCRIPT, &SMALL);
}

#[test]
fn common_js() {
    assert_same_answers(&COMMON_JS, &SMALL);
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn common_js_by_the_server_on_node() {
    assert_same_answers(&NODE_COMMON_JS, &SMALL);
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn typescript_by_the_server_on_node() {
    assert_same_answers(&NODE_TYPESCRIPT, &SMALL);
}

#[test]
fn python() {
    assert_same_answers(&PYTHON, &SMALL);
}

#[test]
fn c() {
    assert_same_answers(&C, &SMALL);
}

#[test]
fn cpp() {
    assert_same_answers(&CPP, &SMALL);
}

#[test]
#[ignore = "slow suite: many seeds of large trees in every language"]
fn large_trees() {
    let node = [&NODE_TYPESCRIPT, &NODE_JAVASCRIPT, &NODE_COMMON_JS];
    let native = [&TYPESCRIPT, &JAVASCRIPT, &COMMON_JS, &PYTHON, &C, &CPP];
    for subject in native.into_iter().chain(node) {
        assert_same_answers(subject, &LARGE);
    }
}
