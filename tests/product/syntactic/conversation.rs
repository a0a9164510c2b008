//! Conversations with the server itself.

use std::fs;

use serde_json::{Value, json};

use crate::syntactic::client::Client;
use crate::syntactic::sources::Project;

fn start(project: &Project) -> Client {
    Client::start(&project.root, &project.indexes(), &["utf-16"])
}

fn at(project: &Project, path: &str, line: u32, character: u32) -> Value {
    json!({"textDocument": {"uri": project.uri(path)}, "position": {"line": line, "character": character}})
}

/// `path:line:character` of each location, in order.
fn places(project: &Project, list: &Value) -> Vec<String> {
    let root = format!("{}/", project.uri(""));
    let root = root.trim_end_matches('/').to_owned() + "/";
    let place = |one: &Value| {
        let start = &one["range"]["start"];
        let uri = one["uri"].as_str().expect("an address");
        format!("{}:{}:{}", uri.strip_prefix(&root).unwrap_or(uri), start["line"], start["character"])
    };
    list.as_array().expect("a list").iter().map(place).collect()
}

#[test]
fn every_request_is_answered_from_names() {
    let project = Project::new();
    let mut client = start(&project);
    assert_eq!(client.capabilities["positionEncoding"], "utf-16");
    let found = client.request("textDocument/definition", &at(&project, "main.rb", 6, 15)).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:2:8"]);
    let found = client.request("textDocument/declaration", &at(&project, "main.rb", 6, 15)).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:2:8"]);
    let found = client.request("textDocument/definition", &at(&project, "main.rb", 3, 9)).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:8:8", "lib/shelf.rb:19:8"], "both, not one by chance");

    let mut asked = at(&project, "main.rb", 3, 9);
    asked["context"] = json!({"includeDeclaration": false});
    let found = client.request("textDocument/references", &asked).unwrap();
    assert_eq!(places(&project, &found), ["main.rb:3:8", "main.rb:3:28"]);
    asked["context"] = json!({"includeDeclaration": true});
    let found = client.request("textDocument/references", &asked).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:8:8", "lib/shelf.rb:19:8", "main.rb:3:8", "main.rb:3:28"]);

    let hover = client.request("textDocument/hover", &at(&project, "lib/shelf.rb", 8, 9)).unwrap();
    assert_eq!(
        hover["contents"],
        json!({"kind": "markdown", "value": "```ruby\ndef put(book)\n```\n\nPuts one there."})
    );
    assert_eq!(client.request("textDocument/hover", &at(&project, "main.rb", 1, 0)), Ok(Value::Null));

    let document = json!({"textDocument": {"uri": project.uri("lib/shelf.rb")}});
    let outline = client.request("textDocument/documentSymbol", &document).unwrap();
    assert_eq!((&outline[0]["name"], &outline[0]["children"][0]["name"]), (&json!("Library"), &json!("Shelf")));
    assert_eq!(outline[0]["children"][0]["children"].as_array().map(Vec::len), Some(3));
    let found = client.request("workspace/symbol", &json!({"query": "deepsh"})).unwrap();
    assert_eq!((&found[0]["name"], &found[0]["containerName"]), (&json!("DeepShelf"), &json!("Library")));

    let found = client.request("textDocument/implementation", &at(&project, "lib/shelf.rb", 2, 10)).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:18:8"]);
    let found = client.request("textDocument/implementation", &at(&project, "lib/shelf.rb", 8, 9)).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:19:8"]);

    let items = client.request("textDocument/prepareCallHierarchy", &at(&project, "main.rb", 2, 5)).unwrap();
    assert_eq!(items[0]["name"], "fill");
    let outgoing = client.request("callHierarchy/outgoingCalls", &json!({"item": items[0]})).unwrap();
    assert_eq!(
        (&outgoing[0]["to"]["name"], outgoing[0]["fromRanges"].as_array().map(Vec::len)),
        (&json!("put"), Some(2))
    );
    let incoming = client.request("callHierarchy/incomingCalls", &json!({"item": outgoing[0]["to"]})).unwrap();
    assert_eq!((&incoming[0]["from"]["name"], incoming.as_array().map(Vec::len)), (&json!("fill"), Some(1)));
    assert!(client.leave().success());
}

#[test]
fn positions_may_be_negotiated_in_bytes() {
    let project = Project::new();
    let mut client = Client::start(&project.root, &project.indexes(), &["utf-8", "utf-16"]);
    assert_eq!(client.capabilities["positionEncoding"], "utf-8");
    // Two letters of two bytes each precede it on the line.
    let mut asked = at(&project, "main.rb", 3, 31);
    asked["context"] = json!({"includeDeclaration": false});
    let found = client.request("textDocument/references", &asked).unwrap();
    assert_eq!(places(&project, &found), ["main.rb:3:8", "main.rb:3:30"]);
}

#[test]
fn open_documents_hide_their_files() {
    let project = Project::new();
    let mut client = start(&project);
    let uri = project.uri("main.rb");
    let text = "def gone(x)\nend\n\ngone(1)\n";
    let document = json!({"uri": uri, "languageId": "ruby", "version": 1, "text": text});
    client.notify("textDocument/didOpen", &json!({"textDocument": document}));
    let found = client.request("textDocument/definition", &at(&project, "main.rb", 3, 1)).unwrap();
    assert_eq!(places(&project, &found), ["main.rb:0:4"]);
    let one = |line: u32, from: u32, to: u32, text: &str| json!({"range": {"start": {"line": line, "character": from}, "end": {"line": line, "character": to}}, "text": text});
    let changes = json!([one(0, 4, 8, "größe"), one(3, 0, 4, "größe"), one(2, 0, 0, "# new\n")]);
    let document = json!({"uri": uri, "version": 2});
    client.notify("textDocument/didChange", &json!({"textDocument": document, "contentChanges": changes}));
    let found = client.request("textDocument/definition", &at(&project, "main.rb", 4, 4)).unwrap();
    assert_eq!(places(&project, &found), ["main.rb:0:4"]);
    let found = client.request("workspace/symbol", &json!({"query": "fill"})).unwrap();
    assert_eq!(found, json!([]), "what is on disk doesn't show through");
    let whole = json!([{"text": "def other\nend\n"}]);
    client.notify(
        "textDocument/didChange",
        &json!({"textDocument": {"uri": uri, "version": 3}, "contentChanges": whole}),
    );
    let found = client.request("workspace/symbol", &json!({"query": "other"})).unwrap();
    assert_eq!(found[0]["name"], "other");
    client.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri}}));
    let found = client.request("workspace/symbol", &json!({"query": "fill"})).unwrap();
    assert_eq!(found[0]["name"], "fill");
}

#[test]
fn reported_changes_on_disk_are_seen() {
    let project = Project::new();
    let mut client = start(&project);
    let symbols = |client: &mut Client, query: &str| {
        client.request("workspace/symbol", &json!({"query": query})).unwrap().as_array().map(Vec::len)
    };
    assert_eq!(symbols(&mut client, "Shelf"), Some(2));
    let notify = |client: &mut Client, path: &str, kind: u8| {
        let changes = json!([{"uri": project.uri(path), "type": kind}]);
        client.notify("workspace/didChangeWatchedFiles", &json!({"changes": changes}));
    };
    project.write("lib/more.rb", "class WideShelf\nend\n");
    notify(&mut client, "lib/more.rb", 1);
    assert_eq!(symbols(&mut client, "Shelf"), Some(3));
    project.write("lib/more.rb", "class Table\nend\n");
    notify(&mut client, "lib/more.rb", 2);
    assert_eq!((symbols(&mut client, "Shelf"), symbols(&mut client, "Table")), (Some(2), Some(1)));
    fs::remove_dir_all(project.path("lib")).unwrap();
    notify(&mut client, "lib", 3);
    assert_eq!((symbols(&mut client, "Shelf"), symbols(&mut client, "Table")), (Some(0), Some(0)));
    assert!(!project.path(".codeyard").exists());
}

#[test]
fn indexing_reports_progress_and_the_index_is_kept() {
    let project = Project::new();
    let mut client = start(&project);
    // An answer may overtake an earlier notification; the answer to a later request doesn't.
    for _ in 0..2 {
        assert!(client.request("workspace/symbol", &json!({"query": "Shelf"})).is_ok());
    }
    let kinds: Vec<&Value> = client
        .received
        .iter()
        .filter(|one| one["method"] == "$/progress")
        .map(|one| &one["params"]["value"]["kind"])
        .collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&&json!("begin")), Some(&&json!("end"))), "{:?}", client.received);
    let watches = client.received.iter().any(|one| one["method"] == "client/registerCapability");
    assert!(watches, "{:?}", client.received);
    assert!(client.leave().success());
    let mut again = start(&project);
    let found = again.request("textDocument/definition", &at(&project, "main.rb", 6, 15)).unwrap();
    assert_eq!(places(&project, &found), ["lib/shelf.rb:2:8"]);
}

#[test]
fn cancelled_and_invalid_requests_end_as_the_protocol_requires() {
    let project = Project::new();
    for number in 0..300 {
        project.write(&format!("many/f{number}.rb"), &SHELVES.replace("NUMBER", &number.to_string()));
    }
    let mut client = start(&project);
    // During indexing the first request waits and is cancelled before it starts.
    let id = client.ask("workspace/symbol", &json!({"query": "Shelf"}));
    client.notify("$/cancelRequest", &json!({"id": id}));
    if let Err(error) = client.answer(id) {
        assert_eq!(error["code"], -32800, "{error}");
    }
    assert!(client.request("workspace/symbol", &json!({"query": "Shelf"})).is_ok());
    assert_eq!(client.request("textDocument/rename", &json!({})).unwrap_err()["code"], -32601);
    assert_eq!(client.request("textDocument/hover", &json!({"x": 1})).unwrap_err()["code"], -32602);
    let outside = json!({"textDocument": {"uri": "file:///nowhere/x.rb"}, "position": {"line": 0, "character": 0}});
    assert_eq!(client.request("textDocument/hover", &outside).unwrap_err()["code"], -32602);
    let foreign = json!({"item": {"name": "x", "kind": 12, "uri": project.uri("main.rb"),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "selectionRange": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}}});
    assert_eq!(client.request("callHierarchy/incomingCalls", &foreign).unwrap_err()["code"], -32602);
    client.request("shutdown", &Value::Null).unwrap();
    assert_eq!(client.request("workspace/symbol", &json!({"query": "x"})).unwrap_err()["code"], -32600);
}

const SHELVES: &str = "class ShelfNUMBER\n  def put(x)\n    take(x)\n  end\n\n  def take(x)\n  end\nend\n";

#[test]
fn the_process_ends_with_its_pipe_and_requires_a_root() {
    let project = Project::new();
    assert!(start(&project).hang_up().success());
    let mut client = Client::spawn(&project.indexes());
    let refused = client.request("initialize", &json!({"processId": null, "rootUri": null, "capabilities": {}}));
    assert!(refused.unwrap_err()["message"].as_str().is_some_and(|why| why.contains("rootUri")));
    let early = client.request("workspace/symbol", &json!({"query": "x"})).unwrap_err();
    assert_eq!(early["code"], -32002);
}
