//! The doors themselves: URIs of callers, URIs of language servers, paths, and reading what they name.
//!
//! Invariant: the order of checks is text, root at all, inside, there. Each has its code (decisions §3): `URI_INVALID`,
//! `WORKSPACE_DENIED`, `WORKSPACE_DENIED`, `NOT_FOUND`.

use std::borrow::Cow;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open::{Method, Refused};
use super::stamp::FileStamp;
use super::text::{self, Malformed, Named};
use super::visit::{Seen, Visit};
use super::walk::{self, Walked};
use crate::limits::{MAX_GATE_RETRIES, MAX_PATH_BYTES};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::MAX_ROOTS;
use codeyard_model::roots::RootSet;
use codeyard_model::uri::CanonicalUri;

/// The path gate of one workspace. Cheap to clone; holds no descriptor.
#[derive(Debug, Clone)]
pub struct Gate {
    set: Arc<RootSet>,
    method: Method,
}

/// What the gate says of a URI that a language server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    /// A regular file inside the roots.
    Inside(CanonicalUri),
    /// Not inside the roots, or not a file's URI at all: left out and counted.
    Outside,
    /// Inside, but not there (any more), or not a regular file.
    Missing,
}

/// Why a gate can't be opened. For the operator who configured the roots, so it names paths; never part of an answer.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The root can't be resolved.
    #[error("root {} can't be opened", path.display())]
    Unreachable {
        /// As configured.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The root is something else than a directory.
    #[error("root {} is not a directory", path.display())]
    NotADirectory {
        /// As configured.
        path: PathBuf,
    },
    /// The root's real path has characters that no URI of ours may hold.
    #[error("root {} has a backslash, a control character or bytes that are not UTF-8 in its real path", path.display())]
    Unnameable {
        /// As configured.
        path: PathBuf,
    },
    /// Too many roots.
    #[error("{count} roots are more than {MAX_ROOTS}")]
    TooMany {
        /// Roots and extra roots together.
        count: usize,
    },
}

/// Why a path isn't let through.
enum Shut {
    Outside,
    Missing,
    Malformed(Malformed),
}

impl Gate {
    /// A gate to `roots` and, for reading only, `extra`. Links in them are resolved here, once; equal ones are merged.
    /// No root at all is allowed: then every door is shut.
    pub fn open(roots: &[PathBuf], extra: &[PathBuf]) -> Result<Self, GateError> {
        let count = roots.len() + extra.len();
        if count > MAX_ROOTS {
            return Err(GateError::TooMany { count });
        }
        let mut real_roots = Vec::new();
        let mut real_extra = Vec::new();
        for path in roots {
            push_new(&mut real_roots, real_root(path)?);
        }
        for path in extra {
            let real = real_root(path)?;
            if !real_roots.contains(&real) {
                push_new(&mut real_extra, real);
            }
        }
        Ok(Self { set: Arc::new(RootSet::of_real_paths(real_roots, real_extra)), method: Method::detect() })
    }

    /// The real paths behind this gate.
    pub fn root_set(&self) -> &Arc<RootSet> {
        &self.set
    }

    /// The door for a caller's URI. Errors: `URI_INVALID`, `WORKSPACE_DENIED`, `NOT_FOUND` (decisions §3).
    pub fn document(&self, uri: &str) -> Result<CanonicalUri, ToolError> {
        self.document_seen(uri).map(|(uri, _)| uri)
    }

    /// The same, with the file's stamp where the look that let it through shows it.
    pub fn document_seen(&self, uri: &str) -> Result<(CanonicalUri, Option<FileStamp>), ToolError> {
        let named = text::parse_uri(uri).map_err(invalid)?;
        self.pass(&named).map_err(Shut::into_error)
    }

    /// The door for the text of an absolute path; relative ones are `URI_INVALID`. Errors as [`Gate::document`].
    pub fn of_path(&self, path: &Path) -> Result<CanonicalUri, ToolError> {
        let named = text::parse_path(path).map_err(invalid)?;
        self.pass(&named).map(|(uri, _)| uri).map_err(Shut::into_error)
    }

    /// The door for a path's text as an agent gives it: absolute, relative to the first root that has it, or a `file:` URI.
    /// Errors as [`Gate::document`]; NOT_FOUND has the text in `details.path`, because it names nothing outside the roots.
    pub fn named_seen(&self, text: &str) -> Result<(CanonicalUri, Option<FileStamp>), ToolError> {
        let missing = |error: ToolError| match error.code {
            ErrorCode::NotFound => error.with("path", text.chars().take(MAX_PATH_BYTES).collect::<String>()),
            _ => error,
        };
        if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
            return self.document_seen(text).map_err(missing);
        }
        let path = Path::new(text);
        if path.is_absolute() {
            let named = text::parse_path(path).map_err(invalid_path)?;
            return self.pass(&named).map_err(|shut| missing(shut.into_error()));
        }
        let mut first = None;
        for root in self.set.allowed() {
            let named = text::parse_path(&root.join(path)).map_err(invalid_path)?;
            match self.pass(&named) {
                Ok(found) => return Ok(found),
                Err(shut) => first = first.or(Some(shut)),
            }
        }
        Err(missing(first.unwrap_or(Shut::Outside).into_error()))
    }

    /// The door for a language server's URI, in whatever spelling it likes.
    pub fn admit(&self, uri: &str) -> Admitted {
        self.admit_seen(uri).0
    }

    /// The same, with the file's stamp where the look that let it through shows it.
    fn admit_seen(&self, uri: &str) -> (Admitted, Option<FileStamp>) {
        match text::parse_uri(uri).map_err(Shut::Malformed).and_then(|named| self.pass(&named)) {
            Ok((uri, stamp)) => (Admitted::Inside(uri), stamp),
            Err(Shut::Missing) => (Admitted::Missing, None),
            Err(Shut::Outside | Shut::Malformed(_)) => (Admitted::Outside, None),
        }
    }

    /// For looking at many files at once.
    pub fn visit(&self) -> Visit<'_> {
        Visit::new(self)
    }

    /// The folder at `path`, opened; nothing unless it is an allowed root or lies in one, and no link leads to it.
    pub(super) fn folder(&self, path: &Path) -> Option<OwnedFd> {
        let (root, rest) = self.split(path)?;
        self.method.folder(root, rest).ok()
    }

    /// [`Gate::admit`] with the stamp of what is let through. `glance` gives that of a regular file inside the roots to which no
    /// link leads, and nothing if it isn't sure.
    pub(super) fn admit_glancing(&self, uri: &str, glance: impl FnOnce(&Path) -> Option<FileStamp>) -> Seen {
        let plain = text::parse_uri(uri).ok().filter(|named| !named.directory && text::nameable(&named.path));
        if let Some(named) = plain
            && let Some(stamp) = glance(&named.path)
        {
            return Seen::Inside(CanonicalUri::of_gated_path(&named.path), stamp);
        }
        match self.admit_seen(uri) {
            (Admitted::Inside(uri), Some(stamp)) => Seen::Inside(uri, stamp),
            (Admitted::Inside(uri), None) => self.stat(&uri).map_or(Seen::Missing, |stamp| Seen::Inside(uri, stamp)),
            (Admitted::Outside, _) => Seen::Outside,
            (Admitted::Missing, _) => Seen::Missing,
        }
    }

    /// The stamp of the file now. Errors: `NOT_FOUND`, `WORKSPACE_DENIED` for a URI of another gate, `INTERNAL`.
    pub fn stat(&self, uri: &CanonicalUri) -> Result<FileStamp, ToolError> {
        let path = uri.to_path();
        let stat = self.strictly(&path, |root, rest| self.method.stat(root, rest))?;
        Ok(FileStamp::of(&stat))
    }

    /// The file's content, and the stamp of the same descriptor, which held before the first and after the last byte.
    /// Errors: as [`Gate::stat`], and `CAP_EXCEEDED` with reason `document_too_large` beyond `max_bytes`.
    pub fn read(&self, uri: &CanonicalUri, max_bytes: usize) -> Result<(Vec<u8>, FileStamp), ToolError> {
        let path = uri.to_path();
        for _ in 0..MAX_GATE_RETRIES {
            let (mut file, before) = self.strictly(&path, |root, rest| self.method.read(root, rest))?;
            let before = FileStamp::of(&before);
            let bytes = read_capped(&mut file, before.size, max_bytes)?;
            let after = rustix::fs::fstat(&file).map_err(|errno| failed("fstat", errno.into()))?;
            if FileStamp::of(&after) == before {
                return Ok((bytes, before));
            }
        }
        Err(ToolError::new(ErrorCode::NotFound, "the document is being written right now; try again"))
    }

    fn pass(&self, named: &Named) -> Result<(CanonicalUri, Option<FileStamp>), Shut> {
        let (real, stamp) = self.resolve(&named.path)?;
        if named.directory {
            return Err(Shut::Missing);
        }
        if !text::nameable(&real) {
            return Err(Shut::Malformed(Malformed("real_path")));
        }
        Ok((CanonicalUri::of_gated_path(&real), stamp))
    }

    /// The real path of the regular file at `path`, which lies inside, and how it looked if it could be opened.
    fn resolve<'p>(&self, path: &'p Path) -> Result<(Cow<'p, Path>, Option<FileStamp>), Shut> {
        let known = |place: &Path| self.set.allowed().any(|root| place.starts_with(root) || root.starts_with(place));
        for _ in 0..MAX_GATE_RETRIES {
            match self.look(path) {
                Some(Ok(stamp)) => return Ok((path.into(), Some(stamp))),
                Some(Err(Refused::NoFile | Refused::Denied)) => return Err(Shut::Missing),
                Some(Err(Refused::Link | Refused::Again | Refused::Exhausted)) | None => {}
            }
            if self.set.allowed().next().is_none() {
                return Err(Shut::Outside);
            }
            let real = match walk::follow(path, known) {
                Walked::Real(real) if self.set.allows(&real) => real,
                Walked::Missing(place) if self.set.allows(&place) => return Err(Shut::Missing),
                _ => return Err(Shut::Outside),
            };
            match self.look(&real) {
                Some(Ok(stamp)) => return Ok((real.into(), Some(stamp))),
                Some(Err(Refused::NoFile | Refused::Denied)) => return Err(Shut::Missing),
                // Without a descriptor to spare the walk has to do: naming a file reads nothing of it.
                Some(Err(Refused::Exhausted)) if is_regular(&real) => return Ok((real.into(), None)),
                _ => {}
            }
        }
        Err(if self.set.allows(path) { Shut::Missing } else { Shut::Outside })
    }

    /// Looks at a path that spells an allowed root; `None` if it doesn't.
    fn look(&self, path: &Path) -> Option<Result<FileStamp, Refused>> {
        let (root, rest) = self.split(path)?;
        Some(self.method.stat(root, rest).map(|stat| FileStamp::of(&stat)))
    }

    /// The innermost allowed root that `path` spells, and the rest.
    fn split<'p>(&self, path: &'p Path) -> Option<(&Path, &'p Path)> {
        let holding = self.set.allowed().filter_map(|root| Some((root, path.strip_prefix(root).ok()?)));
        holding.max_by_key(|(root, _)| root.as_os_str().len())
    }

    fn strictly<T>(&self, path: &Path, open: impl Fn(&Path, &Path) -> Result<T, Refused>) -> Result<T, ToolError> {
        let (root, rest) = self.split(path).ok_or_else(denied)?;
        for _ in 0..MAX_GATE_RETRIES {
            match open(root, rest) {
                Ok(value) => return Ok(value),
                Err(Refused::Again) => {}
                Err(Refused::Link | Refused::NoFile | Refused::Denied) => return Err(not_found()),
                Err(Refused::Exhausted) => return Err(failed("open", rustix::io::Errno::MFILE.into())),
            }
        }
        Err(not_found())
    }

    /// The same gate with the method for systems that lack `openat2`.
    #[cfg(test)]
    pub(super) fn stepwise(mut self) -> Self {
        self.method = Method::Stepwise;
        self
    }
}

impl Shut {
    fn into_error(self) -> ToolError {
        match self {
            Self::Outside => denied(),
            Self::Missing => not_found(),
            Self::Malformed(why) => invalid(why),
        }
    }
}

fn real_root(path: &Path) -> Result<PathBuf, GateError> {
    let real = path.canonicalize().map_err(|source| GateError::Unreachable { path: path.to_owned(), source })?;
    if !real.is_dir() {
        return Err(GateError::NotADirectory { path: path.to_owned() });
    }
    if !text::nameable(&real) {
        return Err(GateError::Unnameable { path: path.to_owned() });
    }
    Ok(real)
}

fn push_new(paths: &mut Vec<PathBuf>, path: PathBuf) {
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
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed("read", error))?;
    if bytes.len() > max_bytes { Err(too_large()) } else { Ok(bytes) }
}

fn invalid(Malformed(reason): Malformed) -> ToolError {
    ToolError::new(ErrorCode::UriInvalid, "the uri is not a file: URI of an absolute path").with("reason", reason)
}

fn invalid_path(Malformed(reason): Malformed) -> ToolError {
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

fn failed(call: &'static str, error: std::io::Error) -> ToolError {
    tracing::error!(call, error = %error, "the gate could not look at a file");
    ToolError::internal()
}
