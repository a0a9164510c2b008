//! Encodes correct answers as a fake server sends them: in random order, with duplicates, and with locations outside
//! the roots or in missing files.

use codeyard_model::uri::encode_path;
use serde_json::{Value, json};

use crate::sim::language::{self, Finding, Function, Tree, name_at};
use crate::sim::server::Server;
use crate::sim::stage::Stage;

/// The result of a request.
pub(crate) fn answer(server: &Server, stage: &mut Stage, tree: &Tree, method: &str, params: &Value) -> Value {
    let site = stage.site(server.workspace);
    let name = params["textDocument"]["uri"].as_str().and_then(|uri| site.name_of(uri)).unwrap_or_default();
    let line = params["position"]["line"].as_u64().unwrap_or(0) as usize;
    let word = tree.get(&name).and_then(|text| name_at(text, line)).unwrap_or_default().to_owned();
    let project = &server.project;
    match method {
        "textDocument/definition" => locations(server, stage, project.places(tree, &word, true, false)),
        "textDocument/references" => {
            let declaration = params["context"]["includeDeclaration"] == true;
            locations(server, stage, project.places(tree, &word, declaration, true))
        }
        "textDocument/implementation" => locations(server, stage, project.implementations(tree, &word)),
        "textDocument/prepareCallHierarchy" if word.is_empty() => json!(null),
        "textDocument/prepareCallHierarchy" => {
            let all = project.functions(tree, &word).iter().map(|one| function(server, stage, one)).collect();
            shuffled(stage, all)
        }
        "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls" => {
            let of = own_function(server, stage, &params["item"]);
            let is_there = project.functions(tree, &of.2).contains(&of);
            let (calls, member) = match method {
                _ if !is_there => (language::Calls::new(), "from"),
                "callHierarchy/incomingCalls" => (project.callers(tree, &of.2), "from"),
                _ => (project.callees(tree, &of), "to"),
            };
            let result = calls.into_iter().map(|(other, lines)| {
                let places = lines.into_iter().map(range).collect();
                json!({member: function(server, stage, &other), "fromRanges": shuffled(stage, places)})
            });
            let result = result.collect();
            shuffled(stage, result)
        }
        "textDocument/hover" if word.is_empty() => json!(null),
        "textDocument/hover" => {
            json!({"contents": {"kind": "plaintext", "value": project.hover(tree, &name, &word)}})
        }
        "textDocument/documentSymbol" => {
            let text = tree.get(&name).cloned().unwrap_or_default();
            let own = language::words(&text).filter(|(_, verb, _)| *verb == "def");
            let all = own.map(|(line, _, name)| {
                json!({"name": name, "kind": 12, "range": range(line), "selectionRange": range(line)})
            });
            shuffled(stage, all.collect())
        }
        "workspace/symbol" => {
            let found = project.symbols(tree, params["query"].as_str().unwrap_or_default());
            let site = stage.site(server.workspace);
            let all = found.into_iter().map(|(path, line, name)| {
                json!({"name": name, "kind": 12, "location": {"uri": site.uri(&path), "range": range(line)}})
            });
            let all = all.collect();
            shuffled(stage, all)
        }
        "textDocument/diagnostic" => json!({"kind": "full", "items": findings(server, stage, tree, &name)}),
        "workspace/diagnostic" => {
            let own: Vec<&String> = tree.keys().filter(|path| project.holds(path)).collect();
            let reports: Vec<Value> = own
                .into_iter()
                .map(|path| {
                    let uri = stage.site(server.workspace).uri(path);
                    json!({"kind": "full", "uri": uri, "version": null, "items": findings(server, stage, tree, path)})
                })
                .collect();
            json!({"items": shuffled(stage, reports)})
        }
        _ => json!(null),
    }
}

/// Diagnostics of a document as the server sends them.
pub(crate) fn findings(server: &Server, stage: &mut Stage, tree: &Tree, name: &str) -> Value {
    let found = if server.kind == "lint" { language::lint(tree, name) } else { server.project.findings(tree, name) };
    let all = found.iter().map(written).collect();
    shuffled(stage, all)
}

/// A diagnostic that is never correct.
pub(crate) fn stale_finding() -> Value {
    written(&Finding { line: 0, severity: 1, source: "check", message: "stale".into() })
}

fn written(finding: &Finding) -> Value {
    json!({
        "range": range(finding.line), "severity": finding.severity, "source": finding.source, "message": finding.message
    })
}

fn locations(server: &Server, stage: &mut Stage, places: Vec<(String, usize)>) -> Value {
    let outside = stage.dice.chance(8);
    let missing = stage.dice.chance(8);
    let site = stage.site(server.workspace);
    let mut all: Vec<Value> =
        places.iter().map(|(path, line)| json!({"uri": site.uri(path), "range": range(*line)})).collect();
    if missing {
        all.push(json!({"uri": site.uri("nowhere.fake"), "range": range(0)}));
    }
    if outside {
        let elsewhere = site.root.parent().unwrap().join("elsewhere/secret.fake");
        all.push(json!({"uri": encode_path(&elsewhere), "range": range(0)}));
        all.push(json!({"uri": site.uri("leak.fake"), "range": range(0)}));
        stage.cover("answer: names a path outside");
    }
    shuffled(stage, all)
}

/// A prepared item as the server sends it, with a mark of its incarnation.
fn function(server: &Server, stage: &mut Stage, function: &Function) -> Value {
    let (path, line, name) = function;
    let uri = stage.site(server.workspace).uri(path);
    json!({
        "name": name, "kind": 12, "uri": uri, "range": range(*line), "selectionRange": range(*line),
        "data": {"life": server.number, "name": name}
    })
}

/// The prepared item of a request, which must come from the same incarnation.
fn own_function(server: &Server, stage: &mut Stage, item: &Value) -> Function {
    if item["data"]["life"] != server.number {
        stage.wrong(format!("{} received a prepared item of another server: {item}", server.name()));
    }
    let path = stage.site(server.workspace).name_of(item["uri"].as_str().unwrap_or_default());
    let line = item["range"]["start"]["line"].as_u64().unwrap_or_default() as usize;
    (path.unwrap_or_default(), line, item["data"]["name"].as_str().unwrap_or_default().to_owned())
}

/// Shuffles a list and duplicates some entries.
fn shuffled(stage: &mut Stage, mut all: Vec<Value>) -> Value {
    if !all.is_empty() && stage.dice.chance(30) {
        let twice = stage.dice.pick(&all).clone();
        all.push(twice);
    }
    stage.dice.shuffle(&mut all);
    Value::Array(all)
}

fn range(line: usize) -> Value {
    json!({"start": {"line": line, "character": 0}, "end": {"line": line, "character": 3}})
}
