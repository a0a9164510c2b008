//! The reader process: opens one repository with a library and answers requests about its objects.
//!
//! It is a [confined process](codeyard_process::confined): the kernel lets it read only the git directories that count and the root, so no link in
//! them leads anywhere else, and bounds its memory. A file that blocks, a tree that expands without end or an object that is made to
//! exhaust the memory ends this process at most. It writes nothing and runs nothing.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::object::Kind;
use gix::object::tree::EntryKind;
use gix::objs::TreeRefIter;

use crate::limits::{MAX_COMMIT_FILES, MAX_REQUEST_BYTES, MAX_TREE_PATH_BYTES, READER_IDLE_MS, READER_REQUEST_MS};
use crate::protocol::{self, Reply, Request};
use codeyard_base::digest::sha256;
use codeyard_process::confined::{self, Confinement, RequestTimer};

/// Writable memory of one reader process, in bytes.
const READER_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Folders of one commit that are read.
const MAX_TREE_FOLDERS: usize = 200_000;
/// Folders inside one another in a commit.
const MAX_TREE_DEPTH: usize = 2_048;
/// Largest commit, tag or tree object that is read, in bytes.
const MAX_TREE_OBJECT_BYTES: u64 = 64 * 1024 * 1024;
/// Objects that are dereferenced to reach a commit: a tag may name a tag.
const MAX_TAG_DEPTH: usize = 32;
/// Bytes of objects that a reader process caches.
const OBJECT_CACHE_BYTES: usize = 8 * 1024 * 1024;

/// The hidden subcommand.
pub const ROLE: &str = "__git-reader";

/// Runs the reader if the command line names its subcommand. Must be called early in `main`, while the process has one thread.
pub fn from_command_line(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    confined::role_arguments(ROLE, args).map(|args| confined::exit_code(reader_main(args)))
}

/// The reader itself. Arguments: the git directory of the working tree, the shared one, and further directories that it may read.
fn reader_main(args: Vec<OsString>) -> io::Result<()> {
    let dirs: Vec<PathBuf> = args.into_iter().map(PathBuf::from).collect();
    let git_dir = dirs.first().ok_or(io::ErrorKind::InvalidInput)?.clone();
    let stream = confined::connection()?;
    let mut unique: Vec<PathBuf> = dirs.clone();
    unique.sort();
    unique.dedup();
    if confined::confine(&unique, READER_MEMORY_BYTES)? == Confinement::LimitsOnly {
        refuse_links(dirs.get(1).unwrap_or(&git_dir))?;
    }
    let timer = RequestTimer::start()?;
    stream.set_read_timeout(Some(Duration::from_millis(READER_IDLE_MS)))?;
    let mut from = BufReader::new(stream.try_clone()?);
    let mut to = BufWriter::new(stream);
    let mut repository = None;
    let mut bytes = Vec::new();
    while let Some(kind) = protocol::read(&mut from, MAX_REQUEST_BYTES as u64, &mut bytes)? {
        let request = Request::of(kind).ok_or(io::ErrorKind::InvalidData)?;
        let answer = timer.within(Duration::from_millis(READER_REQUEST_MS), || {
            if repository.is_none() {
                repository = Some(Repository::open(&git_dir)?);
            }
            repository.as_mut().ok_or_else(|| Refusal::failed("not open"))?.answer(request, &bytes)
        });
        match answer {
            Ok(done) => protocol::write(&mut to, Reply::Done.byte(), &done)?,
            Err(Refusal(reply, why)) => protocol::write(&mut to, reply.byte(), &why)?,
        }
    }
    Ok(())
}

/// Where the kernel can't keep links from being followed, a git directory with a link or a special file in it isn't read.
fn refuse_links(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        match () {
            () if kind.is_dir() => refuse_links(&entry.path())?,
            () if kind.is_file() => {}
            () => return Err(io::Error::other("the git directory has a link or a special file")),
        }
    }
    Ok(())
}

/// An answer other than the result.
struct Refusal(Reply, Vec<u8>);

impl Refusal {
    fn failed(why: impl std::fmt::Display) -> Self {
        Self(Reply::Failed, why.to_string().into_bytes())
    }

    fn missing() -> Self {
        Self(Reply::Missing, Vec::new())
    }

    /// What has been found needs an object that doesn't exist.
    fn incomplete(self) -> Self {
        if self.0 == Reply::Missing { Self(Reply::Incomplete, Vec::new()) } else { self }
    }

    fn too_large(size: u64) -> Self {
        Self(Reply::TooLarge, size.to_be_bytes().to_vec())
    }
}

type Answer = Result<Vec<u8>, Refusal>;

struct Repository {
    git: gix::Repository,
    git_dir: PathBuf,
    /// The objects that `git replace` replaces, and by which.
    replaced: BTreeMap<ObjectId, ObjectId>,
}

/// Before the name of a replaced object in the name of a reference.
const REPLACE_REFS: &str = "refs/replace/";
/// Between a commit and the mark of the replaced objects.
const BEFORE_REPLACED: char = '+';

impl Repository {
    fn open(git_dir: &Path) -> Result<Self, Refusal> {
        let options = gix::open::Options::isolated().open_path_as_is(true);
        let repository = gix::ThreadSafeRepository::open_opts(git_dir, options).map_err(Refusal::failed)?;
        let mut git = repository.to_thread_local();
        git.object_cache_size_if_unset(OBJECT_CACHE_BYTES);
        let replaced = replaced(&git)?;
        Ok(Self { git, git_dir: git_dir.to_owned(), replaced })
    }

    fn answer(&mut self, request: Request, bytes: &[u8]) -> Answer {
        // The library reads the replaced objects when it opens the repository.
        if request != Request::Blob && replaced(&self.git)? != self.replaced {
            *self = Self::open(&self.git_dir)?;
        }
        match request {
            Request::Resolve => self.resolve(text(bytes)?),
            Request::Files => {
                let (commit, prefix) = text(bytes)?.split_once('\n').ok_or_else(Refusal::missing)?;
                self.files(commit, prefix).map_err(Refusal::incomplete)
            }
            Request::Blob => {
                let (id, most) = bytes.split_at_checked(bytes.len().saturating_sub(8)).ok_or_else(Refusal::missing)?;
                let most = u64::from_be_bytes(most.try_into().map_err(Refusal::failed)?);
                self.object(object_id(id)?, Kind::Blob, most)
            }
        }
    }

    /// A branch takes precedence over a tag of the same name.
    fn resolve(&self, reference: &str) -> Answer {
        let full = format!("refs/heads/{reference}");
        let parsed = self.git.rev_parse_single(full.as_str()).or_else(|_| self.git.rev_parse_single(reference));
        let mut id = parsed.map_err(|_| Refusal::missing())?.detach();
        // The whole name of an object need not exist, but what another name leads to should.
        let is_name = ObjectId::from_hex(reference.as_bytes()).is_err();
        for _ in 0..MAX_TAG_DEPTH {
            match self.header(id).map_err(|refusal| if is_name { refusal.incomplete() } else { refusal })?.0 {
                Kind::Commit => return Ok(self.marked(id).into_bytes()),
                Kind::Tag => {
                    let tag = self.object(id, Kind::Tag, MAX_TREE_OBJECT_BYTES)?;
                    let tag = gix::objs::TagRef::from_bytes(&tag, id.kind()).map_err(Refusal::failed)?;
                    id = tag.target();
                }
                Kind::Blob | Kind::Tree => return Err(Refusal::missing()),
            }
        }
        Err(Refusal::missing())
    }

    /// A commit in hexadecimal digits, followed by a mark of the replaced objects if there are any.
    fn marked(&self, commit: ObjectId) -> String {
        if self.replaced.is_empty() {
            return commit.to_string();
        }
        let mut all = Vec::new();
        for (object, by) in &self.replaced {
            all.extend([object.as_bytes(), by.as_bytes()].concat());
        }
        let mark: String = sha256(&all)[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{commit}{BEFORE_REPLACED}replaced-{mark}")
    }

    /// The kind and size of an object.
    fn header(&self, id: ObjectId) -> Result<(Kind, u64), Refusal> {
        match self.git.try_find_header(id).map_err(Refusal::failed)? {
            Some(header) => Ok((header.kind(), header.size())),
            None => Err(Refusal::missing()),
        }
    }

    /// The bytes of an object of this kind, if it has at most `most`.
    fn object(&self, id: ObjectId, kind: Kind, most: u64) -> Answer {
        match self.header(id)? {
            (_, size) if size > most => Err(Refusal::too_large(size)),
            (found, _) if found != kind => Err(Refusal::missing()),
            _ => Ok(self.git.find_object(id).map_err(Refusal::failed)?.detach().data),
        }
    }

    /// The regular files below `prefix`, sorted by path: for each the length of its path, 4 bytes, the path, and the blob's id, 20 bytes.
    /// Symbolic links and submodules aren't listed, as in working trees.
    fn files(&self, commit: &str, prefix: &str) -> Answer {
        let commit = commit.split(BEFORE_REPLACED).next().unwrap_or_default();
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| Refusal::missing())?;
        let commit = self.object(id, Kind::Commit, MAX_TREE_OBJECT_BYTES)?;
        let tree = gix::objs::CommitRefIter::from_bytes(&commit, id.kind()).tree_id().map_err(Refusal::failed)?;
        let mut walk = TreeWalk { repository: self, prefix, out: Vec::new(), folders: 0, files: 0 };
        walk.tree(tree, &mut String::new(), &mut HashSet::new())?;
        Ok(walk.out)
    }
}

/// Walks the trees of a commit, depth first. The order of git's trees is the order of whole paths.
struct TreeWalk<'w> {
    repository: &'w Repository,
    prefix: &'w str,
    out: Vec<u8>,
    folders: usize,
    files: usize,
}

impl TreeWalk<'_> {
    fn tree(&mut self, id: ObjectId, path: &mut String, above: &mut HashSet<ObjectId>) -> Result<(), Refusal> {
        if above.len() >= MAX_TREE_DEPTH || !above.insert(id) {
            return Err(Refusal::too_large(above.len() as u64));
        }
        self.folders += 1;
        if self.folders > MAX_TREE_FOLDERS {
            return Err(Refusal::too_large(self.folders as u64));
        }
        let bytes = self.repository.object(id, Kind::Tree, MAX_TREE_OBJECT_BYTES)?;
        for entry in TreeRefIter::from_bytes(&bytes, id.kind()) {
            let entry = entry.map_err(Refusal::failed)?;
            if self.files > MAX_COMMIT_FILES || self.out.len() > MAX_TREE_PATH_BYTES {
                return Err(Refusal::too_large(self.files as u64));
            }
            let Ok(name) = entry.filename.to_str() else { continue };
            if matches!(name, "" | "." | "..") || name.contains('/') {
                continue;
            }
            let length = path.len();
            path.push_str(name);
            match entry.mode.kind() {
                EntryKind::Tree => {
                    path.push('/');
                    // Only folders on the way to the prefix, or below it.
                    if path.starts_with(self.prefix) || self.prefix.starts_with(path.as_str()) {
                        self.tree(entry.oid.to_owned(), path, above)?;
                    }
                }
                EntryKind::Blob | EntryKind::BlobExecutable => {
                    if let Some(below) = path.strip_prefix(self.prefix) {
                        self.files += 1;
                        self.out.extend(u32::try_from(below.len()).unwrap_or(u32::MAX).to_be_bytes());
                        self.out.extend(below.as_bytes());
                        // The name of the bytes that are read, so that it always means the same ones.
                        let id = entry.oid.to_owned();
                        self.out.extend(self.repository.replaced.get(&id).unwrap_or(&id).as_bytes());
                    }
                }
                EntryKind::Link | EntryKind::Commit => {}
            }
            path.truncate(length);
        }
        above.remove(&id);
        Ok(())
    }
}

/// The objects that are replaced, and by which.
fn replaced(git: &gix::Repository) -> Result<BTreeMap<ObjectId, ObjectId>, Refusal> {
    let mut replaced = BTreeMap::new();
    if git.objects.ignore_replacements {
        return Ok(replaced);
    }
    let references = git.references().map_err(Refusal::failed)?;
    for reference in references.prefixed(REPLACE_REFS).map_err(Refusal::failed)?.flatten() {
        let name = reference.name().as_bstr();
        let object = name.strip_prefix(REPLACE_REFS.as_bytes()).and_then(|id| ObjectId::from_hex(id).ok());
        let by = reference.target().try_id().map(ToOwned::to_owned);
        replaced.extend(object.zip(by));
    }
    Ok(replaced)
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|_| Refusal::missing())
}

fn object_id(bytes: &[u8]) -> Result<ObjectId, Refusal> {
    ObjectId::try_from(bytes).map_err(|_| Refusal::missing())
}
