//! Which paths are of no interest: what ignore files say, and names that never hold sources.
//!
//! A language server reads ignored files like any other: generated code, a compile database. So ignoring decides what
//! is listed, and only the names here decide what isn't looked at.
//!
//! Only `.gitignore`, `.ignore` and the repository's `info/exclude` count, never a user's global excludes: what is seen
//! must not hang on whose machine it is. Invariant: a deeper file's word wins over a higher one's, as in git.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::base::limits::MAX_IGNORE_FILE_BYTES;

/// Files whose change makes a new walk necessary.
pub(super) const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// Directories of version control systems and tools' caches: never entered.
const NEVER_ENTERED: [&str; 12] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".sl",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".tox",
    ".nox",
    ".codeyard",
];
/// Directories that hold dependencies wherever they are.
const DEPENDENCIES: [&str; 4] = ["node_modules", "site-packages", "bower_components", "jspm_packages"];
/// Directories that hold dependencies if they are ignored, and sources if they aren't.
const DEPENDENCIES_IF_IGNORED: [&str; 3] = ["vendor", "third_party", "deps"];
/// Directories that aren't entered if they are ignored: caches and build output in which no server looks for the sources
/// of a project, or which change without end.
const NEVER_ENTERED_IF_IGNORED: [&str; 24] = [
    "target",
    ".venv",
    "venv",
    ".cache",
    ".ccls-cache",
    ".clangd",
    ".direnv",
    ".eggs",
    ".gradle",
    ".hypothesis",
    ".idea",
    ".npm",
    ".parcel-cache",
    ".pixi",
    ".pnpm-store",
    ".stack-work",
    ".terraform",
    ".turbo",
    ".yarn",
    ".zig-cache",
    "CMakeFiles",
    "coverage",
    "dist-newstyle",
    "htmlcov",
];
/// Endings of ignored files that may configure a language server.
const CONFIGURATION_ENDINGS: [&str; 2] = ["json", "toml"];
/// Names of ignored files that may configure a language server, and don't show it by their ending.
const CONFIGURATION_NAMES: [&str; 5] = ["go.work", "go.work.sum", "go.mod", "compile_flags.txt", ".clangd"];
/// The file that marks a Python environment.
pub(super) const PYTHON_ENVIRONMENT: &str = "pyvenv.cfg";

/// The rules of one directory and all above it.
#[derive(Debug)]
pub(super) struct Rules {
    own: Gitignore,
    above: Option<Arc<Rules>>,
}

/// What to do with a directory met on the walk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Go in.
    Enter,
    /// Go in, but it is ignored with everything below.
    EnterIgnored,
    /// Stay out.
    Skip,
    /// Stay out, but watch these directories for coming and going dependencies.
    Dependencies(Vec<PathBuf>),
}

impl Rules {
    /// The rules that hold above and in `root`: its own, and its ancestors' up to the top of the repository it is in.
    pub fn of_root(root: &Path) -> Arc<Self> {
        let top = root.ancestors().find(|dir| dir.join(".git").exists());
        let mut dirs: Vec<&Path> = match top {
            Some(top) => root.ancestors().take_while(|dir| dir.starts_with(top)).collect(),
            None => vec![root],
        };
        dirs.reverse();
        let exclude = top.map(|top| top.join(".git/info/exclude")).unwrap_or_default();
        let mut rules = Arc::new(Self { own: build(dirs[0], &[exclude]), above: None });
        for dir in dirs {
            rules = Self::below(&rules, dir);
        }
        rules
    }

    /// The rules in `dir`, a child of the directory that `above` holds for.
    pub fn below(above: &Arc<Self>, dir: &Path) -> Arc<Self> {
        Self::among(above, dir, |_| true)
    }

    /// The same, where it is known which names `dir` holds.
    pub fn among(above: &Arc<Self>, dir: &Path, holds: impl Fn(&str) -> bool) -> Arc<Self> {
        let there = IGNORE_FILES.iter().filter(|name| holds(name));
        let files: Vec<PathBuf> = there.map(|name| dir.join(name)).filter(|file| file.is_file()).collect();
        if files.is_empty() {
            return above.clone();
        }
        Arc::new(Self { own: build(dir, &files), above: Some(above.clone()) })
    }

    /// Whether a file in this directory is ignored.
    pub fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        if self.own.is_empty() {
            return self.above.as_ref().is_some_and(|above| above.ignores(path, is_dir));
        }
        match self.own.matched(path, is_dir) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|above| above.ignores(path, is_dir)),
        }
    }

    /// What to do with the directory `path` in this directory, which is `inside_ignored` itself or not. Below an ignored
    /// directory no rule takes anything back, as in git.
    pub fn judge(&self, path: &Path, inside_ignored: bool) -> Verdict {
        match self.judge_unopened(path, inside_ignored) {
            Verdict::Enter if is_environment(path) => Verdict::Dependencies(site_packages(path)),
            verdict => verdict,
        }
    }

    /// The same without looking into `path` where no rule speaks of it: whoever enters must see whether it is a Python
    /// environment.
    pub fn judge_unopened(&self, path: &Path, inside_ignored: bool) -> Verdict {
        let name = path.file_name().unwrap_or_default();
        let is = |names: &[&str]| names.iter().any(|known| name == OsStr::new(known));
        if is(&NEVER_ENTERED) {
            return Verdict::Skip;
        }
        if is(&DEPENDENCIES) {
            return Verdict::Dependencies(vec![path.to_owned()]);
        }
        match inside_ignored || self.ignores(path, true) {
            false => Verdict::Enter,
            true if is_environment(path) => Verdict::Dependencies(site_packages(path)),
            true if is(&DEPENDENCIES_IF_IGNORED) => Verdict::Dependencies(vec![path.to_owned()]),
            true if is(&NEVER_ENTERED_IF_IGNORED) => Verdict::Skip,
            true => Verdict::EnterIgnored,
        }
    }
}

/// Whether a directory is a Python environment.
pub(super) fn is_environment(dir: &Path) -> bool {
    dir.join(PYTHON_ENVIRONMENT).is_file()
}

/// Whether a file is followed though it is ignored and no source: it may configure a language server.
pub(super) fn is_configuration(path: &Path) -> bool {
    let is = |known: &[&str], what: Option<&OsStr>| known.iter().any(|known| what == Some(OsStr::new(known)));
    is(&CONFIGURATION_ENDINGS, path.extension()) || is(&CONFIGURATION_NAMES, path.file_name())
}

fn build(dir: &Path, files: &[PathBuf]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(dir);
    for file in files {
        if file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_IGNORE_FILE_BYTES) {
            // A bad line is left out, the others hold, as in git.
            let _ = builder.add(file);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Where a Python environment keeps its packages.
pub(super) fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let Ok(entries) = environment.join("lib").read_dir() else { return Vec::new() };
    let versions = entries.flatten().map(|entry| entry.path().join("site-packages"));
    let mut found: Vec<PathBuf> = versions.filter(|path| path.is_dir()).take(8).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeper_rules_win_and_names_are_judged() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::create_dir_all(root.join("sub/venv/lib/python3.12/site-packages")).unwrap();
        std::fs::write(root.join("sub/venv/pyvenv.cfg"), "").unwrap();
        std::fs::write(root.join(".git/info/exclude"), "secret.txt\n").unwrap();
        std::fs::write(root.join(".gitignore"), "*.log\n/build/\nvendor/\n").unwrap();
        std::fs::write(root.join("sub/.gitignore"), "!keep.log\n").unwrap();
        let top = Rules::of_root(root);
        let sub = Rules::below(&top, &root.join("sub"));
        for (rules, path, ignored) in [
            (&top, "a.log", true),
            (&top, "a.py", false),
            (&top, "secret.txt", true),
            (&sub, "sub/a.log", true),
            (&sub, "sub/keep.log", false),
        ] {
            assert_eq!(rules.ignores(&root.join(path), false), ignored, "{path}");
        }
        for (rules, path, verdict) in [
            (&top, "build", Verdict::EnterIgnored),
            (&sub, "sub/build", Verdict::Enter),
            (&top, "target", Verdict::Enter),
            (&top, ".git", Verdict::Skip),
            (&top, ".github", Verdict::Enter),
            (&top, "node_modules", Verdict::Dependencies(vec![root.join("node_modules")])),
            (&top, "vendor", Verdict::Dependencies(vec![root.join("vendor")])),
            (&top, "deps", Verdict::Enter),
            (&sub, "sub/venv", Verdict::Dependencies(vec![root.join("sub/venv/lib/python3.12/site-packages")])),
        ] {
            assert_eq!(rules.judge(&root.join(path), false), verdict, "{path}");
        }
        for (path, verdict) in [
            ("build/x", Verdict::EnterIgnored),
            ("build/target", Verdict::Skip),
            ("build/.venv", Verdict::Skip),
            ("build/.git", Verdict::Skip),
            ("build/deps", Verdict::Dependencies(vec![root.join("build/deps")])),
        ] {
            assert_eq!(top.judge(&root.join(path), true), verdict, "{path}");
        }
        for (path, followed) in
            [("b/compile_commands.json", true), ("go.work", true), ("b/x.o", false), ("json", false)]
        {
            assert_eq!(is_configuration(&root.join(path)), followed, "{path}");
        }
        // A root inside a repository heeds the rules above it.
        assert!(Rules::of_root(&root.join("sub")).ignores(&root.join("sub/x.log"), false));
    }
}
