//! The smallest single change between two texts, for servers that accept changes as ranges.
//!
//! Pure. Invariant: applied to the old text, the change gives the new one, also at a server that counts more
//! separators as line ends than LSP does. Where that can't be guaranteed there is no range change, and the whole text
//! is sent.

use super::notifications::ContentChange;
use crate::text::encoding::PositionEncoding;
use crate::text::{Document, has_lone_return};
use codeyard_model::position::Range;

/// Smaller texts are always sent whole: a range would save nothing, and a whole text can't be misunderstood.
const RANGE_CHANGE_MIN_BYTES: usize = 16 * 1_024;

/// The one change from `old` to `new`: the part between their common prefix and their common suffix. `None` where
/// sending the whole text is better or safer.
pub(crate) fn range_change(old: &Document, new: &Document, encoding: PositionEncoding) -> Option<ContentChange> {
    if new.text().len() < RANGE_CHANGE_MIN_BYTES { None } else { smallest_change(old, new, encoding) }
}

fn smallest_change(old: &Document, new: &Document, encoding: PositionEncoding) -> Option<ContentChange> {
    let before = old.text();
    let after = new.text();
    // Servers count a byte order mark as a column, or don't get it.
    if [old, new].iter().any(|document| document.has_mark() || has_disputed_line_ends(document.text())) {
        return None;
    }
    let prefix = common_prefix(before, after);
    let suffix = common_suffix(&before[prefix..], &after[prefix..]);
    let end = before.len() - suffix;
    let new_end = after.len() - suffix;
    if new_end - prefix > after.len() / 2 {
        return None;
    }
    let unit = encoding.unit();
    let range = Range { start: old.position_of(prefix, unit), end: old.position_of(end, unit) };
    Some(ContentChange { range: Some(range), text: after[prefix..new_end].into() })
}

/// A lone `\r` and the separators of Unicode end a line for some servers, but not for others.
fn has_disputed_line_ends(text: &str) -> bool {
    has_lone_return(text.as_bytes())
        || text.contains(['\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// The length of the common prefix in bytes, down to a character boundary and not inside a `\r\n`.
fn common_prefix(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut prefix = same;
    while !one.is_char_boundary(prefix) || !other.is_char_boundary(prefix) || inside_crlf(one, prefix) {
        prefix -= 1;
    }
    prefix
}

/// The length of the common suffix in bytes, down to a character boundary and not inside a `\r\n`.
fn common_suffix(one: &str, other: &str) -> usize {
    let same = one.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
    let mut suffix = same;
    while !one.is_char_boundary(one.len() - suffix)
        || !other.is_char_boundary(other.len() - suffix)
        || inside_crlf(one, one.len() - suffix)
    {
        suffix -= 1;
    }
    suffix
}

fn inside_crlf(text: &str, at: usize) -> bool {
    at > 0 && text.as_bytes().get(at - 1..=at) == Some(b"\r\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENCODINGS: [PositionEncoding; 3] = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

    /// Applies a change as a server does, in the simplest way: lines by `\n` and `\r\n`, columns unit by unit.
    fn apply(old: &str, change: &ContentChange, encoding: PositionEncoding) -> String {
        let range = change.range.expect("a range change has a range");
        let offset = |line: u32, character: u32| {
            let mut at: usize = old.split_inclusive('\n').take(line as usize).map(str::len).sum();
            let mut left = character as usize;
            while left > 0 {
                let char = old[at..].chars().next().expect("a column inside the text");
                assert_ne!(char, '\n', "a column inside the line");
                left -= match encoding {
                    PositionEncoding::Utf8 => char.len_utf8(),
                    PositionEncoding::Utf16 => char.len_utf16(),
                    PositionEncoding::Utf32 => 1,
                };
                at += char.len_utf8();
            }
            at
        };
        let start = offset(range.start.line, range.start.character);
        let end = offset(range.end.line, range.end.character);
        format!("{}{}{}", &old[..start], change.text, &old[end..])
    }

    fn check(old: &str, new: &str) -> usize {
        let before = Document::new(old);
        let after = Document::new(new);
        let applied = ENCODINGS.iter().filter_map(|&encoding| {
            let change = smallest_change(&before, &after, encoding)?;
            assert_eq!(apply(old, &change, encoding), new, "{encoding:?} {change:?} on {old:?}");
            Some(())
        });
        applied.count()
    }

    #[test]
    fn line_ends_and_multi_byte_neighbours() {
        let body = "x".repeat(200);
        for (old, new) in [
            ("a\r\nb", "a\nb"),
            ("a\nb", "a\r\nb"),
            ("a\r\n", "a\r\n\r\n"),
            ("a\r\n\r\n", "a\r\n"),
            ("é", "è"),
            ("😀", "😁"),
            ("a😀b", "a😀😀b"),
            ("aaaa", "aaa"),
            ("", "z"),
            ("e\u{301}", "e\u{300}"),
            ("same", "same"),
            ("\tend\n", "\tend"),
        ] {
            let old = format!("{body}\n{old}{body}");
            let new = format!("{body}\n{new}{body}");
            assert_eq!(check(&old, &new), 3, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn disputed_line_ends_and_small_or_rewritten_texts_are_sent_whole() {
        let body = "x".repeat(200);
        for odd in ["\r", "\u{2028}", "\u{85}", "\u{c}"] {
            assert_eq!(check(&format!("{body}{odd}"), &format!("{body}{odd}1")), 0, "{odd:?}");
            assert_eq!(check(&body, &format!("{body}{odd}")), 0, "{odd:?}");
        }
        assert_eq!(check("old", "entirely new"), 0);
        let small = Document::new(body.clone());
        let large = Document::new("y".repeat(RANGE_CHANGE_MIN_BYTES));
        assert_eq!(range_change(&small, &Document::new(format!("{body}1")), PositionEncoding::Utf8), None);
        let longer = Document::new(format!("{}1", large.text()));
        assert!(range_change(&large, &longer, PositionEncoding::Utf8).is_some());
    }

    fn piece() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "b", "\n", "\r\n", "é", "漢", "😀", "😁", "\u{301}", "\t"]),
            0..12,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn a_range_change_turns_the_old_text_into_the_new_one(head in piece(), old in piece(), new in piece(), tail in piece()) {
            check(&format!("{head}{old}{tail}"), &format!("{head}{new}{tail}"));
            let rest = "rest ".repeat(20);
            prop_assert_eq!(check(&format!("{head}{old}{rest}{tail}"), &format!("{head}{new}{rest}{tail}")), 3);
        }
    }
}
