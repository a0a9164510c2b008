//! The lines of an audit log, in their order, across its files.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::chain_file::{CURRENT_FILE, MAX_LINE_BYTES};

/// The files of a log.
#[derive(Debug, Default)]
pub struct AuditFiles {
    /// Those that are closed, by the numbers of their first lines.
    closed: Vec<PathBuf>,
    /// The one that is written. It is open, so that it is the same file though it gets another name meanwhile.
    current: Option<(PathBuf, File)>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// Its file.
    pub file: PathBuf,
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its bytes without the end of the line.
    pub bytes: Vec<u8>,
    /// Whether its end is there. The last line of a file has none while it is written, or if its process was killed.
    pub is_whole: bool,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePlace {
    inode: u64,
    /// Bytes before it.
    offset: u64,
}

impl FilePlace {
    /// Whether both are in the same file.
    pub fn is_in_file_of(&self, other: Self) -> bool {
        self.inode == other.inode
    }
}

/// Why lines can't be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The file can't be read.
    #[error("cannot read {}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system answered.
        error: io::Error,
    },
    /// A line is longer than any that codeyard writes.
    #[error("{}, line {number}: longer than codeyard's lines are", file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
        /// The number of the line in the file.
        number: usize,
    },
}

impl AuditFiles {
    /// The log in a folder; without files if there is no folder.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let mut files = Self::listed(folder)?;
        loop {
            let again = Self::listed(folder)?;
            // A file that was closed between the list and its opening would be missing.
            if again.closed == files.closed {
                return Ok(again);
            }
            files = again;
        }
    }

    fn listed(folder: &Path) -> io::Result<Self> {
        let mut files = Self::default();
        let path = folder.join(CURRENT_FILE);
        files.current = match File::open(&path) {
            Ok(file) => Some((path, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            match name.to_str() {
                Some(name) if is_closed(name) => files.closed.push(entry.path()),
                _ => {}
            }
        }
        // The numbers have one length.
        files.closed.sort();
        Ok(files)
    }

    /// The files at these paths, in this order.
    pub fn at(paths: Vec<PathBuf>) -> Self {
        Self { closed: paths, current: None }
    }

    /// Those that are closed, the oldest first.
    pub(crate) fn closed(&self) -> &[PathBuf] {
        &self.closed
    }

    pub(crate) fn newest_closed(self) -> Option<PathBuf> {
        self.closed.into_iter().next_back()
    }

    /// Those that may have the line of this number or later ones.
    #[must_use]
    pub fn from_line(mut self, seq: u64) -> Self {
        let begins_after = |path: &PathBuf| first_seq(path).is_some_and(|first| first > seq);
        let later = self.closed.iter().position(begins_after).unwrap_or(self.closed.len());
        self.closed.drain(..later.saturating_sub(1));
        self
    }

    /// The whole lines of the file that is written, from this place on, and the place after the last of them. A file of another inode than `known`
    /// is read from its beginning. `None`: there is none.
    ///
    /// # Errors
    /// It can't be read.
    pub fn current_from(&self, known: Option<FilePlace>) -> Option<Result<(Vec<AuditLine>, FilePlace), LineError>> {
        let (path, file) = self.current.as_ref()?;
        let failed = |error| LineError::Io { file: path.clone(), error };
        let read = || {
            let inode = file.metadata().map_err(failed)?.ino();
            let mut place = known.filter(|known| known.inode == inode).unwrap_or(FilePlace { inode, offset: 0 });
            let mut file = file.try_clone().map_err(failed)?;
            file.seek(SeekFrom::Start(place.offset)).map_err(failed)?;
            let mut lines = Vec::new();
            for line in Lines::of(path, Ok(file)) {
                let line = line?;
                if line.is_whole {
                    place.offset += line.bytes.len() as u64 + 1;
                    lines.push(line);
                }
            }
            Ok((lines, place))
        };
        Some(read())
    }

    /// The newest file alone, and the others.
    #[must_use]
    pub fn split_newest(mut self) -> Option<(Self, Self)> {
        match self.current.take() {
            Some(current) => Some((Self { closed: Vec::new(), current: Some(current) }, self)),
            None => self.closed.pop().map(|newest| (Self { closed: vec![newest], current: None }, self)),
        }
    }

    /// All files, the oldest first.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = &PathBuf> {
        self.closed.iter().chain(self.current.as_ref().map(|(path, _)| path))
    }

    /// All lines, the oldest first.
    pub fn lines(&self) -> impl Iterator<Item = Result<AuditLine, LineError>> + '_ {
        let closed = self.closed.iter().map(|path| Lines::of(path, File::open(path)));
        let current = self.current.iter().map(|(path, file)| Lines::of(path, from_start(file)));
        closed.chain(current).flatten()
    }
}

fn is_closed(name: &str) -> bool {
    let number = name.strip_prefix("audit-").and_then(|rest| rest.strip_suffix(".jsonl"));
    number.is_some_and(|digits| digits.len() >= 12 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number of the first line of a closed file, which its name has.
fn first_seq(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("audit-")?.strip_suffix(".jsonl")?.parse().ok()
}

fn from_start(file: &File) -> io::Result<File> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// The lines of one file.
enum Lines {
    Reading { file: PathBuf, reader: BufReader<File>, number: usize },
    Failed(Option<LineError>),
}

impl Lines {
    fn of(path: &Path, opened: io::Result<File>) -> Self {
        let file = path.to_path_buf();
        match opened {
            Ok(opened) => Self::Reading { file, reader: BufReader::new(opened), number: 0 },
            Err(error) => Self::Failed(Some(LineError::Io { file, error })),
        }
    }
}

impl Iterator for Lines {
    type Item = Result<AuditLine, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (file, reader, number) = match self {
            Self::Failed(error) => return error.take().map(Err),
            Self::Reading { file, reader, number } => (file, reader, number),
        };
        *number += 1;
        let mut bytes = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = io::Read::take(&mut *reader, limit).read_until(b'\n', &mut bytes);
        let failed = match read {
            Ok(0) => return None,
            Ok(_) if bytes.last() == Some(&b'\n') => {
                bytes.pop();
                return Some(Ok(AuditLine { file: file.clone(), number: *number, bytes, is_whole: true }));
            }
            Ok(read) if read as u64 == limit => LineError::TooLong { file: file.clone(), number: *number },
            Ok(_) => return Some(Ok(AuditLine { file: file.clone(), number: *number, bytes, is_whole: false })),
            Err(error) => LineError::Io { file: file.clone(), error },
        };
        *self = Self::Failed(None);
        Some(Err(failed))
    }
}
