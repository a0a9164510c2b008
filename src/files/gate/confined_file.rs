//! Opens a single file below a folder, for files that a repository controls and that aren't documents: manifests, build files, markers.
//!
//! Links are followed as long as they stay below the folder. Invariants: what is opened is a regular file below the folder; no call waits
//! for a FIFO, a socket or a device; the caller bounds how much it reads.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::FileStamp;
use super::open::{OpenError, OpenMethod};
use super::resolve_links::{ResolvedPath, resolve_links};

/// Why a file wasn't opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It doesn't exist, isn't a regular file, or this process lacks the permission.
    #[error("no readable regular file is there")]
    Missing,
    /// A link leads out of the folder.
    #[error("a link leads out of the workspace")]
    Outside,
    /// It is larger than the caller allows.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The system failed: no descriptor was free, or reading failed.
    #[error("the system can't read it")]
    Failed,
}

/// Opens the regular file at `path`, if both the path as it is spelt and its real path lie below `folder`, itself a real path.
///
/// # Errors
/// If there is no such file.
pub fn open_below(folder: &Path, path: &Path) -> Result<(File, FileStamp), FileRefusal> {
    open_by(OpenMethod::detect(), folder, path)
}

/// Reads the same file, if it has at most `max_bytes`.
///
/// # Errors
/// If there is no such file, or it is larger.
pub fn read_below(folder: &Path, path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileRefusal> {
    let (file, stamp) = open_below(folder, path)?;
    if stamp.size > max_bytes {
        return Err(FileRefusal::TooLarge(max_bytes));
    }
    let bytes = read_up_to(file, stamp.size, max_bytes + 1)?;
    if bytes.len() as u64 > max_bytes { Err(FileRefusal::TooLarge(max_bytes)) } else { Ok(bytes) }
}

/// Reads the first `max_bytes` of the same file.
///
/// # Errors
/// If there is no such file.
pub fn read_start_below(folder: &Path, path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileRefusal> {
    let (file, stamp) = open_below(folder, path)?;
    read_up_to(file, stamp.size, max_bytes)
}

fn read_up_to(file: File, size: u64, max_bytes: u64) -> Result<Vec<u8>, FileRefusal> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(max_bytes)).unwrap_or(0));
    file.take(max_bytes).read_to_end(&mut bytes).map_err(|_| FileRefusal::Failed)?;
    Ok(bytes)
}

fn open_by(method: OpenMethod, folder: &Path, path: &Path) -> Result<(File, FileStamp), FileRefusal> {
    let mut path = normal(path);
    for _ in 0..crate::limits::MAX_GATE_RETRIES {
        let rest = path.strip_prefix(folder).map_err(|_| FileRefusal::Outside)?;
        match method.read(folder, rest) {
            Ok((file, stat)) => return Ok((file, FileStamp::of(&stat))),
            Err(OpenError::Link) => {}
            Err(OpenError::Again) => continue,
            Err(OpenError::NoFile | OpenError::Denied) => return Err(FileRefusal::Missing),
            Err(OpenError::Exhausted) => return Err(FileRefusal::Failed),
        }
        path = match resolve_links(&path, |_| true) {
            ResolvedPath::Real(real) => real,
            ResolvedPath::Missing(missing) if missing.starts_with(folder) => return Err(FileRefusal::Missing),
            ResolvedPath::Missing(_) | ResolvedPath::Untraceable => return Err(FileRefusal::Outside),
        };
    }
    Err(FileRefusal::Missing)
}

/// The path without `.` and `..`, by its text.
pub fn normal(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(all.pop()),
            part => all.push(part),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_below_the_folder_are_opened_and_nothing_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c.txt"), "inside").unwrap();
        fs::write(base.join("secret"), "outside").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("fifo"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        let _socket = UnixListener::bind(root.join("socket")).unwrap();
        for (target, name) in [
            ("a/b/c.txt", "link"),
            ("link", "second"),
            ("a", "folder"),
            ("/dev/zero", "zero"),
            ("../secret", "out"),
            ("../none", "dangling"),
            ("none", "missing"),
            ("loop", "loop"),
            ("fifo", "to_fifo"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        symlink(root.join("a/b"), root.join("absolute")).unwrap();
        let sparse = fs::File::create(root.join("sparse")).unwrap();
        sparse.set_len(50 << 30).unwrap();
        for method in [OpenMethod::detect(), OpenMethod::PerSegment] {
            let open = |name: &str| open_by(method, &root, &root.join(name)).map(|(_, stamp)| stamp.size);
            for name in ["a/b/c.txt", "link", "second", "folder/b/c.txt", "absolute/c.txt", "a/../link"] {
                assert_eq!(open(name), Ok(6), "{name}");
            }
            for name in ["fifo", "socket", "to_fifo", "a", "", "missing", "none/x", "loop"] {
                assert_eq!(open(name), Err(FileRefusal::Missing), "{name}");
            }
            for name in ["zero", "out", "dangling", "../secret"] {
                assert_eq!(open(name), Err(FileRefusal::Outside), "{name}");
            }
            assert_eq!(open("sparse"), Ok(50 << 30));
        }
        assert_eq!(read_below(&root, &root.join("sparse"), 1 << 20), Err(FileRefusal::TooLarge(1 << 20)));
        assert_eq!(read_start_below(&root, &root.join("sparse"), 4), Ok(vec![0; 4]));
        for most in [6, 7] {
            assert_eq!(read_below(&root, &root.join("link"), most), Ok(b"inside".to_vec()));
        }
        assert_eq!(read_below(&root, &root.join("link"), 5), Err(FileRefusal::TooLarge(5)));
    }

    /// Files of the kernel say that they are empty, as one that grows at the moment.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_larger_than_its_stamp_says_is_too_large() {
        let kernel = Path::new("/proc");
        let version = kernel.join("version");
        let read = |most: u64| read_below(kernel, &version, most);
        let whole = read(1 << 20).unwrap();
        assert_eq!(open_below(kernel, &version).unwrap().1.size, 0);
        assert!(whole.starts_with(b"Linux version"));
        for most in [0, 5, 32] {
            assert_eq!(read(most), Err(FileRefusal::TooLarge(most)));
            assert_eq!(read_start_below(kernel, &version, most).unwrap(), whole[..most as usize]);
        }
    }
}
