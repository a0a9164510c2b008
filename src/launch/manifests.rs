//! Package manifests: the name, version, description, licence and requirements that they say, each with its line.
//!
//! It runs nothing: a manifest that is a program is searched for plain texts. Invariants: a value stands on the line that is named; what is computed,
//! or can't be read, is missing instead of guessed; no manifest, whatever it holds, costs more than its size.

mod inheritance;
mod json;
mod literals;
mod script;
mod toml_text;
mod xml;

use crate::artifacts::repository::{ManifestKind, ManifestValue, PackageManifest};
use crate::request::sites::Sites;

pub(crate) use inheritance::inherit;

/// Length of one value of a manifest, in characters; longer ones are left out.
const MAX_MANIFEST_VALUE_CHARS: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManifestValues {
    pub(crate) name: Option<ManifestValue>,
    pub(crate) version: Option<ManifestValue>,
    pub(crate) description: Option<ManifestValue>,
    pub(crate) license: Option<ManifestValue>,
    pub(crate) requires: Option<ManifestValue>,
}

/// What a file of this name is; `None` if it is no manifest.
pub(crate) fn kind_of(name: &str) -> Option<ManifestKind> {
    match name {
        "Cargo.toml" => Some(ManifestKind::Cargo),
        "pyproject.toml" | "setup.py" | "setup.cfg" => Some(ManifestKind::Python),
        "package.json" => Some(ManifestKind::Npm),
        "pom.xml" => Some(ManifestKind::Maven),
        "build.gradle" | "build.gradle.kts" => Some(ManifestKind::Gradle),
        "go.mod" => Some(ManifestKind::Go),
        "composer.json" => Some(ManifestKind::Composer),
        "Package.swift" => Some(ManifestKind::Swift),
        "CMakeLists.txt" | "conanfile.py" | "conanfile.txt" | "vcpkg.json" => Some(ManifestKind::Cpp),
        _ => match name.rsplit_once('.')? {
            ("", _) => None,
            (_, "csproj" | "nuspec") => Some(ManifestKind::Nuget),
            (_, "gemspec") => Some(ManifestKind::Gem),
            _ => None,
        },
    }
}

/// The manifest at `path` with this content. `has_typescript`: whether a `tsconfig.json` lies beside it.
pub(crate) fn read(path: &str, content: &[u8], has_typescript: bool, sites: &Sites) -> Option<PackageManifest> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = kind_of(name)?;
    let text = String::from_utf8_lossy(content);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let values = match (kind, name) {
        (ManifestKind::Cargo, _) => toml_text::cargo(text),
        (ManifestKind::Python, "pyproject.toml") => toml_text::pyproject(text),
        (ManifestKind::Python, "setup.cfg") => script::setup_cfg(text),
        (ManifestKind::Python, _) => script::setup_py(text),
        (ManifestKind::Npm, _) => json::npm(text),
        (ManifestKind::Composer, _) => json::composer(text),
        (ManifestKind::Maven, _) => xml::maven(text),
        (ManifestKind::Nuget, _) => xml::nuget(text),
        (ManifestKind::Gradle, _) => script::gradle(text),
        (ManifestKind::Go, _) => script::go_mod(text),
        (ManifestKind::Gem, _) => script::gemspec(text),
        (ManifestKind::Swift, _) => script::swift(text),
        (ManifestKind::Cpp, "vcpkg.json") => json::vcpkg(text),
        (ManifestKind::Cpp, "conanfile.py") => script::conanfile(text),
        (ManifestKind::Cpp, "CMakeLists.txt") => script::cmake(text),
        (ManifestKind::Cpp, _) => ManifestValues::default(),
    };
    let platforms = platforms(kind, text, has_typescript).iter();
    let platforms = platforms.filter(|platform| sites.platforms.contains_key(**platform));
    let platforms = platforms.map(|platform| (*platform).to_owned()).collect();
    let ManifestValues { name, version, description, license, requires } = values;
    Some(PackageManifest { path: path.to_owned(), kind, platforms, name, version, description, license, requires })
}

/// The platforms that a manifest means.
fn platforms(kind: ManifestKind, text: &str, has_typescript: bool) -> &'static [&'static str] {
    match kind {
        ManifestKind::Cargo => &["rust"],
        ManifestKind::Python => &["python"],
        ManifestKind::Npm if has_typescript || json::names_types(text) => &["javascript", "typescript"],
        ManifestKind::Npm => &["javascript"],
        ManifestKind::Maven | ManifestKind::Gradle if names_kotlin(text) => &["java", "kotlin"],
        ManifestKind::Maven | ManifestKind::Gradle => &["java"],
        ManifestKind::Nuget => &["dotnet"],
        ManifestKind::Go => &["go"],
        ManifestKind::Gem => &["ruby"],
        ManifestKind::Composer => &["php"],
        ManifestKind::Swift => &["swift"],
        ManifestKind::Cpp => &["cpp"],
    }
}

fn names_kotlin(text: &str) -> bool {
    ["org.jetbrains.kotlin", "kotlin(\"", "kotlin-gradle-plugin", "libs.plugins.kotlin"]
        .iter()
        .any(|part| text.contains(part))
}

/// A value in one line; `None` if nothing is left, or it is longer than any such value.
fn value(text: &str, line: u32) -> Option<ManifestValue> {
    cleaned(text).map(|text| ManifestValue { text, line, path: None })
}

/// The text of a value in one line.
fn cleaned(text: &str) -> Option<String> {
    if text.len() > MAX_MANIFEST_VALUE_CHARS * 8 {
        return None;
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits =
        !text.is_empty() && text.chars().count() <= MAX_MANIFEST_VALUE_CHARS && !text.chars().any(char::is_control);
    fits.then_some(text)
}

/// The beginning of `text`, at most `max` bytes.
fn window(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The line of a byte, from 1.
fn line_at(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count()).map_or(u32::MAX, |count| count + 1)
}

#[cfg(test)]
mod tests;
