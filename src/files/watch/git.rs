//! Reads `HEAD` of a repository, and which directories to watch to notice its changes.
//!
//! It doesn't run git, and parses only `HEAD`, one branch's file and `packed-refs`. Invariant: equal fingerprints mean the
//! same branch at the same commit.

use std::path::{Path, PathBuf};

use super::ignores::{IGNORE_FILES, INDEX_IGNORE_FILE};
use crate::limits::MAX_GIT_FILE_BYTES;
use codeyard_base::digest::sha256;

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

/// `HEAD` of the repository with the working tree `root`. `None` if there is no repository.
pub(super) fn head(root: &Path) -> Option<GitHead> {
    let git_dir = git_dir(root)?;
    let common = common_dir(&git_dir);
    let head = read(&git_dir.join("HEAD")).unwrap_or_default();
    let mut seen = head.clone();
    let mut dirs = vec![git_dir.clone(), common.clone()];
    if let Some(name) = head.strip_prefix("ref:").map(str::trim).filter(|name| is_plain(name)) {
        let file = common.join(name);
        let commit = read(&file).or_else(|| packed(&common, name)).unwrap_or_default();
        seen.push_str(&commit);
        let above = file.ancestors().skip(1).take_while(|dir| dir.starts_with(&common) && **dir != *common);
        dirs.extend(above.filter(|dir| dir.is_dir()).map(Path::to_owned));
    }
    let tables = common.join("reftable");
    if let Some(list) = read(&tables.join("tables.list")) {
        seen.push_str(&list);
        dirs.push(tables);
    }
    dirs.extend(Some(common.join("info")).filter(|info| info.is_dir()));
    dirs.sort();
    dirs.dedup();
    Some(GitHead { fingerprint: sha256(seen), dirs })
}

/// Whether an event on `name` in one of these directories may change the ignore rules.
pub(super) fn concerns_rules(dir: &Path, name: &str) -> bool {
    name == "exclude" && dir.ends_with("info")
        || name == "info"
        || IGNORE_FILES.contains(&name)
        || name == INDEX_IGNORE_FILE
}

/// The parent directories of `root` up to the top of its repository, whose ignore rules apply to `root`, and its `.git/info`.
pub(super) fn rule_dirs_above(root: &Path) -> Vec<PathBuf> {
    let is_top = |dir: &&Path| dir.join(".git").exists();
    let Some(top) = root.ancestors().find(is_top) else { return Vec::new() };
    let mut dirs: Vec<PathBuf> =
        root.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).map(Path::to_owned).collect();
    dirs.extend(Some(top.join(".git/info")).filter(|info| *top != *root && info.is_dir()));
    dirs
}

/// The repository's `info/exclude`, found as the file walk of the code index finds it: for a linked worktree the file that
/// all worktrees share, for a submodule none.
pub(super) fn exclude_file(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if !dot_git.is_file() {
        return dot_git.is_dir().then(|| dot_git.join("info/exclude"));
    }
    let text = read(&dot_git)?;
    let dir = Path::new(text.lines().next()?.strip_prefix("gitdir: ")?);
    let common = read(&dir.join("commondir")).filter(|_| dir.is_absolute())?;
    Some(dir.join(common.lines().next()?).join("info/exclude"))
}

/// The `.git` directory. In a linked worktree or a submodule, `.git` is a file that contains its path.
fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = read(&dot_git)?;
    let dir = root.join(text.strip_prefix("gitdir:")?.trim());
    dir.is_dir().then_some(dir)
}

fn common_dir(git_dir: &Path) -> PathBuf {
    match read(&git_dir.join("commondir")) {
        Some(text) => git_dir.join(text.trim()).canonicalize().unwrap_or_else(|_| git_dir.to_owned()),
        None => git_dir.to_owned(),
    }
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let text = read(&common.join("packed-refs"))?;
    let line = text.lines().find(|line| line.split_once(' ').is_some_and(|(_, packed)| packed == name))?;
    // The same text as in the loose file, so that packing refs doesn't change the fingerprint.
    line.split_once(' ').map(|(commit, _)| format!("{commit}\n"))
}

fn is_plain(name: &str) -> bool {
    name.starts_with("refs/") && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

fn read(file: &Path) -> Option<String> {
    let metadata = file.metadata().ok()?;
    let small = metadata.is_file() && metadata.len() <= MAX_GIT_FILE_BYTES;
    small.then(|| std::fs::read_to_string(file).ok())?
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
