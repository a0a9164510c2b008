//! What is kept between questions about the modules of a workspace: which words each file has, and the links of files that were read.
//!
//! It only saves work. Invariants: nothing is used for other epochs than it was read at before the stamps of the files are compared that
//! were reported as changed; a file with a young stamp is read again, and a file whose words are known to lack a name has no place with that name. The kept links are bounded
//! by [`MAX_KEPT_LINKS_BYTES`], the words by the bytes of the texts ([`MAX_LINKED_BYTES`]).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::sources::{self, LinkedFile};
use super::word_set::WordSet;
use crate::limits::{MAX_KEPT_LINKS_BYTES, MAX_LINKED_BYTES, MAX_LINKED_FILES};
use codeyard_base::clock;
use codeyard_files::gate::{FileStamp, Gate, StampedAdmission};
use codeyard_model::epoch::{EpochMask, Epochs};
use codeyard_model::uri::encode_path;

/// The cache of one workspace.
#[derive(Clone, Default)]
pub struct ModuleCache {
    kept: Arc<Mutex<KeptModules>>,
    /// Apart from the rest, so that whoever reports a change never waits for files that are read.
    changed: Arc<Mutex<ChangedFiles>>,
}

/// The files that may differ from what was read.
#[derive(Default)]
struct ChangedFiles {
    /// Whether any file may.
    any: bool,
    files: HashSet<PathBuf>,
}

struct KeptModules {
    /// The words of all files, and the epochs at which they were compared with the disk.
    words: Option<(Epochs, Arc<ModuleWords>)>,
    links: LruCache<PathBuf, KeptLinks>,
    bytes: usize,
}

impl Default for KeptModules {
    fn default() -> Self {
        // An unbounded cache allocates no table while nobody asks; `keep` bounds it.
        Self { words: None, links: LruCache::unbounded(), bytes: 0 }
    }
}

/// One file as it was read.
#[derive(Clone)]
struct KeptLinks {
    file: Arc<LinkedFile>,
    /// `None`: the file had just changed.
    settled: Option<FileStamp>,
    bytes: usize,
}

/// The words of the files of JavaScript and TypeScript.
#[derive(Default)]
pub(super) struct ModuleWords {
    files: Vec<FileWords>,
    places: HashMap<PathBuf, usize>,
    /// Whether files were left out because there are too many.
    pub(super) is_cut: bool,
}

struct FileWords {
    path: PathBuf,
    /// `None`: it has just changed, so that the stamp proves nothing.
    settled: Option<FileStamp>,
    bytes: usize,
    words: Arc<WordSet>,
}

impl ModuleCache {
    /// A file may have changed. It must be reported before the epochs are raised.
    pub fn changed(&self, file: &Path) {
        let mut changed = self.changed.lock();
        if !changed.any && sources::is_module(file) {
            changed.files.insert(file.into());
        }
        if changed.files.len() > MAX_LINKED_FILES {
            *changed = ChangedFiles { any: true, files: HashSet::new() };
        }
    }

    /// Any file may have changed.
    pub fn all_changed(&self) {
        *self.changed.lock() = ChangedFiles { any: true, files: HashSet::new() };
    }

    /// The words of these files as they are on disk at these epochs. Blocks.
    pub(super) fn words(&self, listed: &[PathBuf], gate: &Gate, epochs: &Epochs) -> Arc<ModuleWords> {
        let mut kept = self.kept.lock();
        let before = match &kept.words {
            Some((at, words)) if at.agree(epochs, EpochMask::NAVIGATION) => return words.clone(),
            Some((_, words)) => words.clone(),
            None => Arc::default(),
        };
        let changed = std::mem::take(&mut *self.changed.lock());
        let words = Arc::new(ModuleWords::read(listed, gate, &before, &changed));
        kept.words = Some((*epochs, words.clone()));
        words
    }

    /// A file with its links. `settled` is the stamp at which it is known not to have changed since. Blocks. `None` if it can't be read, or is too
    /// large.
    pub(super) fn file(&self, gate: &Gate, path: &Path, settled: Option<FileStamp>) -> Option<Arc<LinkedFile>> {
        let known = self.kept.lock().links.get(path).cloned();
        if let Some(known) = &known
            && settled.is_some()
            && known.settled == settled
        {
            return Some(known.file.clone());
        }
        let ((uri, text), stamp) = sources::stamped_text(gate, path)?;
        let is_settled = !stamp.is_fresh(clock::wall_ns());
        let file = match known {
            Some(known) if known.file.document.source.document.text() == text => known.file,
            _ => Arc::new(sources::linked(path, uri, text)?),
        };
        self.keep(path, KeptLinks { bytes: file.bytes(), file: file.clone(), settled: is_settled.then_some(stamp) });
        Some(file)
    }

    fn keep(&self, path: &Path, file: KeptLinks) {
        let mut kept = self.kept.lock();
        kept.bytes += file.bytes;
        if let Some((_, out)) = kept.links.push(path.to_path_buf(), file) {
            kept.bytes -= out.bytes;
        }
        while kept.bytes > MAX_KEPT_LINKS_BYTES {
            let Some((_, out)) = kept.links.pop_lru() else { break };
            kept.bytes -= out.bytes;
        }
    }
}

impl ModuleWords {
    /// Reads the files that changed since `before`. Those that aren't in `changed` are the same, unless any may have changed.
    fn read(listed: &[PathBuf], gate: &Gate, before: &Self, changed: &ChangedFiles) -> Self {
        let mut words = Self::default();
        let mut bytes = 0;
        let mut lookup = gate.batch_lookup();
        for path in listed.iter().filter(|path| sources::is_module(path)) {
            if words.files.len() >= MAX_LINKED_FILES || bytes >= MAX_LINKED_BYTES {
                words.is_cut = true;
                break;
            }
            let known = before.places.get(path).map(|at| &before.files[*at]).filter(|known| known.settled.is_some());
            let unchanged = known.filter(|known| {
                if !changed.any && !changed.files.contains(path) {
                    return true;
                }
                matches!(lookup.admit(&encode_path(path)), StampedAdmission::Inside(_, now) if Some(now) == known.settled)
            });
            let file = match unchanged {
                Some(known) => known.again(),
                None => match FileWords::read(gate, path) {
                    Some(file) => file,
                    None => continue,
                },
            };
            bytes += file.bytes;
            words.places.insert(path.clone(), words.files.len());
            words.files.push(file);
        }
        words
    }

    /// The files for which this holds.
    pub(super) fn files(&self, holds: impl Fn(&Path, &WordSet) -> bool) -> Vec<PathBuf> {
        let found = self.files.iter().filter(|file| holds(&file.path, &file.words));
        found.map(|file| file.path.clone()).collect()
    }

    /// Whether this holds for any file.
    pub(super) fn any(&self, holds: impl Fn(&Path, &WordSet) -> bool) -> bool {
        self.files.iter().any(|file| holds(&file.path, &file.words))
    }

    /// The folders of the files and those above them, below the first folder that holds all.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        for file in &self.files {
            for folder in file.path.ancestors().skip(1) {
                if !folders.insert(folder.to_path_buf()) {
                    break;
                }
            }
        }
        folders
    }

    /// Whether it is one of the files.
    pub(super) fn lists(&self, path: &Path) -> bool {
        self.places.contains_key(path)
    }

    /// The stamp at which a file was read, unless it had just changed.
    pub(super) fn settled(&self, path: &Path) -> Option<FileStamp> {
        self.files[*self.places.get(path)?].settled
    }
}

impl FileWords {
    fn read(gate: &Gate, path: &Path) -> Option<Self> {
        let ((_, text), stamp) = sources::stamped_text(gate, path)?;
        if !sources::is_module_text(path, &text) {
            return None;
        }
        let settled = (!stamp.is_fresh(clock::wall_ns())).then_some(stamp);
        Some(Self { path: path.into(), settled, bytes: text.len(), words: Arc::new(WordSet::of(&text)) })
    }

    fn again(&self) -> Self {
        Self { path: self.path.clone(), settled: self.settled, bytes: self.bytes, words: self.words.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    /// Writes a file that counts as settled.
    fn put_old(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn words_follow_what_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let a = top.join("a.js");
        let b = top.join("b.ts");
        let other = top.join("c.py");
        put_old(&a, "one();");
        put_old(&b, "two();");
        put_old(&other, "three()");
        let gate = Gate::open(&[top], &[]).unwrap();
        let listed = [a.clone(), b.clone(), other];
        let cache = ModuleCache::default();
        let mut epochs = Epochs::default();
        let having = |epochs: &Epochs, name: &str| {
            cache.words(&listed, &gate, epochs).files(|_, words| words.may_have(name)).len()
        };
        assert_eq!((having(&epochs, "one"), having(&epochs, "two"), having(&epochs, "three")), (1, 1, 0));
        put_old(&a, "changed();");
        assert_eq!(having(&epochs, "changed"), 0, "at the same epochs nothing is read");
        cache.changed(&a);
        epochs.text += 1;
        assert_eq!((having(&epochs, "changed"), having(&epochs, "one"), having(&epochs, "two")), (1, 0, 1));
        put_old(&b, "anything();");
        cache.all_changed();
        epochs.text += 1;
        assert_eq!((having(&epochs, "anything"), having(&epochs, "two")), (1, 0));
        fs::remove_file(&b).unwrap();
        cache.changed(&b);
        epochs.fs += 1;
        assert_eq!(having(&epochs, "anything"), 0);
    }

    #[test]
    fn kept_links_are_those_of_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let path = top.join("a.js");
        put_old(&path, "exports.a = 1;");
        let gate = Gate::open(&[top], &[]).unwrap();
        let cache = ModuleCache::default();
        let first = cache.file(&gate, &path, None).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.file(&gate, &path, None).unwrap()), "the same text is parsed once");
        put_old(&path, "exports.b = 1;");
        let second = cache.file(&gate, &path, None).unwrap();
        assert_eq!(second.links.exports[0].name.as_deref(), Some("b"));
        assert!(cache.kept.lock().bytes >= second.bytes());
    }
}
