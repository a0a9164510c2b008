//! Which folders a command indexes without being forced to: repositories, and folders of ordinary size.
//!
//! A file outside of any repository would otherwise make a command read all of the folder around it: the whole system, or everything of a person.
//! It knows no indexes: `index`, `search` and `outline` don't ask it about a folder that has one, `call` does. It decides nothing about the
//! roots of a configuration.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::limits::MAX_UNFORCED_FILES;
use codeyard_files::git_layout::top_of;
use codeyard_files::walk::{Listing, Walker};

/// Why the folder is too wide to be indexed unasked; `None`: it isn't. `folder` is a real path.
fn too_wide(folder: &Path, home: Option<&Path>) -> Option<String> {
    if top_of(folder).is_some() {
        return None;
    }
    if folder.parent().is_none() {
        return Some("the whole file system".to_owned());
    }
    if home.is_some_and(|home| home.starts_with(folder)) {
        return Some("the home folder".to_owned());
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walker = Walker { root: folder, listing: Listing::Index, threads, only: None, is_stopped: &|| false };
    walker.finds_more_than(MAX_UNFORCED_FILES).then(|| format!("more than {MAX_UNFORCED_FILES} files"))
}

/// The home folder, as a real path.
fn home() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    home.is_absolute().then(|| home.canonicalize().ok())?
}

/// Refuses a folder that is too wide. `forced` is the command that indexes it nevertheless.
///
/// # Errors
/// A failure that says why, and which command to run.
pub(crate) fn refuse_wide(folder: &Path, forced: &str) -> Result<(), Failure> {
    match too_wide(folder, home().as_deref()) {
        Some(what) => Err(Failure::new(format!(
            "{} is no repository, and an index of it would hold {what}; name a folder with --root, or run `{forced}`",
            folder.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_and_the_home_folder_are_too_wide_unless_they_are_repositories() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().canonicalize().expect("it exists").join("people/me");
        let project = home.join("project");
        std::fs::create_dir_all(&project).expect("a new folder");
        let wide = |folder: &Path| too_wide(folder, Some(&home));
        assert_eq!(too_wide(Path::new("/"), None).as_deref(), Some("the whole file system"));
        for folder in [home.as_path(), home.parent().expect("it has one")] {
            assert_eq!(wide(folder).as_deref(), Some("the home folder"), "{folder:?}");
        }
        assert_eq!(wide(&project), None);
        std::fs::create_dir(home.join(".git")).expect("a new folder");
        assert_eq!(wide(&home), None);
    }
}
