//! Looking at many files for one answer: each folder is opened once, and its files are looked at in it.
//!
//! A visit lasts as long as one answer is being made, or one page is being checked. Invariants: a folder is opened as strictly as
//! the gate opens a file, without following a link, and in it only a plain name is looked up, again without following one; what
//! isn't plainly a regular file there is decided by the gate's own doors; at most [`MAX_FOLDERS`] descriptors are held.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::door::Gate;
use super::open;
use super::stamp::FileStamp;
use codeyard_model::error::ToolError;
use codeyard_model::uri::CanonicalUri;

/// Folders that are kept open at the same time.
const MAX_FOLDERS: usize = 8;

/// What a visit says of a URI that a language server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A regular file inside the roots, and how it looks.
    Inside(CanonicalUri, FileStamp),
    /// As [`Admitted::Outside`](super::Admitted::Outside).
    Outside,
    /// As [`Admitted::Missing`](super::Admitted::Missing).
    Missing,
}

/// See the module.
pub struct Visit<'g> {
    gate: &'g Gate,
    /// Open folders by their real paths, the oldest first.
    folders: Vec<(Vec<u8>, OwnedFd)>,
}

impl<'g> Visit<'g> {
    pub(super) fn new(gate: &'g Gate) -> Self {
        Self { gate, folders: Vec::new() }
    }

    /// [`Gate::admit`], and the stamp of what is let through.
    pub fn admit(&mut self, uri: &str) -> Seen {
        self.gate.admit_glancing(uri, |path| self.glance(path))
    }

    /// As [`Gate::stat`].
    ///
    /// # Errors
    /// As [`Gate::stat`].
    pub fn stat(&mut self, uri: &CanonicalUri) -> Result<FileStamp, ToolError> {
        match self.glance(&uri.to_path()) {
            Some(stamp) => Ok(stamp),
            None => self.gate.stat(uri),
        }
    }

    /// The stamp of a regular file in a folder that can be entered without a link; nothing if anything is unusual.
    fn glance(&mut self, path: &Path) -> Option<FileStamp> {
        let bytes = path.as_os_str().as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
        let (folder, name) = (&bytes[..slash], &bytes[slash + 1..]);
        if matches!(name, b"" | b"." | b"..") {
            return None;
        }
        let known = self.folders.iter().position(|(known, _)| known == folder);
        let at = match known {
            Some(at) => at,
            None => self.enter(folder)?,
        };
        open::glance(&self.folders.get(at)?.1, OsStr::from_bytes(name)).map(|stat| FileStamp::of(&stat))
    }

    fn enter(&mut self, folder: &[u8]) -> Option<usize> {
        let opened = self.gate.folder(Path::new(OsStr::from_bytes(folder)))?;
        if self.folders.len() >= MAX_FOLDERS {
            self.folders.remove(0);
        }
        self.folders.push((folder.to_vec(), opened));
        Some(self.folders.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::gate::Admitted;
    use codeyard_model::uri::encode_path;

    #[test]
    fn a_visit_says_what_the_gate_says() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        for folder in ["w/a/b", "w/c", "out"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        for file in ["w/1", "w/a/2", "w/a/3 é", "w/a/b/4", "w/c/5", "out/6"] {
            fs::write(top.join(file), "").unwrap();
        }
        for (at, to) in [("w/a/in", "w/c/5"), ("w/a/leads", "w/c"), ("w/out", "out"), ("w/a/away", "out/6")] {
            symlink(top.join(to), top.join(at)).unwrap();
        }
        let gate = Gate::open(&[top.join("w")], &[]).unwrap();
        let names = [
            "w/1",
            "w/a/2",
            "w/a/3 é",
            "w/a/b/4",
            "w/c/5",
            "out/6",
            "w/a/in",
            "w/a/leads/5",
            "w/out/6",
            "w/a/away",
            "w/a",
            "w",
            "",
            "w/none",
            "w/none/1",
            "w/a/b/../2",
            "w/a/b/../../../out/6",
            "w/1/2",
            "w/a/",
            "w/a/.",
        ];
        let texts = names.map(|name| format!("file://{}/{name}", top.display()));
        let mut visit = gate.visit();
        for text in texts.iter().chain(&texts).map(String::as_str).chain(["http://a/b", "file:relative", ""]) {
            let seen = visit.admit(text);
            let admitted = match &seen {
                Seen::Inside(uri, stamp) => {
                    assert_eq!(*stamp, gate.stat(uri).unwrap(), "{text}");
                    assert_eq!(*stamp, visit.stat(uri).unwrap(), "{text}");
                    Admitted::Inside(uri.clone())
                }
                Seen::Outside => Admitted::Outside,
                Seen::Missing => Admitted::Missing,
            };
            assert_eq!(admitted, gate.admit(text), "{text}");
        }
    }

    #[test]
    fn more_folders_than_are_held() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        let files: Vec<_> = (0..MAX_FOLDERS * 2).map(|number| top.join(format!("{number}/file"))).collect();
        for file in &files {
            fs::create_dir(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let gate = Gate::open(&[top], &[]).unwrap();
        let mut visit = gate.visit();
        for file in files.iter().chain(&files) {
            assert!(matches!(visit.admit(&encode_path(file)), Seen::Inside(..)));
            assert!(visit.folders.len() <= MAX_FOLDERS);
        }
    }

    #[test]
    fn what_is_gone_or_became_a_link_meanwhile_is_noticed() {
        let tree = tempfile::tempdir().unwrap();
        let top = tree.path().canonicalize().unwrap();
        fs::create_dir(top.join("w")).unwrap();
        for file in ["w/1", "w/2", "out"] {
            fs::write(top.join(file), "").unwrap();
        }
        let gate = Gate::open(&[top.join("w")], &[]).unwrap();
        let mut visit = gate.visit();
        let (one, other) = (encode_path(&top.join("w/1")), encode_path(&top.join("w/2")));
        assert!(matches!(visit.admit(&one), Seen::Inside(..)));
        fs::remove_file(top.join("w/1")).unwrap();
        fs::remove_file(top.join("w/2")).unwrap();
        symlink(top.join("out"), top.join("w/2")).unwrap();
        assert_eq!((visit.admit(&one), visit.admit(&other)), (Seen::Missing, Seen::Outside));
    }
}
