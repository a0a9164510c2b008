//! Package manifests: the name, version, description, licence and requirements that they say, each with its line.
//!
//! It runs nothing: a manifest that is a program is searched for plain texts. Invariants: a value stands on the line that is named; what is computed,
//! or can't be read, is missing instead of guessed; no manifest, whatever it holds, costs more than its size.

mod inheritance;
mod json;
mod literals;
mod script;
mod xml;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::inheritance::{ReadText, inherit};
pub use crate::values::ManifestValue;
use crate::values::ManifestValues;
use crate::{cargo, go, npm, python};

/// A package manifest. Values that it doesn't say are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageManifest {
    /// The path, relative to the top.
    pub path: String,
    /// What it is.
    pub kind: ManifestKind,
    /// The target platforms that it means, of `config/sites.toml`.
    pub platforms: Vec<String>,
    /// The package's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ManifestValue>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ManifestValue>,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<ManifestValue>,
    /// Its licence, as the manifest writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<ManifestValue>,
    /// The versions of the language or platform that it needs, as the manifest writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<ManifestValue>,
}

/// The kinds of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ManifestKind {
    /// `Cargo.toml`.
    Cargo,
    /// `pyproject.toml`, `setup.py` or `setup.cfg`.
    Python,
    /// `package.json`.
    Npm,
    /// `pom.xml`.
    Maven,
    /// `build.gradle` or `build.gradle.kts`.
    Gradle,
    /// `*.csproj` or `*.nuspec`.
    Nuget,
    /// `go.mod`.
    Go,
    /// `*.gemspec`.
    Gem,
    /// `composer.json`.
    Composer,
    /// `Package.swift`.
    Swift,
    /// `CMakeLists.txt`, `conanfile.py`, `conanfile.txt` or `vcpkg.json`.
    Cpp,
}

/// What a file of this name is; `None` if it is no manifest.
pub fn kind_of(name: &str) -> Option<ManifestKind> {
    match name {
        cargo::MANIFEST => Some(ManifestKind::Cargo),
        python::MANIFEST | python::SETUP_PROGRAM | python::SETUP_CONFIGURATION => Some(ManifestKind::Python),
        npm::MANIFEST => Some(ManifestKind::Npm),
        "pom.xml" => Some(ManifestKind::Maven),
        "build.gradle" | "build.gradle.kts" => Some(ManifestKind::Gradle),
        go::MANIFEST => Some(ManifestKind::Go),
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
pub fn read(path: &str, content: &[u8], has_typescript: bool) -> Option<PackageManifest> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = kind_of(name)?;
    let text = String::from_utf8_lossy(content);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let values = match (kind, name) {
        (ManifestKind::Cargo, _) => cargo::metadata(text),
        (ManifestKind::Python, python::MANIFEST) => python::metadata(text),
        (ManifestKind::Python, python::SETUP_CONFIGURATION) => python::setup_metadata(text),
        (ManifestKind::Python, _) => script::setup_py(text),
        (ManifestKind::Npm, _) => npm::metadata(text),
        (ManifestKind::Composer, _) => json::composer(text),
        (ManifestKind::Maven, _) => xml::maven(text),
        (ManifestKind::Nuget, _) => xml::nuget(text),
        (ManifestKind::Gradle, _) => script::gradle(text),
        (ManifestKind::Go, _) => go::metadata(text),
        (ManifestKind::Gem, _) => script::gemspec(text),
        (ManifestKind::Swift, _) => script::swift(text),
        (ManifestKind::Cpp, "vcpkg.json") => json::vcpkg(text),
        (ManifestKind::Cpp, "conanfile.py") => script::conanfile(text),
        (ManifestKind::Cpp, "CMakeLists.txt") => script::cmake(text),
        (ManifestKind::Cpp, _) => ManifestValues::default(),
    };
    let platforms = platforms(kind, text, has_typescript).iter().map(|platform| (*platform).to_owned()).collect();
    let ManifestValues { name, version, description, license, requires } = values;
    Some(PackageManifest { path: path.to_owned(), kind, platforms, name, version, description, license, requires })
}

/// The platforms that a manifest means.
fn platforms(kind: ManifestKind, text: &str, has_typescript: bool) -> &'static [&'static str] {
    match kind {
        ManifestKind::Cargo => &["rust"],
        ManifestKind::Python => &["python"],
        ManifestKind::Npm if has_typescript || npm::names_types(text) => &["javascript", "typescript"],
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

#[cfg(test)]
mod tests;
