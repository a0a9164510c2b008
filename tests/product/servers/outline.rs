//! The extraction finds the symbols that real language servers list: functions, types and methods of three packages, by name and line.

use std::collections::BTreeSet;
use std::fs;

use codeyard_index::Language;
use codeyard_index::extract::extract;
use serde_json::{Value, json};

use crate::bare::{list, uri_of};
use crate::question::Ask;
use crate::servers::corpus::{self, C, Corpus, PYTHON, TYPESCRIPT};

/// Least percentage of a server's functions, types and methods that must be found.
const SHARE: usize = 98;
/// LSP symbol kinds: class, method, constructor, enumeration, interface, function, structure.
const KINDS: [u64; 7] = [5, 6, 9, 10, 11, 12, 23];

/// Names and lines, from 1, of a server's named symbols.
fn listed(raw: &Value) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut waiting = list(raw);
    while let Some(entry) = waiting.pop() {
        waiting.extend(list(&entry["children"]));
        let name = entry["name"].as_str().expect("a name").to_owned();
        // `(anonymous struct)`, `<function>`, `map() callback` are descriptions.
        let is_name = !name.starts_with(['(', '<']) && !name.contains(' ');
        if KINDS.contains(&entry["kind"].as_u64().expect("a kind")) && is_name {
            let line = entry["selectionRange"]["start"]["line"].as_u64().expect("a line");
            let name = name.trim_end_matches("()").rsplit("::").next().expect("a part").to_owned();
            found.push((name, u32::try_from(line).expect("small") + 1));
        }
    }
    found
}

fn found_alike(language: corpus::Language, least: usize) {
    let corpus = Corpus::package(language);
    let asks: Vec<Ask> = corpus.files().into_iter().map(Ask::DocumentSymbols).collect();
    let mut server = corpus.bare(&asks).primary;
    let mut all = 0;
    let mut missing = Vec::new();
    for path in asks.iter().filter_map(Ask::path) {
        let raw = server.request("textDocument/documentSymbol", &json!({"textDocument": {"uri": uri_of(path)}}));
        let source = fs::read_to_string(path).expect("UTF-8");
        let name = path.display().to_string();
        let parsed = Language::of_file(&name, source.lines().next().unwrap_or_default().as_bytes());
        let facts = extract(parsed.expect("it is parsed"), &source);
        let ours: BTreeSet<(&str, u32)> =
            facts.symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.name_line)).collect();
        let lines: Vec<&str> = source.lines().collect();
        for (symbol, line) in listed(&raw.expect("symbols")) {
            // A name that a macro generates (`#define f prefix_f`) isn't in the source.
            if !lines.get(line as usize - 1).is_some_and(|text| text.contains(&symbol)) {
                continue;
            }
            all += 1;
            if !ours.contains(&(symbol.as_str(), line)) {
                missing.push(format!("{name}:{line} {symbol}"));
            }
        }
    }
    println!("{}: {} of {all} are missing\n{}", language.kind, missing.len(), missing.join("\n"));
    assert!(all >= least, "{} lists {all}", language.kind);
    assert!((all - missing.len()) * 100 >= SHARE * all, "{} of {all} are missing: {missing:#?}", missing.len());
}

#[test]
fn python() {
    found_alike(PYTHON, 600);
}

#[test]
fn typescript() {
    found_alike(TYPESCRIPT, 800);
}

#[test]
fn c() {
    found_alike(C, 500);
}
