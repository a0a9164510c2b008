//! The gate itself: admits URIs of callers and of language servers and paths, and reads admitted files.
//!
//! Invariant: the order of the checks is: the text is valid (else `URI_INVALID`), the workspace has a root and the file is
//! inside a root (else `WORKSPACE_DENIED`), the file exists (else `NOT_FOUND`).

use std::borrow::Cow;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::batch_lookup::{BatchLookup, StampedAdmission};
use super::file_uri::{self, MalformedPath, ParsedPath};
use super::open::{OpenError, OpenMethod};
use super::recent_links::{LinkChanges, RecentLinks};
use super::resolve_links::{ResolvedPath, resolve_links};
use super::stamp::FileStamp;
use crate::limits::{MAX_GATE_RETRIES, MAX_GATE_WORK, MAX_PATH_BYTES};
use codeyard_base::blocking::assert_may_block;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::MAX_ROOTS;
use codeyard_model::roots::RootSet;
use codeyard_model::uri::{CanonicalUri, UriAdmission};

/// The path gate of one workspace. Cheap to clone; holds no descriptor.
#[derive(Debug, Clone)]
pub struct Gate {
    set: Arc<RootSet>,
    method: OpenMethod,
    links: Arc<RecentLinks>,
    /// Places for work on the blocking pool.
    pub(super) places: Arc<Semaphore>,
}

/// Why a gate can't be opened. Shown to the operator who configured the roots, so it contains paths; never part of an answer.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The root can't be resolved.
    #[error("root {} can't be opened", path.display())]
    Unreachable {
        /// As configured.
        path: PathBuf,
        source: std::io::Error,
    },
    /// The root is not a directory.
    #[error("root {} is not a directory", path.display())]
    NotADirectory {
        /// As configured.
        path: PathBuf,
    },
    /// The root's real path has characters that a canonical URI can't contain.
    #[error("root {} has a backslash, a control character or bytes that are not UTF-8 in its real path", path.display())]
    Unnameable {
        /// As configured.
        path: PathBuf,
    },
    #[error("{count} roots are more than {MAX_ROOTS}")]
    TooMany {
        /// Roots and extra roots together.
        count: usize,
    },
}

/// Why a path isn't admitted.
enum Denial {
    Outside,
    Missing,
    Malformed(MalformedPath),
}

impl Gate {
    /// A gate to `roots` and, for reading only, `extra`. Links in them are resolved here, once. Equal roots are merged.
    /// Without any root the gate admits nothing.
    pub fn open(roots: &[PathBuf], extra: &[PathBuf]) -> Result<Self, GateError> {
        assert_may_block();
        let count = roots.len() + extra.len();
        if count > MAX_ROOTS {
            return Err(GateError::TooMany { count });
        }
        let mut real_roots = Vec::new();
        let mut real_extra = Vec::new();
        for path in roots {
            push_unique(&mut real_roots, real_root(path)?);
        }
        for path in extra {
            let real = real_root(path)?;
            if !real_roots.contains(&real) {
                push_unique(&mut real_extra, real);
            }
        }
        Ok(Self {
            set: Arc::new(RootSet::of_real_paths(real_roots, real_extra)),
            method: OpenMethod::detect(),
            links: Arc::default(),
            places: Arc::new(Semaphore::new(MAX_GATE_WORK)),
        })
    }

    /// The real paths behind this gate.
    pub fn root_set(&self) -> &Arc<RootSet> {
        &self.set
    }

    /// Remembers symbolic links that the watcher has seen.
    pub fn add_links(&self, links: LinkChanges) {
        self.links.add(links);
    }

    /// Whether the file, or a folder that it is in, was a symbolic link a short while ago, so that a language server may know something else
    /// under its name.
    pub fn was_link(&self, uri: &CanonicalUri) -> bool {
        self.links.concern(&uri.to_path())
    }

    /// Admits a caller's URI. Errors: `URI_INVALID`, `WORKSPACE_DENIED`, `NOT_FOUND`.
    pub fn document(&self, uri: &str) -> Result<CanonicalUri, ToolError> {
        self.document_stamped(uri).map(|(uri, _)| uri)
    }

    /// As [`Gate::document`], with the file's stamp if the check read it.
    pub fn document_stamped(&self, uri: &str) -> Result<(CanonicalUri, Option<FileStamp>), ToolError> {
        let parsed = file_uri::parse_uri(uri).map_err(invalid_uri)?;
        self.admit_parsed(&parsed).map_err(Denial::into_error)
    }

    /// Admits an absolute path. A relative one is `URI_INVALID`. Errors as [`Gate::document`].
    pub fn path(&self, path: &Path) -> Result<CanonicalUri, ToolError> {
        let parsed = file_uri::parse_path(path).map_err(invalid_uri)?;
        self.admit_parsed(&parsed).map(|(uri, _)| uri).map_err(Denial::into_error)
    }

    /// Admits a path as an agent writes it: absolute, relative to the first root that has the file, or a `file:` URI.
    /// Errors as [`Gate::document`]. NOT_FOUND has the text in `details.path`, because it names nothing outside the roots.
    pub fn agent_path_stamped(&self, text: &str) -> Result<(CanonicalUri, Option<FileStamp>), ToolError> {
        let missing = |error: ToolError| match error.code {
            ErrorCode::NotFound => error.with("path", text.chars().take(MAX_PATH_BYTES).collect::<String>()),
            _ => error,
        };
        if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
            return self.document_stamped(text).map_err(missing);
        }
        let path = Path::new(text);
        if path.is_absolute() {
            let parsed = file_uri::parse_path(path).map_err(invalid_path)?;
            return self.admit_parsed(&parsed).map_err(|denial| missing(denial.into_error()));
        }
        let mut first_denial = None;
        for root in self.set.allowed() {
            let parsed = file_uri::parse_path(&root.join(path)).map_err(invalid_path)?;
            match self.admit_parsed(&parsed) {
                Ok(admitted) => return Ok(admitted),
                Err(denial) => first_denial = first_denial.or(Some(denial)),
            }
        }
        Err(missing(first_denial.unwrap_or(Denial::Outside).into_error()))
    }

    /// Admits a language server's URI, in any spelling.
    pub fn admit(&self, uri: &str) -> UriAdmission {
        self.admit_if_stamped(uri).0
    }

    /// As [`Gate::admit`], with the file's stamp if the check read it.
    fn admit_if_stamped(&self, uri: &str) -> (UriAdmission, Option<FileStamp>) {
        match file_uri::parse_uri(uri).map_err(Denial::Malformed).and_then(|parsed| self.admit_parsed(&parsed)) {
            Ok((uri, stamp)) => (UriAdmission::Inside(uri), stamp),
            Err(Denial::Missing) => (UriAdmission::Missing, None),
            Err(Denial::Outside | Denial::Malformed(_)) => (UriAdmission::Outside, None),
        }
    }

    /// A lookup of many files with few system calls.
    pub fn batch_lookup(&self) -> BatchLookup<'_> {
        BatchLookup::new(self)
    }

    /// Opens the directory at `path`. `None` unless it is an allowed root or inside one, and the path contains no link.
    pub(super) fn open_dir(&self, path: &Path) -> Option<OwnedFd> {
        let (root, rest) = self.split(path)?;
        self.method.open_dir(root, rest).ok()
    }

    /// [`Gate::admit`] with the admitted file's stamp. `stat` returns the stamp of a regular file inside the roots whose path
    /// contains no link, and `None` in every other case.
    pub(super) fn admit_stamped(&self, uri: &str, stat: impl FnOnce(&Path) -> Option<FileStamp>) -> StampedAdmission {
        let is_plain = |parsed: &ParsedPath| !parsed.is_directory && file_uri::is_representable(&parsed.path);
        if let Some(parsed) = file_uri::parse_uri(uri).ok().filter(is_plain)
            && let Some(stamp) = stat(&parsed.path)
        {
            return StampedAdmission::Inside(CanonicalUri::of_gated_path(&parsed.path), stamp);
        }
        match self.admit_if_stamped(uri) {
            (UriAdmission::Inside(uri), Some(stamp)) => StampedAdmission::Inside(uri, stamp),
            (UriAdmission::Inside(uri), None) => {
                self.stat(&uri).map_or(StampedAdmission::Missing, |stamp| StampedAdmission::Inside(uri, stamp))
            }
            (UriAdmission::Outside, _) => StampedAdmission::Outside,
            (UriAdmission::Missing, _) => StampedAdmission::Missing,
        }
    }

    /// The stamp of the file now. Errors: `NOT_FOUND`, `WORKSPACE_DENIED` for a URI of another gate, `INTERNAL`.
    pub fn stat(&self, uri: &CanonicalUri) -> Result<FileStamp, ToolError> {
        let path = uri.to_path();
        let stat = self.retry_strict(&path, |root, rest| self.method.stat(root, rest))?;
        Ok(FileStamp::of(&stat))
    }

    /// The file's content with the stamp of the same descriptor. The stamp was equal before and after reading.
    /// Errors as [`Gate::stat`], and `CAP_EXCEEDED` with reason `document_too_large` beyond `max_bytes`.
    pub fn read(&self, uri: &CanonicalUri, max_bytes: usize) -> Result<(Vec<u8>, FileStamp), ToolError> {
        let path = uri.to_path();
        for _ in 0..MAX_GATE_RETRIES {
            let (mut file, before) = self.retry_strict(&path, |root, rest| self.method.read(root, rest))?;
            let before = FileStamp::of(&before);
            let bytes = read_capped(&mut file, before.size, max_bytes)?;
            let after = rustix::fs::fstat(&file).map_err(|errno| system_error("fstat", errno.into()))?;
            if FileStamp::of(&after) == before {
                return Ok((bytes, before));
            }
        }
        Err(ToolError::new(ErrorCode::NotFound, "the document is being written right now; try again"))
    }

    /// Whether the file begins with these bytes. `false` if it can't be read.
    pub fn starts_with(&self, uri: &CanonicalUri, bytes: &[u8]) -> bool {
        let Ok((mut file, _)) = self.retry_strict(&uri.to_path(), |root, rest| self.method.read(root, rest)) else {
            return false;
        };
        let mut start = vec![0; bytes.len()];
        file.read_exact(&mut start).is_ok() && start == bytes
    }

    fn admit_parsed(&self, parsed: &ParsedPath) -> Result<(CanonicalUri, Option<FileStamp>), Denial> {
        let (real, stamp) = self.resolve(&parsed.path)?;
        if parsed.is_directory {
            return Err(Denial::Missing);
        }
        if !file_uri::is_representable(&real) {
            return Err(Denial::Malformed(MalformedPath("real_path")));
        }
        Ok((CanonicalUri::of_gated_path(&real), stamp))
    }

    /// The real path, inside the roots, of the regular file at `path`; its stamp if it could be opened.
    fn resolve<'p>(&self, path: &'p Path) -> Result<(Cow<'p, Path>, Option<FileStamp>), Denial> {
        let is_public = |dir: &Path| self.set.allowed().any(|root| dir.starts_with(root) || root.starts_with(dir));
        for _ in 0..MAX_GATE_RETRIES {
            match self.stat_in_root(path) {
                Some(Ok(stamp)) => return Ok((path.into(), Some(stamp))),
                Some(Err(OpenError::NoFile | OpenError::Denied)) => return Err(Denial::Missing),
                Some(Err(OpenError::Link | OpenError::Again | OpenError::Exhausted)) | None => {}
            }
            if self.set.allowed().next().is_none() {
                return Err(Denial::Outside);
            }
            let real = match resolve_links(path, is_public) {
                ResolvedPath::Real(real) if self.set.allows(&real) => real,
                ResolvedPath::Missing(missing) if self.set.allows(&missing) => return Err(Denial::Missing),
                _ => return Err(Denial::Outside),
            };
            match self.stat_in_root(&real) {
                Some(Ok(stamp)) => return Ok((real.into(), Some(stamp))),
                Some(Err(OpenError::NoFile | OpenError::Denied)) => return Err(Denial::Missing),
                // No descriptor is free. The resolved links must suffice: admitting a file reads nothing of it.
                Some(Err(OpenError::Exhausted)) if is_regular(&real) => return Ok((real.into(), None)),
                _ => {}
            }
        }
        Err(if self.set.allows(path) { Denial::Missing } else { Denial::Outside })
    }

    /// Stats a path that spells an allowed root. `None` if it doesn't spell one.
    fn stat_in_root(&self, path: &Path) -> Option<Result<FileStamp, OpenError>> {
        let (root, rest) = self.split(path)?;
        Some(self.method.stat(root, rest).map(|stat| FileStamp::of(&stat)))
    }

    /// The innermost allowed root that `path` starts with, and the rest.
    fn split<'p>(&self, path: &'p Path) -> Option<(&Path, &'p Path)> {
        let holding = self.set.allowed().filter_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        holding.max_by_key(|(root, _)| root.as_os_str().len())
    }

    fn retry_strict<T>(
        &self,
        path: &Path,
        open: impl Fn(&Path, &Path) -> Result<T, OpenError>,
    ) -> Result<T, ToolError> {
        let (root, rest) = self.split(path).ok_or_else(denied)?;
        for _ in 0..MAX_GATE_RETRIES {
            match open(root, rest) {
                Ok(value) => return Ok(value),
                Err(OpenError::Again) => {}
                Err(OpenError::Link | OpenError::NoFile | OpenError::Denied) => return Err(not_found()),
                Err(OpenError::Exhausted) => return Err(system_error("open", rustix::io::Errno::MFILE.into())),
            }
        }
        Err(not_found())
    }

    /// The same gate, opening files as on systems without `openat2`.
    #[cfg(any(test, fuzzing))]
    pub(super) fn per_segment(mut self) -> Self {
        self.method = OpenMethod::PerSegment;
        self
    }

    /// The same gate in a process that has no free descriptor.
    #[cfg(test)]
    pub(super) fn without_descriptors(mut self) -> Self {
        self.method = OpenMethod::NoDescriptor;
        self
    }
}

impl Denial {
    fn into_error(self) -> ToolError {
        match self {
            Self::Outside => denied(),
            Self::Missing => not_found(),
            Self::Malformed(reason) => invalid_uri(reason),
        }
    }
}

fn real_root(path: &Path) -> Result<PathBuf, GateError> {
    let real = path.canonicalize().map_err(|source| GateError::Unreachable { path: path.to_owned(), source })?;
    if !real.is_dir() {
        return Err(GateError::NotADirectory { path: path.to_owned() });
    }
    if !file_uri::is_representable(&real) {
        return Err(GateError::Unnameable { path: path.to_owned() });
    }
    Ok(real)
}

fn push_unique(paths: &mut Vec<PathBuf>, path: PathBuf) {
    if !paths.contains(&path) {
        paths.push(path);
    }
}

fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

fn read_capped(file: &mut std::fs::File, size: u64, max_bytes: usize) -> Result<Vec<u8>, ToolError> {
    let too_large = || ToolError::too_many("document_too_large", max_bytes);
    if size > max_bytes as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(|error| system_error("read", error))?;
    if bytes.len() > max_bytes { Err(too_large()) } else { Ok(bytes) }
}

fn invalid_uri(MalformedPath(reason): MalformedPath) -> ToolError {
    ToolError::new(ErrorCode::UriInvalid, "the uri is not a file: URI of an absolute path").with("reason", reason)
}

fn invalid_path(MalformedPath(reason): MalformedPath) -> ToolError {
    ToolError::new(
        ErrorCode::UriInvalid,
        "the path can't name a file; it has control characters or a backslash, or is too long",
    )
    .with("reason", reason)
}

fn denied() -> ToolError {
    ToolError::new(ErrorCode::WorkspaceDenied, "the uri is outside the allowed roots of this workspace")
}

fn not_found() -> ToolError {
    ToolError::new(ErrorCode::NotFound, "there is no such document in the workspace")
}

fn system_error(call: &'static str, error: std::io::Error) -> ToolError {
    tracing::error!(call, error = %error, "path gate: system call failed");
    ToolError::internal()
}
