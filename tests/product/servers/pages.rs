//! Answers of the tool `lsp` that are too long for one page: long lists of real servers are complete over all pages, and a cursor
//! continues its own answer or fails with a reason.

use std::fs;

use serde_json::{Value, json};

use crate::question::Ask;
use crate::running_server::Yard;
use crate::servers::agent::{Answer, MOST_CHARS, ask, attempt, client, whole};
use crate::servers::corpus::{Corpus, Language, PYTHON, TYPESCRIPT};
use crate::servers::operations::place;
use crate::servers::outcome::{Op, POSITIONAL, expected};

/// Most entries of a page, whatever their length.
const MOST_ENTRIES: usize = 200;

fn op(corpus: &Corpus, operation: &str, file: &str, word: &str) -> Op {
    match POSITIONAL.iter().position(|(name, _)| *name == operation) {
        Some(number) => Op::At(number, place(corpus, file, word, 0)),
        None if operation == "documentSymbol" => Op::File(corpus.root.join(file)),
        None => Op::Name(word.into()),
    }
}

fn pages_make_the_whole(language: Language, cases: &[(&str, &str, &str)]) {
    let corpus = Corpus::package(language);
    let yard = Yard::serve(&corpus.workspace("long"));
    let mut first = client(&yard, "long");
    let ops: Vec<Op> = cases.iter().map(|(operation, file, word)| op(&corpus, operation, file, word)).collect();
    let asks: Vec<Ask> = ops.iter().filter_map(Op::path).map(|path| Ask::DocumentSymbols(path.into())).collect();
    let mut servers = corpus.bare(&asks).into_servers();
    for op in &ops {
        let right = expected(&mut servers, op);
        let length = serde_json::to_string_pretty(&right).expect("JSON").chars().count();
        assert!(length > MOST_CHARS, "{op:?} is short: {length}");
        let (ours, pages) = whole(&mut first, &op.arguments()).unwrap_or_else(|refusal| panic!("{op:?}: {refusal:?}"));
        assert!(ours == right, "{op:?}: {pages} pages");
        assert!(pages > length / MOST_CHARS, "{op:?}: {length} code points on {pages} pages");
        println!("{}: {length} code points on {pages} pages", op.name());
        every_page_is_full(&mut first, op);
    }
    yard.stop();
}

/// A page ends because it is full, and its hint names the next call.
fn every_page_is_full(client: &mut crate::mcp::Mcp, op: &Op) {
    let mut arguments = op.arguments();
    loop {
        let page = ask(client, &arguments).expect("a page");
        let Some(cursor) = page.next() else { break };
        let entries = page.result().as_array().expect("a list").len();
        let room = MOST_CHARS - page.output.chars().count();
        assert!(entries == MOST_ENTRIES || room < 2_000, "{entries} entries, {room} code points left");
        let hint = page.metadata["hint"].as_str().expect("a hint");
        assert!(hint.contains("repeat the call with `cursor`") && hint.contains(cursor), "{hint}");
        arguments["cursor"] = json!(cursor);
    }
}

#[test]
fn ty() {
    let cases = [("documentSymbol", "click/core.py", ""), ("workspaceSymbol", "", "e")];
    pages_make_the_whole(PYTHON, &cases);
}

#[test]
fn typescript() {
    let cases = [("findReferences", "internal/Observable.ts", "Observable"), ("workspaceSymbol", "", "o")];
    pages_make_the_whole(TYPESCRIPT, &cases);
}

#[test]
fn a_cursor_continues_only_its_own_answer() {
    let corpus = Corpus::package(TYPESCRIPT);
    let yard = Yard::serve(&corpus.workspace("long"));
    let mut one = client(&yard, "long");
    let file = "internal/Observable.ts";
    let op = op(&corpus, "findReferences", file, "Observable");
    let first = ask(&mut one, &op.arguments()).expect("references");
    let cursor = first.next().expect("there are more").to_owned();
    let with = |mut arguments: Value| {
        arguments["cursor"] = json!(cursor);
        arguments
    };
    let second = ask(&mut one, &with(op.arguments())).expect("the second page");
    assert_ne!(second.result(), first.result());
    let mut relative = op.arguments();
    relative["filePath"] = json!(file);
    relative["query"] = json!("of no use here");
    let mut other = client(&yard, "long");
    assert_eq!(ask(&mut other, &with(relative)), Ok(second.clone()), "said differently, in another session: the same");
    one.end();
    assert_eq!(ask(&mut other, &with(op.arguments())), Ok(second), "the cursor's session is over, its answer isn't");
    let moved = |member: &str, by: u64| {
        let mut arguments = op.arguments();
        arguments[member] = json!(arguments[member].as_u64().expect("a number") + by);
        arguments
    };
    let at = |operation: &str| {
        let mut arguments = op.arguments();
        arguments["operation"] = json!(operation);
        arguments
    };
    let strange = [
        moved("character", 1),
        moved("line", 1),
        at("goToImplementation"),
        at("incomingCalls"),
        at("documentSymbol"),
        json!({"operation": "workspaceSymbol", "query": "Observable"}),
    ];
    for arguments in strange {
        let refusal = ask(&mut other, &with(arguments.clone())).expect_err("another question");
        assert_eq!(refusal.error["code"], "CURSOR_INVALID", "{arguments}: {refusal:?}");
        assert!(!refusal.output.contains("No results"), "{refusal:?}");
    }
    for cursor in ["", "x", "eyJ2IjoxfQ"] {
        let mut arguments = op.arguments();
        arguments["cursor"] = json!(cursor);
        let refusal = ask(&mut other, &arguments).expect_err("no cursor");
        assert_eq!(refusal.error["code"], "CURSOR_INVALID", "{cursor:?}: {refusal:?}");
    }
    stale(&corpus, &mut other, &op, &first);
    yard.stop();
}

/// All pages of an answer, from the first one again whenever a cursor is stale. Half a second after a change the server asks for a refresh of
/// all answers, which may come between two pages.
fn whole_as_advised(client: &mut crate::mcp::Mcp, arguments: &Value) -> Value {
    for _ in 0..10 {
        match whole(client, arguments) {
            Ok((all, _)) => return all,
            Err(refusal) => assert_eq!(refusal.error["code"], "CURSOR_STALE", "{refusal:?}"),
        }
    }
    panic!("the cursors stay stale although nothing changes");
}

/// After an edit a cursor is stale, and a new query reflects the edit.
fn stale(corpus: &Corpus, client: &mut crate::mcp::Mcp, op: &Op, before: &Answer) {
    let edited = corpus.root.join("internal/fresh.ts");
    let text = "import { Observable } from \"./Observable\";\nexport const fresh = new Observable<number>();\n";
    fs::write(&edited, text).expect("a file");
    let mut arguments = op.arguments();
    arguments["cursor"] = json!(before.next());
    let refusal = attempt(client, &arguments).expect_err("stale");
    assert_eq!(refusal.error["code"], "CURSOR_STALE", "{refusal:?}");
    assert!(refusal.output.contains("without a cursor") || refusal.output.contains("first page"), "{refusal:?}");
    let now = whole_as_advised(client, &op.arguments());
    let asks = [Ask::DocumentSymbols(op.path().expect("a file").into())];
    assert!(now == expected(&mut corpus.bare(&asks).into_servers(), op), "the edit is seen");
    let total = |value: &Value| value.as_array().map_or(0, Vec::len);
    assert_eq!(json!(total(&now) - 2), before.metadata["total"], "the two new ones");
}
