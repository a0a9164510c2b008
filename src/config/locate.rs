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
        let encloses = path == at || path.strip_prefix(at).is_some_and(|rest| rest.starts_with(['.', '[']));
        if encloses {
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
