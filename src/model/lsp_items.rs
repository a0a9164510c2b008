//! Results of the tool `lsp`: lists in the shapes of LSP, with positions counted from 0.
//!
//! The catalog makes the reply from them. Invariant: members are serialised in the contract's order.

use std::path::PathBuf;

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::answer::AnswerNotes;
use super::hover::MarkupKind;
use super::operation::{Operation, PageStyle};
use super::position::{Location, Range};
use super::uri::CanonicalUri;

/// The answer to a query of the tool `lsp`: one page of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspAnswer {
    pub operation: Operation,
    /// Operation, path relative to its root, position.
    pub title: String,
    /// The entries of the page.
    pub found: LspItems,
    /// Number of entries of the whole list. For a tree, its symbols of all depths.
    pub total: usize,
    /// The cursor of the next page. `None` on the last page.
    pub next_cursor: Option<String>,
    pub notes: AnswerNotes,
    /// How the page is written.
    pub style: PageStyle,
    /// What compact lines name files by.
    pub paths: ResultPaths,
}

/// What the compact lines of a result name files by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultPaths {
    /// The real path of the first root. Its files are named relative to it.
    pub root: PathBuf,
    /// The file of the query, if it has one.
    pub document: Option<CanonicalUri>,
    /// The file that all calls of `outgoingCalls` are in, if it is one.
    pub calls_in: Option<CanonicalUri>,
}

/// A list of one kind, or a hover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LspItems {
    /// Definitions, references or implementations.
    Locations(Vec<Place>),
    /// The hover of a symbol. `None` if no server has one.
    Hover(Option<MarkupHover>),
    /// Symbols of a file, nested by their depths.
    Outline(Vec<OutlineEntry>),
    Symbols(Vec<NamedSymbol>),
    CallItems(Vec<CallItem>),
    Incoming(Vec<IncomingCall>),
    Outgoing(Vec<OutgoingCall>),
}

/// A location with its source line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// A file inside the allowed roots.
    pub uri: CanonicalUri,
    /// The range in that file.
    pub range: Range,
    /// The line on which it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<str>>,
}

impl From<Location> for Place {
    fn from(Location { uri, range }: Location) -> Self {
        Self { uri, range, preview: None }
    }
}

/// A hover as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarkupHover {
    pub contents: Markup,
    /// The range that the hover describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// A text and its format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Markup {
    pub kind: MarkupKind,
    pub value: String,
}

/// A symbol of a file. Parents come before their children: following entries with a greater depth are inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    pub depth: u32,
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    pub range: Range,
    pub selection_range: Range,
}

/// A symbol of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedSymbol {
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    pub location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
}

/// A function of a call hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallItem {
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The file it is in.
    pub uri: CanonicalUri,
    pub range: Range,
    pub selection_range: Range,
}

/// A caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IncomingCall {
    pub from: CallItem,
    /// The ranges of the calls, in the caller's file. Sorted.
    pub from_ranges: Vec<Range>,
    /// The line of the first call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<str>>,
}

/// A callee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutgoingCall {
    pub to: CallItem,
    /// The ranges of the calls, in the caller's file. Sorted.
    pub from_ranges: Vec<Range>,
    /// The line of the first call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<str>>,
}

impl LspItems {
    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of entries. For an outline, symbols of all depths.
    pub fn len(&self) -> usize {
        match self {
            Self::Locations(list) => list.len(),
            Self::Hover(hover) => usize::from(hover.is_some()),
            Self::Outline(list) => list.len(),
            Self::Symbols(list) => list.len(),
            Self::CallItems(list) => list.len(),
            Self::Incoming(list) => list.len(),
            Self::Outgoing(list) => list.len(),
        }
    }

    /// Whether its entries can have source lines.
    pub fn can_have_previews(&self) -> bool {
        matches!(self, Self::Locations(_) | Self::Incoming(_) | Self::Outgoing(_))
    }

    /// Sets the source line of each entry that can have one, in their order.
    pub fn set_previews(&mut self, mut next: impl FnMut() -> Option<Box<str>>) {
        match self {
            Self::Locations(list) => list.iter_mut().for_each(|place| place.preview = next()),
            Self::Incoming(list) => list.iter_mut().for_each(|call| call.preview = next()),
            Self::Outgoing(list) => list.iter_mut().for_each(|call| call.preview = next()),
            Self::Hover(_) | Self::Outline(_) | Self::Symbols(_) | Self::CallItems(_) => {}
        }
    }

    /// The same entries without source lines.
    pub fn without_previews(mut self) -> Self {
        self.set_previews(|| None);
        self
    }
}

impl Serialize for LspItems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Locations(list) => list.serialize(serializer),
            Self::Hover(hover) => hover.serialize(serializer),
            Self::Outline(list) => OutlineForest(list).serialize(serializer),
            Self::Symbols(list) => list.serialize(serializer),
            Self::CallItems(list) => list.serialize(serializer),
            Self::Incoming(list) => list.serialize(serializer),
            Self::Outgoing(list) => list.serialize(serializer),
        }
    }
}

/// Entries that serialise as a list of trees. The first has the least depth.
struct OutlineForest<'a>(&'a [OutlineEntry]);

/// An entry and the entries inside it.
struct OutlineTree<'a>(&'a OutlineEntry, &'a [OutlineEntry]);

impl Serialize for OutlineForest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut rest = self.0;
        while let Some((first, after)) = rest.split_first() {
            let inside = after.iter().take_while(|entry| entry.depth > first.depth).count();
            list.serialize_element(&OutlineTree(first, &after[..inside]))?;
            rest = &after[inside..];
        }
        list.end()
    }
}

impl Serialize for OutlineTree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(entry, inside) = self;
        let mut object = serializer.serialize_struct("DocumentSymbol", if inside.is_empty() { 4 } else { 5 })?;
        object.serialize_field("name", &entry.name)?;
        object.serialize_field("kind", &entry.kind)?;
        object.serialize_field("range", &entry.range)?;
        object.serialize_field("selectionRange", &entry.selection_range)?;
        if !inside.is_empty() {
            object.serialize_field("children", &OutlineForest(inside))?;
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
