//! The root folder for a path that a command is about, where no workspace and no flag names one.
//!
//! Invariant: the root of all files and the home directory are nobody's root.

use std::path::{Path, PathBuf};

/// The root folder for a path. A folder is its own root. For a file it is the current folder if that contains the file and lies in the
/// file's repository, or if the file is in no repository; else the repository's folder, else the folder of the file. `None` if only folders
/// are left that are nobody's root.
pub(crate) fn root_for(path: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).ok();
    root_at(path, here.as_deref(), home.as_deref()).map(Path::to_owned)
}

/// The same for the current folder `here`.
fn root_at<'a>(path: &'a Path, here: Option<&'a Path>, home: Option<&Path>) -> Option<&'a Path> {
    let may_be_root = |folder: &&Path| folder.parent().is_some() && Some(*folder) != home;
    let own = own_folder(path);
    if own == path {
        return Some(own).filter(may_be_root);
    }
    let repository = own.ancestors().filter(may_be_root).find(|folder| folder.join(".git").exists());
    let here = here.filter(|here| path.starts_with(here) && may_be_root(here));
    let root = match (repository, here) {
        (Some(repository), Some(here)) if here.starts_with(repository) => here,
        (Some(repository), _) => repository,
        (None, here) => here.unwrap_or(own),
    };
    Some(root).filter(may_be_root)
}

/// The folder of a file; a folder itself.
pub(crate) fn own_folder(path: &Path) -> &Path {
    if path.is_dir() { path } else { path.parent().unwrap_or(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_all_files_and_the_home_directory_are_nobodys_root() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("project");
        std::fs::create_dir(&project).unwrap();
        let root = |path: &Path, here: &Path| root_at(path, Some(here), Some(home.as_path())).map(Path::to_owned);
        let all = Path::new("/");
        // The second time the home directory is a repository.
        for _ in 0..2 {
            for here in [all, home.as_path(), project.as_path()] {
                for path in [all.to_owned(), home.clone(), all.join("gone.py"), home.join("a.py")] {
                    assert_eq!(root(&path, here), None, "{path:?} in {here:?}");
                }
                assert_eq!(root(&project, here).as_ref(), Some(&project), "{here:?}");
                assert_eq!(root(&project.join("a.py"), here).as_ref(), Some(&project), "{here:?}");
            }
            std::fs::create_dir_all(home.join(".git")).unwrap();
        }
    }
}
