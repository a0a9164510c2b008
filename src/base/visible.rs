//! Text from elsewhere, made harmless for a terminal and for a reader: characters that move the cursor, change the terminal or turn the
//! order of what is read are shown as escapes.
//!
//! File names, symbols, lines of code, names of servers and messages of programs come from repositories and processes that nobody vouches
//! for. Invariants: the result has no C0 or C1 character but a tab, and a line break where the text may have lines; no bidirectional
//! control; a text without such characters is returned as it is.

use std::borrow::Cow;
use std::fmt::Write;

use crate::seeded_faults;

/// `text`, which may have lines.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |c, next| c == '\n' || c == '\r' && next == Some('\n'))
}

/// `text`, which is a part of one line.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    shown(text, |_, _| false)
}

/// Makes `text`, which may have lines, [`visible`], and returns the number of escapes.
pub fn make_visible(text: &mut String) -> usize {
    escape(text, |c, next| c == '\n' || c == '\r' && next == Some('\n'))
}

/// Makes `text`, a part of one line, [`visible_line`], and returns the number of escapes.
pub fn make_visible_line(text: &mut String) -> usize {
    escape(text, |_, _| false)
}

fn escape(text: &mut String, is_structure: impl Fn(char, Option<char>) -> bool) -> usize {
    let (Cow::Owned(visible), escapes) = shown_and_counted(text, is_structure) else { return 0 };
    *text = visible;
    escapes
}

/// `json`, JSON text of the same value in which no character is left that a terminal obeys. The encoder has escaped the others.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    // Most texts are plain, and bytes are compared much faster than characters.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    let is_hidden = |c: char| is_hidden(c) && !matches!(c, '\n' | '\r' | '\t');
    if json.bytes().all(is_plain) || !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_hidden(c) {
            // All of them are in the basic plane. Writing to a string can't fail.
            true => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// `line` of a log that may be coloured: all but its own colours, for which the log's formatter has escaped those of others.
pub fn visible_log(line: &str) -> Cow<'_, str> {
    shown(line, |c, _| matches!(c, '\n' | '\x1b'))
}

fn shown(text: &str, is_structure: impl Fn(char, Option<char>) -> bool) -> Cow<'_, str> {
    shown_and_counted(text, is_structure).0
}

/// The text with escapes, and their number.
fn shown_and_counted(text: &str, is_structure: impl Fn(char, Option<char>) -> bool) -> (Cow<'_, str>, usize) {
    if !text.contains(|c| is_hidden(c) && c != '\n') && !text.contains(|c| c == '\n' && !is_structure(c, None)) {
        return (Cow::Borrowed(text), 0);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut escapes = 0;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        if c == '\t' || !is_hidden(c) || is_structure(c, next) {
            shown.push(c);
            continue;
        }
        escapes += 1;
        let code = u32::from(c);
        // Writing to a string can't fail.
        let _ = if code < 0x80 { write!(shown, "\\x{code:02x}") } else { write!(shown, "\\u{{{code:x}}}") };
    }
    (Cow::Owned(shown), escapes)
}

/// Whether a terminal obeys the character instead of showing it, or it changes the order of those around it.
fn is_hidden(c: char) -> bool {
    let is_bidirectional =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Line and paragraph separators begin a new line in some viewers.
    if c == '\x1b' && seeded_faults::is_on("escape_kept") {
        return false;
    }
    c != '\t' && c.is_control() || is_bidirectional || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_terminal_obeys_is_shown_as_an_escape() {
        for (hostile, harmless) in [
            ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
            ("\x1b[2J\x1b[31mred", "\\x1b[2J\\x1b[31mred"),
            ("c1 \u{9b}31m \u{90}q", "c1 \\u{9b}31m \\u{90}q"),
            ("\u{202e}txt.exe\u{2066}\u{200f}", "\\u{202e}txt.exe\\u{2066}\\u{200f}"),
            ("back\x08\x7f\0", "back\\x08\\x7f\\x00"),
            ("over\rwritten", "over\\x0dwritten"),
            ("para\u{2029}graph", "para\\u{2029}graph"),
        ] {
            assert_eq!(visible(hostile), harmless);
            assert_eq!(visible_line(hostile), harmless);
        }
        let mut counted = "\x1b[31mred\r\nlines\n\u{202e}\ttab".to_owned();
        assert_eq!((make_visible(&mut counted), &*counted), (2, "\\x1b[31mred\r\nlines\n\\u{202e}\ttab"));
        assert_eq!((make_visible(&mut counted), make_visible_line(&mut counted)), (0, 3));
        for plain in ["", "a\tb", "größe 漢字 🚀 שלום", "x\\x1b"] {
            assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
        }
        assert_eq!(visible("one\ntwo\r\nthree\n"), "one\ntwo\r\nthree\n");
        assert_eq!(visible("\u{9b}\r\n"), "\\u{9b}\r\n");
        assert_eq!(visible_line("a\nforged: line"), "a\\x0aforged: line");
        assert_eq!(visible_log("\x1b[2mtime\x1b[0m \u{9b}\u{202e}\n"), "\x1b[2mtime\x1b[0m \\u{9b}\\u{202e}\n");
    }

    #[test]
    fn no_character_but_tabs_and_line_breaks_passes_that_a_terminal_obeys() {
        let all: String = (0..=0xffff_u32).filter_map(char::from_u32).collect();
        let shown = visible(&all);
        let passed: Vec<char> = shown.chars().filter(|c| c.is_control()).collect();
        assert_eq!(passed, ['\t', '\n']);
        assert!(!shown.contains(['\u{200e}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}']));
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}31m\x1b \u{7f} \u{2069} größe", "b": ["\n\t"]});
        for json in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = visible_json(&json);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(!shown.contains(|c: char| is_hidden(c) && c != '\n'), "{shown:?}");
        }
    }
}
