//! The table of agent hosts in `docs/use/connect-an-agent.md`, made from what the host lab found (`tests/product/world/hosts/facts.json`).
//!
//! `UPDATE_DOCS=1 cargo test --test contract examples::` writes it.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

const PAGE: &str = "docs/use/connect-an-agent.md";
const BEGIN: &str = "<!-- hosts:begin -->\n";
const END: &str = "<!-- hosts:end -->";
const HEAD: &str = "| host | revision of MCP | `agent`: the model sees | 160 references | waits, errors, nothing found | question to a person | `lsp-v1-safe`: \
                    the model sees | `code`: the model sees |\n|---|---|---|---|---|---|---|---|\n";

/// Scenarios whose answer is a sentence, the word that is right, and what the table calls them.
const SENTENCES: [(&str, &str, &str); 4] = [
    ("cold", "yes", "not ready"),
    ("empty", "sentence", "nothing found"),
    ("missing", "sentence", "no such file"),
    ("nowhere", "sentence", "no identifier"),
];

/// Compares the block of the page, or writes it.
pub(crate) fn check() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let facts = fs::read_to_string(project.join("tests/product/world/hosts/facts.json")).expect("the lab's facts");
    let facts: Map<String, Value> = serde_json::from_str(&facts).expect("JSON");
    let page = fs::read_to_string(project.join(PAGE)).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the beginning of the block");
    let (found, after) = rest.split_once(END).expect("the page has the end of the block");
    let hosts = fs::read_to_string(project.join("tests/product/world/hosts/hosts.toml")).expect("the lab's hosts");
    let wanted = table(&facts, &toml::from_str(&hosts).expect("TOML"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(project.join(PAGE), format!("{before}{BEGIN}{wanted}{END}{after}")).expect("the page");
    } else {
        assert!(found == wanted, "{PAGE} is out of date; run with UPDATE_DOCS=1");
    }
}

fn table(facts: &Map<String, Value>, hosts: &toml::Table) -> String {
    let rows = hosts.iter().map(|(host, entry)| match entry.get("skip").and_then(toml::Value::as_str) {
        Some(reason) => {
            format!("| {} | not tested: {reason} |{}\n", entry["title"].as_str().unwrap_or(host), " – |".repeat(6))
        }
        None => row(&facts[host]),
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort_by_key(|row| row.to_lowercase());
    format!("{HEAD}{}", rows.concat())
}

fn row(facts: &Value) -> String {
    let name = format!("{} {}", text(&facts["title"]), version(facts));
    let agent = &facts["agent"];
    let cells = if text(&agent["connects"]) == "no" {
        let mut cells = vec!["doesn't connect".to_owned()];
        cells.resize(6, "–".to_owned());
        cells
    } else {
        vec![
            seen(agent),
            text(&agent["long"]).to_owned(),
            sentences(agent),
            text(&facts["ask"]["question"]).to_owned(),
            safe(&facts["safe"]),
            seen(&facts["code"]),
        ]
    };
    format!("| {name} | {} | {} |\n", revisions(facts), cells.join(" | "))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("–")
}

/// The version of the host's first package.
fn version(facts: &Value) -> &str {
    let package = text(&facts["packages"][0]);
    package.rsplit(['@', '=']).next().unwrap_or_default()
}

/// The revisions of the protocol that the host asks for; those over standard input and output stand apart if they differ.
fn revisions(facts: &Value) -> String {
    let listed = |value: &Value| {
        let all = value.as_array().into_iter().flatten().map(text);
        all.collect::<Vec<_>>().join(", ")
    };
    let http = listed(&facts["revisions"]);
    let stdio = listed(&facts["stdio"]["revisions"]);
    if http == stdio || stdio.is_empty() { http } else { format!("{http}; over stdio {stdio}") }
}

fn seen(run: &Value) -> String {
    let sees = text(&run["sees"]);
    if text(&run["connects"]) == "after a search" {
        format!("{sees}, after a search for the tool")
    } else {
        sees.to_owned()
    }
}

/// "yes", or what is lacking.
fn sentences(run: &Value) -> String {
    let lacking: Vec<String> = SENTENCES
        .iter()
        .filter(|(scenario, right, _)| text(&run[scenario]) != *right)
        .map(|(scenario, _, label)| format!("{label}: {}", text(&run[scenario])))
        .collect();
    if lacking.is_empty() { "yes".to_owned() } else { lacking.join("; ") }
}

fn safe(run: &Value) -> String {
    if text(&run["connects"]) == "no" {
        return "doesn't connect".to_owned();
    }
    let mut parts = vec![text(&run["sees"]).to_owned()];
    if text(&run["sees"]) != "nothing" && text(&run["long"]) != "all" {
        parts.push(format!("references {}", text(&run["long"])));
    }
    let lacking = sentences(run);
    if lacking != "yes" {
        parts.push(lacking);
    }
    parts.join("; ")
}
