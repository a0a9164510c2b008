//! What the build files of a project say about its flags, read and not run.
//!
//! Each build file yields the include directories, definitions and language standards of the directory it stands in and of those below.
//! In each directory only the build file of the first kind counts ([`READERS`]). Conditions on other systems are skipped. What can't be
//! understood is left out: the includes of the sources fill the gaps. Invariants: nothing is run; a directory that doesn't exist is never
//! named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{bazel, cargo_script, clang_flags, cmake, make_file, meson};
use crate::compile_database::language::role;
use crate::limits::{MAX_BUILD_FILE_BYTES, MAX_BUILD_FILES, MAX_BUILD_FLAGS};
use crate::tree::{Tree, file_name, join, parent};
use codeyard_files::gate::read_below;

/// Largest build file that people or configurations write and that is read, in bytes: `CMakeLists.txt`, a make file, `meson.build`, `BUILD`,
/// `Kconfig`, `.clangd`, a template or a grammar of a header.
const MAX_BUILD_SCRIPT_BYTES: u64 = 8 * 1024 * 1024;

/// Flags of one directory and those below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BuildFlags {
    /// Include directories: relative to the project root, or absolute outside of it.
    pub include_dirs: Vec<String>,
    /// Definitions and the like, as one argument each.
    pub flags: Vec<String>,
    /// Headers that are included before each source, relative to the project root.
    pub forced: Vec<String>,
    /// The value of `-std` for C.
    pub c_standard: Option<String>,
    /// The value of `-std` for C++.
    pub cpp_standard: Option<String>,
}

/// The flags of all directories.
#[derive(Debug, Clone, Default)]
pub(crate) struct BuildHints {
    scopes: BTreeMap<String, BuildFlags>,
    /// The names of the build files that were used.
    pub used: BTreeSet<String>,
}

/// Receives what a reader finds in one build file, and resolves its paths.
pub(super) struct Collector<'a> {
    root: &'a Path,
    tree: &'a Tree,
    /// The directory of the build file, relative to the root.
    pub dir: &'a str,
    flags: BuildFlags,
}

/// Reads the text of a build file into a collector.
type Reader = fn(&str, &mut Collector<'_>);

/// The kinds of build files, in the order in which one directory's are preferred.
const READERS: [(&[&str], Reader); 6] = [
    (&["compile_flags.txt"], clang_flags::read_compile_flags),
    (&["CMakeLists.txt"], cmake::read),
    (&["meson.build"], meson::read),
    (&["BUILD.bazel", "BUILD"], bazel::read),
    (&["GNUmakefile", "Makefile", "makefile", "Makefile.am", "Makefile.in", "Kbuild"], make_file::read),
    (&["build.rs"], cargo_script::read),
];

impl BuildHints {
    /// Reads the build files of `tree`.
    pub(crate) fn read(root: &Path, tree: &Tree) -> Self {
        let mut by_dir: BTreeMap<&str, (usize, usize, &str)> = BTreeMap::new();
        for (kind, (names, _)) in READERS.iter().enumerate() {
            for (place, name) in names.iter().enumerate() {
                for path in tree.named(name) {
                    let best = by_dir.entry(parent(path)).or_insert((kind, place, path));
                    *best = (*best).min((kind, place, path));
                }
            }
        }
        let mut hints = Self::default();
        let built = by_dir.into_values().map(|(kind, _, path)| (path, READERS[kind].1));
        let clangd = tree.named(".clangd").map(|path| (path, clang_flags::read_clangd as Reader));
        for (path, reader) in built.chain(clangd).take(MAX_BUILD_FILES) {
            let Some(text) = read_script(root, &root.join(path)) else { continue };
            let mut collector = Collector { root, tree, dir: parent(path), flags: BuildFlags::default() };
            reader(&text, &mut collector);
            let (scope, flags) = scoped(tree, path, collector.flags);
            if flags != BuildFlags::default() {
                hints.used.insert(file_name(path).to_owned());
                hints.add_scope(scope, flags);
            }
        }
        hints
    }

    /// Whether a file of this name is read here.
    pub(crate) fn is_read(name: &str) -> bool {
        name == ".clangd" || READERS.iter().any(|(names, _)| names.contains(&name))
    }

    /// Adds flags for a directory and those below it, before what is known.
    fn add_scope(&mut self, dir: &str, flags: BuildFlags) {
        let known = self.scopes.entry(dir.to_owned()).or_default();
        let old = std::mem::take(known);
        *known = flags;
        known.add_outer(&old);
    }

    /// The flags of a directory: its own include directories first, then those of the directories above it.
    pub(crate) fn flags_of(&self, dir: &str) -> BuildFlags {
        let mut all = BuildFlags::default();
        let mut next = Some(dir);
        while let Some(dir) = next {
            if let Some(flags) = self.scopes.get(dir) {
                all.add_outer(flags);
            }
            next = (!dir.is_empty()).then(|| parent(dir));
        }
        all
    }

    /// Whether some build file defines a macro with such a name.
    pub(crate) fn define_any(&self, is_such: fn(&str) -> bool) -> bool {
        let mut defined =
            self.scopes.values().flat_map(|flags| &flags.flags).filter_map(|flag| flag.strip_prefix("-D"));
        defined.any(|definition| is_such(definition.split('=').next().unwrap_or_default()))
    }

    pub(crate) fn include_dirs(&self, dir: &str) -> Vec<String> {
        self.flags_of(dir).include_dirs
    }
}

/// The directory that a build file's flags concern, and the flags. One of CMake or Meson that stands apart from the sources
/// (`build/cmake`) names include directories for the whole project; other flags of such a file are those of unknown sources.
fn scoped<'a>(tree: &Tree, path: &'a str, flags: BuildFlags) -> (&'a str, BuildFlags) {
    let dir = parent(path);
    let prefix = format!("{dir}/");
    let start = tree.paths().partition_point(|path| **path < *prefix);
    let mut below = tree.paths()[start..].iter().take_while(|path| path.starts_with(&prefix));
    if dir.is_empty() || below.any(|path| role(path).is_some()) {
        return (dir, flags);
    }
    let is_structured = ["CMakeLists.txt", "meson.build"].contains(&file_name(path));
    let include_dirs = if is_structured { flags.include_dirs } else { Vec::new() };
    ("", BuildFlags { include_dirs, ..BuildFlags::default() })
}

impl BuildFlags {
    fn add_outer(&mut self, outer: &Self) {
        extend_new(&mut self.include_dirs, &outer.include_dirs);
        extend_new(&mut self.forced, &outer.forced);
        // The definition of an outer directory comes first, so that the inner one wins.
        let mut flags = outer.flags.clone();
        extend_new(&mut flags, &self.flags);
        self.flags = flags;
        self.c_standard = self.c_standard.take().or_else(|| outer.c_standard.clone());
        self.cpp_standard = self.cpp_standard.take().or_else(|| outer.cpp_standard.clone());
    }
}

fn push_new(all: &mut Vec<String>, one: String) {
    if all.len() < MAX_BUILD_FLAGS && !all.contains(&one) {
        all.push(one);
    }
}

fn extend_new(all: &mut Vec<String>, more: &[String]) {
    let room = MAX_BUILD_FLAGS.saturating_sub(all.len());
    let fresh: Vec<String> = more.iter().filter(|one| !all.contains(one)).take(room).cloned().collect();
    all.extend(fresh);
}

impl Collector<'_> {
    /// An include directory, relative to the build file's directory or absolute. One that doesn't exist is left out.
    pub(super) fn include_dir(&mut self, path: &str) {
        let Some(dir) = self.resolved(path) else { return };
        let is_searched_anyway = ["/usr/include", "/usr/local/include"].contains(&dir.as_str());
        let is_elsewhere = || dir.starts_with('/') && Path::new(&dir).is_dir();
        let exists = !is_searched_anyway && (is_elsewhere() || self.tree.has_dir(&dir));
        if exists {
            push_new(&mut self.flags.include_dirs, dir);
        }
    }

    /// A definition, `NAME` or `NAME=VALUE`.
    pub(super) fn define(&mut self, definition: &str) {
        let name = definition.split('=').next().unwrap_or_default();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_whole = !definition.contains(['$', '@', '\n']);
        // Some builds hide `static` or `inline` for one target; all sources below would change.
        let is_keyword = ["static", "inline", "const", "int", "void", "char", "private", "protected"].contains(&name);
        if is_name && is_whole && !is_keyword && name.chars().all(|c| c.is_ascii_alphanumeric() || "_()".contains(c)) {
            self.flag(format!("-D{definition}"));
        }
    }

    /// A language standard such as `c11`, `gnu++20`, `c++17`.
    pub(super) fn standard(&mut self, name: &str) {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '+' || c == ':');
        let is_known = ["c", "gnu", "iso9899:"].iter().any(|prefix| name.starts_with(prefix));
        if is_plain && is_known && name.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            let place = if name.contains("++") { &mut self.flags.cpp_standard } else { &mut self.flags.c_standard };
            *place = Some(name.to_owned());
        }
    }

    /// A header that is included before each source.
    fn forced(&mut self, path: &str) {
        let found = self.resolved(path).filter(|path| self.tree.has(path));
        if let Some(path) = found {
            push_new(&mut self.flags.forced, path);
        }
    }

    pub(super) fn keep(&mut self, argument: &str) {
        self.flag(argument.to_owned());
    }

    fn flag(&mut self, flag: String) {
        push_new(&mut self.flags.flags, flag);
    }

    /// Takes from a compiler's arguments what matters for parsing.
    pub(super) fn arguments(&mut self, words: &[String]) {
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let mut value = |prefix: &str| {
                let rest = word.strip_prefix(prefix)?;
                if rest.is_empty() { words.next() } else { Some(rest) }
            };
            if let Some(dir) = ["-isystem", "-iquote", "-idirafter", "-I"].iter().find_map(|prefix| value(prefix)) {
                self.include_dir(dir);
            } else if let Some(definition) = value("-D") {
                self.define(definition);
            } else if let Some(name) = value("-U") {
                if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.flag(format!("-U{name}"));
                }
            } else if let Some(name) = word.strip_prefix("-std=") {
                self.standard(name);
            } else if word == "-include" {
                words.next().into_iter().for_each(|path| self.forced(path));
            } else if ["-fms-extensions", "-funsigned-char", "-fshort-wchar", "-fopenmp", "-fblocks", "-pthread"]
                .contains(&word)
            {
                self.flag(word.to_owned());
            }
        }
    }

    /// The path relative to the root, or absolute if it is outside.
    fn resolved(&self, path: &str) -> Option<String> {
        if path.is_empty() || path.contains(['$', '@', '\n', '<', '>', '*']) {
            return None;
        }
        if !path.starts_with('/') {
            return join(self.dir, path);
        }
        let inside = Path::new(path).strip_prefix(self.root).ok().and_then(Path::to_str);
        inside.map_or_else(|| Some(path.to_owned()), |inside| join("", inside))
    }

    /// The text of another file beside the build file.
    pub(super) fn sibling_text(&self, name: &str) -> Option<String> {
        read_script(self.root, &self.root.join(self.dir).join(name))
    }

    /// The text of an included `.mk` file in the build file's directory or one above.
    pub(super) fn included_text(&self, path: &str) -> Option<String> {
        let path = self.resolved(path)?;
        let is_included = [".mk", ".mak"].iter().any(|ending| path.ends_with(ending));
        let dir = parent(&path);
        let is_above = dir.is_empty() || self.dir == dir || self.dir.starts_with(&format!("{dir}/"));
        (is_included && is_above && self.tree.has(&path))
            .then(|| read_script(self.root, &self.root.join(path)))
            .flatten()
    }

    /// The project root, for build files that name it.
    pub(super) fn root(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }
}

/// The text of a build file below `root` that people write; `None` if it can't be read or is too large.
pub(crate) fn read_script(root: &Path, path: &Path) -> Option<String> {
    read_at_most(root, path, MAX_BUILD_SCRIPT_BYTES)
}

/// The text of a build file below `root`, also of one that a build writes; `None` if it can't be read or is too large.
pub(crate) fn read_text(root: &Path, path: &Path) -> Option<String> {
    read_at_most(root, path, MAX_BUILD_FILE_BYTES)
}

fn read_at_most(root: &Path, path: &Path, limit: u64) -> Option<String> {
    Some(String::from_utf8_lossy(&read_below(root, path, limit).ok()?).into_owned())
}

/// Whether a condition in a build file names a system or compiler other than the one here.
pub(crate) fn names_other_system(condition: &str) -> bool {
    const WORDS: [&str; 22] = [
        "win32", "windows", "msvc", "mingw", "cygwin", "msys", "apple", "darwin", "macos", "osx", "ios", "android",
        "sunos", "solaris", "aix", "hpux", "freebsd", "openbsd", "netbsd", "dragonfly", "haiku", "emscripten",
    ];
    let condition = condition.to_ascii_lowercase();
    let mut words = condition.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.any(|word| WORDS.contains(&word) || WORDS.iter().any(|known| known.len() > 4 && word.starts_with(known)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compile_database::commands::shell_words;

    /// What a reader finds in a text that stands at `dir/NAME` in a tree of these files below `/p`.
    pub(crate) fn collected(reader: Reader, dir: &str, text: &str, files: &[&str]) -> BuildFlags {
        let tree = Tree::of(files.iter().map(|path| Box::from(*path)).collect());
        let mut collector = Collector { root: Path::new("/p"), tree: &tree, dir, flags: BuildFlags::default() };
        reader(text, &mut collector);
        collector.flags
    }

    fn arguments(text: &str, collector: &mut Collector<'_>) {
        collector.arguments(&shell_words::split(text));
    }

    #[test]
    fn arguments_give_what_matters_for_parsing() {
        let text = "-O2 -I ../inc -Iinc -I/p/lib/ -I/no/such -I$(X) -isystem inc -DA -D B=1 -D'C=\"x y\"' -DD=$E -UNAME -std=gnu11 -std=c++20 \
                    -include f.h -Wall -include gone.h -D";
        let flags = collected(arguments, "lib", text, &["inc/a.h", "lib/inc/b.h", "lib/f.h"]);
        assert_eq!(flags.include_dirs, ["inc", "lib/inc", "lib"]);
        assert_eq!(flags.flags, ["-DA", "-DB=1", "-DC=\"x y\"", "-UNAME"]);
        assert_eq!(flags.forced, ["lib/f.h"]);
        assert_eq!((flags.c_standard.as_deref(), flags.cpp_standard.as_deref()), (Some("gnu11"), Some("c++20")));
    }

    #[test]
    fn inner_directories_come_first_and_inner_definitions_win() {
        let mut hints = BuildHints::default();
        let flags = |dir: &str, define: &str, standard: Option<&str>| BuildFlags {
            include_dirs: vec![dir.into(), "inc".into()],
            flags: vec![define.into()],
            c_standard: standard.map(Into::into),
            ..BuildFlags::default()
        };
        hints.add_scope("", flags("outer", "-DX=1", Some("c99")));
        hints.add_scope("a/b", flags("inner", "-DX=2", None));
        let found = hints.flags_of("a/b/c");
        assert_eq!(found.include_dirs, ["inner", "inc", "outer"]);
        assert_eq!(found.flags, ["-DX=1", "-DX=2"]);
        assert_eq!(found.c_standard.as_deref(), Some("c99"));
        assert_eq!(hints.include_dirs("a"), ["outer", "inc"]);
    }

    #[test]
    fn conditions_on_other_systems_are_recognised() {
        for condition in [
            "WIN32",
            "MSVC AND X",
            "${CMAKE_SYSTEM_NAME} STREQUAL \"Darwin\"",
            "$(OS),Windows_NT",
            "target.contains(\"windows\")",
        ] {
            assert!(names_other_system(condition), "{condition}");
        }
        for condition in ["UNIX", "ENABLE_X", "WINDOW", "$(shell uname -s),Linux"] {
            assert!(!names_other_system(condition), "{condition}");
        }
    }
}
