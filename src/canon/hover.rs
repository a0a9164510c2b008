//! The canonical hover (contract §7.3). Not here: the cut to the response's bytes, which only an encoder can know.
//!
//! Invariants: fragments are ordered by kind, then value, without duplicates and blanks; at most 8 fragments of at most
//! 8,192 code points. The fragments of one server may come in any order; hovers come in the registry's order.

use crate::limits::{MAX_HOVER_FRAGMENT_CHARS, MAX_HOVER_FRAGMENTS};
use codeyard_model::hover::{Hover, HoverFragment};

use super::order::sort_dedup;

/// All `raw` hovers as one, and whether anything was cut. The range is that of the first hover that says anything.
pub fn hover(raw: Vec<Hover>) -> (Hover, bool) {
    let speaking = |hover: &&Hover| hover.contents.iter().any(|fragment| !is_blank(fragment));
    let range = raw.iter().find(speaking).and_then(|hover| hover.range);
    let fragments = raw.into_iter().flat_map(|hover| hover.contents);
    let mut contents: Vec<HoverFragment> = fragments.filter(|fragment| !is_blank(fragment)).collect();
    sort_dedup(&mut contents);
    let mut truncated = contents.len() > MAX_HOVER_FRAGMENTS;
    contents.truncate(MAX_HOVER_FRAGMENTS);
    for fragment in &mut contents {
        truncated |= cut(&mut fragment.value);
    }
    // Two fragments may only have differed beyond the cut.
    sort_dedup(&mut contents);
    (Hover { contents, range }, truncated)
}

fn is_blank(fragment: &HoverFragment) -> bool {
    fragment.value.trim().is_empty()
}

fn cut(value: &mut String) -> bool {
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
    fn sorted_deduplicated_without_blanks() {
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
    fn nothing_said_is_an_empty_hover_without_range() {
        let raw = vec![Hover { contents: vec![fragment(Plaintext, "")], range: Some(Range::new(1, 0, 1, 1)) }];
        assert_eq!(hover(raw), (Hover::default(), false));
    }

    #[test]
    fn eight_fragments() {
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
    fn equal_after_the_cut_is_one() {
        let long = "x".repeat(8_192);
        let contents = vec![fragment(Markdown, &format!("{long}a")), fragment(Markdown, &format!("{long}b"))];
        assert_eq!(hover(vec![Hover { contents, range: None }]).0.contents.len(), 1);
    }

    proptest! {
        #[test]
        fn a_servers_order_changes_nothing(
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
