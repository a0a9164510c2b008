//! The expected answers of the tool `lsp`, derived from the bare servers' answers as the contract specifies, without the product's
//! canonicalization.

use std::path::{Path, PathBuf};

use codeyard_base::visible::visible_line;
use codeyard_canon::limits::MAX_HOVER_FRAGMENT_CHARS;
use codeyard_engine::limits::MAX_PREVIEWS;
use codeyard_model::limits::MAX_PREVIEW_CHARS;
use serde_json::{Value, json};

use crate::bare::{Bare, fragments, key, list, text, unkey, uri_of};
use crate::question::At;

/// The operations at a position, with the requests they begin with.
pub(crate) const POSITIONAL: [(&str, &str); 7] = [
    ("goToDefinition", "textDocument/definition"),
    ("findReferences", "textDocument/references"),
    ("hover", "textDocument/hover"),
    ("goToImplementation", "textDocument/implementation"),
    ("prepareCallHierarchy", PREPARE),
    ("incomingCalls", PREPARE),
    ("outgoingCalls", PREPARE),
];
const PREPARE: &str = "textDocument/prepareCallHierarchy";

/// A query of the tool `lsp`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    /// One of [`POSITIONAL`], by index, with its position.
    At(usize, At),
    /// `documentSymbol`
    File(PathBuf),
    /// `workspaceSymbol`
    Name(String),
}

/// Sort key of a call hierarchy item: URI, range, the name's range, name, kind.
type Function = (String, [u64; 4], [u64; 4], String, u64);

/// Sort key of a document symbol: range, name, kind, the name's range.
type Sibling = ([u64; 4], String, u64, [u64; 4], Vec<Value>);

impl Op {
    /// All operations at a position.
    pub(crate) fn all_at(at: &At) -> impl Iterator<Item = Self> {
        (0..POSITIONAL.len()).map(|number| Self::At(number, at.clone()))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::At(number, _) => POSITIONAL[*number].0,
            Self::File(_) => "documentSymbol",
            Self::Name(_) => "workspaceSymbol",
        }
    }

    /// Server capability that this operation needs.
    fn provider(&self) -> &'static str {
        match self.name() {
            "goToDefinition" => "definitionProvider",
            "findReferences" => "referencesProvider",
            "hover" => "hoverProvider",
            "goToImplementation" => "implementationProvider",
            "documentSymbol" => "documentSymbolProvider",
            "workspaceSymbol" => "workspaceSymbolProvider",
            _ => "callHierarchyProvider",
        }
    }

    /// The file of the query.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::At(_, at) => Some(&at.path),
            Self::File(path) => Some(path),
            Self::Name(_) => None,
        }
    }

    /// The tool's arguments: lines and characters from 1.
    pub(crate) fn arguments(&self) -> Value {
        match self {
            Self::At(_, at) => json!({"operation": self.name(), "filePath": at.path, "line": at.line + 1,
                "character": at.character + 1}),
            Self::File(path) => json!({"operation": self.name(), "filePath": path}),
            Self::Name(query) => json!({"operation": self.name(), "query": query}),
        }
    }

    /// The title that the answer must have.
    pub(crate) fn title(&self, root: &Path) -> String {
        let relative = |path: &Path| path.strip_prefix(root).expect("below").display().to_string();
        match self {
            Self::At(_, at) => {
                format!("{} {}:{}:{}", self.name(), relative(&at.path), at.line + 1, at.character + 1)
            }
            Self::File(path) => format!("{} {}", self.name(), relative(path)),
            Self::Name(query) => format!("{} {query}", self.name()),
        }
    }
}

/// Expected result from the answers of servers in this order.
pub(crate) fn expected(servers: &mut [Bare], op: &Op) -> Value {
    for server in servers.iter_mut() {
        assert_eq!(server.encoding, "utf-16", "columns are compared as they come");
        if let Some(path) = op.path() {
            server.open(path);
        }
    }
    // Only servers that navigate search names, not linters.
    let asked = if matches!(op, Op::Name(_)) { 1 } else { servers.len() };
    let mut servers: Vec<&mut Bare> =
        servers.iter_mut().take(asked).filter(|server| server.offers(op.provider())).collect();
    let servers = servers.as_mut_slice();
    match op {
        Op::At(number, at) => match POSITIONAL[*number] {
            ("hover", method) => hover(servers, method, at),
            (name @ ("prepareCallHierarchy" | "incomingCalls" | "outgoingCalls"), _) => calls(servers, name, at),
            (name, method) => locations(servers, method, at, (name == "findReferences").then_some(true)),
        },
        Op::File(path) => {
            let params = json!({"textDocument": {"uri": uri_of(path)}});
            let mut all = Vec::new();
            for server in servers {
                all.extend(list(&server.request("textDocument/documentSymbol", &params).expect("symbols")));
            }
            Value::from(tree(all))
        }
        Op::Name(query) => symbols(servers, query),
    }
}

fn locations(servers: &mut [&mut Bare], method: &str, at: &At, declaration: Option<bool>) -> Value {
    let mut all = Vec::new();
    for server in servers.iter_mut() {
        let raw = server.at(method, &at.path, at.line, at.character, declaration);
        let here = server.locations(&raw);
        all.extend(here.iter().map(|place| (text(&place["uri"]).expect("a URI"), key(&place["range"]))));
    }
    all.sort();
    all.dedup();
    let is_of_references = method == "textDocument/references";
    let mut declared = Vec::new();
    for server in servers.iter_mut().filter(|server| is_of_references && server.offers("definitionProvider")) {
        let raw = server.at("textDocument/definition", &at.path, at.line, at.character, None);
        let places = server.locations(&raw);
        declared.extend(places.iter().map(|place| (text(&place["uri"]).expect("a URI"), start(&key(&place["range"])))));
    }
    all.sort_by_key(|(uri, range)| if declared.contains(&(uri.clone(), start(range))) { 0 } else { group(at, uri) });
    let rows = all.into_iter().enumerate().map(|(row, (uri, range))| {
        let preview = (is_of_references && row < MAX_PREVIEWS).then(|| source_line(servers[0], &uri, range[0]));
        with_preview(json!({"uri": uri, "range": unkey(range)}), preview.flatten())
    });
    rows.collect()
}

/// Line and character at which a range starts.
fn start(range: &[u64; 4]) -> [u64; 2] {
    [range[0], range[1]]
}

/// The file of the query, its folder, everything else.
fn group(at: &At, uri: &str) -> u8 {
    let own = uri_of(&at.path);
    let folder = |uri: &str| uri.rsplit_once('/').expect("a path").0.to_owned();
    match () {
        () if own == uri => 1,
        () if folder(&own) == folder(uri) => 2,
        () => 3,
    }
}

/// A line of a file as results show it.
fn source_line(server: &Bare, uri: &str, line: u64) -> Option<String> {
    let text = std::fs::read_to_string(server.inside(uri)?).ok()?.replace("\r\n", "\n").replace('\r', "\n");
    let line = text.split('\n').nth(line as usize)?.trim();
    Some(visible_line(line).chars().take(MAX_PREVIEW_CHARS).collect::<String>().trim_end().to_owned())
}

fn with_preview(mut row: Value, preview: Option<String>) -> Value {
    if let Some(preview) = preview {
        row["preview"] = json!(preview);
    }
    row
}

/// Parts of one server are separated by a blank line, servers by a rule; repeated parts are dropped, long ones are cut.
fn hover(servers: &mut [&mut Bare], method: &str, at: &At) -> Value {
    let mut said: Vec<String> = Vec::new();
    let mut range = None;
    let mut is_markdown = false;
    for server in servers {
        let raw = server.at(method, &at.path, at.line, at.character, None);
        let mut parts: Vec<String> = Vec::new();
        for (kind, part) in fragments(&raw) {
            is_markdown |= kind == "markdown";
            let part: String = part.chars().take(MAX_HOVER_FRAGMENT_CHARS).collect();
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            continue;
        }
        if said.is_empty() {
            range = raw["range"].is_object().then(|| unkey(key(&raw["range"])));
        }
        let whole = parts.join("\n\n");
        if !said.contains(&whole) {
            said.push(whole);
        }
    }
    if said.is_empty() {
        return Value::Null;
    }
    let kind = if is_markdown { "markdown" } else { "plaintext" };
    let mut hover = json!({"contents": {"kind": kind, "value": said.join("\n\n---\n\n")}});
    if let Some(range) = range {
        hover["range"] = range;
    }
    hover
}

/// Siblings, sorted by range, name, kind and the name's range; equal ones are merged.
fn tree(raw: Vec<Value>) -> Vec<Value> {
    let mut level: Vec<Sibling> = raw
        .iter()
        .map(|entry| {
            let name = entry["name"].as_str().expect("a name").to_owned();
            let kind = entry["kind"].as_u64().expect("a kind");
            (key(&entry["range"]), name, kind, key(&entry["selectionRange"]), list(&entry["children"]))
        })
        .collect();
    level.sort_by(|one, other| (one.0, &one.1, one.2, one.3).cmp(&(other.0, &other.1, other.2, other.3)));
    level.dedup_by(|next, kept| {
        let alike = (next.0, &next.1, next.2, next.3) == (kept.0, &kept.1, kept.2, kept.3);
        if alike {
            kept.4.append(&mut next.4);
        }
        alike
    });
    let written = level.into_iter().map(|(range, name, kind, selection, children)| {
        let mut symbol = json!({"name": name, "kind": kind, "range": unkey(range), "selectionRange": unkey(selection)});
        if !children.is_empty() {
            symbol["children"] = Value::from(tree(children));
        }
        symbol
    });
    written.collect()
}

/// Best match first, then the shorter name, then the name, then the location.
fn symbols(servers: &mut [&mut Bare], query: &str) -> Value {
    let mut found = Vec::new();
    for server in servers {
        let raw = server.request("workspace/symbol", &json!({"query": query})).expect("symbols");
        for entry in list(&raw) {
            let Some(path) = server.inside(entry["location"]["uri"].as_str().expect("a URI")) else { continue };
            let range = server.symbol_range(&path, &entry).map_or([0; 4], |range| key(&range));
            let name = entry["name"].as_str().expect("a name").to_owned();
            let kind = entry["kind"].as_u64().expect("a kind");
            let match_ = quality(&name, query);
            found.push((match_, name.chars().count(), name, uri_of(&path), range, kind, text(&entry["containerName"])));
        }
    }
    found.sort();
    found.dedup();
    let written = found.into_iter().map(|(_, _, name, uri, range, kind, container)| {
        let mut symbol = json!({"name": name, "kind": kind, "location": {"uri": uri, "range": unkey(range)}});
        if let Some(container) = container {
            symbol["containerName"] = json!(container);
        }
        symbol
    });
    written.collect()
}

/// Exact, exact ignoring case, prefix, prefix ignoring case, contained, the rest.
fn quality(name: &str, query: &str) -> usize {
    let small = name.to_lowercase();
    let asked = query.to_lowercase();
    let matches = [
        name == query,
        small == asked,
        name.starts_with(query),
        small.starts_with(&asked),
        small.contains(&asked),
        true,
    ];
    matches.iter().position(|matches| *matches).expect("the last one does")
}

fn calls(servers: &mut [&mut Bare], name: &str, at: &At) -> Value {
    let mut functions: Vec<Function> = Vec::new();
    let mut callers = std::collections::BTreeSet::new();
    let mut calls: Vec<(Function, Vec<[u64; 4]>)> = Vec::new();
    let (method, end) = match name {
        "incomingCalls" => ("callHierarchy/incomingCalls", "from"),
        _ => ("callHierarchy/outgoingCalls", "to"),
    };
    for server in servers.iter_mut() {
        let prepared = list(&server.at(PREPARE, &at.path, at.line, at.character, None));
        functions.extend(prepared.iter().filter_map(|item| function(server, item)));
        if name == "prepareCallHierarchy" {
            continue;
        }
        for item in prepared {
            for call in list(&server.request(method, &json!({"item": item})).expect("calls")) {
                let places = list(&call["fromRanges"]).iter().map(key).collect();
                callers.insert(text(&item["uri"]).expect("a URI"));
                calls.extend(function(server, &call[end]).map(|function| (function, places)));
            }
        }
    }
    if name == "prepareCallHierarchy" {
        functions.sort();
        functions.dedup();
        return functions.into_iter().map(written).collect();
    }
    // One entry per function, with the ranges of all its calls.
    let mut merged = std::collections::BTreeMap::<Function, std::collections::BTreeSet<[u64; 4]>>::new();
    for (function, places) in calls {
        merged.entry(function).or_default().extend(places);
    }
    let mut merged: Vec<_> = merged.into_iter().collect();
    merged.sort_by_key(|(function, _)| group(at, &function.0));
    // The calls of several functions may be in several files; then no file has the first one.
    let caller = callers.first().filter(|_| callers.len() == 1);
    let rows = merged.into_iter().map(|(function, places)| {
        let file = if end == "from" { Some(&function.0) } else { caller };
        let first = file.zip(places.first()).and_then(|(file, first)| source_line(servers[0], file, first[0]));
        let places: Vec<Value> = places.into_iter().map(unkey).collect();
        with_preview(json!({end: written(function), "fromRanges": places}), first)
    });
    rows.collect()
}

/// A function, if it is in a file inside the root.
fn function(server: &Bare, item: &Value) -> Option<Function> {
    let path = server.inside(item["uri"].as_str().expect("a URI"))?;
    let name = item["name"].as_str().expect("a name").to_owned();
    let kind = item["kind"].as_u64().expect("a kind");
    Some((uri_of(&path), key(&item["range"]), key(&item["selectionRange"]), name, kind))
}

fn written(function: Function) -> Value {
    let (uri, range, selection, name, kind) = function;
    json!({"name": name, "kind": kind, "uri": uri, "range": unkey(range), "selectionRange": unkey(selection)})
}
