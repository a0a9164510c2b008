//! The format `compact` of the tool `lsp`: the same entries as JSON in a fraction of its length.

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::running_server::Yard;
use crate::servers::agent::{Answer, ask, client, whole};
use crate::servers::corpus::{Corpus, PYTHON};
use crate::servers::operations::place;

/// Operations of which JSON is long.
const LONG: [&str; 2] = ["findReferences", "incomingCalls"];

/// Names of Django with the file that defines each.
const OF_DJANGO: [(&str, &str); 16] = [
    ("django/core/exceptions.py", "ImproperlyConfigured"),
    ("django/core/exceptions.py", "ValidationError"),
    ("django/db/models/query.py", "QuerySet"),
    ("django/db/models/expressions.py", "Value"),
    ("django/db/models/fields/__init__.py", "CharField"),
    ("django/db/models/base.py", "Model"),
    ("django/http/response.py", "HttpResponse"),
    ("django/test/testcases.py", "TestCase"),
    ("django/urls/base.py", "reverse"),
    ("django/utils/encoding.py", "force_str"),
    ("django/utils/functional.py", "cached_property"),
    ("django/utils/functional.py", "lazy"),
    ("django/utils/html.py", "format_html"),
    ("django/utils/html.py", "conditional_escape"),
    ("django/utils/safestring.py", "mark_safe"),
    ("django/utils/translation/__init__.py", "gettext"),
];

/// Code points of the text of all pages, and the lines.
fn compact(client: &mut Mcp, arguments: &Value) -> (usize, Vec<String>) {
    let mut arguments = arguments.clone();
    arguments["format"] = json!("compact");
    let mut chars = 0;
    let mut lines = Vec::new();
    loop {
        let page = ask(client, &arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"));
        chars += page.output.chars().count();
        lines.extend(page.result().as_str().expect("a text").lines().map(String::from));
        let Some(cursor) = page.next() else { return (chars, lines) };
        arguments["cursor"] = json!(cursor);
    }
}

/// Code points of the text of all pages as JSON.
fn chars_of_json(client: &mut Mcp, arguments: &Value) -> usize {
    let mut arguments = arguments.clone();
    let mut chars = 0;
    loop {
        let page: Answer = ask(client, &arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"));
        chars += page.output.chars().count();
        let Some(cursor) = page.next() else { return chars };
        arguments["cursor"] = json!(cursor);
    }
}

/// The place and the source line of a result in JSON, as a compact line begins.
fn as_line(corpus: &Corpus, row: &Value) -> String {
    let (uri, range) = match row.get("from") {
        Some(caller) => (&caller["uri"], &row["fromRanges"][0]),
        None => (&row["uri"], &row["range"]),
    };
    let path = uri.as_str().expect("a URI").strip_prefix(&format!("{}/", uri_of(&corpus.root))).expect("inside");
    let number = |member: &str| range["start"][member].as_u64().expect("a number") + 1;
    let line = format!("{path}:{}:{}", number("line"), number("character"));
    row["preview"].as_str().map_or(line.clone(), |preview| format!("{line}  {preview}"))
}

/// The rows in JSON; the code points and the lines of the compact form. A busy server may answer before it has said where the symbol is declared,
/// which orders the rows; such an answer isn't retained, so both forms are of one answer only if the rows stay the same.
fn both(client: &mut Mcp, arguments: &Value) -> (Vec<Value>, usize, Vec<String>) {
    let rows = |client: &mut Mcp| {
        let (all, _) = whole(client, arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"));
        all.as_array().expect("a list").clone()
    };
    let mut before = rows(client);
    loop {
        let (short, lines) = compact(client, arguments);
        let after = rows(client);
        if before == after {
            return (after, short, lines);
        }
        before = after;
    }
}

/// Compares both formats of each question. Returns the questions with the numbers of entries and of code points.
fn compared(corpus: &Corpus, names: &[(&str, &str)]) -> Vec<(String, [usize; 3])> {
    let yard = Yard::serve(&corpus.workspace("compact"));
    let mut client = client(&yard, "compact");
    let mut rows = Vec::new();
    for (file, name) in names {
        let at = place(corpus, file, name, 0);
        for operation in LONG {
            let arguments = json!({"operation": operation, "filePath": at.path, "line": at.line + 1, "character": at.character + 1});
            let (all, short, lines) = both(&mut client, &arguments);
            assert_eq!(lines.len(), all.len(), "{arguments}");
            for (line, row) in lines.iter().zip(&all) {
                assert!(line.starts_with(&as_line(corpus, row)), "{line} is {row}");
            }
            rows.push((format!("{operation} {name}"), [all.len(), chars_of_json(&mut client, &arguments), short]));
        }
    }
    yard.stop();
    rows.retain(|(_, [count, ..])| *count > 0);
    rows.sort_by_key(|(_, [_, json, _])| std::cmp::Reverse(*json));
    rows
}

#[test]
fn compact_lines_are_the_same_entries_in_a_fraction_of_the_length() {
    let corpus = Corpus::package(PYTHON);
    let names = [("click/core.py", "Context"), ("click/core.py", "Command"), ("click/utils.py", "echo")];
    let rows = compared(&corpus, &names);
    assert!(rows.len() >= 3, "{rows:?}");
    for (question, [count, json, compact]) in rows {
        // Both have the source lines; a call in JSON has five ranges.
        let least = if question.starts_with("incomingCalls") { 6 } else { 3 };
        assert!(
            json >= compact * least || count < 20,
            "{question}: {count} entries, {json} as JSON, {compact} compact"
        );
    }
}

/// The figures of `docs/internals/measurements/compact-answers.md`.
#[test]
#[ignore = "measures; needs Django"]
fn the_longest_answers_of_django() {
    let corpus = Corpus::django();
    println!("| question | results | JSON, characters | compact | ratio |\n|---|---|---|---|---|");
    for (question, [count, json, compact]) in compared(&corpus, &OF_DJANGO).iter().take(10) {
        let ratio = *json as f64 / *compact as f64;
        println!("| `{question}` | {count} | {json} | {compact} | {ratio:.1} |");
    }
}
