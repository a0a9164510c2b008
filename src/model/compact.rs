//! Results of the tool `lsp` as text, one line per entry: `path:line:character`, two spaces, and what is there.
//!
//! It doesn't choose the entries of a page. Invariants: lines and characters count from 1, as those of arguments do; a path is relative to
//! the first root, or absolute in any other, or a URI where it would need escapes, so that it can be passed back as `filePath`; no entry but
//! a hover has a line break.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use super::lsp_items::{CallItem, LspItems, OutlineEntry, ResultPaths};
use super::position::{Position, Range};
use super::uri::CanonicalUri;
use codeyard_base::visible::visible_line;

/// The names of LSP's symbol kinds, from 1.
const KINDS: [&str; 26] = [
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enum-member", "struct", "event", "operator", "type-parameter",
];

/// The text of all entries.
pub fn text(found: &LspItems, paths: &ResultPaths) -> String {
    let lines: Vec<String> = (0..found.len()).map(|at| entry(found, at, paths)).collect();
    lines.join("\n")
}

fn entry(found: &LspItems, at: usize, paths: &ResultPaths) -> String {
    let root = paths.root.as_path();
    let place = |uri: &CanonicalUri, position: Position| place(root, Some(uri), position);
    match found {
        LspItems::Locations(list) => with_line(place(&list[at].uri, list[at].range.start), list[at].preview.as_deref()),
        LspItems::Hover(hover) => hover.as_ref().map(|hover| hover.contents.value.clone()).unwrap_or_default(),
        LspItems::Outline(list) => outline_line(&list[at], root, paths.document.as_ref()),
        LspItems::Symbols(list) => {
            let symbol = &list[at];
            let mut line = format!(
                "{}  {} {}",
                place(&symbol.location.uri, symbol.location.range.start),
                kind(symbol.kind),
                visible_line(&symbol.name)
            );
            if let Some(container) = symbol.container_name.as_deref().filter(|name| !name.is_empty()) {
                // Writing to a string can't fail.
                let _ = write!(line, " in {}", visible_line(container));
            }
            line
        }
        LspItems::CallItems(list) => function(root, &list[at]),
        LspItems::Incoming(list) => {
            let call = &list[at];
            let first = call.from_ranges.first().map_or(call.from.selection_range.start, |range| range.start);
            let more = more_calls(&call.from_ranges);
            let line = with_line(place(&call.from.uri, first), call.preview.as_deref());
            let Position { line: caller, character } = call.from.selection_range.start;
            let caller = u64::from(caller) + 1;
            let character = u64::from(character) + 1;
            format!("{line}  in {} {} {caller}:{character}{more}", kind(call.from.kind), visible_line(&call.from.name))
        }
        LspItems::Outgoing(list) => {
            let call = &list[at];
            let mut line = function(root, &call.to);
            if let Some(first) = call.from_ranges.first() {
                let caller = paths.calls_in.as_ref().filter(|file| Some(*file) != paths.document.as_ref());
                let called_at = match caller {
                    Some(file) => place(file, first.start),
                    None => format!("{}:{}", u64::from(first.start.line) + 1, u64::from(first.start.character) + 1),
                };
                // Writing to a string can't fail.
                let _ = write!(line, "  called at {called_at}{}", more_calls(&call.from_ranges));
            }
            with_line(line, call.preview.as_deref())
        }
    }
}

fn outline_line(entry: &OutlineEntry, root: &Path, document: Option<&CanonicalUri>) -> String {
    let place = place(root, document, entry.selection_range.start);
    let indent = "  ".repeat(entry.depth as usize);
    format!("{place}  {indent}{} {}", kind(entry.kind), visible_line(&entry.name))
}

fn function(root: &Path, item: &CallItem) -> String {
    let place = place(root, Some(&item.uri), item.selection_range.start);
    format!("{place}  {} {}", kind(item.kind), visible_line(&item.name))
}

fn with_line(start: String, line: Option<&str>) -> String {
    match line {
        Some(line) => format!("{start}  {line}"),
        None => start,
    }
}

fn more_calls(ranges: &[Range]) -> String {
    match ranges.len() {
        0 | 1 => String::new(),
        several => format!(" and {} more", several - 1),
    }
}

fn place(root: &Path, uri: Option<&CanonicalUri>, position: Position) -> String {
    let path = uri.map(|uri| file_path(root, uri)).unwrap_or_default();
    format!("{path}:{}:{}", u64::from(position.line) + 1, u64::from(position.character) + 1)
}

/// The file as `filePath` names it.
fn file_path(root: &Path, uri: &CanonicalUri) -> String {
    let path = uri.to_path();
    let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
    // A relative path that would be taken for a URI or for an empty argument.
    let is_ambiguous =
        shown.trim().is_empty() || shown.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    match visible_line(&shown) {
        // No path is spelt with escapes. In a URI the characters are percent-encoded.
        Cow::Owned(_) => uri.as_str().to_owned(),
        Cow::Borrowed(plain) if is_ambiguous => format!("./{plain}"),
        Cow::Borrowed(plain) => plain.to_owned(),
    }
}

/// The name of an LSP symbol kind.
pub fn kind(number: u32) -> &'static str {
    let at = usize::try_from(number).unwrap_or_default().checked_sub(1);
    at.and_then(|at| KINDS.get(at)).copied().unwrap_or("symbol")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp_items::{IncomingCall, NamedSymbol, OutgoingCall, Place};
    use crate::position::Location;

    fn uri(path: &str) -> CanonicalUri {
        CanonicalUri::of_gated_path(Path::new(path))
    }

    fn item(path: &str) -> CallItem {
        let selection_range = Range::new(9, 4, 9, 8);
        CallItem { name: "f\n".into(), kind: 12, uri: uri(path), range: Range::new(9, 0, 11, 0), selection_range }
    }

    fn compact(found: &LspItems) -> String {
        text(found, &ResultPaths { root: "/w".into(), document: Some(uri("/w/a b.py")), calls_in: None })
    }

    #[test]
    fn every_kind_of_entry_is_one_line_with_a_place_to_pass_back() {
        let at = |path: &str, preview: Option<&str>| Place {
            uri: uri(path),
            range: Range::new(2, 3, 2, 4),
            preview: preview.map(Box::from),
        };
        let places = LspItems::Locations(vec![at("/w/a b.py", Some("x = f()")), at("/x/c\n.py", None)]);
        assert_eq!(compact(&places), "a b.py:3:4  x = f()\nfile:///x/c%0A.py:3:4");
        let calls = vec![Range::new(0, 1, 0, 2), Range::new(5, 1, 5, 2)];
        let incoming = IncomingCall { from: item("/w/d.py"), from_ranges: calls.clone(), preview: Some("f(1)".into()) };
        assert_eq!(compact(&LspItems::Incoming(vec![incoming])), "d.py:1:2  f(1)  in function f\\x0a 10:5 and 1 more");
        let outgoing = OutgoingCall { to: item("/w/d.py"), from_ranges: calls, preview: Some("f(1)".into()) };
        let expected = "d.py:10:5  function f\\x0a  called at 1:2 and 1 more  f(1)";
        assert_eq!(compact(&LspItems::Outgoing(vec![outgoing])), expected);
        assert_eq!(compact(&LspItems::CallItems(vec![item("/w/d.py")])), "d.py:10:5  function f\\x0a");
        let entry = |depth, kind| OutlineEntry {
            depth,
            name: "n".into(),
            kind,
            range: Range::new(0, 0, 9, 0),
            selection_range: Range::new(1, 0, 1, 1),
        };
        let outline = LspItems::Outline(vec![entry(0, 5), entry(1, 99)]);
        assert_eq!(compact(&outline), "a b.py:2:1  class n\na b.py:2:1    symbol n");
        let symbol = NamedSymbol {
            name: "n".into(),
            kind: 26,
            location: Location { uri: uri("/w/s.py"), range: Range::new(0, 0, 0, 1) },
            container_name: Some("m".into()),
        };
        assert_eq!(compact(&LspItems::Symbols(vec![symbol])), "s.py:1:1  type-parameter n in m");
    }

    #[test]
    fn every_path_can_be_passed_back() {
        for (path, expected) in [
            ("/w/a.py", "a.py"),
            ("/x/file:a.py", "/x/file:a.py"),
            ("/w/file:x.py", "./file:x.py"),
            ("/w/FILE:/x.py", "./FILE:/x.py"),
            ("/w/sub/file:x.py", "sub/file:x.py"),
            ("/w/git:x.py", "git:x.py"),
            ("/w/fil\u{e9}:x", "fil\u{e9}:x"),
            ("/w/ ", "./ "),
            ("/w/größe #1.py", "größe #1.py"),
            ("/w/a\u{202e}yp.b", "file:///w/a%E2%80%AEyp.b"),
            ("/x y/\u{9b}.py", "file:///x%20y/%C2%9B.py"),
        ] {
            let place = Place { uri: uri(path), range: Range::new(0, 0, 0, 1), preview: None };
            assert_eq!(compact(&LspItems::Locations(vec![place])), format!("{expected}:1:1"), "{path:?}");
        }
    }
}
