//! A snapshot: one complete immutable result with its size.
//!
//! Invariant: `bytes` is computed once, only from the result.

use std::mem::size_of;

use super::result::CanonicalResult;
use super::size::heap_bytes;

/// A complete canonical result that is retained and paged.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    result: CanonicalResult,
    bytes: usize,
}

impl Snapshot {
    /// The snapshot of `result`.
    pub fn new(result: CanonicalResult) -> Self {
        let bytes = size_of::<Self>() + heap_bytes(&result);
        Self { result, bytes }
    }

    /// The result.
    pub fn result(&self) -> &CanonicalResult {
        &self.result
    }

    /// Its memory in bytes, including the heap.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_canon::testing::FakeGate;
    use codeyard_model::answer::AnswerNotes;
    use codeyard_model::position::{Location, Range, RawLocation};

    fn references(raw: Vec<RawLocation>) -> Snapshot {
        let found = codeyard_canon::locations(raw, &mut FakeGate::default(), 1_000, 1_000).unwrap();
        Snapshot::new(CanonicalResult::references(found, AnswerNotes::default()))
    }

    fn raw(uri: &str, line: u32) -> RawLocation {
        RawLocation { uri: uri.into(), range: Range::new(line, 0, line, 1) }
    }

    #[test]
    fn every_entry_counts_and_each_shared_uri_once() {
        let empty = references(vec![]).bytes();
        let one = references(vec![raw("file:///w/abc", 1)]).bytes();
        let two = references(vec![raw("file:///w/abc", 1), raw("file:///w/ab%63", 2)]).bytes();
        assert_eq!(one - empty, size_of::<Location>() + 16 + "file:///w/abc".len());
        assert_eq!(two - one, size_of::<Location>(), "the second entry shares the first one's text");
        let files = references(vec![raw("file:///w/abc", 1), raw("file:///w/abd", 1)]).bytes();
        assert_eq!(files - one, one - empty);
    }

    #[test]
    fn entries_of_one_file_really_share_its_text() {
        let snapshot = references(vec![raw("file:///w/abc", 1), raw("file:///w/ab%63", 2)]);
        let CanonicalResult::References(full) = snapshot.result() else { unreachable!() };
        assert!(std::sync::Arc::ptr_eq(&full.items[0].uri.text(), &full.items[1].uri.text()));
    }
}
