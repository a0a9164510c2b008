//! What the tool `lsp` finds (lsp tool contract, "Output Formats"): lists in the shapes of LSP, positions counted from 0.
//!
//! Not the reply: that is a catalog's. Invariant: members serialise in the contract's order.

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::answer::AnswerNotes;
use super::hover::MarkupKind;
use super::operation::Operation;
use super::position::{Location, Range};
use super::uri::CanonicalUri;

/// The answer to a question of the tool `lsp`: a page of what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspAnswer {
    /// What was asked.
    pub operation: Operation,
    /// Operation, path relative to its root, position (decisions §4).
    pub title: String,
    /// The page.
    pub found: LspItems,
    /// Entries of the whole list; of a tree, its symbols of all depths.
    pub total: usize,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
    /// What else there is to say.
    pub notes: AnswerNotes,
}

/// A list of one kind, or a hover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LspItems {
    /// Definitions, references or implementations.
    Locations(Vec<Location>),
    /// What is known of a symbol.
    Hover(Option<MarkupHover>),
    /// A file's symbols, nested by their depths.
    Outline(Vec<OutlineEntry>),
    /// Symbols of the workspace.
    Symbols(Vec<NamedSymbol>),
    /// Functions.
    Items(Vec<CallItem>),
    /// Callers.
    Incoming(Vec<IncomingCall>),
    /// Callees.
    Outgoing(Vec<OutgoingCall>),
}

/// A hover as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarkupHover {
    /// The text.
    pub contents: Markup,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// A text and how to read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Markup {
    /// How to read it.
    pub kind: MarkupKind,
    /// The text.
    pub value: String,
}

/// A symbol of a file, in the order of a walk from above: what follows with a greater depth lies inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// How many symbols it lies in.
    pub depth: u32,
    /// The symbol's name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The whole range.
    pub range: Range,
    /// The name's range.
    pub selection_range: Range,
}

/// A symbol of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedSymbol {
    /// The symbol's name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// Where it is.
    pub location: Location,
    /// The container's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
}

/// A function of a call hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallItem {
    /// Its name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The file it is in.
    pub uri: CanonicalUri,
    /// The whole range.
    pub range: Range,
    /// The name's range.
    pub selection_range: Range,
}

/// A caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IncomingCall {
    /// The caller.
    pub from: CallItem,
    /// Where it calls, in its own file; sorted.
    pub from_ranges: Vec<Range>,
}

/// A callee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutgoingCall {
    /// The callee.
    pub to: CallItem,
    /// Where it is called, in the caller's file; sorted.
    pub from_ranges: Vec<Range>,
}

impl LspItems {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries; of an outline, symbols of all depths.
    pub fn len(&self) -> usize {
        match self {
            Self::Locations(list) => list.len(),
            Self::Hover(hover) => usize::from(hover.is_some()),
            Self::Outline(list) => list.len(),
            Self::Symbols(list) => list.len(),
            Self::Items(list) => list.len(),
            Self::Incoming(list) => list.len(),
            Self::Outgoing(list) => list.len(),
        }
    }
}

impl Serialize for LspItems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Locations(list) => list.serialize(serializer),
            Self::Hover(hover) => hover.serialize(serializer),
            Self::Outline(list) => Level(list).serialize(serializer),
            Self::Symbols(list) => list.serialize(serializer),
            Self::Items(list) => list.serialize(serializer),
            Self::Incoming(list) => list.serialize(serializer),
            Self::Outgoing(list) => list.serialize(serializer),
        }
    }
}

/// Entries of which the first has the least depth, as a list of trees.
struct Level<'a>(&'a [OutlineEntry]);

/// An entry and what lies inside.
struct Tree<'a>(&'a OutlineEntry, &'a [OutlineEntry]);

impl Serialize for Level<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut rest = self.0;
        while let Some((first, after)) = rest.split_first() {
            let inside = after.iter().take_while(|entry| entry.depth > first.depth).count();
            list.serialize_element(&Tree(first, &after[..inside]))?;
            rest = &after[inside..];
        }
        list.end()
    }
}

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(entry, inside) = self;
        let mut object = serializer.serialize_struct("DocumentSymbol", if inside.is_empty() { 4 } else { 5 })?;
        object.serialize_field("name", &entry.name)?;
        object.serialize_field("kind", &entry.kind)?;
        object.serialize_field("range", &entry.range)?;
        object.serialize_field("selectionRange", &entry.selection_range)?;
        if !inside.is_empty() {
            object.serialize_field("children", &Level(inside))?;
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_become_children() {
        let entry = |depth, name: &str| OutlineEntry {
            depth,
            name: name.into(),
            kind: 5,
            range: Range::new(0, 0, 0, 0),
            selection_range: Range::new(0, 0, 0, 0),
        };
        let entries = [entry(0, "a"), entry(1, "b"), entry(2, "c"), entry(1, "d"), entry(0, "e")];
        let json = serde_json::to_value(LspItems::Outline(entries.to_vec())).unwrap();
        assert_eq!(json[0]["children"][0]["children"][0]["name"], "c");
        assert_eq!((&json[0]["children"][1]["name"], &json[1]["name"]), (&"d".into(), &"e".into()));
        assert_eq!((json.as_array().unwrap().len(), json[1].get("children")), (2, None));
        let members: Vec<_> = json[0].as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, ["children", "kind", "name", "range", "selectionRange"].map(String::from));
    }
}
