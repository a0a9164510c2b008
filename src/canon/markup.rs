//! Hovers of several servers as one text, for the tool `lsp` (decisions §4).
//!
//! Invariants: the servers' order is kept, and within one server its own; what two servers say alike is said once; the limits
//! on fragments and their lengths are the gateway's (`hover`); the range is the first one given.

use crate::base::limits::{MAX_HOVER_FRAGMENT_CHARS, MAX_HOVER_FRAGMENTS};
use crate::model::found::{Markup, MarkupHover};
use crate::model::hover::{Hover, MarkupKind};

/// Between the fragments of one server.
const BREAK: &str = "\n\n";
/// Between two servers.
const RULE: &str = "\n\n---\n\n";

/// What `hovers` say, in their order, and whether anything was cut. `None` if they say nothing.
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
    let value = texts.join(RULE);
    let found = (!value.is_empty()).then_some(MarkupHover { contents: Markup { kind, value }, range });
    (found, truncated)
}

fn text_of(hover: &Hover) -> &str {
    let speaking = hover.contents.iter().find(|fragment| !fragment.value.trim().is_empty());
    speaking.map_or("", |fragment| &fragment.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hover::HoverFragment;
    use crate::model::hover::MarkupKind::{Markdown, Plaintext};
    use crate::model::position::Range;

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
    fn the_gateways_limits_hold() {
        let long = "é".repeat(MAX_HOVER_FRAGMENT_CHARS + 1);
        let (found, truncated) = markup(vec![hover(&[(Markdown, &long)], None)]);
        assert_eq!((found.unwrap().contents.value.chars().count(), truncated), (MAX_HOVER_FRAGMENT_CHARS, true));
        let texts: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        let nine: Vec<(MarkupKind, &str)> = texts.iter().map(|text| (Markdown, text.as_str())).collect();
        let (found, truncated) = markup(vec![hover(&nine, None)]);
        assert_eq!((found.unwrap().contents.value.ends_with('7'), truncated), (true, true));
    }
}
