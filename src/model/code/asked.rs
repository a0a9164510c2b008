//! A question of the index as the arguments of its call: what a narrower call is made of. A catalog reads the same words back into
//! the same question, a test of it says so.
//!
//! Invariant: what is as it would be without the argument is left out.

use serde_json::{Map, Value};

use super::query::{
    CaseRule, CodeQuery, DetailLevel, LocateBy, LocateQuery, OutlineDepth, OutlineQuery, RowOptions, SearchMode,
    SearchQuery,
};
use crate::limits::DEFAULT_CODE_ROWS;

/// What was asked, and how large its answer may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallArguments {
    /// The arguments of the call; empty where they aren't known.
    pub arguments: Map<String, Value>,
    /// The largest payload in bytes, if the configuration asks for less than [`crate::limits::MAX_CODE_PAYLOAD_BYTES`].
    pub payload_bytes: Option<usize>,
}

impl CallArguments {
    /// The arguments that ask `query`.
    pub fn of(query: &CodeQuery) -> Self {
        let mut given = Given::default();
        match query {
            CodeQuery::Search(query) => return query.into(),
            CodeQuery::Locate(query) => return query.into(),
            CodeQuery::Outline(query) => return query.into(),
            CodeQuery::Health { workspace } => given.text("workspace", workspace.as_deref()),
            CodeQuery::Index { force, reference } | CodeQuery::Sync { force, reference } => {
                given.flag("force", *force);
                given.text("ref", reference.as_deref());
            }
            CodeQuery::Status { reference } => given.text("ref", reference.as_deref()),
        }
        given.into()
    }
}

impl From<Given> for CallArguments {
    fn from(given: Given) -> Self {
        Self { arguments: given.0, payload_bytes: None }
    }
}

impl From<&SearchQuery> for CallArguments {
    fn from(query: &SearchQuery) -> Self {
        let mut given = Given::default();
        search(&mut given, query);
        given.into()
    }
}

impl From<&LocateQuery> for CallArguments {
    fn from(query: &LocateQuery) -> Self {
        let mut given = Given::default();
        locate(&mut given, query);
        given.into()
    }
}

impl From<&OutlineQuery> for CallArguments {
    fn from(query: &OutlineQuery) -> Self {
        let mut given = Given::default();
        outline(&mut given, query);
        given.into()
    }
}

#[derive(Default)]
struct Given(Map<String, Value>);

impl Given {
    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }

    fn word<T: PartialEq + Default>(&mut self, name: &str, value: T, spelt: fn(T) -> &'static str) {
        if value != T::default() {
            self.0.insert(name.to_owned(), spelt(value).into());
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.0.insert(name.to_owned(), true.into());
        }
    }

    fn number(&mut self, name: &str, value: usize, usual: usize) {
        if value != usual {
            self.0.insert(name.to_owned(), value.into());
        }
    }
}

fn search(given: &mut Given, query: &SearchQuery) {
    given.text("query", Some(&query.text));
    given.word("mode", query.mode, SearchMode::as_str);
    given.word("case", query.case, CaseRule::as_str);
    given.flag("word", query.word);
    if !query.globs.is_empty() {
        given.0.insert("paths".to_owned(), query.globs.clone().into());
    }
    given.number("context_lines", query.context_lines, 0);
    given.number("offset", query.offset, 0);
    shape(given, &query.shape);
}

fn locate(given: &mut Given, query: &LocateQuery) {
    let (name, value) = match &query.by {
        LocateBy::Name(value) => ("name", value),
        LocateBy::SymbolId(value) => ("symbol_id", value),
        LocateBy::StableId(value) => ("symbol_stable_id", value),
        LocateBy::ResultId(value) => ("result_id", value),
    };
    given.text(name, Some(value));
    given.text("kind", query.kind.map(|kind| kind.as_str()));
    shape(given, &query.shape);
}

fn outline(given: &mut Given, query: &OutlineQuery) {
    given.text("path", Some(&query.path));
    given.text("ref", query.reference.as_deref());
    given.word("depth", query.depth, OutlineDepth::as_str);
    given.text("freshness_policy", query.freshness.map(|policy| policy.as_str()));
}

fn shape(given: &mut Given, shape: &RowOptions) {
    given.text("ref", shape.reference.as_deref());
    given.text("language", shape.language.as_deref());
    given.number("limit", shape.limit, DEFAULT_CODE_ROWS);
    given.word("detail_level", shape.detail, DetailLevel::as_str);
    given.flag("compact", shape.compact);
    given.text("freshness_policy", shape.freshness.map(|policy| policy.as_str()));
    given.text("ranking_explain_level", shape.explain.map(|level| level.as_str()));
    given.flag("confirm", shape.confirm);
}
