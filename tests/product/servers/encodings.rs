//! Columns: a server with UTF-8 positions gives the same answers as one with UTF-16 positions, on lines with accents, CJK and
//! astral characters, with tabs and Windows line endings.

use std::fs;

use crate::question::{Ask, identifiers};
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT, compare, warm_up};

/// Every identifier on a line that isn't plain ASCII.
fn asks(corpus: &Corpus) -> Vec<Ask> {
    let mut asks = Vec::new();
    for path in corpus.files() {
        let text = fs::read_to_string(&path).expect("UTF-8");
        let odd: Vec<bool> = text.lines().map(|line| !line.is_ascii()).collect();
        let places = identifiers(&path).into_iter().filter(|at| odd[at.line]);
        for (number, at) in places.enumerate() {
            asks.push(Ask::Definition(at.clone()));
            asks.push(Ask::Hover(at.clone()));
            if number % 3 == 0 {
                asks.push(Ask::References(at, true));
            }
        }
        if odd.contains(&true) {
            asks.push(Ask::DocumentSymbols(path.clone()));
            asks.push(Ask::Diagnostics(path));
        }
    }
    asks
}

fn same_in_every_encoding(language: Language) {
    let corpus = Corpus::sample(language);
    let asks = asks(&corpus);
    assert!(asks.len() >= 20, "{}", asks.len());
    let mut expected = corpus.bare(&asks);
    assert_eq!(expected.primary.encoding, "utf-16");
    for encoding in ["utf-8", "utf-16"] {
        let quirks = format!("[servers.{}.quirks]\nencodings = [{encoding:?}]\n", language.kind);
        let yard = Yard::serve(&(corpus.workspace("odd") + &quirks));
        let mut client = yard.client("odd");
        warm_up(&mut client, &asks);
        let nonempty = compare(&mut client, &mut expected, &asks);
        println!("{} as {encoding}: {} questions, {nonempty} with something to say", language.kind, asks.len());
        yard.stop();
    }
    corpus.assert_untouched();
    drop(expected);
    let mut bytes = corpus.bare_with(&["utf-8"], &asks);
    assert_eq!(bytes.primary.encoding, "utf-8", "the registry's claim that it can count bytes");
    let yard = Yard::serve(&corpus.workspace("odd"));
    let mut client = yard.client("odd");
    warm_up(&mut client, &asks);
    compare(&mut client, &mut bytes, &asks);
    yard.stop();
}

#[test]
fn ty() {
    same_in_every_encoding(PYTHON);
}

#[test]
fn typescript() {
    same_in_every_encoding(TYPESCRIPT);
}

#[test]
fn clangd() {
    same_in_every_encoding(C);
}
