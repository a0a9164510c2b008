//! Ignore rules: ignore files, and fixed lists of names of directories that never hold sources.
//!
//! A language server reads ignored files like any other: generated code, a compile database. So ignore files only decide
//! which files are listed. The fixed lists decide which directories aren't entered.
//!
//! Only `.gitignore`, `.ignore` and the repository's `info/exclude` count, never a user's global excludes: the result must
//! not depend on the user. Invariant: a rule in a deeper directory overrides one in a higher directory, as in git.
//!
//! The code index uses its own rule ([`Rules::hides`]), the one of git and ripgrep: a `.gitignore` applies only in its own
//! repository, `.ignore` overrides it, and `.codeyardignore` overrides both. Invariant: the watcher follows every file that the
//! index lists.
//!
//! As in git, a file that the repository tracks isn't ignored, whatever its `.gitignore` says; `.ignore` and `.codeyardignore` leave it out
//! nevertheless. A linked worktree in the working tree of its own repository is ignored: its files are copies.
//!
//! A repository controls these files, so only regular files are read, no link is followed, and the rules of a directory with all
//! above it have a bounded cost: compiled, patterns need up to a thousand times the memory of their text. The rules of a file over the
//! bound don't apply; those of the other files do.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::Gitignore;

use crate::git_layout::{GitLayout, is_inner_worktree};
use crate::ignore_cost::{CostShare, RulesBudget};
use crate::rule_reader::RuleReader;
use crate::tracked_files::TrackedFiles;

/// Files whose change makes a new walk necessary.
pub(crate) const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// codeyard's own ignore file. It applies only to the code index.
pub(crate) const INDEX_IGNORE_FILE: &str = ".codeyardignore";
/// Entries that mark the top directory of a repository. Creating or deleting one changes which rules apply below.
pub(crate) const REPOSITORY_MARKS: [&str; 2] = [".git", ".jj"];
/// Directories of version control systems. The code index never lists them, whatever the rules are.
const VERSION_CONTROL: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];
/// Directories of version control systems and caches of tools. They are never entered.
const NEVER_ENTERED: [&str; 12] = [
    ".git", ".hg", ".svn", ".jj", ".sl", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".tox", ".nox",
    ".codeyard",
];
/// Directories that always hold dependencies.
const DEPENDENCIES: [&str; 4] = ["node_modules", "site-packages", "bower_components", "jspm_packages"];
/// Directories that hold dependencies if they are ignored, and sources if they aren't.
const DEPENDENCIES_IF_IGNORED: [&str; 3] = ["vendor", "third_party", "deps"];
/// Directories that aren't entered if they are ignored: caches and build output that no language server reads as sources, or
/// that change all the time.
const NEVER_ENTERED_IF_IGNORED: [&str; 24] = [
    "target", ".venv", "venv", ".cache", ".ccls-cache", ".clangd", ".direnv", ".eggs", ".gradle", ".hypothesis",
    ".idea", ".npm", ".parcel-cache", ".pixi", ".pnpm-store", ".stack-work", ".terraform", ".turbo", ".yarn",
    ".zig-cache", "CMakeFiles", "coverage", "dist-newstyle", "htmlcov",
];
/// Extensions of files in dependencies that language servers read for their types. JavaScript isn't one: servers read declarations
/// beside it, and caches of tools are written in it.
const DEPENDENCY_SOURCES: [&str; 18] = [
    "ts", "mts", "cts", "tsx", "vue", "svelte", "py", "pyi", "go", "php", "rb", "rs", "java", "c", "h", "cc", "cpp",
    "hpp",
];
/// Extensions of ignored files that may configure a language server.
const CONFIGURATION_ENDINGS: [&str; 2] = ["json", "toml"];
/// Names of ignored files that may configure a language server and have another extension.
const CONFIGURATION_NAMES: [&str; 5] = ["go.work", "go.work.sum", "go.mod", "compile_flags.txt", ".clangd"];
/// The file that marks a Python environment.
pub(crate) const PYTHON_ENVIRONMENT: &str = "pyvenv.cfg";

/// The rules of one directory and all above it.
#[derive(Debug)]
pub(crate) struct Rules {
    /// `.gitignore`.
    git: Gitignore,
    /// `.ignore`.
    plain: Gitignore,
    /// `.codeyardignore`.
    own: Gitignore,
    /// The repository's `info/exclude`, at its top.
    exclude: Gitignore,
    /// This directory is the top of a repository.
    is_top: bool,
    /// That repository, if this directory is the top of one of git that counts.
    repository: Option<Repository>,
    /// git's rules ignore this directory. If it is entered, all files in it that aren't tracked are ignored.
    inside: InsideIgnored,
    /// This directory is inside a repository.
    is_within: bool,
    /// This directory is above the root's repository, or above the root if it has no repository. Its rules don't apply to
    /// language servers.
    is_beyond: bool,
    /// An ignore file here wasn't read, or some of its lines weren't.
    is_incomplete: bool,
    /// The cost of the rules of this directory and all above it.
    chain_cost: u64,
    /// What all rules that are kept together take from.
    budget: RulesBudget,
    /// What the rules of this directory take from it.
    _shares: Vec<CostShare>,
    above: Option<Arc<Rules>>,
}

/// A repository whose working tree begins in a directory.
#[derive(Debug)]
pub(crate) struct Repository {
    layout: GitLayout,
    /// Read when an ignore rule matches for the first time.
    tracked: OnceLock<TrackedFiles>,
}

/// For whom a directory is ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct InsideIgnored {
    index: bool,
    servers: bool,
}

/// How the walk treats a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DirRule {
    Enter,
    /// Enter it; it is ignored with everything below.
    EnterIgnored,
    /// Don't enter it.
    Skip,
    /// Don't enter it, but watch these directories for added and removed dependencies.
    Dependencies(Vec<PathBuf>),
}

impl Rules {
    /// The rules that apply to `root`: its own, and those of its parent directories. For language servers only those up to the
    /// top of its repository count.
    pub(crate) fn of_root(root: &Path) -> Arc<Self> {
        let top = root.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(root);
        let mut dirs: Vec<&Path> = root.ancestors().collect();
        dirs.reverse();
        let mut rules: Option<Arc<Self>> = None;
        for dir in dirs {
            let is_beyond = dir != top && top.starts_with(dir);
            let here = Self::read(rules.as_ref(), dir, is_beyond, |name| dir.join(name).exists());
            rules = here.map(Arc::new).or(rules);
        }
        rules.unwrap_or_else(|| Arc::new(Self::empty(None)))
    }

    /// The rules in `dir`, a child of the directory of `above`.
    #[cfg(test)]
    pub(crate) fn below(above: &Arc<Self>, dir: &Path) -> Arc<Self> {
        Self::among(above, dir, |name| dir.join(name).exists())
    }

    /// As `below`, if the caller already knows the names in `dir`.
    pub(crate) fn among(above: &Arc<Self>, dir: &Path, holds: impl Fn(&str) -> bool) -> Arc<Self> {
        let inside = above.inside_of(dir);
        match Self::read(Some(above), dir, false, holds) {
            None if inside == above.inside => above.clone(),
            None => Arc::new(Self { inside, ..Self::empty(Some(above)) }),
            // The rules around a repository don't apply in it.
            Some(rules) if rules.is_top => Arc::new(Self { inside: InsideIgnored::default(), ..rules }),
            Some(rules) => Arc::new(Self { inside, ..rules }),
        }
    }

    /// `None` if `dir` adds no rules to those above.
    fn read(above: Option<&Arc<Self>>, dir: &Path, is_beyond: bool, holds: impl Fn(&str) -> bool) -> Option<Self> {
        let is_top = REPOSITORY_MARKS.iter().any(|mark| holds(mark) && dir.join(mark).exists());
        let has_rules = IGNORE_FILES.iter().any(|name| holds(name)) || holds(INDEX_IGNORE_FILE);
        if !is_top && !has_rules {
            return None;
        }
        let mut rules = Self::empty(above);
        rules.is_within |= is_top;
        let mut reader = RuleReader::new(rules.chain_cost, rules.budget.clone());
        let mut of = |name: &str| match holds(name) {
            true => reader.read(dir, dir, name),
            false => Gitignore::empty(),
        };
        let git = of(IGNORE_FILES[0]);
        let plain = of(IGNORE_FILES[1]);
        let own = of(INDEX_IGNORE_FILE);
        let layout = if is_top { GitLayout::of_root(dir, &[]).ok().filter(|layout| layout.top == dir) } else { None };
        let exclude = match &layout {
            Some(layout) => reader.read(dir, &layout.common_dir, "info/exclude"),
            None => Gitignore::empty(),
        };
        let RuleReader { is_incomplete, chain_cost, budget, shares } = reader;
        Some(Self {
            git,
            plain,
            own,
            exclude,
            is_top,
            repository: layout.map(|layout| Repository { layout, tracked: OnceLock::new() }),
            is_beyond,
            is_incomplete,
            chain_cost,
            budget,
            _shares: shares,
            ..rules
        })
    }

    /// No rules besides those of `above`.
    fn empty(above: Option<&Arc<Self>>) -> Self {
        let is_within = above.is_some_and(|above| above.is_within);
        let chain_cost = above.map_or(0, |above| above.chain_cost);
        let budget = above.map(|above| above.budget.clone()).unwrap_or_default();
        let inside = above.map(|above| above.inside).unwrap_or_default();
        Self {
            git: Gitignore::empty(),
            plain: Gitignore::empty(),
            own: Gitignore::empty(),
            exclude: Gitignore::empty(),
            is_top: false,
            repository: None,
            inside,
            is_within,
            is_beyond: false,
            is_incomplete: false,
            chain_cost,
            budget,
            _shares: Vec::new(),
            above: above.cloned(),
        }
    }

    /// The rules of this directory and its parents, the deepest first.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// Whether a path in this directory is ignored in the lists for language servers.
    pub(crate) fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        let (is_ignored, is_by_git) = self.match_for_servers(path, is_dir);
        is_ignored && !(is_by_git && self.is_tracked(path, is_dir)) || is_dir && is_inner_worktree(path)
    }

    /// Whether a path is ignored in the lists for language servers if git doesn't track it, and whether git's rules say so.
    fn match_for_servers(&self, path: &Path, is_dir: bool) -> (bool, bool) {
        let own_chain = || self.chain().take_while(|rules| !rules.is_beyond);
        let by_plain = |rules: &Self| rule_match(&rules.plain, path, is_dir).map(|is_ignored| (is_ignored, false));
        let by_git = |rules: &Self| rule_match(&rules.git, path, is_dir).map(|is_ignored| (is_ignored, true));
        let excluded =
            || own_chain().last().and_then(|rules| rule_match(&rules.exclude, path, is_dir)).unwrap_or(false);
        let matched = own_chain().find_map(|rules| by_plain(rules).or_else(|| by_git(rules)));
        let (is_ignored, is_by_git) = matched.unwrap_or_else(|| (excluded(), true));
        (is_ignored || is_by_git && self.inside.servers, is_by_git)
    }

    /// Whether the code index may leave out `path`, an entry of this directory, which itself isn't left out. `false` if some rules
    /// couldn't be read: the index may have read them.
    pub(crate) fn hides(&self, path: &Path, is_dir: bool) -> bool {
        let is_known = is_version_control(path) || !self.chain().any(|rules| rules.is_incomplete);
        is_known && self.leaves_out(path, is_dir)
    }

    /// Whether the code index leaves out `path`, an entry of this directory, which itself isn't left out.
    pub(crate) fn leaves_out(&self, path: &Path, is_dir: bool) -> bool {
        if is_version_control(path) {
            return true;
        }
        let (is_left_out, is_by_git) = self.match_for_index(path, is_dir);
        is_left_out && !(is_by_git && self.is_tracked(path, is_dir)) || is_dir && is_inner_worktree(path)
    }

    /// Whether the code index leaves out a path if git doesn't track it, and whether git's rules say so.
    fn match_for_index(&self, path: &Path, is_dir: bool) -> (bool, bool) {
        let by = |rules: fn(&Self) -> &Gitignore| self.chain().find_map(|here| rule_match(rules(here), path, is_dir));
        if let Some(is_left_out) = by(|rules| &rules.own).or_else(|| by(|rules| &rules.plain)) {
            return (is_left_out, false);
        }
        // A repository's rules end at the top of a repository nested in it.
        let by_git = |rules: fn(&Self) -> &Gitignore| {
            let mut is_past_top = false;
            let mut repository = self.chain().take_while(|here| !std::mem::replace(&mut is_past_top, here.is_top));
            repository.find_map(|here| rule_match(rules(here), path, is_dir)).filter(|_| self.is_within)
        };
        let matched = by_git(|rules| &rules.git).or_else(|| by_git(|rules| &rules.exclude));
        (matched.unwrap_or(false) || self.inside.index, true)
    }

    /// For whom git's rules ignore a directory in this directory. Below it none of them can re-include a path.
    fn inside_of(&self, dir: &Path) -> InsideIgnored {
        InsideIgnored {
            index: self.match_for_index(dir, true) == (true, true),
            servers: self.match_for_servers(dir, true) == (true, true),
        }
    }

    /// The repository of this directory.
    fn repository(&self) -> Option<&Repository> {
        self.chain().find(|rules| rules.is_top).and_then(|rules| rules.repository.as_ref())
    }

    /// Whether the repository tracks a path, or a file below it.
    fn is_tracked(&self, path: &Path, is_dir: bool) -> bool {
        self.repository().is_some_and(|repository| {
            let tracked = repository.tracked.get_or_init(|| TrackedFiles::of(&repository.layout));
            path.strip_prefix(&repository.layout.top).is_ok_and(|below| tracked.holds(below, is_dir))
        })
    }

    /// Whether the index of a repository around this directory tracks other files now, of those that an ignore rule matches.
    /// `is_followed`: whether a file, if it isn't ignored, is known to be followed.
    pub(crate) fn has_new_tracked_files(&self, is_followed: impl Fn(&Path) -> bool) -> bool {
        let Some(Repository { layout, tracked }) = self.repository() else { return false };
        tracked.get().is_some_and(|tracked| tracked.have_changed(layout, |path| !is_followed(&layout.top.join(path))))
    }

    /// How to treat the directory `path` in this directory. `inside_ignored`: this directory is ignored. Below an ignored
    /// directory no rule can re-include a path, as in git.
    pub(crate) fn classify(&self, path: &Path, inside_ignored: bool) -> DirRule {
        match self.classify_unopened(path, inside_ignored) {
            DirRule::Enter if is_environment(path) => DirRule::Dependencies(site_packages(path)),
            rule => rule,
        }
    }

    /// As [`Rules::classify`], without reading `path` if no rule names it: when the walk enters it, it must check whether it
    /// is a Python environment.
    pub(crate) fn classify_unopened(&self, path: &Path, inside_ignored: bool) -> DirRule {
        let name = path.file_name().unwrap_or_default();
        let is = |names: &[&str]| names.iter().any(|known| name == OsStr::new(known));
        if is(&NEVER_ENTERED) {
            return DirRule::Skip;
        }
        if is(&DEPENDENCIES) {
            return DirRule::Dependencies(vec![path.to_owned()]);
        }
        match inside_ignored || self.ignores(path, true) {
            false => DirRule::Enter,
            true if is_environment(path) => DirRule::Dependencies(site_packages(path)),
            true if is(&DEPENDENCIES_IF_IGNORED) => DirRule::Dependencies(vec![path.to_owned()]),
            true if is(&NEVER_ENTERED_IF_IGNORED) => DirRule::Skip,
            true => DirRule::EnterIgnored,
        }
    }
}

/// Whether language servers read this file, which is in a dependency, for its types.
pub(crate) fn is_dependency_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| DEPENDENCY_SOURCES.iter().any(|known| extension == *known))
}

/// Whether a folder in a dependency is a cache of a tool, or of version control.
pub(crate) fn is_cache(name: &OsStr) -> bool {
    NEVER_ENTERED.iter().chain(&NEVER_ENTERED_IF_IGNORED).any(|known| name == *known)
}

/// Whether a directory is a Python environment.
pub(crate) fn is_environment(dir: &Path) -> bool {
    dir.join(PYTHON_ENVIRONMENT).is_file()
}

/// Whether a file is followed though it is ignored and not a source, because it may configure a language server.
pub(crate) fn is_configuration(path: &Path) -> bool {
    let is = |known: &[&str], what: Option<&OsStr>| known.iter().any(|known| what == Some(OsStr::new(known)));
    is(&CONFIGURATION_ENDINGS, path.extension()) || is(&CONFIGURATION_NAMES, path.file_name())
}

/// Whether these rules ignore a path (`true`) or re-include it (`false`). `None` if no rule matches.
fn rule_match(rules: &Gitignore, path: &Path, is_dir: bool) -> Option<bool> {
    match rules.matched(path, is_dir) {
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
        Match::None => None,
    }
}

fn is_version_control(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    VERSION_CONTROL.iter().any(|known| name == *known)
}

/// The directories where a Python environment keeps its packages.
pub(crate) fn site_packages(environment: &Path) -> Vec<PathBuf> {
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
    fn deeper_rules_override_and_directory_names_are_classified() {
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
        for (rules, path, rule) in [
            (&top, "build", DirRule::EnterIgnored),
            (&sub, "sub/build", DirRule::Enter),
            (&top, "target", DirRule::Enter),
            (&top, ".git", DirRule::Skip),
            (&top, ".github", DirRule::Enter),
            (&top, "node_modules", DirRule::Dependencies(vec![root.join("node_modules")])),
            (&top, "vendor", DirRule::Dependencies(vec![root.join("vendor")])),
            (&top, "deps", DirRule::Enter),
            (&sub, "sub/venv", DirRule::Dependencies(vec![root.join("sub/venv/lib/python3.12/site-packages")])),
        ] {
            assert_eq!(rules.classify(&root.join(path), false), rule, "{path}");
        }
        for (path, rule) in [
            ("build/x", DirRule::EnterIgnored),
            ("build/target", DirRule::Skip),
            ("build/.venv", DirRule::Skip),
            ("build/.git", DirRule::Skip),
            ("build/deps", DirRule::Dependencies(vec![root.join("build/deps")])),
        ] {
            assert_eq!(top.classify(&root.join(path), true), rule, "{path}");
        }
        for (path, followed) in
            [("b/compile_commands.json", true), ("go.work", true), ("b/x.o", false), ("json", false)]
        {
            assert_eq!(is_configuration(&root.join(path)), followed, "{path}");
        }
        // The rules above a root inside a repository apply to it.
        assert!(Rules::of_root(&root.join("sub")).ignores(&root.join("sub/x.log"), false));
    }
}
