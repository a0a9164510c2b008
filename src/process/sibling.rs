//! Finds this program's executable and programs installed in the same directory.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of this program's executable file, with links resolved: a later change of a link doesn't matter.
pub fn own() -> io::Result<PathBuf> {
    Path::new("/proc/self/exe").canonicalize().or_else(|_| env::current_exe())
}

/// A path that starts this program again, even after its file was replaced.
pub(crate) fn running() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { env::current_exe() }
}

/// The program `name` in this program's directory, or on the `PATH`.
pub fn path(name: &str) -> Option<PathBuf> {
    let in_same_dir = own().ok().map(|own| own.with_file_name(name));
    let on_path = env::var_os("PATH").unwrap_or_default();
    in_same_dir
        .into_iter()
        .chain(env::split_paths(&on_path).map(|folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// A command that runs `program`, for callers that replace this process by it (`exec`).
pub fn command(program: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the caller replaces this process by the program")]
    Command::new(program)
}
