//! Which paths are of no interest: what ignore files say, and names that never hold sources.
//!
//! A language server reads ignored files like any other: generated code, a compile database. So ignoring decides what
//! is listed, and only the names here decide what isn't looked at.
//!
//! Only `.gitignore`, `.ignore` and the repository's `info/exclude` count, never a user's global excludes: what is seen
//! must not hang on whose machine it is. Invariant: a deeper file's word wins over a higher one's, as in git.
//!
//! The code index has a rule of its own ([`Rules::hides`]), that of git and ripgrep: a `.gitignore` counts in the repository that it is
//! in and nowhere else, `.ignore` wins over it and `.codeyardignore` over both. Invariant: what that rule doesn't hide the index may list.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::git;
use crate::limits::MAX_IGNORE_FILE_BYTES;

/// Files whose change makes a new walk necessary.
pub(super) const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The product's own ignore file; it speaks of the code index alone.
pub(super) const INDEX_IGNORE_FILE: &str = ".codeyardignore";
/// What says that a repository's top is here: whose rules hold below changes as it comes and goes.
pub(super) const REPOSITORY_MARKS: [&str; 2] = [".git", ".jj"];
/// Version control's own: what the code index never lists, whatever the rules say.
const VERSION_CONTROL: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];
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
    /// `.gitignore`.
    git: Gitignore,
    /// `.ignore`.
    plain: Gitignore,
    /// `.codeyardignore`.
    own: Gitignore,
    /// The repository's `info/exclude`, at its top.
    exclude: Gitignore,
    /// A repository's top is here.
    is_top: bool,
    /// It lies in a repository.
    is_within: bool,
    /// It lies above the repository of the root, or above the root where there is none: language servers' rules begin below.
    is_beyond: bool,
    /// A file of rules here is too large to be read.
    is_unread: bool,
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
    /// The rules that hold above and in `root`: its own, and its ancestors', of which language servers heed those up to the top of the
    /// repository it is in.
    pub(super) fn of_root(root: &Path) -> Arc<Self> {
        let top = root.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(root);
        let mut dirs: Vec<&Path> = root.ancestors().collect();
        dirs.reverse();
        let mut rules: Option<Arc<Self>> = None;
        for dir in dirs {
            let is_beyond = dir != top && top.starts_with(dir);
            let here = Self::read(rules.as_ref(), dir, is_beyond, |name| dir.join(name).exists());
            rules = here.or(rules);
        }
        rules.unwrap_or_else(|| Arc::new(Self::empty(root)))
    }

    /// The rules in `dir`, a child of the directory that `above` holds for.
    #[cfg(test)]
    pub(crate) fn below(above: &Arc<Self>, dir: &Path) -> Arc<Self> {
        Self::among(above, dir, |name| dir.join(name).exists())
    }

    /// The same, where it is known which names `dir` holds.
    pub(super) fn among(above: &Arc<Self>, dir: &Path, holds: impl Fn(&str) -> bool) -> Arc<Self> {
        Self::read(Some(above), dir, false, holds).unwrap_or_else(|| above.clone())
    }

    /// `None`: there are none in `dir` beside those above.
    fn read(above: Option<&Arc<Self>>, dir: &Path, is_beyond: bool, holds: impl Fn(&str) -> bool) -> Option<Arc<Self>> {
        let is_top = REPOSITORY_MARKS.iter().any(|mark| holds(mark) && dir.join(mark).exists());
        let has_rules = IGNORE_FILES.iter().any(|name| holds(name)) || holds(INDEX_IGNORE_FILE);
        if !is_top && !has_rules {
            return None;
        }
        let mut is_unread = false;
        let mut of = |name: &str| match holds(name) {
            true => build(dir, &dir.join(name), &mut is_unread),
            false => Gitignore::empty(),
        };
        let (git, plain, own) = (of(IGNORE_FILES[0]), of(IGNORE_FILES[1]), of(INDEX_IGNORE_FILE));
        let exclude = git::exclude_file(dir).filter(|_| is_top);
        let exclude = exclude.map_or_else(Gitignore::empty, |file| build(dir, &file, &mut is_unread));
        let is_within = is_top || above.is_some_and(|above| above.is_within);
        Some(Arc::new(Self {
            git,
            plain,
            own,
            exclude,
            is_top,
            is_within,
            is_beyond,
            is_unread,
            above: above.cloned(),
        }))
    }

    fn empty(dir: &Path) -> Self {
        let nothing = || GitignoreBuilder::new(dir).build().unwrap_or_else(|_| Gitignore::empty());
        let (git, plain, own, exclude) = (nothing(), nothing(), nothing(), nothing());
        let (is_top, is_within, is_beyond, is_unread) = (false, false, false, false);
        Self { git, plain, own, exclude, is_top, is_within, is_beyond, is_unread, above: None }
    }

    /// The rules here and above, the deepest first.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// Whether a file in this directory is ignored, as language servers' lists go.
    pub(super) fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        let ours = || self.chain().take_while(|rules| !rules.is_beyond);
        let said = |rules: &Self| word(&rules.plain, path, is_dir).or_else(|| word(&rules.git, path, is_dir));
        let excluded = || ours().last().and_then(|rules| word(&rules.exclude, path, is_dir));
        ours().find_map(said).or_else(excluded).unwrap_or(false)
    }

    /// Whether the code index leaves out what is at this path in this directory, which isn't left out itself.
    pub(super) fn hides(&self, path: &Path, is_dir: bool) -> bool {
        let name = path.file_name().unwrap_or_default();
        if VERSION_CONTROL.iter().any(|known| name == *known) {
            return true;
        }
        if self.chain().any(|rules| rules.is_unread) {
            return false;
        }
        let by = |rules: fn(&Self) -> &Gitignore| self.chain().find_map(|here| word(rules(here), path, is_dir));
        // What a repository says holds down to the top of another one in it.
        let by_git = |rules: fn(&Self) -> &Gitignore| {
            let mut is_past_top = false;
            let mut repository = self.chain().take_while(|here| !std::mem::replace(&mut is_past_top, here.is_top));
            repository.find_map(|here| word(rules(here), path, is_dir)).filter(|_| self.is_within)
        };
        let said = by(|rules| &rules.own).or_else(|| by(|rules| &rules.plain));
        let said = said.or_else(|| by_git(|rules| &rules.git)).or_else(|| by_git(|rules| &rules.exclude));
        said.unwrap_or(false)
    }

    /// What to do with the directory `path` in this directory, which is `inside_ignored` itself or not. Below an ignored
    /// directory no rule takes anything back, as in git.
    pub(super) fn judge(&self, path: &Path, inside_ignored: bool) -> Verdict {
        match self.judge_unopened(path, inside_ignored) {
            Verdict::Enter if is_environment(path) => Verdict::Dependencies(site_packages(path)),
            verdict => verdict,
        }
    }

    /// The same without looking into `path` where no rule speaks of it: whoever enters must see whether it is a Python
    /// environment.
    pub(super) fn judge_unopened(&self, path: &Path, inside_ignored: bool) -> Verdict {
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

/// Whether these rules ignore a path or take it back; `None`: they don't speak of it.
fn word(rules: &Gitignore, path: &Path, is_dir: bool) -> Option<bool> {
    match rules.matched(path, is_dir) {
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
        Match::None => None,
    }
}

fn build(dir: &Path, file: &Path, is_unread: &mut bool) -> Gitignore {
    let Some(found) = file.metadata().ok().filter(Metadata::is_file) else { return Gitignore::empty() };
    if found.len() > MAX_IGNORE_FILE_BYTES {
        *is_unread = true;
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(dir);
    // A bad line is left out, the others hold, as in git.
    let _ = builder.add(file);
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
