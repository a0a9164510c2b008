//! Selects the file changes that a server registered for, by its globs.
//!
//! A glob is absolute, relative to the workspace folders, or has a base folder of its own; all are matched against whole paths. The registry
//! adds globs that hold before a server registers.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;

use crate::server::context::ServerContext;
use codeyard_files::watch::{ChangeKind, Changes};
use codeyard_lsp::client::capabilities::{Capabilities, WatchPattern};
use codeyard_lsp::limits::MAX_WATCH_PATTERNS;
use codeyard_model::uri::{encode_path, percent_decode};

/// The parameters of `workspace/didChangeWatchedFiles`.
#[derive(Debug, Serialize)]
pub(in crate::server) struct WatchedFiles {
    /// What changed.
    pub changes: Vec<FileEvent>,
}

/// One entry of `workspace/didChangeWatchedFiles`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::server) struct FileEvent {
    uri: String,
    #[serde(rename = "type")]
    kind: u8,
}

/// The compiled patterns, compiled again when the registrations change.
#[derive(Debug, Default)]
pub(in crate::server) struct WatchGlobs {
    /// Of the registrations and of the projects.
    revision: Option<(u64, u64)>,
    patterns: Vec<(GlobMatcher, u8)>,
}

impl WatchGlobs {
    /// The changes that the server registered for, and their paths.
    pub(in crate::server) fn events<'c>(
        &mut self,
        capabilities: &Capabilities,
        context: &ServerContext,
        changes: &'c Changes,
    ) -> (Vec<FileEvent>, Vec<&'c Path>) {
        let revision = Some((capabilities.revision(), context.folders.revision()));
        if self.revision != revision {
            let folders = context.workspace_folders().current();
            let compiled = |pattern: &WatchPattern| -> Vec<(GlobMatcher, u8)> {
                // Only a pattern that is relative to a workspace folder differs between them.
                let count = if is_relative(pattern) { folders.len() } else { 1 };
                folders.iter().take(count).filter_map(|folder| compile(pattern, folder)).collect()
            };
            let mut patterns = capabilities.watch_patterns();
            let from_start = context.server.quirks.watched_from_start.iter();
            patterns.extend(from_start.map(|glob| WatchPattern { pattern: glob.clone(), ..WatchPattern::all_files() }));
            let compilations = |pattern: &WatchPattern| if is_relative(pattern) { folders.len() } else { 1 };
            // Relative patterns are compiled once for each folder.
            let is_too_many = patterns.iter().map(compilations).sum::<usize>() > MAX_WATCH_PATTERNS;
            let patterns = if is_too_many { vec![WatchPattern::all_files()] } else { patterns };
            self.patterns = patterns.iter().flat_map(compiled).collect();
            self.revision = revision;
        }
        let wanted = changes.files.iter().filter_map(|change| {
            let (kind, bit) = match change.kind {
                ChangeKind::Created => (1, 1),
                ChangeKind::Changed => (2, 2),
                ChangeKind::Deleted => (3, 4),
            };
            let hit = self.patterns.iter().any(|(glob, kinds)| kinds & bit != 0 && glob.is_match(&change.path));
            hit.then(|| (FileEvent { uri: encode_path(&change.path), kind }, change.path.as_path()))
        });
        wanted.unzip()
    }
}

fn compile(pattern: &WatchPattern, root: &Path) -> Option<(GlobMatcher, u8)> {
    let base = match &pattern.base {
        Some(uri) => PathBuf::from(String::from_utf8(percent_decode(uri.strip_prefix("file://")?.as_bytes())).ok()?),
        None => root.to_path_buf(),
    };
    let whole = if Path::new(&pattern.pattern).is_absolute() || pattern.base.is_none() && !is_relative(pattern) {
        pattern.pattern.clone()
    } else {
        format!("{}/{}", globset::escape(&base.to_string_lossy()).trim_end_matches('/'), pattern.pattern)
    };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build().ok()?;
    Some((glob.compile_matcher(), if pattern.kind == 0 { 7 } else { pattern.kind }))
}

/// Whether a pattern is relative to a workspace folder.
fn is_relative(pattern: &WatchPattern) -> bool {
    pattern.base.is_none() && !Path::new(&pattern.pattern).is_absolute() && !pattern.pattern.starts_with("**/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_relative_and_free_patterns_match_whole_paths() {
        let matches = |base: Option<&str>, pattern: &str, path: &str| {
            let pattern = WatchPattern { base: base.map(str::to_owned), pattern: pattern.into(), kind: 7 };
            compile(&pattern, Path::new("/w/r[1]")).unwrap().0.is_match(path)
        };
        assert!(matches(None, "**/*.py", "/w/r[1]/a/b.py"));
        assert!(matches(None, "/w/x/*.py", "/w/x/b.py") && !matches(None, "/w/x/*.py", "/w/x/y/b.py"));
        assert!(matches(None, "tsconfig.json", "/w/r[1]/tsconfig.json"));
        assert!(matches(Some("file:///w/q%20r"), "**/*.{ts,tsx}", "/w/q r/a.tsx"));
        assert!(!matches(Some("file:///w/q"), "**/*.ts", "/w/other/a.ts"));
    }
}
