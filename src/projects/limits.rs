//! Limits of this crate: what the inference of a project reads and writes at most.

/// Files that are reachable through symbolic links to directories of one project root.
pub const MAX_LINKED_FILES: usize = 50_000;

/// Bytes read of a source or header that is searched for includes.
pub const MAX_SCANNED_BYTES: u64 = 4 * 1024 * 1024;

/// Bytes read of a `build.ninja`, and of what make prints.
pub const MAX_BUILD_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Variables with flags that are read of one make file, and flags that one directory has.
pub const MAX_BUILD_FLAGS: usize = 1_024;

/// Build files of one project root that are read.
pub const MAX_BUILD_FILES: usize = 20_000;

/// Largest compile database that is read, in bytes.
pub const MAX_DATABASE_BYTES: u64 = 256 * 1024 * 1024;

/// Include directories of one source in an inferred compile database.
pub const MAX_INCLUDE_DIRS: usize = 256;

/// Files of a project that get a compile command with the file that includes them; further ones are compiled alone.
pub const MAX_FRAGMENTS: usize = 2_000;

/// Names that are shown as examples of what can't be resolved.
pub const MAX_EXAMPLES: usize = 5;

/// Headers that are made in the cache folder in place of those that a build makes.
pub const MAX_GENERATED_HEADERS: usize = 1_024;

/// The longest time, in milliseconds, of a build that the operator allowed.
pub const BUILD_TIME_LIMIT_MS: u64 = 600_000;

/// Files that a server doesn't know and that are listed by name. The others are only counted.
pub const MAX_UNKNOWN_FILES: usize = 1_024;

/// Projects of TypeScript and JavaScript that are loaded at one server.
pub const MAX_OPENED_PROJECTS: usize = 128;

/// Scripts that are kept open at one server because nothing but their first lines shows their language.
pub const MAX_OPENED_SCRIPTS: usize = 64;

/// Files of one inferred project.
pub const MAX_INFERRED_FILES: usize = 20_000;

/// Source folders of one project of Java.
pub const MAX_SOURCE_FOLDERS: usize = 1_000;

/// Folders that files of Python import from, besides the root.
pub const MAX_SEARCH_PATHS: usize = 64;
