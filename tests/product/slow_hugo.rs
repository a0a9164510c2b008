//! Hugo behind a gate: builds wait until a test opens it, then the real Hugo builds.
//!
//! Each build is recorded with its process and its command line, so a test can wait until one has begun.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::mcp::until;

/// A program that waits, then becomes Hugo.
pub(crate) struct SlowHugo {
    dir: tempfile::TempDir,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Build {
    /// The process that waits. Later it is Hugo.
    pub(crate) pid: u32,
    /// The arguments, which name the run's folder.
    pub(crate) arguments: String,
}

impl SlowHugo {
    /// The gate before `hugo`, closed.
    pub(crate) fn before(hugo: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().display();
        // What isn't a build doesn't wait. A build has no PATH, so only builtins and whole paths are used.
        let script = format!(
            "#!/bin/sh\ncase \"$1\" in version|--help) exec '{hugo}' \"$@\" ;; esac\necho \"$$ $*\" >> '{folder}/builds'\nwhile ! [ -e '{folder}/open' ]; do /bin/sleep 0.02; done\n\
             exec '{hugo}' \"$@\"\n",
            hugo = hugo.display()
        );
        let slow = Self { dir };
        fs::write(slow.program(), script).unwrap();
        fs::set_permissions(slow.program(), fs::Permissions::from_mode(0o755)).unwrap();
        slow
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.dir.path().join("hugo")
    }

    /// Lets all builds go on.
    pub(crate) fn open(&self) {
        fs::write(self.dir.path().join("open"), "").unwrap();
    }

    /// Lets further builds wait.
    pub(crate) fn close(&self) {
        fs::remove_file(self.dir.path().join("open")).unwrap();
    }

    pub(crate) fn builds(&self) -> Vec<Build> {
        let text = fs::read_to_string(self.dir.path().join("builds")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let build = |line: &str| {
            let (pid, arguments) = line.split_once(' ').expect("a process and its arguments");
            Build { pid: pid.parse().expect("a number"), arguments: arguments.to_owned() }
        };
        whole.lines().map(build).collect()
    }

    /// Waits until so many builds have begun, and returns the last of them.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Build {
        let reached = until(60_000, || self.builds().len() >= count);
        let builds = self.builds();
        assert!(reached && builds.len() == count, "{count} builds expected: {builds:?}");
        builds[count - 1].clone()
    }
}
