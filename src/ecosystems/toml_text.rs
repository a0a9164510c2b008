//! A document in TOML with the places of its values.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::values::{ManifestValue, line_at, value};

/// A document and its text.
pub(crate) struct TomlText<'t> {
    text: &'t str,
    table: Spanned<DeTable<'t>>,
}

impl<'t> TomlText<'t> {
    /// `None` if it isn't TOML.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        Some(Self { text, table: DeTable::parse(text).ok()? })
    }

    /// The value with this path of keys.
    pub(crate) fn at(&self, keys: &[&str]) -> Option<&Spanned<DeValue<'t>>> {
        let (first, rest) = keys.split_first()?;
        at(self.table.get_ref().get(*first)?, rest)
    }

    /// The text with this path of keys.
    pub(crate) fn str(&self, keys: &[&str]) -> Option<&str> {
        str(self.at(keys)?)
    }

    /// The text with this path of keys, as a value with its line.
    pub(crate) fn value(&self, keys: &[&str]) -> Option<ManifestValue> {
        self.located(self.at(keys)?, str(self.at(keys)?)?)
    }

    /// The first text of a list that `accept` turns into a value.
    pub(crate) fn in_list(&self, keys: &[&str], accept: impl Fn(&str) -> Option<String>) -> Option<ManifestValue> {
        items(self.at(keys)).find_map(|item| self.located(item, &accept(str(item)?)?))
    }

    fn located(&self, place: &Spanned<DeValue<'t>>, text: &str) -> Option<ManifestValue> {
        value(text, line_at(self.text, place.span().start))
    }
}

/// The value with this path of keys below another one.
pub(crate) fn at<'v, 't>(value: &'v Spanned<DeValue<'t>>, keys: &[&str]) -> Option<&'v Spanned<DeValue<'t>>> {
    keys.iter().try_fold(value, |value, key| value.get_ref().get(*key))
}

pub(crate) fn str<'v>(value: &'v Spanned<DeValue<'_>>) -> Option<&'v str> {
    value.get_ref().as_str()
}

/// The values of a table, by their keys.
pub(crate) fn members<'v, 't>(
    table: Option<&'v Spanned<DeValue<'t>>>,
) -> impl Iterator<Item = &'v Spanned<DeValue<'t>>> {
    table
        .and_then(|table| table.get_ref().as_table())
        .into_iter()
        .flat_map(|table| table.iter().map(|(_, value)| value))
}

/// The values of a list.
pub(crate) fn items<'v, 't>(list: Option<&'v Spanned<DeValue<'t>>>) -> impl Iterator<Item = &'v Spanned<DeValue<'t>>> {
    list.and_then(|list| list.get_ref().as_array()).into_iter().flat_map(|list| list.iter())
}
