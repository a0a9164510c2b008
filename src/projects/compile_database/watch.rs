//! Decides whether a change on disk may change the compile database that a server was started with.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use codeyard_base::digest::sha256;

use super::language::role;
use crate::build_report::DATABASE;
use crate::compile_database::build::build_stamp::is_build_file;
use crate::compile_database::build_files::build_hints::BuildHints;
use crate::compile_database::commands::database::CompileCommand;
use crate::compile_database::commands::response_files::ResponseFiles;
use crate::compile_database::header_search::include_graph::IncludeGraph;
use crate::compile_database::header_search::includes::{ScannedFile, scan_file};
use crate::compile_database::headers::generated_headers::GeneratedHeaders;
use crate::memory::CompileWatch;

impl CompileWatch {
    pub(super) fn new(root: &Path, graph: &IncludeGraph, responses: ResponseFiles) -> Self {
        let hasher = RandomState::new();
        let files = graph.files.iter().zip(&graph.scanned);
        let scanned = files.map(|(path, scanned)| (hasher.hash_one(&**path), hasher.hash_one(scanned))).collect();
        let responses = responses.read.into_iter().chain(responses.unreadable).collect();
        Self { root: root.to_path_buf(), hasher, scanned, responses }
    }

    /// Whether the file's name is one that matters.
    pub(crate) fn concerns(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let is_of_build =
            name == DATABASE || BuildHints::is_read(name) || is_build_file(name) || GeneratedHeaders::is_read(name);
        self.responses.contains(path) || path.starts_with(&self.root) && (is_of_build || role(name).is_some())
    }

    /// Whether a file whose name matters, and that changed, was created or was deleted, now includes something else. Reads the file.
    pub(crate) fn is_outdated(&self, path: &Path) -> bool {
        if self.responses.contains(path) {
            return true;
        }
        let Some(below) = path.strip_prefix(&self.root).ok().and_then(Path::to_str) else { return false };
        if role(below).is_none() {
            return true;
        }
        let now: Option<ScannedFile> = scan_file(&self.root, path);
        let known = self.scanned.get(&self.hasher.hash_one(below));
        known.copied() != now.map(|scanned| self.hasher.hash_one(&scanned))
    }
}

/// A digest of the commands, and of the headers that were made, by their own digest.
pub(super) fn digest(commands: &[CompileCommand], headers: [u8; 32]) -> [u8; 32] {
    let mut text = format!("{}\n", codeyard_base::digest::hex(&headers));
    for command in commands {
        text.push_str(&format!(
            "{}\0{}\0{}\n",
            command.directory.display(),
            command.file.display(),
            command.arguments.join("\0")
        ));
    }
    sha256(text)
}
