//! What build files say about flags, read and not run: one reader for each kind of build file.

mod bazel;
pub(super) mod build_hints;
mod cargo_script;
mod clang_flags;
pub(super) mod cmake;
mod make_file;
mod meson;
mod open_branches;
