//! The nine operations of the tool `lsp`, one client, fresh positions: what codeyard adds to the calls that each takes.
//!
//! Question by question the sides take turns, and take turns in who begins. Callers and callees cost the bare side what a client
//! has to ask: the functions at the position, then the calls of each.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::args::Scenario;
use super::bare::Bare;
use super::pair::Pair;
use super::questions::{Ask, At, identifiers};
use super::report::{Report, Target};
use super::served::Client;
use super::stats::Times;
use super::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::methods;
use codeyard_model::operation::{Needs, Operation};
use codeyard_model::uri::encode_path;

/// What codeyard may add to the median, in milliseconds.
const ADDED_P50_MS: f64 = 0.4;
/// Most questions of one operation.
const QUESTIONS: usize = 300;
/// Shortest word that is looked for in the workspace.
const SHORTEST_WORD: usize = 5;

/// What an operation is asked about.
enum About {
    Place(At),
    File(std::path::PathBuf),
    Name(String),
}

/// See the module.
pub(crate) async fn operations(bench: &Bench, pair: &mut Pair, report: &mut Report) -> Result<(), Failure> {
    let mut client = pair.served.client_of(&pair.corpus, "agent").await?;
    // Files that weren't read before come last: codeyard keeps 256 documents open, and the warm ones are to be among them.
    let mut operations = Operation::ALL;
    operations.sort_by_key(|operation| operation.needs() == Needs::File);
    for operation in operations {
        let subjects = subjects(pair, operation, QUESTIONS.min(bench.args.calls));
        let (mut bare, mut ours, mut errors) = (Times::default(), Times::default(), 0);
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
            report.left_out(format!("{name}: every position has been asked"));
            continue;
        }
        let (theirs, target) =
            (bare.ms(50.0), Target::at_most(bare.ms(50.0) + ADDED_P50_MS, format!("≤ bare + {ADDED_P50_MS} ms")));
        let notes = format!("{} calls, {errors} errors", ours.len());
        let scenario = Scenario::Operations;
        report.add(figure(
            &pair.corpus,
            scenario,
            format!("{name}, p50 ms"),
            (Some(theirs), ours.ms(50.0)),
            target,
            notes,
        ));
        let most = (Some(bare.ms(99.0)), ours.ms(99.0));
        report.add(figure(&pair.corpus, scenario, format!("{name}, p99 ms"), most, None, ""));
    }
    Ok(())
}

fn subjects(pair: &mut Pair, operation: Operation, count: usize) -> Vec<About> {
    let place = |ask: Ask| match ask {
        Ask::Definition(at) | Ask::Hover(at) | Ask::References(at) => About::Place(at),
        Ask::Symbols(path) => About::File(path),
    };
    match operation.needs() {
        Needs::Position => (0..count).map_while(|_| pair.deck.definition()).map(place).collect(),
        Needs::File => (0..count).map_while(|_| pair.deck.symbols()).map(place).collect(),
        Needs::Name => {
            let mut words: Vec<String> =
                pair.deck.warm.iter().flat_map(|path| identifiers(path)).map(|(_, word)| word).collect();
            words.retain(|word| word.len() >= SHORTEST_WORD);
            words.sort_unstable();
            words.dedup();
            let step = (words.len() / count.max(1)).max(1);
            words.into_iter().step_by(step).take(count).map(About::Name).collect()
        }
    }
}

async fn ask_served(client: &mut Client, operation: Operation, about: &About) -> Result<bool, String> {
    let mut arguments = json!({"operation": operation.as_str()});
    match about {
        About::Place(at) => {
            arguments["filePath"] = json!(at.path);
            arguments["line"] = json!(at.line + 1);
            arguments["character"] = json!(at.character + 1);
        }
        About::File(path) => arguments["filePath"] = json!(path),
        About::Name(name) => arguments["query"] = json!(name),
    }
    let body = client.call("lsp", &arguments.to_string()).await?;
    // The member comes first in a result.
    Ok(!body.windows(15).any(|window| window == b"\"isError\":false"))
}

/// A call hierarchy's functions in a response.
#[derive(Deserialize)]
struct Prepared<'a> {
    #[serde(borrow)]
    result: Option<Vec<&'a RawValue>>,
}

async fn ask_bare(bare: &Bare, operation: Operation, about: &About) -> Result<(), String> {
    let document = |path: &Path| json!({"uri": encode_path(path)});
    let (path, mut params) = match about {
        About::Place(at) => {
            let position = json!({"line": at.line, "character": at.character});
            (Some(at.path.as_path()), json!({"textDocument": document(&at.path), "position": position}))
        }
        About::File(path) => (Some(path.as_path()), json!({"textDocument": document(path)})),
        About::Name(name) => (None, json!({"query": name})),
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
    let items = serde_json::from_slice::<Prepared<'_>>(&answer).ok().and_then(|prepared| prepared.result);
    let asked = items.unwrap_or_default().into_iter().map(|item| {
        let params = format!(r#"{{"item":{}}}"#, item.get());
        async move { bare.query(None, then, &params).await }
    });
    futures::future::try_join_all(asked).await.map(drop)
}
