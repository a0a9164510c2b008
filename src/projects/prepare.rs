//! Prepares the project of a server before a start: chooses the inference that its registry entry names.

use std::path::{Path, PathBuf};

use codeyard_lsp::registry::ServerSpec;
use serde_json::Value;

use crate::info::ProjectInfo;

/// Whose project is prepared.
#[derive(Debug, Clone, Copy)]
pub struct ProjectRequest<'a> {
    /// The server's entry in the registry.
    pub server: &'a ServerSpec,
    /// The project root.
    pub root: &'a Path,
    /// The files below the project root that the server's languages cover and no ignore file excludes, sorted by their bytes.
    pub files: &'a [PathBuf],
    /// The server's cache folder. Only here files may be written.
    pub cache: &'a Path,
    /// Whether a build may be run.
    pub build: RunBuild,
}

/// Whether codeyard may run a project's build to find out how it compiles. A build is code of the project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunBuild {
    /// Build files are only read.
    #[default]
    Never,
    /// The operator allowed it for this workspace.
    Allowed,
}

/// What a start needs for the project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreparedProject {
    /// What is known about it.
    pub info: ProjectInfo,
    /// Arguments to add to the server's command.
    pub args: Vec<String>,
    /// Members to merge into `initializationOptions`.
    pub initialization_options: Option<Value>,
    /// Members to merge into the settings.
    pub settings: Option<Value>,
    /// Documents to open after the start, besides the anchors.
    pub open: Vec<PathBuf>,
}

/// Prepares the project of a server. Blocks: it reads the files of the project. Servers whose entry names no inference get the default.
///
/// # Errors
/// Errors of the file system, when the cache folder can't be written.
pub fn prepare(request: &ProjectRequest<'_>) -> std::io::Result<PreparedProject> {
    let info = ProjectInfo { files_total: request.files.len(), ..ProjectInfo::default() };
    Ok(PreparedProject { info, ..PreparedProject::default() })
}
