//! The git repository around a root: its head, its references, and the files of its commits.
//!
//! It is read in this process with a library. The `git` program is never run, and so are no programs that the repository's
//! configuration names. For a root below the top of a repository, only files below the root are returned. Invariant: nothing is written.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::object::tree::EntryKind;

/// A repository, as seen from a root in it. Cheap to clone.
#[derive(Clone)]
pub struct GitRepository {
    /// The inode of `.git`, which identifies the repository if another one replaces it at the same path.
    inode: u64,
    repository: gix::ThreadSafeRepository,
    /// The root's path relative to the top, followed by `/`; empty at the top.
    prefix: String,
}

/// The branch and commit that are checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryHead {
    /// The branch's name without `refs/heads/`; `None` if the head is detached.
    pub branch: Option<String>,
    /// The commit in hexadecimal digits; `None` before the first commit.
    pub commit: Option<String>,
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
    /// The repository that contains `root`; `None` if there is none or it can't be opened.
    pub fn containing(root: &Path) -> Option<Self> {
        let top = top_of(root)?;
        let options = gix::open::Options::isolated();
        let repository = gix::ThreadSafeRepository::open_opts(top, options).ok()?;
        let below = root.strip_prefix(top).ok()?;
        let prefix = below.to_str().map(|below| if below.is_empty() { String::new() } else { format!("{below}/") })?;
        Some(Self { inode: inode(top)?, repository, prefix })
    }

    /// Whether the repository that contains `root` is still this one.
    pub fn is_still_at(&self, root: &Path) -> bool {
        top_of(root).and_then(inode) == Some(self.inode)
    }

    /// The git folder that all working trees of the repository share.
    pub fn common_dir(&self) -> PathBuf {
        let repository = self.repository.to_thread_local();
        let dir = repository.common_dir();
        dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
    }

    /// The branch and commit that are checked out.
    pub fn head(&self) -> RepositoryHead {
        let repository = self.repository.to_thread_local();
        let branch = repository.head_name().ok().flatten().map(|name| name.shorten().to_str_lossy().into_owned());
        RepositoryHead { branch, commit: repository.head_id().ok().map(|id| id.to_string()) }
    }

    /// Resolves a branch, a tag, an abbreviated commit or an expression such as `main~3` to a commit in hexadecimal digits. A branch
    /// takes precedence over a tag of the same name.
    pub fn resolve(&self, reference: &str) -> Option<String> {
        if reference.is_empty() || reference.starts_with('-') {
            return None;
        }
        let repository = self.repository.to_thread_local();
        let full = format!("refs/heads/{reference}");
        let id = repository.rev_parse_single(full.as_str()).or_else(|_| repository.rev_parse_single(reference)).ok()?;
        let commit = id.object().ok()?.peel_to_commit().ok()?;
        Some(commit.id.to_string())
    }

    /// The regular files of a commit, sorted by path. Symbolic links and submodules are excluded, as in working trees. `None` if the
    /// commit can't be read.
    pub fn files(&self, commit: &str) -> Option<Vec<TreeFile>> {
        let repository = self.repository.to_thread_local();
        let id = ObjectId::from_hex(commit.as_bytes()).ok()?;
        let tree = repository.find_object(id).ok()?.peel_to_commit().ok()?.tree().ok()?;
        let mut files = Vec::new();
        for entry in tree.traverse().breadthfirst.files().ok()? {
            let is_file = matches!(entry.mode.kind(), EntryKind::Blob | EntryKind::BlobExecutable);
            let path = entry.filepath.to_str().ok().and_then(|path| path.strip_prefix(&self.prefix));
            if let (true, Some(path), Ok(oid)) = (is_file, path, <[u8; 20]>::try_from(entry.oid.as_slice())) {
                files.push(TreeFile { path: path.to_owned(), oid });
            }
        }
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Some(files)
    }

    /// A reader of blobs for one thread.
    pub fn reader(&self) -> BlobReader {
        let mut repository = self.repository.to_thread_local();
        repository.object_cache_size_if_unset(OBJECT_CACHE);
        BlobReader(repository)
    }
}

fn top_of(root: &Path) -> Option<&Path> {
    root.ancestors().find(|dir| dir.join(".git").exists())
}

fn inode(top: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(top.join(".git")).ok().map(|found| found.ino())
}

/// Bytes of objects that a reader caches.
const OBJECT_CACHE: usize = 8 * 1024 * 1024;

/// Reads blobs on one thread. Made by [`GitRepository::reader`].
pub struct BlobReader(gix::Repository);

impl BlobReader {
    /// The length of a blob in bytes, without reading it; `None` if it doesn't exist.
    pub fn size(&self, oid: &[u8; 20]) -> Option<u64> {
        self.0.find_header(ObjectId::from_bytes_or_panic(oid)).ok().map(|header| header.size())
    }

    /// Replaces `into` with the blob's bytes; `false` if it can't be read.
    pub fn read(&self, oid: &[u8; 20], into: &mut Vec<u8>) -> bool {
        into.clear();
        match self.0.find_object(ObjectId::from_bytes_or_panic(oid)) {
            Ok(object) => {
                into.extend_from_slice(&object.data);
                true
            }
            Err(_) => false,
        }
    }
}
