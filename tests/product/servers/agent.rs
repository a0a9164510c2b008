//! The tool `lsp` over MCP: one query, its errors, and all pages of an answer. Checks the invariants of every reply.

use codeyard_test_support::page_text::page_text;
use serde_json::{Value, json};

use crate::mcp::{Mcp, pause};
use crate::running_server::Yard;

/// Longest `output`, in code points.
pub(crate) const MOST_CHARS: usize = codeyard_model::limits::DEFAULT_PAGE_CHARS;
/// Attempts while a server isn't ready.
const ATTEMPTS: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub title: String,
    pub metadata: Value,
    pub output: String,
}

/// A reply that is an error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// `metadata.error`
    pub error: Value,
    pub output: String,
}

impl Answer {
    /// `metadata.result`
    pub(crate) fn result(&self) -> &Value {
        &self.metadata["result"]
    }

    /// Where the next page begins.
    pub(crate) fn next(&self) -> Option<&str> {
        self.metadata["nextCursor"].as_str()
    }
}

/// A client with both catalogs.
pub(crate) fn client(yard: &Yard, workspace: &str) -> Mcp {
    Mcp::connect(&yard.address, &format!("/mcp/{workspace}/lsp-v1+agent"), Some(&yard.token))
}

/// Whether the answer reports a server that wasn't ready in time.
pub(crate) fn is_early(answer: &Answer) -> bool {
    let passed_over = answer.metadata["passedOver"].as_array().map(Vec::as_slice).unwrap_or_default();
    let reason =
        |one: &Value| one.as_str().and_then(|one| one.rsplit(": ").next().map(String::from)).expect("a reason");
    passed_over.iter().any(|one| ["starting", "indexing", "timeout"].contains(&reason(one).as_str()))
}

pub(crate) fn attempt(client: &mut Mcp, arguments: &Value) -> Result<Answer, Refusal> {
    let body = client.call_text("lsp", arguments);
    let response: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let result = &response["result"];
    let content = result["content"].as_array().unwrap_or_else(|| panic!("{arguments}: {body}"));
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{body}");
    let output = content[0]["text"].as_str().expect("a text").to_owned();
    let metadata = result["structuredContent"]["metadata"].clone();
    if result["isError"] == true {
        return Err(Refusal { error: metadata["error"].clone(), output });
    }
    assert_eq!(result["isError"], false, "{body}");
    let title = result["structuredContent"]["title"].as_str().expect("a title").to_owned();
    let answer = Answer { title, metadata, output };
    check(&answer, arguments);
    Ok(answer)
}

/// Retries until there is an answer, or an error that more time wouldn't fix.
pub(crate) fn ask(client: &mut Mcp, arguments: &Value) -> Result<Answer, Refusal> {
    for _ in 0..ATTEMPTS {
        match attempt(client, arguments) {
            Err(refusal) if refusal.error["reason"] == "timeout" => {
                assert!(!refusal.output.contains("No results"), "{refusal:?}");
                pause(refusal.error["retryAfterMs"].as_u64().expect("a hint").min(2_000));
            }
            Ok(answer) if is_early(&answer) => pause(100),
            outcome => return outcome,
        }
    }
    panic!("{arguments}: no answer after {ATTEMPTS} attempts");
}

/// All pages of an answer as one list, with the number of pages.
pub(crate) fn whole(client: &mut Mcp, arguments: &Value) -> Result<(Value, usize), Refusal> {
    let mut page = ask(client, arguments)?;
    let title = page.title.clone();
    let total = page.metadata["total"].clone();
    let mut result = page.result().clone();
    let mut pages = 1;
    while let Some(cursor) = page.next() {
        let mut further = arguments.clone();
        further["cursor"] = json!(cursor);
        page = ask(client, &further)?;
        assert_eq!((&page.title, &page.metadata["total"]), (&title, &total), "all pages have the same total and title");
        let (Value::Array(all), Value::Array(more)) = (&mut result, page.result().clone()) else { panic!("{page:?}") };
        join(all, more);
        pages += 1;
    }
    if total.is_u64() {
        assert_eq!(total, json!(count(&result)), "{arguments}");
    }
    Ok((result, pages))
}

/// Adds a page. A page that begins inside symbols repeats those; siblings are unique, so an equal one is a repetition.
fn join(all: &mut Vec<Value>, mut more: Vec<Value>) {
    let same = |one: &Value, other: &Value| {
        one.get("selectionRange").is_some()
            && ["name", "kind", "range", "selectionRange"].iter().all(|member| one[*member] == other[*member])
    };
    let inside = match (all.last_mut(), more.first_mut()) {
        (Some(last), Some(first)) if same(last, first) => Some((last, first["children"].take())),
        _ => None,
    };
    if let Some((last, Value::Array(children))) = inside {
        more.remove(0);
        match &mut last["children"] {
            Value::Array(there) => join(there, children),
            missing => *missing = Value::Array(children),
        }
    }
    all.extend(more);
}

/// Entries of all depths.
fn count(result: &Value) -> usize {
    let entries = result.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().map(|entry| 1 + count(&entry["children"])).sum()
}

/// Checks the invariants of every answer.
fn check(answer: &Answer, arguments: &Value) {
    let operation = arguments["operation"].as_str().expect("an operation");
    assert!(answer.title.starts_with(&format!("{operation} ")), "{answer:?}");
    let most = arguments["pageChars"].as_u64().map_or(MOST_CHARS, |chars| chars as usize);
    assert!(answer.output.chars().count() <= most, "{} code points", answer.output.chars().count());
    let result = answer.metadata.get("result").unwrap_or_else(|| panic!("{answer:?}"));
    let is_empty = result.is_null() || *result == json!([]) || *result == json!("");
    if is_empty && answer.metadata["total"].as_u64().unwrap_or_default() == 0 {
        let said = answer.output.lines().next();
        assert_eq!(said, Some(format!("No results found for {operation}").as_str()), "{answer:?}");
    } else if let Some(lines) = result.as_str() {
        let hint = answer.metadata["hint"].as_str().unwrap_or_default();
        if answer.metadata["nextCursor"].is_string() {
            // A page of a list has no empty line; other texts may.
            assert_eq!(page_text(&answer.output, true), (lines, hint.to_owned()), "{answer:?}");
        } else {
            let hint = if hint.is_empty() { String::new() } else { format!("\n\n{hint}") };
            assert_eq!(answer.output, format!("{lines}{hint}"));
        }
    } else {
        let (list, sentences) = page_text(&answer.output, answer.metadata["nextCursor"].is_string());
        assert_eq!(answer.metadata["hint"].as_str().unwrap_or_default(), sentences, "{answer:?}");
        let passed_over: Value = serde_json::from_str(list).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
        assert_eq!(passed_over, *result, "`output` and `metadata.result` are the same JSON");
        let second = list.lines().nth(1).unwrap_or_default();
        assert!(second.starts_with("  ") && !second.starts_with("   "), "indented by 2: {second:?}");
    }
}
