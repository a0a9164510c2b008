//! Which servers may serve a language, given what the user selected.
//!
//! Pure. It doesn't know which servers are installed or where a file's project root is; `server_choice` does.

use std::collections::BTreeSet;

use super::schema::{Registry, ServerRole};

/// The user's selection of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSelection {
    /// Selected kinds, in order of preference. A selected primary server excludes the others of its group. Selecting
    /// a server also enables it.
    pub chosen: Vec<String>,
    /// Kinds that never run. Wins over `chosen`.
    pub disabled: BTreeSet<String>,
    /// When a fallback server answers.
    pub fallback: FallbackMode,
}

/// When a fallback server answers for a language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FallbackMode {
    /// Never.
    Off,
    /// When none of the language's primary servers is available.
    #[default]
    IfMissing,
    /// Also while the primary server isn't ready.
    UntilReady,
}

/// The servers of one language, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanguageCandidates {
    /// Alternatives, in order. The first one that is available runs.
    pub primary: Vec<String>,
    /// Servers that run beside the primary one.
    pub linters: Vec<String>,
    /// Servers that replace a missing primary one.
    pub fallbacks: Vec<String>,
}

impl Registry {
    /// All kinds that serve a language, also disabled ones: alternatives by priority, then linters and fallbacks by
    /// priority and name.
    pub fn servers_for(&self, language: &str) -> Vec<&str> {
        let mut found: Vec<(ServerRole, u32, &str)> = self
            .servers
            .iter()
            .filter(|(_, server)| server.languages.iter().any(|id| id == language))
            .map(|(kind, server)| (server.role, server.priority, kind.as_str()))
            .collect();
        found.sort_by_key(|(role, priority, kind)| (*role as u8, *priority, *kind));
        found.into_iter().map(|(_, _, kind)| kind).collect()
    }

    /// The servers of a language that may run under the user's selection.
    pub fn candidates(&self, language: &str, selection: &ServerSelection) -> LanguageCandidates {
        let chosen = |kind: &str| selection.chosen.iter().position(|wanted| wanted == kind);
        let allowed = |kind: &&str| {
            !selection.disabled.contains(*kind) && (!self.servers[*kind].disabled || chosen(kind).is_some())
        };
        let all = self.servers_for(language);
        let role = |kind: &&str| self.servers[*kind].role;
        let (mut primary, added): (Vec<&str>, Vec<&str>) =
            all.into_iter().filter(allowed).partition(|kind| role(kind) == ServerRole::Primary);
        let (linters, mut fallbacks): (Vec<&str>, Vec<&str>) =
            added.into_iter().partition(|kind| role(kind) == ServerRole::Linter);
        fallbacks.retain(|_| selection.fallback != FallbackMode::Off);
        if primary.iter().any(|kind| chosen(kind).is_some()) {
            primary.retain(|kind| chosen(kind).is_some());
            primary.sort_by_key(|kind| chosen(kind));
        }
        let owned = |kinds: Vec<&str>| kinds.into_iter().map(String::from).collect();
        LanguageCandidates { primary: owned(primary), linters: owned(linters), fallbacks: owned(fallbacks) }
    }

    /// The first of `kinds` that this registry doesn't have.
    pub fn unknown_kind<'a>(&self, kinds: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
        kinds.into_iter().find(|kind| !self.servers.contains_key(*kind)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_ordered_by_priority_then_linters_then_fallbacks() {
        let registry = Registry::builtin();
        let python = ["ty", "basedpyright", "pyright", "pyrefly", "zuban", "jedi", "pylsp", "ruff", "syntactic"];
        assert_eq!(registry.servers_for("python"), python);
        let typescript = registry.servers_for("typescript");
        let index = |kind: &str| typescript.iter().position(|k| *k == kind).unwrap_or_else(|| panic!("{kind}"));
        assert!(index("typescript") < index("typescript-language-server"));
        assert!(index("typescript-language-server") < index("eslint"));
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
    fn a_selection_narrows_alternatives_and_enables_servers() {
        let mut registry = Registry::builtin();
        let of = |registry: &Registry, chosen: &[&str], disabled: &[&str]| {
            let owned = |kinds: &[&str]| kinds.iter().map(|k| k.to_string()).collect::<Vec<_>>();
            let selection = ServerSelection {
                chosen: owned(chosen),
                disabled: owned(disabled).into_iter().collect(),
                ..ServerSelection::default()
            };
            let found = registry.candidates("python", &selection);
            (found.primary.join(" "), found.linters.join(" "))
        };
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(of(&registry, &[], &[]), pair("ty basedpyright pyright pyrefly zuban jedi pylsp", "ruff"));
        assert_eq!(of(&registry, &["pyright", "ty"], &[]), pair("pyright ty", "ruff"));
        assert_eq!(
            of(&registry, &["gopls"], &["ty", "ruff"]),
            pair("basedpyright pyright pyrefly zuban jedi pylsp", "")
        );
        assert_eq!(of(&registry, &["ty"], &["ty"]), pair("basedpyright pyright pyrefly zuban jedi pylsp", "ruff"));
        registry.servers.get_mut("ruff").unwrap().disabled = true;
        registry.servers.get_mut("ty").unwrap().disabled = true;
        assert_eq!(of(&registry, &[], &[]), pair("basedpyright pyright pyrefly zuban jedi pylsp", ""));
        assert_eq!(of(&registry, &["ruff", "ty"], &[]), pair("ty", "ruff"));
        assert_eq!(registry.unknown_kind(&["ty".to_string(), "tie".to_string()]), Some("tie"));
    }
}
