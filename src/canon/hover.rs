//! The canonical hover. The encoder cuts it to the size of the response.
//!
//! Invariants: fragments are ordered by kind, then value, without duplicates and blank ones; at most 8 fragments of at most
//! 8,192 code points. The fragments of one server may be in any order; hovers are in the registry's order.

use crate::limits::{MAX_HOVER_FRAGMENT_CHARS, MAX_HOVER_FRAGMENTS};
use codeyard_base::seeded_faults;
use codeyard_model::hover::{Hover, HoverFragment};

use super::order::sort_dedup;

/// All `raw` hovers as one, and whether anything was cut. The range is that of the first hover with text.
pub fn hover(raw: Vec<Hover>) -> (Hover, bool) {
    let has_text = |hover: &&Hover| hover.contents.iter().any(|fragment| !is_blank(fragment));
    let range = raw.iter().find(has_text).and_then(|hover| hover.range);
    let fragments = raw.into_iter().flat_map(|hover| hover.contents);
    let mut contents: Vec<HoverFragment> = fragments.filter(|fragment| !is_blank(fragment)).collect();
    sort_dedup(&mut contents);
    let mut truncated = contents.len() > MAX_HOVER_FRAGMENTS;
    contents.truncate(MAX_HOVER_FRAGMENTS);
    for fragment in &mut contents {
        truncated |= cut(&mut fragment.value);
    }
    // Fragments that differed only after the cut are equal now.
    sort_dedup(&mut contents);
    (Hover { contents, range }, truncated)
}

fn is_blank(fragment: &HoverFragment) -> bool {
    fragment.value.trim().is_empty()
}

fn cut(value: &mut String) -> bool {
    if seeded_faults::is_on("hover_uncut") {
        return false;
    }
    match value.char_indices().nth(MAX_HOVER_FRAGMENT_CHARS) {
        Some((end, _)) => {
            value.truncate(end);
            value.shrink_to_fit();
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{shuffled, some_range, some_text};
    use codeyard_model::hover::MarkupKind::{self, Markdown, Plaintext};
    use codeyard_model::position::Range;

    fn fragment(kind: MarkupKind, value: &str) -> HoverFragment {
        HoverFragment { kind, value: value.into() }
    }

    #[test]
    fn fragments_are_sorted_deduplicated_and_not_blank() {
        let raw = vec![
            Hover { contents: vec![fragment(Plaintext, " \n")], range: Some(Range::new(9, 9, 9, 9)) },
            Hover { contents: vec![fragment(Plaintext, "a"), fragment(Markdown, "b")], range: None },
            Hover {
                contents: vec![fragment(Markdown, "b"), fragment(Markdown, "a")],
                range: Some(Range::new(1, 0, 1, 1)),
            },
        ];
        let (hover, truncated) = hover(raw);
        assert_eq!(hover.contents, [fragment(Markdown, "a"), fragment(Markdown, "b"), fragment(Plaintext, "a")]);
        assert_eq!((hover.range, truncated), (None, false));
    }

    #[test]
    fn a_blank_hover_is_empty_without_range() {
        let raw = vec![Hover { contents: vec![fragment(Plaintext, "")], range: Some(Range::new(1, 0, 1, 1)) }];
        assert_eq!(hover(raw), (Hover::default(), false));
    }

    #[test]
    fn at_most_eight_fragments_are_kept() {
        let of = |n: usize| {
            vec![Hover { contents: (0..n).map(|i| fragment(Markdown, &i.to_string())).collect(), range: None }]
        };
        assert_eq!((hover(of(8)).0.contents.len(), hover(of(8)).1), (8, false));
        assert_eq!((hover(of(9)).0.contents.len(), hover(of(9)).1), (8, true));
    }

    #[test]
    fn code_points_are_counted_not_bytes() {
        let of = |n: usize| vec![Hover { contents: vec![fragment(Markdown, &"𝒳".repeat(n))], range: None }];
        assert!(!hover(of(8_192)).1);
        let (cut, truncated) = hover(of(8_193));
        assert_eq!((cut.contents[0].value.chars().count(), truncated), (8_192, true));
    }

    #[test]
    fn fragments_equal_after_the_cut_are_one() {
        let long = "x".repeat(8_192);
        let contents = vec![fragment(Markdown, &format!("{long}a")), fragment(Markdown, &format!("{long}b"))];
        assert_eq!(hover(vec![Hover { contents, range: None }]).0.contents.len(), 1);
    }

    proptest! {
        #[test]
        fn permutation_changes_nothing(
            raw in prop::collection::vec(
                (prop::collection::vec((any::<bool>(), some_text()), 0..6), prop::option::of(some_range())), 0..4),
            seed in any::<u64>(),
        ) {
            let raw: Vec<Hover> = raw.into_iter().map(|(fragments, range)| Hover {
                contents: fragments.into_iter().map(|(m, v)| fragment(if m { Markdown } else { Plaintext }, &v)).collect(),
                range,
            }).collect();
            let once = hover(raw.clone());
            let other = raw.into_iter().map(|h| Hover { contents: shuffled(h.contents, seed), range: h.range }).collect();
            prop_assert_eq!(&hover(other), &once);
            prop_assert_eq!(hover(vec![once.0.clone()]).0, once.0);
        }
    }
}
