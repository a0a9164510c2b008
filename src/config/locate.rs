//! Converts between a key's path and its position in the text.
//!
//! A path has the form `workspace[0].settings.ty`; keys that aren't bare are quoted. Invariant: every position lies in the text, whatever
//! span the parser returns.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::error::TextPosition;

/// Appends a key to `path`.
pub(crate) fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The position of a byte offset of `text`.
pub(crate) fn position(text: &str, offset: usize) -> TextPosition {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    TextPosition { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

/// The span of the key at this path. If the key is missing, the span of the innermost table that encloses it.
pub(crate) fn span_of(table: &DeTable<'_>, path: &str) -> Option<Range<usize>> {
    let mut innermost = None;
    for_each_entry(table, "", &mut |at, key_span, _| {
        if encloses(at, path) {
            innermost = Some(key_span);
        }
    });
    innermost
}

/// The innermost path whose key or value contains the byte range `span`; empty if none does.
pub(crate) fn path_at(table: &DeTable<'_>, span: &Range<usize>) -> String {
    let mut innermost = String::new();
    for_each_entry(table, "", &mut |at, key_span, value_span| {
        let contains = |outer: &Range<usize>| outer.start <= span.start && span.end <= outer.end && !outer.is_empty();
        if contains(&value_span) || contains(&key_span) {
            innermost = at.to_owned();
        }
    });
    innermost
}

/// An entry that was removed.
pub(crate) struct RemovedEntry {
    pub path: String,
    /// The span of its key, or of its value if it is an element of an array.
    pub span: Range<usize>,
}

/// Removes the entry at this path, or the innermost one that encloses it if there is none.
pub(crate) fn remove(table: &mut DeTable<'_>, path: &str) -> Option<RemovedEntry> {
    remove_in_table(table, "", path)
}

fn remove_in_table(table: &mut DeTable<'_>, here: &str, path: &str) -> Option<RemovedEntry> {
    let enclosing = table.iter_mut().find(|(key, _)| encloses(&join(here, key.get_ref()), path));
    let (key, value) = enclosing?;
    let within = join(here, key.get_ref());
    let inner = if within == path { None } else { remove_in_value(value.get_mut(), &within, path) };
    if inner.is_some() {
        return inner;
    }
    let name = key.get_ref().to_string();
    let span = key.span();
    table.remove(name.as_str()).map(|_| RemovedEntry { path: within, span })
}

fn remove_in_value(value: &mut DeValue<'_>, here: &str, path: &str) -> Option<RemovedEntry> {
    match value {
        DeValue::Table(table) => remove_in_table(table, here, path),
        DeValue::Array(items) => {
            let at = (0..items.len()).find(|at| encloses(&format!("{here}[{at}]"), path))?;
            let within = format!("{here}[{at}]");
            let item = items.get_mut(at)?;
            let span = item.span();
            let inner = if within == path { None } else { remove_in_value(item.get_mut(), &within, path) };
            inner.or_else(|| {
                let kept = items.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, item)| item.clone());
                *items = kept.collect();
                Some(RemovedEntry { path: within, span })
            })
        }
        _ => None,
    }
}

/// Whether the entry at `outer` is the one at `path` or encloses it.
fn encloses(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Calls `each` with the path, the span of the key and the span of the value of every entry. Tables come before their entries.
fn for_each_entry(table: &DeTable<'_>, path: &str, each: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
    for (key, value) in table.iter() {
        let here = join(path, key.get_ref());
        each(&here, key.span(), value.span());
        for_each_in_value(value.get_ref(), &here, each);
    }
}

fn for_each_in_value(value: &DeValue<'_>, path: &str, each: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
    match value {
        DeValue::Table(table) => for_each_entry(table, path, each),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let here = format!("{path}[{index}]");
                each(&here, item.span(), item.span());
                for_each_in_value(item.get_ref(), &here, each);
            }
        }
        _ => {}
    }
}
