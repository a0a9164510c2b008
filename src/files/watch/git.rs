//! Reads `HEAD` of a repository, and which directories to watch to notice its changes.
//!
//! It doesn't run git, and parses only `HEAD`, one branch's file and `packed-refs`. Invariant: equal fingerprints mean the
//! same branch at the same commit.

use std::path::{Path, PathBuf};

use crate::git_layout::{GitLayout, top_of};
use crate::ignores::{IGNORE_FILES, INDEX_IGNORE_FILE};
use codeyard_base::digest::sha256;

/// Largest file in a `.git` directory that is read to resolve `HEAD`, in bytes.
const MAX_GIT_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// `HEAD` at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GitHead {
    /// Changes exactly when `HEAD` names another branch or another commit.
    pub fingerprint: [u8; 32],
    /// The directories where an event may mean a new fingerprint.
    pub dirs: Vec<PathBuf>,
}

/// Whether an event on `name` in the git directory `dir` may mean that `HEAD` moved.
pub(super) fn concerns_head(dir: &Path, name: &str) -> bool {
    let in_refs = dir.iter().any(|part| part == "refs");
    !name.ends_with(".lock") && (in_refs || matches!(name, "HEAD" | "packed-refs" | "tables.list" | "refs"))
}

/// `HEAD` of the repository whose top directory is `root`. `None` if there is no repository that counts.
pub(super) fn head(root: &Path) -> Option<GitHead> {
    let layout = GitLayout::of_root(root, &[]).ok().filter(|layout| layout.top == root)?;
    let common = &layout.common_dir;
    let text =
        |name: &str| layout.read_common(name, MAX_GIT_FILE_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
    let head = layout.read("HEAD", MAX_GIT_FILE_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
    let head = head.unwrap_or_default();
    let mut seen = head.clone();
    let mut dirs = vec![layout.git_dir.clone(), common.clone()];
    if let Some(name) = head.strip_prefix("ref:").map(str::trim).filter(|name| is_plain(name)) {
        let commit = text(name).or_else(|| packed(&text("packed-refs")?, name)).unwrap_or_default();
        seen.push_str(&commit);
        let file = common.join(name);
        let above = file.ancestors().skip(1).take_while(|dir| dir.starts_with(common) && *dir != common);
        dirs.extend(above.filter(|dir| is_real_dir(dir)).map(Path::to_owned));
    }
    if let Some(list) = text("reftable/tables.list") {
        seen.push_str(&list);
        dirs.push(common.join("reftable"));
    }
    dirs.extend(Some(common.join("info")).filter(|info| is_real_dir(info)));
    dirs.sort();
    dirs.dedup();
    Some(GitHead { fingerprint: sha256(seen), dirs })
}

fn is_real_dir(dir: &Path) -> bool {
    dir.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Whether an event on `name` in one of these directories may change the ignore rules.
pub(super) fn concerns_rules(dir: &Path, name: &str) -> bool {
    name == "exclude" && dir.ends_with("info")
        || name == "info"
        || IGNORE_FILES.contains(&name)
        || name == INDEX_IGNORE_FILE
}

/// The parent directories of `root` up to the top of its repository, whose ignore rules apply to `root`, its `.git/info`, and the git directory
/// with the list of tracked files.
pub(super) fn rule_dirs_above(root: &Path) -> Vec<PathBuf> {
    let Some(top) = top_of(root) else { return Vec::new() };
    let mut dirs: Vec<PathBuf> =
        root.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).map(Path::to_owned).collect();
    if *top != *root {
        dirs.extend(Some(top.join(".git/info")).filter(|info| is_real_dir(info)));
        dirs.extend(GitLayout::of_root(root, &[]).ok().map(|layout| layout.git_dir));
    }
    dirs
}

fn packed(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split_once(' ').is_some_and(|(_, packed)| packed == name))?;
    // The same text as in the loose file, so that packing refs doesn't change the fingerprint.
    line.split_once(' ').map(|(commit, _)| format!("{commit}\n"))
}

fn is_plain(name: &str) -> bool {
    name.starts_with("refs/") && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_changes_the_fingerprint_and_packing_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join(".git");
        std::fs::create_dir_all(git.join("refs/heads/feature")).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        std::fs::write(git.join("refs/heads/feature/x"), "aaaa\n").unwrap();
        let loose = head(dir.path()).unwrap();
        assert!(loose.dirs.contains(&git.join("refs/heads/feature")));
        std::fs::remove_file(git.join("refs/heads/feature/x")).unwrap();
        std::fs::write(git.join("packed-refs"), "# pack-refs with: peeled\naaaa refs/heads/feature/x\n").unwrap();
        assert_eq!(head(dir.path()).unwrap().fingerprint, loose.fingerprint);
        std::fs::write(git.join("refs/heads/feature/x"), "bbbb\n").unwrap();
        assert_ne!(head(dir.path()).unwrap().fingerprint, loose.fingerprint);
        assert_eq!(head(&git), None);
    }

    #[test]
    fn only_events_on_head_and_refs_concern_head() {
        let dir = Path::new("/r/.git");
        for (name, concerned) in [("HEAD", true), ("HEAD.lock", false), ("index", false), ("packed-refs", true)] {
            assert_eq!(concerns_head(dir, name), concerned, "{name}");
        }
        assert!(concerns_head(&dir.join("refs/heads"), "main"));
    }
}
