//! The files that git tracks, from the index of a working tree (`.git/index`).
//!
//! git's ignore rules don't apply to a tracked file. Only hashes of the paths are kept: they answer whether a path is tracked, in a tenth of the
//! memory. The index is read strictly, with a bound; one that can't be read tracks nothing. It parses the versions 2 to 4 and split indexes.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use parking_lot::Mutex;

use crate::gate::RootReader;
use crate::git_layout::{GitLayout, ObjectFormat};

/// Largest index of a working tree that is read, in bytes: about a million files.
const MAX_GIT_INDEX_BYTES: u64 = 256 * 1024 * 1024;

/// Most bits of a bitmap: more than the entries of the largest index. A few bytes of it can claim billions.
const MAX_BITMAP_BITS: u64 = MAX_GIT_INDEX_BYTES / 64;

/// Bytes of an entry before its object id: times, device, inode, mode, owner, size.
const STAT_BYTES: usize = 40;
/// The bits of the mode that say what an entry is.
const KIND_MASK: u32 = 0o170_000;
/// A folder instead of the files in it, and the top folder of a submodule.
const FOLDER_KINDS: [u32; 2] = [0o040_000, 0o160_000];

/// The tracked files of a working tree, and the folders that hold them.
#[derive(Debug, Default)]
pub(crate) struct TrackedFiles {
    /// Hashes, sorted.
    files: Vec<u64>,
    /// Hashes, sorted.
    folders: Vec<u64>,
    /// The hashes of paths that are ignored but for being tracked, as far as somebody asked.
    unignored: Mutex<BTreeSet<u64>>,
}

impl TrackedFiles {
    /// The tracked files of a working tree.
    pub(crate) fn of(layout: &GitLayout) -> Self {
        let mut tracked = Self::default();
        for_each_entry(layout, |path, is_folder| {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            let list = if is_folder { &mut tracked.folders } else { &mut tracked.files };
            list.push(hash(path));
            let above = (0..path.len()).filter(|at| path[*at] == b'/');
            tracked.folders.extend(above.map(|at| hash(&path[..at])));
            // Neighbours have the same folders above them.
            if tracked.folders.len() > 2 * tracked.files.len() + 4_096 {
                tracked.folders.sort_unstable();
                tracked.folders.dedup();
            }
        });
        for list in [&mut tracked.files, &mut tracked.folders] {
            list.sort_unstable();
            list.dedup();
            list.shrink_to_fit();
        }
        tracked
    }

    /// Whether a path that an ignore rule matches is a tracked file, or a folder that holds one. `path` is relative to the top.
    pub(crate) fn holds(&self, path: &Path, is_folder: bool) -> bool {
        let hash = hash(path.as_os_str().as_bytes());
        let list = if is_folder { &self.folders } else { &self.files };
        let is_tracked = list.binary_search(&hash).is_ok();
        if is_tracked && !is_folder {
            self.unignored.lock().insert(hash);
        }
        is_tracked
    }

    /// Whether the present index no longer tracks a file that is listed only because it was tracked, or tracks a new one that `is_ignored`.
    pub(crate) fn have_changed(&self, layout: &GitLayout, is_ignored: impl Fn(&Path) -> bool) -> bool {
        let mut gone = self.unignored.lock().clone();
        let mut has_new = false;
        for_each_entry(layout, |path, is_folder| {
            let hash = hash(path);
            gone.remove(&hash);
            let is_new = !is_folder && self.files.binary_search(&hash).is_err();
            has_new |= is_new && !has_new && is_ignored(Path::new(std::ffi::OsStr::from_bytes(path)));
        });
        has_new || !gone.is_empty()
    }
}

fn hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(path);
    hasher.finish()
}

/// Calls `each` with the path of every entry, and whether it is a folder.
fn for_each_entry(layout: &GitLayout, mut each: impl FnMut(&[u8], bool)) {
    let id_bytes = if layout.object_format == ObjectFormat::Sha256 { 32 } else { 20 };
    let read = |name: &str| {
        let mut bytes = Vec::new();
        let read = RootReader::open(&layout.git_dir).read(Path::new(name), MAX_GIT_INDEX_BYTES, &mut bytes);
        read.ok().map(|_| bytes)
    };
    let Some(bytes) = read("index") else { return };
    let Some(extensions) = parse_entries(&bytes, id_bytes, |_, path, is_folder| each(path, is_folder)) else { return };
    let Some((id, deleted)) = link(extensions, id_bytes) else { return };
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let Some(shared) = read(&format!("sharedindex.{name}")) else { return };
    parse_entries(&shared, id_bytes, |nth, path, is_folder| {
        if !deleted.contains(&nth) {
            each(path, is_folder);
        }
    });
}

/// Calls `each` with the number, the path and the kind of every entry, and returns what follows them. `None`: the index is cut or unknown.
fn parse_entries(bytes: &[u8], id_bytes: usize, mut each: impl FnMut(u64, &[u8], bool)) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"DIRC")?;
    let version = take_u32(&mut rest)?;
    let entries = take_u32(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut path: Vec<u8> = Vec::new();
    for nth in 0..entries {
        let start = rest;
        let mode = u32::from_be_bytes(*rest.get(24..)?.first_chunk()?);
        rest = rest.get(STAT_BYTES + id_bytes..)?;
        let flags = take_u16(&mut rest)?;
        if version >= 3 && flags & 0x4000 != 0 {
            take_u16(&mut rest)?;
        }
        let mut removed = path.len();
        if version == 4 {
            removed = usize::try_from(take_offset(&mut rest)?).ok()?;
        }
        path.truncate(path.len().checked_sub(removed)?);
        let end = rest.iter().position(|byte| *byte == 0)?;
        path.extend(&rest[..end]);
        rest = &rest[end + 1..];
        if version < 4 {
            // At least one zero byte, up to a multiple of eight.
            let length = (start.len() - rest.len() - 1) / 8 * 8 + 8;
            rest = start.get(length..)?;
        }
        // In a split index, an entry that replaces one of the shared index has no path.
        if !path.is_empty() {
            each(u64::from(nth), &path, FOLDER_KINDS.contains(&(mode & KIND_MASK)));
        }
    }
    Some(rest)
}

/// The shared index that a split index names, and the numbers of its entries that don't count any more.
fn link(mut extensions: &[u8], id_bytes: usize) -> Option<(&[u8], BTreeSet<u64>)> {
    loop {
        let (name, mut rest) = extensions.split_first_chunk::<4>()?;
        let length = take_u32(&mut rest)? as usize;
        let (body, rest) = rest.split_at_checked(length)?;
        if name == b"link" {
            let (id, deleted) = body.split_at_checked(id_bytes)?;
            return Some((id, bitmap(deleted).unwrap_or_default()));
        }
        extensions = rest;
    }
}

/// The positions of the bits that are set in a bitmap that is compressed as EWAH.
fn bitmap(mut bytes: &[u8]) -> Option<BTreeSet<u64>> {
    let bits = Some(u64::from(take_u32(&mut bytes)?)).filter(|bits| *bits <= MAX_BITMAP_BITS)?;
    let words = take_u32(&mut bytes)? as usize;
    let (words, _) = bytes.get(..words.checked_mul(8)?)?.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_be_bytes(*word));
    let mut set = BTreeSet::new();
    let mut at = 0;
    while let Some(marker) = words.next() {
        let run = (marker >> 1 & 0xffff_ffff) * 64;
        if marker & 1 != 0 {
            set.extend(at..bits.min(at + run));
        }
        at += run;
        for word in words.by_ref().take((marker >> 33) as usize) {
            set.extend((0..64).filter(|bit| word >> bit & 1 != 0).map(|bit| at + bit));
            at += 64;
        }
    }
    Some(set)
}

/// A number as git encodes offsets.
fn take_offset(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value = value.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value += 1;
    }
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (value, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*value))
}

fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    let (value, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u16::from_be_bytes(*value))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tracked_paths_are_those_of_git_in_every_form_of_the_index() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = |args: &[&str]| crate::test_git::run_git(&root, args).unwrap();
        git(&["init", "-q"]);
        let long = format!("long/{}/x", "n".repeat(200));
        let names = ["a", "build/deep/er/keep.py", "build/keep.py", "build0", &long];
        for name in names {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "x").unwrap();
        }
        git(&["add", "-A"]);
        let layout = GitLayout::of_root(&root, &[]).unwrap();
        let check = |form: &str, gone: &[&str]| {
            let tracked = TrackedFiles::of(&layout);
            for name in names {
                assert_eq!(tracked.holds(Path::new(name), false), !gone.contains(&name), "{form}: {name}");
            }
            for (folder, expected) in
                [("build", true), ("build/deep/er", !gone.contains(&names[1])), ("a", false), ("none", false)]
            {
                assert_eq!(tracked.holds(Path::new(folder), true), expected, "{form}: {folder}");
            }
        };
        check("version 2", &[]);
        git(&["update-index", "--index-version", "4"]);
        check("version 4", &[]);
        git(&["update-index", "--index-version", "2"]);
        git(&["update-index", "--skip-worktree", "a"]);
        check("version 3", &[]);
        git(&["update-index", "--split-index"]);
        git(&["rm", "-q", "--cached", names[1]]);
        check("a split index", &names[1..2]);
        git(&["update-index", "--force-remove", "a"]);
        check("a split index with more changes", &["a", names[1]]);
        let whole = fs::read(root.join(".git/index")).unwrap();
        for length in 0..whole.len() {
            fs::write(root.join(".git/index"), &whole[..length]).unwrap();
            let _ = TrackedFiles::of(&layout);
        }
    }

    #[test]
    fn only_changes_of_ignored_files_count() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = |args: &[&str]| crate::test_git::run_git(&root, args).unwrap();
        git(&["init", "-q"]);
        for name in ["kept.log", "other.log", "plain.py"] {
            fs::write(root.join(name), "x").unwrap();
        }
        git(&["add", "kept.log"]);
        let layout = GitLayout::of_root(&root, &[]).unwrap();
        let is_log = |path: &Path| path.extension().is_some_and(|end| end == "log");
        let before = TrackedFiles::of(&layout);
        assert!(before.holds(Path::new("kept.log"), false));
        assert!(!before.have_changed(&layout, is_log));
        git(&["add", "plain.py"]);
        assert!(!before.have_changed(&layout, is_log), "not ignored");
        git(&["add", "other.log"]);
        assert!(before.have_changed(&layout, is_log), "a new one");
        git(&["rm", "-q", "--cached", "other.log", "kept.log"]);
        assert!(before.have_changed(&layout, is_log), "one less");
    }
}
