//! The inferences: which one prepares the project of a server, as its registry entry names it, and which changes concern it.

use std::path::Path;

use codeyard_lsp::registry::ProjectInference;

use crate::memory::ProjectMemory;
use crate::prepare::{PreparedProject, ProjectRequest};
use crate::{compile_database, java, packages, python, scripts, typescript, views};

/// Prepares the project of a server. Blocks: it reads the files of the project. Servers whose entry names no inference get the default.
///
/// # Errors
/// Errors of the file system, when the cache folder can't be written.
pub fn prepare(request: &ProjectRequest<'_>) -> std::io::Result<PreparedProject> {
    let mut prepared = infer(request)?;
    scripts::keep_open(request, &mut prepared);
    Ok(prepared)
}

fn infer(request: &ProjectRequest<'_>) -> std::io::Result<PreparedProject> {
    match request.server.project {
        Some(ProjectInference::CompileDatabase) => compile_database::prepare(request),
        Some(inference @ (ProjectInference::TypescriptDocument | ProjectInference::TypescriptExternal)) => {
            Ok(typescript::prepare(request, inference))
        }
        Some(
            inference @ (ProjectInference::PythonPaths
            | ProjectInference::PythonConfiguration
            | ProjectInference::PythonImports),
        ) => python::prepare(request, inference),
        Some(inference @ (ProjectInference::GoModules | ProjectInference::CargoPackages)) => {
            Ok(packages::prepare(request, inference))
        }
        Some(ProjectInference::TypescriptComponents) => Ok(typescript::components::prepare(request)),
        Some(ProjectInference::JavaPackages) => java::prepare(request),
        None => Ok(PreparedProject { info: views::project(request), ..PreparedProject::default() }),
    }
}

/// Whether the project depends on which files like this one there are, although the server isn't asked about them.
pub fn counts_others(inference: ProjectInference, file: &Path) -> bool {
    inference == ProjectInference::TypescriptComponents && typescript::components::is_script(file)
}

impl ProjectMemory {
    /// Whether the changed text of a file may change the project, so that it must be prepared again.
    pub fn is_affected_by_text(&self, inference: ProjectInference, file: &Path, top: &Path) -> bool {
        match inference {
            ProjectInference::TypescriptDocument
            | ProjectInference::TypescriptExternal
            | ProjectInference::TypescriptComponents => {
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
}
