//! Expected answers for the written sources, independent of servers: positions of definitions, implementations, callers and
//! callees, determined by hand.

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::running_server::Yard;
use crate::servers::agent::{client, whole};
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT};
use crate::servers::operations::place;

/// An operation, a file, one of its words, and positions as `file:line`, lines from 1. A caller outside functions is its file,
/// with the first line as position.
type Case = (&'static str, &'static str, (&'static str, usize), &'static [&'static str]);

/// Every position of `result`; for a call, that of the function at its other end.
fn places(corpus: &Corpus, result: &Value) -> Vec<String> {
    let entries = result.as_array().map(Vec::as_slice).unwrap_or_default();
    let answer = entries.iter().map(|entry| {
        let entry = entry.get("from").or(entry.get("to")).unwrap_or(entry);
        let range = entry.get("selectionRange").unwrap_or(&entry["range"]);
        let uri = entry["uri"].as_str().expect("a URI");
        assert!(uri.starts_with(&uri_of(&corpus.root)), "{uri}");
        let file = uri.rsplit('/').next().unwrap_or_default();
        format!("{file}:{}", range["start"]["line"].as_u64().expect("a line") + 1)
    });
    answer.collect()
}

fn reads(language: Language, cases: &[Case]) {
    let corpus = Corpus::harbour(language);
    let yard = Yard::serve(&corpus.workspace("read"));
    let client = &mut client(&yard, "read");
    for (operation, file, (word, number), right) in cases {
        let at = place(&corpus, file, word, *number);
        let arguments =
            json!({"operation": operation, "filePath": file, "line": at.line + 1, "character": at.character + 1});
        let (result, _) = whole(client, &arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"));
        assert_eq!(places(&corpus, &result), *right, "{operation} of {word}: {arguments}");
    }
    yard.stop();
}

#[test]
fn python() {
    let odd = "harbour/letters_windows.py";
    reads(
        PYTHON,
        &[
            ("goToImplementation", "harbour/ships.py", ("fee", 0), &["ships.py:17", "ships.py:42"]),
            (
                "incomingCalls",
                "harbour/books.py",
                ("due", 0),
                &["books.py:11", "letters_windows.py:1", "letters_windows.py:11"],
            ),
            ("outgoingCalls", "harbour/books.py", ("collect", 0), &["books.py:7"]),
            ("goToDefinition", odd, ("describe", 2), &["ships.py:57"]),
            ("prepareCallHierarchy", odd, ("straße", 1), &["letters_windows.py:15"]),
        ],
    );
}

/// A name with two functions: the calls of both are one list, each callee once with the ranges of all its calls.
#[test]
fn two_functions_at_one_position_are_both_prepared() {
    let corpus = Corpus::harbour(PYTHON);
    let yard = Yard::serve(&corpus.workspace("read"));
    let client = &mut client(&yard, "read");
    let file = "harbour/seasons.py";
    let at = place(&corpus, file, "surcharge", 2);
    let mut asked = |operation: &str| {
        let arguments =
            json!({"operation": operation, "filePath": file, "line": at.line + 1, "character": at.character + 1});
        whole(client, &arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}")).0
    };
    let prepared = asked("prepareCallHierarchy");
    assert_eq!(places(&corpus, &prepared), ["seasons.py:12", "seasons.py:17"]);
    let called = asked("outgoingCalls");
    assert_eq!(places(&corpus, &called), ["ships.py:53"]);
    let lines = |calls: &Value| -> Vec<u64> {
        let ranges = calls[0]["fromRanges"].as_array().into_iter().flatten();
        ranges.filter_map(|range| range["start"]["line"].as_u64()).collect()
    };
    assert_eq!(lines(&called), [12, 12, 17], "both functions' calls");
    let callers = asked("incomingCalls");
    assert_eq!((places(&corpus, &callers), lines(&callers)), (vec!["seasons.py:21".into()], vec![21, 21]));
    yard.stop();
}

#[test]
fn typescript() {
    let odd = "src/letters_windows.ts";
    reads(
        TYPESCRIPT,
        &[
            ("goToImplementation", "src/ships.ts", ("label", 0), &["ships.ts:39", "ships.ts:65"]),
            (
                "incomingCalls",
                "src/books.ts",
                ("due", 0),
                &["books.ts:8", "letters_windows.ts:1", "letters_windows.ts:9"],
            ),
            ("outgoingCalls", "src/books.ts", ("collect", 0), &["books.ts:4", "berths.ts:10"]),
            ("goToDefinition", odd, ("describe", 2), &["ships.ts:74"]),
            ("prepareCallHierarchy", odd, ("straße", 0), &["letters_windows.ts:13"]),
        ],
    );
}

#[test]
fn cpp() {
    let odd = "src/letters_windows.cpp";
    reads(
        C,
        &[
            ("goToImplementation", "src/ships.hpp", ("Ship", 0), &["ships.hpp:15", "ships.hpp:27", "ships.hpp:38"]),
            ("incomingCalls", "src/books.cpp", ("due", 0), &["books.cpp:23", "letters_windows.cpp:6", "main.cpp:5"]),
            ("outgoingCalls", "src/books.cpp", ("collect", 0), &["books.cpp:18"]),
            ("goToDefinition", odd, ("describe", 0), &["ships.cpp:54"]),
            ("prepareCallHierarchy", odd, ("straße", 0), &["letters_windows.cpp:16"]),
        ],
    );
}
