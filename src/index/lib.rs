//! The code index: finds names, lines and outlines of a repository in milliseconds, without a language server.
//!
//! It knows what a parser sees: symbols, references and text. It doesn't resolve names or types; language servers do.
//!
//! A *content* is the bytes of a file, stored and parsed once for all paths, branches and worktrees that have it. A *manifest* maps
//! the paths of one commit or working tree to contents. A *generation* is one published state of a manifest and its indexes.
//!
//! Invariants: a question is answered from one published generation, and the answer is the same for any number of threads. A published
//! generation stays readable while the next one is built, and after a crash. Nothing is written inside a root. Files are opened
//! strictly below their root, never through a symbolic link.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | `facts` | the symbols and references of one content |
//! | `language` | the indexed languages, and the detection of a file's language |
//! | `codec` | the encoding of blobs in the database |
//! | `lock` | the writer lock of an index folder |
//! | `stop_signal` | the signal that stops a job |
//! | `classify` | files that are excluded, and those that programs wrote: generated, minified |
//! | `settings` | the settings of a project |
//! | `handles` | the ids by which a client requests a symbol again |
//! | [`extract`] | symbols and references of a source ([`Facts`]), by tree-sitter queries |
//! | [`commonjs`] | what a file of JavaScript exports and requires |
//! | `manifest` | the paths of a commit or working tree and their contents |
//! | `store` | the SQLite database: contents, facts, manifests, jobs |
//! | `indexed_roots` | the roots that have an index |
//! | `text` | the text index: contents that may contain a text, and the search of their lines |
//! | [`ranked`] | the symbol index: ranked search by name or words |
//! | `index_dir` | the index folder of one repository: database, segments, locks |
//! | `scan` | the files of a working tree, by ignore rules |
//! | `job` | index jobs: scan, read, parse, publish, garbage collection |
//! | [`project`] | one root: the questions of the tools, answered from its index |

mod classify;
mod codec;
pub mod commonjs;
pub mod extract;
mod facts;
mod handles;
mod index_dir;
mod indexed_roots;
mod job;
mod language;
pub mod limits;
mod lock;
mod manifest;
#[cfg(test)]
mod parser_bombs;
pub mod project;
pub mod ranked;
mod scan;
pub mod settings;
mod stop_signal;
mod store;
mod text;

#[cfg(fuzzing)]
pub use text::fuzzing;

pub use classify::Provenance;
pub use facts::{Facts, MAX_DOC, MAX_SIGNATURE, Reference, ReferenceRole, Symbol};
pub use indexed_roots::indexed_roots;
pub use job::{GcReport, JobError, JobPhase, JobProgress, JobSummary, ProgressSnapshot};
pub use language::Language;
pub use manifest::{ContentNo, FileClass, Manifest, ManifestEntry};
pub use project::Project;
pub use stop_signal::StopSignal;
pub use text::LinePattern;

/// The schema version that answers show: 1,000 times the storage format's version plus the extraction rules' version.
pub const SCHEMA_VERSION: u32 = schema_version(store::FORMAT, extract::EXTRACTOR_VERSION);

const fn schema_version(format: u32, extractor: u32) -> u32 {
    1_000 * format + extractor
}
