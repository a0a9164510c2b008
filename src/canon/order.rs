//! Sort orders and normalisations that the canonical lists share. `uri_admission` sorts locations.
//!
//! Invariant: every order is total over all fields of an entry, so sorting is deterministic.

use std::cmp::Ordering;

use codeyard_base::seeded_faults;

/// An optional value. `None` sorts last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingLast<T>(pub(super) Option<T>);

impl<T: Ord> Ord for MissingLast<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    }
}

impl<T: Ord> PartialOrd for MissingLast<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Treats an empty text as missing: identifiers don't distinguish the two, so lists don't either.
pub(super) fn non_empty(text: Option<String>) -> MissingLast<String> {
    MissingLast(text.filter(|text| !text.is_empty()))
}

/// Sorts and drops equal entries.
pub(super) fn sort_dedup<T: Ord>(items: &mut Vec<T>) {
    if !seeded_faults::is_on("answer_unsorted") {
        items.sort_unstable();
    }
    if !seeded_faults::is_on("answer_with_duplicates") {
        items.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_sorts_last_and_empty_is_missing() {
        let mut items = vec![non_empty(None), non_empty(Some("b".into())), non_empty(Some(String::new()))];
        items.push(non_empty(Some("a".into())));
        sort_dedup(&mut items);
        assert_eq!(items, [MissingLast(Some("a".into())), MissingLast(Some("b".into())), MissingLast(None)]);
    }
}
