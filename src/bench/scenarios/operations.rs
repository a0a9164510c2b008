//! The scenario `operations`: the nine operations of the tool `lsp` with one client at new positions.
//!
//! The sides alternate with each question, and alternate in which is first. For callers and callees the bare side makes the LSP
//! requests that a client has to make: the functions at the position, then the calls of each.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::args::Scenario;
use crate::bare_server::BareServer;
use crate::codeyard_server::McpHttpClient;
use crate::pair::ServerPair;
use crate::questions::{BenchQuestion, SourcePosition, identifiers};
use crate::report::{Report, Target};
use crate::stats::CallTimes;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::methods;
use codeyard_model::operation::{Operation, OperationInput};
use codeyard_model::uri::encode_path;

/// Milliseconds that codeyard may add to the median.
const ADDED_P50_MS: f64 = 0.4;
/// Most questions for one operation.
const QUESTIONS: usize = 300;
/// Shortest word for `workspaceSymbol`, in bytes.
const SHORTEST_WORD: usize = 5;

enum OperationSubject {
    Place(SourcePosition),
    File(std::path::PathBuf),
    Name(String),
}

pub(crate) async fn operations(bench: &Bench, pair: &mut ServerPair, report: &mut Report) -> Result<(), Failure> {
    let mut client = pair.served.client_of(&pair.corpus, "agent").await?;
    // Operations on unread files come last: codeyard keeps 256 documents open, and the warm-up files must stay among them.
    let mut operations = Operation::ALL;
    operations.sort_by_key(|operation| operation.input() == OperationInput::File);
    for operation in operations {
        let subjects = subjects(pair, operation, QUESTIONS.min(bench.args.calls));
        let mut bare = CallTimes::default();
        let mut ours = CallTimes::default();
        let mut errors = 0;
        let began = Instant::now();
        for (at, about) in subjects.iter().enumerate() {
            if began.elapsed() > 2 * bench.time() {
                break;
            }
            for turn in [at % 2, (at + 1) % 2] {
                let asked = Instant::now();
                if turn == 0 {
                    ask_bare(&pair.bare, operation, about).await.map_err(Failure::new)?;
                    bare.add(asked.elapsed());
                } else {
                    let failed = ask_served(&mut client, operation, about).await.map_err(Failure::new)?;
                    ours.add(asked.elapsed());
                    errors += usize::from(failed);
                }
            }
        }
        let name = operation.as_str();
        if ours.is_empty() {
            report.left_out(format!("{name}: no positions left"));
            continue;
        }
        let theirs = bare.ms(50.0);
        let target = Target::at_most(bare.ms(50.0) + ADDED_P50_MS, format!("≤ bare + {ADDED_P50_MS} ms"));
        let notes = format!("{} calls, {errors} errors", ours.len());
        let scenario = Scenario::Operations;
        let what = format!("{name}, p50 ms");
        report.add(figure(&pair.corpus.name, scenario, what, Some(theirs), ours.ms(50.0), target, notes));
        let what = format!("{name}, p99 ms");
        report.add(figure(&pair.corpus.name, scenario, what, Some(bare.ms(99.0)), ours.ms(99.0), None, ""));
    }
    Ok(())
}

fn subjects(pair: &mut ServerPair, operation: Operation, count: usize) -> Vec<OperationSubject> {
    let place = |ask: BenchQuestion| match ask {
        BenchQuestion::Definition(at) | BenchQuestion::Hover(at) | BenchQuestion::References(at) => {
            OperationSubject::Place(at)
        }
        BenchQuestion::Symbols(path) => OperationSubject::File(path),
    };
    match operation.input() {
        OperationInput::Position => (0..count).map_while(|_| pair.pool.definition()).map(place).collect(),
        OperationInput::File => (0..count).map_while(|_| pair.pool.symbols()).map(place).collect(),
        OperationInput::Name => {
            let mut words: Vec<String> =
                pair.pool.warm.iter().flat_map(|path| identifiers(path)).map(|(_, word)| word).collect();
            words.retain(|word| word.len() >= SHORTEST_WORD);
            words.sort_unstable();
            words.dedup();
            let step = (words.len() / count.max(1)).max(1);
            words.into_iter().step_by(step).take(count).map(OperationSubject::Name).collect()
        }
    }
}

async fn ask_served(
    client: &mut McpHttpClient,
    operation: Operation,
    about: &OperationSubject,
) -> Result<bool, String> {
    let mut arguments = json!({"operation": operation.as_str()});
    match about {
        OperationSubject::Place(at) => {
            arguments["filePath"] = json!(at.path);
            arguments["line"] = json!(at.line + 1);
            arguments["character"] = json!(at.character + 1);
        }
        OperationSubject::File(path) => arguments["filePath"] = json!(path),
        OperationSubject::Name(name) => arguments["query"] = json!(name),
    }
    let body = client.call("lsp", &arguments.to_string()).await?;
    // `isError` is the first member of a result.
    Ok(!body.windows(15).any(|window| window == b"\"isError\":false"))
}

/// The call hierarchy items of a response.
#[derive(Deserialize)]
struct PreparedCalls<'a> {
    #[serde(borrow)]
    result: Option<Vec<&'a RawValue>>,
}

async fn ask_bare(bare: &BareServer, operation: Operation, about: &OperationSubject) -> Result<(), String> {
    let document = |path: &Path| json!({"uri": encode_path(path)});
    let (path, mut params) = match about {
        OperationSubject::Place(at) => {
            let position = json!({"line": at.line, "character": at.character});
            (Some(at.path.as_path()), json!({"textDocument": document(&at.path), "position": position}))
        }
        OperationSubject::File(path) => (Some(path.as_path()), json!({"textDocument": document(path)})),
        OperationSubject::Name(name) => (None, json!({"query": name})),
    };
    let (method, then) = match operation {
        Operation::GoToDefinition => (methods::DEFINITION, None),
        Operation::FindReferences => (methods::REFERENCES, None),
        Operation::Hover => (methods::HOVER, None),
        Operation::DocumentSymbol => (methods::DOCUMENT_SYMBOL, None),
        Operation::WorkspaceSymbol => (methods::WORKSPACE_SYMBOL, None),
        Operation::GoToImplementation => (methods::IMPLEMENTATION, None),
        Operation::PrepareCallHierarchy => (methods::PREPARE_CALL_HIERARCHY, None),
        Operation::IncomingCalls => (methods::PREPARE_CALL_HIERARCHY, Some(methods::INCOMING_CALLS)),
        Operation::OutgoingCalls => (methods::PREPARE_CALL_HIERARCHY, Some(methods::OUTGOING_CALLS)),
    };
    if operation == Operation::FindReferences {
        params["context"] = json!({"includeDeclaration": true});
    }
    let answer = bare.query(path, method, &params.to_string()).await?;
    let Some(then) = then else { return Ok(()) };
    let items = serde_json::from_slice::<PreparedCalls<'_>>(&answer).ok().and_then(|prepared| prepared.result);
    let asked = items.unwrap_or_default().into_iter().map(|item| {
        let params = format!(r#"{{"item":{}}}"#, item.get());
        async move { bare.query(None, then, &params).await }
    });
    futures::future::try_join_all(asked).await.map(drop)
}
