//! The branches and tags of a remote repository, and which commit a name means.
//!
//! Invariants: a branch wins over a tag of the same name; an annotated tag means the commit that it points to; no name is longer than one that
//! a run's configuration can have, because names are recorded and suggested.

use std::collections::BTreeMap;

use crate::limits::MAX_REFERENCE_BYTES;

/// The branches, the tags and the head of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RemoteRefs {
    /// The head: its commit, and its branch unless it is detached.
    head: Option<(String, Option<String>)>,
    branches: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
}

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedRef {
    pub(crate) commit: String,
    /// The branch, if the name is one.
    pub(crate) branch: Option<String>,
    /// The full name of the ref, `refs/tags/v1`; `None` for a commit.
    pub(crate) full_name: Option<String>,
}

impl RemoteRefs {
    /// The refs that `git ls-remote --symref` has listed. Lines of another form and names that are too long are left out.
    pub(crate) fn parse(listing: &[u8]) -> Self {
        let mut refs = Self::default();
        let mut head_branch = None;
        for line in String::from_utf8_lossy(listing).lines() {
            let Some((value, name)) = line.split_once('\t') else { continue };
            if name.len() > MAX_REFERENCE_BYTES {
                continue;
            }
            if let Some(target) = value.strip_prefix("ref: ") {
                if name == "HEAD" && target.len() <= MAX_REFERENCE_BYTES {
                    head_branch = target.strip_prefix("refs/heads/").map(str::to_owned);
                }
                continue;
            }
            if !is_full_commit(value) {
                continue;
            }
            let value = value.to_owned();
            if name == "HEAD" {
                refs.head = Some((value, None));
            } else if let Some(branch) = name.strip_prefix("refs/heads/") {
                refs.branches.insert(branch.to_owned(), value);
            } else if let Some(tag) = name.strip_prefix("refs/tags/") {
                match tag.strip_suffix("^{}") {
                    // What an annotated tag points to follows the tag itself.
                    Some(tag) => drop(refs.tags.insert(tag.to_owned(), value)),
                    None => drop(refs.tags.entry(tag.to_owned()).or_insert(value)),
                }
            }
        }
        if let Some((_, branch)) = &mut refs.head {
            *branch = head_branch;
        }
        refs
    }

    /// What `name` means: a full commit, `HEAD`, a full or a short name of a branch or a tag.
    pub(crate) fn resolve(&self, name: &str) -> Option<ResolvedRef> {
        if is_full_commit(name) {
            return Some(ResolvedRef { commit: name.to_ascii_lowercase(), branch: None, full_name: None });
        }
        if name == "HEAD" {
            let (commit, branch) = self.head.clone()?;
            let full_name = branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
            return Some(ResolvedRef { commit, branch, full_name: full_name.or_else(|| Some("HEAD".into())) });
        }
        let (branch, tag) = match name.strip_prefix("refs/") {
            Some(rest) => (rest.strip_prefix("heads/"), rest.strip_prefix("tags/")),
            None => (Some(name), Some(name)),
        };
        if let Some((branch, commit)) = branch.and_then(|branch| self.branches.get_key_value(branch)) {
            let full_name = Some(format!("refs/heads/{branch}"));
            return Some(ResolvedRef { commit: commit.clone(), branch: Some(branch.clone()), full_name });
        }
        let (tag, commit) = tag.and_then(|tag| self.tags.get_key_value(tag))?;
        Some(ResolvedRef { commit: commit.clone(), branch: None, full_name: Some(format!("refs/tags/{tag}")) })
    }

    /// The tags that point to `commit`, in their order; at most `max`.
    pub(crate) fn tags_of(&self, commit: &str, max: usize) -> Vec<String> {
        self.tags.iter().filter(|(_, target)| *target == commit).map(|(tag, _)| tag.clone()).take(max).collect()
    }

    /// Names to suggest to someone whose name doesn't exist: the head's branch, then the first branches and the last tags.
    pub(crate) fn suggestions(&self) -> Vec<String> {
        let head = self.head.iter().filter_map(|(_, branch)| branch.clone());
        let mut names: Vec<String> = head.collect();
        let others = self.branches.keys().take(5).chain(self.tags.keys().rev().take(5));
        for name in others {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Whether it has no branch and no tag.
    pub(crate) fn is_empty(&self) -> bool {
        self.branches.is_empty() && self.tags.is_empty() && self.head.is_none()
    }
}

/// Whether `text` is a whole identifier of a commit.
pub(crate) fn is_full_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_they_mean_to_git() {
        let id = |digit: &str| digit.repeat(40);
        let listing = format!(
            "ref: refs/heads/main\tHEAD\n{one}\tHEAD\n{one}\trefs/heads/main\n{two}\trefs/heads/v1\n{three}\trefs/tags/v1\n\
             {four}\trefs/tags/v2\n{one}\trefs/tags/v2^{{}}\n{one}\trefs/tags/a\nbroken\nxyz\trefs/heads/x\n",
            one = id("1"),
            two = id("2"),
            three = id("3"),
            four = id("4"),
        );
        let refs = RemoteRefs::parse(listing.as_bytes());
        let of =
            |name: &str| refs.resolve(name).map(|found| (found.commit[..1].to_owned(), found.branch, found.full_name));
        let branch = |digit: &str, name: &str| {
            Some((digit.to_owned(), Some(name.to_owned()), Some(format!("refs/heads/{name}"))))
        };
        let tag = |digit: &str, name: &str| Some((digit.to_owned(), None, Some(format!("refs/tags/{name}"))));
        assert_eq!(of("main"), branch("1", "main"));
        assert_eq!(of("HEAD"), branch("1", "main"));
        assert_eq!(of("v1"), branch("2", "v1"), "a branch wins");
        assert_eq!(of("refs/tags/v1"), tag("3", "v1"));
        assert_eq!(of("v2"), tag("1", "v2"));
        assert_eq!(of(&id("A")), Some(("a".into(), None, None)));
        assert_eq!((of("x"), of("refs/pull/1"), of("")), (None, None, None));
        assert_eq!(refs.tags_of(&id("1"), 9), ["a", "v2"]);
        assert_eq!(refs.suggestions(), ["main", "v1", "v2", "a"]);
        assert!(RemoteRefs::parse(b"\xff\n").is_empty());
    }

    #[test]
    fn names_that_are_too_long_are_left_out() {
        let id = "1".repeat(40);
        let long = "x".repeat(MAX_REFERENCE_BYTES);
        let listing = format!(
            "ref: refs/heads/{long}\tHEAD\n{id}\tHEAD\n{id}\trefs/heads/{long}\n{id}\trefs/heads/a\n{id}\trefs/tags/{long}\n\
             {id}\trefs/tags/{long}^{{}}\n{id}\trefs/tags/v1\n"
        );
        let refs = RemoteRefs::parse(listing.as_bytes());
        assert_eq!(refs.tags_of(&id, 9), ["v1"]);
        assert_eq!(refs.suggestions(), ["a", "v1"]);
        assert_eq!(refs.resolve("HEAD").map(|found| (found.commit, found.branch)), Some((id, None)));
    }
}
