//! Redacts paths outside the roots in the messages of diagnostics, such as install folders, search paths and system headers, and the links
//! of hovers to such files.
//!
//! Only text that a tool wrote is redacted; the text of a hover comes from the sources, except for links to files. A path begins with a top-level folder of this
//! machine and has at least two parts, so `/` in prose and routes such as `/api/users` stay. Invariant: a path inside the roots stays.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use codeyard_model::roots::RootSet;
use codeyard_model::uri::percent_decode;

/// The text that replaces a path.
pub const REDACTED: &str = "[path outside the workspace]";
/// The middle of a link to a file in Markdown, up to the path.
const LINK_TO_FILE: &str = "](file://";
/// A scheme that is redacted together with its path.
const SCHEME: &str = "file:";

/// Reads what [`redact`] needs to know of this machine, once for the process.
pub(crate) fn prepare() {
    top_level();
}

/// `text` with the paths outside `roots` replaced.
pub fn redact<'a>(text: &'a str, roots: &RootSet) -> Cow<'a, str> {
    redact_below(text, roots, top_level())
}

/// `markdown` with its links to files outside `roots` replaced by their text.
pub fn without_foreign_links<'a>(markdown: &'a str, roots: &RootSet) -> Cow<'a, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (at, _) in markdown.match_indices(LINK_TO_FILE) {
        let target = at + LINK_TO_FILE.len();
        let Some(length) = markdown[target..].find(')') else { break };
        let before = &markdown[kept.min(at)..at];
        let Some(label) = before.rfind('[').filter(|_| at >= kept) else { continue };
        let path = markdown[target..target + length].split('#').next().unwrap_or_default();
        let path = percent_decode(path.as_bytes());
        if roots.allows(Path::new(OsStr::from_bytes(&path))) {
            continue;
        }
        out.push_str(&before[..label]);
        out.push_str(&before[label + 1..]);
        kept = target + length + 1;
    }
    if kept == 0 {
        return Cow::Borrowed(markdown);
    }
    out.push_str(&markdown[kept..]);
    Cow::Owned(out)
}

fn redact_below<'a>(text: &'a str, roots: &RootSet, top: &BTreeSet<String>) -> Cow<'a, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find('/') {
        let start = from + found;
        let path = path_at(text, start);
        from = start + path.len().max(1);
        if begins_path(&text[..start]) && is_foreign(path, roots, top) {
            let scheme = if text[kept..start].ends_with(SCHEME) { SCHEME.len() } else { 0 };
            out.push_str(&text[kept..start - scheme]);
            out.push_str(REDACTED);
            kept = from;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The longest run from `start` that could be a path, without the punctuation at its end.
fn path_at(text: &str, start: usize) -> &str {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ':' | ',' | ';' | '|')
    };
    let run = &text[start..];
    let end = run.find(ends).unwrap_or(run.len());
    run[..end].trim_end_matches(['.', '!', '?'])
}

/// Whether a path may begin after `before`: not inside a word or a relative path.
fn begins_path(before: &str) -> bool {
    let inside_word = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '*' | '%');
    !before.chars().next_back().is_some_and(inside_word)
}

fn is_foreign(path: &str, roots: &RootSet, top: &BTreeSet<String>) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let known = parts.next().is_some_and(|first| top.contains(first));
    known && parts.next().is_some() && !roots.allows(Path::new(path))
}

fn top_level() -> &'static BTreeSet<String> {
    static TOP: OnceLock<BTreeSet<String>> = OnceLock::new();
    TOP.get_or_init(|| {
        let entries = std::fs::read_dir("/").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_outside_the_roots_become_their_text() {
        let roots = RootSet::of_real_paths(vec!["/srv/w x".into()], vec![]);
        let cases = [
            (
                "Go to [int](file:///opt/stubs/b.pyi#L4,7) | [A](file:///srv/w%20x/a.py#L1)",
                "Go to int | [A](file:///srv/w%20x/a.py#L1)",
            ),
            ("[a](file:///x/1) [b](file:///x/2).", "a b."),
            ("x[0](file:///x", "x[0](file:///x"),
            ("](file:///x) [web](https://example.org/a)", "](file:///x) [web](https://example.org/a)"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(without_foreign_links(text, &roots), expected, "{text}");
        }
    }

    #[test]
    fn only_foreign_paths_are_redacted() {
        let roots = RootSet::of_real_paths(vec!["/srv/w".into()], vec!["/usr/share/extra".into()]);
        let top: BTreeSet<String> = ["usr", "srv", "home"].map(String::from).into();
        let cases = [
            ("searched `/usr/lib/python3` and more", "searched `[path outside the workspace]` and more"),
            ("in /usr/include/stdio.h:12:3: note", "in [path outside the workspace]:12:3: note"),
            ("see file:///home/me/a%20b.", "see [path outside the workspace]."),
            ("/srv/w/a.c:1 and /srv/wx/a.c", "/srv/w/a.c:1 and [path outside the workspace]"),
            ("/usr/share/extra/x is read", "/usr/share/extra/x is read"),
            (
                "a/usr/b ./usr/b /api/v1 / 1/2 /usr and //usr/x",
                "a/usr/b ./usr/b /api/v1 / 1/2 /usr and [path outside the workspace]",
            ),
            ("nothing", "nothing"),
        ];
        for (text, expected) in cases {
            assert_eq!(redact_below(text, &roots, &top), expected, "{text}");
        }
    }
}
