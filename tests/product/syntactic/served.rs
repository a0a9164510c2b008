//! The fallback as codeyard serves it: for a language without a server, marked, supervised, and never together with a real one.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mcp::{Mcp, pause, until};
use crate::running_server::{Yard, signal_to};
use crate::syntactic::sources::Project;

const MARK: &str = "By name only, without a language server for ruby.";

fn yard(project: &Project, more: &str) -> Yard {
    Yard::serve(&format!("# syntactic\n{more}\n[[workspace]]\nname = \"w\"\nroots = [{:?}]\n", project.root))
}

fn client(yard: &Yard) -> Mcp {
    Mcp::connect(&yard.address, "/mcp/w/lsp-v1+agent", Some(&yard.token))
}

/// Calls one of the seven tools until the server is ready.
fn ask(client: &mut Mcp, tool: &str, arguments: &Value) -> Value {
    for _ in 0..60 {
        match client.call(tool, arguments) {
            Err(failure) if failure.is_timeout() => pause(100),
            outcome => return outcome.unwrap_or_else(|failure| panic!("{tool}: {failure:?}")),
        }
    }
    panic!("{tool} {arguments}: it never gets ready");
}

/// Calls the tool `lsp`: metadata and text.
fn lsp(client: &mut Mcp, operation: &str, line: u32, character: u32) -> (Value, String) {
    let arguments = json!({"operation": operation, "filePath": "main.rb", "line": line, "character": character,
        "query": "Shelf"});
    let response: Value = serde_json::from_str(&client.call_text("lsp", &arguments)).expect("JSON");
    let result = &response["result"];
    assert_eq!(result["isError"], false, "{operation}: {response}");
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    (result["structuredContent"]["metadata"].clone(), text)
}

fn definition(project: &Project) -> Value {
    json!({"uri": project.uri("main.rb"), "position": {"line": 6, "character": 15}})
}

#[test]
fn both_catalogs_mark_answers_by_name() {
    let project = Project::new();
    let yard = yard(&project, "");
    let mut client = client(&yard);
    let place = definition(&project);
    let document = json!({"uri": project.uri("lib/shelf.rb")});
    for (tool, arguments, list) in [
        ("vscode.lsp.definition", &place, "locations"),
        ("vscode.lsp.references", &place, "items"),
        ("vscode.lsp.hover", &place, "contents"),
        ("vscode.lsp.documentSymbols", &document, "symbols"),
        ("vscode.lsp.workspaceSymbols", &json!({"query": "Shelf"}), "items"),
    ] {
        let answer = ask(&mut client, tool, arguments);
        assert!(answer[list].as_array().is_some_and(|list| !list.is_empty()), "{tool}: {answer}");
        let summary = answer["summary"].as_str().expect("a summary");
        assert!(summary.ends_with(MARK), "{tool}: {summary}");
        assert_eq!(client.call(tool, arguments).unwrap()["summary"], summary, "the snapshot has the same mark");
    }
    for (operation, line, character) in [
        ("goToDefinition", 7, 16),
        ("findReferences", 7, 16),
        ("hover", 7, 16),
        ("documentSymbol", 1, 1),
        ("workspaceSymbol", 1, 1),
        ("goToImplementation", 7, 16),
        ("prepareCallHierarchy", 3, 5),
        ("incomingCalls", 3, 5),
        ("outgoingCalls", 3, 5),
    ] {
        let (metadata, text) = lsp(&mut client, operation, line, character);
        assert_eq!(metadata["byName"], json!(["ruby"]), "{operation}: {metadata}");
        assert!(text.ends_with(MARK), "{operation}: {text}");
        let (json, _) = text.split_once("\n\n").unwrap_or_else(|| panic!("{operation}: {text}"));
        let shown: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{operation}: {error}: {json}"));
        assert_eq!(shown, metadata["result"], "{operation}");
        assert_ne!(shown, json!([]), "{operation}");
    }
    let nothing = json!({"uri": project.uri("main.rb"), "position": {"line": 3, "character": 14}});
    let answer = ask(&mut client, "vscode.lsp.definition", &nothing);
    assert!(answer["summary"].as_str().is_some_and(|summary| summary.starts_with("No def") && summary.ends_with(MARK)));
    let failure = client.call("vscode.lsp.diagnostics.document", &document).unwrap_err();
    assert_eq!((failure.code.as_str(), &failure.details["reason"]), ("PROVIDER_UNAVAILABLE", &json!("not_installed")));
    yard.stop();
}

#[test]
fn an_edit_is_seen_and_a_crash_is_recovered() {
    let project = Project::new();
    let mut yard = yard(&project, "");
    let mut client = client(&yard);
    let place = definition(&project);
    let first = ask(&mut client, "vscode.lsp.definition", &place);
    assert_eq!(first["locations"][0]["range"]["start"]["line"], 2);
    project.write("lib/shelf.rb", &format!("# One more line.\n{}", crate::syntactic::sources::RUBY_SOURCE));
    let second = ask(&mut client, "vscode.lsp.definition", &place);
    assert_eq!(second["locations"][0]["range"]["start"]["line"], 3);
    let servers = |yard: &mut Yard| {
        let mut found = yard.running("codeyard");
        found.retain(|process| crate::running_server::command_line(process.pid).contains(" syntactic "));
        found.retain(|process| !crate::running_server::command_line(process.pid).contains("__guard"));
        found
    };
    let before = servers(&mut yard);
    assert_eq!(before.len(), 1);
    signal_to(before[0].pid, Signal::KILL);
    assert!(until(20_000, || !crate::running_server::is_alive(before[0])));
    project.write("main.rb", &format!("# One more line.\n{}", crate::syntactic::sources::MAIN));
    let place = json!({"uri": project.uri("main.rb"), "position": {"line": 7, "character": 15}});
    let third = ask(&mut client, "vscode.lsp.definition", &place);
    assert_eq!(third["locations"][0]["range"]["start"]["line"], 3);
    let after = servers(&mut yard);
    assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
    yard.stop();
}

#[test]
fn the_fallback_can_be_disabled_for_all_or_one_language() {
    let project = Project::new();
    let place = definition(&project);
    for more in ["[syntactic]\nmode = \"off\"\n", ""] {
        let own = if more.is_empty() { "syntactic = { mode = \"off\" }\n" } else { "" };
        let configuration = format!("{more}[[workspace]]\nname = \"w\"\nroots = [{:?}]\n{own}", project.root);
        let yard = Yard::serve(&configuration);
        let failure = client(&yard).call("vscode.lsp.definition", &place).unwrap_err();
        assert_eq!(
            (failure.code.as_str(), &failure.details["reason"]),
            ("PROVIDER_UNAVAILABLE", &json!("not_installed"))
        );
        yard.stop();
    }
}

/// A server that supports definitions but never reports the end of indexing.
const SLOW: &str = r#"#!/usr/bin/env python3
import json, sys
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
while True:
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if not line.strip():
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    message = json.loads(sys.stdin.buffer.read(length))
    if message.get("method") == "initialize":
        send({"id": message["id"], "result": {"capabilities": {"definitionProvider": True}}})
    elif message.get("method") == "exit":
        sys.exit(0)
    elif message.get("method") == "textDocument/definition":
        start = {"line": 0, "character": 0}
        uri = message["params"]["textDocument"]["uri"]
        send({"id": message["id"], "result": [{"uri": uri, "range": {"start": start, "end": start}}]})
    elif "id" in message and "method" in message:
        send({"id": message["id"], "result": None})
    if READY:
        send({"method": "test/ready", "params": {}})
        READY = False
"#;

/// The configuration of a Ruby server that is ready at once, or never.
fn with_server(project: &Project, is_ready: bool, mode: &str) -> String {
    let ready = if is_ready { "READY = True" } else { "READY = False" };
    let program = project.path("../server.py");
    let text = SLOW.replacen("import json, sys\n", &format!("import json, sys\n{ready}\n"), 1);
    std::fs::write(&program, text).expect("a file");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let program = program.canonicalize().expect("a real path");
    format!(
        "[syntactic]\nmode = {mode:?}\n[servers.ruby-lsp]\ncommand = [{program:?}]\nversion_args = []\n\
         readiness = {{ method = \"test/ready\" }}\n"
    )
}

#[test]
fn a_ready_language_server_answers_alone() {
    for mode in ["fallback", "while-indexing"] {
        let project = Project::new();
        let yard = yard(&project, &with_server(&project, true, mode));
        let mut client = client(&yard);
        let settled = until(20_000, || {
            let answer = ask(&mut client, "vscode.lsp.definition", &definition(&project));
            let is_marked = answer["summary"].as_str().is_some_and(|summary| summary.contains("By name"));
            assert_eq!(is_marked, answer["locations"][0]["range"]["start"]["line"] != 0, "never unmarked: {answer}");
            assert!(!is_marked || mode == "while-indexing", "{answer}");
            !is_marked
        });
        assert!(settled, "what was found by name is gone once the server is ready");
        let (metadata, text) = lsp(&mut client, "goToDefinition", 7, 16);
        assert_eq!((metadata.get("byName"), text.contains("By name")), (None, false));
        yard.stop();
    }
}

#[test]
fn what_a_language_server_does_not_support_is_answered_by_name() {
    let project = Project::new();
    let yard = yard(&project, &with_server(&project, true, "fallback"));
    let mut by_server = client(&yard);
    ask(&mut by_server, "vscode.lsp.definition", &definition(&project));
    // The fallback must have indexed too.
    ask(&mut by_server, "vscode.lsp.hover", &definition(&project));
    for operation in ["findReferences", "hover", "documentSymbol", "workspaceSymbol", "incomingCalls"] {
        let (line, character) = if operation == "incomingCalls" { (3, 5) } else { (7, 16) };
        let (metadata, text) = lsp(&mut by_server, operation, line, character);
        assert_eq!(metadata["byName"], json!(["ruby"]), "{operation}: {metadata}");
        assert!(text.contains("By name only"), "{operation}: {text}");
    }
    let (metadata, _) = lsp(&mut by_server, "goToDefinition", 7, 16);
    assert_eq!(metadata.get("byName"), None, "its own operation stays its own");
    yard.stop();

    let alone = self::yard(&project, &with_server(&project, true, "off"));
    let mut unsupported = client(&alone);
    let arguments = json!({"uri": project.uri("main.rb"), "position": {"line": 6, "character": 15}});
    let mut failure = || unsupported.call("vscode.lsp.hover", &arguments).unwrap_err();
    let mut last = None;
    assert!(
        until(20_000, || {
            let failure = failure();
            let is_unsupported = format!("{failure:?}").contains("unsupported");
            last = Some(failure);
            is_unsupported
        }),
        "{last:?}"
    );
    assert!(!format!("{last:?}").contains("install syntactic"), "{last:?}");
    alone.stop();
}

#[test]
fn an_unready_server_is_awaited_or_replaced_by_the_fallback() {
    let project = Project::new();
    let waiting = yard(&project, &with_server(&project, false, "fallback"));
    let failure = client(&waiting).call("vscode.lsp.definition", &definition(&project)).unwrap_err();
    assert!(failure.is_timeout(), "{failure:?}");
    waiting.stop();
    let yard = yard(&project, &with_server(&project, false, "while-indexing"));
    let answer = ask(&mut client(&yard), "vscode.lsp.definition", &definition(&project));
    assert!(answer["summary"].as_str().is_some_and(|summary| summary.contains("By name only")), "{answer}");
    assert_eq!(answer["locations"][0]["range"]["start"]["line"], 2);
    yard.stop();
}

#[test]
fn fallback_results_are_not_confirmed_by_the_fallback() {
    let missing = "no language server answers for ruby: the language server for this kind of file is not installed; \
                   run `gem install ruby-lsp`.";
    let indexing = "the language server for ruby is still indexing; ask again.";
    for mode in ["fallback", "while-indexing"] {
        let project = Project::new();
        // One language without a server, and one whose server never becomes ready.
        let slow = with_server(&project, false, mode);
        for (more, why) in [(format!("[syntactic]\nmode = {mode:?}\n"), missing), (slow, indexing)] {
            let yard = yard(&project, &more);
            if mode == "while-indexing" || why == missing {
                // The fallback runs and lists the symbol.
                let symbols = json!({"uri": project.uri("lib/shelf.rb")});
                let listed = ask(&mut client(&yard), "vscode.lsp.documentSymbols", &symbols);
                assert!(listed["summary"].as_str().is_some_and(|summary| summary.ends_with(MARK)), "{listed}");
                assert!(listed["symbols"].to_string().contains("DeepShelf"), "{listed}");
            }
            let mut code = Mcp::connect(&yard.address, "/mcp/w/code", Some(&yard.token));
            let locate = json!({"name": "DeepShelf", "detail_level": "context", "confirm": true});
            let mut payload = Value::Null;
            let is_found = until(20_000, || {
                payload = code.call("locate_symbol", &locate).unwrap_or_else(|failure| panic!("{failure:?}"));
                payload["metadata"]["freshness_status"] == "fresh"
                    && payload["results"] != json!([])
                    && !payload["metadata"]["warnings"].to_string().contains("still starting")
            });
            assert!(is_found, "{payload}");
            let row = &payload["results"][0];
            assert_eq!((&row["name"], row.get("confirmed_by")), (&json!("DeepShelf"), None), "{payload}");
            assert_eq!(payload["metadata"]["warnings"], json!([format!("1 row is unconfirmed: {why}")]), "{mode}");
            yard.stop();
        }
    }
}
