//! Projects and files as sentences name them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Number of projects that a sentence names.
const MAX_NAMED: usize = 2;

/// "packages/a, packages/b and 2 more projects".
pub(crate) fn named(projects: &BTreeSet<PathBuf>, top: &Path) -> String {
    let first: Vec<String> = projects.iter().take(MAX_NAMED).map(|project| relative(project, top)).collect();
    let first = first.join(", ");
    match projects.len() - projects.len().min(MAX_NAMED) {
        0 => first,
        1 => format!("{first} and 1 more project"),
        more => format!("{first} and {more} more projects"),
    }
}

/// A path as answers show it.
pub(crate) fn relative(project: &Path, top: &Path) -> String {
    match project.strip_prefix(top) {
        Ok(path) if path.as_os_str().is_empty() => ".".into(),
        Ok(path) => path.display().to_string(),
        Err(_) => project.display().to_string(),
    }
}
