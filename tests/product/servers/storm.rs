//! Many clients on many small, cold repositories: each error says when to come back, and every call that comes back then has its answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::{Mcp, pause};
use crate::running_server::Yard;
use crate::servers::corpus::{Corpus, PYTHON, TYPESCRIPT};
use crate::servers::operations::place;

/// Repositories of each language.
const REPOSITORIES: usize = 5;
const CLIENTS: usize = 20;
/// Attempts of one call, each after the advised time.
const ATTEMPTS: usize = 60;

/// A call and its endpoint below the workspace's.
struct StormCall {
    catalog: &'static str,
    tool: &'static str,
    arguments: Value,
}

/// The calls of one client about one repository: three of a language server, two of the code index.
fn calls(corpus: &Corpus) -> Vec<StormCall> {
    let file = if corpus.language.kind == "ty" { "harbour/books.py" } else { "src/books.ts" };
    let at = place(corpus, file, "due", 0);
    let position = json!({"uri": uri_of(&at.path), "position": {"line": at.line, "character": at.character}});
    let mut references = position.clone();
    references["includeDeclaration"] = json!(true);
    let lsp = |tool, arguments| StormCall { catalog: "lsp-v1", tool, arguments };
    let code = |tool, arguments| StormCall { catalog: "code", tool, arguments };
    vec![
        code("search_code", json!({"query": "due", "mode": "text"})),
        lsp("vscode.lsp.definition", position.clone()),
        lsp("vscode.lsp.references", references),
        code("locate_symbol", json!({"name": "due"})),
        lsp("vscode.lsp.hover", position),
    ]
}

/// Repeats a call as its errors advise. Returns the answer and the number of errors.
fn follow_advice(client: &mut Mcp, call: &StormCall) -> (Value, usize) {
    for errors in 0..ATTEMPTS {
        let body = client.call_text(call.tool, &call.arguments);
        let response: Value = serde_json::from_str(&body).expect("JSON");
        let failed = response.get("error").map(|error| error["data"]["details"].clone());
        // The catalog `code` has its errors in the result.
        let failed = failed.or_else(|| {
            let result = &response["result"];
            (result["isError"] == true).then(|| result["structuredContent"]["error"]["data"].clone())
        });
        // An index that is being built may answer with what it has, if it says so and when to ask again.
        let metadata = &response["result"]["structuredContent"]["metadata"];
        let partial =
            (metadata["result_completeness"] == "partial").then(|| json!({"retryAfterMs": metadata["retry_after_ms"]}));
        let Some(details) = failed.or(partial) else {
            return (response["result"]["structuredContent"].clone(), errors);
        };
        let advised = details["retryAfterMs"].as_u64();
        pause(
            advised.unwrap_or_else(|| panic!("{} has an error or a partial answer without advice: {body}", call.tool)),
        );
    }
    panic!("{} {}: no answer after {ATTEMPTS} attempts", call.tool, call.arguments);
}

/// What must be the same for all clients: places, without texts that name times and states.
fn essence(answer: &Value, root: &str) -> String {
    let rows = ["items", "locations", "contents"].iter().find_map(|key| answer.get(*key));
    let found = answer["results"].as_array().map(|rows| {
        rows.iter().map(|row| format!("{}:{}", row["path"], row["line_start"])).collect::<Vec<_>>().join(" ")
    });
    found.unwrap_or_else(|| rows.expect("rows").to_string()).replace(root, "")
}

#[test]
fn twenty_clients_on_ten_cold_repositories_get_every_answer_by_following_advice() {
    let corpora: Vec<Corpus> = (0..REPOSITORIES).flat_map(|_| [PYTHON, TYPESCRIPT].map(Corpus::harbour)).collect();
    let names: Vec<String> = (0..corpora.len()).map(|number| format!("cold{number}")).collect();
    let workspaces = names.iter().zip(&corpora).map(|(name, corpus)| corpus.workspace(name));
    let mut yard = Yard::serve(&workspaces.collect::<String>());
    let served = &yard;
    let ask = |number: usize| {
        let repository = number % corpora.len();
        let corpus = &corpora[repository];
        let root = uri_of(&corpus.root);
        let mut answers = Vec::new();
        let mut errors = 0;
        for call in calls(corpus) {
            let path = format!("/mcp/{}/{}", names[repository], call.catalog);
            let mut client = Mcp::connect(&served.address, &path, Some(&served.token));
            let (answer, failed) = follow_advice(&mut client, &call);
            answers.push(essence(&answer, &root));
            errors += failed;
        }
        (repository % 2, answers, errors)
    };
    let answers: Vec<(usize, Vec<String>, usize)> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || ask(number))).collect();
        asked.into_iter().map(|asked| asked.join().expect("every answer")).collect()
    });
    let mut expected: BTreeMap<usize, &Vec<String>> = BTreeMap::new();
    for (language, found, _) in &answers {
        assert!(found.iter().all(|answer| !answer.is_empty() && answer != "[]"), "{found:?}");
        assert_eq!(found, *expected.entry(*language).or_insert(found), "equal sources have equal answers");
    }
    let errors: usize = answers.iter().map(|(_, _, errors)| errors).sum();
    println!("{} calls, {errors} errors with advice", CLIENTS * 5);
    assert!(!yard.log().contains("language server ended"), "{}", yard.log());
    assert_eq!((yard.running("ty").len(), yard.running("tsc").len()), (REPOSITORIES, REPOSITORIES), "one for each");
    yard.stop();
    corpora.iter().for_each(Corpus::assert_untouched);
}
