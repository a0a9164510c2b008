//! What git says of a root: what is checked out, what a branch, a tag or a commit is, and what it holds.
//!
//! Read with a library, in this process: git itself is never run, so nothing that a repository's configuration names is either.
//! Of a root below the top of a repository only what lies below the root is told. Invariant: nothing is written.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::object::tree::EntryKind;

/// A repository, as seen from a root in it. Cheap to clone.
#[derive(Clone)]
pub struct Git {
    /// What tells the repository from another one at the same place.
    inode: u64,
    repository: gix::ThreadSafeRepository,
    /// The root relative to the top, with `/` behind it; empty at the top.
    prefix: String,
}

/// What is checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The branch's name without `refs/heads/`; `None` where no branch is checked out.
    pub branch: Option<String>,
    /// Its commit in hexadecimal digits; `None` before the first one.
    pub commit: Option<String>,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Relative to the root.
    pub path: String,
    /// The name of its bytes.
    pub oid: [u8; 20],
}

impl Git {
    /// The repository that `root` lies in, if it lies in one that can be opened.
    pub fn of(root: &Path) -> Option<Self> {
        let top = top_of(root)?;
        let options = gix::open::Options::isolated();
        let repository = gix::ThreadSafeRepository::open_opts(top, options).ok()?;
        let below = root.strip_prefix(top).ok()?;
        let prefix = below.to_str().map(|below| if below.is_empty() { String::new() } else { format!("{below}/") })?;
        Some(Self { inode: inode(top)?, repository, prefix })
    }

    /// Whether the repository that `root` lies in is still this one.
    pub fn is_of(&self, root: &Path) -> bool {
        top_of(root).and_then(inode) == Some(self.inode)
    }

    /// The folder that all working trees of the repository share.
    pub fn common_dir(&self) -> PathBuf {
        let repository = self.repository.to_thread_local();
        let dir = repository.common_dir();
        dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
    }

    /// What is checked out.
    pub fn head(&self) -> Head {
        let repository = self.repository.to_thread_local();
        let branch = repository.head_name().ok().flatten().map(|name| name.shorten().to_str_lossy().into_owned());
        Head { branch, commit: repository.head_id().ok().map(|id| id.to_string()) }
    }

    /// The commit that a branch, a tag or a commit's digits mean. A branch is meant before a tag of the same name. Expressions
    /// such as `main~3` are taken too.
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

    /// The regular files of a commit, ordered by path. Links and submodules are left out, as on disk.
    pub fn files(&self, commit: &str) -> Option<Vec<Blob>> {
        let repository = self.repository.to_thread_local();
        let id = ObjectId::from_hex(commit.as_bytes()).ok()?;
        let tree = repository.find_object(id).ok()?.peel_to_commit().ok()?.tree().ok()?;
        let mut blobs = Vec::new();
        for entry in tree.traverse().breadthfirst.files().ok()? {
            let is_file = matches!(entry.mode.kind(), EntryKind::Blob | EntryKind::BlobExecutable);
            let path = entry.filepath.to_str().ok().and_then(|path| path.strip_prefix(&self.prefix));
            if let (true, Some(path), Ok(oid)) = (is_file, path, <[u8; 20]>::try_from(entry.oid.as_slice())) {
                blobs.push(Blob { path: path.to_owned(), oid });
            }
        }
        blobs.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Some(blobs)
    }

    /// Who reads blobs, for one thread.
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

/// Bytes of objects that a reader keeps.
const OBJECT_CACHE: usize = 8 * 1024 * 1024;

/// See [`Git::reader`].
pub struct BlobReader(gix::Repository);

impl BlobReader {
    /// The length of a blob, without its bytes.
    pub fn size(&self, oid: &[u8; 20]) -> Option<u64> {
        self.0.find_header(ObjectId::from_bytes_or_panic(oid)).ok().map(|header| header.size())
    }

    /// Its bytes.
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
