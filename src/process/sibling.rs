//! Programs that are installed beside this one, and this one itself.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of this program's executable file. Links are resolved, so that a replaced link doesn't matter.
pub fn own() -> io::Result<PathBuf> {
    Path::new("/proc/self/exe").canonicalize().or_else(|_| env::current_exe())
}

/// The program `name` in this program's folder, or on the `PATH`.
pub fn path(name: &str) -> Option<PathBuf> {
    let beside = own().ok().map(|own| own.with_file_name(name));
    let on_path = env::var_os("PATH").unwrap_or_default();
    beside.into_iter().chain(env::split_paths(&on_path).map(|folder| folder.join(name))).find(|path| path.is_file())
}

/// A command that runs `program`, for callers that replace this process by it.
pub fn command(program: &Path) -> Command {
    Command::new(program)
}
