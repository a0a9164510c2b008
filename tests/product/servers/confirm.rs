//! Confirmed rows of the code index: exactly those that the real language server lists with this name on this line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use codeyard_index::Language;
use codeyard_index::extract::extract;
use codeyard_model::code::SymbolKind;
use serde_json::{Value, json};

use crate::bare::{list, uri_of};
use crate::mcp::{Mcp, pause};
use crate::question::Ask;
use crate::running_server::Yard;
use crate::servers::corpus::{self, C, Corpus, PYTHON, TYPESCRIPT};

/// Attempts while the index or a server isn't ready.
const ATTEMPTS: usize = 100;
/// Number of queried names of each package.
const NAMES: usize = 60;
/// Number of symbols that one answer confirms.
const MOST: usize = codeyard_engine::limits::MAX_CONFIRMED_ROWS;

pub(crate) fn client(yard: &Yard, workspace: &str) -> Mcp {
    Mcp::connect(&yard.address, &format!("/mcp/{workspace}/code"), Some(&yard.token))
}

pub(crate) fn warnings(answer: &Value) -> Vec<String> {
    list(&answer["metadata"]["warnings"]).iter().map(|warning| warning.as_str().expect("a text").to_owned()).collect()
}

/// Locates a symbol with confirmation once index and servers are ready.
pub(crate) fn located(client: &mut Mcp, arguments: Value) -> Value {
    let mut arguments = arguments;
    arguments["detail_level"] = json!("context");
    arguments["confirm"] = json!(true);
    let mut last = Value::Null;
    for _ in 0..ATTEMPTS {
        last = client.call("locate_symbol", &arguments).expect("an answer");
        let metadata = &last["metadata"];
        let is_indexed = metadata["indexing_status"] == "ready" && metadata["freshness_status"] == "fresh";
        if is_indexed && !warnings(&last).iter().any(|warning| warning.ends_with("ask again.")) {
            return last;
        }
        pause(100);
    }
    panic!("never ready: {last}");
}

/// Path, first line and confirming server of each row.
fn rows(answer: &Value) -> Vec<(String, u64, Option<String>)> {
    let row = |row: &Value| {
        let path = row["path"].as_str().expect("a path").to_owned();
        (path, row["line_start"].as_u64().expect("a line"), row["confirmed_by"].as_str().map(str::to_owned))
    };
    list(&answer["results"]).iter().map(row).collect()
}

/// Names of a server with their lines, from 1.
fn listed(raw: &Value) -> BTreeSet<(String, u32)> {
    let mut found = BTreeSet::new();
    let mut waiting = list(raw);
    while let Some(entry) = waiting.pop() {
        waiting.extend(list(&entry["children"]));
        let name = entry["name"].as_str().expect("a name").rsplit("::").next().expect("a part").trim_end_matches("()");
        let line = entry["selectionRange"]["start"]["line"].as_u64().expect("a line");
        found.insert((name.to_owned(), u32::try_from(line).expect("small") + 1));
    }
    found
}

/// For evenly chosen symbols of a package, exactly the rows that the bare server lists are confirmed.
fn confirmed_alike(language: corpus::Language, least: usize) {
    let corpus = Corpus::package(language);
    let files = corpus.files();
    let asks: Vec<Ask> = files.iter().cloned().map(Ask::DocumentSymbols).collect();
    let mut server = corpus.bare(&asks).primary;
    let mut theirs = BTreeMap::new();
    // Lines of a name, by path, name and first line.
    let mut name_lines: BTreeMap<(String, String, u64), u32> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for path in &files {
        let raw = server.request("textDocument/documentSymbol", &json!({"textDocument": {"uri": uri_of(path)}}));
        let shown = path.strip_prefix(&corpus.root).expect("below").display().to_string();
        theirs.insert(shown.clone(), listed(&raw.expect("symbols")));
        let source = fs::read_to_string(path).expect("UTF-8");
        let parsed = Language::of_file(&shown, source.lines().next().unwrap_or_default().as_bytes());
        for symbol in extract(parsed.expect("it is parsed"), &source).symbols {
            if symbol.kind != SymbolKind::Use {
                let place = (shown.clone(), symbol.name.clone(), symbol.line_start.into());
                name_lines.insert(place, symbol.name_line);
                names.insert(symbol.name);
            }
        }
    }
    drop(server);
    let step = names.len().div_ceil(NAMES);
    let yard = Yard::serve(&corpus.workspace("w"));
    let mut client = client(&yard, "w");
    let mut asked = 0;
    let mut confirmed = 0;
    for name in names.iter().step_by(step) {
        let answer = located(&mut client, json!({"name": name}));
        let rows = list(&answer["results"]);
        let symbols = rows.iter().filter(|row| row["result_type"] == "symbol");
        for (at, row) in symbols.enumerate() {
            let text = |key: &str| row[key].as_str().expect("a text").to_owned();
            let place = (text("path"), text("name"), row["line_start"].as_u64().expect("a line"));
            let is_listed = || theirs.get(&place.0).is_some_and(|of| of.contains(&(text("name"), name_lines[&place])));
            let expected = (at < MOST && is_listed()).then_some(language.kind);
            assert_eq!(row["confirmed_by"].as_str(), expected, "{row} {:?}", warnings(&answer));
            if at < MOST && expected.is_none() {
                println!("{} doesn't list {} {} of {}:{}", language.kind, row["kind"], place.1, place.0, place.2);
            }
            asked += usize::from(at < MOST);
            confirmed += usize::from(expected.is_some());
        }
    }
    println!("{}: {confirmed} of {asked} rows are confirmed", language.kind);
    assert!(confirmed >= least, "{confirmed} of {asked}");
    yard.stop();
    corpus.assert_untouched();
}

#[test]
fn python() {
    confirmed_alike(PYTHON, 60);
}

#[test]
fn typescript() {
    confirmed_alike(TYPESCRIPT, 60);
}

#[test]
fn c() {
    // The server lists no macros.
    confirmed_alike(C, 40);
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        fs::write(root.join(path), text).expect("a file");
    }
}

/// Text before a name, one language after the other; the last one has no server here.
const HIGH: [(&str, &str); 4] = [
    ("a.py", "import functools\n\n\n@functools.cache\n@functools.wraps(print)\ndef berth_of():\n    return 1\n"),
    ("b.ts", "/** Where it lies. */\nexport\n  function\n  berth_of(): number {\n  return 2;\n}\n"),
    ("c.c", "static int\nberth_of(void)\n{\n    return 3;\n}\n"),
    ("d.rb", "def berth_of\n  4\nend\n"),
];

#[test]
fn each_language_is_confirmed_by_its_own_server_and_an_edit_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(folder.path()).expect("a path");
    write(&root, &HIGH);
    let yard = Yard::serve(&format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n"));
    let mut client = client(&yard, "w");
    let answer = located(&mut client, json!({"name": "berth_of"}));
    let by = |answer: &Value| -> BTreeMap<String, Option<String>> {
        rows(answer).into_iter().map(|(path, _, by)| (path, by)).collect()
    };
    let some = |kind: &str| Some(kind.to_owned());
    let files = HIGH.map(|(path, _)| path.to_owned());
    let expected = BTreeMap::from_iter(files.into_iter().zip([some("ty"), some("typescript"), some("clangd"), None]));
    assert_eq!(by(&answer), expected, "{answer}");
    let why = "the language server for this kind of file is not installed; run `gem install ruby-lsp`";
    assert_eq!(warnings(&answer), [format!("1 row is unconfirmed: no language server answers for ruby: {why}.")]);
    // Remove one function and move another; the index and the servers see it.
    write(&root, &[("a.py", "def berth_for():\n    return 1\n"), ("c.c", "\n\n\nint berth_of(void) { return 3; }\n")]);
    let answer = located(&mut client, json!({"name": "berth_of"}));
    let moved: Vec<_> = rows(&answer).into_iter().filter(|(path, ..)| path != "b.ts" && path != "d.rb").collect();
    assert_eq!(moved, [("c.c".to_owned(), 4, some("clangd"))], "{answer}");
    yard.stop();
}

#[test]
fn all_symbols_of_a_long_file_are_confirmed() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(folder.path()).expect("a path");
    let many: String = (0..400).map(|at| format!("def f{at}():\n    pass\n")).collect();
    write(&root, &[("long.py", &(many + "def the_last():\n    pass\n"))]);
    let yard = Yard::serve(&format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n"));
    let answer = located(&mut client(&yard, "w"), json!({"name": "the_last"}));
    assert_eq!(rows(&answer), [("long.py".to_owned(), 801, Some("ty".to_owned()))]);
    yard.stop();
}
