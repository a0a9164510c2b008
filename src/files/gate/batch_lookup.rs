//! Looks up the many files of one answer. Each directory is opened once, and its files are looked up in it by name.
//!
//! A lookup lives while one answer is made or one page is checked. Invariants: a directory is opened as strictly as the
//! gate opens a file, without following a link; only a plain name is looked up in it, also without following a link;
//! if that doesn't show a regular file, [`Gate`] decides; at most [`MAX_OPEN_DIRS`] descriptors are open.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::open;
use super::path_gate::Gate;
use super::stamp::FileStamp;
use codeyard_model::error::ToolError;
use codeyard_model::uri::CanonicalUri;

/// Directories that are open at the same time.
const MAX_OPEN_DIRS: usize = 8;

/// A [`UriAdmission`](codeyard_model::uri::UriAdmission) with the stamp of the admitted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StampedAdmission {
    /// A regular file inside the roots, and its stamp.
    Inside(CanonicalUri, FileStamp),
    /// As [`UriAdmission::Outside`](codeyard_model::uri::UriAdmission::Outside).
    Outside,
    /// As [`UriAdmission::Missing`](codeyard_model::uri::UriAdmission::Missing).
    Missing,
}

/// Stats and admits many files with few system calls.
pub struct BatchLookup<'g> {
    gate: &'g Gate,
    /// Open directories by their real paths, oldest first.
    open_dirs: Vec<(Vec<u8>, OwnedFd)>,
}

impl<'g> BatchLookup<'g> {
    pub(super) fn new(gate: &'g Gate) -> Self {
        Self { gate, open_dirs: Vec::new() }
    }

    /// [`Gate::admit`] with the file's stamp.
    pub fn admit(&mut self, uri: &str) -> StampedAdmission {
        self.gate.admit_stamped(uri, |path| self.stat_in_dir(path))
    }

    /// The stamp of the file now.
    ///
    /// # Errors
    /// As [`Gate::stat`].
    pub fn stat(&mut self, uri: &CanonicalUri) -> Result<FileStamp, ToolError> {
        match self.stat_in_dir(&uri.to_path()) {
            Some(stamp) => Ok(stamp),
            None => self.gate.stat(uri),
        }
    }

    /// The stamp of a regular file whose path contains no link. `None` in every other case.
    fn stat_in_dir(&mut self, path: &Path) -> Option<FileStamp> {
        let bytes = path.as_os_str().as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
        let dir = &bytes[..slash];
        let name = &bytes[slash + 1..];
        if matches!(name, b"" | b"." | b"..") {
            return None;
        }
        let position = match self.open_dirs.iter().position(|(open, _)| open == dir) {
            Some(position) => position,
            None => self.open_dir(dir)?,
        };
        open::stat_regular(&self.open_dirs.get(position)?.1, OsStr::from_bytes(name)).map(|stat| FileStamp::of(&stat))
    }

    fn open_dir(&mut self, dir: &[u8]) -> Option<usize> {
        let opened = self.gate.open_dir(Path::new(OsStr::from_bytes(dir)))?;
        if self.open_dirs.len() >= MAX_OPEN_DIRS {
            self.open_dirs.remove(0);
        }
        self.open_dirs.push((dir.to_vec(), opened));
        Some(self.open_dirs.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use codeyard_model::uri::{UriAdmission, encode_path};

    #[test]
    fn a_batch_lookup_decides_as_the_gate_does() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        for dir in ["w/a/b", "w/c", "out"] {
            fs::create_dir_all(top.join(dir)).unwrap();
        }
        for file in ["w/1", "w/a/2", "w/a/3 é", "w/a/b/4", "w/c/5", "out/6"] {
            fs::write(top.join(file), "").unwrap();
        }
        for (at, to) in [("w/a/in", "w/c/5"), ("w/a/leads", "w/c"), ("w/out", "out"), ("w/a/away", "out/6")] {
            symlink(top.join(to), top.join(at)).unwrap();
        }
        let gate = Gate::open(&[top.join("w")], &[]).unwrap();
        let names = [
            "w/1", "w/a/2", "w/a/3 é", "w/a/b/4", "w/c/5", "out/6", "w/a/in", "w/a/leads/5", "w/out/6", "w/a/away",
            "w/a", "w", "", "w/none", "w/none/1", "w/a/b/../2", "w/a/b/../../../out/6", "w/1/2", "w/1/", "w/a/2/.",
            "w/a/", "w/a/.",
        ];
        let texts = names.map(|name| format!("file://{}/{name}", top.display()));
        let mut lookup = gate.batch_lookup();
        for text in texts.iter().chain(&texts).map(String::as_str).chain(["http://a/b", "file:relative", ""]) {
            let stamped = lookup.admit(text);
            let admitted = match &stamped {
                StampedAdmission::Inside(uri, stamp) => {
                    assert_eq!(*stamp, gate.stat(uri).unwrap(), "{text}");
                    assert_eq!(*stamp, lookup.stat(uri).unwrap(), "{text}");
                    UriAdmission::Inside(uri.clone())
                }
                StampedAdmission::Outside => UriAdmission::Outside,
                StampedAdmission::Missing => UriAdmission::Missing,
            };
            assert_eq!(admitted, gate.admit(text), "{text}");
        }
    }

    #[test]
    fn plain_files_are_looked_up_in_one_open_directory_each() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        for file in ["a/1", "a/2", "b/c/3"] {
            fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            fs::write(top.join(file), file).unwrap();
        }
        symlink("1", top.join("a/link")).unwrap();
        let gate = Gate::open(std::slice::from_ref(&top), &[]).unwrap();
        let mut lookup = gate.batch_lookup();
        for file in ["a/1", "b/c/3", "a/2", "b/c/3"] {
            let expected = gate.stat(&gate.path(&top.join(file)).unwrap()).unwrap();
            assert_eq!(lookup.stat_in_dir(&top.join(file)), Some(expected), "{file}");
        }
        for file in ["a/link", "a/", "a/.", "a/..", "a/none", "a/1/", "none/1", "../1"] {
            assert_eq!(lookup.stat_in_dir(&top.join(file)), None, "{file}");
        }
        let open: Vec<_> = lookup.open_dirs.iter().map(|(dir, _)| Path::new(OsStr::from_bytes(dir))).collect();
        assert_eq!(open, [top.join("a"), top.join("b/c")]);
    }

    #[test]
    fn the_oldest_directory_is_closed_at_the_limit() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        let files: Vec<_> = (0..MAX_OPEN_DIRS * 2).map(|number| top.join(format!("{number}/file"))).collect();
        for file in &files {
            fs::create_dir(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let gate = Gate::open(&[top], &[]).unwrap();
        let mut lookup = gate.batch_lookup();
        for file in files.iter().chain(&files) {
            assert!(matches!(lookup.admit(&encode_path(file)), StampedAdmission::Inside(..)));
            assert!(lookup.open_dirs.len() <= MAX_OPEN_DIRS);
        }
    }

    #[test]
    fn a_file_that_is_deleted_or_replaced_by_a_link_is_detected() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        fs::create_dir(top.join("w")).unwrap();
        for file in ["w/1", "w/2", "out"] {
            fs::write(top.join(file), "").unwrap();
        }
        let gate = Gate::open(&[top.join("w")], &[]).unwrap();
        let mut lookup = gate.batch_lookup();
        let one = encode_path(&top.join("w/1"));
        let other = encode_path(&top.join("w/2"));
        assert!(matches!(lookup.admit(&one), StampedAdmission::Inside(..)));
        fs::remove_file(top.join("w/1")).unwrap();
        fs::remove_file(top.join("w/2")).unwrap();
        symlink(top.join("out"), top.join("w/2")).unwrap();
        assert_eq!((lookup.admit(&one), lookup.admit(&other)), (StampedAdmission::Missing, StampedAdmission::Outside));
    }
}
