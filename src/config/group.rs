//! `[groups.NAME]`: workspaces that one endpoint of the catalog `code` serves together, chosen by names and patterns.
//!
//! Pure. A pattern need not match a workspace: workspaces come and go while the service runs. Invariant: a checked section compiles.

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use codeyard_access::NamePatterns;

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

#[cfg(test)]
mod tests {
    use super::*;

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
