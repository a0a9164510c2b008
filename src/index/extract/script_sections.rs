//! The scripts inside the files of Vue and Svelte, as a text that a parser for TypeScript can read.
//!
//! Everything outside of `<script>` elements becomes blanks. Lengths and line breaks stay, so positions in the result are those of the
//! source. Pure, and linear in the source.

use std::borrow::Cow;

use super::blanked_text::BlankedText;

/// The names of elements whose content is a script.
const SCRIPT: &str = "script";

/// `source` with blanks instead of everything that isn't inside a `<script>` element.
pub(super) fn only_scripts(source: &str) -> Cow<'_, str> {
    let mut text = BlankedText::new(source);
    let mut at = 0;
    while let Some(outside) = next_script(&source[at..]) {
        text.blank(at..at + outside);
        at += outside;
        at += find_tag(&source[at..], "</").unwrap_or(source.len() - at);
    }
    text.blank(at..source.len());
    text.into_text()
}

/// Where the content of the next script begins. A script inside an HTML comment doesn't count.
fn next_script(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('<')?;
        let tag = &text[at..];
        if tag.starts_with("<!--") {
            at += tag.find("-->")? + "-->".len();
        } else if is_script_tag(tag, "<") {
            at += end_of_tag(tag)?;
            if !text[..at].ends_with("/>") {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
}

/// Where the next tag of a script begins: `<script` or `</script`, in any case.
fn find_tag(text: &str, open: &str) -> Option<usize> {
    text.match_indices(open).map(|(at, _)| at).find(|at| is_script_tag(&text[*at..], open))
}

/// Whether `text`, which begins with `open`, begins with a tag of a script.
fn is_script_tag(text: &str, open: &str) -> bool {
    let name = &text.as_bytes()[open.len()..];
    let is_script = name.get(..SCRIPT.len()).is_some_and(|name| name.eq_ignore_ascii_case(SCRIPT.as_bytes()));
    is_script && name.get(SCRIPT.len()).is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'>' | b'/'))
}

/// The length of the tag at the start of `text`. A `>` inside quotes doesn't end it.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_content_of_scripts_stays() {
        for (source, scripts) in [
            ("<script>let a;</script>", "        let a;         "),
            ("<p>ä</p>\n<SCRIPT lang=\"ts\" a='>'>\nlet b;\n</SCRIPT >\n<style>", ""),
            ("<script>a</script><b/><script setup>c", "        a                           c"),
            ("<script src=\"a.js\" /><p>no</p>", ""),
            ("<!-- <script>no</script> --><script>d</script>", ""),
            ("<scripts>no</scripts>", ""),
            ("<script lang=\"", ""),
            ("<!-- <script>", ""),
            ("", ""),
        ] {
            let kept = only_scripts(source);
            assert_eq!(kept.len(), source.len(), "{source}");
            assert_eq!(kept.matches('\n').count(), source.matches('\n').count(), "{source}");
            assert!(!kept.contains("no"), "{source}");
            if !scripts.is_empty() {
                assert_eq!(kept, scripts);
            }
        }
        assert_eq!(only_scripts("<p>ä</p>\n<SCRIPT lang=\"ts\" a='>'>\nlet b;\n</SCRIPT >").trim(), "let b;");
        assert_eq!(only_scripts("<!-- <script>no</script> --><script>d</script>").trim(), "d");
    }

    #[test]
    fn many_comments_before_a_script_are_read_once() {
        // If the rest of the text were searched after each comment, this test would read 60 GB.
        let source = format!("{}<script>let a = 1;</script>", "<!-- a -->".repeat(100_000));
        assert_eq!(only_scripts(&source).trim(), "let a = 1;");
        let unclosed = format!("{}<!--{}", "<!---->".repeat(100_000), "<script>no".repeat(100_000));
        assert_eq!(only_scripts(&unclosed).trim(), "");
    }
}
