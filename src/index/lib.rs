//! Rank 3: the code index. It finds names, lines and outlines in milliseconds, in files that nobody has opened.
//!
//! It doesn't understand code: it knows what a parser sees. What a symbol *is* is said by language servers.
//!
//! - [`language`], [`extract`]: a source becomes [`Facts`], by grammars and by query files that are data.
//! - [`text`]: which contents may hold a text, by their grams; which lines do.
//! - [`ranked`]: which symbols and files are meant by a name or by words.
//! - `store`, `scan`, `git`, `job`: contents are numbered, parsed and kept once; a [`Manifest`] says which paths show them.
//! - `project`: one root, and all questions about it.
//!
//! Invariants: a question is answered from one published generation and is the same whatever the number of threads; what was
//! published stays readable while the next generation is made, and whenever a process ends; nothing is written inside a root; files
//! are opened strictly beneath their root, never through a link.

mod classify;
mod codec;
pub mod extract;
mod facts;
mod job;
mod language;
pub mod limits;
mod lock;
mod manifest;
pub mod project;
pub mod ranked;
mod index_dir;
mod scan;
mod store;
mod text;

pub use facts::{Facts, MAX_DOC, MAX_SIGNATURE, Reference, Role, Symbol};
pub use job::{JobError, ProgressSnapshot, JobPhase, JobProgress, JobSummary, StopSignal, GcReport};
pub use language::Language;
pub use manifest::{ContentNo, ManifestEntry, Manifest, PathClass};
pub use project::Project;

/// The version that answers show: the layout's and the facts' together.
pub const SCHEMA_VERSION: u32 = schema_version(store::FORMAT, extract::EXTRACTOR_VERSION);

const fn schema_version(format: u32, features: u32) -> u32 {
    1_000 * format + features
}
