//! `[groups.NAME]`: workspaces that one endpoint of the catalog `code` serves together, chosen by names and patterns.
//!
//! Pure. A pattern need not match a workspace: workspaces come and go while the service runs. Invariant: a checked section compiles.

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// Names and patterns of one group, or of one filter of workspaces.
const MAX_NAME_PATTERNS: usize = 1_000;

/// The error for an invalid name of a group.
pub(crate) const GROUP_NAME_FORM: &str =
    "is not a group's name, which has 1 to 64 of a-z, 0-9, '.', '_', '-' and starts with a letter or digit";

/// `[groups.NAME]`: workspaces that are searched together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupSection {
    /// Names of workspaces, and patterns with `*` and `?`. One that begins with `!` leaves workspaces out.
    pub workspaces: Vec<String>,
}

impl GroupSection {
    /// The workspaces of the group.
    ///
    /// # Errors
    /// A sentence about the first wrong pattern. A checked configuration has none.
    pub fn patterns(&self) -> Result<NamePatterns, String> {
        NamePatterns::new(&self.workspaces)
    }

    pub(crate) fn check(&self, key: &str) -> Result<(), ConfigError> {
        if self.workspaces.iter().all(|pattern| pattern.starts_with('!')) {
            let problem = "the list names no workspace, so the group would be empty";
            return Err(ConfigError::at(key, problem, "add the name of a workspace, or `*` for all"));
        }
        let remedy = "write names of workspaces, or patterns such as `svc-*` or `!svc-old`";
        self.patterns().map(drop).map_err(|problem| ConfigError::at(key, problem, remedy))
    }
}

/// Names and patterns that select workspaces. `*` stands for any characters, `?` for one; a pattern that begins with `!` excludes.
#[derive(Debug, Clone)]
pub struct NamePatterns {
    included: GlobSet,
    excluded: GlobSet,
    /// Whether there are only patterns that exclude: then all other names pass.
    only_excludes: bool,
}

impl NamePatterns {
    /// Compiles patterns. Case doesn't matter.
    ///
    /// # Errors
    /// A sentence about the first wrong pattern, or about their number.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        if patterns.len() > MAX_NAME_PATTERNS {
            return Err(format!("{} patterns, but at most {MAX_NAME_PATTERNS} are allowed", patterns.len()));
        }
        let mut included = GlobSetBuilder::new();
        let mut excluded = GlobSetBuilder::new();
        let mut only_excludes = true;
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let (set, bare) = match pattern.strip_prefix('!') {
                Some(bare) => (&mut excluded, bare),
                None => {
                    only_excludes = false;
                    (&mut included, pattern)
                }
            };
            set.add(glob(bare).ok_or_else(|| format!("`{pattern}` is not a name or a pattern"))?);
        }
        let built = |set: GlobSetBuilder| set.build().map_err(|_| "the patterns are too large".to_owned());
        Ok(Self { included: built(included)?, excluded: built(excluded)?, only_excludes })
    }

    /// Whether a workspace of this name is selected.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        (self.only_excludes || self.included.is_match(&name)) && !self.excluded.is_match(&name)
    }
}

/// A glob of the characters of names, `*` and `?`; other characters that globs give a meaning are refused.
fn glob(text: &str) -> Option<Glob> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '?');
    let is_valid = !text.is_empty() && text.chars().all(is_plain);
    is_valid.then(|| Glob::new(&text.to_lowercase()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_select_and_exclude() {
        let matching = |patterns: &[&str], names: &[&str]| -> Vec<String> {
            let patterns = NamePatterns::new(patterns).unwrap();
            names.iter().filter(|name| patterns.matches(name)).map(|name| (*name).to_owned()).collect()
        };
        let names = ["redis", "redis-py", "svc-a", "svc-old", "zod"];
        assert_eq!(matching(&["redis"], &names), ["redis"], "a plain name is the whole name");
        assert_eq!(matching(&["REDIS*"], &names), ["redis", "redis-py"]);
        assert_eq!(matching(&["svc-*", "!svc-old", "zo?"], &names), ["svc-a", "zod"]);
        assert_eq!(matching(&["!svc-*"], &names), ["redis", "redis-py", "zod"]);
        assert_eq!(matching(&[], &names), names);
        for bad in ["", "!", "a/b", "[a", "a b", "{a,b}"] {
            assert!(NamePatterns::new(&[bad]).is_err(), "{bad}");
        }
        let many = vec!["a"; MAX_NAME_PATTERNS + 1];
        assert!(NamePatterns::new(&many).is_err());
    }

    #[test]
    fn empty_groups_and_wrong_patterns_are_refused_with_their_key() {
        let group = |patterns: &[&str]| GroupSection { workspaces: patterns.iter().map(|p| (*p).to_owned()).collect() };
        assert!(group(&["a", "!b*"]).check("groups.x.workspaces").is_ok());
        for bad in [&[][..], &["!a"], &["a", "b/c"]] {
            let error = group(bad).check("groups.x.workspaces").unwrap_err();
            assert_eq!(error.key, "groups.x.workspaces", "{bad:?}");
        }
    }
}
