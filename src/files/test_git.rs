//! Git beside the tests of the watcher, which count the reports of each write.

use std::path::Path;

use codeyard_process::git::GitError;
use parking_lot::RwLock;

/// Held shared while a file that a watcher follows is open for writing, and alone while a process is started. A child has copies of all
/// open files until it runs its program, and the file would count as closed only then, which the watcher reports as a later change.
pub(crate) static WRITES_OR_FORKS: RwLock<()> = RwLock::new(());

/// [`codeyard_process::git::run_git`] as somebody, while no test writes a file that is followed.
///
/// # Errors
/// As there.
pub(crate) fn run_git(dir: &Path, args: &[&str]) -> Result<String, GitError> {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
    let _no_write = WRITES_OR_FORKS.write();
    codeyard_process::git::run_git(dir, &[&identity[..], args].concat())
}
