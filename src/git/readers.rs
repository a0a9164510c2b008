//! The reader processes of one repository: started when needed, reused while they are idle, and given up when they end too often.
//!
//! Invariants: a request waits for a bounded time; a reader whose answer was late or broken is never used again; a repository whose
//! readers end again and again isn't read for [`READER_PAUSE_MS`].

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use parking_lot::Mutex;

use crate::limits::READER_IDLE_MS;
use crate::protocol::{self, Reply, Request};
use crate::reader_process::ROLE;
use codeyard_base::clock::Instant;
use codeyard_process::confined::ConfinedProcess;

/// Longest wait for an answer about one object or reference, in milliseconds.
const READER_ANSWER_MS: u64 = 10_000;
/// Idle reader processes kept for one repository.
const MAX_IDLE_READERS: usize = 2;
/// Reader processes of one repository that may end unexpectedly one after the other. Then the repository isn't read for a while.
const MAX_READER_FAILURES: u32 = 4;
/// How long a repository isn't read after that, in milliseconds.
const READER_PAUSE_MS: u64 = 60_000;

/// Why a repository's objects can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// There is no such branch, tag, commit or object.
    #[error("it does not exist")]
    Missing,
    /// It has more files, folders or bytes than are read.
    #[error("it has more files or larger objects than codeyard reads")]
    TooLarge,
    /// The repository keeps objects or references in a directory outside of the root that isn't allowed.
    #[error(
        "the repository keeps objects or references in a folder outside of the root; allow that folder with [index] git_dirs"
    )]
    Outside,
    /// A name leads to an object that isn't there.
    #[error(
        "objects of it are missing, as in a partial clone; fetch them with `git archive REF > /dev/null`, or check the repository with `git fsck`"
    )]
    Incomplete,
    /// References are in a format that isn't read.
    #[error(
        "the repository keeps references in the format reftable, which codeyard doesn't read; convert them with `git refs migrate --ref-format=files`"
    )]
    Reftable,
    /// Objects are in a format that isn't read.
    #[error(
        "the repository has the object format SHA-256, which codeyard doesn't read; leave `ref` out to use the working tree"
    )]
    Sha256,
    #[error("the repository could not be read ({0}); check it with `git fsck`")]
    Unreadable(String),
    /// The process that reads it ended, took too long or needed too much memory. It says nothing about the repository.
    #[error("{0}; try again, and check the repository with `git fsck` if it happens again")]
    ReaderEnded(&'static str),
}

#[derive(Debug)]
pub(crate) struct Readers {
    args: Vec<OsString>,
    idle: Mutex<Vec<Reader>>,
    failures: Mutex<Failures>,
}

#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
    last: Option<Instant>,
}

#[derive(Debug)]
struct Reader {
    process: ConfinedProcess,
    used_at: Instant,
}

impl Readers {
    /// Readers that may read these directories: the git directory of the working tree, the shared one, and others.
    pub(crate) fn new(dirs: Vec<PathBuf>) -> Self {
        let args = dirs.into_iter().map(PathBuf::into_os_string).collect();
        Self { args, idle: Mutex::default(), failures: Mutex::default() }
    }

    /// Sends a request, and reads the answer, of at most `max_bytes`, into `into`.
    pub(crate) fn ask(
        &self,
        request: Request,
        body: &[u8],
        max_bytes: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), GitError> {
        self.check_failures()?;
        // An idle reader may have ended by itself; a new one hasn't.
        while let Some(mut reader) = self.take_idle() {
            if let Ok(reply) = reader.exchange(request, body, max_bytes, into) {
                return self.conclude(reader, reply, into);
            }
        }
        let started =
            ConfinedProcess::start(ROLE, &self.args).map(|process| Reader { process, used_at: Instant::now() });
        let asked = started.and_then(|mut reader| {
            let reply = reader.exchange(request, body, max_bytes, into)?;
            Ok((reader, reply))
        });
        match asked {
            Ok((reader, reply)) => self.conclude(reader, reply, into),
            Err(error) => {
                into.clear();
                let mut failures = self.failures.lock();
                failures.in_a_row += 1;
                failures.last = Some(Instant::now());
                tracing::warn!(%error, failures = failures.in_a_row, "a reader of a git repository ended");
                Err(GitError::ReaderEnded("the process that reads the repository ended or took too long"))
            }
        }
    }

    fn check_failures(&self) -> Result<(), GitError> {
        let mut failures = self.failures.lock();
        let pause = Duration::from_millis(READER_PAUSE_MS);
        if failures.in_a_row < MAX_READER_FAILURES {
            return Ok(());
        }
        if failures.last.is_some_and(|last| last.elapsed() < pause) {
            return Err(GitError::ReaderEnded("the processes that read the repository ended several times"));
        }
        failures.in_a_row = 0;
        Ok(())
    }

    fn take_idle(&self) -> Option<Reader> {
        let mut idle = self.idle.lock();
        // Shortly before its time is over, a reader may end while it gets a request.
        let fresh = Duration::from_millis(READER_IDLE_MS / 2);
        idle.retain(|reader| reader.used_at.elapsed() < fresh);
        idle.pop()
    }

    fn conclude(&self, mut reader: Reader, reply: Reply, bytes: &[u8]) -> Result<(), GitError> {
        self.failures.lock().in_a_row = 0;
        reader.used_at = Instant::now();
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE_READERS {
            idle.push(reader);
        }
        match reply {
            Reply::Done => Ok(()),
            Reply::Missing => Err(GitError::Missing),
            Reply::Incomplete => Err(GitError::Incomplete),
            Reply::TooLarge => Err(GitError::TooLarge),
            Reply::Failed => Err(GitError::Unreadable(String::from_utf8_lossy(bytes).into_owned())),
        }
    }
}

impl Reader {
    fn exchange(&mut self, request: Request, body: &[u8], max_bytes: u64, into: &mut Vec<u8>) -> io::Result<Reply> {
        // A list of files takes as long as the reader's own limit allows.
        let patience = if request == Request::Files { crate::limits::READER_REQUEST_MS } else { READER_ANSWER_MS };
        let stream = &mut self.process.stream;
        stream.set_read_timeout(Some(Duration::from_millis(patience)))?;
        stream.set_write_timeout(Some(Duration::from_millis(READER_ANSWER_MS)))?;
        protocol::write(stream, request.byte(), body)?;
        let kind = protocol::read(stream, max_bytes, into)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Reply::of(kind).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}
