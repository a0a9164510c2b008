//! `Cargo.toml`.

use crate::toml_text::{TomlText, at, items, members, str};
use crate::values::{ManifestValue, ManifestValues};

/// The name of the manifest.
pub const MANIFEST: &str = "Cargo.toml";

/// Tables of dependencies, at the top, of a workspace or of a target.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// A manifest.
pub struct CargoManifest<'t>(TomlText<'t>);

/// The role of a manifest in its workspace.
#[derive(Debug, PartialEq, Eq)]
pub enum PackageRole {
    /// The root of a workspace. Both lists are paths of folders; `members` may be globs.
    Root { members: Vec<String>, exclude: Vec<String> },
    /// A member of the workspace at this path.
    Member(String),
    /// Neither.
    Plain,
}

/// What a manifest says about its library.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Library<'m> {
    pub name: Option<&'m str>,
    pub path: Option<&'m str>,
}

impl PackageRole {
    /// The role that a text says. A manifest that is being edited must not split its workspace.
    pub fn of(text: &str) -> Self {
        let heads = |line: &str| line.starts_with("[workspace]") || line.starts_with("[workspace.");
        match CargoManifest::parse(text) {
            Some(manifest) => manifest.role(),
            None if text.lines().any(|line| heads(line.trim())) => Self::Root { members: vec![], exclude: vec![] },
            None => Self::Plain,
        }
    }
}

impl<'t> CargoManifest<'t> {
    /// `None` if it isn't TOML.
    pub fn parse(text: &'t str) -> Option<Self> {
        TomlText::parse(text).map(Self)
    }

    fn role(&self) -> PackageRole {
        if let Some(workspace) = self.0.at(&["workspace"]).filter(|workspace| workspace.get_ref().is_table()) {
            let names = |key: &str| items(at(workspace, &[key])).filter_map(str).map(str::to_owned).collect();
            return PackageRole::Root { members: names("members"), exclude: names("exclude") };
        }
        let package = self.0.at(&["package"]).or_else(|| self.0.at(&["project"]));
        let workspace_path = package.and_then(|package| str(at(package, &["workspace"])?));
        workspace_path.map_or(PackageRole::Plain, |path| PackageRole::Member(path.to_owned()))
    }

    /// Whether it describes a package, not only a workspace.
    pub fn is_package(&self) -> bool {
        self.0.at(&["package"]).is_some()
    }

    /// Whether it forbids publishing the package.
    pub fn is_unpublished(&self) -> bool {
        self.0.at(&["package", "publish"]).is_some_and(|publish| publish.get_ref().as_bool() == Some(false))
    }

    /// Its library.
    pub fn library(&self) -> Library<'_> {
        Library { name: self.0.str(&["lib", "name"]), path: self.0.str(&["lib", "path"]) }
    }

    /// The features that are on by default.
    pub fn default_features(&self) -> Vec<&str> {
        items(self.0.at(&["features", "default"])).filter_map(str).collect()
    }

    /// The relative paths of the dependencies that are folders.
    pub fn path_dependencies(&self) -> Vec<&str> {
        let own = DEPENDENCIES.map(|kind| self.0.at(&[kind]));
        let of_workspace = DEPENDENCIES.map(|kind| self.0.at(&["workspace", kind]));
        let of_targets =
            members(self.0.at(&["target"])).flat_map(|target| DEPENDENCIES.map(|kind| at(target, &[kind])));
        let tables = own.into_iter().chain(of_workspace).chain(of_targets);
        tables.flat_map(members).filter_map(|dependency| str(at(dependency, &["path"])?)).collect()
    }

    /// The values that the package inherits from the workspace whose manifest is `workspace`.
    pub(crate) fn inherited(&self, workspace: &Self) -> ManifestValues {
        values(|key| {
            self.0.at(&["package", key, "workspace"])?;
            workspace.0.value(&["workspace", "package", key])
        })
    }

    /// Whether it is the root of a workspace.
    pub(crate) fn is_workspace(&self) -> bool {
        self.0.at(&["workspace"]).is_some()
    }
}

/// The values of the package; of a workspace without one, none.
pub(crate) fn metadata(text: &str) -> ManifestValues {
    CargoManifest::parse(text).map(|manifest| values(|key| manifest.0.value(&["package", key]))).unwrap_or_default()
}

fn values(of: impl Fn(&str) -> Option<ManifestValue>) -> ManifestValues {
    ManifestValues {
        name: of("name"),
        version: of("version"),
        description: of("description"),
        license: of("license"),
        requires: of("rust-version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_in_a_workspace() {
        let root = PackageRole::Root { members: vec!["a/*".into()], exclude: vec!["b".into()] };
        assert_eq!(PackageRole::of("[workspace]\nmembers = [\"a/*\", 1]\nexclude = [\"b\"]\n"), root);
        assert_eq!(PackageRole::of("[package]\nworkspace = \"../w\"\n"), PackageRole::Member("../w".into()));
        assert_eq!(PackageRole::of("[package]\nname = \"a\"\n"), PackageRole::Plain);
        let edited = PackageRole::of("[workspace.dependencies]\na = \n");
        assert_eq!(edited, PackageRole::Root { members: vec![], exclude: vec![] });
        assert_eq!(PackageRole::of("[package\n"), PackageRole::Plain);
    }

    #[test]
    fn dependencies_features_and_the_library() {
        let text = "[package]\nname = \"a\"\npublish = false\n[lib]\npath = \"x.rs\"\n[features]\nb = []\ndefault = [\n \"b\",\n]\n\
                    [dependencies]\nc = { path = \"../c\" }\nd = \"1\"\n[dev-dependencies.e]\npath = \"e\"\n\
                    [target.'cfg(unix)'.build-dependencies]\nf = { path = \"f\" }\n[workspace.dependencies]\ng.path = \"g\"\n";
        let manifest = CargoManifest::parse(text).unwrap();
        assert_eq!(manifest.path_dependencies(), ["../c", "e", "g", "f"]);
        assert_eq!(manifest.library(), Library { name: None, path: Some("x.rs") });
        assert_eq!(manifest.default_features(), ["b"]);
        assert!(manifest.is_package() && manifest.is_unpublished());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,60}|([( )a./\"\n=]|path|dependencies|\\[|\\]|workspace){0,24}") {
            PackageRole::of(&text);
            CargoManifest::parse(&text).map(|manifest| manifest.path_dependencies().len());
        }
    }
}
