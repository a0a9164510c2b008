//! `permission.lsp = "ask"` as a user meets it: the question, "always", the memory over restarts, `codeyard permissions`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cli::harness::Sandbox;
use crate::mcp::Mcp;

const ASK: &str = "[permission]\nlsp = \"ask\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";

/// A `codeyard stdio` whose client can show forms.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Agent {
    fn start(sandbox: &Sandbox, config: &str, more: &[&str]) -> Self {
        Self::of(sandbox, config, "agent", json!({"elicitation": {"form": {}}}), more)
    }

    /// One of `catalog` whose client has these capabilities.
    fn of(sandbox: &Sandbox, config: &str, catalog: &str, capabilities: Value, more: &[&str]) -> Self {
        let words = [&["stdio", "--config", config, "--catalog", catalog], more].concat();
        let mut command = sandbox.command(&words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut agent = Self { input: child.stdin.take(), child, lines };
        agent.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}}}));
        assert!(agent.next()["result"].is_object());
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(30)).expect("a message");
        serde_json::from_str(&line).unwrap()
    }

    /// Asks what the file declares; what comes first.
    fn symbols(&mut self) -> Value {
        loop {
            let first = self.call("lsp", &json!({"operation": "documentSymbol", "filePath": "a.tiny"}));
            if !is_late(&first) {
                return first;
            }
        }
    }

    /// Calls a tool; what comes first.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        self.next()
    }

    /// The same; it must ask, and is answered with `word`.
    fn answered(&mut self, word: &str) -> Value {
        let mut first = self.symbols();
        assert_eq!(first["method"], "elicitation/create", "{first}");
        loop {
            let result = json!({"action": "accept", "content": {"decision": word}});
            self.send(&json!({"jsonrpc": "2.0", "id": first["id"], "result": result}));
            let answer = self.next();
            if !is_late(&answer) {
                return answer;
            }
            first = self.symbols();
            if first["method"] != "elicitation/create" {
                return first;
            }
        }
    }
}

/// Whether the call met its deadline, as it may on a busy machine.
fn is_late(answer: &Value) -> bool {
    answer["result"].to_string().contains("CAP_EXCEEDED")
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input.take();
        self.child.wait().ok();
    }
}

fn declares(answer: &Value, name: &str) -> bool {
    answer["result"]["structuredContent"]["metadata"]["result"][0]["name"] == name
}

#[test]
fn always_is_stored_listed_and_revoked() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(ASK);
    sandbox.run(&["config", "show", &config]).code(0);
    let serving = sandbox.serve(&["--config", &config]);
    let mut attached = Agent::start(&sandbox, &config, &[]);
    let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let denied = attached.answered("deny");
    assert_eq!(denied["result"]["isError"], true);
    assert!(text(&denied).contains("declined the permission"), "{denied}");
    assert!(declares(&attached.answered("once"), "repo"));
    assert_eq!(sandbox.run(&["permissions", "list", "--json"]).code(0).json(), json!([]));
    assert!(sandbox.run(&["permissions", "list"]).code(0).stdout.contains("no permissions are stored"));
    assert!(declares(&attached.answered("always"), "repo"));
    assert!(declares(&attached.symbols(), "repo"), "not asked again");
    let file = std::fs::metadata(sandbox.path("state/state.db")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let listed = sandbox.run(&["permissions", "list", "--json"]).code(0).json();
    let entry = &listed[0];
    assert_eq!((&entry["principal"], &entry["workspace"]), (&json!("local"), &json!("repo")));
    assert_eq!(entry["permission"], "lsp");
    let line = sandbox.run(&["permissions", "list"]).code(0).stdout;
    assert!(line.starts_with("local  repo  lsp  20") && line.ends_with("Z\n"), "{line}");
    drop(attached);
    assert_eq!(serving.stop(Signal::TERM), 0);

    // Another server of the same state directory, and one on standard input of its own.
    let serving = sandbox.serve(&["--config", &config]);
    let mut attached = Agent::start(&sandbox, &config, &[]);
    assert!(declares(&attached.symbols(), "repo"));
    let mut alone = Agent::start(&sandbox, &config, &["--alone"]);
    assert!(declares(&alone.symbols(), "repo"));
    sandbox.run(&["permissions", "revoke", "--workspace", "other"]).code(3).says(&["codeyard permissions list"]);
    assert!(declares(&alone.symbols(), "repo"));
    let revoked = sandbox.run(&["permissions", "revoke", "--principal", "local", "--workspace", "repo"]).code(0);
    assert!(revoked.stdout.starts_with("revoked 1"), "{revoked:?}");
    for agent in [&mut attached, &mut alone] {
        assert!(declares(&agent.answered("once"), "repo"), "asked again");
    }
    assert!(declares(&attached.answered("always"), "repo"));
    sandbox.run(&["permissions", "revoke", "--all"]).code(0);
    assert!(declares(&attached.answered("once"), "repo"));
    drop((attached, alone));
    assert_eq!(serving.stop(Signal::TERM), 0);
}

/// The tools of all catalogs that show code, each with its catalog and arguments.
fn tools_that_show_code(sandbox: &Sandbox) -> Vec<(&'static str, String, Value)> {
    let uri = format!("file://{}", sandbox.path("repo/a.tiny").display());
    let at = json!({"uri": uri, "position": {"line": 0, "character": 0}});
    let of = json!({"uri": uri});
    let of_lsp_v1 = [
        ("definition", at.clone()),
        ("references", at.clone()),
        ("hover", at),
        ("documentSymbols", of.clone()),
        ("workspaceSymbols", json!({"query": "repo"})),
        ("diagnostics.document", of),
        ("diagnostics.workspace", json!({})),
    ];
    let mut tools = Vec::new();
    for (name, arguments) in of_lsp_v1 {
        tools.push(("lsp-v1", format!("vscode.lsp.{name}"), arguments.clone()));
        tools.push(("lsp-v1-safe", format!("vscode_lsp_{}", name.replace('.', "_")), arguments));
    }
    let symbols = json!({"operation": "documentSymbol", "filePath": "a.tiny"});
    tools.push(("agent", "lsp".to_owned(), symbols));
    tools.push(("code", "search_code".to_owned(), json!({"query": "repo"})));
    tools.push(("code", "search_code".to_owned(), json!({"query": "repo", "mode": "text"})));
    tools.push(("code", "locate_symbol".to_owned(), json!({"name": "repo"})));
    tools.push(("code", "get_file_outline".to_owned(), json!({"path": "a.tiny"})));
    tools
}

/// Why a tool of any catalog was refused, in the form of its errors.
#[track_caller]
fn refusal(body: &str, catalog: &str) -> String {
    let answer: Value = serde_json::from_str(body).unwrap();
    let (error, text) = match catalog {
        "lsp-v1" | "lsp-v1-safe" => {
            assert_eq!(answer["error"]["data"]["code"], "MCP_LSP_GATEWAY/WORKSPACE_DENIED", "{answer}");
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            (answer["error"].clone(), answer["error"].to_string())
        }
        _ => {
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            let code = &answer["result"]["structuredContent"]["error"]["code"];
            assert!(catalog == "agent" || code == "workspace_not_allowed", "{answer}");
            (answer["result"]["structuredContent"].clone(), text)
        }
    };
    assert!(text.contains("permission.lsp") && text.contains("codeyard config check"), "{text}");
    error.to_string()
}

#[test]
fn a_denied_operation_is_refused_in_every_catalog() {
    let sandbox = Sandbox::new();
    let workspaces = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n\
                      [[workspace]]\nname = \"denied\"\nroots = [\"denied\"]\npermission = { lsp = \"deny\" }\n";
    std::fs::create_dir(sandbox.path("denied")).unwrap();
    std::fs::write(sandbox.path("denied/b.py"), "def repo_of_other():\n    pass\n").unwrap();
    let config = sandbox.configure(&format!("[permission.principals.ci]\nlsp = \"deny\"\n{workspaces}"));
    let serving = sandbox.serve(&["--config", &config]);
    let ci = sandbox.run(&["token", "add", "ci"]).code(0).stdout.trim().to_owned();
    let connect = |token: &str, path: &str| Mcp::connect(&serving.address, path, Some(token));
    for (catalog, tool, arguments) in tools_that_show_code(&sandbox) {
        let mut denied = connect(&ci, &format!("/mcp/repo/{catalog}"));
        assert!(refusal(&denied.call_text(&tool, &arguments), catalog).contains("permission_denied"), "{tool}");
        let mut allowed = connect(&serving.token, &format!("/mcp/repo/{catalog}"));
        assert!(!allowed.call_text(&tool, &arguments).contains("permission"), "{tool}");
    }
    let mut denied = connect(&ci, "/mcp/repo/code");
    for tool in ["health_check", "index_status", "index_repo", "sync_repo"] {
        assert!(!denied.call_text(tool, &json!({})).contains("permission"), "{tool} shows no code");
    }
    // A workspace elsewhere doesn't matter to who is denied here.
    let elsewhere = denied.call_text("search_code", &json!({"query": "repo", "workspace": "nowhere"}));
    assert!(elsewhere.contains("permission_denied"), "{elsewhere}");
    // A group: refused without any permitted workspace, otherwise without those that aren't permitted.
    let mut group = connect(&ci, "/mcp/@all/code");
    refusal(&group.call_text("search_code", &json!({"query": "repo"})), "code");
    let mut group = connect(&serving.token, "/mcp/@all/code");
    let found = group.call_text("search_code", &json!({"query": "repo_of_other", "mode": "text"}));
    assert!(!found.contains("def repo_of_other") && found.contains("workspace_not_allowed"), "{found}");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn an_answer_of_always_holds_for_the_operation_in_every_catalog() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(ASK);
    let serving = sandbox.serve(&["--config", &config]);
    let refused_tools = |are_refused: bool| {
        for (catalog, tool, arguments) in tools_that_show_code(&sandbox) {
            // The client can't be asked.
            let mut client = Agent::of(&sandbox, &config, catalog, json!({}), &[]);
            let body = client.call(&tool, &arguments).to_string();
            match are_refused {
                true => assert!(refusal(&body, catalog).contains("permission_not_asked"), "{tool}"),
                false => assert!(!body.contains("permission"), "{tool}: {body}"),
            }
        }
    };
    refused_tools(true);
    let mut asked = Agent::start(&sandbox, &config, &[]);
    assert!(declares(&asked.answered("always"), "repo"));
    refused_tools(false);
    drop(asked);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_damaged_state_database_stops_every_command_until_it_is_moved_away() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(ASK);
    sandbox.run(&["permissions", "list"]).code(0);
    let file = sandbox.path("state/state.db");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, "{\"grants\": [").unwrap();
    for words in [&["permissions", "list"][..], &["token", "list"], &["serve", "--config", &config]] {
        sandbox.run(words).code(1).says(&["state/state.db is damaged", "codeyard token add NAME"]);
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"{\"grants\": [", "it is kept as it is");
    std::fs::write(&file, whole).unwrap();
    sandbox.run(&["permissions", "list"]).code(0);
}
