//! Compares an answer of codeyard with that of the bare server.
//!
//! Both are brought into one canonical form as the contract defines it, with none of codeyard's code: entries with an existing file
//! inside the root, sorted, without duplicates, truncated at the limits of the contract.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::questions::{BenchQuestion, PAGE_SIZE};
use codeyard_canon::limits::{MAX_HOVER_FRAGMENT_CHARS, MAX_HOVER_FRAGMENTS};
use codeyard_model::limits::MAX_ITEMS_NONPAGED;

/// A range in sort order: start line, start character, end line, end character.
type Range = [u64; 4];

/// The result of comparing two answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Comparison {
    /// They are equal.
    Same,
    /// They differ; a shortened description of the first difference.
    Different(String),
    /// Codeyard answered with this error code.
    Failed(String),
    /// The bare server answered with an error, so there is nothing to compare.
    Incomparable,
}

/// Compares answers. Caches the canonical paths of files.
#[derive(Debug)]
pub(crate) struct AnswerComparer {
    root: PathBuf,
    real: Mutex<HashMap<String, Option<PathBuf>>>,
}

impl AnswerComparer {
    /// A comparer for answers about the files below `root`, a canonical path.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.into(), real: Mutex::default() }
    }

    /// Compares two response messages.
    pub(crate) fn compare(&self, ask: &BenchQuestion, bare: &[u8], ours: &[u8]) -> Comparison {
        let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let bare = parse(bare);
        let ours = parse(ours);
        if let Some(error) = ours.get("error") {
            let code = error["data"]["code"].as_str().map_or_else(|| error["code"].to_string(), str::to_owned);
            let reason = error["data"]["details"]["reason"].as_str().unwrap_or_default();
            return Comparison::Failed(format!("{} {reason}", code.rsplit('/').next().unwrap_or_default()));
        }
        if bare.get("error").is_some() {
            return Comparison::Incomparable;
        }
        let right = self.expected(ask, &bare["result"]);
        let actual = self.actual(ask, &ours["result"]["structuredContent"]);
        if right == actual { Comparison::Same } else { Comparison::Different(difference(&right, &actual)) }
    }

    /// Whether two answers of bare servers are equal.
    pub(crate) fn agree(&self, ask: &BenchQuestion, one: &[u8], other: &[u8]) -> bool {
        let actual = |bytes: &[u8]| {
            let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
            self.expected(ask, &message["result"])
        };
        actual(one) == actual(other)
    }

    /// Number of references in an answer of the bare server, as the contract counts them.
    pub(crate) fn count(&self, bare: &[u8]) -> usize {
        self.places(bare).len()
    }

    /// The locations in an answer of the bare server.
    pub(crate) fn places(&self, bare: &[u8]) -> Vec<Value> {
        let bare: Value = serde_json::from_slice(bare).unwrap_or_default();
        self.locations(&bare["result"])
    }

    fn expected(&self, ask: &BenchQuestion, raw: &Value) -> Vec<Value> {
        match ask {
            BenchQuestion::Definition(_) => {
                let mut all = self.locations(raw);
                all.truncate(MAX_ITEMS_NONPAGED);
                all
            }
            BenchQuestion::References(_) => {
                let all = self.locations(raw);
                let more = json!(all.len() > PAGE_SIZE);
                all.into_iter().take(PAGE_SIZE).chain([more]).collect()
            }
            BenchQuestion::Hover(_) => hover(raw),
            BenchQuestion::Symbols(_) => symbols(raw),
        }
    }

    fn actual(&self, ask: &BenchQuestion, content: &Value) -> Vec<Value> {
        let location = |entry: &Value| json!([self.inside(&entry["uri"]), range(&entry["range"])]);
        match ask {
            BenchQuestion::Definition(_) => list(&content["locations"]).iter().map(location).collect(),
            BenchQuestion::References(_) => {
                let more = json!(content["nextCursor"].is_string());
                list(&content["items"]).iter().map(location).chain([more]).collect()
            }
            BenchQuestion::Hover(_) => list(&content["contents"]).iter().map(|part| part["value"].clone()).collect(),
            BenchQuestion::Symbols(_) => {
                let symbol = |entry: &Value| {
                    let container = entry["containerName"].as_str().unwrap_or_default();
                    json!([range(&entry["range"]), entry["name"], entry["kind"], container])
                };
                list(&content["symbols"]).iter().map(symbol).collect()
            }
        }
    }

    fn locations(&self, raw: &Value) -> Vec<Value> {
        let mut found: Vec<(PathBuf, Range)> = list(raw)
            .iter()
            .filter_map(|entry| {
                let linked = entry.get("targetUri").is_some();
                let (uri, place) = if linked { ("targetUri", "targetSelectionRange") } else { ("uri", "range") };
                Some((self.inside(&entry[uri])?, range(&entry[place])))
            })
            .collect();
        found.sort();
        found.dedup();
        found.into_iter().map(|(path, place)| json!([path, place])).collect()
    }

    /// The canonical path of a URI, if it is a file inside the root.
    fn inside(&self, uri: &Value) -> Option<PathBuf> {
        let uri = uri.as_str()?;
        let mut real = self.real.lock();
        let found = real.entry(uri.to_owned()).or_insert_with(|| {
            let path = decoded(uri.strip_prefix("file://")?)?.canonicalize().ok()?;
            (path.starts_with(&self.root) && path.is_file()).then_some(path)
        });
        found.clone()
    }
}

fn hover(raw: &Value) -> Vec<Value> {
    let parts = match &raw["contents"] {
        Value::Null => vec![],
        Value::Array(parts) => parts.clone(),
        part => vec![part.clone()],
    };
    let mut contents: Vec<(&str, String)> = parts
        .iter()
        .map(|part| match (part.as_str(), part["language"].as_str()) {
            (Some(text), _) => ("markdown", text.to_owned()),
            (_, Some(language)) => {
                ("markdown", format!("```{language}\n{}\n```", part["value"].as_str().unwrap_or("")))
            }
            _ if part["kind"] == "plaintext" => ("plaintext", part["value"].as_str().unwrap_or("").to_owned()),
            _ => ("markdown", part["value"].as_str().unwrap_or("").to_owned()),
        })
        .filter(|(_, text)| !text.trim().is_empty())
        .collect();
    contents.sort();
    contents.dedup();
    let cut = |text: String| text.chars().take(MAX_HOVER_FRAGMENT_CHARS).collect::<String>();
    contents.into_iter().take(MAX_HOVER_FRAGMENTS).map(|(_, text)| json!(cut(text))).collect()
}

fn symbols(raw: &Value) -> Vec<Value> {
    let mut flat = Vec::new();
    let mut waiting: Vec<(Option<String>, Value)> = list(raw).iter().map(|entry| (None, entry.clone())).collect();
    while let Some((parent, entry)) = waiting.pop() {
        let name = entry["name"].as_str().unwrap_or_default().to_owned();
        let own = entry.get("location").map_or(&entry["range"], |location| &location["range"]);
        let selection = range(entry.get("selectionRange").unwrap_or(own));
        let own_container = entry["containerName"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let container = parent.filter(|text| !text.is_empty()).or(own_container);
        let kind = entry["kind"].as_u64().unwrap_or(0);
        let last = container.is_none();
        flat.push((range(own), name.clone(), kind, last, container.unwrap_or_default(), selection));
        waiting.extend(list(&entry["children"]).iter().map(|child| (Some(name.clone()), child.clone())));
    }
    flat.sort();
    flat.dedup();
    let shown = flat.into_iter().take(MAX_ITEMS_NONPAGED);
    shown.map(|(range, name, kind, _, container, _)| json!([range, name, kind, container])).collect()
}

fn difference(right: &[Value], actual: &[Value]) -> String {
    let first = right.iter().zip(actual).find(|(one, other)| one != other);
    let shown = match first {
        Some((one, other)) => format!("expected {one}, got {other}"),
        None => "one list is longer than the other".to_owned(),
    };
    let short: String = shown.chars().take(300).collect();
    format!("{} and {} entries: {short}", right.len(), actual.len())
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![],
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    }
}

fn range(value: &Value) -> Range {
    let number = |end: &str, part: &str| value[end][part].as_u64().unwrap_or(u64::MAX);
    [number("start", "line"), number("start", "character"), number("end", "line"), number("end", "character")]
}

fn decoded(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::SourcePosition;

    fn add_compared(ask: &BenchQuestion, bare: &Value, ours: &Value) -> Comparison {
        let bytes = |value: &Value| value.to_string().into_bytes();
        AnswerComparer::new(Path::new("/")).compare(ask, &bytes(bare), &bytes(ours))
    }

    #[test]
    fn order_and_duplicates_are_ignored_but_extra_entries_are_not() {
        let file = std::fs::canonicalize("/proc/self/cmdline").unwrap();
        let at = SourcePosition { path: file.clone(), line: 0, character: 0 };
        let place = |line: u64| json!({"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}});
        let uri = format!("file://{}", file.display());
        let one = |line: u64| json!({"uri": uri, "range": place(line)});
        let bare = json!({"result": [one(2), one(1), one(2)]});
        let ours = |items: Value| json!({"result": {"structuredContent": {"items": items, "nextCursor": null}}});
        let ask = BenchQuestion::References(at);
        assert_eq!(add_compared(&ask, &bare, &ours(json!([one(1), one(2)]))), Comparison::Same);
        for wrong in [json!([one(1)]), json!([one(2), one(1)]), json!([one(1), one(2), one(3)])] {
            assert!(matches!(add_compared(&ask, &bare, &ours(wrong)), Comparison::Different(_)));
        }
        let error =
            json!({"error": {"code": -32603, "data": {"code": "X/CAP_EXCEEDED", "details": {"reason": "timeout"}}}});
        assert_eq!(add_compared(&ask, &bare, &error), Comparison::Failed("CAP_EXCEEDED timeout".into()));
        assert_eq!(add_compared(&ask, &json!({"error": {}}), &ours(json!([]))), Comparison::Incomparable);
    }

    #[test]
    fn nested_symbols_are_flattened() {
        let place = json!({"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 1}});
        let inner = json!({"name": "b", "kind": 6, "range": place, "selectionRange": place});
        let bare =
            json!({"result": [{"name": "a", "kind": 5, "range": place, "selectionRange": place, "children": [inner]}]});
        let flat = json!([
            {"name": "a", "kind": 5, "range": place, "selectionRange": place},
            {"name": "b", "kind": 6, "range": place, "selectionRange": place, "containerName": "a"},
        ]);
        let ours = json!({"result": {"structuredContent": {"symbols": flat}}});
        assert_eq!(add_compared(&BenchQuestion::Symbols("/a".into()), &bare, &ours), Comparison::Same);
    }
}
