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
//! A repository controls these files, so only regular files are read, no link is followed, and the rules of a directory with all
//! above it have a bounded cost: compiled, patterns need up to a thousand times the memory of their text. The rules of a file over the
//! bound don't apply; those of the other files do.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::gate::{ReadFailure, RootReader};
use crate::git_layout::GitLayout;
use crate::ignore_cost::{CostShare, RulesBudget, cost_of};

/// Largest ignore file that is read, in bytes.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;
/// Longest line of an ignore file that counts, in bytes.
const MAX_IGNORE_LINE_BYTES: usize = 4_096;
/// Cost of the ignore rules of a directory and all above it: bytes of plain names, and eight times the bytes of patterns that are compiled
/// to an automaton. The rules of a file that goes beyond it don't apply.
const MAX_IGNORE_COST: u64 = 256 * 1024;

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
            rules = here.or(rules);
        }
        rules.unwrap_or_else(|| Arc::new(Self::empty(root)))
    }

    /// The rules in `dir`, a child of the directory of `above`.
    #[cfg(test)]
    pub(crate) fn below(above: &Arc<Self>, dir: &Path) -> Arc<Self> {
        Self::among(above, dir, |name| dir.join(name).exists())
    }

    /// As `below`, if the caller already knows the names in `dir`.
    pub(crate) fn among(above: &Arc<Self>, dir: &Path, holds: impl Fn(&str) -> bool) -> Arc<Self> {
        Self::read(Some(above), dir, false, holds).unwrap_or_else(|| above.clone())
    }

    /// `None` if `dir` adds no rules to those above.
    fn read(above: Option<&Arc<Self>>, dir: &Path, is_beyond: bool, holds: impl Fn(&str) -> bool) -> Option<Arc<Self>> {
        let is_top = REPOSITORY_MARKS.iter().any(|mark| holds(mark) && dir.join(mark).exists());
        let has_rules = IGNORE_FILES.iter().any(|name| holds(name)) || holds(INDEX_IGNORE_FILE);
        if !is_top && !has_rules {
            return None;
        }
        let mut reader = RuleReader::new(above.map(|above| &**above));
        let mut of = |name: &str| match holds(name) {
            true => reader.read(dir, dir, name),
            false => Gitignore::empty(),
        };
        let git = of(IGNORE_FILES[0]);
        let plain = of(IGNORE_FILES[1]);
        let own = of(INDEX_IGNORE_FILE);
        let layout = if is_top { GitLayout::of_root(dir, &[]).ok().filter(|layout| layout.top == dir) } else { None };
        let exclude =
            layout.map_or_else(Gitignore::empty, |layout| reader.read(dir, &layout.common_dir, "info/exclude"));
        let is_within = is_top || above.is_some_and(|above| above.is_within);
        let RuleReader { is_incomplete, chain_cost, budget, shares } = reader;
        let above = above.cloned();
        Some(Arc::new(Self {
            git,
            plain,
            own,
            exclude,
            is_top,
            is_within,
            is_beyond,
            is_incomplete,
            chain_cost,
            budget,
            _shares: shares,
            above,
        }))
    }

    fn empty(dir: &Path) -> Self {
        let empty = || GitignoreBuilder::new(dir).build().unwrap_or_else(|_| Gitignore::empty());
        let git = empty();
        let plain = empty();
        let own = empty();
        let exclude = empty();
        Self {
            git,
            plain,
            own,
            exclude,
            is_top: false,
            is_within: false,
            is_beyond: false,
            is_incomplete: false,
            chain_cost: 0,
            budget: RulesBudget::default(),
            _shares: Vec::new(),
            above: None,
        }
    }

    /// The rules of this directory and its parents, the deepest first.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// Whether a path in this directory is ignored in the lists for language servers.
    pub(crate) fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        let own_chain = || self.chain().take_while(|rules| !rules.is_beyond);
        let matched =
            |rules: &Self| rule_match(&rules.plain, path, is_dir).or_else(|| rule_match(&rules.git, path, is_dir));
        let excluded = || own_chain().last().and_then(|rules| rule_match(&rules.exclude, path, is_dir));
        own_chain().find_map(matched).or_else(excluded).unwrap_or(false)
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
        let by = |rules: fn(&Self) -> &Gitignore| self.chain().find_map(|here| rule_match(rules(here), path, is_dir));
        // A repository's rules end at the top of a repository nested in it.
        let by_git = |rules: fn(&Self) -> &Gitignore| {
            let mut is_past_top = false;
            let mut repository = self.chain().take_while(|here| !std::mem::replace(&mut is_past_top, here.is_top));
            repository.find_map(|here| rule_match(rules(here), path, is_dir)).filter(|_| self.is_within)
        };
        let matched = by(|rules| &rules.own).or_else(|| by(|rules| &rules.plain));
        let matched = matched.or_else(|| by_git(|rules| &rules.git)).or_else(|| by_git(|rules| &rules.exclude));
        matched.unwrap_or(false)
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

/// Reads the ignore files of one directory within the bounds.
struct RuleReader {
    is_incomplete: bool,
    chain_cost: u64,
    budget: RulesBudget,
    shares: Vec<CostShare>,
}

impl RuleReader {
    fn new(above: Option<&Rules>) -> Self {
        let budget = above.map(|above| above.budget.clone()).unwrap_or_default();
        Self { is_incomplete: false, chain_cost: above.map_or(0, |above| above.chain_cost), budget, shares: Vec::new() }
    }

    /// The rules in the file `name` below `folder`, which apply to paths below `dir`.
    fn read(&mut self, dir: &Path, folder: &Path, name: &str) -> Gitignore {
        let mut bytes = Vec::new();
        match RootReader::open(folder).read(Path::new(name), MAX_IGNORE_FILE_BYTES, &mut bytes) {
            Ok(_) => self.build(dir, &String::from_utf8_lossy(&bytes)),
            Err(ReadFailure::Missing) => Gitignore::empty(),
            Err(ReadFailure::TooLarge(_) | ReadFailure::Busy | ReadFailure::Failed) => self.give_up(),
        }
    }

    fn build(&mut self, dir: &Path, text: &str) -> Gitignore {
        let lines = || text.trim_start_matches('\u{feff}').lines().filter(|line| line.len() <= MAX_IGNORE_LINE_BYTES);
        self.is_incomplete |= text.lines().any(|line| line.len() > MAX_IGNORE_LINE_BYTES);
        let cost = lines().map(cost_of).sum::<u64>();
        if self.chain_cost + cost > MAX_IGNORE_COST {
            return self.give_up();
        }
        let Some(share) = CostShare::take(&self.budget, cost) else { return self.give_up() };
        let mut builder = GitignoreBuilder::new(dir);
        for line in lines() {
            // An invalid line is skipped, as in git.
            let _ = builder.add_line(None, line);
        }
        let Ok(built) = builder.build() else { return self.give_up() };
        self.chain_cost += cost;
        self.shares.push(share);
        built
    }

    fn give_up(&mut self) -> Gitignore {
        self.is_incomplete = true;
        Gitignore::empty()
    }
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
