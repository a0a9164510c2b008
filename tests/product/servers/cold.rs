//! Cold start: queried at once and repeatedly, a server that isn't ready gives no answer and never a wrong one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::mcp::{Failure, Mcp, pause};
use crate::question::{Ask, Counts, draw, identifiers};
use crate::running_server::Yard;
use crate::servers::agent;
use crate::servers::corpus::{C, Corpus, Language, OLD_TYPESCRIPT, PYTHON, TYPESCRIPT, difference};
use crate::servers::operations::place;
use crate::servers::outcome::{Op, expected};

/// Number of answers to await per query.
const ANSWERS: usize = 3;

/// Queries about one file and, where the answer is deterministic, about the workspace.
fn asks(corpus: &Corpus, file: &str, search: bool) -> Vec<Ask> {
    let path = corpus.root.join(file);
    let counts = Counts { places: 40, references: 0, files: 0, searches: 3 };
    let mut asks = draw(&corpus.root, corpus.language.endings, counts, 7);
    asks.retain(|ask| search && ask.path().is_none());
    let all = identifiers(&path);
    let step = all.len() / 5;
    for at in all.iter().skip(step / 2).step_by(step) {
        asks.push(Ask::Definition(at.clone()));
        asks.push(Ask::References(at.clone(), true));
    }
    asks
}

/// One attempt, including later pages of the answer.
fn attempt(client: &mut Mcp, ask: &Ask) -> Result<Value, Failure> {
    let (tool, mut arguments) = ask.to_call();
    if !ask.is_paged() {
        let mut answer = client.call(tool, &arguments)?;
        answer.as_object_mut().expect("an object").remove("summary");
        return Ok(answer);
    }
    let mut items = Vec::new();
    loop {
        arguments["pageSize"] = json!(200);
        let mut page = client.call(tool, &arguments)?;
        items.append(page["items"].as_array_mut().expect("items"));
        arguments["cursor"] = page["nextCursor"].take();
        if arguments["cursor"].is_null() {
            return Ok(json!({"items": items}));
        }
    }
}

/// Repeats the query until there were [`ANSWERS`]; returns the number of refusals.
fn insist(client: &mut Mcp, ask: &Ask, right: &Value) -> usize {
    let mut answers = 0;
    let mut refusals = 0;
    while answers < ANSWERS {
        match attempt(client, ask) {
            Ok(answer) => {
                let report = || difference(right, &Ok(answer.clone()));
                assert!(answer == *right, "{ask:?} after {refusals} refusals, as answer {answers}:\n{}", report());
                answers += 1;
            }
            Err(failure) if failure.code == "CURSOR_STALE" => {}
            Err(failure) => {
                assert!(failure.is_timeout(), "{ask:?}: {failure:?}");
                let phase = failure.details["phase"].as_str().unwrap_or_default().to_owned();
                assert!(["starting", "indexing", "answering"].contains(&phase.as_str()), "{failure:?}");
                refusals += 1;
                assert!(refusals < 60, "{ask:?}: never ready; {failure:?}");
                pause(failure.details["retryAfterMs"].as_u64().expect("a hint").min(100));
            }
        }
    }
    refusals
}

fn honest(corpus: &Corpus, file: &str, search: bool) {
    let asks = asks(corpus, file, search);
    let mut expected = corpus.bare(&asks);
    let right: Vec<Value> = asks.iter().map(|ask| expected.answer(ask)).collect();
    drop(expected);
    let yard = Yard::serve(&corpus.workspace("cold"));
    let refusals: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = asks
            .iter()
            .zip(&right)
            .map(|(ask, right)| {
                let mut client = yard.client("cold");
                scope.spawn(move || insist(&mut client, ask, right))
            })
            .collect();
        threads.into_iter().map(|one| one.join().expect("every answer is the final one")).collect()
    });
    println!(
        "{}: {} questions at once, refusals before the first answers: {refusals:?}",
        corpus.language.kind,
        asks.len()
    );
    corpus.assert_untouched();
    yard.stop();
}

/// Same for the tool `lsp`: each operation directly after a cold start, at a position with an answer.
fn honest_operations(language: Language, file: &str, words: [&str; 3]) {
    let corpus = Corpus::harbour(language);
    let mut ops = vec![Op::Name(words[0].into()), Op::File(corpus.root.join(file))];
    ops.extend(words.iter().flat_map(|word| Op::all_at(&place(&corpus, file, word, 0)).collect::<Vec<_>>()));
    let asks: Vec<Ask> = vec![Ask::DocumentSymbols(corpus.root.join(file))];
    let mut servers = corpus.bare(&asks).into_servers();
    let right: Vec<Value> = ops.iter().map(|op| expected(&mut servers, op)).collect();
    drop(servers);
    let nonempty = ops.iter().zip(&right).filter(|(_, right)| !right.is_null() && **right != json!([]));
    let report: BTreeSet<&str> = nonempty.map(|(op, _)| op.name()).collect();
    assert_eq!(report.len(), 9, "each operation has something to say: {report:?}");
    let yard = Yard::serve(&corpus.workspace("cold"));
    let refusals: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = ops
            .iter()
            .zip(&right)
            .map(|(op, right)| {
                let mut client = agent::client(&yard, "cold");
                scope.spawn(move || insist_on_operation(&mut client, op, right))
            })
            .collect();
        threads.into_iter().map(|one| one.join().expect("every answer is the final one")).collect()
    });
    println!("{}: {} operations at once, refusals before the first answers: {refusals:?}", language.kind, ops.len());
    yard.stop();
}

/// Whether the rows are the right ones in another order: a busy server has not said in time where the symbol is declared, which orders them.
fn is_reordered(found: &Value, right: &Value) -> bool {
    let rows =
        |list: &Value| -> BTreeSet<String> { list.as_array().into_iter().flatten().map(Value::to_string).collect() };
    found != right && found.is_array() && rows(found) == rows(right)
}

/// As [`insist`]. An answer that reports an omitted server isn't final, nor is one whose order isn't.
fn insist_on_operation(client: &mut Mcp, op: &Op, right: &Value) -> usize {
    let mut answers = 0;
    let mut refusals = 0;
    let mut arguments = op.arguments();
    // Every answer is one page.
    arguments["pageChars"] = json!(codeyard_model::limits::MAX_PAGE_CHARS);
    while answers < ANSWERS {
        match agent::attempt(client, &arguments) {
            Ok(answer) if agent::is_early(&answer) || is_reordered(answer.result(), right) => {
                refusals += 1;
                pause(100);
            }
            Ok(answer) => {
                assert_eq!(answer.result(), right, "{op:?} after {refusals} refusals, as answer {answers}");
                answers += 1;
            }
            Err(refusal) => {
                // On a busy machine a server may have more than it can answer.
                let reason = refusal.error["reason"].as_str();
                assert!(matches!(reason, Some("timeout" | "overloaded")), "{op:?}: {refusal:?}");
                assert!(refusal.output.contains("Ask again in "), "{refusal:?}");
                assert!(!refusal.output.contains("No results"), "{refusal:?}");
                refusals += 1;
                pause(refusal.error["retryAfterMs"].as_u64().expect("a hint").min(100));
            }
        }
        assert!(refusals < 60, "{op:?}: never ready");
    }
    refusals
}

#[test]
fn operations_by_ty() {
    honest_operations(PYTHON, "harbour/ships.py", ["Ship", "weight", "describe"]);
}

#[test]
fn operations_by_typescript() {
    honest_operations(TYPESCRIPT, "src/ships.ts", ["Ship", "weight", "describe"]);
}

#[test]
fn operations_by_clangd() {
    honest_operations(C, "src/ships.cpp", ["fee", "weight", "describe"]);
}

#[test]
fn ty() {
    honest(&Corpus::package(PYTHON), "click/core.py", true);
}

#[test]
fn typescript() {
    honest(&Corpus::package(TYPESCRIPT), "internal/Observable.ts", true);
}

#[test]
fn typescript_language_server() {
    honest(&Corpus::package(OLD_TYPESCRIPT), "internal/Observable.ts", true);
}

#[test]
fn clangd() {
    honest(&Corpus::sample(C), "src/yard.c", true);
    // Macros of this package's headers depend on the including file, so search results depend on the open files.
    honest(&Corpus::package(C), "lib/lz4frame.c", false);
}
