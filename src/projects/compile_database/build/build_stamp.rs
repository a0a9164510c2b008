//! The state of all files that a build is described by, so that an allowed build runs again when one of them changes, and only then.
//!
//! A file is read again only if its size or its time of modification differs from what was recorded. Invariant: two stamps with the same
//! contents are equal for [`BuildStamp::has_contents_of`], whatever the times are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use codeyard_base::clock::wall_ns;
use codeyard_base::digest::sha256hex;
use serde_json::{Value, json};

use crate::compile_database::build_files::build_hints::read_text;
use crate::compile_database::headers::header_templates::is_template;
use crate::limits::MAX_BUILD_FILES;
use crate::tree::{Tree, file_name};

/// How old a file must be so that its time of modification tells whether it changed, in nanoseconds.
const FRESH: i128 = 2_000_000_000;
/// Names of files that describe a build.
const NAMES: [&str; 18] = [
    "CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json", "GNUmakefile", "makefile", "Makefile", "Kbuild",
    "configure", "configure.ac", "configure.in", "meson.build", "meson_options.txt", "meson.options", "BUILD",
    "BUILD.bazel", ".config", "libtool", "config.mak",
];
/// Endings of names of such files.
const ENDINGS: [&str; 8] = [".cmake", ".cmake.in", ".mk", ".mak", ".make", ".am", ".m4", ".ninja"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct StampedFile {
    size: u64,
    modified_ns: i128,
    digest: String,
}

/// All build files of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BuildStamp(BTreeMap<String, StampedFile>);

/// Whether a file of this name describes a build.
pub(crate) fn is_build_file(name: &str) -> bool {
    NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || ["Makefile.", "Kconfig", "GNUmakefile."].iter().any(|start| name.starts_with(start))
        || is_template(name)
}

impl BuildStamp {
    /// Reads the build files of `tree`; those that are as in `before` aren't read again.
    pub(crate) fn read(root: &Path, tree: &Tree, before: &Self) -> Self {
        let now = wall_ns();
        // The output of a CMake that ran in the tree isn't a description of the build.
        let is_output = |path: &str| path.split('/').any(|part| part == "CMakeFiles");
        let own = tree.paths().iter().filter(|path| is_build_file(file_name(path)) && !is_output(path));
        let files = own.take(MAX_BUILD_FILES).filter_map(|path| {
            let full = root.join(&**path);
            let found = fs::metadata(&full).ok()?;
            let modified_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
            let known = before.0.get(&**path).filter(|known| {
                known.size == found.size() && known.modified_ns == modified_ns && modified_ns + FRESH < now
            });
            let digest = match known {
                Some(known) => known.digest.clone(),
                None => sha256hex(read_text(root, &full).unwrap_or_default()),
            };
            Some((path.to_string(), StampedFile { size: found.size(), modified_ns, digest }))
        });
        Self(files.collect())
    }

    /// Whether both have the same files with the same contents.
    pub(super) fn has_contents_of(&self, other: &Self) -> bool {
        let contents = |(path, file): (&String, &StampedFile)| (path.clone(), file.digest.clone());
        self.0.iter().map(contents).eq(other.0.iter().map(contents))
    }

    /// The same as JSON.
    pub(super) fn to_json(&self) -> Value {
        let files =
            self.0.iter().map(|(path, file)| json!([path, file.size, file.modified_ns.to_string(), file.digest]));
        Value::Array(files.collect())
    }

    /// Reads what [`BuildStamp::to_json`] wrote; empty if it can't be read.
    pub(super) fn from_json(value: &Value) -> Self {
        let files = value.as_array().into_iter().flatten().filter_map(|file| {
            let modified_ns = file[2].as_str()?.parse().ok()?;
            let stamped = StampedFile { size: file[1].as_u64()?, modified_ns, digest: file[3].as_str()?.to_owned() };
            Some((file[0].as_str()?.to_owned(), stamped))
        });
        Self(files.collect())
    }
}

/// The build files as a run of the build read them, and those that were written while it ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunStamp {
    pub files: BuildStamp,
    /// The paths of those that changed during the run.
    changed_meanwhile: BTreeSet<String>,
}

impl RunStamp {
    /// The stamp of a run that began with the files `before` and ended with the files `after`. A file that changed meanwhile may have been
    /// edited, so what was there before counts, and the build runs again. One that changed in the `last` run too is written by the build
    /// itself.
    pub(super) fn of_run(before: &BuildStamp, after: BuildStamp, last: &Self) -> Self {
        let digest = |stamp: &BuildStamp, path: &str| stamp.0.get(path).map(|file| file.digest.clone());
        let paths: BTreeSet<&String> = before.0.keys().chain(after.0.keys()).collect();
        let changed = paths.into_iter().filter(|path| digest(before, path) != digest(&after, path));
        let changed_meanwhile: BTreeSet<String> = changed.cloned().collect();
        let mut files = after;
        for path in changed_meanwhile.difference(&last.changed_meanwhile) {
            match before.0.get(path) {
                Some(file) => files.0.insert(path.clone(), file.clone()),
                None => files.0.remove(path),
            };
        }
        Self { files, changed_meanwhile }
    }

    /// The same as JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({"files": self.files.to_json(), "changed_meanwhile": self.changed_meanwhile})
    }

    /// Reads what [`RunStamp::to_json`] wrote; empty if it can't be read.
    pub(super) fn from_json(value: &Value) -> Self {
        let changed = value["changed_meanwhile"].as_array().into_iter().flatten();
        Self {
            files: BuildStamp::from_json(&value["files"]),
            changed_meanwhile: changed.filter_map(|path| Some(path.as_str()?.to_owned())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_any_build_file_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        let files = [
            "CMakeLists.txt", "a/CMakeLists.txt", "cmake/x.cmake", "b/Makefile", "c/rules.mk", "d/meson.build",
            "config.h.in", "e/Kconfig.x",
        ];
        files.iter().for_each(|path| write(path, "1"));
        write("a.c", "1");
        write("out/CMakeFiles/x.cmake", "1");
        let read = |before: &BuildStamp| BuildStamp::read(root, &Tree::read(root), before);
        let first = read(&BuildStamp::default());
        assert_eq!(first.0.len(), files.len());
        assert_eq!(BuildStamp::from_json(&first.to_json()), first);
        write("a.c", "2");
        assert!(read(&first).has_contents_of(&first));
        for path in files {
            write(path, "2");
            let now = read(&first);
            assert!(!now.has_contents_of(&first), "{path}");
            write(path, "1");
            let again = read(&now);
            assert!(again.has_contents_of(&first), "{path}");
        }
        fs::remove_file(root.join("b/Makefile")).unwrap();
        assert!(!read(&first).has_contents_of(&first));
    }

    #[test]
    fn a_file_that_changed_during_a_run_counts_as_it_was_before() {
        let stamp = |files: &[(&str, &str)]| {
            let file = |digest: &str| StampedFile { size: 1, modified_ns: 1, digest: digest.into() };
            BuildStamp(files.iter().map(|(path, digest)| ((*path).to_owned(), file(digest))).collect())
        };
        let before = stamp(&[("edited", "1"), ("deleted", "1"), ("same", "1"), ("written", "1")]);
        let after = stamp(&[("edited", "2"), ("new", "1"), ("same", "1"), ("written", "2")]);
        let first = RunStamp::of_run(&before, after.clone(), &RunStamp::default());
        assert_eq!(first.files, before);
        assert_eq!(RunStamp::from_json(&first.to_json()), first);
        // The build writes one file each time; the others are now as they were at its start.
        let again = stamp(&[("edited", "2"), ("new", "1"), ("same", "1"), ("written", "3")]);
        let second = RunStamp::of_run(&after, again.clone(), &first);
        assert_eq!(second.files, again);
        let third = RunStamp::of_run(&again, again.clone(), &second);
        assert_eq!((third.files, third.changed_meanwhile.len()), (again, 0));
    }
}
