//! The file that lines are appended to, by several processes.
//!
//! `audit.jsonl` is written; a full one becomes `audit-SEQ.jsonl`, with the number of its first line. Each line has the SHA-256 of the one
//! before it, across files. Invariants: a line is appended under the lock of the folder, which no removed file undoes; what a killed process
//! has begun to write is cut off before the next line; a line that this process has written is never followed by one that doesn't name it,
//! whatever became of the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use crate::event::AuditEvent;
use crate::reading::AuditFiles;
use codeyard_base::clock::Instant;
use codeyard_base::digest::{hex, sha256};

/// The file that is written.
pub(crate) const CURRENT_FILE: &str = "audit.jsonl";
/// The longest line, in bytes. The texts of an event are bounded where they come from.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;
/// How long a line waits for another process that writes one, in milliseconds.
const LOCK_WAIT_MS: u64 = 100;
/// How long no line waits after one has waited in vain, in milliseconds: a process that is stopped doesn't slow down all calls.
const LOCK_PAUSE_MS: u64 = 1_000;
/// How long a full file is written further after it couldn't be closed, in milliseconds.
const CLOSE_PAUSE_MS: u64 = 10_000;
/// How often it looks, in milliseconds.
const LOCK_POLL_MS: u64 = 1;

/// A line's place in the chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainPoint {
    /// Its number. The first line has 1; 0 is the place before it.
    pub seq: u64,
    /// The SHA-256 of its bytes without the end of the line; zeros before the first line.
    pub hash: [u8; 32],
}

/// Why a line wasn't written.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The folder or the file can't be used.
    #[error("cannot write the audit log {}: {error}; free space, or give codeyard's user the right to write there", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        error: io::Error,
    },
    /// The file for commands can't be read.
    #[error("cannot read {}: {problem}; remove it and start the service again", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Its last line isn't one of codeyard's.
    #[error("the last line of the audit log {} is damaged; `codeyard audit verify` says where; move the file away to begin a new one", .0.display())]
    Damaged(PathBuf),
    /// Another process holds the lock for too long.
    #[error("another process holds the lock of the audit log {}; look for a codeyard command that is stopped", .0.display())]
    Locked(PathBuf),
}

/// The members of a line that link it to the one before.
#[derive(Deserialize)]
pub(crate) struct Link {
    pub(crate) seq: u64,
    pub(crate) previous: String,
}

/// An audit log that lines are appended to.
#[derive(Debug)]
pub(crate) struct ChainFile {
    folder: PathBuf,
    path: PathBuf,
    lock: File,
    /// Another process held the lock for too long. Until then it isn't waited for.
    locked_until: Option<Instant>,
    open: Option<OpenFile>,
    /// The last line that this process knows of.
    last: ChainPoint,
    max_file_bytes: u64,
    /// A full file couldn't be closed. Until then it isn't tried again.
    close_from: Option<Instant>,
    keep: Option<Duration>,
}

#[derive(Debug)]
struct OpenFile {
    file: Arc<File>,
    inode: u64,
    len: u64,
    is_synced: bool,
}

impl ChainPoint {
    /// The place of a line with this number and these bytes.
    pub(crate) fn of_line(seq: u64, line: &[u8]) -> Self {
        Self { seq, hash: sha256(line) }
    }

    /// The hash as hexadecimal text.
    pub fn hash_text(&self) -> String {
        hex(&self.hash)
    }
}

impl ChainFile {
    /// The log in `folder`, which is created if it isn't there. A file of `max_file_bytes` is closed; closed files that nobody has written for
    /// `keep` are removed.
    ///
    /// # Errors
    /// The folder or its lock can't be made.
    pub(crate) fn open(folder: &Path, max_file_bytes: u64, keep: Option<Duration>) -> Result<Self, AuditError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |error| AuditError::Io { path, error }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        let lock = File::open(folder).map_err(failed(folder))?;
        let path = folder.join(CURRENT_FILE);
        let last = ChainPoint::default();
        let folder = folder.to_path_buf();
        Ok(Self { folder, path, lock, locked_until: None, open: None, last, max_file_bytes, close_from: None, keep })
    }

    /// Appends a line, and returns its place and its text.
    ///
    /// # Errors
    /// It isn't in the file.
    pub(crate) fn append(&mut self, event: &AuditEvent<'_>) -> Result<(ChainPoint, String), AuditError> {
        self.take_lock()?;
        let done = self.append_locked(event);
        // Closing the descriptor releases it, if this fails.
        let _ = self.lock.unlock();
        done
    }

    /// The file with lines that a crash of the machine would lose. It counts as synced from now on.
    pub(crate) fn take_unsynced(&mut self) -> Option<Arc<File>> {
        let open = self.open.as_mut().filter(|open| !open.is_synced)?;
        open.is_synced = true;
        Some(open.file.clone())
    }

    /// The file couldn't be synced.
    pub(crate) fn sync_failed(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_synced = false;
        }
    }

    fn take_lock(&mut self) -> Result<(), AuditError> {
        let began = Instant::now();
        let wait = match self.locked_until {
            Some(until) if began < until => Duration::ZERO,
            _ => Duration::from_millis(LOCK_WAIT_MS),
        };
        loop {
            match self.lock.try_lock() {
                Ok(()) => {
                    self.locked_until = None;
                    return Ok(());
                }
                Err(fs::TryLockError::WouldBlock) if began.elapsed() < wait => {}
                Err(fs::TryLockError::WouldBlock) => {
                    if !wait.is_zero() {
                        self.locked_until = Some(Instant::now() + Duration::from_millis(LOCK_PAUSE_MS));
                    }
                    return Err(AuditError::Locked(self.path.clone()));
                }
                Err(fs::TryLockError::Error(error)) => return Err(self.failed(error)),
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "another process holds the lock for the time of one line; bounded"
            )]
            std::thread::sleep(Duration::from_millis(LOCK_POLL_MS));
        }
    }

    fn append_locked(&mut self, event: &AuditEvent<'_>) -> Result<(ChainPoint, String), AuditError> {
        self.follow()?;
        let last = self.last;
        let line = event.line(&last).filter(|line| line.len() <= MAX_LINE_BYTES);
        let line = line.ok_or_else(|| self.failed(io::Error::other("the line is too long")))?;
        let path = &self.path;
        let Some(open) = &mut self.open else { return Err(AuditError::Damaged(path.clone())) };
        let mut bytes = line.clone().into_bytes();
        bytes.push(b'\n');
        if let Err(error) = (&*open.file).write_all(&bytes) {
            // What is there of it would be cut off before the next line anyway.
            let _ = open.file.set_len(open.len);
            return Err(self.failed(error));
        }
        open.len += bytes.len() as u64;
        open.is_synced = false;
        self.last = ChainPoint::of_line(last.seq.saturating_add(1), line.as_bytes());
        if open.len >= self.max_file_bytes && self.close_from.is_none_or(|from| Instant::now() >= from) {
            self.close_full();
        }
        Ok((self.last, line))
    }

    /// Makes `open` and `last` what they are on disk now.
    fn follow(&mut self) -> Result<(), AuditError> {
        let now = match fs::metadata(&self.path) {
            Ok(now) => Some((now.ino(), now.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(self.failed(error)),
        };
        let known = self.open.as_ref().map(|open| (open.inode, open.len));
        if now.is_some() && now == known {
            return Ok(());
        }
        self.follow_folder()?;
        let is_new = now.is_none();
        let options = || OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path);
        let file = options().map_err(|error| self.failed(error))?;
        let tail = Tail::of(&file).map_err(|error| self.failed(error))?;
        if tail.has_rest {
            // A killed process has begun this line, and nobody was answered for it.
            file.set_len(tail.whole_bytes).map_err(|error| self.failed(error))?;
        }
        let point = match self.point_of(&tail, &self.path)? {
            Some(point) => point,
            // The file before this one ends the chain so far.
            None => self.end_of_closed()?.unwrap_or_default(),
        };
        // A file that was replaced or changed doesn't take the chain along: the next line names the one that this process has written.
        if self.continues(&point, &tail) {
            self.last = point;
        } else {
            let hash = self.last.hash_text();
            tracing::error!(
                seq = self.last.seq,
                hash,
                "the audit log was changed; `codeyard audit verify` shows where"
            );
        }
        let (inode, len) = file.metadata().map(|now| (now.ino(), now.len())).map_err(|error| self.failed(error))?;
        let is_synced = self.open.as_ref().is_none_or(|open| open.is_synced);
        self.open = Some(OpenFile { file: Arc::new(file), inode, len, is_synced });
        if is_new && let Ok(folder) = File::open(&self.folder) {
            // The name of a new file is kept by its folder. Without it a crash of the machine loses the file.
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Follows the folder, if another one is in its place.
    fn follow_folder(&mut self) -> Result<(), AuditError> {
        let inode = |file: io::Result<fs::Metadata>| file.map(|file| (file.dev(), file.ino()));
        let there = inode(fs::metadata(&self.folder)).map_err(|error| self.failed(error))?;
        if inode(self.lock.metadata()).is_ok_and(|locked| locked == there) {
            return Ok(());
        }
        self.lock = File::open(&self.folder).map_err(|error| self.failed(error))?;
        self.take_lock()
    }

    /// Whether the log that ends with `point` has the last line that this process knows of, as it was.
    fn continues(&self, point: &ChainPoint, tail: &Tail) -> bool {
        if self.last.seq == 0 || *point == self.last {
            return true;
        }
        if point.seq <= self.last.seq {
            return false;
        }
        let is_ours = |line: &[u8]| match serde_json::from_slice::<Link>(line) {
            Ok(link) if link.seq == self.last.seq => Some(ChainPoint::of_line(link.seq, line) == self.last),
            _ => None,
        };
        // Other processes write few lines, so it is near the end. It may be in a closed file, too.
        tail.lines().find_map(is_ours).unwrap_or_else(|| {
            let files = AuditFiles::in_folder(&self.folder).unwrap_or_default();
            let files = files.from_line(self.last.seq);
            let found = files.lines().filter_map(Result::ok).find_map(|line| is_ours(&line.bytes));
            found.unwrap_or(false)
        })
    }

    /// The place of the last line of `tail`, if it has one.
    fn point_of(&self, tail: &Tail, path: &Path) -> Result<Option<ChainPoint>, AuditError> {
        let Some(line) = tail.lines().next() else { return Ok(None) };
        let link: Option<Link> = serde_json::from_slice(line).ok();
        let link = link.ok_or_else(|| AuditError::Damaged(path.to_path_buf()))?;
        Ok(Some(ChainPoint::of_line(link.seq, line)))
    }

    /// The place of the last line of the closed files.
    fn end_of_closed(&self) -> Result<Option<ChainPoint>, AuditError> {
        let files = AuditFiles::in_folder(&self.folder).map_err(|error| self.failed(error))?;
        let Some(path) = files.newest_closed() else { return Ok(None) };
        let tail = File::open(&path).and_then(|file| Tail::of(&file)).map_err(|error| self.failed(error))?;
        self.point_of(&tail, &path)
    }

    /// Renames a full file. The next line begins a new one. What can't be renamed is written further.
    fn close_full(&mut self) {
        let Some(open) = &self.open else { return };
        let first = first_seq(&open.file).unwrap_or(self.last.seq);
        let closed = self.folder.join(format!("audit-{first:012}.jsonl"));
        match fs::rename(&self.path, &closed).and_then(|()| open.file.sync_all()) {
            Ok(()) => {
                (self.open, self.close_from) = (None, None);
                let hash = self.last.hash_text();
                // An anchor outside of the log: whoever rewrites the file can't rewrite this line.
                tracing::info!(file = %closed.display(), seq = self.last.seq, hash, "audit file closed");
            }
            Err(error) => {
                self.close_from = Some(Instant::now() + Duration::from_millis(CLOSE_PAUSE_MS));
                tracing::warn!(error = %error, "cannot close a full audit file; it is written further");
            }
        }
    }

    /// Removes files that were closed too long ago, and returns their paths. The newest stays: it has the end of the chain.
    pub(crate) fn remove_old(&self) -> Vec<PathBuf> {
        let Some(keep) = self.keep else { return Vec::new() };
        let Ok(files) = AuditFiles::in_folder(&self.folder) else { return Vec::new() };
        let is_old = |path: &&PathBuf| {
            let written = fs::metadata(path).and_then(|file| file.modified());
            written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > keep))
        };
        let but_newest = files.closed().split_last().map_or(&[][..], |(_, others)| others);
        // From the oldest on: what is left has no gap.
        let old = but_newest.iter().take_while(is_old);
        let mut removed = Vec::new();
        for path in old {
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(file = %path.display(), error = %error, "cannot remove an old audit file");
                break;
            }
            removed.push(path.clone());
        }
        removed
    }

    fn failed(&self, error: io::Error) -> AuditError {
        AuditError::Io { path: self.path.clone(), error }
    }
}

/// The end of a file.
struct Tail {
    /// Whole lines, the first of which may lack its beginning.
    bytes: Vec<u8>,
    /// The bytes of the file up to the end of the last of them.
    whole_bytes: u64,
    /// Whether the beginning of a line follows.
    has_rest: bool,
}

impl Tail {
    fn of(file: &File) -> io::Result<Self> {
        let mut reader = file;
        let len = reader.seek(SeekFrom::End(0))?;
        let from = len.saturating_sub(2 * MAX_LINE_BYTES as u64);
        reader.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let has_rest = whole < bytes.len();
        bytes.truncate(whole);
        Ok(Self { whole_bytes: from + whole as u64, has_rest, bytes })
    }

    /// The lines without their ends, the last one first.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let whole = self.bytes.strip_suffix(b"\n");
        whole.into_iter().flat_map(|whole| whole.rsplit(|byte| *byte == b'\n'))
    }
}

/// The number of the first line of a file.
fn first_seq(file: &File) -> Option<u64> {
    let mut reader = file;
    reader.seek(SeekFrom::Start(0)).ok()?;
    let mut head = Vec::new();
    reader.take(MAX_LINE_BYTES as u64).read_to_end(&mut head).ok()?;
    let end = head.iter().position(|byte| *byte == b'\n')?;
    serde_json::from_slice::<Link>(&head[..end]).ok().map(|link| link.seq)
}
