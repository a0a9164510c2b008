//! Shared by the tests of canonical lists: a fake gate, generators, and a deterministic shuffle with repetitions.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::{UriAdmission, UriGate};
use codeyard_model::position::Range;
use codeyard_model::symbol::RawDocumentSymbol;
use codeyard_model::uri::{CanonicalUri, percent_decode};

/// Admits files below `/w`. Files whose name ends in `gone` are missing.
#[derive(Default)]
pub struct FakeGate {
    /// Every URI text passed to the gate, in order.
    pub texts: Vec<String>,
}

impl UriGate for FakeGate {
    fn admit(&mut self, uri: &str) -> UriAdmission {
        self.texts.push(uri.into());
        let path = uri.strip_prefix("file://").unwrap_or("");
        let path = String::from_utf8(percent_decode(path.as_bytes())).unwrap_or_default();
        match path {
            path if !path.starts_with("/w/") => UriAdmission::Outside,
            path if path.ends_with("gone") => UriAdmission::Missing,
            path => UriAdmission::Inside(file(&path)),
        }
    }
}

/// The canonical URI of a path that needn't exist.
pub fn file(path: &str) -> CanonicalUri {
    CanonicalUri::of_gated_path(Path::new(path))
}

/// One of a few URIs: inside in two spellings, missing, outside, not a file.
pub fn some_uri() -> impl Strategy<Value = Arc<str>> {
    let uris = ["file:///w/a", "file:///w/%61", "file:///w/b c", "file:///w/gone", "file:///x/y", "untitled:1"];
    prop::sample::select(uris.map(Arc::<str>::from).to_vec())
}

/// One of a few ranges, so that ties are common.
pub fn some_range() -> impl Strategy<Value = Range> {
    (0..3u32, 0..3u32, 0..3u32, 0..3u32).prop_map(|(a, b, c, d)| Range::new(a, b, c, d))
}

/// One of a few short texts, sometimes empty.
pub fn some_text() -> impl Strategy<Value = String> {
    prop::sample::select(["", "a", "b", "A", "é", "𝒳|", "\u{1}"].map(String::from).to_vec())
}

/// `items` in another order with some repeated, depending on `seed`.
pub fn shuffled<T: Clone>(items: Vec<T>, seed: u64) -> Vec<T> {
    let mut state = seed | 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let mut out = items.clone();
    for item in items {
        if next(3) == 0 {
            out.push(item);
        }
    }
    for index in (1..out.len()).rev() {
        out.swap(index, next(index + 1));
    }
    out
}

/// A class on a line, with its children.
pub fn symbol_at(name: &str, line: u32, children: Vec<RawDocumentSymbol>) -> RawDocumentSymbol {
    RawDocumentSymbol {
        name: name.into(),
        kind: 5,
        range: Range::new(line, 0, line, 9),
        selection_range: Range::new(line, 1, line, 2),
        container_name: None,
        children,
    }
}

/// As [`shuffled`], at every level of symbols.
pub fn shuffled_deep(raw: Vec<RawDocumentSymbol>, seed: u64) -> Vec<RawDocumentSymbol> {
    let deep = raw.into_iter().map(|mut symbol| {
        symbol.children = shuffled_deep(std::mem::take(&mut symbol.children), seed.rotate_left(7));
        symbol
    });
    shuffled(deep.collect(), seed)
}
