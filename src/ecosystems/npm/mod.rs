//! `package.json`, and the workspaces of npm, yarn, bun and pnpm.
//!
//! It is read as TypeScript reads it: comments, trailing commas and a byte order mark are accepted. Only [`metadata`] requires strict JSON, as
//! registries do.

mod exports;
mod versions;
mod workspaces;

use serde_json::Value;

pub use self::exports::{MAX_SPECIFIER_BYTES, matched, split_package};
pub use self::versions::accepts;
pub use self::workspaces::{PNPM_WORKSPACE, members, pnpm_members};
use crate::json_text::JsonText;
use crate::jsonc;
use crate::values::ManifestValues;

/// The name of the manifest.
pub const MANIFEST: &str = "package.json";

/// Members that list dependencies; an installation for development has those of the first two.
const DEPENDENCIES: [&str; 4] = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/// A manifest.
#[derive(Debug, Clone, Default)]
pub struct PackageJson(Value);

impl PackageJson {
    /// `None` if the text isn't an object.
    pub fn parse(text: &str) -> Option<Self> {
        jsonc::parse_object(text).map(Self)
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.0.get(member)?.as_str()
    }

    fn has(&self, member: &str) -> bool {
        self.0.get(member).is_some()
    }

    /// The name of the package.
    pub fn name(&self) -> Option<&str> {
        self.text("name")
    }

    /// The version of the package.
    pub fn version(&self) -> Option<&str> {
        self.text("version")
    }

    /// Whether it forbids publishing the package.
    pub fn is_private(&self) -> bool {
        self.0["private"] == true
    }

    /// Whether it only holds other packages together.
    pub fn is_workspace_only(&self) -> bool {
        self.is_private() && (self.has("workspaces") || !self.has("main") && !self.has("exports"))
    }

    /// The package manager that it is for: `pnpm` of `pnpm@9.1.0`.
    pub fn installer(&self) -> Option<&str> {
        Some(self.text("packageManager")?.split_once('@')?.0)
    }

    /// Whether it has a script of this name.
    pub fn has_script(&self, name: &str) -> bool {
        self.0["scripts"][name].is_string()
    }

    /// The packages that an installation for development needs.
    pub fn needed_packages(&self) -> impl Iterator<Item = &str> {
        let lists = DEPENDENCIES[..2].iter().filter_map(|member| self.0.get(*member)?.as_object());
        lists.flat_map(|list| list.keys()).map(String::as_str)
    }

    /// The versions of a package that its lists of dependencies want.
    pub fn wanted_versions(&self, name: &str) -> impl Iterator<Item = &str> {
        DEPENDENCIES.iter().filter_map(move |member| self.0.get(*member)?.get(name)?.as_str())
    }
}

/// The values that registries show.
pub(crate) fn metadata(text: &str) -> ManifestValues {
    let Some(json) = JsonText::parse(text) else { return ManifestValues::default() };
    ManifestValues {
        name: json.text("name"),
        version: json.text("version"),
        description: json.text("description"),
        license: json.text("license").or_else(|| json.inner("license", "type")),
        requires: json.inner("engines", "node"),
    }
}

/// Whether a manifest says that its package has types, or is written in TypeScript.
pub(crate) fn names_types(text: &str) -> bool {
    let manifest = PackageJson::parse(text).unwrap_or_default();
    manifest.has("types") || manifest.has("typings") || manifest.0["devDependencies"].get("typescript").is_some()
}
