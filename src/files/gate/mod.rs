//! The path gate: the one place that decides that a file's real path lies inside the allowed roots.
//!
//! Every file name passes through it twice: a caller's URI on the way in ([`Gate::document`]), a language server's URI on
//! the way out ([`Gate::admit`]). It is not a cache: every decision reflects the file system at that moment.
//!
//! How it decides:
//! - [`file_uri`] checks the text first. A text that can't name a file is `URI_INVALID`, without access to the disk. Dot
//!   segments are removed from the text as RFC 3986, section 5.2.4, defines: `a/link/../b` is `a/b`.
//! - If the path spells an allowed root, the kernel opens it: the root without following any link, then the rest beneath
//!   it (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`). If that succeeds, the path *is*
//!   its real path.
//! - If a link is in the path, [`resolve_links`] reads the links to find the real path. The result is opened in the same
//!   strict way. If a link changes in between, the second open fails. It never succeeds on another file.
//! - [`open_below`] opens files of a repository that aren't documents, such as manifests, in the same strict way.
//! - [`BatchLookup`] looks up the many files of one answer. It opens each directory strictly, once.
//! - Roots are opened again for each decision. A root that was deleted and cloned again is found, and an idle workspace
//!   holds no descriptor.
//! - A check or a read takes as long as the file system takes. [`Gate::run`] is how actors and calls use the gate: on the blocking pool, with
//!   a bound for each workspace.
//!
//! Invariants: a [`CanonicalUri`] is made only here (a tidy test checks it) and passes [`Gate::document`] unchanged;
//! outside the roots, no result reveals whether a file exists; no message or detail contains a path; no call blocks on a
//! FIFO or a device.
//!
//! [`CanonicalUri`]: codeyard_model::uri::CanonicalUri

mod batch_lookup;
mod confined_file;
mod file_uri;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gate_work;
mod open;
mod path_gate;
mod recent_links;
mod resolve_links;
mod root_reader;
mod stamp;

#[cfg(test)]
mod boundary_tests;
#[cfg(test)]
mod exchange_tests;
#[cfg(test)]
mod tests;

pub use batch_lookup::{BatchLookup, StampedAdmission};
pub use confined_file::{FileRefusal, normal, open_below, read_below, read_start_below};
pub use file_uri::spelt_path;
pub use path_gate::{Gate, GateError};
pub use recent_links::LinkChanges;
pub use root_reader::{DirHandleCache, ReadFailure, RootReader};
pub(crate) use root_reader::{DirOpenError, open_listing};
pub use stamp::FileStamp;
