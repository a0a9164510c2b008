//! Canonical locations: definitions and references. The cap of 200 entries and paging are applied elsewhere.
//!
//! Invariant: ordered by URI, then range, by `uri_admission`; no duplicates; no entry is outside the allowed roots.

use codeyard_model::error::ToolError;
use codeyard_model::position::{Location, RawLocation};

use super::uri_admission::admit_entries;
use super::{Canonical, UriGate};

/// The canonical list of `raw`. CAP_EXCEEDED for more than `max_raw` distinct raw entries or `max_total` canonical ones.
pub fn locations(
    raw: Vec<RawLocation>,
    gate: &mut dyn UriGate,
    max_raw: usize,
    max_total: usize,
) -> Result<Canonical<Location>, ToolError> {
    let entries = raw.into_iter().map(|location| (location.uri, location.range));
    let (entries, outside) = admit_entries(entries, gate, max_raw, max_total)?;
    let items = entries.into_iter().map(|(uri, range)| Location { uri, range }).collect();
    Ok(Canonical { items, outside })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{FakeGate, shuffled, some_range, some_uri};
    use codeyard_model::error::ErrorCode;
    use codeyard_model::position::Range;

    fn raw(uri: &str, line: u32) -> RawLocation {
        RawLocation { uri: uri.into(), range: Range::new(line, 0, line, 1) }
    }

    fn canonical(raw: Vec<RawLocation>) -> Canonical<Location> {
        locations(raw, &mut FakeGate::default(), 1_000, 1_000).unwrap()
    }

    #[test]
    fn locations_are_sorted_by_uri_then_range_without_duplicates() {
        let raw = vec![raw("file:///w/b", 1), raw("file:///w/a", 9), raw("file:///w/a", 10), raw("file:///w/b", 1)];
        let texts: Vec<(String, u32)> =
            canonical(raw).items().iter().map(|at| (at.uri.to_string(), at.range.start.line)).collect();
        let expected = [("file:///w/a", 9), ("file:///w/a", 10), ("file:///w/b", 1)];
        assert_eq!(texts, expected.map(|(uri, line)| (uri.to_string(), line)));
    }

    #[test]
    fn outside_counts_distinct_raw_entries_and_missing_counts_none() {
        let entries = [raw("file:///x/a", 1), raw("file:///x/a", 1), raw("file:///x/a", 2), raw("file:///w/gone", 1)];
        let list = canonical(entries.to_vec());
        assert_eq!((list.items().len(), list.outside()), (0, 2));
    }

    #[test]
    fn two_spellings_of_one_file_are_one_location() {
        let list = canonical(vec![raw("file:///w/a%62", 1), raw("file:///w/ab", 1)]);
        assert_eq!(list.items().len(), 1);
    }

    #[test]
    fn caps_count_distinct_entries() {
        let mut gate = FakeGate::default();
        let many = |n: u32| (0..n).map(|line| raw("file:///w/a", line)).collect::<Vec<_>>();
        let twice = [many(5), many(5)].concat();
        assert_eq!(locations(twice, &mut gate, 5, 5).unwrap().items().len(), 5);
        let raw_cap = locations(many(6), &mut gate, 5, 9).unwrap_err();
        assert_eq!((raw_cap.code, &raw_cap.details["reason"]), (ErrorCode::CapExceeded, &"too_many_raw_items".into()));
        let total_cap = locations(many(6), &mut gate, 9, 5).unwrap_err();
        assert_eq!(
            (total_cap.code, &total_cap.details["reason"]),
            (ErrorCode::CapExceeded, &"too_many_results".into())
        );
        let outside = [many(5), (0..4).map(|line| raw("file:///x/a", line)).collect()].concat();
        assert_eq!(
            locations(outside, &mut gate, 9, 5).unwrap().outside(),
            4,
            "entries outside the roots don't count as results"
        );
    }

    #[test]
    fn the_gate_is_asked_once_per_text() {
        let mut gate = FakeGate::default();
        let raw = (0..100).map(|n| raw(["file:///w/a", "file:///x/b"][n as usize % 2], n)).collect();
        locations(raw, &mut gate, 1_000, 1_000).unwrap();
        assert_eq!(gate.texts.len(), 2);
    }

    #[test]
    fn twenty_thousand_locations_are_quick() {
        let raw: Vec<RawLocation> = (0..20_000u32)
            .map(|n| {
                let uri = format!("file:///w/a/rather/long/path/to/some/package/module_{}.py", n * 7_919 % 1_000);
                raw(&uri, n)
            })
            .collect();
        #[expect(clippy::disallowed_methods, reason = "a coarse guard against quadratic work needs real time")]
        let start = std::time::Instant::now();
        let list = locations(raw, &mut FakeGate::default(), 20_000, 20_000).unwrap();
        assert_eq!(list.items().len(), 20_000);
        assert!(start.elapsed() < Duration::from_millis(1_500), "{:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn permutation_and_duplication_change_nothing(
            raw in prop::collection::vec((some_uri(), some_range()), 0..24),
            seed in any::<u64>(),
        ) {
            let raw: Vec<RawLocation> = raw.into_iter().map(|(uri, range)| RawLocation { uri, range }).collect();
            let once = canonical(raw.clone());
            prop_assert_eq!(&canonical(shuffled(raw, seed)), &once);
            let again = once.items().iter().map(|at| RawLocation { uri: at.uri.text(), range: at.range }).collect();
            let twice = canonical(again);
            prop_assert_eq!(twice.items(), once.items());
        }
    }
}
