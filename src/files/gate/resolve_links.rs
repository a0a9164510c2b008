//! Resolves the symbolic links of a path by reading them, whether or not the target exists.
//!
//! The result is a proposal. The caller opens it without following links and trusts only that open. The kernel's own
//! resolution can't give the path of a file that doesn't exist; this one can, so a dangling link to the outside is
//! distinguished from a missing file inside. It never goes up (`..`) from a directory whose existence is secret: otherwise
//! a link's text could reveal whether a directory outside the roots exists.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use codeyard_base::blocking::assert_may_block;

/// Symbolic links followed to resolve one path, as many as Linux follows.
const MAX_LINKS_FOLLOWED: usize = 40;

/// The result of resolving a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResolvedPath {
    /// The file exists at this real path.
    Real(PathBuf),
    /// Nothing exists there; this would be its real path.
    Missing(PathBuf),
    /// A link goes up from a directory whose existence is secret.
    Untraceable,
}

/// Follows the links of `path`, which is absolute and has no dot segments. `is_public` says whether the existence of a
/// directory may be revealed.
pub(super) fn resolve_links(path: &Path, is_public: impl Fn(&Path) -> bool) -> ResolvedPath {
    assert_may_block();
    let mut remaining: Vec<OsString> = Vec::new();
    push_segments(&mut remaining, path.as_os_str());
    let mut current = PathBuf::from("/");
    let mut links = 0;
    let mut missing = false;
    // The directory of the link that was read last. It exists, and so do its parents.
    let mut last_link_dir = PathBuf::from("/");
    while let Some(segment) = remaining.pop() {
        if segment == ".." {
            if !is_public(&current) && !last_link_dir.starts_with(&current) {
                return ResolvedPath::Untraceable;
            }
            current.pop();
            continue;
        }
        current.push(&segment);
        if missing {
            continue;
        }
        match rustix::fs::readlink(&current, Vec::new()) {
            Ok(_) if links == MAX_LINKS_FOLLOWED => return ResolvedPath::Missing(current),
            Ok(target) => {
                links += 1;
                let target = OsString::from_vec(target.into_bytes());
                current.pop();
                last_link_dir.clone_from(&current);
                if target.as_bytes().first() == Some(&b'/') {
                    current = PathBuf::from("/");
                }
                push_segments(&mut remaining, &target);
            }
            // Not a link.
            Err(Errno::INVAL) => {}
            Err(_) => missing = true,
        }
    }
    if missing { ResolvedPath::Missing(current) } else { ResolvedPath::Real(current) }
}

fn push_segments(remaining: &mut Vec<OsString>, text: &OsStr) {
    let segments = text.as_bytes().split(|byte| *byte == b'/').rev();
    remaining.extend(segments.filter(|s| !matches!(*s, b"" | b".")).map(|s| OsStr::from_bytes(s).to_owned()));
}
