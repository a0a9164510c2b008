//! Limits of this crate: what the inference of a project reads and writes at most.

/// Files of one project root that are looked at to resolve includes.
pub const MAX_TREE_FILES: usize = 1_000_000;

/// Files that are reachable through symbolic links to directories of one project root.
pub const MAX_LINKED_FILES: usize = 50_000;

/// Bytes read of a source or header that is searched for includes.
pub const MAX_SCANNED_BYTES: u64 = 4 * 1024 * 1024;

/// Includes of one file.
pub const MAX_INCLUDES: usize = 4_096;

/// Bytes read of a `build.ninja`, and of what make prints.
pub const MAX_BUILD_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Largest build file that people or configurations write and that is read, in bytes: `CMakeLists.txt`, a make file, `meson.build`, `BUILD`,
/// `Kconfig`, `.clangd`, a template or a grammar of a header.
pub const MAX_BUILD_SCRIPT_BYTES: u64 = 8 * 1024 * 1024;

/// Variables with flags that are read of one make file, and flags that one directory has.
pub const MAX_BUILD_FLAGS: usize = 1_024;

/// Files that one make file includes, directly or not, and that are read.
pub const MAX_INCLUDED_MAKE_FILES: usize = 64;

/// Levels of nested conditions of a build file that are evaluated. A deeper condition is treated like the one around it.
pub const MAX_BUILD_CONDITIONS: usize = 256;

/// Build files of one project root that are read.
pub const MAX_BUILD_FILES: usize = 20_000;

/// Largest file with the includes of a project's files, as the last preparation left it, that is read, in bytes.
pub const MAX_SCAN_CACHE_BYTES: u64 = 512 * 1024 * 1024;

/// Largest compile database that is read, in bytes.
pub const MAX_DATABASE_BYTES: u64 = 256 * 1024 * 1024;

/// Include directories of one source in an inferred compile database.
pub const MAX_INCLUDE_DIRS: usize = 256;

/// Files of a project that get a compile command with the file that includes them; further ones are compiled alone.
pub const MAX_FRAGMENTS: usize = 2_000;

/// Folders of a project that no watcher follows and that are looked at from time to time.
pub const MAX_UNWATCHED_FOLDERS: usize = 3_000;

/// Names that are shown as examples of what can't be resolved.
pub const MAX_EXAMPLES: usize = 5;

/// Headers that are made in the cache folder in place of those that a build makes.
pub const MAX_GENERATED_HEADERS: usize = 1_024;

/// Standard headers of the machine that are searched for the names of functions and types.
pub const MAX_INSTALLED_HEADERS: usize = 4_096;

/// Files of one Kconfig tree that are read.
pub const MAX_KCONFIG_FILES: usize = 20_000;

/// How deep files of one Kconfig tree name each other, and conditions are nested.
pub const MAX_KCONFIG_DEPTH: usize = 64;

/// Values of options of one Kconfig tree that are computed, all rounds together.
pub const MAX_KCONFIG_VALUES: usize = 4_000_000;

/// How often the options of a Kconfig tree are computed again until they agree.
pub const MAX_KCONFIG_ROUNDS: usize = 64;

/// The longest time, in milliseconds, of a build that the operator allowed.
pub const BUILD_TIME_LIMIT_MS: u64 = 600_000;

/// Calls of make that an allowed build is asked about, where a recipe calls make by its name.
pub const MAX_PRINTED_BUILDS: usize = 64;

/// Files that a server doesn't know and that are listed by name. The others are only counted.
pub const MAX_UNKNOWN_FILES: usize = 1_024;

/// Configurations of TypeScript and JavaScript that are read in one workspace root.
pub const MAX_CONFIGURATIONS: usize = 1_000;

/// Configurations that one configuration extends, directly or not.
pub const MAX_EXTENDED_CONFIGURATIONS: usize = 32;

/// Longest specifier of a module that is looked up, and longest path that a `package.json` gives it, in bytes.
pub const MAX_SPECIFIER_BYTES: usize = 4_096;

/// Projects of TypeScript and JavaScript that are loaded at one server.
pub const MAX_OPENED_PROJECTS: usize = 128;

/// Files of one inferred project.
pub const MAX_INFERRED_FILES: usize = 20_000;

/// Packages of one workspace root whose names are resolved to their folders.
pub const MAX_WORKSPACE_PACKAGES: usize = 1_000;

/// Source folders of one project of Java.
pub const MAX_SOURCE_FOLDERS: usize = 1_000;

/// Folders that files of Python import from, besides the root.
pub const MAX_SEARCH_PATHS: usize = 64;
