//! Every tool that takes a path or a URI, asked with more than a thousand spellings of paths inside and outside the root.
//!
//! Invariants: no answer has the text of a secret file or names what a link outside leads to; every answer is one about a file inside, or a
//! documented error; a well-formed question between them is answered rightly.

mod spellings;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::{Mcp, pause, until};
use crate::mcp_stream::StreamedCall;
use crate::running_server::Yard;
use codeyard_test_support::git::git;

/// In secret files only.
const SECRET: &str = "canary_value_62";
/// In the names of the targets of links only, so no caller spells it.
const TARGET: &str = "linked_target_62";
/// In files inside only.
const INSIDE: &str = "inside_symbol_62";
/// Spellings in the fast suite: one of so many.
const STEP: usize = 25;
/// Characters of an argument that messages show of a long one.
const SHOWN_CHARS: usize = 64;
/// Questions between two control questions.
const CONTROL: usize = 500;
/// Codes of the contract that a path can lead to.
const CODES: [&str; 5] = ["INVALID_PARAMS", "URI_INVALID", "WORKSPACE_DENIED", "NOT_FOUND", "PROVIDER_UNAVAILABLE"];
/// Those of the catalog `code`.
const INDEX_CODES: [&str; 5] =
    ["invalid_input", "project_not_found", "file_not_found", "workspace_not_registered", "workspace_not_allowed"];
/// Those of the catalog `launch`.
const RUN_CODES: [&str; 4] = ["INVALID_INPUT", "INVALID_URL", "REPO_NOT_FOUND", "RUN_NOT_FOUND"];

/// Names of arguments that hold a path, a URI or globs of paths.
const PATH_ARGUMENTS: [&str; 7] = ["uri", "path", "filePath", "paths", "run_id", "artifact_name", "github_repo_url"];

/// A root with links, and secrets beside it.
struct Tree {
    base: PathBuf,
    _folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("p").tempdir().expect("a folder");
        let base = fs::canonicalize(folder.path()).expect("a path");
        for name in ["w/sub", "secrets", TARGET] {
            fs::create_dir_all(base.join(name)).expect("a folder");
        }
        let source = |symbol: &str| format!("def {symbol}(): return \"{symbol}\"\n\n{symbol}()\n");
        for name in ["w/main.py", "w/sub/main.py"] {
            fs::write(base.join(name), source(INSIDE)).expect("a file");
        }
        for name in ["secret.py".to_owned(), "secrets/secret.py".to_owned(), format!("{TARGET}/{TARGET}.py")] {
            fs::write(base.join(name), source(SECRET)).expect("a file");
        }
        let secrets = base.join("secrets");
        git(&secrets, &["init", "--quiet"]);
        git(&secrets, &["add", "--all"]);
        git(&secrets, &["commit", "--quiet", "-m", "first"]);
        let tree = Self { base, _folder: folder };
        for (name, target) in tree.links() {
            symlink(target, tree.base.join("w").join(name)).expect("a link");
        }
        tree
    }

    fn root(&self) -> String {
        self.base.join("w").display().to_string()
    }

    /// Links in the root, and what they hold.
    fn links(&self) -> Vec<(String, PathBuf)> {
        let target = self.base.join(TARGET);
        let mut links: Vec<(String, PathBuf)> = [
            ("to_file.py", target.join(format!("{TARGET}.py"))),
            ("to_folder", target),
            ("relative.py", format!("../{TARGET}/{TARGET}.py").into()),
            ("relative_folder", format!("./sub/../../{TARGET}").into()),
            ("inside.py", "main.py".into()),
            ("inside_folder", "sub".into()),
            ("itself.py", "itself.py".into()),
            ("parent", "..".into()),
            ("system", "/".into()),
            ("process", "/proc/self/root".into()),
            ("descriptors", "/proc/self/fd".into()),
            ("directory", "/proc/self/cwd".into()),
            ("environment.py", "/proc/self/environ".into()),
            ("nothing.py", "/nowhere/at/all.py".into()),
            ("sub/up", "..".into()),
            ("sub/back", "../sub".into()),
        ]
        .map(|(name, target)| (name.to_owned(), target))
        .into();
        for number in 0..60 {
            links.push((format!("chain{number}.py"), format!("chain{}.py", number + 1).into()));
            links.push((format!("folders{number}"), format!("./folders{}", number + 1).into()));
        }
        links.push(("chain60.py".into(), format!("relative_folder/{TARGET}.py").into()));
        links.push(("folders60".into(), "to_folder".into()));
        links
    }
}

/// A question that takes a path at an endpoint.
struct Probe {
    endpoint: &'static str,
    tool: String,
    argument: String,
    /// The other arguments.
    rest: Value,
}

impl Probe {
    fn arguments(&self, spelling: &str) -> Value {
        let mut arguments = self.rest.clone();
        arguments[&self.argument] = if self.argument == "paths" { json!([spelling]) } else { json!(spelling) };
        arguments
    }

    /// A question that is certainly about a file inside.
    fn control(&self, root: &str) -> Option<Value> {
        match self.argument.as_str() {
            "uri" => Some(self.arguments(&format!("file://{root}/main.py"))),
            "path" | "filePath" | "paths" => Some(self.arguments("main.py")),
            _ => None,
        }
    }
}

/// The tools of an endpoint with the schemas of their arguments.
fn tools(client: &Mcp) -> Vec<Value> {
    let mut all = Vec::new();
    let mut params = json!({});
    loop {
        let answer = StreamedCall::request(client, "tools/list", &params).answer();
        all.extend(answer["result"]["tools"].as_array().expect("tools").iter().cloned());
        match answer["result"]["nextCursor"].as_str() {
            Some(next) => params["cursor"] = json!(next),
            None => return all,
        }
    }
}

/// One for each argument of a path of each tool of each endpoint; for the tool `lsp`, one for each operation.
fn probes(clients: &BTreeMap<&'static str, Mcp>) -> Vec<Probe> {
    let mut all = Vec::new();
    for (endpoint, client) in clients {
        for tool in tools(client) {
            let name = tool["name"].as_str().expect("a name");
            let properties = &tool["inputSchema"]["properties"];
            let arguments = properties.as_object().expect("properties").keys();
            let is_health = name == "health_check";
            let is_path = |argument: &&String| {
                PATH_ARGUMENTS.contains(&argument.as_str()) || is_health && *argument == "workspace"
            };
            for argument in arguments.filter(is_path) {
                let mut rest = json!({});
                if properties["position"].is_object() {
                    rest["position"] = json!({"line": 2, "character": 1});
                }
                if properties["query"].is_object() && argument == "paths" {
                    rest = json!({"query": "symbol", "mode": "text"});
                }
                for other in tool["inputSchema"]["required"].as_array().into_iter().flatten() {
                    if (other == "run_id" || other == "artifact_name") && other != argument {
                        rest[other.as_str().expect("a name")] = json!("run");
                    }
                }
                let operations = properties["operation"]["enum"].as_array().cloned().unwrap_or_else(|| vec![json!(0)]);
                for operation in operations.into_iter().filter(|operation| *operation != "workspaceSymbol") {
                    let mut rest = rest.clone();
                    if operation.is_string() {
                        rest = json!({"operation": operation, "line": 3, "character": 2});
                    }
                    all.push(Probe { endpoint, tool: name.to_owned(), argument: argument.clone(), rest });
                }
            }
        }
    }
    all
}

/// The code of a refusal in any of the dialects; `None` for an answer.
fn code_of(answer: &Value) -> Option<String> {
    let content = &answer["result"]["structuredContent"];
    let code = answer["error"]["data"]["code"]
        .as_str()
        .or(content["metadata"]["error"]["code"].as_str())
        .or(content["error"]["code"].as_str());
    let known = code.map(|code| code.rsplit('/').next().unwrap_or(code).to_owned());
    let is_error = !answer["error"].is_null() || answer["result"]["isError"] == true || content["ok"] == false;
    known.or_else(|| is_error.then(|| "an error without a code".to_owned()))
}

/// Whether a call was out of time, or too early.
fn is_early(text: &str) -> bool {
    // Values only: an answer that says what it lacks has a field `partial`.
    [":\"timeout\"", ":\"overloaded\"", ":\"index_not_ready\"", ":\"partial\"", ":\"crashed\""]
        .iter()
        .any(|word| text.contains(word))
}

/// The text of an answer, once there is one.
fn ask(client: &mut Mcp, tool: &str, arguments: &Value) -> String {
    let mut text = String::new();
    let answered = until(120_000, || {
        text = client.call_text(tool, arguments);
        let is_over = !is_early(&text);
        if !is_over {
            pause(100);
        }
        is_over
    });
    assert!(answered, "{tool} {arguments}: {text}");
    text
}

/// `text` without what the caller wrote itself, as it stands in JSON, and in JSON in JSON; messages may have it with escaped characters, and
/// only its beginning.
fn without_echo(text: &str, spelling: &str) -> String {
    let inner = |quoted: String| quoted[1..quoted.len() - 1].to_owned();
    let json = |text: &str| inner(json!(text).to_string());
    let beginning: String = spelling.chars().take(SHOWN_CHARS).collect();
    let mut rest = text.to_owned();
    for spelling in [spelling, &beginning] {
        let escaped = inner(json!(format!("{spelling:?}")).to_string());
        let once = json(spelling);
        let twice = json(&json(spelling));
        for echo in [json(&escaped), escaped, twice, once, spelling.to_owned()] {
            if !echo.is_empty() {
                rest = rest.replace(&echo, "");
            }
        }
    }
    rest
}

/// Judges one answer; returns the code of a refusal, `answered` or `nothing`.
fn judge(tree: &Tree, probe: &Probe, spelling: &str, text: &str) -> String {
    let shown: String = spelling.chars().take(300).collect();
    let place = || format!("{} {} {} {shown:?}", probe.endpoint, probe.tool, probe.argument);
    assert!(!text.contains(SECRET), "{}: shows a secret: {text}", place());
    assert!(!text.contains(TARGET), "{}: names what a link leads to: {text}", place());
    let rest = without_echo(text, spelling);
    let outside = format!("{}/", tree.base.display());
    let inside = format!("{}/w", tree.base.display());
    for (at, _) in rest.match_indices(&outside) {
        assert!(rest[at..].starts_with(&inside), "{}: names a path outside: {text}", place());
    }
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}: {text}", place()));
    if let Some(code) = code_of(&answer) {
        let is_documented = CODES.contains(&code.as_str())
            || INDEX_CODES.contains(&code.as_str())
            || RUN_CODES.contains(&code.as_str());
        assert!(is_documented, "{}: {code}: {text}", place());
        return code;
    }
    let content = &answer["result"]["structuredContent"];
    assert!(content.is_object(), "{}: {text}", place());
    if content.to_string().contains(INSIDE) || content.to_string().contains(&inside) {
        return "answered".to_owned();
    }
    assert_ne!(probe.argument, "github_repo_url", "{}: a run began: {text}", place());
    // An empty list: no outside file has an empty answer, because all have the same form as those inside.
    "nothing".to_owned()
}

fn try_spellings(step: usize) {
    let tree = Tree::new();
    let root = tree.root();
    let configuration = format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n[runs]\nsources = [{root:?}]\n");
    let yard = Yard::serve(&configuration);
    let endpoints = ["w", "w/lsp-v1", "w/agent", "w/code", "w/launch"];
    let mut clients: BTreeMap<&'static str, Mcp> =
        endpoints.iter().map(|endpoint| (*endpoint, yard.client(endpoint))).collect();
    let probes = probes(&clients);
    let all = spellings::all(&tree.base.display().to_string(), yard.pid());
    assert!(all.len() >= 1_000 && probes.len() >= 20, "{} spellings, {} questions", all.len(), probes.len());
    let mut outcomes: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let mut asked = 0;
    let mut controls = 0;
    let mut used = 0;
    let mut check_control = |clients: &mut BTreeMap<&'static str, Mcp>| {
        for probe in &probes {
            let Some(arguments) = probe.control(&root) else { continue };
            let client = clients.get_mut(probe.endpoint).expect("a client");
            let text = ask(client, &probe.tool, &arguments);
            let answer: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(code_of(&answer), None, "{} {arguments}: {text}", probe.tool);
            controls += 1;
        }
    };
    check_control(&mut clients);
    for spelling in all.iter().step_by(step) {
        used += 1;
        for probe in &probes {
            let client = clients.get_mut(probe.endpoint).expect("a client");
            let text = ask(client, &probe.tool, &probe.arguments(spelling));
            let outcome = judge(&tree, probe, spelling, &text);
            *outcomes.entry(probe.endpoint.to_owned()).or_default().entry(outcome).or_default() += 1;
            asked += 1;
            if asked % CONTROL == 0 {
                check_control(&mut clients);
            }
        }
    }
    check_control(&mut clients);
    println!(
        "{used} of {} spellings, {} questions for each: {asked} questions and {controls} controls",
        all.len(),
        probes.len()
    );
    outcomes.iter().for_each(|(endpoint, outcomes)| println!("{endpoint}: {outcomes:?}"));
    clients.into_values().for_each(Mcp::end);
    yard.stop();
}

#[test]
fn no_spelling_of_a_path_leads_outside() {
    try_spellings(STEP);
}

#[test]
#[ignore = "minutes: all spellings with all tools"]
fn none_of_a_thousand_spellings_leads_outside() {
    try_spellings(1);
}
