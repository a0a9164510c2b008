//! Several servers for one file: each is queried, and their answers are merged in registry order.

use serde_json::{Value, json};

use crate::question::At;
use crate::running_server::Yard;
use crate::servers::agent::{ask, client};
use crate::servers::corpus::{Corpus, PYTHON, TWO_TYPESCRIPTS};
use crate::servers::operations::{compare, ops, place};
use crate::servers::outcome::{Op, POSITIONAL, expected};

/// Separator of two servers' texts.
const RULE: &str = "\n\n---\n\n";

fn hover(at: &At) -> Op {
    let number = POSITIONAL.iter().position(|(name, _)| *name == "hover").expect("an operation");
    Op::At(number, at.clone())
}

fn value(hover: &Value) -> &str {
    hover["contents"]["value"].as_str().unwrap_or_default()
}

#[test]
fn a_linter_answers_where_the_type_checker_finds_nothing() {
    let corpus = Corpus::harbour(PYTHON);
    let yard = Yard::serve(&corpus.workspace("both"));
    let client = &mut client(&yard, "both");
    let mut servers = corpus.bare(&[]).into_servers();
    assert_eq!(servers.len(), 2, "ty and ruff");
    for file in ["harbour/__init__.py", "harbour/berths.py"] {
        let path = corpus.root.join(file);
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        let line = text.lines().position(|line| line.contains("# noqa: F401")).expect("a comment");
        let comment = text.lines().nth(line).expect("a line");
        let at = |word: &str, inside: usize| {
            let character = comment.rfind(word).expect("a word") + inside;
            At { path: path.clone(), line, character, word: word.into() }
        };
        for inside in 0..4 {
            let op = hover(&at("F401", inside));
            let ours = ask(client, &op.arguments()).expect("a hover");
            assert_eq!(*ours.result(), expected(&mut servers, &op), "{op:?}");
            assert!(value(ours.result()).starts_with("# unused-import (F401)\n"), "{ours:?}");
            assert_eq!(ours.metadata.get("passedOver"), None, "an empty result differs from no query");
        }
        let word = if file.ends_with("berths.py") { "os" } else { "Ferry" };
        let op = hover(&At { character: comment.find(word).expect("a word"), ..at("F401", 0) });
        let ours = ask(client, &op.arguments()).expect("a hover");
        assert_eq!(*ours.result(), expected(&mut servers, &op), "{op:?}");
        assert!(value(ours.result()).starts_with("```"), "a type: {ours:?}");
        let op = hover(&at("noqa", 1));
        let ours = ask(client, &op.arguments()).expect("an answer");
        assert_eq!((ours.result(), ours.output.as_str()), (&Value::Null, "No results found for hover"));
    }
    yard.stop();
}

/// Configures the older TypeScript server in addition to the native one.
const BESIDE: &str = "[servers.typescript-language-server]\nrole = \"linter\"\ngroup = \"beside\"\n";

#[test]
fn answers_of_two_servers_are_one_list_and_hovers_are_separated_by_a_rule() {
    let corpus = Corpus::harbour(TWO_TYPESCRIPTS);
    let yard = Yard::serve(&(corpus.workspace("two") + BESIDE));
    let client = &mut client(&yard, "two");
    let (ops, positions) = ops(&corpus, 20, 20_261_124);
    let counts = compare(client, &corpus, &ops);
    println!("{positions} positions, {} questions, {counts:?}", ops.len());
    let mut servers = corpus.bare(&[]).into_servers();
    let at = place(&corpus, "src/books.ts", "due", 0);
    let one = [&mut servers[0]].map(|server| expected(std::slice::from_mut(server), &hover(&at)));
    let other = [&mut servers[1]].map(|server| expected(std::slice::from_mut(server), &hover(&at)));
    assert_ne!(value(&one[0]), value(&other[0]), "their words differ");
    let ours = ask(client, &hover(&at).arguments()).expect("a hover");
    assert_eq!(value(ours.result()), [value(&one[0]), value(&other[0])].join(RULE), "in the registry's order");
    assert_eq!(ours.result()["range"], one[0]["range"], "the first one's");
    let arguments = json!({"operation": "documentSymbol", "filePath": "src/books.ts"});
    let symbols = ask(client, &arguments).expect("symbols").result().clone();
    let names: Vec<&str> = symbols.as_array().into_iter().flatten().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"due") && names.contains(&"run"), "{names:?}");
    yard.stop();
}
