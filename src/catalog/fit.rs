//! Tool results below their byte caps, and the search for the longest prefix of a list that fits.
//!
//! Invariant: a reply holds its payload twice, as `structuredContent` and as text; the payload's cap counts it once, the reply's cap counts
//! the whole reply.

use std::io::Write;

use serde::Serialize;

use codeyard_base::budget::{BoundedWriter, to_json_bounded};

/// The byte caps of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The cap of the payload.
    pub(crate) payload: usize,
    /// The cap of the whole reply.
    pub(crate) reply: usize,
}

impl Room {
    /// Encodes `payload` as a tool result; `None` if it exceeds a cap.
    pub(crate) fn result<P: Serialize>(self, payload: &P, is_error: bool) -> Option<Vec<u8>> {
        let json = to_json_bounded(payload, self.payload.min(self.reply)).ok()?;
        let text = std::str::from_utf8(&json).ok()?;
        let mut writer = BoundedWriter::new(self.reply);
        write!(
            writer,
            "{{\"isError\":{is_error},\"structuredContent\":{text},\"content\":[{{\"type\":\"text\",\"text\":"
        )
        .ok()?;
        serde_json::to_writer(&mut writer, text).ok()?;
        writer.write_all(b"}]}").ok()?;
        writer.finish().ok()
    }
}

/// Calls `make` with numbers from `least` to `most` and returns the result of the largest that gives `Some`. If a number gives `Some`, all
/// smaller ones must, too. Tries `most` first, then bisects.
pub(crate) fn longest<T>(least: usize, most: usize, mut make: impl FnMut(usize) -> Option<T>) -> Option<T> {
    if least > most {
        return None;
    }
    if let Some(all) = make(most) {
        return Some(all);
    }
    if least == most {
        return None;
    }
    // `fits` fits, `too_many` doesn't.
    let mut best = make(least)?;
    let mut fits = least;
    let mut too_many = most;
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        match make(middle) {
            Some(made) => (best, fits) = (made, middle),
            None => too_many = middle,
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_fitting_number_is_found_and_the_maximum_is_tried_first() {
        for (fitting, most, least) in (0..30).flat_map(|f| (0..30).flat_map(move |m| (0..4).map(move |l| (f, m, l)))) {
            let mut tried = Vec::new();
            let found = longest(least, most, |n| {
                tried.push(n);
                (n <= fitting).then_some(n)
            });
            assert_eq!(found, (least <= fitting.min(most)).then_some(fitting.min(most)));
            assert!(tried.first().is_none_or(|first| *first == most) && tried.len() < 9);
        }
    }

    #[test]
    fn both_caps_are_exact() {
        let payload = serde_json::json!({"a": "\"\\\u{1}é"});
        let wide = Room { payload: 1_000, reply: 1_000 };
        let whole = wide.result(&payload, false).unwrap();
        let length = payload.to_string().len();
        assert!(Room { payload: length, reply: whole.len() }.result(&payload, false).is_some());
        assert!(Room { payload: length - 1, ..wide }.result(&payload, false).is_none());
        assert!(Room { reply: whole.len() - 1, ..wide }.result(&payload, false).is_none());
        let reply: serde_json::Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(reply["content"][0]["text"].as_str().unwrap(), payload.to_string());
        assert_eq!(reply["structuredContent"], payload);
    }
}
