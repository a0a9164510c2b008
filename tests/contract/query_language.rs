//! `docs/internals/reference/query-language.md`: every example is read as the page says.

use std::path::PathBuf;

use codeyard_model::code::{ParsedSearch, SearchQuery, TermSubject};

/// The rows of all tables with this head.
fn tables(head: &str) -> Vec<(String, String)> {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/internals/reference/query-language.md");
    let text = std::fs::read_to_string(page).unwrap();
    let mut rows = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line == head) {
        for line in lines.by_ref().skip(1).take_while(|line| line.starts_with('|')) {
            let (query, meaning) = line.strip_prefix("| `").unwrap().split_once("` | ").unwrap();
            rows.push((query.to_owned(), meaning.strip_suffix(" |").unwrap().to_owned()));
        }
    }
    rows
}

fn meaning(parsed: &ParsedSearch) -> String {
    let term = |term: &codeyard_model::code::QueryTerm| {
        let subject = match &term.subject {
            TermSubject::Word(text) => format!("word {text}"),
            TermSubject::Phrase(text) => format!("phrase {text}"),
            TermSubject::Regex(text) => format!("expression {text}"),
            TermSubject::Filter(name, value) => format!("{} {value}", name.as_str()),
        };
        if term.is_excluded { format!("not {subject}") } else { subject }
    };
    parsed.terms.iter().map(term).collect::<Vec<_>>().join("; ")
}

#[test]
fn examples_are_read_as_the_page_says() {
    let rows = tables("| query | is read as |");
    assert!(rows.len() > 20, "{rows:?}");
    for (query, expected) in rows {
        assert_eq!(meaning(&ParsedSearch::parse(&query).unwrap()), expected, "{query}");
    }
}

#[test]
fn errors_are_those_of_the_page_and_the_tool_gives_them() {
    let rows = tables("| query | is refused, because |");
    assert!(rows.len() > 4, "{rows:?}");
    for (text, reason) in rows {
        let query = SearchQuery { text: text.clone(), ..SearchQuery::default() };
        let error = query.with_language().expect_err(&text).to_string();
        assert!(error.starts_with(&reason), "{text}: {error}");
        let refused = crate::code::refusal("search_code", &serde_json::json!({"query": text}));
        assert_eq!((&refused["message"], &refused["data"]["reason"]), (&error.into(), &"language".into()), "{text}");
    }
}
