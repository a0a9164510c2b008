//! Converts between a key's path and its position in the text.
//!
//! A path is written `workspace[0].settings.ty`; keys that aren't bare are quoted. Invariant: every position lies in the text, whatever
//! span the parser returns.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::error::Place;

/// Appends a key to `path`.
pub(crate) fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The position of a byte offset of `text`.
pub(crate) fn place(text: &str, offset: usize) -> Place {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

/// The position of the key at this path; if it is missing, of the nearest table around it.
pub(crate) fn span_of(table: &DeTable<'_>, path: &str) -> Option<Range<usize>> {
    let mut nearest = None;
    visit(table, "", &mut |at, key_span, _| {
        let around = path == at || path.strip_prefix(at).is_some_and(|rest| rest.starts_with(['.', '[']));
        if around {
            nearest = Some(key_span);
        }
    });
    nearest
}

/// The innermost path whose value holds the byte range `span`; empty if none does.
pub(crate) fn path_at(table: &DeTable<'_>, span: &Range<usize>) -> String {
    let mut innermost = String::new();
    visit(table, "", &mut |at, key_span, value_span| {
        let holds = |outer: &Range<usize>| outer.start <= span.start && span.end <= outer.end && !outer.is_empty();
        if holds(&value_span) || holds(&key_span) {
            innermost = at.to_owned();
        }
    });
    innermost
}

/// Calls `each` with path, key span and value span of every entry, outer ones first.
fn visit(table: &DeTable<'_>, path: &str, each: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
    for (key, value) in table.iter() {
        let here = join(path, key.get_ref());
        each(&here, key.span(), value.span());
        visit_value(value.get_ref(), &here, each);
    }
}

fn visit_value(value: &DeValue<'_>, path: &str, each: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
    match value {
        DeValue::Table(table) => visit(table, path, each),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let here = format!("{path}[{index}]");
                each(&here, item.span(), item.span());
                visit_value(item.get_ref(), &here, each);
            }
        }
        _ => {}
    }
}
