//! The product with the language server of one kind and the project of its case: asks the operations, and judges the answers.
//!
//! An answer is judged the first time that it comes. An error that says to ask again isn't one. Invariant: no operation has a second chance.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::bare::{path_of, uri_of};
use crate::breadth::beside_bare::{Answer, Question, Recorded};
use crate::breadth::case::{Case, Of, Place, Project};
use crate::breadth::phases::breadth_servers_dir;
use crate::mcp::{Failure, Mcp, pause};
use crate::question::{Ask, At};
use crate::running_server::Yard;
use crate::servers::agent::{self, Refusal};

/// Attempts while a server isn't ready, or works on the answer.
const ATTEMPTS: usize = 40;
/// Longest pause between two attempts, in milliseconds.
const MOST_PAUSE_MS: u64 = 3_000;

/// How an answer was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As the case says.
    Right,
    /// Not as the case says, and it says so itself.
    Marked(String),
    /// Not as the case says.
    Wrong(String),
    /// An error that more time doesn't mend.
    Failed(String),
}

pub(crate) struct Served {
    pub(crate) project: Project,
    pub(crate) yard: Yard,
    client: Mcp,
}

impl Served {
    /// Serves the project at `root` with the server `kind`.
    pub(crate) fn new(kind: &str, root: &Path) -> Self {
        let workspace =
            format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\nservers = {{ prefer = [{kind:?}] }}\n");
        let servers = breadth_servers_dir(kind);
        let servers = servers.to_str().expect("UTF-8");
        let yard = Yard::serve_in(&workspace, &[], &[("CODEYARD_SERVERS_DIR", servers)]);
        let client = agent::client(&yard, "w");
        Self { project: Project::new(root.into()), yard, client }
    }

    /// The references of the last `word` in `file`.
    pub(crate) fn references(&mut self, file: &str, word: &str) -> agent::Answer {
        let text = std::fs::read_to_string(self.project.root.join(file)).expect("a text");
        let (line, text) = text.lines().enumerate().filter(|(_, text)| text.contains(word)).last().expect("the word");
        let character = text.rfind(word).expect("the word") + 1;
        let arguments =
            json!({"operation": "findReferences", "filePath": file, "line": line + 1, "character": character});
        self.attempt(&arguments).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    /// Asks an operation with the tool `lsp` and with its own tool, and judges both answers.
    pub(crate) fn judge(&mut self, case: &Case, operation: &str) -> Verdict {
        let by_tool = self.by_own_tool(case, operation);
        match (self.by_lsp(case, operation), by_tool) {
            (Some(Verdict::Right), Some(own)) => own,
            (Some(other), _) => other,
            (None, own) => own.unwrap_or_else(|| Verdict::Failed(format!("no tool for {operation}"))),
        }
    }

    /// The answer of an operation that the server doesn't have: whether an error says so.
    pub(crate) fn is_refused(&mut self, operation: &str, file: &str, line: usize, column: usize) -> Result<(), String> {
        let Some(name) = lsp_name(operation) else { return Ok(()) };
        let arguments =
            json!({"operation": name, "filePath": file, "line": line + 1, "character": column + 1, "query": "x"});
        match self.attempt(&arguments) {
            Err(refusal) if refusal.error["reason"] == "unsupported" => Ok(()),
            Err(refusal) => Err(format!("{}", refusal.error)),
            Ok(answer) => Err(format!("it answers: {}", short(&answer.output))),
        }
    }

    /// One answer of the tool `lsp`, after as many attempts as its errors advise.
    fn attempt(&mut self, arguments: &Value) -> Result<agent::Answer, Refusal> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match agent::attempt(&mut self.client, arguments) {
                Err(refusal) if refusal.error["retryAfterMs"].is_u64() => {
                    pause(refusal.error["retryAfterMs"].as_u64().unwrap_or_default().min(MOST_PAUSE_MS));
                    last = Some(refusal);
                }
                outcome => return outcome,
            }
        }
        Err(last.expect("an attempt"))
    }

    /// The question of an operation in the project as it is; `None`: the case doesn't ask it.
    fn question(&self, case: &Case, operation: &str) -> Option<Question> {
        let at = case.at(operation).map(|at| {
            let (file, line, character) = self.project.find(at);
            At { path: self.project.root.join(file), line, character, word: String::new() }
        });
        let of = |of: &Of| self.project.root.join(self.project.name(&of.of));
        Some(match (operation, at) {
            ("definition", Some(at)) => Question::Tool(Ask::Definition(at)),
            ("references", Some(at)) => Question::Tool(Ask::References(at, true)),
            ("hover", Some(at)) => Question::Tool(Ask::Hover(at)),
            ("document_symbols", _) => Question::Tool(Ask::DocumentSymbols(of(case.document_symbols.as_ref()?))),
            ("workspace_symbols", _) => {
                Question::Tool(Ask::WorkspaceSymbols(case.workspace_symbols.as_ref()?.query.clone()))
            }
            ("diagnostics", _) => Question::Tool(Ask::Diagnostics(of(case.diagnostics.as_ref()?))),
            ("implementation", Some(at)) => Question::Implementations(at),
            ("incoming_calls", Some(at)) => Question::Calls("callHierarchy/incomingCalls", at),
            ("outgoing_calls", Some(at)) => Question::Calls("callHierarchy/outgoingCalls", at),
            _ => return None,
        })
    }

    /// An operation and its answer, to be compared with the bare server's. `None`: there is no answer to compare.
    pub(crate) fn record(&mut self, case: &Case, operation: &'static str) -> Option<Recorded> {
        let question = self.question(case, operation)?;
        let answer = match &question {
            Question::Tool(ask) => Answer::Json(self.call_for(ask).ok()?),
            Question::Implementations(at) | Question::Calls(_, at) => {
                let file = at.path.strip_prefix(&self.project.root).ok()?;
                let arguments = json!({"operation": lsp_name(operation)?, "filePath": file, "line": at.line + 1,
                    "character": at.character + 1});
                let page = self.attempt(&arguments).ok().filter(|page| page.next().is_none())?;
                Answer::Places(self.found(page.result()))
            }
        };
        Some(Recorded { operation, question, answer })
    }

    fn by_lsp(&mut self, case: &Case, operation: &str) -> Option<Verdict> {
        let name = lsp_name(operation)?;
        let arguments = match operation {
            "document_symbols" => {
                json!({"operation": name, "filePath": self.project.name(&case.document_symbols.as_ref()?.of)})
            }
            "workspace_symbols" => json!({"operation": name, "query": case.workspace_symbols.as_ref()?.query}),
            _ => {
                let (file, line, column) = self.project.find(case.at(operation)?);
                json!({"operation": name, "filePath": file, "line": line + 1, "character": column + 1})
            }
        };
        let mut page = match self.attempt(&arguments) {
            Ok(page) => page,
            Err(refusal) => return Some(Verdict::Failed(format!("{name}: {}", short(&refusal.output)))),
        };
        let mark = page.metadata["partial"].as_array().is_some_and(|partial| !partial.is_empty());
        let mark = mark || page.metadata["passedOver"].as_array().is_some_and(|passed_over| !passed_over.is_empty());
        let mut result = page.result().clone();
        while let Some(cursor) = page.next().map(str::to_owned) {
            let mut further = arguments.clone();
            further["cursor"] = json!(cursor);
            page = self.attempt(&further).unwrap_or_else(|refusal| panic!("{refusal:?}"));
            if let (Some(all), Some(more)) = (result.as_array_mut(), page.result().as_array()) {
                all.extend(more.iter().cloned());
            }
        }
        Some(match self.compare(case, operation, &result) {
            Ok(()) => Verdict::Right,
            Err(why) if mark => Verdict::Marked(format!("{name}: {why}")),
            Err(why) => Verdict::Wrong(format!("{name}: {why}")),
        })
    }

    fn by_own_tool(&mut self, case: &Case, operation: &str) -> Option<Verdict> {
        let Question::Tool(ask) = self.question(case, operation)? else { return None };
        let tool = ask.to_call().0;
        let answer = match self.call_for(&ask) {
            Ok(answer) => answer,
            Err(failure) => return Some(Verdict::Failed(format!("{tool}: {} {}", failure.code, failure.details))),
        };
        let items = ["locations", "items", "symbols", "diagnostics"].iter().map(|name| &answer[*name]);
        let list = items.into_iter().find(|list| list.is_array()).unwrap_or(&answer);
        let summary = answer["summary"].as_str().unwrap_or_default();
        Some(match self.compare(case, operation, list) {
            Ok(()) => Verdict::Right,
            Err(why) if is_marked(summary) => Verdict::Marked(format!("{tool}: {why}")),
            Err(why) => Verdict::Wrong(format!("{tool}: {why}")),
        })
    }

    /// The answer to a question, which fits one page.
    fn call_for(&mut self, ask: &Ask) -> Result<Value, Failure> {
        let (tool, mut arguments) = ask.to_call();
        if ask.is_paged() {
            arguments["pageSize"] = json!(200);
        }
        self.call(tool, &arguments)
    }

    /// One answer of a tool of `lsp-v1`, after as many attempts as its errors advise.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.client.call(tool, arguments) {
                Err(failure) if failure.details["retryAfterMs"].is_u64() => {
                    pause(failure.details["retryAfterMs"].as_u64().unwrap_or_default().min(MOST_PAUSE_MS));
                    last = Some(failure);
                }
                outcome => return outcome,
            }
        }
        Err(last.expect("an attempt"))
    }

    /// The messages of all diagnostics of the workspace in a file.
    pub(crate) fn workspace_messages(&mut self, file: &str) -> Result<Vec<String>, Failure> {
        let uri = uri_of(&self.project.root.join(self.project.name(file)));
        let answer = self.call("vscode.lsp.diagnostics.workspace", &json!({}))?;
        let files = answer["items"].as_array().cloned().unwrap_or_default().into_iter();
        let of_file = files.filter(|file| file["uri"] == json!(uri));
        Ok(of_file.flat_map(|file| messages(&file["diagnostics"])).collect())
    }

    /// Compares an answer with the case. `Err`: what is different.
    fn compare(&self, case: &Case, operation: &str, result: &Value) -> Result<(), String> {
        let project = &self.project;
        match operation {
            "hover" => {
                let wanted = &case.hover.as_ref().expect("a hover").has;
                let text = strings(result).join(" ");
                has(text.contains(wanted), || format!("no `{wanted}` in {}", short(&text)))
            }
            "document_symbols" => {
                let names = names(result);
                let wanted = &case.document_symbols.as_ref().expect("symbols").has;
                let missing: Vec<&String> = wanted.iter().filter(|name| !names.contains(*name)).collect();
                has(missing.is_empty(), || format!("{missing:?} missing in {names:?}"))
            }
            "diagnostics" => {
                let found = messages(result);
                let wanted = &case.diagnostics.as_ref().expect("diagnostics").has;
                let missing = wanted.iter().filter(|text| !found.iter().any(|message| message.contains(*text)));
                let missing: Vec<&String> = missing.collect();
                has(missing.is_empty(), || format!("{missing:?} missing in {}", short(&format!("{found:?}"))))
            }
            "workspace_symbols" => {
                let wanted = project.places(&case.workspace_symbols.as_ref().expect("a search").has);
                let found = self.found(result);
                has(wanted.is_subset(&found), || difference(&wanted, &found))
            }
            "prepare" => {
                let (file, line, _) = project.find(case.at("prepare").expect("a place"));
                let found = self.found(result);
                has(!found.is_empty(), || format!("nothing at {file}:{}", line + 1))
            }
            _ => {
                let mut wanted = project.places(match operation {
                    "definition" => &case.definition.as_ref().expect("a definition").is,
                    "references" => &case.references.as_ref().expect("references").are,
                    "implementation" => &case.implementation.as_ref().expect("implementations").are,
                    "incoming_calls" => &case.incoming_calls.as_ref().expect("calls").are,
                    _ => &case.outgoing_calls.as_ref().expect("calls").are,
                });
                let mut found = self.found(result);
                if operation == "references" {
                    wanted.extend(project.places(&project.added));
                }
                if operation.ends_with("_calls") {
                    // The case doesn't say which callers the new file has.
                    let new = case.new_file.as_ref().map(|new| new.path.as_str());
                    found.retain(|(file, _)| Some(file.as_str()) != new);
                }
                has(wanted == found, || difference(&wanted, &found))
            }
        }
    }

    /// The lines of an answer, those outside the root left out.
    fn found(&self, result: &Value) -> BTreeSet<Place> {
        places(result, &self.project.root)
    }
}

/// The lines of locations, calls and symbols, those outside the root left out.
pub(crate) fn places(result: &Value, root: &Path) -> BTreeSet<Place> {
    let place = |entry: &Value| {
        let target = ["from", "to", "location"].iter().map(|name| &entry[*name]).find(|target| target.is_object());
        let target = target.unwrap_or(entry);
        let range = if target["selectionRange"].is_object() { &target["selectionRange"] } else { &target["range"] };
        let path = path_of(target["uri"].as_str()?)?;
        let file = path.strip_prefix(root).ok()?.to_str()?.to_owned();
        Some((file, usize::try_from(range["start"]["line"].as_u64()?).ok()?))
    };
    let one = [result.clone()];
    let entries = result.as_array().map_or(one.as_slice(), Vec::as_slice);
    entries.iter().filter_map(place).collect()
}

/// The name of an operation of the tool `lsp`.
fn lsp_name(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "definition" => "goToDefinition",
        "references" => "findReferences",
        "hover" => "hover",
        "document_symbols" => "documentSymbol",
        "workspace_symbols" => "workspaceSymbol",
        "implementation" => "goToImplementation",
        "prepare" => "prepareCallHierarchy",
        "incoming_calls" => "incomingCalls",
        "outgoing_calls" => "outgoingCalls",
        _ => return None,
    })
}

/// Whether a summary says that the answer may be incomplete.
fn is_marked(summary: &str) -> bool {
    ["known to", "not included", "may be", "incomplete", "by name"].iter().any(|mark| summary.contains(mark))
}

fn has(is_right: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(why()) }
}

pub(crate) fn difference(wanted: &BTreeSet<Place>, found: &BTreeSet<Place>) -> String {
    let shown = |places: BTreeSet<&Place>| {
        let shown: Vec<String> = places.into_iter().map(|(file, line)| format!("{file}:{}", line + 1)).collect();
        if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
    };
    let missing = wanted.difference(found).collect();
    let extra = found.difference(wanted).collect();
    format!("{} missing, {} more", shown(missing), shown(extra))
}

/// Names of symbols of all depths.
fn names(result: &Value) -> Vec<String> {
    let entries = result.as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .flat_map(|entry| {
            let own = entry["name"].as_str().unwrap_or_default().to_owned();
            std::iter::once(own).chain(names(&entry["children"]))
        })
        .collect()
}

fn messages(diagnostics: &Value) -> Vec<String> {
    let entries = diagnostics.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry["message"].as_str()).map(str::to_owned).collect()
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => vec![],
    }
}

/// At most 600 characters.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(600).collect::<String>().replace('\n', " | ")
}
