//! What the inferences of a project remember from one preparation to the next, so that a change of one file is cheap.
//!
//! It only saves work: a project that is prepared with an empty memory is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::ProjectInference;
use parking_lot::Mutex;

use crate::compile_database::CompileWatch;
use crate::{java, packages, python, typescript};

/// The memory of one project.
#[derive(Debug, Default)]
pub struct ProjectMemory {
    /// By file of Python, the names that it imports; by file of TypeScript, the specifiers; by file of Java, its package and imports.
    imports: Mutex<BTreeMap<PathBuf, BTreeSet<String>>>,
    /// What the compile database was made from.
    compiled: Mutex<Option<CompileWatch>>,
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

    /// Whether the changed text of a file may change the project, so that it must be prepared again.
    pub fn is_affected_by_text(&self, inference: ProjectInference, file: &Path, top: &Path) -> bool {
        match inference {
            ProjectInference::TypescriptDocument | ProjectInference::TypescriptExternal => {
                typescript::reads(file) || self.has_new_imports(file, &|file| typescript::read_specifiers(file, top))
            }
            ProjectInference::PythonPaths | ProjectInference::PythonConfiguration | ProjectInference::PythonImports => {
                python::reads(file) || self.has_new_imports(file, &|file| python::read_imports(file, top))
            }
            ProjectInference::GoModules | ProjectInference::CargoPackages => packages::reads(file),
            ProjectInference::JavaPackages => self.has_new_imports(file, &|file| java::read_header(file, top)),
            ProjectInference::CompileDatabase => {
                self.compiled.lock().as_ref().is_some_and(|watch| watch.concerns(file) && watch.is_outdated(file))
            }
        }
    }

    /// Whether a file imports other names than before. The new ones are remembered.
    fn has_new_imports(&self, file: &Path, read: &dyn Fn(&Path) -> BTreeSet<String>) -> bool {
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
