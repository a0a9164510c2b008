//! Where the git directory of a working tree lies, and whether it may be read for the workspace.
//!
//! A repository controls its own `.git`: a file or link there, `commondir` and `alternates` can name any directory of the machine. This
//! module decides which of them count. It resolves names and reads a few small files, all strictly: no link is followed in the last
//! step, only regular files are read, with a bound. It doesn't read objects.
//!
//! A git directory counts if one of these holds:
//! - it is a real directory named `.git` in the root or in a directory above it;
//! - it lies inside the root, or in a directory that the operator allows (`[index] git_dirs`);
//! - it points back: git keeps in it the path of this working tree, as for linked worktrees and submodules.
//!
//! Invariant: a [`GitLayout`] names only directories that count, by their real paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::gate::RootReader;
use codeyard_base::seeded_faults;

/// Largest `.git`, `commondir` or `gitdir` file that is read, in bytes: one path and a line break.
const MAX_GIT_LINK_BYTES: u64 = 8 * 1024;
/// Largest configuration of a repository that is searched for `core.worktree`, in bytes.
const MAX_GIT_CONFIG_BYTES: u64 = 1024 * 1024;
/// Largest list of alternate object directories that is read, in bytes.
const MAX_ALTERNATES_BYTES: u64 = 256 * 1024;

/// The directories of a repository that may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLayout {
    /// The top directory of the working tree, which holds `.git`.
    pub top: PathBuf,
    /// The git directory of this working tree. Real path.
    pub git_dir: PathBuf,
    /// The git directory that all working trees share. Real path. Equal to `git_dir` except in a linked worktree.
    pub common_dir: PathBuf,
    /// `objects/info/alternates` or a link names a directory that doesn't count, so some objects or references can't be read.
    pub borrows_outside: bool,
    /// The hashes that name objects.
    pub object_format: ObjectFormat,
    /// References are in the format `reftable`, not in files of their own.
    pub has_reftable: bool,
    /// The root is the git directory itself; there is no working tree.
    pub is_bare: bool,
}

/// The hashes that name objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

/// Why a root has no readable repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRepository {
    /// No directory from the root upwards has a `.git`.
    Missing,
    /// Its git directory lies outside the root, doesn't point back, and isn't allowed.
    Outside,
    /// `.git` or one of its files isn't what git makes.
    Invalid,
}

impl GitLayout {
    /// The repository that contains `root`, a real path. `allowed`: real paths of directories in which git directories may lie.
    ///
    /// # Errors
    /// There is none, or it doesn't count.
    pub fn of_root(root: &Path, allowed: &[PathBuf]) -> Result<Self, NoRepository> {
        let Some(top) = top_of(root) else { return Self::bare(root, allowed) };
        let is_allowed = |dir: &Path| dir.starts_with(root) || allowed.iter().any(|allowed| dir.starts_with(allowed));
        let dot_git = top.join(".git");
        let kind = dot_git.symlink_metadata().map_err(|_| NoRepository::Missing)?.file_type();
        let git_dir = match kind {
            _ if kind.is_dir() => dot_git.clone(),
            _ if kind.is_symlink() => real_dir(&dot_git)?,
            _ if kind.is_file() => {
                let text = small_file(top, ".git", MAX_GIT_LINK_BYTES)?.ok_or(NoRepository::Invalid)?;
                real_dir(&top.join(path_of_line(text.strip_prefix(b"gitdir:").ok_or(NoRepository::Invalid)?)))?
            }
            _ => return Err(NoRepository::Invalid),
        };
        let is_own = git_dir == dot_git || is_allowed(&git_dir);
        if !is_own && !points_back(&git_dir, top) {
            return Err(NoRepository::Outside);
        }
        let common_dir = match small_file(&git_dir, "commondir", MAX_GIT_LINK_BYTES)? {
            Some(text) => real_dir(&git_dir.join(path_of_line(&text)))?,
            None => git_dir.clone(),
        };
        let is_shared = common_dir == git_dir || is_allowed(&common_dir);
        if !is_shared && (is_own || !is_worktree_of(&git_dir, &common_dir)) {
            return Err(NoRepository::Outside);
        }
        Ok(Self::of_dirs(top, git_dir, common_dir, is_allowed))
    }

    /// The bare repository at `root`.
    fn bare(root: &Path, allowed: &[PathBuf]) -> Result<Self, NoRepository> {
        let is_file = |name: &str| root.join(name).symlink_metadata().is_ok_and(|found| found.is_file());
        if !is_file("HEAD") || !is_file("config") || !["objects", "refs"].iter().all(|name| root.join(name).is_dir()) {
            return Err(NoRepository::Missing);
        }
        let is_allowed = |dir: &Path| dir.starts_with(root) || allowed.iter().any(|allowed| dir.starts_with(allowed));
        Ok(Self { is_bare: true, ..Self::of_dirs(root, root.to_owned(), root.to_owned(), is_allowed) })
    }

    fn of_dirs(top: &Path, git_dir: PathBuf, common_dir: PathBuf, is_allowed: impl Fn(&Path) -> bool) -> Self {
        let counts = |dir: &Path| is_allowed(dir) || dir.starts_with(&common_dir);
        let borrows_outside = borrows_outside(&common_dir, counts);
        let config = read_small(&common_dir, "config", MAX_GIT_CONFIG_BYTES).unwrap_or_default();
        let extension = |name: &str| config_value(&config, "extensions", name).unwrap_or_default().to_ascii_lowercase();
        Self {
            top: top.to_owned(),
            borrows_outside,
            object_format: match extension("objectformat").as_slice() {
                b"sha256" => ObjectFormat::Sha256,
                _ => ObjectFormat::Sha1,
            },
            has_reftable: extension("refstorage").starts_with(b"reftable"),
            is_bare: false,
            git_dir,
            common_dir,
        }
    }

    /// A small text file of the git directory; `None` if it doesn't exist, isn't a regular file, or is larger than `max_bytes`.
    pub fn read(&self, name: &str, max_bytes: u64) -> Option<Vec<u8>> {
        read_small(&self.git_dir, name, max_bytes)
    }

    /// The same in the shared git directory.
    pub fn read_common(&self, name: &str, max_bytes: u64) -> Option<Vec<u8>> {
        read_small(&self.common_dir, name, max_bytes)
    }
}

/// The nearest directory from `root` upwards that has an entry `.git`.
pub fn top_of(root: &Path) -> Option<&Path> {
    root.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())
}

/// Whether a directory is a linked worktree inside another working tree of the same repository. Its files are copies of those around it.
pub fn is_inner_worktree(dir: &Path) -> bool {
    let is_linked = dir.join(".git").symlink_metadata().is_ok_and(|found| found.is_file());
    let common_dir = |dir: &Path| GitLayout::of_root(dir, &[]).ok().map(|layout| layout.common_dir);
    is_linked && dir.parent().and_then(common_dir).is_some_and(|around| common_dir(dir) == Some(around))
}

fn real_dir(path: &Path) -> Result<PathBuf, NoRepository> {
    let real = path.canonicalize().map_err(|_| NoRepository::Invalid)?;
    if real.is_dir() { Ok(real) } else { Err(NoRepository::Invalid) }
}

fn read_small(dir: &Path, name: &str, max_bytes: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    RootReader::open(dir).read(Path::new(name), max_bytes, &mut bytes).ok().map(|_| bytes)
}

/// As [`read_small`]; an entry of this name that can't be read is an error.
fn small_file(dir: &Path, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, NoRepository> {
    match read_small(dir, name, max_bytes) {
        Some(bytes) => Ok(Some(bytes)),
        None if dir.join(name).symlink_metadata().is_ok() => Err(NoRepository::Invalid),
        None => Ok(None),
    }
}

fn path_of_line(line: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(line.trim_ascii()))
}

/// Whether git made `git_dir` for the working tree `top`: a linked worktree's directory has a file `gitdir` with the path of its `.git`,
/// and a submodule's configuration has `core.worktree`.
fn points_back(git_dir: &Path, top: &Path) -> bool {
    if seeded_faults::is_on("git_directory_of_others") {
        return true;
    }
    let is_top = |dir: &Path| dir.canonicalize().is_ok_and(|real| real == top);
    if let Some(text) = read_small(git_dir, "gitdir", MAX_GIT_LINK_BYTES) {
        let dot_git = git_dir.join(path_of_line(&text));
        return dot_git.file_name() == Some(OsStr::new(".git")) && dot_git.parent().is_some_and(is_top);
    }
    // With a configuration of its own, a working tree has the value there: `git sparse-checkout` moves it.
    let mut configs = ["config.worktree", "config"].into_iter();
    let value = configs.find_map(|name| {
        let config = read_small(git_dir, name, MAX_GIT_CONFIG_BYTES)?;
        config_value(&config, "core", "worktree").map(|value| PathBuf::from(OsStr::from_bytes(value)))
    });
    value.is_some_and(|dir| is_top(&git_dir.join(dir)))
}

/// Whether `git_dir` is the directory of a linked worktree in `common_dir`, where git alone writes.
fn is_worktree_of(git_dir: &Path, common_dir: &Path) -> bool {
    git_dir.parent().is_some_and(|worktrees| worktrees.ends_with("worktrees") && worktrees.parent() == Some(common_dir))
}

/// The last value of a name in a section without a subsection.
fn config_value<'c>(config: &'c [u8], section: &str, name: &str) -> Option<&'c [u8]> {
    let mut is_inside = false;
    let mut found = None;
    for line in config.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if let Some(head) = line.strip_prefix(b"[") {
            let head = head.split(|byte| *byte == b']').next().unwrap_or_default();
            is_inside = head.trim_ascii().eq_ignore_ascii_case(section.as_bytes());
        } else if let Some(at) = line.iter().position(|byte| *byte == b'=').filter(|_| is_inside)
            && line[..at].trim_ascii().eq_ignore_ascii_case(name.as_bytes())
        {
            let value = line[at + 1..].trim_ascii();
            found = Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value));
        }
    }
    found
}

/// Whether a link or `alternates` names a directory that doesn't count, or `alternates` can't be read at all.
fn borrows_outside(common_dir: &Path, counts: impl Fn(&Path) -> bool) -> bool {
    let objects = common_dir.join("objects");
    let links = ["objects", "objects/pack", "refs", "packed-refs", "config"].map(|name| common_dir.join(name));
    let mut links = links.iter().filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_symlink()));
    if links.any(|link| link.canonicalize().is_ok_and(|real| !counts(&real))) {
        return true;
    }
    match small_file(common_dir, "objects/info/alternates", MAX_ALTERNATES_BYTES) {
        Err(_) => true,
        Ok(None) => false,
        Ok(Some(text)) => {
            let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            let mut named = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
            named.any(|line| objects.join(path_of_line(line)).canonicalize().is_ok_and(|dir| !counts(&dir)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Trees {
        _dir: tempfile::TempDir,
        /// The folder of a person's repository, outside of the root.
        victim: PathBuf,
        root: PathBuf,
    }

    fn git(dir: &Path, arguments: &[&str]) {
        crate::test_git::run_git(dir, arguments).unwrap();
    }

    fn trees() -> Trees {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let victim = top.join("victim");
        let root = top.join("root");
        for folder in [&victim, &root] {
            fs::create_dir(folder).unwrap();
        }
        git(&victim, &["init", "-q", "-b", "main"]);
        git(&victim, &["commit", "-q", "--allow-empty", "-m", "one"]);
        Trees { _dir: dir, victim, root }
    }

    fn refusal(root: &Path) -> Option<NoRepository> {
        GitLayout::of_root(root, &[]).err()
    }

    #[test]
    fn ways_to_another_repository_are_refused() {
        let Trees { victim, root, _dir } = trees();
        let dot_git = root.join(".git");
        let outside = victim.join(".git");
        assert_eq!(refusal(&root), Some(NoRepository::Missing));
        fs::write(&dot_git, format!("gitdir: {}\n", outside.display())).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Outside), "a file");
        fs::write(&dot_git, "gitdir: ../victim/.git").unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Outside), "a relative path");
        fs::remove_file(&dot_git).unwrap();
        symlink(&outside, &dot_git).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Outside), "a link");
        assert!(GitLayout::of_root(&root, std::slice::from_ref(&victim)).is_ok(), "the operator allows it");
        fs::remove_file(&dot_git).unwrap();
        fs::create_dir(&dot_git).unwrap();
        fs::write(dot_git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dot_git.join("commondir"), "../../victim/.git\n").unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Outside), "commondir");
        fs::remove_file(dot_git.join("commondir")).unwrap();
        symlink(outside.join("HEAD"), dot_git.join("commondir")).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Invalid), "commondir is a link");
        fs::remove_file(dot_git.join("commondir")).unwrap();
        fs::create_dir_all(dot_git.join("objects/info")).unwrap();
        for (alternates, borrows) in [
            (format!("{}/objects\n", outside.display()), true),
            ("# none\n\n../../../victim/.git/objects\n".to_owned(), true),
            ("../modules\n/does/not/exist\n".to_owned(), false),
        ] {
            fs::write(dot_git.join("objects/info/alternates"), &alternates).unwrap();
            assert_eq!(GitLayout::of_root(&root, &[]).unwrap().borrows_outside, borrows, "{alternates}");
        }
        fs::remove_file(dot_git.join("objects/info/alternates")).unwrap();
        symlink("/dev/zero", dot_git.join("objects/info/alternates")).unwrap();
        assert!(GitLayout::of_root(&root, &[]).unwrap().borrows_outside);
        // A false worktree inside the root that names a common directory outside.
        fs::remove_dir_all(&dot_git).unwrap();
        fs::create_dir_all(root.join("false/worktrees/x")).unwrap();
        fs::write(&dot_git, "gitdir: false/worktrees/x").unwrap();
        fs::write(root.join("false/worktrees/x/commondir"), outside.as_os_str().as_bytes()).unwrap();
        fs::write(root.join("false/worktrees/x/gitdir"), dot_git.as_os_str().as_bytes()).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Outside), "a false worktree");
    }

    #[test]
    fn repositories_that_git_made_count() {
        let Trees { victim, root, _dir } = trees();
        let own = GitLayout::of_root(&victim, &[]).unwrap();
        assert_eq!((own.git_dir.as_path(), &own.common_dir), (victim.join(".git").as_path(), &own.git_dir));
        fs::create_dir(victim.join("sub")).unwrap();
        assert_eq!(GitLayout::of_root(&victim.join("sub"), &[]).unwrap().top, victim);
        let worktree = root.join("worktree");
        git(&victim, &["worktree", "add", "-q", "--detach", worktree.to_str().unwrap()]);
        let linked = GitLayout::of_root(&worktree, &[]).unwrap();
        assert_eq!(linked.common_dir, victim.join(".git"));
        assert_ne!(linked.git_dir, linked.common_dir);
        assert!(!is_inner_worktree(&worktree) && !is_inner_worktree(&victim));
        let inner = victim.join("sub/inner");
        git(&victim, &["worktree", "add", "-q", "--detach", inner.to_str().unwrap()]);
        assert!(is_inner_worktree(&inner) && !is_inner_worktree(&victim.join("sub")));
        // A copy of the worktree's `.git` in another folder doesn't point back.
        let copy = root.join("copy");
        fs::create_dir(&copy).unwrap();
        fs::copy(worktree.join(".git"), copy.join(".git")).unwrap();
        assert_eq!(refusal(&copy), Some(NoRepository::Outside));
        // A submodule.
        git(&root, &["init", "-q", "whole"]);
        let whole = root.join("whole");
        git(&whole, &["submodule", "--quiet", "add", victim.to_str().unwrap(), "part"]);
        let part = GitLayout::of_root(&whole.join("part"), &[]).unwrap();
        assert_eq!(part.git_dir, whole.join(".git/modules/part"));
        assert!(!is_inner_worktree(&whole.join("part")));
        // git keeps the path of the working tree in another file then.
        git(&whole.join("part"), &["sparse-checkout", "set", "sub"]);
        assert_eq!(GitLayout::of_root(&whole.join("part"), &[]).unwrap(), part);
    }

    #[test]
    fn a_bare_repository_and_the_formats_of_a_repository_are_recognised() {
        let Trees { victim, root, _dir } = trees();
        let plain = GitLayout::of_root(&victim, &[]).unwrap();
        assert_eq!((plain.object_format, plain.has_reftable, plain.is_bare), (ObjectFormat::Sha1, false, false));
        git(&root, &["clone", "-q", "--bare", victim.to_str().unwrap(), "bare.git"]);
        let bare = GitLayout::of_root(&root.join("bare.git"), &[]).unwrap();
        assert_eq!((bare.is_bare, &bare.git_dir), (true, &root.join("bare.git")));
        assert_eq!(refusal(&root.join("bare.git/objects")), Some(NoRepository::Missing));
        git(&root, &["init", "-q", "--object-format=sha256", "long"]);
        assert_eq!(GitLayout::of_root(&root.join("long"), &[]).unwrap().object_format, ObjectFormat::Sha256);
        git(&root, &["init", "-q", "tables"]);
        git(&root.join("tables"), &["config", "extensions.refStorage", "reftable"]);
        assert!(GitLayout::of_root(&root.join("tables"), &[]).unwrap().has_reftable);
    }

    #[test]
    fn links_in_a_git_directory_to_directories_outside_are_noticed() {
        let Trees { victim, root, _dir } = trees();
        git(&root, &["init", "-q", "."]);
        for name in ["objects", "refs", "packed-refs"] {
            let own = root.join(".git").join(name);
            let kept = root.join(".git/kept");
            let _ = fs::rename(&own, &kept);
            fs::write(victim.join(".git/packed-refs"), "").unwrap();
            symlink(victim.join(".git").join(name), &own).unwrap();
            assert!(GitLayout::of_root(&root, &[]).unwrap().borrows_outside, "{name}");
            let allowed = GitLayout::of_root(&root, std::slice::from_ref(&victim)).unwrap();
            assert!(!allowed.borrows_outside, "{name}: the operator allows it");
            fs::remove_file(&own).unwrap();
            let _ = fs::rename(&kept, &own);
        }
        assert!(!GitLayout::of_root(&root, &[]).unwrap().borrows_outside);
    }

    #[test]
    fn a_git_entry_of_another_kind_is_invalid() {
        let Trees { root, _dir, .. } = trees();
        let dot_git = root.join(".git");
        rustix::fs::mknodat(rustix::fs::CWD, &dot_git, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Invalid), "a FIFO");
        fs::remove_file(&dot_git).unwrap();
        let sparse = fs::File::create(&dot_git).unwrap();
        sparse.set_len(50 << 30).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Invalid), "a sparse file");
        fs::remove_file(&dot_git).unwrap();
        symlink("/dev/zero", &dot_git).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Invalid), "a device");
        fs::remove_file(&dot_git).unwrap();
        symlink(".git", &dot_git).unwrap();
        assert_eq!(refusal(&root), Some(NoRepository::Invalid), "a loop");
    }
}
