//! Loads the built-in registry and merges the user's entries into it.
//!
//! A user's entry overrides field by field: tables merge, everything else is replaced. So the merge happens on TOML
//! values, before they become types, and the result is validated as a whole.

use std::sync::{LazyLock, OnceLock};

use toml::{Table, Value};

use super::schema::Registry;
use super::validation;

const BUILTIN: &str = include_str!("../../../config/languages.toml");

/// Why a registry is invalid. Each message names the wrong key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The text isn't TOML, or has another structure.
    #[error("language server registry: {0}")]
    Shape(String),
    /// An entry contradicts itself or another entry.
    #[error("{key}: {why}")]
    Entry {
        /// The wrong key, such as `servers.ty.command`.
        key: String,
        why: String,
    },
}

impl Registry {
    /// The registry that ships with the program.
    pub fn builtin() -> Self {
        static PARSED: OnceLock<Registry> = OnceLock::new();
        PARSED
            .get_or_init(|| Self::merge_user_entries(&Table::new()).expect("a test loads the built-in registry"))
            .clone()
    }

    /// The built-in registry, with the user's `languages` and `servers` tables merged into it.
    ///
    /// # Errors
    /// [`RegistryError::Shape`] for unknown fields and wrong types, [`RegistryError::Entry`] for contradictions.
    pub fn merged(user: &Table) -> Result<Self, RegistryError> {
        let is_empty = |value: &Value| value.as_table().is_some_and(Table::is_empty);
        if user.values().all(is_empty) {
            return Ok(Self::builtin());
        }
        Self::merge_user_entries(user)
    }

    fn merge_user_entries(user: &Table) -> Result<Self, RegistryError> {
        // A server merges at each change of its configuration.
        static TABLES: LazyLock<Table> = LazyLock::new(|| BUILTIN.parse().expect("a test loads the built-in registry"));
        let mut merged = TABLES.clone();
        merge_tables(&mut merged, user);
        let registry: Self = Value::Table(merged).try_into().map_err(|e| shape(&e))?;
        validation::validate(&registry)?;
        Ok(registry)
    }
}

fn shape(error: &toml::de::Error) -> RegistryError {
    RegistryError::Shape(error.to_string().trim_end().replace('\n', "; "))
}

/// Merges `over` into `base`: tables merge, other values are replaced. An `install` from another source replaces the
/// whole table, because its fields differ.
fn merge_tables(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) if !has_other_source(key, old, new) => merge_tables(old, new),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

fn has_other_source(key: &str, old: &Table, new: &Table) -> bool {
    key == "install" && new.get("from").is_some_and(|from| old.get("from") != Some(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{InstallSource, ServerRole};

    fn merged(text: &str) -> Result<Registry, RegistryError> {
        Registry::merged(&text.parse().unwrap())
    }

    #[test]
    fn the_built_in_registry_is_valid() {
        let registry = Registry::builtin();
        assert!(registry.servers.len() > 40, "{} servers", registry.servers.len());
        assert_eq!(registry.servers["ruff"].role, ServerRole::Linter);
    }

    #[test]
    fn a_user_entry_overrides_field_by_field() {
        let builtin = Registry::builtin();
        let user = merged(
            "[servers.ty]\ndisabled = true\n[servers.ty.env]\nA = \"1\"\n[servers.ty.settings]\nx = 3\n\
             [servers.ty.root]\nrequired = true\n",
        )
        .unwrap();
        let old = &builtin.servers["ty"];
        let new = &user.servers["ty"];
        assert!(new.disabled && new.root.required && !old.disabled);
        assert_eq!(new.env["A"], "1");
        assert_eq!(new.settings.as_ref().unwrap()["x"], 3);
        assert_eq!((&new.command, &new.install, &new.quirks), (&old.command, &old.install, &old.quirks));
        assert_eq!(new.root.markers, old.root.markers);
        assert_eq!(builtin.servers["pyright"], user.servers["pyright"]);
    }

    #[test]
    fn a_user_entry_adds_languages_and_servers_and_replaces_an_install_source() {
        let user = merged(
            "[languages.foo]\nextensions = [\"foo\"]\n[servers.foo-ls]\nlanguages = [\"foo\"]\ngroup = \"foo\"\n\
             command = [\"/opt/foo\"]\n[servers.ty.install]\nfrom = \"manual\"\nhint = \"ask\"\n",
        )
        .unwrap();
        assert_eq!(user.servers["foo-ls"].command, ["/opt/foo"]);
        assert_eq!(user.servers["ty"].install, Some(InstallSource::Manual { hint: "ask".into() }));
    }

    #[test]
    fn an_empty_text_takes_a_readiness_condition_out() {
        let readiness = |text: &str| merged(text).unwrap().servers["jdtls"].readiness.clone();
        let before = readiness("");
        assert!(before.method.is_some() || before.log_message.is_some(), "{before:?}");
        let after = readiness("[servers.jdtls.readiness]\nmethod = \"\"\nlog_message = \"\"\n");
        assert_eq!((after.method, after.log_message), (None, None));
    }

    #[test]
    fn errors_name_the_key() {
        let server = "[servers.x]\ngroup = \"x\"\ncommand = [\"x\"]\n";
        let cases = [
            ("[servers.ty]\ncolour = 1\n", "colour"),
            ("[servers.ty]\nlanguages = [\"klingon\"]\n", "servers.ty.languages: unknown language `klingon`"),
            ("[servers.ty]\ncommand = []\n", "servers.ty.command: "),
            ("[servers.ty]\ncommand = [\"\"]\n", "servers.ty.command: "),
            ("[servers.ty]\ncommand = [\"ty\", \"{home}\"]\n", "servers.ty.command: unknown placeholder `{home}`"),
            ("[servers.ty]\ngroup = \"\"\n", "servers.ty.group: "),
            ("[servers.ty]\ngroup = \"other\"\n", "servers.ty.group: "),
            ("[servers.ty]\npriority = 1\n[servers.pyright]\npriority = 1\n", ".priority: "),
            ("[servers.ty]\nmulti_root = \"yes\"\n", "multi_root"),
            ("[servers.clangd]\nmulti_root = \"by-file\"\n", "servers.clangd.multi_root: `project = "),
            (
                "[servers.json]\nmulti_root = \"by-file\"\ncommand = [\"x\", \"{root}/x\"]\n",
                "servers.json.multi_root: `{root}/x` holds the path",
            ),
            (
                "[servers.json]\nmulti_root = \"workspace-folders\"\ninitialization_options = { at = \"{rooturi}\" }\n",
                "servers.json.multi_root: ",
            ),
            ("[servers.ty.install]\npackages = [\"ty\"]\n", "servers.ty.install.packages: `ty` is not pinned"),
            ("[servers.ty.install]\nfrom = \"npm\"\npackages = [\"@a/b\"]\n", "`@a/b` is not pinned"),
            ("[servers.ty.install]\nfrom = \"npm\"\npackages = [\"b@^1.2\"]\n", "`b@^1.2` is not pinned"),
            ("[servers.ty.install]\nfrom = \"npm\"\npackages = [\"b@latest\"]\n", "`b@latest` is not pinned"),
            ("[servers.ty.install]\nfrom = \"pypi\"\npackages = [\"--index-url=x\"]\n", "is not pinned"),
            ("[servers.ty.install]\nfrom = \"npm\"\npackages = []\n", "servers.ty.install.packages: "),
            ("[servers.ty.root]\nmarkers = [\"a[\"]\n", "servers.ty.root.markers: "),
            ("[servers.ty.root]\nmarkers = [\"../x\"]\n", "servers.ty.root.markers: "),
            (
                "[servers.ty.root]\nmarkers = []\nmanifests = []\nworkspace_markers = []\nrequired = true\n",
                "servers.ty.root.required: ",
            ),
            ("[servers.ty.quirks]\ncache_dirs = [\"../x\"]\n", "servers.ty.quirks.cache_dirs: "),
            ("[servers.ty.quirks]\ncopy_to_cache = [\"/x\"]\n", "servers.ty.quirks.copy_to_cache: "),
            ("[servers.ty.quirks]\nencodings = [\"latin-1\"]\n", "servers.ty.quirks.encodings: "),
            (
                "[languages.foo]\nextensions = [\"py\"]\n",
                "languages.python.extensions: `py` is also an extension of `foo`",
            ),
            ("[languages.foo]\nextensions = [\"Foo\"]\n", "languages.foo.extensions: "),
            ("[languages.foo]\nextensions = [\".foo\"]\n", "languages.foo.extensions: "),
            ("[languages.foo]\ninterpreters = [\"python3\"]\n", "languages.foo.interpreters: "),
            ("[languages.foo]\ninterpreters = [\"/bin/foo\"]\n", "languages.foo.interpreters: "),
            ("[languages.foo]\ninterpreters = [\"python\"]\n", "languages."),
            ("[languages.foo]\nfile_names = [\"a/b\"]\n", "languages.foo.file_names: "),
            ("[languages.foo]\nfile_names = [\"*\"]\n", "languages.foo.file_names: "),
            ("[languages.foo]\nfile_names = [\"a*b*\"]\n", "languages.foo.file_names: "),
            (server, "servers.x.languages: "),
            ("[servers.\"a b\"]\n", "servers.a b: "),
        ];
        for (text, wanted) in cases {
            let error = merged(text).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text:?} gave {error:?}, wanted {wanted:?}");
        }
    }
}
