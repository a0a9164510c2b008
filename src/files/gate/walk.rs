//! Reading links by hand: where a path that has links in it really leads, whether or not something is there.
//!
//! Only a proposal: the caller opens the result without following links, and believes the opening. Unlike the kernel's
//! own resolution this one can name the place of a file that doesn't exist, so that a dangling link to the outside is
//! told from a missing file inside; and it never steps *up* from a place it may not know, so that a link's text can't be
//! used to ask whether an outside folder exists.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::limits::MAX_LINKS_FOLLOWED;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Walked {
    /// Something is there, and this is its real path.
    Real(PathBuf),
    /// Nothing is there, but this is where it would be.
    Missing(PathBuf),
    /// A link steps up from an unknown place.
    Untraceable,
}

/// Follows the links of the clean absolute `path`. `known` says of which places the existence is no secret.
pub(super) fn follow(path: &Path, known: impl Fn(&Path) -> bool) -> Walked {
    let mut todo: Vec<OsString> = Vec::new();
    push_segments(&mut todo, path.as_os_str());
    let mut place = PathBuf::from("/");
    let (mut links, mut missing) = (0, false);
    // The folder of the link read last: it was there, and so are those above it.
    let mut met = PathBuf::from("/");
    while let Some(segment) = todo.pop() {
        if segment == ".." {
            if !known(&place) && !met.starts_with(&place) {
                return Walked::Untraceable;
            }
            place.pop();
            continue;
        }
        place.push(&segment);
        if missing {
            continue;
        }
        match rustix::fs::readlink(&place, Vec::new()) {
            Ok(_) if links == MAX_LINKS_FOLLOWED => return Walked::Missing(place),
            Ok(target) => {
                links += 1;
                let target = OsString::from_vec(target.into_bytes());
                place.pop();
                met.clone_from(&place);
                if target.as_bytes().first() == Some(&b'/') {
                    place = PathBuf::from("/");
                }
                push_segments(&mut todo, &target);
            }
            Err(Errno::INVAL) => {}
            Err(_) => missing = true,
        }
    }
    if missing { Walked::Missing(place) } else { Walked::Real(place) }
}

fn push_segments(todo: &mut Vec<OsString>, text: &OsStr) {
    let segments = text.as_bytes().split(|byte| *byte == b'/').rev();
    todo.extend(segments.filter(|s| !matches!(*s, b"" | b".")).map(|s| OsStr::from_bytes(s).to_owned()));
}
