//! Manifests in JSON: `composer.json` and `vcpkg.json`.

use crate::json_text::JsonText;
use crate::values::ManifestValues;

/// The values of a `composer.json`.
pub(super) fn composer(text: &str) -> ManifestValues {
    let Some(json) = JsonText::parse(text) else { return ManifestValues::default() };
    ManifestValues {
        name: json.text("name"),
        version: json.text("version"),
        description: json.text("description"),
        license: json.text("license").or_else(|| json.first("license")),
        requires: json.inner("require", "php"),
    }
}

/// The values of a `vcpkg.json`.
pub(super) fn vcpkg(text: &str) -> ManifestValues {
    let Some(json) = JsonText::parse(text) else { return ManifestValues::default() };
    let versions = ["version", "version-semver", "version-string", "version-date"];
    ManifestValues {
        name: json.text("name"),
        version: versions.iter().find_map(|key| json.text(key)),
        description: json.text("description").or_else(|| json.first("description")),
        license: json.text("license"),
        requires: None,
    }
}
