//! Headers that don't exist: whether a build makes them, or whether something must be installed.
//!
//! A header is one of the build if it has a template or a grammar, if a build file makes it, or if its name says so. Build files are read
//! only if something is missing. Invariant: a command is named only where running it can help.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use codeyard_ecosystems::cargo::MANIFEST;
use codeyard_model::coverage::Hidden;

use super::build_stamp::is_build_file;
use crate::compile_database::build_files::build_hints::read_script;
use crate::info::UnresolvedNames;
use crate::limits::{MAX_BUILD_FILES, MAX_EXAMPLES};
use crate::tree::{Tree, file_name};

/// Words of lines in build files that look for a header instead of making it.
const PROBES: [&str; 9] =
    ["check_", "has_header", "find_path", "find_file", "ac_check", "checkincludes", "#include", "ac_egrep", "test -f"];

/// The headers `missing` by cause, each with what helps. `build` is the command that builds the project.
pub(crate) fn by_cause(
    missing: &BTreeSet<&str>,
    root: &Path,
    tree: &Tree,
    build: Option<&str>,
) -> Vec<UnresolvedNames> {
    let made = made_by_build_files(missing, root, tree);
    let is_generated = |name: &&str| made.contains(name) || has_source(name, tree) || is_named_as_generated(name);
    let (generated, absent): (Vec<&str>, Vec<&str>) = missing.iter().copied().partition(is_generated);
    let examples =
        |names: &[&str]| names.iter().take(MAX_EXAMPLES).map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let of_build = UnresolvedNames {
        what: match build {
            Some(_) => "headers that the build generates".to_owned(),
            None => "generated headers; generate them in the workspace".to_owned(),
        },
        count: generated.len(),
        examples: examples(&generated),
        remedy: build.map(str::to_owned),
        hides: Hidden::Nothing,
    };
    let others = UnresolvedNames {
        what: "headers that are neither in the workspace nor installed; install the packages that hold them".to_owned(),
        count: absent.len(),
        examples: examples(&absent),
        // No build finds them; which package holds a header differs between systems.
        remedy: None,
        hides: Hidden::Nothing,
    };
    [of_build, others].into_iter().filter(|cause| cause.count > 0).collect()
}

/// The names that some build file names without looking for them.
fn made_by_build_files<'a>(missing: &BTreeSet<&'a str>, root: &Path, tree: &Tree) -> BTreeSet<&'a str> {
    let mut made = BTreeSet::new();
    if missing.is_empty() {
        return made;
    }
    let mut by_file: HashMap<&str, Vec<&'a str>> = HashMap::new();
    for name in missing {
        by_file.entry(file_name(name)).or_default().push(name);
    }
    let build_files = tree.paths().iter().filter(|path| is_build_file(file_name(path)) && !is_probing(path));
    for path in build_files.take(MAX_BUILD_FILES) {
        let text = read_script(root, &root.join(&**path)).unwrap_or_default();
        for line in text.lines().filter(|line| line.contains(".h") || line.contains(".inc") || line.contains(".def")) {
            let lower = line.to_ascii_lowercase();
            if PROBES.iter().any(|probe| lower.contains(probe)) {
                continue;
            }
            let is_in_path = |c: char| c.is_alphanumeric() || "._-+/".contains(c);
            let words = line.split(|c| !is_in_path(c)).filter(|word| word.contains('.'));
            for word in words {
                made.extend(by_file.get(file_name(word)).into_iter().flatten());
            }
        }
    }
    made
}

/// Whether a build file only asks for what is installed.
fn is_probing(path: &str) -> bool {
    let name = file_name(path);
    name.starts_with("configure") || name.ends_with(".m4") || name.starts_with("Find") && name.ends_with(".cmake")
}

/// Whether the header has a template or a grammar.
fn has_source(name: &str, tree: &Tree) -> bool {
    let file = file_name(name);
    [".in", ".cmake", ".in.h", ".tmpl", ".template", ".y", ".l"].iter().any(|ending| {
        let stem = file
            .strip_suffix(".h")
            .filter(|_| ending.starts_with(".i") && ending.len() > 3 || ending.len() == 2)
            .unwrap_or(file);
        tree.named(&format!("{stem}{ending}")).next().is_some()
    })
}

fn is_named_as_generated(name: &str) -> bool {
    let file = file_name(name);
    name.contains("generated") || file.contains("config") || file.contains("version")
}

/// The command that makes an exact compile database. `None`: no build is known.
pub(crate) fn build_command(tree: &Tree) -> Option<&'static str> {
    let has = |name: &str| tree.has(name);
    Some(if has("CMakeLists.txt") {
        "cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    } else if has("meson.build") {
        "meson setup build"
    } else if has("MODULE.bazel") || has("WORKSPACE") || has("WORKSPACE.bazel") {
        "bazel run @hedron_compile_commands//:refresh_all"
    } else if has("configure") {
        "./configure && bear -- make"
    } else if has("Kconfig") && has("Kbuild") {
        "make defconfig && make compile_commands.json"
    } else if has("GNUmakefile") || has("makefile") || has("Makefile") {
        "bear -- make"
    } else if has("configure.ac") || has("configure.in") {
        "autoreconf -i && ./configure && bear -- make"
    } else if has("build.rs") && has(MANIFEST) {
        "bear -- cargo build"
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn causes(missing: &[&str], files: &[(&str, &str)]) -> Vec<(String, Vec<String>, Option<String>)> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            fs::write(folder.path().join(path), text).unwrap();
        }
        let tree = Tree::read(folder.path());
        let found = by_cause(&missing.iter().copied().collect(), folder.path(), &tree, build_command(&tree));
        found.into_iter().map(|cause| (cause.what, cause.examples, cause.remedy)).collect()
    }

    #[test]
    fn a_build_is_advised_only_for_headers_that_it_makes() {
        let files = [
            ("Makefile", "all: sub/words.h\nsub/words.h: mk\n\t./mk > $@\n# ev.h\n"),
            ("sub/CMakeLists.txt", "check_include_file(ev2.h HAVE)\nadd_custom_command(OUTPUT ${D}/gen/table.inc)\n"),
            ("a.h.in", ""),
            ("p.y", ""),
            ("configure.ac", "AC_CONFIG_FILES([made.h])"),
            ("configure", "for header in zlib.h\n"),
        ];
        let missing = ["words.h", "table.inc", "a.h", "p.h", "ev2.h", "gtest/gtest.h", "zlib.h", "my_config.h"];
        let found = causes(&missing, &files);
        assert_eq!(found[0].1, ["a.h", "my_config.h", "p.h", "table.inc", "words.h"]);
        assert_eq!(found[0].2.as_deref(), Some("./configure && bear -- make"));
        assert_eq!(found[1].1, ["ev2.h", "gtest/gtest.h", "zlib.h"]);
        assert_eq!(found[1].2, None);
        assert!(found[1].0.ends_with("install the packages that hold them"));
        assert_eq!(causes(&[], &files), []);
    }

    #[test]
    fn where_there_is_no_build_none_is_advised() {
        let found = causes(&["config.h", "b.h"], &[("a.c", "")]);
        let commands: Vec<Option<String>> = found.iter().map(|(_, _, command)| command.clone()).collect();
        assert_eq!(commands, [None, None]);
        assert!(found[0].0.starts_with("generated headers; generate them"), "{}", found[0].0);
        let cargo = causes(&["config.h"], &[("build.rs", ""), ("Cargo.toml", "")]);
        assert_eq!(cargo[0].2.as_deref(), Some("bear -- cargo build"));
    }
}
