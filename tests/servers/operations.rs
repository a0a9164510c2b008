//! The nine operations of the tool `lsp` are the bare servers' own answers, canonicalised: at least 50 positions a language, on
//! sources made for them and on real packages, and on every word behind astral and combining characters and tabs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::{self, client, whole};
use crate::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT, warm_up};
use crate::e2e::Yard;
use crate::mcp::Mcp;
use crate::outcome::{Op, expected};
use crate::question::{Ask, At, Dice, identifiers};

/// Least positions of a language.
const POSITIONS: usize = 50;
/// Drawn from the made sources, and from a package.
const DRAWN: (usize, usize) = (50, 20);
/// Files of a package that are asked for what they declare, and names that are searched.
const FILES: usize = 6;
const NAMES: usize = 6;

/// At least so many of a hundred answers on the made sources must say something.
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

/// Words that name nothing.
const KEYWORDS: [&str; 46] = [
    "and",
    "as",
    "case",
    "class",
    "const",
    "constructor",
    "def",
    "default",
    "double",
    "else",
    "explicit",
    "export",
    "extends",
    "f",
    "False",
    "for",
    "from",
    "get",
    "if",
    "implements",
    "import",
    "in",
    "int",
    "interface",
    "is",
    "let",
    "namespace",
    "new",
    "None",
    "not",
    "of",
    "override",
    "private",
    "protected",
    "public",
    "readonly",
    "return",
    "static",
    "string",
    "struct",
    "True",
    "undefined",
    "using",
    "virtual",
    "void",
    "number",
];

/// The words of a file outside of comments that may name something, each with a column inside it that chance says.
fn words(path: &Path, dice: &mut Dice) -> Vec<At> {
    let text = fs::read_to_string(path).expect("UTF-8");
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut found, mut is_open) = (Vec::new(), false);
    for (line, text) in text.lines().enumerate() {
        let is_prose = text.trim_start().starts_with(['#', '*']) && !text.starts_with("#include");
        let quotes = text.matches("\"\"\"").count();
        if quotes > 0 || is_open || is_prose || text.trim_start().starts_with("/**") {
            is_open ^= quotes == 1;
            continue;
        }
        let (mut word, mut units, mut begin) = (Vec::new(), 0, 0);
        let (mut before, mut in_comment) = (' ', false);
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

/// What stands before a position on its line, and how the line ends.
fn surroundings(at: &At) -> (String, bool) {
    let text = fs::read_to_string(&at.path).expect("UTF-8");
    let line = text.split('\n').nth(at.line).expect("a line");
    let units: Vec<u16> = line.encode_utf16().take(at.character).collect();
    (String::from_utf16(&units).expect("no half of a letter"), line.ends_with('\r'))
}

/// The questions, and how many positions there are among them.
pub fn ops(corpus: &Corpus, places: usize, seed: u64) -> (Vec<Op>, usize) {
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
    ops.sort_by_key(|op| op.path().map(Path::to_path_buf));
    ops.dedup();
    (ops, chosen.len())
}

/// The made sources hold what columns are miscounted by.
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

/// Asks both. Says of each operation how many answers there were and how many said something; fails with the first few that differ.
pub fn compare(client: &mut Mcp, corpus: &Corpus, ops: &[Op]) -> BTreeMap<&'static str, (usize, usize)> {
    let asks: Vec<Ask> = ops.iter().filter_map(Op::path).map(|path| Ask::Diagnostics(path.into())).collect();
    warm_up(client, &asks);
    let mut servers = corpus.bare(&asks).into_servers();
    let (mut different, mut counts) = (Vec::new(), BTreeMap::<_, (usize, usize)>::new());
    for op in ops {
        let right = expected(&mut servers, op);
        let ours = whole(client, &op.arguments()).map(|(result, _)| result);
        let count = counts.entry(op.name()).or_default();
        count.0 += 1;
        count.1 += usize::from(!right.is_null() && right != json!([]));
        if ours.as_ref() != Ok(&right) {
            let ours = ours.map_or_else(|refusal| format!("{refusal:?}"), |ours| ours.to_string());
            different.push(format!("{op:?}\n    bare: {}\n    ours: {}", short(&right.to_string()), short(&ours)));
        }
    }
    let shown: Vec<&str> = different.iter().take(8).map(String::as_str).collect();
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), ops.len(), shown.join("\n"));
    counts
}

fn short(text: &str) -> String {
    text.chars().take(1_500).collect()
}

fn equal(language: Language) {
    let corpora = [Corpus::harbour(language), Corpus::package(language)];
    let drawn = [ops(&corpora[0], DRAWN.0, 20_261_122), ops(&corpora[1], DRAWN.1, 20_261_123)];
    assert_odd(&drawn[0].0);
    assert!(drawn[0].1 >= POSITIONS, "{}", drawn[0].1);
    let names = ["harbour", "package"];
    let yard = Yard::serve(&(corpora[0].workspace(names[0]) + &corpora[1].workspace(names[1])));
    for ((corpus, (ops, positions)), name) in corpora.iter().zip(&drawn).zip(names) {
        let client = &mut client(&yard, name);
        let counts = compare(client, corpus, ops);
        println!("{} {name}: {positions} positions, {} questions, {counts:?}", language.kind, ops.len());
        if name == "harbour" {
            for (operation, least) in SHARES {
                let (asked, telling) = counts[operation];
                assert!(telling * 100 >= asked * least, "{operation}: {telling} of {asked} say something");
            }
        }
        titles(client, corpus, ops);
        corpus.assert_untouched();
    }
    yard.stop();
}

/// Titles name the path below the root and the position as it was given; paths may be relative.
fn titles(client: &mut Mcp, corpus: &Corpus, ops: &[Op]) {
    for op in ops.iter().step_by(ops.len() / 20) {
        let absolute = agent::ask(client, &op.arguments()).expect("it was answered already");
        assert_eq!(absolute.title, op.title(&corpus.root));
        let Some(path) = op.path() else { continue };
        let mut arguments = op.arguments();
        arguments["filePath"] = json!(path.strip_prefix(&corpus.root).expect("below"));
        assert_eq!(agent::ask(client, &arguments), Ok(absolute), "{arguments}");
    }
}

#[test]
fn ty() {
    equal(PYTHON);
}

#[test]
fn typescript() {
    equal(TYPESCRIPT);
}

#[test]
fn clangd() {
    equal(C);
}

/// Where a word of a file stands for the time of this `number`, which counts from 0.
pub fn nth(corpus: &Corpus, file: &str, word: &str, number: usize) -> Option<At> {
    identifiers(&corpus.root.join(file)).into_iter().filter(|at| at.word == word).nth(number)
}

/// The same; it is there.
pub fn place(corpus: &Corpus, file: &str, word: &str, number: usize) -> At {
    nth(corpus, file, word, number).unwrap_or_else(|| panic!("{word} in {file}"))
}

/// Every line of `result`, as `file:line`, lines from 1.
fn lines(corpus: &Corpus, result: &Value) -> Vec<String> {
    let entries = result.as_array().map(Vec::as_slice).unwrap_or_default();
    let told = entries.iter().map(|entry| {
        let entry = entry.get("from").or(entry.get("to")).unwrap_or(entry);
        let range = entry.get("selectionRange").unwrap_or(&entry["range"]);
        let uri = entry["uri"].as_str().expect("a URI");
        let file = uri.rsplit('/').next().unwrap_or_default();
        assert!(uri.starts_with(&crate::bare::uri_of(&corpus.root)), "{uri}");
        format!("{file}:{}", range["start"]["line"].as_u64().expect("a line") + 1)
    });
    told.collect()
}

/// What a reader of the made sources would say, whatever the servers say.
#[test]
fn a_reader_of_the_sources_says_the_same() {
    let (python, typescript, cpp) = (Corpus::harbour(PYTHON), Corpus::harbour(TYPESCRIPT), Corpus::harbour(C));
    let yard = Yard::serve(&(python.workspace("python") + &typescript.workspace("ts") + &cpp.workspace("cpp")));
    // The line of a caller that is no function is that of its file.
    let cases: [(&Corpus, &str, &str, &str, &str, usize, &[&str]); 15] = [
        (&python, "python", "goToImplementation", "harbour/ships.py", "fee", 0, &["ships.py:17", "ships.py:42"]),
        (
            &python,
            "python",
            "incomingCalls",
            "harbour/books.py",
            "due",
            0,
            &["books.py:11", "letters_windows.py:1", "letters_windows.py:11"],
        ),
        (&python, "python", "outgoingCalls", "harbour/books.py", "collect", 0, &["books.py:7"]),
        (&python, "python", "goToDefinition", "harbour/letters_windows.py", "describe", 2, &["ships.py:57"]),
        (
            &python,
            "python",
            "prepareCallHierarchy",
            "harbour/letters_windows.py",
            "straße",
            1,
            &["letters_windows.py:15"],
        ),
        (&typescript, "ts", "goToImplementation", "src/ships.ts", "label", 0, &["ships.ts:39", "ships.ts:65"]),
        (
            &typescript,
            "ts",
            "incomingCalls",
            "src/books.ts",
            "due",
            0,
            &["books.ts:8", "letters_windows.ts:1", "letters_windows.ts:9"],
        ),
        (&typescript, "ts", "outgoingCalls", "src/books.ts", "collect", 0, &["berths.ts:10", "books.ts:4"]),
        (&typescript, "ts", "goToDefinition", "src/letters_windows.ts", "describe", 2, &["ships.ts:74"]),
        (&typescript, "ts", "prepareCallHierarchy", "src/letters_windows.ts", "straße", 0, &["letters_windows.ts:13"]),
        (
            &cpp,
            "cpp",
            "goToImplementation",
            "src/ships.hpp",
            "Ship",
            0,
            &["ships.hpp:15", "ships.hpp:27", "ships.hpp:38"],
        ),
        (
            &cpp,
            "cpp",
            "incomingCalls",
            "src/books.cpp",
            "due",
            0,
            &["books.cpp:23", "letters_windows.cpp:6", "main.cpp:5"],
        ),
        (&cpp, "cpp", "outgoingCalls", "src/books.cpp", "collect", 0, &["books.cpp:18"]),
        (&cpp, "cpp", "goToDefinition", "src/letters_windows.cpp", "describe", 0, &["ships.cpp:54"]),
        (&cpp, "cpp", "prepareCallHierarchy", "src/letters_windows.cpp", "straße", 0, &["letters_windows.cpp:16"]),
    ];
    for (corpus, name, operation, file, word, nth, right) in cases {
        let at = place(corpus, file, word, nth);
        let client = &mut client(&yard, name);
        let arguments =
            json!({"operation": operation, "filePath": file, "line": at.line + 1, "character": at.character + 1});
        let (result, _) = whole(client, &arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"));
        assert_eq!(lines(corpus, &result), right, "{arguments}");
    }
    yard.stop();
}
