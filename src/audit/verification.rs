//! Whether a log is as it was written.
//!
//! Invariant: a line that was changed, left out, added or moved is found, unless all lines after it were written again. Against that an
//! anchor helps: the number and hash of a line, kept elsewhere.

use std::path::PathBuf;

use crate::chain_file::{ChainPoint, Link};
use crate::reading::{AuditFiles, LineError};

/// A line's number and hash, from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The line's number.
    pub seq: u64,
    /// The hexadecimal SHA-256 of the line.
    pub hash: String,
}

/// What was found in a log that is intact.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The number of the first line. It is over 1 where older files were removed.
    pub first: u64,
    /// The last line.
    pub last: ChainPoint,
    /// The number of files.
    pub files: usize,
    /// Bytes at the end that are no whole line: a process was killed while it wrote, or writes now.
    pub unfinished: usize,
}

/// Why a log isn't intact.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Its lines can't be read.
    #[error(transparent)]
    Unreadable(#[from] LineError),
    /// A line isn't one of codeyard's.
    #[error("{}, line {number}: no line of an audit log", file.display())]
    NoLine {
        /// The file.
        file: PathBuf,
        /// The number of the line in the file.
        number: usize,
    },
    /// A line doesn't follow the one before.
    #[error("{}, line {number}: {problem}", file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// The number of the line in the file.
        number: usize,
        /// What is wrong.
        problem: String,
    },
    /// The line of the anchor isn't the one that it names.
    #[error("line {} has the hash {found}, not {}", anchor.seq, anchor.hash)]
    OtherLine {
        /// What was expected.
        anchor: Anchor,
        /// The hash of the line that is there.
        found: String,
    },
    /// There is no line with the number of the anchor.
    #[error("there is no line {}; the log has {first} to {last}", anchor.seq)]
    NoAnchor {
        /// What was expected.
        anchor: Anchor,
        /// The first line's number.
        first: u64,
        /// The last line's number.
        last: u64,
    },
}

/// Reads all lines of a log and checks that each follows the one before. The line of the anchor, if there is one, must be as it says.
///
/// # Errors
/// The first line that isn't as it was written.
pub fn verify(files: &AuditFiles, anchor: Option<&Anchor>) -> Result<Verification, VerifyError> {
    let mut found = Verification { files: files.paths().count(), ..Verification::default() };
    let mut is_anchored = anchor.is_none();
    let mut last: Option<ChainPoint> = None;
    let mut unfinished: Option<(PathBuf, usize)> = None;
    for line in files.lines() {
        let line = line?;
        if let Some((file, number)) = unfinished.take() {
            return Err(VerifyError::NoLine { file, number });
        }
        if !line.is_whole {
            found.unfinished = line.bytes.len();
            unfinished = Some((line.file, line.number));
            continue;
        }
        let link: Option<Link> = serde_json::from_slice(&line.bytes).ok();
        let link = link.ok_or_else(|| VerifyError::NoLine { file: line.file.clone(), number: line.number })?;
        if let Some(problem) = problem(&link, last.as_ref()) {
            return Err(VerifyError::Broken { file: line.file, number: line.number, problem });
        }
        let point = ChainPoint::of_line(link.seq, &line.bytes);
        if last.is_none() {
            found.first = point.seq;
        }
        if let Some(anchor) = anchor.filter(|anchor| anchor.seq == point.seq) {
            is_anchored = true;
            if !anchor.hash.eq_ignore_ascii_case(&point.hash_text()) {
                return Err(VerifyError::OtherLine { anchor: anchor.clone(), found: point.hash_text() });
            }
        }
        last = Some(point);
    }
    found.last = last.unwrap_or_default();
    match anchor {
        Some(anchor) if !is_anchored => {
            Err(VerifyError::NoAnchor { anchor: anchor.clone(), first: found.first, last: found.last.seq })
        }
        _ => Ok(found),
    }
}

/// What is wrong with a line that comes after `last`.
fn problem(link: &Link, last: Option<&ChainPoint>) -> Option<String> {
    let Some(last) = last else {
        let is_genesis = link.previous == ChainPoint::default().hash_text();
        return (is_genesis != (link.seq == 1)).then(|| "its number and `previous` don't fit together".to_owned());
    };
    let expected = last.seq.saturating_add(1);
    if link.seq > expected {
        return Some(format!("the lines {expected} to {} before it are missing", link.seq - 1));
    }
    if link.seq < expected {
        return Some(format!("it has the number {} instead of {expected}", link.seq));
    }
    let is_linked = link.previous == last.hash_text();
    (!is_linked).then(|| format!("line {} before it was changed, or this one was", last.seq))
}
