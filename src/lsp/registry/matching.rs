//! Matching: of which language a file is, and which servers serve a language.
//!
//! Pure. What is installed, and where a file's project root is, is asked elsewhere: of the alternatives the first one runs
//! that has a project root for the file and is available.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::{Registry, Role};

/// A map from file names to languages, made once per registry.
#[derive(Debug, Clone, Default)]
pub struct LanguageIndex {
    names: HashMap<String, String>,
    endings: HashMap<String, String>,
}

/// What the user chose among servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Chosen kinds, the first first. A chosen primary server is the only one of its group; a chosen server counts as not disabled.
    pub chosen: Vec<String>,
    /// Kinds that never run. Wins over `chosen`.
    pub disabled: BTreeSet<String>,
    /// When a fallback answers.
    pub standby: Standby,
}

/// When a fallback answers for a language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standby {
    /// Never.
    Off,
    /// When none of its primary servers is there.
    #[default]
    IfMissing,
    /// Also until the one that is there is ready.
    UntilReady,
}

/// The servers of one language, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Alternatives in order, of which the first possible one runs.
    pub primary: Vec<String>,
    /// Servers that run beside it.
    pub linters: Vec<String>,
    /// Servers that stand in for it.
    pub fallbacks: Vec<String>,
}

impl LanguageIndex {
    /// The index of a registry's languages.
    pub fn new(registry: &Registry) -> Self {
        let mut index = Self::default();
        for (id, language) in &registry.languages {
            for name in &language.file_names {
                index.names.insert(name.clone(), id.clone());
            }
            for ending in &language.extensions {
                index.endings.insert(ending.clone(), id.clone());
            }
        }
        index
    }

    /// The language id of a file by its name alone. Whole names come first and are exact; then the longest ending, whose
    /// case doesn't matter. A name that is only an ending (`.py`) has none.
    pub fn language_of(&self, path: &Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        if let Some(id) = self.names.get(name) {
            return Some(id);
        }
        let lower = name.to_lowercase();
        let dots = lower.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
        dots.filter_map(|at| self.endings.get(&lower[at + 1..])).map(String::as_str).next()
    }
}

impl Registry {
    /// All kinds that serve a language: alternatives by priority, then linters and fallbacks by priority and name. Disabled ones
    /// too.
    pub fn servers_for(&self, language: &str) -> Vec<&str> {
        let mut found: Vec<(Role, u32, &str)> = self
            .servers
            .iter()
            .filter(|(_, server)| server.languages.iter().any(|id| id == language))
            .map(|(kind, server)| (server.role, server.priority, kind.as_str()))
            .collect();
        found.sort_by_key(|(role, priority, kind)| (*role as u8, *priority, *kind));
        found.into_iter().map(|(_, _, kind)| kind).collect()
    }

    /// The servers of a language that may run under the user's choices.
    pub fn candidates(&self, language: &str, selection: &Selection) -> Candidates {
        let chosen = |kind: &str| selection.chosen.iter().position(|wanted| wanted == kind);
        let allowed = |kind: &&str| {
            !selection.disabled.contains(*kind) && (!self.servers[*kind].disabled || chosen(kind).is_some())
        };
        let all = self.servers_for(language);
        let role = |kind: &&str| self.servers[*kind].role;
        let (mut primary, added): (Vec<&str>, Vec<&str>) =
            all.into_iter().filter(allowed).partition(|kind| role(kind) == Role::Primary);
        let (linters, mut fallbacks): (Vec<&str>, Vec<&str>) =
            added.into_iter().partition(|kind| role(kind) == Role::Linter);
        fallbacks.retain(|_| selection.standby != Standby::Off);
        if primary.iter().any(|kind| chosen(kind).is_some()) {
            primary.retain(|kind| chosen(kind).is_some());
            primary.sort_by_key(|kind| chosen(kind));
        }
        let owned = |kinds: Vec<&str>| kinds.into_iter().map(String::from).collect();
        Candidates { primary: owned(primary), linters: owned(linters), fallbacks: owned(fallbacks) }
    }

    /// The first of `kinds` that is no kind of this registry.
    pub fn unknown_kind<'a>(&self, kinds: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
        kinds.into_iter().find(|kind| !self.servers.contains_key(*kind)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_languages_by_whole_name_then_longest_ending() {
        let mut registry = Registry::builtin();
        registry.languages.entry("tpl".into()).or_default().extensions = vec!["html.tpl".into(), "tpl".into()];
        registry.languages.entry("x".into()).or_default().extensions = vec!["x".into(), "x.html.tpl".into()];
        let index = LanguageIndex::new(&registry);
        let cases = [
            ("a.py", Some("python")),
            ("dir.py/a", None),
            ("A.PY", Some("python")),
            ("a.pyi", Some("python")),
            (".py", None),
            ("a.", None),
            ("a", None),
            ("a.b.c.rs", Some("rust")),
            ("a.d.ts", Some("typescript")),
            ("a.tsx", Some("typescriptreact")),
            ("a.mjs", Some("javascript")),
            ("a.h", Some("c")),
            ("a.hpp", Some("cpp")),
            ("Dockerfile", Some("dockerfile")),
            ("dockerfile", None),
            ("a.dockerfile", Some("dockerfile")),
            (".bashrc", Some("shellscript")),
            ("a.tpl", Some("tpl")),
            ("a.html.tpl", Some("tpl")),
            ("a.x.html.tpl", Some("x")),
            ("ü.py", Some("python")),
            ("", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(index.language_of(Path::new(name)), wanted, "{name}");
        }
    }

    #[test]
    fn the_order_of_servers_is_that_of_the_groups_then_linters_then_fallbacks() {
        let registry = Registry::builtin();
        let python = ["ty", "basedpyright", "pyright", "pyrefly", "ruff", "syntactic"];
        assert_eq!(registry.servers_for("python"), python);
        let typescript = registry.servers_for("typescript");
        let place = |kind: &str| typescript.iter().position(|k| *k == kind).unwrap_or_else(|| panic!("{kind}"));
        assert!(place("typescript") < place("typescript-language-server"));
        assert!(place("typescript-language-server") < place("eslint"));
        assert!(registry.servers_for("klingon").is_empty());
    }

    #[test]
    fn every_language_has_a_server() {
        let registry = Registry::builtin();
        for id in registry.languages.keys() {
            assert!(!registry.servers_for(id).is_empty(), "{id}");
        }
    }

    #[test]
    fn choices_narrow_alternatives_and_enable() {
        let mut registry = Registry::builtin();
        let of = |registry: &Registry, chosen: &[&str], disabled: &[&str]| {
            let owned = |kinds: &[&str]| kinds.iter().map(|k| k.to_string()).collect::<Vec<_>>();
            let selection = Selection {
                chosen: owned(chosen),
                disabled: owned(disabled).into_iter().collect(),
                ..Selection::default()
            };
            let found = registry.candidates("python", &selection);
            (found.primary.join(" "), found.linters.join(" "))
        };
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(of(&registry, &[], &[]), pair("ty basedpyright pyright pyrefly", "ruff"));
        assert_eq!(of(&registry, &["pyright", "ty"], &[]), pair("pyright ty", "ruff"));
        assert_eq!(of(&registry, &["gopls"], &["ty", "ruff"]), pair("basedpyright pyright pyrefly", ""));
        assert_eq!(of(&registry, &["ty"], &["ty"]), pair("basedpyright pyright pyrefly", "ruff"));
        registry.servers.get_mut("ruff").unwrap().disabled = true;
        registry.servers.get_mut("ty").unwrap().disabled = true;
        assert_eq!(of(&registry, &[], &[]), pair("basedpyright pyright pyrefly", ""));
        assert_eq!(of(&registry, &["ruff", "ty"], &[]), pair("ty", "ruff"));
        assert_eq!(registry.unknown_kind(&["ty".to_string(), "tie".to_string()]), Some("tie"));
    }
}
