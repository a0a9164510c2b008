//! The hovers of several servers as one text, for the tool `lsp`.
//!
//! Invariants: the order of the servers and the order within each server are kept; equal texts of two servers appear once; the
//! limits on fragments and their lengths are those of [`hover`](super::hover()); the range is that of the first hover with text.

use crate::limits::{MAX_HOVER_FRAGMENT_CHARS, MAX_HOVER_FRAGMENTS};
use codeyard_model::hover::{Hover, MarkupKind};
use codeyard_model::limits::MAX_PAGE_CHARS;
use codeyard_model::lsp_items::{Markup, MarkupHover};

/// Upper bound of the code points around the text on its page: member names, brackets and a range.
const AROUND_CHARS: usize = 512;
/// Between the fragments of one server.
const BREAK: &str = "\n\n";
/// Between two servers.
const RULE: &str = "\n\n---\n\n";

/// The text of `hovers` in their order, and whether anything was cut. `None` if they have no text.
pub fn markup(hovers: Vec<Hover>) -> (Option<MarkupHover>, bool) {
    let range = hovers.iter().find(|hover| !text_of(hover).is_empty()).and_then(|hover| hover.range);
    let mut room = MAX_HOVER_FRAGMENTS;
    let mut truncated = false;
    let mut kind = MarkupKind::Plaintext;
    let mut texts: Vec<String> = Vec::new();
    for hover in hovers {
        let mut parts: Vec<String> = Vec::new();
        for fragment in hover.contents.into_iter().filter(|fragment| !fragment.value.trim().is_empty()) {
            if room == 0 {
                truncated = true;
                break;
            }
            room -= 1;
            kind = kind.min(fragment.kind);
            let cut: String = fragment.value.chars().take(MAX_HOVER_FRAGMENT_CHARS).collect();
            truncated |= cut.len() < fragment.value.len();
            if !parts.contains(&cut) {
                parts.push(cut);
            }
        }
        let text = parts.join(BREAK);
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    let mut value = texts.join(RULE);
    if let Some(end) = end_of_room(&value) {
        value.truncate(end);
        truncated = true;
    }
    let found = (!value.is_empty()).then_some(MarkupHover { contents: Markup { kind, value }, range });
    (found, truncated)
}

/// The byte offset at which the text must be cut so that its JSON fits on a page. `None` if it fits.
fn end_of_room(text: &str) -> Option<usize> {
    let mut room = MAX_PAGE_CHARS - AROUND_CHARS;
    for (at, character) in text.char_indices() {
        let needed = match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            _ => 1,
        };
        if needed > room {
            return Some(at);
        }
        room -= needed;
    }
    None
}

fn text_of(hover: &Hover) -> &str {
    let first = hover.contents.iter().find(|fragment| !fragment.value.trim().is_empty());
    first.map_or("", |fragment| &fragment.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::hover::HoverFragment;
    use codeyard_model::hover::MarkupKind::{Markdown, Plaintext};
    use codeyard_model::position::Range;

    fn hover(fragments: &[(MarkupKind, &str)], range: Option<Range>) -> Hover {
        let contents = fragments.iter().map(|(kind, value)| HoverFragment { kind: *kind, value: (*value).into() });
        Hover { contents: contents.collect(), range }
    }

    #[test]
    fn servers_keep_their_order_with_a_rule_between() {
        let at = |line| Some(Range::new(line, 0, line, 1));
        let all = vec![
            hover(&[(Plaintext, " ")], at(1)),
            hover(&[(Plaintext, "z"), (Markdown, "a"), (Plaintext, "z")], at(2)),
            hover(&[(Markdown, "b")], at(3)),
            hover(&[(Markdown, "b")], None),
        ];
        let (found, truncated) = markup(all);
        let found = found.unwrap();
        assert_eq!((found.contents.value.as_str(), found.contents.kind), ("z\n\na\n\n---\n\nb", Markdown));
        assert_eq!((found.range, truncated), (at(2), false));
        assert_eq!(markup(vec![hover(&[(Plaintext, "p")], None)]).0.unwrap().contents.kind, Plaintext);
        assert_eq!(markup(vec![hover(&[(Plaintext, "\n")], at(1))]), (None, false));
    }

    #[test]
    fn a_hover_fits_on_its_page() {
        let far = Range::new(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        for character in ["x", "é", "𝒳", "\"", "\n", "\u{1}"] {
            let texts: Vec<String> =
                (0..8).map(|at| at.to_string() + &character.repeat(MAX_HOVER_FRAGMENT_CHARS - 1)).collect();
            let all: Vec<(MarkupKind, &str)> = texts.iter().map(|text| (Markdown, text.as_str())).collect();
            let (found, truncated) = markup(vec![hover(&all, Some(far))]);
            let output = serde_json::to_string_pretty(&found.unwrap()).unwrap().chars().count();
            assert!(truncated && output <= MAX_PAGE_CHARS && output > MAX_PAGE_CHARS - 512, "{character:?}: {output}");
        }
    }

    #[test]
    fn the_room_of_a_page_is_used_to_the_last_character() {
        let room = MAX_PAGE_CHARS - AROUND_CHARS;
        let whole = ["a", "b", "c", "d"].map(|letter| letter.repeat(MAX_HOVER_FRAGMENT_CHARS));
        // Each line break of the four breaks takes two characters.
        let used = 4 * (MAX_HOVER_FRAGMENT_CHARS + 4);
        for (more, is_cut) in [(0, false), (1, true)] {
            let last = "e".repeat(room - used + more);
            let all: Vec<(MarkupKind, &str)> =
                whole.iter().chain([&last]).map(|text| (Markdown, text.as_str())).collect();
            assert_eq!(markup(vec![hover(&all, None)]).1, is_cut, "{more}");
        }
    }

    #[test]
    fn fragments_and_their_lengths_are_limited() {
        let long = "é".repeat(MAX_HOVER_FRAGMENT_CHARS + 1);
        let (found, truncated) = markup(vec![hover(&[(Markdown, &long)], None)]);
        assert_eq!((found.unwrap().contents.value.chars().count(), truncated), (MAX_HOVER_FRAGMENT_CHARS, true));
        let texts: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        let nine: Vec<(MarkupKind, &str)> = texts.iter().map(|text| (Markdown, text.as_str())).collect();
        let (found, truncated) = markup(vec![hover(&nine, None)]);
        assert_eq!((found.unwrap().contents.value.ends_with('7'), truncated), (true, true));
    }
}
