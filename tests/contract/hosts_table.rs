//! The tables of agent hosts in `docs/use/connect-an-agent.md` and of client libraries in `docs/internals/reference/client-libraries.md`, made from
//! what the host lab found (`tests/product/world/hosts/facts.json`).
//!
//! `UPDATE_DOCS=1 cargo test --test contract examples::` writes them.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

/// One of the two tables.
struct HostsTable {
    page: &'static str,
    begin: &'static str,
    end: &'static str,
    head: &'static str,
    /// The row of a host with these facts and this entry in `hosts.toml`.
    row: fn(&Value, &toml::Value) -> Vec<String>,
}

const HOSTS: HostsTable = HostsTable {
    page: "docs/use/connect-an-agent.md",
    begin: "<!-- hosts:begin -->\n",
    end: "<!-- hosts:end -->",
    head: "| host | revision of MCP | `agent`: the model sees | 160 references | waits, errors, nothing found | question to a person | `lsp-v1-safe`: \
           the model sees | `code`: the model sees |\n|---|---|---|---|---|---|---|---|\n",
    row: host_cells,
};

const LIBRARIES: HostsTable = HostsTable {
    page: "docs/internals/reference/client-libraries.md",
    begin: "<!-- libraries:begin -->\n",
    end: "<!-- libraries:end -->",
    head: "| library | take | `agent`: the model sees | 160 references | waits, errors, nothing found | `lsp-v1-safe`: the model sees | its waits and \
           errors | a refused call | what the library needs |\n|---|---|---|---|---|---|---|---|---|\n",
    row: library_cells,
};

/// Scenarios whose answer is a sentence, the word that is right, and what the table calls them.
const SENTENCES: [(&str, &str, &str); 4] = [
    ("cold", "yes", "not ready"),
    ("empty", "sentence", "nothing found"),
    ("missing", "sentence", "no such file"),
    ("nowhere", "sentence", "no identifier"),
];

/// Compares the blocks of the pages, or writes them.
pub(crate) fn check() {
    let read = |name: &str| fs::read_to_string(project().join("tests/product/world/hosts").join(name)).expect("a file");
    let facts: Map<String, Value> = serde_json::from_str(&read("facts.json")).expect("JSON");
    let entries: toml::Table = toml::from_str(&read("hosts.toml")).expect("TOML");
    let (libraries, hosts): (Vec<_>, Vec<_>) = entries.iter().partition(|(_, entry)| entry.get("pip").is_some());
    HOSTS.check(&facts, &hosts);
    LIBRARIES.check(&facts, &libraries);
}

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl HostsTable {
    fn check(&self, facts: &Map<String, Value>, entries: &[(&String, &toml::Value)]) {
        let path = project().join(self.page);
        let page = fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(self.begin).expect("the page has the beginning of the block");
        let (found, after) = rest.split_once(self.end).expect("the page has the end of the block");
        let wanted = self.table(facts, entries);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(path, format!("{before}{}{wanted}{}{after}", self.begin, self.end)).expect("the page");
        } else {
            assert!(found == wanted, "{} is out of date; run with UPDATE_DOCS=1", self.page);
        }
    }

    fn table(&self, facts: &Map<String, Value>, entries: &[(&String, &toml::Value)]) -> String {
        let rows = entries.iter().map(|(host, entry)| {
            let cells = match entry.get("skip").and_then(toml::Value::as_str) {
                Some(reason) => {
                    vec![entry["title"].as_str().unwrap_or(host).to_owned(), format!("not tested: {reason}")]
                }
                None => (self.row)(&facts[*host], entry),
            };
            let columns = self.head.lines().next().map_or(0, |head| head.matches('|').count() - 1);
            let rest = " – |".repeat(columns.saturating_sub(cells.len()));
            format!("| {} |{rest}\n", cells.join(" | "))
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort_by_key(|row| row.to_lowercase());
        format!("{}{}", self.head, rows.concat())
    }
}

fn name(facts: &Value) -> String {
    format!("{} {}", text(&facts["title"]), version(facts))
}

fn host_cells(facts: &Value, _: &toml::Value) -> Vec<String> {
    let agent = &facts["agent"];
    let mut cells = vec![name(facts), revisions(facts)];
    if !connects(agent) {
        cells.push("doesn't connect".to_owned());
        return cells;
    }
    cells.extend([
        seen(agent),
        text(&agent["long"]).to_owned(),
        sentences(agent),
        text(&facts["ask"]["question"]).to_owned(),
        safe(&facts["safe"]),
        seen(&facts["code"]),
    ]);
    cells
}

fn library_cells(facts: &Value, entry: &toml::Value) -> Vec<String> {
    let agent = &facts["agent"];
    let safe = &facts["safe"];
    let take = if text(&agent["sees"]) == "both" { "`agent?content=text`" } else { "`agent`" };
    vec![
        name(facts),
        take.to_owned(),
        seen(agent),
        text(&agent["long"]).to_owned(),
        sentences(agent),
        pages(safe),
        if connects(safe) { sentences(safe) } else { "–".to_owned() },
        repeats(facts),
        entry["needs"].as_str().expect("a text").to_owned(),
    ]
}

/// How often the library sends a call that is refused.
fn repeats(facts: &Value) -> String {
    let sent = ["agent", "safe"].map(|run| facts[run]["refused call"].as_str().unwrap_or("sent once"));
    if sent[0] == sent[1] { sent[0].to_owned() } else { format!("{}; `lsp-v1-safe`: {}", sent[0], sent[1]) }
}

fn connects(run: &Value) -> bool {
    text(&run["connects"]) != "no"
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

/// What is seen, and what is lacking of a long answer.
fn pages(run: &Value) -> String {
    if !connects(run) {
        return "doesn't connect".to_owned();
    }
    match (text(&run["sees"]), text(&run["long"])) {
        (sees @ "nothing", _) | (sees, "all") => sees.to_owned(),
        (sees, long) => format!("{sees}; references {long}"),
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
    let mut parts = vec![pages(run)];
    let lacking = sentences(run);
    if connects(run) && lacking != "yes" {
        parts.push(lacking);
    }
    parts.join("; ")
}
