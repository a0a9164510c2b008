//! Hovers: `MarkupContent`, `MarkedString`, or an array of them, decoded into fragments.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ConvertError;
use super::fields::{ObjectOnly, OrderedRange, TextField};
use super::list;
use codeyard_model::hover::{Hover, HoverFragment, MarkupKind};
use codeyard_model::limits::MAX_RAW_ITEMS;

#[derive(Debug, Deserialize)]
struct HoverFields {
    contents: Fragments,
    range: Option<OrderedRange>,
}

/// `MarkupContent` (it has a kind) or a `MarkedString` with a language.
#[derive(Debug, Deserialize)]
struct MarkupFields<'a> {
    kind: Option<MarkupKindField>,
    #[serde(borrow)]
    language: Option<TextField<'a>>,
    #[serde(borrow)]
    value: TextField<'a>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MarkupKindField {
    Markdown,
    Plaintext,
}

/// Decodes the answer to `textDocument/hover`; `None` when the hover is empty.
pub fn hover(raw: &RawValue) -> Result<Option<Hover>, ConvertError> {
    let Some(ObjectOnly(fields)) = list::read_one::<Option<ObjectOnly<HoverFields>>>("hover", raw)? else {
        return Ok(None);
    };
    let Fragments(contents) = fields.contents;
    if contents.is_empty() {
        return Ok(None);
    }
    Ok(Some(Hover { contents, range: fields.range.map(|range| range.0) }))
}

/// The first fragments that aren't blank, at most `MAX_RAW_ITEMS`. An answer has far fewer and says that it was cut.
#[derive(Debug)]
struct Fragments(Vec<HoverFragment>);

/// One element of the contents.
#[derive(Debug)]
struct Fragment(Option<HoverFragment>);

impl<'de> Deserialize<'de> for Fragments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FragmentsVisitor)
    }
}

impl<'de> Deserialize<'de> for Fragment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FragmentVisitor)
    }
}

struct FragmentsVisitor;

impl<'de> Visitor<'de> for FragmentsVisitor {
    type Value = Fragments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hover contents")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Fragments, E> {
        Ok(Fragments(markdown(text).into_iter().collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fragments, A::Error> {
        Ok(Fragments(FragmentVisitor.visit_map(map)?.0.into_iter().collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Fragments, A::Error> {
        let mut list = Vec::new();
        while let Some(Fragment(fragment)) = seq.next_element()? {
            list.extend(fragment.filter(|_| list.len() < MAX_RAW_ITEMS));
        }
        Ok(Fragments(list))
    }
}

struct FragmentVisitor;

impl<'de> Visitor<'de> for FragmentVisitor {
    type Value = Fragment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or marked-up text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Fragment, E> {
        Ok(Fragment(markdown(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fragment, A::Error> {
        let fields = MarkupFields::deserialize(MapAccessDeserializer::new(map))?;
        let value = &*fields.value.0;
        Ok(Fragment(match (fields.kind, fields.language) {
            (Some(MarkupKindField::Markdown), _) => markdown(value),
            (Some(MarkupKindField::Plaintext), _) => fragment(MarkupKind::Plaintext, value.to_owned()),
            (None, Some(language)) if !value.trim().is_empty() => {
                fragment(MarkupKind::Markdown, fenced(&language.0, value))
            }
            (None, Some(_)) => None,
            (None, None) => return Err(A::Error::custom("neither a kind nor a language")),
        }))
    }
}

fn markdown(value: &str) -> Option<HoverFragment> {
    fragment(MarkupKind::Markdown, value.to_owned())
}

/// The fragment, or `None` for blank text.
fn fragment(kind: MarkupKind, value: String) -> Option<HoverFragment> {
    (!value.trim().is_empty()).then_some(HoverFragment { kind, value })
}

/// `value` as a fenced block, with a fence longer than any run of backticks in it. Characters of the language that
/// would end the info string are left out.
fn fenced(language: &str, value: &str) -> String {
    let fence = "`".repeat(longest_backtick_run(value).max(2) + 1);
    let language: String =
        language.chars().filter(|char| char.is_alphanumeric() || matches!(char, '+' | '-' | '_' | '.' | '#')).collect();
    let end = if value.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{value}{end}{fence}")
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}
