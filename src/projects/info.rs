//! What is known about the project of a language server before it starts.
//!
//! Data only: `prepare` and the inferences fill it in, the engine publishes it.

use std::fmt;
use std::path::PathBuf;

use codeyard_model::coverage::Hidden;

use crate::build_report::BuildReport;

/// The project of one language server: its source, and what it covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectInfo {
    /// The project file that the server reads, or what codeyard inferred one from.
    pub source: ProjectSource,
    /// Files of the server's languages below the project root, as the workspace lists them.
    pub files_total: usize,
    /// How many of them the server knows once it is ready. `None`: all that it finds by itself, which isn't known before the start.
    pub files_known: Option<usize>,
    /// Files that the server won't know, sorted: the first [`MAX_UNKNOWN_FILES`](crate::limits::MAX_UNKNOWN_FILES) of them.
    pub unknown_files: Vec<PathBuf>,
    /// Imports and includes that can't be resolved, by cause.
    pub unresolved: Vec<UnresolvedNames>,
    /// Sentences about project files that can't be used, or only in part.
    pub problems: Vec<String>,
    /// The command or setting that makes the project complete or exact. `None` if nothing is missing.
    pub remedy: Option<String>,
    /// The files in the server's cache folder that were inferred.
    pub cache_files: Vec<PathBuf>,
    /// The last build that the operator allowed. `None`: none was allowed, or none was needed.
    pub build: Option<BuildReport>,
}

/// Where a project comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProjectSource {
    /// The server finds its project by itself, or needs none.
    #[default]
    Server,
    /// A project file of the workspace.
    Found {
        /// Relative to the project root.
        path: PathBuf,
    },
    /// codeyard inferred it.
    Inferred {
        /// What it was inferred from, such as `CMakeLists.txt` or `the includes of 706 files`.
        from: String,
    },
    /// There is none: the server knows only open documents.
    Missing,
}

/// Names that can't be resolved for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnresolvedNames {
    /// What they are and why, such as `includes of generated headers`.
    pub what: String,
    /// How many different names.
    pub count: usize,
    /// A few of them, sorted.
    pub examples: Vec<String>,
    /// The command that mends it, such as `npm ci`.
    pub remedy: Option<String>,
    pub hides: Hidden,
}

impl ProjectInfo {
    /// Whether the server knows fewer files than the workspace has. Its answers are then marked as partial.
    pub fn is_partial(&self) -> bool {
        self.source == ProjectSource::Missing || self.files_known.is_some_and(|known| known < self.files_total)
    }
}

impl fmt::Display for ProjectSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("found by the server itself"),
            Self::Found { path } => write!(f, "{}", path.display()),
            Self::Inferred { from } => write!(f, "inferred from {from}"),
            Self::Missing => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_partial_when_files_are_missing_from_it() {
        let info = |files_known| ProjectInfo { files_total: 2, files_known, ..ProjectInfo::default() };
        assert!(info(Some(1)).is_partial());
        assert!(!info(Some(2)).is_partial());
        assert!(!info(None).is_partial());
        assert!(ProjectInfo { source: ProjectSource::Missing, ..info(None) }.is_partial());
    }

    #[test]
    fn sources_are_shown_in_words() {
        assert_eq!(ProjectSource::Found { path: "build/x.json".into() }.to_string(), "build/x.json");
        assert_eq!(ProjectSource::Inferred { from: "make files".into() }.to_string(), "inferred from make files");
    }
}
