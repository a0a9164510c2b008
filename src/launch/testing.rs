//! Repositories that tests make with real git. Not part of the program.

use std::fs;
use std::path::{Path, PathBuf};

use codeyard_process::git::Git;

/// A repository with a work tree.
pub(crate) struct TestRepository(PathBuf);

impl TestRepository {
    /// An empty one in a new folder; its branch is `main`.
    pub(crate) fn new(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        Git::new(path).args(["init", "--quiet"]).text().unwrap();
        Self(path.to_owned())
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs git in it, with the identity of a test.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let git = Git::in_repository(&self.0).identity("t", "t@example.org", "2026-01-20T10:00:00Z");
        git.config("protocol.file.allow=always").args(args).text().unwrap()
    }

    /// Writes files, adds all that is in the folder, and commits it at `date`. The commit.
    pub(crate) fn commit(&self, files: &[(&str, &[u8])], date: &str) -> String {
        for (path, content) in files {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let git = || Git::in_repository(&self.0).identity("t", "t@example.org", date);
        git().args(["add", "--all"]).text().unwrap();
        git().args(["commit", "--quiet", "--allow-empty", "--message", "m"]).text().unwrap();
        self.run(&["rev-parse", "HEAD"])
    }

    /// Commits a tree in which `name`, whatever it is, is a folder with the file `f` of the last commit.
    pub(crate) fn commit_tree_with(&self, name: &str, date: &str) {
        let list = self.0.join(".git/list");
        let blob = self.run(&["rev-parse", "HEAD:f"]);
        let tree = |mode: &str, kind: &str, object: &str, name: &str| {
            fs::write(&list, format!("{mode} {kind} {object}\t{name}\n")).unwrap();
            let script = format!("git -C '{}' mktree <'{}'", self.0.display(), list.display());
            let alias = format!("alias.make-tree=!{script}");
            Git::in_repository(&self.0).config(alias).args(["make-tree"]).text().unwrap()
        };
        let inner = tree("100644", "blob", &blob, "f");
        let outer = tree("040000", "tree", &inner, name);
        let git = Git::in_repository(&self.0).identity("t", "t@example.org", date);
        let commit = git.args(["commit-tree", "-m", "m", &outer]).text().unwrap();
        // The work tree stays as it is, so that `f` is there for the next one.
        self.run(&["update-ref", "refs/heads/hostile", &commit]);
        self.run(&["update-ref", "refs/heads/good", "HEAD"]);
    }
}
