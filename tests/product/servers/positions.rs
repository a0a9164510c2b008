//! Positions without an identifier: the tool `lsp` lists the words of the line with their columns, from 1 in UTF-16, and
//! never answers for an adjacent word.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::bare::Bare;
use crate::mcp::Mcp;
use crate::question::At;
use crate::running_server::Yard;
use crate::servers::agent::{Answer, Refusal, ask, client};
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT};
use crate::servers::outcome::{Op, POSITIONAL, expected};

/// Operations to use in turn.
const ASKED: [&str; 3] = ["goToDefinition", "hover", "incomingCalls"];

fn is_part(letter: char) -> bool {
    // A combining mark belongs to the word before it.
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '\u{301}')
}

/// Lines of a file without line endings, including the one after the last line ending.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("UTF-8");
    text.split('\n').map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

/// The hint about the words of a line, which is counted from 0.
fn hint(line: &str, number: usize) -> String {
    let mut words: Vec<(String, usize)> = Vec::new();
    let mut column = 1;
    let mut before = ' ';
    for letter in line.chars() {
        if is_part(letter) && is_part(before) {
            words.last_mut().expect("a word").0.push(letter);
        } else if is_part(letter) {
            words.push((letter.into(), column));
        }
        column += letter.len_utf16();
        before = letter;
    }
    words.retain(|(word, _)| !word.starts_with(|first: char| first.is_numeric()));
    let words: Vec<String> = words.iter().map(|(word, column)| format!("{word} at {column}")).collect();
    match words.is_empty() {
        true => format!(" Line {} has none; documentSymbol lists what the file declares.", number + 1),
        false => format!(" On line {}: {}.", number + 1, words.join(", ")),
    }
}

fn op(name: &str, path: &Path, line: usize, character: usize) -> Op {
    let number = POSITIONAL.iter().position(|(own, _)| *own == name).expect("an operation");
    Op::At(number, At { path: path.into(), line, character, word: String::new() })
}

/// Queries every column of a line, including its end. Returns the numbers of refused and answered queries.
fn every_column(client: &mut Mcp, servers: &mut [Bare], path: &Path, number: usize, line: &str) -> (usize, usize) {
    let mut column = 0;
    let mut before = None;
    let mut refused = 0;
    let mut answered = 0;
    for (nth, letter) in line.chars().map(Some).chain([None]).enumerate() {
        let name = ASKED[nth % ASKED.len()];
        let about = |name| op(name, path, number, column);
        let op = about(name);
        let ours = ask(client, &op.arguments());
        let on_word = letter.is_some_and(is_part);
        let behind_word = !on_word && before.is_some_and(is_part);
        let right = expected(servers, &op);
        let is_empty = right.is_null() || right == json!([]);
        // The answer refers to something outside the roots, or to a function, possibly without calls.
        let is_outside = |answer: &Result<Answer, Refusal>| {
            answer.as_ref().is_ok_and(|answer| answer.metadata["outside"].as_u64() > Some(0))
        };
        let mut is_something = || {
            let prepared = ask(client, &about("prepareCallHierarchy").arguments());
            let is_function = prepared.as_ref().is_ok_and(|answer| *answer.result() != json!([]));
            is_outside(&ours) || name.ends_with("Calls") && (is_function || is_outside(&prepared))
        };
        if behind_word || (!on_word && is_empty && !is_something()) {
            let said = format!("There is no identifier at {}:{}.{}", number + 1, column + 1, hint(line, number));
            assert_eq!(ours.as_ref().map_err(|refusal| &refusal.output), Err(&said), "{op:?}");
            let refusal = ours.expect_err("it is one");
            assert_eq!(
                (&refusal.error["code"], &refusal.error["reason"]),
                (&json!("NOT_FOUND"), &json!("no_identifier"))
            );
            refused += 1;
        } else if is_empty && ours.as_ref().is_err_and(|refusal| refusal.error["keyword"] == json!(true)) {
            refused += 1;
        } else {
            let ours = ours.unwrap_or_else(|refusal| panic!("{op:?}: {refusal:?}"));
            assert_eq!(*ours.result(), right, "{op:?}");
            answered += usize::from(!is_empty);
        }
        column += letter.map_or(0, char::len_utf16);
        before = letter;
    }
    (refused, answered)
}

fn positions(language: Language, odd: &str, keyword_file: &str, keyword: &str) {
    let corpus = Corpus::harbour(language);
    let yard = Yard::serve(&corpus.workspace("positions"));
    let client = &mut client(&yard, "positions");
    let mut servers = corpus.bare(&[]).into_servers();
    let path = corpus.root.join(odd);
    let all = lines(&path);
    let is_asked = |line: &str| !line.is_ascii();
    let asked: Vec<usize> = (0..all.len()).filter(|number| is_asked(&all[*number])).collect();
    let mut refused = 0;
    let mut answered = 0;
    for number in asked {
        let counts = every_column(client, &mut servers, &path, number, &all[number]);
        refused += counts.0;
        answered += counts.1;
    }
    println!("{}: {refused} columns refused, {answered} answered", language.kind);
    assert!(refused >= 20 && answered >= 20, "{refused}, {answered}");
    keywords(client, &mut servers, &corpus.root.join(keyword_file), keyword);
    beyond(client, &path, &all);
    yard.stop();
}

/// At a keyword the answer is the server's; where that is empty, codeyard says that there is no name.
fn keywords(client: &mut Mcp, servers: &mut [Bare], path: &Path, keyword: &str) {
    let all = lines(path);
    let (line, character) =
        all.iter().enumerate().find_map(|(line, text)| Some((line, text.find(keyword)?))).expect("a keyword");
    for (name, _) in POSITIONAL {
        let op = op(name, path, line, character);
        let ours = ask(client, &op.arguments());
        let right = expected(servers, &op);
        if right.is_null() || right == json!([]) {
            let refusal = ours.expect_err("there is no name");
            assert_eq!(refusal.error["reason"], json!("no_identifier"), "{op:?}");
            assert!(refusal.output.starts_with("The word at "), "{}", refusal.output);
        } else {
            assert_eq!(ours.as_ref().map(|answer| answer.result()), Ok(&right), "{op:?}");
        }
    }
}

/// Past the ends of lines and of the file.
fn beyond(client: &mut Mcp, path: &Path, all: &[String]) {
    let mut refusal = |line: usize, character: usize| -> Refusal {
        ask(client, &op("hover", path, line, character).arguments()).expect_err("it is beyond")
    };
    let long = all.iter().position(|line| line.contains('𠮷') && !line.contains('\u{301}')).expect("a line");
    let blank = all.iter().position(String::is_empty).expect("a line");
    for (number, more) in [(long, 1), (long, 1_000), (blank, 1), (0, 1)] {
        let length = all[number].encode_utf16().count();
        let said = refusal(number, length + more);
        let line = number + 1;
        let character = length + more + 1;
        let right =
            format!("Character {character} lies beyond line {line}, which has {length}.{}", hint(&all[number], number));
        assert_eq!(said.output, right);
        assert_eq!((&said.error["code"], &said.error["reason"]), (&json!("NOT_FOUND"), &json!("position_beyond")));
    }
    for line in [all.len(), all.len() + 1_000] {
        let said = refusal(line, 0);
        assert_eq!(said.output, format!("Line {} lies beyond the file, which has {} lines.", line + 1, all.len()));
    }
}

#[test]
fn ty() {
    positions(PYTHON, "harbour/letters_windows.py", "harbour/berths.py", "return");
}

#[test]
fn typescript() {
    positions(TYPESCRIPT, "src/letters_windows.ts", "src/berths.ts", "return");
}

#[test]
fn clangd() {
    positions(C, "src/letters_windows.cpp", "src/books.cpp", "return");
}
