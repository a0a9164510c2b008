//! The arguments of the call that asks a query: the base for suggesting a narrower call.
//!
//! Invariants: a catalog decodes the arguments to the same query (a test of the catalog checks it); an argument that equals
//! its default is left out.

use serde_json::{Map, Value};

use super::query::{
    CaseRule, CodeQuery, DetailLevel, LocateBy, LocateQuery, OutlineDepth, OutlineQuery, RowOptions, SearchMode,
    SearchQuery,
};
use crate::limits::DEFAULT_CODE_ROWS;

/// The arguments of a call, and the size limit of its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallArguments {
    /// The arguments. Empty if they aren't known.
    pub arguments: Map<String, Value>,
    /// The largest payload in bytes, if the configuration sets less than [`crate::limits::MAX_CODE_PAYLOAD_BYTES`].
    pub payload_bytes: Option<usize>,
}

impl CallArguments {
    /// The arguments of `query`.
    pub fn of(query: &CodeQuery) -> Self {
        let mut map = ArgumentMap::default();
        match query {
            CodeQuery::Search(query) => return query.into(),
            CodeQuery::Locate(query) => return query.into(),
            CodeQuery::Outline(query) => return query.into(),
            CodeQuery::Health { workspace } => map.text("workspace", workspace.as_deref()),
            CodeQuery::Index { force, reference } | CodeQuery::Sync { force, reference } => {
                map.flag("force", *force);
                map.text("ref", reference.as_deref());
            }
            CodeQuery::Status { reference } => map.text("ref", reference.as_deref()),
        }
        map.into()
    }
}

impl From<ArgumentMap> for CallArguments {
    fn from(map: ArgumentMap) -> Self {
        Self { arguments: map.0, payload_bytes: None }
    }
}

impl From<&SearchQuery> for CallArguments {
    fn from(query: &SearchQuery) -> Self {
        let mut map = ArgumentMap::default();
        search(&mut map, query);
        map.into()
    }
}

impl From<&LocateQuery> for CallArguments {
    fn from(query: &LocateQuery) -> Self {
        let mut map = ArgumentMap::default();
        locate(&mut map, query);
        map.into()
    }
}

impl From<&OutlineQuery> for CallArguments {
    fn from(query: &OutlineQuery) -> Self {
        let mut map = ArgumentMap::default();
        outline(&mut map, query);
        map.into()
    }
}

#[derive(Default)]
struct ArgumentMap(Map<String, Value>);

impl ArgumentMap {
    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }

    fn word<T: PartialEq + Default>(&mut self, name: &str, value: T, as_str: fn(T) -> &'static str) {
        if value != T::default() {
            self.0.insert(name.to_owned(), as_str(value).into());
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.0.insert(name.to_owned(), true.into());
        }
    }

    fn number(&mut self, name: &str, value: usize, default: usize) {
        if value != default {
            self.0.insert(name.to_owned(), value.into());
        }
    }
}

fn search(map: &mut ArgumentMap, query: &SearchQuery) {
    let (text, mode) = query.written();
    map.text("query", Some(&text));
    map.word("mode", mode, SearchMode::as_str);
    map.word("case", query.case, CaseRule::as_str);
    map.flag("word", query.word);
    if !query.globs.is_empty() {
        map.0.insert("paths".to_owned(), query.globs.clone().into());
    }
    map.number("context_lines", query.context_lines, 0);
    map.number("offset", query.offset, 0);
    shape(map, &query.shape);
}

fn locate(map: &mut ArgumentMap, query: &LocateQuery) {
    let (name, value) = match &query.by {
        LocateBy::Name(value) => ("name", value),
        LocateBy::SymbolId(value) => ("symbol_id", value),
        LocateBy::StableId(value) => ("symbol_stable_id", value),
        LocateBy::ResultId(value) => ("result_id", value),
    };
    map.text(name, Some(value));
    map.text("kind", query.kind.map(|kind| kind.as_str()));
    shape(map, &query.shape);
}

fn outline(map: &mut ArgumentMap, query: &OutlineQuery) {
    map.text("path", Some(&query.path));
    map.text("ref", query.reference.as_deref());
    map.word("depth", query.depth, OutlineDepth::as_str);
    map.text("freshness_policy", query.freshness.map(|policy| policy.as_str()));
}

fn shape(map: &mut ArgumentMap, shape: &RowOptions) {
    map.text("ref", shape.reference.as_deref());
    map.text("language", shape.language.as_deref());
    map.number("limit", shape.limit, DEFAULT_CODE_ROWS);
    map.word("detail_level", shape.detail, DetailLevel::as_str);
    map.flag("compact", shape.compact);
    map.text("freshness_policy", shape.freshness.map(|policy| policy.as_str()));
    map.text("ranking_explain_level", shape.explain.map(|level| level.as_str()));
    map.flag("confirm", shape.confirm);
}
