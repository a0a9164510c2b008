//! Manifests in TOML: `Cargo.toml` and `pyproject.toml`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ManifestValues, line_at, value};
use crate::artifacts::repository::ManifestValue;

/// A document in TOML with the places of its values.
pub(super) struct TomlText<'t> {
    text: &'t str,
    table: Spanned<DeTable<'t>>,
}

impl<'t> TomlText<'t> {
    /// `None` if it isn't TOML.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        Some(Self { text, table: DeTable::parse(text).ok()? })
    }

    /// The value with this path of keys.
    fn find(&self, keys: &[&str]) -> Option<&Spanned<DeValue<'t>>> {
        let (last, tables) = keys.split_last()?;
        let mut table: &DeTable<'t> = self.table.get_ref();
        for key in tables {
            table = match table.get(*key)?.get_ref() {
                DeValue::Table(inner) => inner,
                _ => return None,
            };
        }
        table.get(*last)
    }

    /// Whether there is a value with this path of keys.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        self.find(keys).is_some()
    }

    /// The text with this path of keys.
    pub(super) fn text(&self, keys: &[&str]) -> Option<ManifestValue> {
        let found = self.find(keys)?;
        match found.get_ref() {
            DeValue::String(text) => value(text, line_at(self.text, found.span().start)),
            _ => None,
        }
    }

    /// The first text of a list that `accept` turns into a value.
    fn in_list(&self, keys: &[&str], accept: impl Fn(&str) -> Option<String>) -> Option<ManifestValue> {
        let DeValue::Array(items) = self.find(keys)?.get_ref() else { return None };
        items.iter().find_map(|item| match item.get_ref() {
            DeValue::String(text) => value(&accept(text)?, line_at(self.text, item.span().start)),
            _ => None,
        })
    }
}

/// The values of a `Cargo.toml`; of a workspace without a package, none.
pub(super) fn cargo(text: &str) -> ManifestValues {
    let Some(toml) = TomlText::parse(text) else { return ManifestValues::default() };
    let of = |key: &str| toml.text(&["package", key]);
    ManifestValues {
        name: of("name"),
        version: of("version"),
        description: of("description"),
        license: of("license"),
        requires: of("rust-version"),
    }
}

/// The values of a `pyproject.toml`: of its section `project`, or else of Poetry's.
pub(super) fn pyproject(text: &str) -> ManifestValues {
    let Some(toml) = TomlText::parse(text) else { return ManifestValues::default() };
    let of = |key: &str| toml.text(&["project", key]).or_else(|| toml.text(&["tool", "poetry", key]));
    let license = of("license").or_else(|| toml.text(&["project", "license", "text"])).or_else(|| {
        let classifier = |text: &str| license_of_classifier(text);
        toml.in_list(&["project", "classifiers"], classifier)
            .or_else(|| toml.in_list(&["tool", "poetry", "classifiers"], classifier))
    });
    ManifestValues {
        name: of("name"),
        version: of("version"),
        description: of("description"),
        license,
        requires: toml
            .text(&["project", "requires-python"])
            .or_else(|| toml.text(&["tool", "poetry", "dependencies", "python"])),
    }
}

/// `License :: OSI Approved :: MIT License` is `MIT License`.
pub(super) fn license_of_classifier(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix("License ::")?;
    let last = rest.rsplit("::").next()?.trim();
    (!last.is_empty() && last != "OSI Approved").then(|| last.to_owned())
}
