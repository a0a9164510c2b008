//! What is asked of the preparation of a project, and what a start needs of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_lsp::registry::ServerSpec;
use serde_json::Value;

use crate::info::ProjectInfo;
#[cfg(test)]
use crate::limits::MAX_OPENED_SCRIPTS;
use crate::memory::ProjectMemory;
use crate::unwatched_folder::UnwatchedFolder;

/// Whose project is prepared.
#[derive(Debug, Clone, Copy)]
pub struct ProjectRequest<'a> {
    /// The server's entry in the registry.
    pub server: &'a ServerSpec,
    pub root: &'a Path,
    /// The workspace root that holds it. No file outside of it is read.
    pub top: &'a Path,
    /// The files below the project root that the server's languages cover and no ignore file excludes, sorted by their bytes.
    pub files: &'a [PathBuf],
    /// Scripts of the server's languages there that only their first lines show; sorted in the same way. They are in no project.
    pub scripts: &'a [PathBuf],
    /// How many of them may be kept open.
    pub scripts_max: usize,
    /// The server's cache folder. Only here and in `generated` files may be written.
    pub cache: &'a Path,
    /// The folder of the headers that are made. A confined server can't write it, so no link leads codeyard out of it.
    pub generated: &'a Path,
    /// Whether a build may be run.
    pub build: RunBuild,
    /// What earlier preparations of this project remember.
    pub memory: &'a ProjectMemory,
}

#[cfg(test)]
impl<'a> ProjectRequest<'a> {
    /// For a server of the built-in registry whose project root is the workspace root, without builds.
    pub(crate) fn for_test(kind: &str, root: &'a Path, files: &'a [PathBuf], memory: &'a ProjectMemory) -> Self {
        static BUILTIN: std::sync::LazyLock<codeyard_lsp::registry::Registry> =
            std::sync::LazyLock::new(codeyard_lsp::registry::Registry::builtin);
        let cache = Path::new("/nowhere");
        let generated = Path::new("/nowhere");
        Self {
            server: &BUILTIN.servers[kind],
            root,
            top: root,
            files,
            scripts: &[],
            scripts_max: MAX_OPENED_SCRIPTS,
            cache,
            generated,
            build: RunBuild::Never,
            memory,
        }
    }
}

/// Whether codeyard may run a project's build to find out how it compiles. A build is code of the project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunBuild {
    /// Build files are only read.
    #[default]
    Never,
    /// The operator allowed it for this workspace.
    Allowed,
    /// Nothing is run; what an earlier build left in the cache folder is used.
    Recorded,
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
    /// Settings to send as soon as the process is ready, before its first request: what would begin work at a start that looks like the end of
    /// its indexing.
    pub settings_when_ready: Option<Value>,
    /// Documents to open after the start, besides the anchors.
    pub open: Vec<PathBuf>,
    /// Documents that exist only at the server, to open before all others.
    pub documents: Vec<ProjectDocument>,
    /// Configurations that the server must read again when names can be resolved that couldn't before, because it doesn't look again for what it
    /// once didn't find.
    pub configurations: Vec<PathBuf>,
    /// Folders whose files count for it and that no watcher follows.
    pub unwatched: Arc<[UnwatchedFolder]>,
    /// Requests to send after the start, before documents are opened.
    pub commands: Vec<ProjectCommand>,
    /// What it and the other projects of its server may import from each other.
    pub modules: ProjectModules,
    /// A digest of the files in the cache folder that the server reads only at its start. With another one it must be restarted.
    pub digest: [u8; 32],
}

/// Names of modules by which projects may depend on each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectModules {
    /// Modules that others can import from it.
    pub offered: BTreeSet<String>,
    /// Modules that it imports and neither holds nor has in an environment of its own.
    pub wanted: BTreeSet<String>,
}

/// A document that exists only at the server, which reads it in place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectDocument {
    /// Where the server finds it.
    pub path: PathBuf,
    pub language: String,
    pub text: String,
}

/// A request that loads a project at the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectCommand {
    pub method: &'static str,
    pub params: Value,
}
