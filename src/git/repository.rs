//! The git repository around a root: its head, its references, and the files of its commits.
//!
//! The `git` program is never run, and so are no programs that the repository's configuration names. For a root below the top of a
//! repository, only files below the root are returned. Invariants: nothing is written; only git directories that count are read
//! ([`GitLayout`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_files::git_layout::{GitLayout, NoRepository, ObjectFormat, top_of};

use crate::head::{self, RepositoryHead};
use crate::limits::{MAX_REQUEST_BYTES, MAX_TREE_PATH_BYTES};
use crate::protocol::Request;
use crate::readers::{GitError, Readers};

/// A repository, as seen from a root in it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GitRepository {
    layout: Arc<GitLayout>,
    /// The inode of `.git` or of the bare repository, which identifies it if another one replaces it at the same path.
    inode: u64,
    readers: Arc<Readers>,
    /// The root's path relative to the top, followed by `/`; empty at the top.
    prefix: String,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// The path relative to the root.
    pub path: String,
    /// The object id of its blob.
    pub oid: [u8; 20],
}

impl GitRepository {
    /// The repository that contains `root`, a real path. `allowed`: directories outside of the root in which git directories may lie.
    ///
    /// # Errors
    /// There is none, or it doesn't count.
    pub fn containing(root: &Path, allowed: &[PathBuf]) -> Result<Self, NoRepository> {
        let allowed: Vec<PathBuf> = allowed.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
        let layout = GitLayout::of_root(root, &allowed)?;
        let inode = inode(&layout.top, layout.is_bare).ok_or(NoRepository::Missing)?;
        let below = root.strip_prefix(&layout.top).ok().and_then(Path::to_str).ok_or(NoRepository::Invalid)?;
        let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
        let mut dirs = vec![layout.git_dir.clone(), layout.common_dir.clone(), root.to_owned()];
        dirs.extend(allowed.into_iter().filter(|dir| dir.is_dir()));
        Ok(Self { layout: Arc::new(layout), inode, readers: Arc::new(Readers::new(dirs)), prefix })
    }

    /// Whether the repository that contains `root` is still this one.
    pub fn is_still_at(&self, root: &Path) -> bool {
        let is_bare = self.layout.is_bare;
        let top = if is_bare { Some(root).filter(|root| top_of(root).is_none()) } else { top_of(root) };
        top.and_then(|top| inode(top, is_bare)) == Some(self.inode)
    }

    /// Whether the root is a bare repository, which has no working tree.
    pub fn is_bare(&self) -> bool {
        self.layout.is_bare
    }

    /// The git folder that all working trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.layout.common_dir
    }

    /// The root's path relative to the top of the working tree, followed by `/`; empty at the top.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The branch and commit that are checked out.
    pub fn head(&self) -> RepositoryHead {
        head::read(&self.layout)
    }

    /// Resolves a branch, a tag, an abbreviated commit or an expression such as `main~3` to a commit in hexadecimal digits. A branch
    /// takes precedence over a tag of the same name. While `git replace` replaces objects, a mark of these follows, because the commit has
    /// other files with others.
    ///
    /// # Errors
    /// There is no such commit, or the repository can't be read.
    pub fn resolve(&self, reference: &str) -> Result<String, GitError> {
        if reference.is_empty() || reference.starts_with('-') || reference.len() > MAX_REQUEST_BYTES {
            return Err(GitError::Missing);
        }
        let mut commit = Vec::new();
        self.ask(Request::Resolve, reference.as_bytes(), MAX_ANSWER_BYTES, &mut commit)?;
        String::from_utf8(commit).map_err(|_| GitError::Missing)
    }

    /// The regular files of a commit, sorted by path. Symbolic links and submodules are excluded, as in working trees.
    ///
    /// # Errors
    /// The commit can't be read.
    pub fn files(&self, commit: &str) -> Result<Vec<TreeFile>, GitError> {
        let mut listing = Vec::new();
        let body = format!("{commit}\n{}", self.prefix);
        // A path may be over the limit by one entry, with its length and id.
        self.ask(Request::Files, body.as_bytes(), 2 * MAX_TREE_PATH_BYTES as u64, &mut listing)?;
        parse_listing(&listing).ok_or_else(|| GitError::Unreadable("the list of files is cut".to_owned()))
    }

    /// A reader of blobs.
    pub fn reader(&self) -> BlobReader {
        BlobReader(self.clone())
    }

    fn ask(&self, request: Request, body: &[u8], max_bytes: u64, into: &mut Vec<u8>) -> Result<(), GitError> {
        if self.layout.borrows_outside {
            return Err(GitError::Outside);
        }
        if self.layout.object_format == ObjectFormat::Sha256 {
            return Err(GitError::Sha256);
        }
        if self.layout.has_reftable {
            return Err(GitError::Reftable);
        }
        self.readers.ask(request, body, max_bytes, into)
    }
}

/// Largest answer other than a blob or a list of files: an id, a size, or the text of an error.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

fn parse_listing(mut rest: &[u8]) -> Option<Vec<TreeFile>> {
    let mut files = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (path, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let (oid, after) = after.split_first_chunk::<20>()?;
        files.push(TreeFile { path: std::str::from_utf8(path).ok()?.to_owned(), oid: *oid });
        rest = after;
    }
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Some(files)
}

/// The inode of the entry `.git` in the top directory, or of a bare repository.
fn inode(top: &Path, is_bare: bool) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let path = if is_bare { top.to_owned() } else { top.join(".git") };
    path.symlink_metadata().ok().map(|found| found.ino())
}

/// The result of reading a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobRead {
    Done,
    /// It is larger than the caller allows: its size in bytes.
    TooLarge(u64),
    /// It doesn't exist or is damaged. Both may change: git fetches and repairs objects.
    Failed,
    /// The reader process ended or took too long ([`GitError::ReaderEnded`]). The blob may be intact.
    ReaderEnded(&'static str),
}

/// Reads blobs. Made by [`GitRepository::reader`].
#[derive(Debug)]
pub struct BlobReader(GitRepository);

impl BlobReader {
    /// Replaces `into` with the blob's bytes, if there are at most `max_bytes`.
    pub fn read(&self, oid: &[u8; 20], max_bytes: u64, into: &mut Vec<u8>) -> BlobRead {
        let body = [oid.as_slice(), &max_bytes.to_be_bytes()].concat();
        match self.0.ask(Request::Blob, &body, max_bytes.saturating_add(MAX_ANSWER_BYTES), into) {
            Ok(()) => BlobRead::Done,
            Err(error) => {
                let size = into.as_slice().try_into().map_or(max_bytes.saturating_add(1), u64::from_be_bytes);
                into.clear();
                match error {
                    GitError::TooLarge => BlobRead::TooLarge(size),
                    GitError::ReaderEnded(how) => BlobRead::ReaderEnded(how),
                    GitError::Missing
                    | GitError::Incomplete
                    | GitError::Outside
                    | GitError::Reftable
                    | GitError::Sha256
                    | GitError::Unreadable(_) => BlobRead::Failed,
                }
            }
        }
    }
}
