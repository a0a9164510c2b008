//! Renders the answers of tools as text: locations with their source lines, hover texts, symbols, diagnostics.
//!
//! Lines and columns count from 1, as editors show them; columns count UTF-16 units. Missing or unknown fields are omitted, so an
//! answer of another shape still prints what it has.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use codeyard_lsp::limits::MAX_DOCUMENT_BYTES;
use codeyard_model::compact;
use codeyard_model::uri::percent_decode;

/// Renders an answer of the catalog `code`: rows as `codeyard search` prints them, anything else as JSON.
fn code_answer(content: &Value) -> Vec<String> {
    let Some(rows) = content["results"].as_array() else {
        return serde_json::to_string_pretty(content).unwrap_or_default().lines().map(str::to_owned).collect();
    };
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let workspace = row["workspace"].as_str().map(|name| format!("{name}/")).unwrap_or_default();
        let at = format!("{workspace}{}:{}", text(row, "path"), row["line_start"]);
        lines.push(match row["text"].as_str() {
            Some(line) => format!("{at}:{line}"),
            None => format!("{at}: {} {}", text(row, "kind"), text(row, "name")),
        });
        lines.extend(row["signature"].as_str().map(|signature| format!("    {signature}")));
    }
    let total = content["total_candidates"].as_u64().unwrap_or_default();
    lines.push(format!("{} of {total}; {}.", rows.len(), text(&content["metadata"], "freshness_status")));
    lines
}

/// Names of the LSP severities; the first is severity 1.
const SEVERITIES: [&str; 4] = ["error", "warning", "information", "hint"];
/// Longest shown source line in characters; longer ones are cut.
const MAX_LINE: usize = 120;

/// Renders answers. Caches the lines of the files that they refer to.
pub(crate) struct Renderer {
    base: PathBuf,
    texts: HashMap<String, Vec<String>>,
}

impl Renderer {
    /// A renderer that shows paths below `base` relative to it.
    pub(crate) fn new(base: &Path) -> Self {
        Self { base: base.canonicalize().unwrap_or_else(|_| base.to_owned()), texts: HashMap::new() }
    }

    /// Renders a `structuredContent` as lines, the summary last.
    pub(crate) fn answer(&mut self, content: &Value) -> Vec<String> {
        if content["metadata"].get("codecompass_protocol_version").is_some() {
            return code_answer(content);
        }
        if let Some(metadata) = content.get("metadata") {
            return self.agent_answer(metadata);
        }
        let mut lines = Vec::new();
        let uri = content["uri"].as_str();
        for key in ["locations", "items", "symbols"] {
            for item in content[key].as_array().into_iter().flatten() {
                self.item(item, &mut lines);
            }
        }
        for diagnostic in content["diagnostics"].as_array().into_iter().flatten() {
            lines.push(self.diagnostic(uri.unwrap_or_default(), diagnostic));
        }
        for fragment in content["contents"].as_array().into_iter().flatten() {
            lines.extend(fragment["value"].as_str().unwrap_or_default().lines().map(str::to_owned));
        }
        let more = content["nextCursor"].as_str().map(|cursor| format!("more with \"cursor\": \"{cursor}\""));
        lines.extend(content["summary"].as_str().map(str::to_owned));
        lines.extend(more);
        lines
    }

    /// Renders an answer of the tool `lsp`.
    fn agent_answer(&mut self, metadata: &Value) -> Vec<String> {
        let result = &metadata["result"];
        let mut lines: Vec<String> =
            result["contents"]["value"].as_str().unwrap_or_default().lines().map(str::to_owned).collect();
        for item in result.as_array().into_iter().flatten() {
            match [&item["from"], &item["to"]].into_iter().find(|other| other.is_object()) {
                Some(other) => {
                    let at = self.location(other["uri"].as_str().unwrap_or_default(), &other["selectionRange"]);
                    let calls = item["fromRanges"].as_array().into_iter().flatten().map(position);
                    let calls = calls.collect::<Vec<_>>().join(", ");
                    lines.push(format!("{at}  {} (calls at {calls})", other["name"].as_str().unwrap_or_default()));
                }
                None => self.tree(item, 0, &mut lines),
            }
        }
        lines.extend(result.as_str().unwrap_or_default().lines().map(str::to_owned));
        // It says everything else: what is missing and why, and how to go on.
        lines.extend(metadata["hint"].as_str().unwrap_or_default().lines().map(str::to_owned));
        if lines.is_empty() {
            lines.push("No results found.".to_owned());
        }
        lines
    }

    /// Renders a symbol or location with its children. The nesting limit of the JSON parser bounds the recursion.
    fn tree(&mut self, item: &Value, depth: usize, lines: &mut Vec<String>) {
        let from = lines.len();
        self.item(item, lines);
        for line in &mut lines[from..] {
            line.insert_str(0, &"  ".repeat(depth));
        }
        for child in item["children"].as_array().into_iter().flatten() {
            self.tree(child, depth + 1, lines);
        }
    }

    fn item(&mut self, item: &Value, lines: &mut Vec<String>) {
        if let Some(diagnostics) = item["diagnostics"].as_array() {
            let uri = item["uri"].as_str().unwrap_or_default();
            lines.extend(diagnostics.iter().map(|diagnostic| self.diagnostic(uri, diagnostic)));
        } else if let Some(name) = item["name"].as_str() {
            lines.push(self.symbol(name, item));
        } else if let Some(uri) = item["uri"].as_str() {
            lines.push(format!("{}  {}", self.location(uri, &item["range"]), self.source(uri, &item["range"])));
        }
    }

    fn symbol(&self, name: &str, item: &Value) -> String {
        let kind = item["kind"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let kind = compact::kind(kind).replace('-', " ");
        let container = item["containerName"].as_str().map(|of| format!(" in {of}")).unwrap_or_default();
        let at = match (item["location"]["uri"].as_str(), item["uri"].as_str()) {
            (Some(uri), _) => self.location(uri, &item["location"]["range"]),
            (None, Some(uri)) => self.location(uri, &item["selectionRange"]),
            (None, None) => position(&item["selectionRange"]),
        };
        format!("{at}  {kind} {name}{container}")
    }

    fn diagnostic(&self, uri: &str, diagnostic: &Value) -> String {
        let severity = name_of(&SEVERITIES, &diagnostic["severity"]).unwrap_or("diagnostic");
        let message = diagnostic["message"].as_str().unwrap_or_default().replace('\n', " ");
        let from: Vec<&str> = ["source", "code"].iter().filter_map(|key| diagnostic[key].as_str()).collect();
        let from = if from.is_empty() { String::new() } else { format!(" [{}]", from.join(" ")) };
        format!("{}  {severity}: {message}{from}", self.location(uri, &diagnostic["range"]))
    }

    fn location(&self, uri: &str, range: &Value) -> String {
        let path = path_of(uri);
        let shown = path.strip_prefix(&self.base).unwrap_or(&path);
        format!("{}:{}", shown.display(), position(range))
    }

    /// The source line at the start of a range, without leading whitespace.
    fn source(&mut self, uri: &str, range: &Value) -> String {
        let lines = self.texts.entry(uri.to_owned()).or_insert_with(|| read_lines(&path_of(uri)));
        let line = range["start"]["line"].as_u64().and_then(|line| usize::try_from(line).ok());
        let text = line.and_then(|line| lines.get(line)).map(|text| text.trim()).unwrap_or_default();
        text.chars().take(MAX_LINE).collect()
    }
}

/// Line and column of the start of a range, from 1.
fn position(range: &Value) -> String {
    let from_one = |key: &str| range["start"][key].as_u64().map_or(0, |number| number.saturating_add(1));
    format!("{}:{}", from_one("line"), from_one("character"))
}

fn name_of(names: &[&'static str], number: &Value) -> Option<&'static str> {
    let at = usize::try_from(number.as_u64()?).ok()?.checked_sub(1)?;
    names.get(at).copied()
}

fn path_of(uri: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    std::ffi::OsString::from_vec(percent_decode(path.as_bytes())).into()
}

fn read_lines(path: &Path) -> Vec<String> {
    let small = std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_DOCUMENT_BYTES as u64);
    let bytes = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codeyard_model::uri::encode_path;

    #[test]
    fn every_shape_of_answer_is_rendered() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let file = base.join("a b.py");
        std::fs::write(&file, "one\n    def two():\n").unwrap();
        let uri = encode_path(&file);
        let range = json!({"start": {"line": 1, "character": 8}, "end": {"line": 1, "character": 11}});
        let wrong = json!({"range": range, "severity": 1, "code": "E1", "source": "ty", "message": "a\nb"});
        let cases = [
            (json!({"locations": [{"uri": uri, "range": range}]}), vec!["a b.py:2:9  def two():"]),
            (
                json!({"symbols": [{"name": "two", "kind": 12, "selectionRange": range, "containerName": "One"}]}),
                vec!["2:9  function two in One"],
            ),
            (
                json!({"items": [{"name": "T", "kind": 5, "location": {"uri": uri, "range": range}}], "nextCursor": "xyz"}),
                vec!["a b.py:2:9  class T", "more with \"cursor\": \"xyz\""],
            ),
            (json!({"uri": uri, "diagnostics": [wrong]}), vec!["a b.py:2:9  error: a b [ty E1]"]),
            (
                json!({"items": [{"uri": uri, "diagnostics": [wrong]}], "summary": "One."}),
                vec!["a b.py:2:9  error: a b [ty E1]", "One."],
            ),
            (json!({"contents": [{"kind": "markdown", "value": "```c\nint f\n```"}]}), vec!["```c", "int f", "```"]),
            (
                json!({"metadata": {"result": [{"name": "C", "kind": 5, "selectionRange": range,
                    "children": [{"name": "m", "kind": 6, "selectionRange": range}]}]}}),
                vec!["2:9  class C", "  2:9  method m"],
            ),
            (
                json!({"metadata": {"result": [{"from": {"name": "f", "uri": uri, "selectionRange": range}, "fromRanges": [range]}],
                    "outside": 2, "hint": "2 results outside the allowed roots were left out."}}),
                vec!["a b.py:2:9  f (calls at 2:9)", "2 results outside the allowed roots were left out."],
            ),
            (
                json!({"metadata": {"result": "a.py:1:1  x\nb.py:2:2  y", "hint": "h"}}),
                vec!["a.py:1:1  x", "b.py:2:2  y", "h"],
            ),
            (json!({"metadata": {"result": null}}), vec!["No results found."]),
            (json!({"metadata": {"result": {"contents": {"kind": "markdown", "value": "a\nb"}}}}), vec!["a", "b"]),
            (
                json!({"metadata": {"codecompass_protocol_version": "1.0", "freshness_status": "fresh"}, "total_candidates": 2, "results": [
                    {"path": "a.py", "line_start": 1, "kind": "fn", "name": "two", "workspace": "svc"},
                    {"path": "a.py", "line_start": 3, "text": "two()"}]}),
                vec!["svc/a.py:1: fn two", "a.py:3:two()", "2 of 2; fresh."],
            ),
            (json!({"unknown": 1}), vec![]),
        ];
        for (content, wanted) in cases {
            assert_eq!(Renderer::new(dir.path()).answer(&content), wanted, "{content}");
        }
    }
}
