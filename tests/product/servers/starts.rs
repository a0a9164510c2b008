//! Many cold repositories at once: every call that follows the advice of its errors gets its answer, no start fails, and no server leaves
//! a temporary file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::{Mcp, pause};
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, PYTHON, TYPESCRIPT};
use crate::servers::operations::place;

/// Attempts of one call, each after the advised time.
const ATTEMPTS: usize = 40;

/// The answer to a call that is repeated when its errors say so.
fn advised(client: &mut Mcp, tool: &str, arguments: &Value) -> Value {
    for _ in 0..ATTEMPTS {
        match client.call(tool, arguments) {
            Ok(answer) => return answer,
            Err(failure) => {
                assert!(failure.is_timeout(), "{failure:?}");
                pause(failure.details["retryAfterMs"].as_u64().expect("advice"));
            }
        }
    }
    panic!("{tool} {arguments}: no answer after {ATTEMPTS} attempts");
}

/// The references of a function of the sample, as files and lines.
pub(crate) fn references(yard: &Yard, name: &str, corpus: &Corpus) -> BTreeSet<String> {
    let file = match corpus.language.kind {
        "ty" => "harbour/books.py",
        "clangd" => "src/books.cpp",
        _ => "src/books.ts",
    };
    let at = place(corpus, file, "due", 0);
    let position = json!({"line": at.line, "character": at.character});
    let arguments = json!({"uri": uri_of(&at.path), "position": position, "includeDeclaration": true});
    let answer = advised(&mut yard.client(name), "vscode.lsp.references", &arguments);
    let root = uri_of(&corpus.root);
    let shown = |item: &Value| {
        let uri = item["uri"].as_str().expect("a URI").strip_prefix(&root).expect("inside the root");
        format!("{uri}:{}", item["range"]["start"]["line"])
    };
    answer["items"].as_array().expect("items").iter().map(shown).collect()
}

/// The values of `TMPDIR` of these processes.
fn temp_dirs(yard: &mut Yard, program: &str) -> BTreeSet<String> {
    let processes = yard.running(program);
    let variable = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let text = String::from_utf8_lossy(&environment).into_owned();
        text.split('\0').find_map(|line| line.strip_prefix("TMPDIR=").map(str::to_owned))
    };
    processes.into_iter().filter_map(|process| variable(process.pid)).collect()
}

/// The folders of temporary files below a state directory, one for each codeyard.
fn owners(state: &Path) -> usize {
    let entries = fs::read_dir(state.join("tmp")).expect("a folder").flatten();
    entries.filter(|entry| entry.path().is_dir()).count()
}

#[test]
fn many_cold_workspaces_answer_after_the_advised_time() {
    let corpora: Vec<Corpus> = (0..4).flat_map(|_| [PYTHON, TYPESCRIPT, C].map(Corpus::harbour)).collect();
    let names: Vec<String> = (0..corpora.len()).map(|number| format!("cold{number}")).collect();
    let workspaces = names.iter().zip(&corpora).map(|(name, corpus)| corpus.workspace(name));
    let mut yard = Yard::serve(&workspaces.collect::<String>());
    let served = &yard;
    let answers: Vec<BTreeSet<String>> = std::thread::scope(|scope| {
        let asked = names.iter().zip(&corpora).map(|(name, corpus)| scope.spawn(|| references(served, name, corpus)));
        let asked: Vec<_> = asked.collect();
        asked.into_iter().map(|asked| asked.join().expect("an answer")).collect()
    });
    for (number, answer) in answers.iter().enumerate() {
        assert!(answer.len() > 1, "{}: {answer:?}", names[number]);
        assert_eq!(*answer, answers[number % 3], "{}: the same sources have the same answer", names[number]);
    }
    assert!(!yard.log().contains("language server ended"), "{}", yard.log());
    let own = temp_dirs(&mut yard, "ty");
    let below = yard.state.path().join("tmp");
    assert_eq!(own.len(), 4, "each has its own: {own:?}");
    assert!(own.iter().all(|dir| Path::new(dir).starts_with(&below) && Path::new(dir).is_dir()), "{own:?}");
    let state = yard.state.clone();
    assert_eq!(owners(state.path()), 1);
    yard.stop();
    assert_eq!(owners(state.path()), 0);
}

#[test]
fn temporary_files_of_a_killed_codeyard_are_removed_at_the_next_start() {
    let corpus = Corpus::harbour(C);
    let configuration = corpus.workspace("killed");
    // The token is shown at the first start only.
    let flags = ["--no-auth"];
    let mut yard = Yard::serve_with(&configuration, &flags);
    let answer = references(&yard, "killed", &corpus);
    let state = yard.state.clone();
    yard.descendants();
    yard.signal(Signal::KILL);
    yard.wait();
    drop(yard);
    assert_eq!(owners(state.path()), 1, "nothing could remove it");
    let next = Yard::serve_from(state.clone(), &configuration, &flags, &[]);
    assert_eq!(references(&next, "killed", &corpus), answer);
    assert_eq!(owners(state.path()), 1, "its own");
    next.stop();
    assert_eq!(owners(state.path()), 0);
}
