//! Rank 3: the path gate, the one place that says "this file's real path lies inside the allowed roots".
//!
//! Everything that names a file passes here twice: on the way in (a caller's URI, [`Gate::document`]) and on the way out
//! (a language server's URI, [`Gate::admit`]). It is not a cache: every answer is what the file system says now.
//!
//! How it decides:
//! - The text is checked first ([`text`]): what can't name a file is `URI_INVALID` before the disk is touched. Dot
//!   segments are removed as URIs' rules ask (RFC 3986 §5.2.4), on the text: `a/link/../b` is `a/b`.
//! - A path that spells an allowed root is opened by the kernel: the root without following any link, then the rest
//!   beneath it (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`). When that works, the
//!   path *is* its real path, and no string was trusted for it.
//! - When a link is in the way, [`walk`] reads the links to find the real path, and the result is opened in the same
//!   strict way. A link that is swapped in between makes the second opening fail, never succeed on another file.
//! - Many files of one answer are looked at in folders that are opened strictly, once each, for as long as that takes
//!   ([`Visit`]).
//! - Roots are opened anew each time: a root that was deleted and cloned again is found, and an idle workspace holds no
//!   descriptor.
//!
//! Invariants: a [`CanonicalUri`] is made here only (a tidy test says so) and comes back unchanged from
//! [`Gate::document`]; outside the roots nothing tells what exists from what doesn't; no message or detail holds a path;
//! nothing blocks on a FIFO or a device.
//!
//! [`CanonicalUri`]: codeyard_model::uri::CanonicalUri

mod beneath;
mod door;
mod open;
mod stamp;
mod text;
mod visit;
mod walk;

#[cfg(test)]
mod tests;

pub use beneath::{Beneath, Nearby, Unread};
pub use door::{Admitted, Gate, GateError};
pub use stamp::FileStamp;
pub use visit::{Seen, Visit};
