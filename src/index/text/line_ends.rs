//! Characters that end a line for some readers and not here.
//!
//! Lines end at line feeds, as in git and ripgrep. Editors and language servers also begin a line after a carriage return, and those of
//! JavaScript after U+2028 and U+2029.

/// Whether a line feed isn't the only end of lines in a text.
pub(crate) fn has_other_line_ends(text: &[u8]) -> bool {
    let is_lone = |at: usize| text.get(at + 1).is_some_and(|next| *next != b'\n');
    let is_separator = |at: usize| matches!(text.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9]));
    memchr::memchr_iter(b'\r', text).any(is_lone) || memchr::memchr_iter(0xe2, text).any(is_separator)
}

/// A warning that names files whose lines are counted otherwise elsewhere; `None` if there is none.
pub(crate) fn warning<'p>(paths: impl Iterator<Item = &'p str>) -> Option<String> {
    let mut paths: Vec<&str> = paths.take(MAX_NAMED_FILES + 1).collect();
    let more = if paths.len() > MAX_NAMED_FILES { ", …" } else { "" };
    paths.truncate(MAX_NAMED_FILES);
    (!paths.is_empty()).then(|| {
        format!(
            "Lines end at line feeds only: {}{more} also have carriage returns alone, U+2028 or U+2029, after which language servers may begin a \
             line. Their line numbers may differ.",
            paths.join(", ")
        )
    })
}

/// Files that a warning names.
const MAX_NAMED_FILES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_feeds_with_and_without_carriage_returns_are_the_usual_ends() {
        for (text, has_others) in [
            ("a\nb\r\nc\r", false),
            ("a\rb", true),
            ("a\r\r\n", true),
            ("\u{2028}", true),
            ("a\u{2029}b", true),
            ("\u{201c}quoted\u{201d}", false),
        ] {
            assert_eq!(has_other_line_ends(text.as_bytes()), has_others, "{text:?}");
        }
    }
}
