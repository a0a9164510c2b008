//! What the inferences of a project remember from one preparation to the next, so that a change of one file is cheap.
//!
//! It only saves work: a project that is prepared with an empty memory is the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::RandomState;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The memory of one project.
#[derive(Debug, Default)]
pub struct ProjectMemory {
    /// By file of Python, the names that it imports; by file of TypeScript, the specifiers; by file of Java, its package and imports.
    imports: Mutex<BTreeMap<PathBuf, BTreeSet<String>>>,
    /// What the compile database was made from.
    pub(crate) compiled: Mutex<Option<CompileWatch>>,
}

/// What the database was made from: the includes of each file, as hashes, and files with arguments.
#[derive(Debug, Clone)]
pub(crate) struct CompileWatch {
    pub(crate) root: PathBuf,
    pub(crate) hasher: RandomState,
    pub(crate) scanned: HashMap<u64, u64>,
    /// The response files that commands name.
    pub(crate) responses: BTreeSet<PathBuf>,
}

impl ProjectMemory {
    /// Forgets everything, because any file may have changed.
    pub fn forget_all(&self) {
        self.imports.lock().clear();
    }

    /// Forgets a file that was created or deleted.
    pub fn forget(&self, file: &Path) {
        self.imports.lock().remove(file);
    }

    /// Whether a file imports other names than before. The new ones are remembered.
    pub(crate) fn has_new_imports(&self, file: &Path, read: &dyn Fn(&Path) -> BTreeSet<String>) -> bool {
        let mut imports = self.imports.lock();
        let Some(before) = imports.get_mut(file) else { return false };
        let now = read(file);
        let differ = *before != now;
        *before = now;
        differ
    }

    /// Remembers what the compile database was made from.
    pub(crate) fn set_compiled(&self, watch: CompileWatch) {
        *self.compiled.lock() = Some(watch);
    }

    pub(crate) fn with_imports<T>(&self, work: impl FnOnce(&mut BTreeMap<PathBuf, BTreeSet<String>>) -> T) -> T {
        work(&mut self.imports.lock())
    }
}
