//! What is kept between questions about the modules of a workspace: which words each file has, and the links of files that were read.
//!
//! It only saves work. Invariants: nothing is used for other epochs than it was read at before the stamps of all files are compared; a file
//! with a young stamp is read again, and a file whose words are known to lack a name has no place with that name. The kept links are bounded
//! by [`MAX_KEPT_LINKS_BYTES`], the words by the bytes of the texts ([`MAX_LINKED_BYTES`]).

use std::collections::{BTreeSet, HashMap};
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
pub struct ModuleCache(Arc<Mutex<KeptModules>>);

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
    /// The words of these files as they are on disk at these epochs. Blocks.
    pub(super) fn words(&self, listed: &[PathBuf], gate: &Gate, epochs: &Epochs) -> Arc<ModuleWords> {
        let mut kept = self.0.lock();
        let before = match &kept.words {
            Some((at, words)) if at.agree(epochs, EpochMask::NAVIGATION) => return words.clone(),
            Some((_, words)) => words.clone(),
            None => Arc::default(),
        };
        let words = Arc::new(ModuleWords::read(listed, gate, &before));
        kept.words = Some((*epochs, words.clone()));
        words
    }

    /// A file with its links. `settled` is the stamp at which it is known not to have changed since. Blocks. `None` if it can't be read, or is too
    /// large.
    pub(super) fn file(&self, gate: &Gate, path: &Path, settled: Option<FileStamp>) -> Option<Arc<LinkedFile>> {
        let known = self.0.lock().links.get(path).cloned();
        if let Some(known) = &known
            && settled.is_some()
            && known.settled == settled
        {
            return Some(known.file.clone());
        }
        let (text, stamp) = sources::stamped_text(gate, path)?;
        let is_settled = !stamp.is_fresh(clock::wall_ns());
        let file = match known {
            Some(known) if known.file.document.source.document.text() == text.1 => known.file,
            _ => Arc::new(sources::linked(path, text)?),
        };
        self.keep(path, KeptLinks { bytes: file.bytes(), file: file.clone(), settled: is_settled.then_some(stamp) });
        Some(file)
    }

    fn keep(&self, path: &Path, file: KeptLinks) {
        let mut kept = self.0.lock();
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
    /// Reads the files that changed since `before`.
    fn read(listed: &[PathBuf], gate: &Gate, before: &Self) -> Self {
        let (mut words, mut bytes, mut lookup) = (Self::default(), 0, gate.batch_lookup());
        for path in listed.iter().filter(|path| sources::is_module(path)) {
            if words.files.len() >= MAX_LINKED_FILES || bytes >= MAX_LINKED_BYTES {
                words.is_cut = true;
                break;
            }
            let known = before.places.get(path).map(|at| &before.files[*at]).filter(|known| known.settled.is_some());
            let unchanged = known.filter(|known| {
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
        let settled = (!stamp.is_fresh(clock::wall_ns())).then_some(stamp);
        Some(Self { path: path.into(), settled, bytes: text.len(), words: Arc::new(WordSet::of(&text)) })
    }

    fn again(&self) -> Self {
        Self { path: self.path.clone(), settled: self.settled, bytes: self.bytes, words: self.words.clone() }
    }
}
