//! Scans many files for includes with several threads, and remembers the results on disk by path, size and time of modification.
//!
//! The file in the cache folder is only a shortcut: if it is missing or damaged, every file is scanned again. Invariant: a file that was
//! modified less than [`FRESH`] before its scan is not remembered, because a later change could have the same time.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::conditions::Branch;
use super::includes::{Include, IncludeForm, ScannedFile, scan_file};
use codeyard_base::atomic_file::{self, Durability};
use codeyard_base::clock::wall_ns;
use codeyard_files::gate::read_below;

/// Largest file with the includes of a project's files, as the last preparation left it, that is read, in bytes.
const MAX_SCAN_CACHE_BYTES: u64 = 512 * 1024 * 1024;

/// The first line of the file. A file of another version is not read.
const HEAD: &str = "codeyard includes 5";
/// How old a file must be to be remembered, in nanoseconds.
const FRESH: i128 = 2_000_000_000;
/// Largest number of threads of a scan.
const MAX_THREADS: usize = 8;
/// Files that one thread takes at once.
const BATCH: usize = 64;

/// Size and time of modification of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified_ns: i128,
}

#[derive(Debug, Default)]
pub(crate) struct ScanCache {
    known: HashMap<Box<str>, (Stamp, ScannedFile)>,
    /// Scans since the last write, so a cache without news isn't written.
    news: usize,
}

impl ScanCache {
    /// Reads the remembered scans from a file; empty if there is none that can be used.
    pub(crate) fn load(file: &Path) -> Self {
        let folder = file.parent().unwrap_or(file);
        let bytes = read_below(folder, file, MAX_SCAN_CACHE_BYTES).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        Self { known: parse(&text).unwrap_or_default(), news: 0 }
    }

    /// Scans these files below `root`, in this order. A file that can't be read has no includes.
    pub(super) fn scan(&mut self, root: &Path, paths: &[Box<str>]) -> Vec<ScannedFile> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Option<Stamp>, ScannedFile)>> = Mutex::new(Vec::with_capacity(paths.len()));
        let known = &self.known;
        let work = || {
            loop {
                let start = next.fetch_add(BATCH, Ordering::Relaxed);
                if start >= paths.len() {
                    return;
                }
                let batch = (start..paths.len().min(start + BATCH)).map(|at| {
                    let (stamp, scanned) = scan_one(root, &paths[at], known);
                    (at, stamp, scanned)
                });
                let batch: Vec<_> = batch.collect();
                done.lock().extend(batch);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        thread::scope(|scope| {
            for _ in 1..threads.min(paths.len().div_ceil(BATCH)) {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner();
        done.sort_unstable_by_key(|(at, ..)| *at);
        let now = wall_ns();
        let mut scanned = Vec::with_capacity(done.len());
        for (at, stamp, file) in done {
            if let Some(stamp) = stamp.filter(|stamp| stamp.modified_ns + FRESH < now)
                && self.known.get(&paths[at]).is_none_or(|(old, _)| *old != stamp)
            {
                self.news += 1;
                self.known.insert(paths[at].clone(), (stamp, file.clone()));
            }
            scanned.push(file);
        }
        scanned
    }

    /// Writes the scans of `paths` to a file, if something is new.
    ///
    /// # Errors
    /// If it can't be written.
    pub(crate) fn store<'a>(&self, file: &Path, paths: impl Iterator<Item = &'a str>) -> io::Result<()> {
        if self.news == 0 {
            return Ok(());
        }
        let mut text = format!("{HEAD}\n");
        for path in paths.filter(|path| !path.contains('\n')) {
            if let Some((stamp, scanned)) = self.known.get(path) {
                let cpp = u8::from(scanned.is_cpp);
                let directives = u8::from(scanned.is_only_directives);
                let needs = scanned.needs.as_deref().unwrap_or_default();
                text.push_str(&format!("={path}\n{} {} {cpp} {directives} {needs}\n", stamp.size, stamp.modified_ns));
                for include in scanned.includes.iter().filter(|include| !include.name.contains('\n')) {
                    let form = match include.form {
                        IncludeForm::Quoted => '"',
                        IncludeForm::Angled => '<',
                        IncludeForm::Next => '>',
                    };
                    let branch = match include.branch {
                        Branch::Always => '!',
                        Branch::Conditional => '?',
                        Branch::Never => '-',
                    };
                    text.push(form);
                    text.push(branch);
                    text.push_str(&include.name);
                    text.push('\n');
                }
            }
        }
        atomic_file::replace_with(file, Durability::Process, text.as_bytes())
    }
}

fn scan_one(root: &Path, path: &str, known: &HashMap<Box<str>, (Stamp, ScannedFile)>) -> (Option<Stamp>, ScannedFile) {
    let full = root.join(path);
    let Ok(found) = fs::metadata(&full) else { return (None, ScannedFile::default()) };
    if !found.is_file() {
        return (None, ScannedFile::default());
    }
    // A header that was made lies in the cache folder.
    let folder = if full.starts_with(root) { root } else { full.parent().unwrap_or(root) };
    let modified_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    let stamp = Stamp { size: found.size(), modified_ns };
    match known.get(path) {
        Some((old, scanned)) if *old == stamp => (Some(stamp), scanned.clone()),
        _ => scan_file(folder, &full).map_or((None, ScannedFile::default()), |scanned| (Some(stamp), scanned)),
    }
}

fn parse(text: &str) -> Option<HashMap<Box<str>, (Stamp, ScannedFile)>> {
    let mut lines = text.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let mut known = HashMap::new();
    let mut current: Option<(Box<str>, Stamp, ScannedFile)> = None;
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix('=') {
            if let Some((path, stamp, file)) = current.take() {
                known.insert(path, (stamp, file));
            }
            let mut fields = lines.next()?.split(' ');
            let stamp = Stamp { size: fields.next()?.parse().ok()?, modified_ns: fields.next()?.parse().ok()? };
            let scanned = ScannedFile {
                is_cpp: fields.next()? == "1",
                is_only_directives: fields.next()? == "1",
                needs: fields.next().filter(|needs| !needs.is_empty()).map(Into::into),
                includes: Vec::new(),
            };
            current = Some((path.into(), stamp, scanned));
            continue;
        }
        let mut chars = line.chars();
        let form = match chars.next()? {
            '"' => IncludeForm::Quoted,
            '<' => IncludeForm::Angled,
            '>' => IncludeForm::Next,
            _ => return None,
        };
        let branch = match chars.next()? {
            '!' => Branch::Always,
            '?' => Branch::Conditional,
            '-' => Branch::Never,
            _ => return None,
        };
        current.as_mut()?.2.includes.push(Include { name: chars.as_str().into(), form, branch });
    }
    if let Some((path, stamp, file)) = current {
        known.insert(path, (stamp, file));
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    /// Writes a file that is old enough to be remembered.
    fn write(path: &Path, text: &str, seconds_ago: u64) {
        fs::write(path, text).unwrap();
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds_ago)).unwrap();
    }

    #[test]
    fn scans_are_remembered_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let cache = folder.path().join("cache");
        let paths: Vec<Box<str>> = vec!["a.h".into(), "gone.h".into(), "new.h".into()];
        write(
            &root.join("a.h"),
            "#include \"b.h\"\n#if X\n#include <c.h>\n#endif\n#if 0\n#include_next <d.h>\n#endif\n",
            100,
        );
        write(&root.join("new.h"), "#include <n.h>\nnamespace a {}", 0);
        let mut first = ScanCache::load(&cache);
        let scanned = first.scan(root, &paths);
        assert_eq!(scanned.iter().map(|file| file.includes.len()).collect::<Vec<_>>(), [3, 0, 1]);
        first.store(&cache, paths.iter().map(|path| &**path)).unwrap();
        let mut second = ScanCache::load(&cache);
        assert_eq!(second.known.len(), 1, "a file that was just written is not remembered");
        assert_eq!(second.known["a.h"].1, scanned[0]);
        assert_eq!(second.scan(root, &paths), scanned);
        assert_eq!(second.news, 0);
        write(&root.join("a.h"), "#include \"e.h\"\n", 50);
        assert_eq!(&*second.scan(root, &paths)[0].includes[0].name, "e.h");
        fs::write(&cache, format!("{HEAD}\n=a.h\nx\n")).unwrap();
        assert!(ScanCache::load(&cache).known.is_empty());
    }
}
