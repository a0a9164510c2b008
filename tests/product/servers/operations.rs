//! The answers of the nine operations of the tool `lsp` equal the canonicalized answers of bare servers: at least 50 positions per language, on
//! sources written for them and on real packages, and on every word after astral and combining characters and tabs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::Mcp;
use crate::question::{Ask, At, Dice, identifiers};
use crate::running_server::Yard;
use crate::servers::agent::{self, client, whole};
use crate::servers::corpus::{C, Corpus, Language, PYTHON, RUST, TYPESCRIPT, warm_up};
use crate::servers::outcome::{Op, expected};

/// Workspace of the written sources.
const MADE: &str = "harbour";
/// Least positions of a language.
const POSITIONS: usize = 50;
/// Number of positions from the written sources, and from a package.
const DRAWN: (usize, usize) = (50, 20);
/// Numbers of outlined files and of searched names in a package.
const FILES: usize = 6;
const NAMES: usize = 6;

/// Least percentage of non-empty answers on the written sources.
const SHARES: [(&str, usize); 9] = [
    ("goToDefinition", 75),
    ("findReferences", 75),
    ("hover", 75),
    ("goToImplementation", 10),
    ("prepareCallHierarchy", 25),
    ("incomingCalls", 20),
    ("outgoingCalls", 15),
    ("documentSymbol", 80),
    ("workspaceSymbol", 50),
];

/// The part of these shares that is required in Rust, in percent: many names are of the standard library, which is outside the root.
const RUST_PART: usize = 50;

/// Words that are no identifiers.
const KEYWORDS: [&str; 46] = [
    "and", "as", "case", "class", "const", "constructor", "def", "default", "double", "else", "explicit", "export",
    "extends", "f", "False", "for", "from", "get", "if", "implements", "import", "in", "int", "interface", "is", "let",
    "namespace", "new", "None", "not", "of", "override", "private", "protected", "public", "readonly", "return",
    "static", "string", "struct", "True", "undefined", "using", "virtual", "void", "number",
];

/// Words of a file outside comments that may be identifiers, each with a random column inside it.
fn words(path: &Path, dice: &mut Dice) -> Vec<At> {
    let text = fs::read_to_string(path).expect("UTF-8");
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    let mut is_open = false;
    for (line, text) in text.lines().enumerate() {
        let is_prose = text.trim_start().starts_with(['#', '*']) && !text.starts_with("#include");
        let quotes = text.matches("\"\"\"").count();
        if quotes > 0 || is_open || is_prose || text.trim_start().starts_with("/**") {
            is_open ^= quotes == 1;
            continue;
        }
        let mut word = Vec::new();
        let mut units = 0;
        let mut begin = 0;
        let mut before = ' ';
        let mut in_comment = false;
        for letter in text.chars().chain([' ']) {
            if is_part(letter) && !in_comment {
                if word.is_empty() {
                    begin = units;
                }
                word.push(letter);
            } else if !word.is_empty() {
                let inside = if word[0].is_numeric() { 0 } else { dice.pick(&(0..word.len()).collect::<Vec<_>>()) };
                let character = begin + word[..inside].iter().map(|letter| letter.len_utf16()).sum::<usize>();
                let word: String = word.drain(..).collect();
                if !word.starts_with(char::is_numeric) && !KEYWORDS.contains(&word.as_str()) {
                    found.push(At { path: path.into(), line, character, word });
                }
            }
            in_comment = match (before, letter) {
                ('/', '*') => true,
                ('*', '/') => false,
                _ => in_comment,
            };
            before = letter;
            units += letter.len_utf16();
        }
    }
    found
}

/// Text before a position on its line, and the line ending.
fn surroundings(at: &At) -> (String, bool) {
    let text = fs::read_to_string(&at.path).expect("UTF-8");
    let line = text.split('\n').nth(at.line).expect("a line");
    let units: Vec<u16> = line.encode_utf16().take(at.character).collect();
    (String::from_utf16(&units).expect("no half of a letter"), line.ends_with('\r'))
}

/// Queries, and the number of positions among them.
pub(crate) fn ops(corpus: &Corpus, places: usize, seed: u64) -> (Vec<Op>, usize) {
    let mut dice = Dice(seed);
    let files = corpus.files();
    let all: Vec<At> = files.iter().flat_map(|path| words(path, &mut dice)).collect();
    let is_odd = |at: &At| at.path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_windows"));
    let mut chosen: Vec<At> = all.iter().filter(|at| is_odd(at)).cloned().collect();
    chosen.extend((0..places).map(|_| dice.pick(&all)));
    chosen.sort();
    chosen.dedup();
    let mut ops: Vec<Op> = chosen.iter().flat_map(Op::all_at).collect();
    if files.len() <= 2 * FILES {
        ops.extend(files.iter().cloned().map(Op::File));
    } else {
        ops.extend((0..FILES).map(|_| Op::File(dice.pick(&files))));
    }
    for _ in 0..NAMES {
        let word = dice.pick(&all).word;
        let part: String = word.chars().take(word.chars().count().div_ceil(2).max(2)).collect();
        ops.extend([Op::Name(word.to_uppercase()), Op::Name(part), Op::Name(word)]);
    }
    ops.sort();
    ops.dedup();
    ops.sort_by_key(|op| op.path().map(Path::to_path_buf));
    (ops, chosen.len())
}

/// Checks that the written sources contain characters that make columns hard to count.
fn assert_odd(ops: &[Op]) {
    let mut seen = BTreeMap::<&str, usize>::new();
    for op in ops {
        let Op::At(0, at) = op else { continue };
        let (before, is_windows) = surroundings(at);
        let mut saw = |what, is: bool| *seen.entry(what).or_default() += usize::from(is);
        saw("astral", before.chars().any(|letter| letter.len_utf16() == 2));
        saw("mathematical", before.contains('𝒳'));
        saw("combining", before.contains('\u{301}'));
        saw("joined", before.contains('\u{200d}'));
        saw("tab", before.contains('\t'));
        saw("Windows", is_windows);
    }
    let least = [("astral", 20), ("mathematical", 15), ("combining", 5), ("joined", 2), ("tab", 3), ("Windows", 40)];
    for (what, least) in least {
        assert!(seen[what] >= least, "{what}: {seen:?}");
    }
}

/// Queries both. Returns the number of answers and of non-empty answers per operation; panics with the first differences.
pub(crate) fn compare(client: &mut Mcp, corpus: &Corpus, ops: &[Op]) -> BTreeMap<&'static str, (usize, usize)> {
    let asks: Vec<Ask> = ops.iter().filter_map(Op::path).map(|path| Ask::Diagnostics(path.into())).collect();
    warm_up(client, &asks);
    let mut servers = corpus.bare(&asks).into_servers();
    let mut different = Vec::new();
    let mut counts = BTreeMap::<_, (usize, usize)>::new();
    for op in ops {
        let mut right = expected(&mut servers, op);
        let mut ours = whole(client, &op.arguments()).map(|(result, _)| result);
        if matches!(op, Op::Name(_)) {
            drop_headers(&mut right);
            _ = ours.as_mut().map(drop_headers);
        }
        let count = counts.entry(op.name()).or_default();
        count.0 += 1;
        let is_empty = right.is_null() || right == json!([]);
        count.1 += usize::from(!is_empty);
        // At a keyword, where the server finds nothing, codeyard says why.
        let is_keyword = ours.as_ref().is_err_and(|refusal| refusal.error["keyword"] == json!(true));
        if ours.as_ref() != Ok(&right) && !(is_empty && is_keyword) {
            let ours = ours.map_or_else(|refusal| format!("{refusal:?}"), |ours| ours.to_string());
            different.push(format!("{op:?}\n    bare: {}\n    ours: {}", short(&right.to_string()), short(&ours)));
        }
    }
    let shown: Vec<&str> = different.iter().take(8).map(String::as_str).collect();
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), ops.len(), shown.join("\n"));
    counts
}

/// Drops declarations in C headers: which of their conditional parts clangd has in its index depends on which source
/// was indexed first, so two bare servers can differ.
fn drop_headers(symbols: &mut Value) {
    let is_header = |symbol: &Value| symbol["location"]["uri"].as_str().is_some_and(|uri| uri.ends_with(".h"));
    if let Some(symbols) = symbols.as_array_mut() {
        symbols.retain(|symbol| !is_header(symbol));
    }
}

fn short(text: &str) -> String {
    text.chars().take(1_500).collect()
}

fn equal(language: Language, corpora: &[(&str, Corpus, usize)]) {
    let yard = Yard::serve(&corpora.iter().map(|(name, corpus, _)| corpus.workspace(name)).collect::<String>());
    for (name, corpus, drawn) in corpora {
        let client = &mut client(&yard, name);
        let (ops, positions) = ops(corpus, *drawn, 20_261_122);
        let counts = compare(client, corpus, &ops);
        println!("{} {name}: {positions} positions, {} questions, {counts:?}", language.kind, ops.len());
        if *name == MADE {
            assert!(positions >= POSITIONS, "{positions}");
            assert_odd(&ops);
            for (operation, least) in SHARES {
                let (asked, nonempty) = counts[operation];
                let least = if language.kind == RUST.kind { least * RUST_PART / 100 } else { least };
                assert!(nonempty * 100 >= asked * least, "{operation}: {nonempty} of {asked} answers aren't empty");
            }
        }
        titles(client, corpus, &ops);
        corpus.assert_untouched();
    }
    yard.stop();
}

/// On the written sources and on a real package.
fn everywhere(language: Language) {
    let corpora = [(MADE, Corpus::harbour(language), DRAWN.0), ("package", Corpus::package(language), DRAWN.1)];
    equal(language, &corpora);
}

/// Same on the written sources, with a server in this position encoding and a bare one in UTF-16.
fn counting(language: Language, encoding: &str) {
    let corpus = Corpus::harbour(language);
    let quirks = format!("[servers.{}.quirks]\nencodings = [{encoding:?}]\n", language.kind);
    let yard = Yard::serve(&(corpus.workspace(MADE) + &quirks));
    let (ops, _) = ops(&corpus, DRAWN.0, 20_261_123);
    assert_odd(&ops);
    compare(&mut client(&yard, MADE), &corpus, &ops);
    yard.stop();
}

/// Titles contain the relative path and the position as given; paths may be relative.
fn titles(client: &mut Mcp, corpus: &Corpus, ops: &[Op]) {
    for op in ops.iter().step_by(ops.len() / 20) {
        // All were asked before; at a keyword that is a refusal.
        let Ok(absolute) = agent::ask(client, &op.arguments()) else { continue };
        assert_eq!(absolute.title, op.title(&corpus.root));
        let Some(path) = op.path() else { continue };
        let mut arguments = op.arguments();
        arguments["filePath"] = json!(path.strip_prefix(&corpus.root).expect("below"));
        assert_eq!(agent::ask(client, &arguments), Ok(absolute), "{arguments}");
    }
}

#[test]
fn ty() {
    everywhere(PYTHON);
}

#[test]
fn typescript() {
    everywhere(TYPESCRIPT);
}

#[test]
fn clangd() {
    everywhere(C);
}

#[test]
fn in_every_encoding() {
    for language in [PYTHON, TYPESCRIPT, C] {
        for encoding in ["utf-8", "utf-16"] {
            counting(language, encoding);
        }
    }
}

#[test]
#[ignore = "needs rust-analyzer; the slow suite builds it"]
fn rust_analyzer() {
    if !crate::servers::rust::has_program("servers::operations::rust_analyzer") {
        return;
    }
    equal(RUST, &[(MADE, Corpus::harbour(RUST), DRAWN.0)]);
}

/// Position of the occurrence `number`, from 0, of a word in a file.
pub(crate) fn nth(corpus: &Corpus, file: &str, word: &str, number: usize) -> Option<At> {
    identifiers(&corpus.root.join(file)).into_iter().filter(|at| at.word == word).nth(number)
}

/// Same; panics if there is none.
pub(crate) fn place(corpus: &Corpus, file: &str, word: &str, number: usize) -> At {
    nth(corpus, file, word, number).unwrap_or_else(|| panic!("{word} in {file}"))
}
