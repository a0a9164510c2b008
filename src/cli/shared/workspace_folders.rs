//! Lists the folders of `[[workspaces_from]]`, and follows them while a service runs.
//!
//! It lists the folders at a fixed interval, because that works on every file system and costs a few system calls. Invariants: a folder
//! that is missing in one scan only removes no workspace; the configuration file is not read again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, ExpandedConfig, FolderSource, WorkspaceConfig};

/// Time between two looks at the folders of `[[workspaces_from]]`, in milliseconds.
const FOLDER_SCAN_INTERVAL_MS: u64 = 3_000;

/// The configuration with the workspaces of its patterns. `before` are the workspaces that run now.
pub(crate) fn expand(config: &Config, before: &[WorkspaceConfig]) -> ExpandedConfig {
    config.expanded(&DiskFolders, before)
}

/// The folders on the disk. Names that are not UTF-8 are left out.
struct DiskFolders;

impl FolderSource for DiskFolders {
    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() || (kind.is_symlink() && entry.path().is_dir()) {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        Ok(names)
    }

    fn real_path(&self, folder: &Path) -> PathBuf {
        folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
    }
}

/// Follows the folders of a configuration's patterns.
pub(crate) struct FolderFollower {
    file: Config,
    /// The workspaces that run.
    active: Vec<WorkspaceConfig>,
    /// The workspaces that were missing in the last scan.
    missing: BTreeSet<WorkspaceName>,
    /// The problems that were logged last.
    logged: Vec<String>,
}

impl FolderFollower {
    /// Follows the patterns of `file`. Gives the configuration with their present workspaces.
    pub(crate) fn start(file: Config) -> (Self, Config) {
        let mut follower = Self { file, active: Vec::new(), missing: BTreeSet::new(), logged: Vec::new() };
        let config = follower.scan();
        follower.active.clone_from(&config.workspaces);
        (follower, config)
    }

    /// Replaces the configuration of the file. Gives the new one with its present workspaces.
    pub(crate) fn replace(&self, file: Config) -> (Self, Config) {
        let mut follower = Self { file, active: self.active.clone(), missing: BTreeSet::new(), logged: Vec::new() };
        let config = follower.scan();
        follower.active.clone_from(&config.workspaces);
        (follower, config)
    }

    /// Waits until folders have appeared or gone. Gives the configuration with the present workspaces. Waits for ever without patterns.
    pub(crate) async fn changed(&mut self) -> Config {
        if self.file.workspaces_from.is_empty() {
            std::future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(Duration::from_millis(FOLDER_SCAN_INTERVAL_MS)).await;
            let file = self.file.clone();
            let active = self.active.clone();
            // A listing may hang on a network file system, so it doesn't run on this thread.
            let Ok(expanded) = tokio::task::spawn_blocking(move || expand(&file, &active)).await else { continue };
            self.log(&expanded.problems);
            if self.is_confirmed(&expanded.config.workspaces) {
                self.active.clone_from(&expanded.config.workspaces);
                return expanded.config;
            }
        }
    }

    /// Whether `found` differs from the active workspaces and may replace them.
    fn is_confirmed(&mut self, found: &[WorkspaceConfig]) -> bool {
        let is_found = |active: &&WorkspaceConfig| found.iter().any(|workspace| workspace.name == active.name);
        let missing: BTreeSet<WorkspaceName> =
            self.active.iter().filter(|active| !is_found(active)).map(|active| active.name.clone()).collect();
        let before = std::mem::take(&mut self.missing);
        if missing.is_subset(&before) {
            return found != self.active;
        }
        self.missing = missing;
        false
    }

    fn scan(&mut self) -> Config {
        let expanded = expand(&self.file, &self.active);
        self.log(&expanded.problems);
        expanded.config
    }

    fn log(&mut self, problems: &[String]) {
        if self.logged != problems {
            problems.iter().for_each(|problem| tracing::warn!("{problem}"));
            self.logged = problems.to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path) -> Config {
        let text = "[[workspaces_from]]\nroots = [\"*\"]\n";
        codeyard_config::parse(text, folder).expect("the configuration is valid")
    }

    fn names(config: &Config) -> Vec<&str> {
        config.workspaces.iter().map(|workspace| workspace.name.as_str()).collect()
    }

    fn add(folder: &Path, name: &str) {
        std::fs::create_dir(folder.join(name)).expect("the folder is new");
    }

    #[tokio::test(start_paused = true)]
    async fn folders_and_links_to_folders_are_followed() {
        let outside = tempfile::tempdir().expect("a folder");
        let folder = tempfile::tempdir().expect("a folder");
        add(folder.path(), "b");
        std::fs::write(folder.path().join("file"), "").expect("a file");
        let (mut follower, first) = FolderFollower::start(config(folder.path()));
        assert_eq!(names(&first), ["b"]);
        add(folder.path(), "a");
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).expect("a link");
        std::os::unix::fs::symlink(folder.path().join("b"), folder.path().join("a-second-b")).expect("a link");
        assert_eq!(names(&follower.changed().await), ["a", "b", "link"]);
        std::fs::remove_dir(folder.path().join("a")).expect("the folder is empty");
        assert_eq!(names(&follower.changed().await), ["b", "link"]);
    }

    #[test]
    fn a_folder_that_is_missing_once_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        add(folder.path(), "a");
        add(folder.path(), "b");
        let (mut follower, both) = FolderFollower::start(config(folder.path()));
        let one = &both.workspaces[..1];
        assert!(!follower.is_confirmed(one), "missing once");
        assert!(!follower.is_confirmed(&both.workspaces), "there again");
        assert!(!follower.is_confirmed(one), "missing once, after it was there again");
        assert!(follower.is_confirmed(one), "missing twice");
    }

    #[test]
    fn further_changes_do_not_delay_a_removal() {
        let folder = tempfile::tempdir().expect("a folder");
        ["a", "b"].iter().for_each(|name| add(folder.path(), name));
        let (mut follower, _) = FolderFollower::start(config(folder.path()));
        std::fs::remove_dir(folder.path().join("a")).expect("the folder is empty");
        let found = follower.scan();
        assert!(!follower.is_confirmed(&found.workspaces));
        add(folder.path(), "c");
        let found = follower.scan();
        assert_eq!(names(&found), ["b", "c"]);
        assert!(follower.is_confirmed(&found.workspaces), "`a` is missing twice, whatever else has changed");
    }

    #[tokio::test(start_paused = true)]
    async fn renamed_folders_many_at_once_and_links_without_a_target_are_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        add(folder.path(), "old");
        let (mut follower, _) = FolderFollower::start(config(folder.path()));
        std::fs::rename(folder.path().join("old"), folder.path().join("new")).expect("it is renamed");
        assert_eq!(names(&follower.changed().await), ["new"]);
        (0..200).for_each(|number| add(folder.path(), &format!("many{number:03}")));
        std::os::unix::fs::symlink(folder.path().join("nowhere"), folder.path().join("dangling")).expect("a link");
        std::os::unix::fs::symlink("loop", folder.path().join("loop")).expect("a link");
        assert_eq!(names(&follower.changed().await).len(), 201);
        std::fs::create_dir(folder.path().join("nowhere")).expect("the target appears");
        let found = follower.changed().await;
        assert!(names(&found).contains(&"nowhere"), "{:?}", names(&found));
        assert!(!names(&found).contains(&"dangling") && !names(&found).contains(&"loop"), "{:?}", names(&found));
        (0..200).for_each(|number| std::fs::remove_dir(folder.path().join(format!("many{number:03}"))).expect("empty"));
        assert_eq!(names(&follower.changed().await), ["new", "nowhere"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_that_becomes_a_file_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        ["a", "b"].iter().for_each(|name| add(folder.path(), name));
        let (mut follower, _) = FolderFollower::start(config(folder.path()));
        std::fs::remove_dir(folder.path().join("a")).expect("the folder is empty");
        std::fs::write(folder.path().join("a"), "a file").expect("a file");
        assert_eq!(names(&follower.changed().await), ["b"]);
    }
}
